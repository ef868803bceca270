"""Progress of long work: bars on a terminal, plain lines on a pipe, nothing when asked to be quiet."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast

from farloop.errors import FarloopError, clip_text
from farloop.messages import say
from farloop.results.gears import PACKETS
from farloop.units import count_text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LINE_EVERY = 5.0
"""Seconds of wall time between plain lines of one job."""

HOPS, LOOKS = "packet-hops", "looks"
"""The steps that runs are made of."""

ELSEWHERE = "another command is at it; this one waits for its run"


class Reporter(Protocol):
    """Shows progress; called from several threads."""

    def start(self, job: str) -> None:
        """A job begins."""

    def update(self, job: str, simulated: float, end: float, packet_hops: int) -> None:
        """A job has simulated so many of `end` seconds; without packet-hops, its network is being built.

        With a gear that is not of packets the number is that of its looks at flows; `count_looks` is called before.
        """

    def finish(self, job: str) -> None:
        """A job is done."""


class Silent:
    """Shows nothing."""

    def start(self, job: str) -> None:
        """A job begins."""

    def update(self, job: str, simulated: float, end: float, packet_hops: int) -> None:
        """A job has simulated so many of `end` seconds."""

    def finish(self, job: str) -> None:
        """A job is done."""


ProgressCallback = Callable[[float, float, int], object]
"""Called with simulated seconds, simulated seconds at the end, and packet-hops so far (with a gear of rates looks at flows)."""


class _Callback:
    """Passes the progress of runs on to a function."""

    def __init__(self, function: ProgressCallback) -> None:
        self._function = function

    def start(self, job: str) -> None:
        """Nothing to say."""

    def update(self, job: str, simulated: float, end: float, packet_hops: int) -> None:
        """Calls the function."""
        self._function(simulated, end, packet_hops)

    def finish(self, job: str) -> None:
        """Nothing to say."""


def make_reporter(progress: object) -> Reporter | None:
    """Makes a reporter of a function of three numbers, or of an object that reports.

    Raises:
        FarloopError: it is neither.
    """
    if progress is None:
        return None
    if all(callable(getattr(progress, name, None)) for name in ("start", "update", "finish")):
        return cast("Reporter", progress)
    if callable(progress):
        return _Callback(progress)
    raise FarloopError(
        f"progress: {clip_text(repr(progress))}: expected a function of three numbers, or an object that reports"
    )


def tell_kept(reporter: Reporter, job: str) -> None:
    """Shows that a job has run before, where the reporter of a user can."""
    if hasattr(reporter, "kept"):
        reporter.kept(job)


def tell_note(reporter: Reporter, text: str) -> None:
    """Shows something that people may want to know, where the reporter of a user can."""
    if hasattr(reporter, "note"):
        reporter.note(text)


def tell_gear(reporter: Reporter, job: str, gear: str) -> None:
    """Shows that a job, which has begun, is made of looks at flows instead of packet-hops, where the reporter of a user can."""
    if gear != PACKETS and hasattr(reporter, "count_looks"):
        reporter.count_looks(job)


def tell_busy(reporter: Reporter, job: str) -> None:
    """Shows that somebody else runs a job, where the reporter of a user can."""
    if hasattr(reporter, "busy"):
        reporter.busy(job)


class Lines:
    """Plain lines, one when a job begins, one every few seconds, one when it is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, tuple[float, float, int]] = {}
        self._busy: set[str] = set()
        self._looks: set[str] = set()

    def count_looks(self, job: str) -> None:
        """A job is made of looks at flows."""
        self._looks.add(job)

    def kept(self, job: str) -> None:
        """A job has run before."""
        with self._lock:
            say(f"{job}: kept from before")

    def busy(self, job: str) -> None:
        """Reports once that somebody else runs a job."""
        with self._lock:
            if job not in self._busy:
                self._busy.add(job)
                say(f"{job}: {ELSEWHERE}")

    def note(self, text: str) -> None:
        """Something that people may want to know."""
        with self._lock:
            say(text)

    def start(self, job: str) -> None:
        """A job begins."""
        now = time.monotonic()
        with self._lock:
            self._jobs[job] = (now, now, 0)
            say(f"{job}: started")

    def update(self, job: str, simulated: float, end: float, packet_hops: int) -> None:
        """A job has simulated so many of `end` seconds."""
        now = time.monotonic()
        with self._lock:
            began, printed, _ = self._jobs[job]
            if now - printed < LINE_EVERY:
                self._jobs[job] = (began, printed, packet_hops)
                return
            self._jobs[job] = (began, now, packet_hops)
            elapsed = now - began
            if packet_hops == 0:
                say(f"{job}: building the network for {elapsed:.0f} s")
                return
            left = elapsed * (end - simulated) / simulated if simulated > 0 else float("nan")
            say(
                f"{job}: {simulated:.3f} of {end:.3f} s simulated, {self._speed(job, packet_hops, elapsed)}, {left:.0f} s left"
            )

    def finish(self, job: str) -> None:
        """A job is done."""
        with self._lock:
            began, _, packet_hops = self._jobs.pop(job)
            elapsed = time.monotonic() - began
            say(f"{job}: done in {elapsed:.1f} s, {self._speed(job, packet_hops, elapsed)}")

    def _speed(self, job: str, steps: int, seconds: float) -> str:
        return speed(steps, seconds, LOOKS if job in self._looks else HOPS)


class Bars:
    """One bar per running job."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._jobs: dict[str, tuple[TaskID, float]] = {}
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._looks: set[str] = set()

    def count_looks(self, job: str) -> None:
        """A job is made of looks at flows."""
        self._looks.add(job)

    def kept(self, job: str) -> None:
        """A job has run before."""
        self.note(f"{job}: kept from before")

    def busy(self, job: str) -> None:
        """Reports once that somebody else runs a job."""
        with self._lock:
            is_known = job in self._busy
            self._busy.add(job)
        if not is_known:
            self.note(f"{job}: {ELSEWHERE}")

    def note(self, text: str) -> None:
        """Something that people may want to know."""
        self.progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def start(self, job: str) -> None:
        """A job begins."""
        task = self.progress.add_task(job, total=1.0, simulated="", speed="")
        with self._lock:
            self._jobs[job] = (task, time.monotonic())

    def update(self, job: str, simulated: float, end: float, packet_hops: int) -> None:
        """A job has simulated so many of `end` seconds."""
        task, began = self._jobs[job]
        self.progress.update(
            task,
            completed=simulated / end if end > 0 else 0.0,
            simulated=f"{simulated:.2f}/{end:.2f} s" if packet_hops else "building",
            speed=speed(packet_hops, time.monotonic() - began, LOOKS if job in self._looks else HOPS),
        )

    def finish(self, job: str) -> None:
        """A job is done."""
        with self._lock:
            task, _ = self._jobs.pop(job)
        self.progress.remove_task(task)


def speed(steps: int, seconds: float, unit: str = HOPS) -> str:
    """Packet-hops, or looks at flows, of which there are fewer, per second of wall time, for people."""
    if seconds <= 0:
        return "-"
    return f"{steps / seconds / 1e6:.1f} M {unit}/s" if unit == HOPS else f"{steps / seconds / 1e3:,.0f} k {unit}/s"


@contextmanager
def reporter(*, quiet: bool) -> Iterator[Reporter]:
    """The reporter that suits standard error: bars on a terminal, lines on a pipe."""
    if quiet:
        yield Silent()
    elif sys.stderr.isatty():
        # Loading Rich takes longer than a short simulation.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[simulated]}")]
        columns += [TextColumn("{task.fields[speed]}"), TimeRemainingColumn()]
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield Bars(progress)
    else:
        yield Lines()


class Counting(Protocol):
    """Shows the number of finished runs of a study."""

    def begin(self, runs: int, kept: int, workers: int) -> None:
        """So many runs are to be made, and so many were there already."""

    def report_done(self, run: str, because: str = "") -> None:
        """A run is made, or has failed."""

    def note(self, text: str) -> None:
        """Something that people may want to know."""


class Uncounted:
    """Shows nothing."""

    def begin(self, runs: int, kept: int, workers: int) -> None:
        """So many runs are to be made."""

    def report_done(self, run: str, because: str = "") -> None:
        """A run is made, or has failed."""

    def note(self, text: str) -> None:
        """Something that people may want to know."""


class CountLines:
    """A plain line every few seconds, and one for each run that fails."""

    def __init__(self) -> None:
        self._runs = self._done = self._failed = 0
        self._began = self._printed = time.monotonic()

    def begin(self, runs: int, kept: int, workers: int) -> None:
        """So many runs are to be made, and so many were there already."""
        self._runs, self._done = runs, 0
        self._began = self._printed = time.monotonic()
        before = f", {kept} kept from before" if kept else ""
        say(f"{count_text(runs, 'run')} to make{before}, {workers} side by side" if runs else f"no run to make{before}")

    def report_done(self, run: str, because: str = "") -> None:
        """A run is made, or has failed."""
        self._done += 1
        if because:
            self._failed += 1
            say(f"{run}: failed: {because}")
        now = time.monotonic()
        if self._done < self._runs and now - self._printed < LINE_EVERY:
            return
        self._printed = now
        say(f"{self._done} of {self._runs} runs done{failed_text(self._failed)}, {self._estimate_left(now)}")

    def note(self, text: str) -> None:
        """Something that people may want to know."""
        say(text)

    def _estimate_left(self, now: float) -> str:
        elapsed = now - self._began
        if self._done == self._runs:
            return f"in {elapsed:.1f} s"
        return f"{elapsed * (self._runs - self._done) / self._done:.0f} s left"


class CountBar:
    """One bar for all runs."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._failed = 0

    def begin(self, runs: int, kept: int, workers: int) -> None:
        """So many runs are to be made, and so many were there already."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        before = f" ({kept} kept from before)" if kept else ""
        self._task = self._progress.add_task(f"runs{before}", total=runs, simulated="", speed="")

    def report_done(self, run: str, because: str = "") -> None:
        """A run is made, or has failed."""
        assert self._task is not None
        if because:
            self._failed += 1
            self.note(f"{run}: failed: {because}")
        task = self._progress.tasks[self._progress.task_ids.index(self._task)]
        count = f"{int(task.completed) + 1} of {int(task.total or 0)}{failed_text(self._failed)}"
        self._progress.update(self._task, advance=1, simulated=count)

    def note(self, text: str) -> None:
        """Something that people may want to know."""
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


def failed_text(failed: int) -> str:
    """Returns the number of failed runs in words; empty for none."""
    return f", {failed} failed" if failed else ""


@contextmanager
def counter(*, quiet: bool) -> Iterator[Counting]:
    """Gives a counter of runs that suits standard error: a bar on a terminal, lines on a pipe."""
    with reporter(quiet=quiet) as reporting:
        if isinstance(reporting, Bars):
            yield CountBar(reporting.progress)
        else:
            yield Uncounted() if quiet else CountLines()

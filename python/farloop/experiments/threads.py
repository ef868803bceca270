"""Runs simulations, several at a time. The native simulator releases the interpreter's lock, so threads are enough.

Simulations side by side need nothing of each other, the parts of one wait for each other: processors go to simulations first, and
those that are left over into each of them. Where nobody says how many threads there are to be, a simulation takes as many of its share
as pay, which it measures while it runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from farloop import _native, memory
from farloop.algorithm import digest, explain_failure, interrupt, name_of
from farloop.errors import FarloopError, InvariantError, clip_text
from farloop.experiments.crew import AlgorithmThreads, BusyError
from farloop.experiments.journal import BUSY, MADE, make_once
from farloop.formats.scenario_text import worded_for_python
from farloop.messages import say
from farloop.output.store import Simulated, Store, address
from farloop.results import tables
from farloop.results.gears import gear_of
from farloop.results.trace import make_trace
from farloop.running.progress import Reporter, Silent, tell_busy, tell_gear, tell_kept
from farloop.scenario import Scenario

MAX_THREADS = 1024
"""More than this is a slip."""


@dataclass(frozen=True)
class Job:
    """One simulation: a name for people, what to simulate, and what to trace."""

    name: str
    scenario: Scenario
    trace: tuple[str, ...] = ()


class Processors:
    """Divides processors among simulations that run side by side.

    Args:
        processors: Number of processors.
        waiting: Simulations that have none yet.
    """

    def __init__(self, processors: int, waiting: int) -> None:
        self._free = processors
        self._waiting = waiting
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def take_share(self) -> Iterator[int]:
        """For one simulation: its share of those that are free, at least one, as long as it runs."""
        with self._lock:
            share = max(1, self._free // max(1, self._waiting))
            self._free -= share
            self._waiting -= 1
        try:
            yield share
        finally:
            with self._lock:
                self._free += share

    def drop_waiting(self) -> None:
        """A simulation that waits needs no share any more."""
        with self._lock:
            self._waiting -= 1


def default_threads() -> int:
    """As many as this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def number_of_threads(wanted: int | None) -> int:
    """A number of threads; for `None` one per processor.

    Raises:
        FarloopError: it is none.
    """
    if wanted is None:
        return default_threads()
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not 1 <= wanted <= MAX_THREADS:
        expected = f"expected a whole number from 1 to {MAX_THREADS}, or None for one per processor"
        raise FarloopError(f"threads: {clip_text(repr(wanted))}: {expected}")
    return wanted


def simulate(
    jobs: Sequence[Job],
    *,
    threads: int | None = None,
    reporter: Reporter | None = None,
    store: Store | None = None,
) -> list[Simulated]:
    """Runs all jobs on `threads` threads; for `None` on as many as pay, at most one per processor.

    The results are in the order of the jobs and depend on nothing else.
    Jobs that are the same simulation run once. Runs that are in the store are read, runs that somebody else makes for the store are
    awaited, and finished runs are stored at once. Where something is traced, everything runs, and the store is left alone. Before the first
    one runs there is a note about those that may take more memory than is free; of several, no more run side by side than fit.

    Raises:
        ScenarioError: a scenario is not valid; all are checked before the first one runs.
        InvariantError: a simulation broke one of its own consistency checks.
        FarloopError: `threads` is no number of threads, a run may take more memory than there is, or it cannot be written to the store.
        KeyboardInterrupt: the user interrupted; nothing runs any more.
    """
    auto, threads = threads is None, number_of_threads(threads)
    if any(job.trace for job in jobs):
        store = None  # What is kept has no trace.
    reporter = reporter or Silent()
    stop = threading.Event()
    keys, first, missing = plan_jobs(jobs, store, reporter)
    lanes = min(threads, _count_lanes([first[key].scenario for key in missing], threads))
    processors = Processors(threads, min(len(missing), lanes) if lanes < threads else len(missing))
    crew = AlgorithmThreads(lanes)
    task = partial(_simulate, processors=processors, auto=auto, reporter=reporter, stop=stop, store=store)
    try:
        made = crew.complete({key: partial(task, first[key], key) for key in missing})
    except BaseException:
        stop.set()
        crew.leave(lambda: interrupt({class_ for job in jobs for class_ in job.scenario.classes}))
        raise
    if store is None:
        return [_require_result(made[key]) for key in keys]
    return read_back(store, keys)


def plan_jobs(
    jobs: Sequence[Job], store: Store | None, reporter: Reporter
) -> tuple[list[str], dict[str, Job], list[str]]:
    """The key of each job; the first job of each key; the keys of those that the store lacks.

    Raises:
        ScenarioError: a scenario is not valid.
    """
    keys: list[str] = []
    first: dict[str, Job] = {}
    missing: list[str] = []
    for job in jobs:
        keys.append(key := " ".join((address(job.scenario), *job.trace)))
        if key in first:
            continue
        first[key] = job
        if store is None or key not in store:
            missing.append(key)
            _ = job.scenario.memory  # Checked while the parsed scenario is at hand; it is needed again.
        else:
            tell_kept(reporter, job.name)
    return keys, first, missing


def simulate_job(
    job: Job, progress: Callable[[float, float, int], bool] | None, threads: int, *, auto: bool = False
) -> Simulated:
    """Runs one job from this thread, on `threads` threads, or with `auto` on as many of them as pay; `progress` returns `False` to stop it.

    Raises:
        ScenarioError: the scenario is not valid.
        InvariantError: the simulation broke one of its own consistency checks.
        Cancelled: it was stopped.
    """
    scenario = job.scenario
    output = _run(scenario, progress, threads, job.trace, auto)
    info = json.loads(output.info)
    if scenario.classes:
        info["classes"] = {name_of(class_): digest(class_) for class_ in scenario.classes}
    for invariant in info["invariants"]:
        if not invariant["ok"]:
            raise InvariantError(f"{job.name}: invariant violated: {invariant['name']}: {invariant['detail']}")
    taken = output.take_tables()
    arrow_tables = {name: tables.describe_columns(name, tables.to_arrow(columns)) for name, columns in taken.items()}
    return Simulated(arrow_tables, info, make_trace(job.trace, output.trace))


def _count_lanes(scenarios: Sequence[Scenario], most: int) -> int:
    """Returns the number of these that run side by side, as memory allows.

    Raises:
        FarloopError: one may take more than there is.
    """
    check_memory(scenarios)
    return memory.side_by_side([scenario.memory for scenario in scenarios], most)


def check_memory(scenarios: Iterable[Scenario]) -> None:
    """Notes which runs may take more memory than is free.

    Raises:
        FarloopError: one may take more than there is.
    """
    for note in dict.fromkeys(memory.check(scenario.file, scenario.memory) for scenario in scenarios):
        if note:
            say(f"farloop: note: {note}")


def read_back(store: Store, keys: Sequence[str]) -> list[Simulated]:
    """The runs of keys from a store.

    Fresh runs are read from the store just as earlier ones are, so that no result can depend on the difference.

    Raises:
        FarloopError: somebody has removed one meanwhile.
    """
    kept = {key: store.get(key) for key in dict.fromkeys(keys)}
    return [_require_result(kept[key]) for key in keys]


def _require_result(result: Simulated | None) -> Simulated:
    if result is None:
        raise FarloopError("a finished run was taken away while it was needed; run the same command again")
    return result


def _run(
    scenario: Scenario,
    progress: Callable[[float, float, int], bool] | None,
    threads: int,
    trace: tuple[str, ...],
    auto: bool,
) -> _native.RunOutput:
    try:
        handle = scenario.prepare_handle(take=True)
        with worded_for_python(scenario.text, scenario.display_name, scenario.case):
            return handle.run(progress, threads, list(trace), auto)
    except _native.HandlerError as error:
        raise explain_failure(error, scenario.classes) from error.__cause__


def _simulate(
    job: Job,
    key: str,
    processors: Processors,
    auto: bool,
    reporter: Reporter,
    stop: threading.Event,
    store: Store | None,
) -> Simulated | None:
    """Runs a job; with a store what it gave goes there, unless it is there meanwhile, and memory is free for the next one.

    Raises:
        BusyError: somebody else is at it.
    """

    def progress(simulated: float, end: float, packet_hops: int) -> bool:
        if stop.is_set():
            return False
        reporter.update(job.name, simulated, end, packet_hops)
        return True

    def simulate_here() -> Simulated:
        reporter.start(job.name)
        tell_gear(reporter, job.name, gear_of(job.scenario.parsed))
        with processors.take_share() as threads:
            return simulate_job(job, progress, threads, auto=auto)

    if stop.is_set():
        return None
    if store is None:
        result = simulate_here()
        reporter.finish(job.name)
        return result
    try:
        status = make_once(store, key, simulate_here)
    except OSError as error:
        raise FarloopError(f"{store.directory}: cannot be written: {error.strerror or error}") from None
    if status == BUSY:
        tell_busy(reporter, job.name)
        raise BusyError
    if status == MADE:
        reporter.finish(job.name)
    else:
        processors.drop_waiting()
        tell_kept(reporter, job.name)
    return None

"""Runs tasks in processes on this machine: as many side by side as there are processors, and as fit into memory.

Every worker is a process of its own. One that is killed, by whomever, loses the run that it was making and nothing else: another one makes
that again. `concurrent.futures` gives up all that is waiting where one process is killed, and imports the user's script once more in
every worker.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from farloop import _native
from farloop.errors import FarloopError
from farloop.experiments.journal import BUSY, LOOK_AGAIN
from farloop.experiments.tasks import FAILED, LOST, PROGRESS, READY, Outcome, Task

TRIES = 5
"""Workers that a run may lose before it counts as what kills them."""

STARTS = 20
"""Workers that may end one after the other before they have begun with anything."""

SHARE = 0.9
"""Of the memory that there is."""

_TAIL = 2000
"""Characters of a dead worker's last words."""


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    task: Task | None = None
    is_ready: bool = False
    rest: bytes = b""
    """Of its answers what is no whole line yet."""

    def last_words(self) -> str:
        self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, self.errors.tell() - _TAIL))
        lines = self.errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""


class LocalPool:
    """Workers on this machine.

    Attributes:
        workers: Most of them.

    Args:
        workers: Most of them.
        room: Bytes of memory for all together; by default most of what there is.
    """

    def __init__(self, workers: int, room: int | None = None) -> None:
        available = _native.available_memory()
        self.workers = workers
        self._room = room if room is not None else None if available is None else int(SHARE * available)
        self._started: list[_Worker] = []
        self._selector: selectors.BaseSelector | None = None
        self._progress: Callable[[Task, float, float, int], None] | None = None
        self._stillborn = 0
        """Workers that ended before they were ready, one after the other."""
        self._larger = 1.0
        """Largest memory of a run so far, as a multiple of its estimate."""

    def outcomes(
        self, tasks: Iterable[Task], progress: Callable[[Task, float, float, int], None] | None = None
    ) -> Generator[tuple[Task, Outcome]]:
        """Makes all tasks; gives each with its outcome as it ends. LOST is reported each time, BUSY once; such tasks are retried.

        Workers stay for the next call, unless this one is left before all is made.
        """
        self._progress = progress
        source, waiting = iter(tasks), deque[Task]()
        later: list[tuple[float, Task]] = []
        lost: Counter[str] = Counter()
        busy: set[str] = set()
        try:
            while True:
                now = time.monotonic()
                waiting.extend(task for at, task in later if at <= now)
                later = [(at, task) for at, task in later if at > now]
                self._give(waiting, source)
                if not (waiting or later or any(w.task for w in self._started)):
                    return
                for task, outcome in self._answers():
                    if outcome.status == BUSY:
                        later.append((time.monotonic() + LOOK_AGAIN, task))
                        if task.key not in busy:
                            busy.add(task.key)
                            yield task, outcome
                    elif outcome.status == LOST:
                        lost[task.key] += 1
                        yield task, outcome
                        if lost[task.key] < TRIES:
                            waiting.append(task)
                        else:
                            because = f"its worker ended {TRIES} times ({outcome.because})"
                            yield task, Outcome(FAILED, because)
                    else:
                        self._larger = max(self._larger, outcome.peak / task.memory)
                        yield task, outcome
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends all workers, and what they are making."""
        for worker in self._started:
            # All at once: each takes a while to end.
            self._dismiss(worker)
        for worker in list(self._started):
            self._end(worker)
        if self._selector is not None:
            self._selector.close()
            self._selector = None

    def _give(self, waiting: deque[Task], source: Iterator[Task]) -> None:
        """Gives tasks to workers as long as there are both, and memory; starts as many workers as tasks ask for."""
        waiting.extend(itertools.islice(source, max(0, self.workers - len(waiting))))
        idle = [w for w in self._started if w.is_ready and w.task is None]
        busy = [w.task for w in self._started if w.task]
        starting = len(self._started) - len(idle) - len(busy)
        for _ in range(min(len(waiting), self.workers - len(busy)) - len(idle) - starting):
            self._start()
        for worker in idle:
            needed = [int(task.memory * self._larger) for task in (*busy, *itertools.islice(waiting, 1))]
            if not waiting or (busy and self._room is not None and sum(needed) > self._room):
                return
            worker.task = waiting.popleft()
            busy.append(worker.task)
            assert worker.process.stdin is not None
            with contextlib.suppress(OSError):
                # Where it is dead already, its end is read.
                worker.process.stdin.write(f"{worker.task.as_json()}\n".encode())
                worker.process.stdin.flush()

    def _start(self) -> None:
        errors = tempfile.TemporaryFile()  # noqa: SIM115, it is closed with the worker
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "farloop.experiments.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                # An interrupt at the terminal is for this process, which ends them.
                start_new_session=True,
            )
        except OSError as error:
            errors.close()
            raise FarloopError(
                f"no worker can be started: {error.strerror or error}; fewer --workers need less"
            ) from None
        worker = _Worker(process, errors)
        self._started.append(worker)
        assert process.stdout is not None
        self._selector = self._selector or selectors.DefaultSelector()
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)

    def _answers(self) -> list[tuple[Task, Outcome]]:
        """Returns answers of workers, and tasks whose workers have ended, within a while."""
        answers: list[tuple[Task, Outcome]] = []
        if self._selector is None:
            # All that is left is made by somebody else.
            time.sleep(LOOK_AGAIN / 5)
            return answers
        for key, _ in self._selector.select(timeout=LOOK_AGAIN / 5):
            worker: _Worker = key.data
            assert worker.process.stdout is not None
            data = os.read(worker.process.stdout.fileno(), 1 << 16)
            *lines, worker.rest = (worker.rest + data).split(b"\n")
            for line in lines:
                answers += self._answer(worker, line.decode() + "\n")
            if data:
                continue
            task, worker.task = worker.task, None
            because = self._end(worker)
            if task is not None:
                answers.append((task, Outcome(LOST, because)))
            elif not worker.is_ready:
                self._stillborn += 1
                if self._stillborn >= STARTS:
                    raise FarloopError(f"no worker can be started: {because}")
        return answers

    def _answer(self, worker: _Worker, line: str) -> list[tuple[Task, Outcome]]:
        """Takes a line that a worker has written: the outcome of its task, if it is one."""
        if line == READY:
            worker.is_ready, self._stillborn = True, 0
        elif line.startswith(PROGRESS):
            if worker.task is not None and self._progress is not None:
                simulated, end, packet_hops = line.removeprefix(PROGRESS).split()
                self._progress(worker.task, float(simulated), float(end), int(packet_hops))
        elif worker.task is not None:
            task, worker.task = worker.task, None
            return [(task, Outcome.from_json(line))]
        return []

    @staticmethod
    def _dismiss(worker: _Worker) -> None:
        """Has a worker end: at once, if it is at something."""
        assert worker.process.stdin is not None
        with contextlib.suppress(OSError):
            worker.process.stdin.close()
        if worker.task is not None or not worker.is_ready:
            worker.process.kill()

    def _end(self, worker: _Worker) -> str:
        """Ends a worker; why it had ended, if it had."""
        process = worker.process
        assert process.stdout is not None
        assert self._selector is not None
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(process.stdout)
        self._dismiss(worker)
        process.stdout.close()
        try:
            code = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        words = worker.last_words()
        worker.errors.close()
        self._started.remove(worker)
        how = f"killed by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"exit code {code}"
        return f"{how}: {words}" if words else how

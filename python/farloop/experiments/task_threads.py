"""Runs tasks in threads of this process, which start at once; processes take over where a study takes longer."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial

from farloop import _native, memory
from farloop.algorithm import interrupt
from farloop.experiments import processes
from farloop.experiments.crew import POLL, AlgorithmThreads
from farloop.experiments.journal import BUSY, LOOK_AGAIN
from farloop.experiments.tasks import Outcome, Task, make_here

Progress = Callable[[Task, float, float, int], None]

THREADS_FIRST = 2.0
"""Seconds of a study until processes take over: they start in about half of one, need no interpreter together, and end alone."""

THREADS_SHARE = 0.25
"""Of the memory that is free: what runs may take together, as estimated, without processes of their own."""


class TaskThreads:
    """Threads of this process: as many side by side as there are processors, and as fit into memory.

    Attributes:
        workers: Most of them.

    Args:
        threads: Most of them.
    """

    def __init__(self, threads: int) -> None:
        free = _native.available_memory()
        self.workers = threads
        self._room = None if free is None else int(memory.SHARE * free)

    def outcomes(self, tasks: Iterable[Task], progress: Progress | None = None) -> Generator[tuple[Task, Outcome]]:
        """Makes all tasks; gives each with its outcome as it ends. BUSY is reported once; such tasks are retried."""
        batch = _Batch(self.workers, self._room, progress)
        yield from batch.outcomes(iter(tasks))

    def close(self) -> None:
        """There is nothing to end: threads end with their batch."""


class ThreadsFirst:
    """Threads of this process, until a study takes longer than they pay: then processes on this machine.

    Processes of their own have runs that could take this process down, since they need much memory, and algorithms in Python, of which
    threads run one at a time.

    Attributes:
        workers: Most threads, and then most processes.

    Args:
        workers: Most of them.
        seconds: Seconds until processes take over from threads.
    """

    def __init__(self, workers: int, seconds: float = THREADS_FIRST) -> None:
        free = _native.available_memory()
        self.workers = workers
        self._left = seconds
        self._room = None if free is None else int(THREADS_SHARE * free)
        self._pool: processes.LocalPool | None = None

    def outcomes(self, tasks: Iterable[Task], progress: Progress | None = None) -> Generator[tuple[Task, Outcome]]:
        """Makes all tasks; gives each with its outcome as it ends. LOST is reported each time, BUSY once; such tasks are retried."""
        source, rest = iter(tasks), deque[Task]()
        if self._pool is None:
            batch = _Batch(self.workers, self._room, progress)
            began = time.monotonic()
            yield from batch.outcomes(itertools.takewhile(partial(self._is_light, rest), source), began + self._left)
            self._left -= time.monotonic() - began
            rest.extendleft(reversed(batch.rest))
        for task in itertools.islice(source, 0 if rest else 1):
            rest.append(task)
        if rest:
            if self._pool is None:
                self._pool = processes.LocalPool(self.workers)
            yield from self._pool.outcomes(itertools.chain(rest, source), progress)

    def close(self) -> None:
        """Ends the processes, if there are any."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _is_light(self, rest: deque[Task], task: Task) -> bool:
        """Returns whether a thread can make a task; keeps one that none can."""
        taken = self.workers * (task.memory - memory.PROCESS) + memory.PROCESS
        if not task.classes and (self._room is None or taken <= self._room):
            return True
        rest.append(task)
        return False


class _Batch:
    """Tasks that threads of this process make.

    Attributes:
        rest: Tasks that were begun, or taken, when the time was over: no thread makes them.
    """

    def __init__(self, threads: int, room: int | None, progress: Progress | None) -> None:
        self.rest: list[Task] = []
        self._threads, self._room, self._progress = threads, room, progress
        self._crew, self._stop = AlgorithmThreads(threads), threading.Event()
        self._running: dict[Future[Outcome], Task] = {}

    def outcomes(self, source: Iterator[Task], until: float | None = None) -> Generator[tuple[Task, Outcome]]:
        """Makes tasks until there are no more, or it is so late."""
        waiting: deque[Task] = deque()
        later: list[tuple[float, Task]] = []
        busy: set[str] = set()
        try:
            while True:
                now = time.monotonic()
                if until is not None and now >= until:
                    self._stop.set()
                else:
                    waiting.extend(task for at, task in later if at <= now)
                    later = [(at, task) for at, task in later if at > now]
                    self._submit(waiting, source)
                if not self._running:
                    if self._stop.is_set() or not (waiting or later):
                        break
                    time.sleep(POLL)
                for task, outcome in self._finished_tasks(until):
                    if outcome.status == BUSY:
                        later.append((time.monotonic() + LOOK_AGAIN, task))
                        if task.key in busy:
                            continue
                        busy.add(task.key)
                    yield task, outcome
            self.rest += [*waiting, *(task for _, task in later)]
            self._crew.dismiss()
        except BaseException:
            self._stop.set()
            classes = {class_ for task in self._running.values() for class_ in (task.here.classes if task.here else ())}
            self._crew.leave(lambda: interrupt(classes))
            raise

    def _submit(self, waiting: deque[Task], source: Iterator[Task]) -> None:
        """Has threads make tasks, as many as there are threads, and as memory allows: one in any case."""
        while len(self._running) < self._threads:
            if not waiting:
                waiting.extend(itertools.islice(source, 1))
            if not waiting:
                return
            needed = sum(task.memory - memory.PROCESS for task in (*self._running.values(), waiting[0]))
            if self._running and self._room is not None and needed + memory.PROCESS > self._room:
                return
            task = waiting.popleft()
            self._running[self._crew.submit(partial(make_here, task, partial(self._goes_on, task)))] = task

    def _goes_on(self, task: Task, simulated: float, end: float, packet_hops: int) -> bool:
        if self._stop.is_set():
            return False
        if self._progress is not None:
            self._progress(task, simulated, end, packet_hops)
        return True

    def _finished_tasks(self, until: float | None) -> Iterator[tuple[Task, Outcome]]:
        """The tasks that end within a while, with their outcomes; those that were stopped are kept for others."""
        patience = POLL if until is None or self._stop.is_set() else max(0.0, min(POLL, until - time.monotonic()))
        for future in wait(self._running, timeout=patience, return_when=FIRST_COMPLETED).done:
            task = self._running.pop(future)
            try:
                outcome = future.result()
            except _native.Cancelled:
                self.rest.append(task)
            else:
                yield task, outcome

"""Threads that do things side by side, and that can be left behind where one does not end.

`concurrent.futures` waits for its threads, also when the interpreter ends: a handler of an algorithm in Python that never returns would
keep the command alive for ever.
"""

from __future__ import annotations

import atexit
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Any, TypeVar

from farloop.experiments.journal import LOOK_AGAIN

K = TypeVar("K")
R = TypeVar("R")

POLL = 0.2
"""Seconds between looks for an interrupt while threads work."""

PATIENCE = 0.4
"""Seconds that threads have to end by themselves; as many again after `AlgorithmThreads.leave` has called for its help."""

LAST_PATIENCE = 2.0
"""Seconds that those left behind have before the interpreter ends."""

_LEFT: list[threading.Thread] = []


class BusyError(Exception):
    """Somebody else is at what a task is to do: another process, or another thread of this one."""


class AlgorithmThreads:
    """Some threads, started as they are needed.

    Args:
        most: Maximum number of threads.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._futures: list[Future[Any]] = []

    def submit(self, task: Callable[[], R]) -> Future[R]:
        """Has a thread do a task, in the order in which they come."""
        future: Future[R] = Future()
        self._futures.append(future)
        # Whether runs are forced is known by the context.
        self._tasks.put((future, partial(contextvars.copy_context().run, task)))
        if len(self._threads) < self._most:
            # Nothing waits for it when the interpreter ends.
            thread = threading.Thread(target=_work, args=(self._tasks,), name="farloop", daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def complete(self, tasks: Mapping[K, Callable[[], R]]) -> dict[K, R]:
        """Does all tasks, and ends; raises as soon as one fails.

        A task that raises `BusyError` is done again later, when others had their turn. Waits in short steps: an interrupt counts only
        between them.
        """
        results: dict[K, R] = {}
        pending = {self.submit(task): key for key, task in tasks.items()}
        later: list[tuple[float, K]] = []
        while pending or later:
            now = time.monotonic()
            pending |= {self.submit(tasks[key]): key for at, key in later if at <= now}
            later = [(at, key) for at, key in later if at > now]
            if not pending:
                time.sleep(POLL)
            for future in wait(pending, timeout=POLL, return_when=FIRST_COMPLETED).done:
                key = pending.pop(future)
                try:
                    results[key] = future.result()
                except BusyError:
                    later.append((now + LOOK_AGAIN, key))
        self.dismiss()
        for thread in self._threads:
            thread.join()
        return results

    def leave(self, help_: Callable[[], None]) -> None:
        """Drops what has not begun, and waits for what has: not for ever.

        Args:
            help_: Called where some do not end by themselves.
        """
        for future in self._futures:
            future.cancel()
        self.dismiss()
        left = _alive(self._threads, PATIENCE)
        if left:
            help_()
            left = _alive(left, PATIENCE)
        _LEFT.extend(left)

    def dismiss(self) -> None:
        """Lets the threads end when all that was submitted is done."""
        for _ in self._threads:
            self._tasks.put(None)


def has_stray_thread() -> bool:
    """Returns true if a thread still works on something that nobody waits for."""
    return any(thread.is_alive() for thread in _LEFT)


def _work(tasks: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]) -> None:
    while (task := tasks.get()) is not None:
        future, call = task
        if future.set_running_or_notify_cancel():
            try:
                result = call()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
        # What it holds is not kept until the next one comes.
        del task, future, call


def _alive(threads: list[threading.Thread], patience: float) -> list[threading.Thread]:
    """Those that have not ended after so many seconds for all together."""
    until = time.monotonic() + patience
    for thread in threads:
        _join(thread, until)
    return [thread for thread in threads if thread.is_alive()]


def _join(thread: threading.Thread, until: float) -> None:
    """Waits for the end of a thread, also of one in whose start an interrupt came: until that is over nobody can wait for it."""
    while True:
        try:
            thread.join(max(0.0, until - time.monotonic()))
        except RuntimeError:
            if time.monotonic() >= until:
                return
            time.sleep(POLL / 100)
        else:
            return


@atexit.register
def _wait_once_more() -> None:
    """A thread that comes back from the simulator into an interpreter that is gone would end the process with a signal."""
    _alive(_LEFT, LAST_PATIENCE)

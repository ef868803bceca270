"""The process beside a running plan that takes it back where the plan's own process cannot: killed, stopped, or without processor time."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from farloop.kernel.rollout.selection import COMMITTED, WITHDRAWN, Selection

POLL = 0.25
"""Seconds between two looks at the heartbeat."""


@dataclass
class Guardian:
    """The guardian as its parent knows it.

    Attributes:
        process: Its id.
    """

    process: int
    _line: int

    def is_alive(self) -> bool:
        """True until it ends, by whatever."""
        with contextlib.suppress(ChildProcessError):
            return os.waitpid(self.process, os.WNOHANG) == (0, 0)
        return False

    def dismiss(self) -> None:
        """Has it end without doing anything: the plan is committed, or taken back."""
        with contextlib.suppress(OSError):
            os.write(self._line, b"d")
        with contextlib.suppress(OSError):
            os.close(self._line)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.process, 0)


def start_guardian(
    held: Selection, pins: Path, take_back: float, reach: Callable[[Selection], None] | None
) -> Guardian:
    """Forks the guardian. It holds the plan's links, too, so that the program still runs while connections are taken back.

    Args:
        held: The plan in the kernel.
        pins: Its folder of bpffs; a commit that was not finished leaves something there.
        take_back: For how many seconds it waits for connections to take their former algorithm.
        reach: Takes back what only the sockets' processes give; None where the plan does not ask for it.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(reading)
        return Guardian(process, writing)
    # The child never returns into its parent's code, whatever happens.
    try:
        os.close(writing)
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        _keep_only({reading, *held.maps.values(), *held.links.values()})
        if _parent_fails(reading, held):
            take_all_back(held, pins, take_back, reach)
    finally:
        os._exit(0)


def take_all_back(
    held: Selection, pins: Path, patience: float, reach: Callable[[Selection], None] | None
) -> tuple[int, list[str]]:
    """Withdraws a plan and waits for its connections.

    Returns:
        How many connections the plan still has, and where they lead: those that were idle all the time.
    """
    settings = held.settings()
    if settings.flags & COMMITTED:
        return 0, []
    settings.flags |= WITHDRAWN
    settings.share = 0.0
    held.write(settings)
    remove_pins(pins)
    if reach:
        reach(held)
    latest = time.monotonic() + patience
    while True:
        left = [c for c in held.connections().values() if c.moved and not c.closed]
        if not left or time.monotonic() > latest:
            return len(left), [f"{c.source} to {c.destination}" for c in left]
        time.sleep(0.05)


def remove_pins(folder: Path) -> None:
    """Takes a plan's folder of bpffs away, if it is there, and that of all plans if it is empty then."""
    if not folder.is_dir():
        return
    for pin in folder.iterdir():
        pin.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()


def _parent_fails(line: int, held: Selection) -> bool:
    """Waits until the parent says that all is done (false), or is gone, or has let its lease lapse (true)."""
    while True:
        readable, _, _ = select.select([line], [], [], POLL)
        if readable:
            return os.read(line, 1) != b"d"
        settings = held.settings()
        lapsed = time.monotonic_ns() - settings.beat > settings.lease
        if lapsed and not settings.flags & COMMITTED:
            return True


def _keep_only(wanted: set[int]) -> None:
    """Lets go of what the parent had open: its socket is free for the next run, and who reads its streams waits for their end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    for number in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if number > 2 and number not in wanted:
            with contextlib.suppress(OSError):
                os.close(number)

"""Sockets of other processes (pidfd_getfd): the way to connections of before a plan, and to idle ones, where a plan asks for it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path

from farloop.kernel.rollout.net_namespaces import socket_cookie
from farloop.kernel.rollout.rollout_plan import RolloutPlan
from farloop.kernel.rollout.selection import Selection
from farloop.kernel.rollout.sockets import Socket, Watch

_PIDFD_GETFD = 438
_ESTABLISHED = 1


def move_existing(plan: RolloutPlan, held: Selection, share: float, living: dict[int, Socket]) -> tuple[int, int]:
    """Moves connections of the class that the program has not seen begin, by a hash of the plan's seed and the socket's cookie.

    Returns:
        How many were moved, and how many should have been but belong to no process that lets them go.
    """
    known = held.connections()
    wanted = {
        s.inode: s
        for s in living.values()
        if s.state == _ESTABLISHED and s.cookie not in known and s.control != plan.control
        if plan.has_connection(s.source, s.destination)
        and zlib.crc32(f"{plan.seed}:{s.cookie}".encode()) < share * 2**32
    }
    moved = 0
    for cookie, former in _set_control(wanted, plan.control):
        held.remember(cookie, former)
        moved += 1
    return moved, len(wanted) - moved


def take_back_by_process(held: Selection) -> None:
    """Gives connections that the plan still has their former algorithm, idle ones too."""
    watch = Watch()
    try:
        watch.follow_namespaces()
        left = {cookie: c for cookie, c in held.connections().items() if c.moved and not c.closed}
        living = watch.living()
        for cookie in left.keys() & living.keys():
            changed = dict(_set_control({living[cookie].inode: living[cookie]}, left[cookie].former))
            if cookie in changed:
                held.forget({cookie})
        held.forget(set(left) - set(living))
    finally:
        watch.close()


def _set_control(wanted: dict[int, Socket], control: str) -> Iterator[tuple[int, str]]:
    """Sets the congestion control of sockets, by the inodes of their files; gives cookie and former algorithm of each that took it."""
    left = dict(wanted)
    for link in Path("/proc").glob("[0-9]*/fd/*") if left else ():
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if not target.startswith("socket:[") or (s := left.get(int(target[8:-1]))) is None:
            continue
        with contextlib.suppress(OSError), _take_descriptor(int(link.parts[2]), int(link.name)) as taken:
            # The number may be another socket's by now.
            if socket_cookie(taken.fileno()) != s.cookie:
                continue
            former = taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode("ascii")
            taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            left.pop(s.inode)
            yield s.cookie, former


@contextlib.contextmanager
def _take_descriptor(process: int, number: int) -> Iterator[socket.socket]:
    handle = os.pidfd_open(process)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        descriptor = library.syscall(_PIDFD_GETFD, handle, number, 0)
        if descriptor < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
    finally:
        os.close(handle)
    with socket.socket(fileno=descriptor) as taken:
        yield taken

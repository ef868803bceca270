"""The network namespaces of this host that this process can enter."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from farloop.errors import FarloopError, clip_text

_NEWNET = 0x40000000
_HERE = "/proc/thread-self/ns/net"
_SO_COOKIE = 57
_SO_NETNS_COOKIE = 71

Result = TypeVar("Result")


def path_of(name: str) -> Path:
    """Where the namespace of that name in a plan is: "host", or a path.

    Raises:
        FarloopError: there is none.
    """
    path = Path("/proc/1/ns/net") if name == "host" else Path(name)
    if not path.exists():
        raise FarloopError(
            f'{clip_text(name)}: no such network namespace; expected "host", "all", or a path such as /run/netns/blue'
        )
    return path


def call_in(path: Path, function: Callable[[], Result]) -> Result:
    """Calls a function with this thread in another network namespace.

    Raises:
        OSError: it cannot be entered.
    """
    back, there = os.open(_HERE, os.O_RDONLY), -1
    try:
        there = os.open(path, os.O_RDONLY)
        _enter(there)
        try:
            return function()
        finally:
            _enter(back)
    finally:
        os.close(back)
        if there >= 0:
            os.close(there)


def cookie_of(path: Path) -> int:
    """The cookie by which the kernel's programs know a namespace.

    Raises:
        FarloopError: it cannot be entered.
    """
    try:
        return call_in(path, _own_cookie)
    except OSError as error:
        raise FarloopError(f"{path}: this network namespace cannot be entered: {error.strerror}") from None


def list_namespaces() -> dict[int, Path]:
    """All network namespaces that a process or a file of /run/netns shows, by inode."""
    listed: dict[int, Path] = {}
    for pattern, root in (("[0-9]*/ns/net", Path("/proc")), ("*", Path("/run/netns"))):
        for path in sorted(root.glob(pattern), key=lambda p: len(p.parts)):
            with suppress(OSError):
                listed.setdefault(path.stat().st_ino, path)
    return listed


def socket_cookie(descriptor: int) -> int:
    """The cookie of a socket, as sock_diag has it."""
    with socket.socket(fileno=os.dup(descriptor)) as own:
        return int(struct.unpack("=Q", own.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8))[0])


def netns_cookie(own: socket.socket) -> int:
    """The cookie of a socket's network namespace."""
    return int(struct.unpack("=Q", own.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8))[0])


def _own_cookie() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return netns_cookie(probe)


def _enter(descriptor: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(descriptor, _NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

"""TCP sockets of this host by sock_diag (NETLINK_SOCK_DIAG): those that live, and the last values of those that end."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from farloop.errors import FarloopError
from farloop.kernel.rollout import net_namespaces
from farloop.kernel.rollout.selection import address_text
from farloop.kernel.tcp_info import read_fields

_NETLINK_SOCK_DIAG = 4
_DESTROYED = (1, 3)  # SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_DONE, _ERROR = 3, 2
_INFO, _CONG, _CGROUP = 2, 4, 21  # INET_DIAG_...
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=4BI48s")
_MESSAGE = struct.Struct(">4x2H16s16s4x")
"""`struct inet_diag_msg` up to the interface; ports and addresses in network order."""
_MESSAGE_BYTES = 72
_COOKIE, _INODE = 44, 68
_LISTEN = 10
_ALL_BUT_LISTENING = 0xFFF & ~(1 << _LISTEN)
_BUFFER = 1 << 20
_SOL_NETLINK, _ADD_MEMBERSHIP, _RCVBUFFORCE = 270, 1, 33


@dataclass(frozen=True)
class Socket:
    """A TCP socket at one moment, or at its end.

    Attributes:
        cookie: Its number for life.
        inode: Of its file; 0 where there is none any more.
        control: Its congestion control; empty at its end.
        cgroup: Inode of its cgroup, 0 if the kernel does not say.
        state: TCP_ESTABLISHED and so on.
        fields: Of `struct tcp_info`.
    """

    cookie: int
    inode: int
    control: str
    cgroup: int
    state: int
    source: str
    destination: str
    fields: dict[str, int]


@dataclass
class Watch:
    """Netlink sockets in the network namespaces that can be entered.

    Attributes:
        unseen: Namespaces that cannot, with the reason.
        lost: Number of times that the kernel had no room for the ends of connections.
    """

    dumps: dict[int, socket.socket] = field(default_factory=dict)
    ends: dict[int, socket.socket] = field(default_factory=dict)
    unseen: dict[str, str] = field(default_factory=dict)
    lost: int = 0
    _cookies: dict[int, int] = field(default_factory=dict)

    @property
    def cookies(self) -> set[int]:
        """Cookies of the namespaces that are watched."""
        return set(self._cookies.values())

    def follow_namespaces(self, known: dict[int, Path] | None = None) -> None:
        """Opens sockets in namespaces that are new, and closes those of namespaces that nothing shows any more."""
        listed = net_namespaces.list_namespaces() if known is None else known
        for inode in set(self.dumps) - set(listed):
            self.dumps.pop(inode).close()
            self.ends.pop(inode).close()
            self._cookies.pop(inode, None)
        self.unseen = {name: why for name, why in self.unseen.items() if Path(name) in listed.values()}
        for inode, path in listed.items():
            if inode in self.dumps:
                continue
            try:
                self.dumps[inode], self.ends[inode] = net_namespaces.call_in(path, _open_sockets)
                self._cookies[inode] = net_namespaces.netns_cookie(self.dumps[inode])
            except OSError as error:
                self.unseen[str(path)] = error.strerror or str(error)

    def living(self) -> dict[int, Socket]:
        """All sockets but those that listen, by cookie.

        Raises:
            FarloopError: the kernel does not list them.
        """
        listed: dict[int, Socket] = {}
        for dump in self.dumps.values():
            for family in (socket.AF_INET, socket.AF_INET6):
                listed |= {s.cookie: s for s in _list_sockets(dump, family)}
        return listed

    def take_ended(self) -> list[Socket]:
        """The sockets that have ended since the last call."""
        sockets = []
        for end in self.ends.values():
            while True:
                try:
                    data = end.recv(_BUFFER, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    break
                except OSError:
                    self.lost += 1
                    continue
                sockets += [s for kind, body in _messages(data) if kind == _BY_FAMILY and (s := parse_socket(body))]
        return sockets

    def close(self) -> None:
        """Closes all."""
        for each in (*self.dumps.values(), *self.ends.values()):
            each.close()
        self.dumps.clear()
        self.ends.clear()


def parse_socket(body: bytes) -> Socket | None:
    """Reads a `struct inet_diag_msg` and its attributes; None for what is not whole, or has no counters, as in TIME_WAIT."""
    if len(body) < _MESSAGE_BYTES:
        return None
    attributes = dict(_attributes(body[_MESSAGE_BYTES:]))
    if _INFO not in attributes:
        return None
    family, state = body[0], body[1]
    sport, dport, source, destination = _MESSAGE.unpack_from(body)
    if family == socket.AF_INET:
        source, destination = (b"\0" * 10 + b"\xff\xff" + raw[:4] for raw in (source, destination))
    (cookie,) = struct.unpack_from("=Q", body, _COOKIE)
    (inode,) = struct.unpack_from("=I", body, _INODE)
    return Socket(
        cookie=cookie,
        inode=inode,
        control=attributes.get(_CONG, b"").rstrip(b"\0").decode("ascii", "replace"),
        cgroup=int.from_bytes(attributes.get(_CGROUP, b"")[:8], "little"),
        state=state,
        source=address_text(source, sport),
        destination=address_text(destination, dport),
        fields=read_fields(attributes.get(_INFO, b"")[:512]),
    )


def _open_sockets() -> tuple[socket.socket, socket.socket]:
    dump = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG)
    dump.settimeout(2)
    end = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG)
    end.bind((0, 0))
    for group in _DESTROYED:
        end.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, group)
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, 4 * _BUFFER)
    return dump, end


def _list_sockets(dump: socket.socket, family: int) -> Iterator[Socket]:
    # Bit n - 1 of the third number asks for attribute n; the cgroup comes by itself.
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << _INFO - 1 | 1 << _CONG - 1, 0, _ALL_BUT_LISTENING, b"")
    try:
        dump.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _DUMP, 1, 0) + request)
        while True:
            for kind, body in _messages(dump.recv(_BUFFER)):
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    number = -struct.unpack_from("=i", body)[0]
                    raise FarloopError(f"the kernel does not list TCP sockets (sock_diag): {os.strerror(number)}")
                if listed := parse_socket(body):
                    yield listed
    except OSError as error:
        raise FarloopError(f"the kernel does not list TCP sockets (sock_diag): {error.strerror or error}") from None


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, _, _, _ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size:
            return
        yield kind, data[at + _HEADER.size : at + length]
        at += (length + 3) & ~3


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            return
        yield kind, data[at + 4 : at + length]
        at += (length + 3) & ~3

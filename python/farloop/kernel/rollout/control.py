"""The local socket of a running plan: metrics for Prometheus, its state, and requests to commit or undo it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

from farloop.errors import FarloopError

_PEER = struct.Struct("=3i")
_MAX_REQUEST = 4096


def address_of(name: str) -> str:
    """The abstract address of a plan's socket: it has no file, so nothing of it is left."""
    return f"\0farloop/rollout/{name}"


class ControlServer:
    """Answers `GET /metrics`, `GET /status`, and of this user or root `POST /commit` and `POST /undo`."""

    def __init__(self, name: str, listen: tuple[str, int] | None, texts: Callable[[str], str | None]) -> None:
        """Opens the socket.

        Args:
            name: The plan's.
            listen: Address and port of the loopback that answers GET as well, or None.
            texts: Gives the text for a path, or None.

        Raises:
            FarloopError: the plan runs already, or the port is taken.
        """
        self.requests: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._texts = texts
        local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            local.bind(address_of(name))
        except OSError:
            local.close()
            raise FarloopError(
                f"{name} runs already; `farloop kernel rollout status {name}` shows it, `... undo {name}` takes it back"
            ) from None
        self._sockets = [local]
        if listen:
            family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
            try:
                self._sockets.append(socket.create_server(listen, family=family))
            except OSError as error:
                self.close()
                raise FarloopError(f"metrics.listen: {listen[0]}:{listen[1]}: {error.strerror}") from None
        for each in self._sockets:
            each.listen(8)

    def start(self) -> None:
        """Answers from now on, in threads of its own."""
        for each in self._sockets:
            threading.Thread(target=self._serve, args=(each,), daemon=True).start()

    def close(self) -> None:
        """Closes the sockets."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError, ValueError):
                connection.settimeout(1)
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data and len(data) < _MAX_REQUEST:
            received = connection.recv(_MAX_REQUEST)
            if not received:
                break
            data += received
        method, path, *_ = [*data.split(b"\r\n", 1)[0].decode("ascii", "replace").split(), "", ""]
        status, text = "404 Not Found", "expected /metrics or /status\n"
        if method == "POST" and path in ("/commit", "/undo"):
            if _is_trusted(connection):
                self.requests.put(path[1:])
                status, text = "202 Accepted", f"{path[1:]} was asked for\n"
            else:
                status, text = "403 Forbidden", "only root and the plan's user may ask for this\n"
        elif method == "GET" and (known := self._texts(path)) is not None:
            status, text = "200 OK", known
        kind = "application/json" if path == "/status" else "text/plain; version=0.0.4"
        body = text.encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode() + body)


def ask(name: str, method: str, path: str) -> str | None:
    """Asks a running plan; None if it does not run.

    Raises:
        FarloopError: it refuses.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(5)
        try:
            connection.connect(address_of(name))
        except OSError:
            return None
        try:
            connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: farloop\r\n\r\n".encode())
            data = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        except OSError as error:
            raise FarloopError(f"{name} does not answer: {error}; its process may be stopped") from None
    head, _, body = data.partition(b"\r\n\r\n")
    if b" 20" not in head.split(b"\r\n", 1)[0]:
        raise FarloopError(f"{name}: {body.decode('utf-8', 'replace').strip()}")
    return body.decode()


def _is_trusted(connection: socket.socket) -> bool:
    if connection.family != socket.AF_UNIX:
        return False
    _, user, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return user in (0, os.geteuid())


def prometheus_text(plan: str, state: dict[str, Any]) -> str:
    """The state of a plan in the text format of Prometheus."""
    label = f'plan="{plan}"'
    lines = []
    for metric, kind, value in (
        ("share", "gauge", state["share"]),
        ("committed", "gauge", int(state["state"] == "committed")),
        ("ends_lost_total", "counter", state["lost"]),
        ("namespaces_unseen", "gauge", len(state["unseen"])),
    ):
        lines += [f"# TYPE farloop_rollout_{metric} {kind}", f"farloop_rollout_{metric}{{{label}}} {value}"]
    lines.append("# TYPE farloop_rollout_selected_total counter")
    lines += [
        f'farloop_rollout_selected_total{{{label},what="{what}"}} {number}' for what, number in state["counts"].items()
    ]
    lines.append("# TYPE farloop_rollout_connections gauge")
    lines += [f'farloop_rollout_connections{{{label},arm="{arm}"}} {n}' for arm, n in state["living"].items()]
    names = {
        "bytes": "acked_bytes",
        "rtt_seconds": "rtt_weighted_seconds",
        "rtt_segments": "rtt_weight_segments",
        "connection_seconds": "lived_seconds",
    }
    for key in next(iter(state["sums"].values())):
        metric = f"farloop_rollout_{names.get(key, key)}_total"
        lines.append(f"# TYPE {metric} counter")
        lines += [f'{metric}{{{label},arm="{arm}"}} {sums[key]}' for arm, sums in state["sums"].items()]
    return "\n".join(lines) + "\n"


def state_text(state: dict[str, Any]) -> str:
    """The state as JSON."""
    return json.dumps(state) + "\n"

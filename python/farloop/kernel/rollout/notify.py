"""Messages to systemd (sd_notify): a datagram to the socket that NOTIFY_SOCKET names."""

from __future__ import annotations

import os
import socket
from contextlib import suppress


def notify(message: str) -> None:
    """Sends a message such as "READY=1"; nothing where no service manager listens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address[0] == "@":
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection:
        connection.sendto(message.encode(), address)

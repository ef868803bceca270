"""The ends of a connection, as the programs that list connections write them."""

from __future__ import annotations

import ipaddress
import struct
from typing import Any


class Ends:
    """`struct ends` of linux/gear/rows.bpf.c."""

    LAYOUT = struct.Struct("=16s16sI3H6x")

    @classmethod
    def read(cls, data: bytes, at: int) -> dict[str, Any]:
        """Both addresses with their ports, and the inode of the network namespace."""
        source, destination, namespace, source_port, destination_port, family = cls.LAYOUT.unpack_from(data, at)
        return {
            "source": _text(source, source_port, family),
            "destination": _text(destination, destination_port, family),
            "namespace": namespace,
        }


def _text(raw: bytes, port: int, family: int) -> str:
    if family == 4:
        return f"{ipaddress.IPv4Address(raw[:4])}:{port}"
    address = ipaddress.IPv6Address(raw)
    return f"{address.ipv4_mapped}:{port}" if address.ipv4_mapped else f"[{address}]:{port}"

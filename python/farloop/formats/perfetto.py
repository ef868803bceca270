"""Packets at ports, read from a trace that farloop wrote for Perfetto (docs/traces.md); crates/trace/src/perfetto has the format."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from farloop import _native

EVENTS = tuple(_native.PORT_EVENTS)
"""Events at a port, in the order of their numbers."""

KINDS = tuple(_native.PACKET_KINDS)
"""Kinds of packets, in the order of their numbers."""

NO_FLOW = _native.NO_FLOW
"""Instead of a flow's number where something belongs to none."""

_TYPES = "qIIBBBIq"
"""Of the columns, as Python's arrays call them."""


@dataclass
class PortRecords:
    """Events at ports, in the order of time: one entry of each list for each record.

    Attributes:
        time_ps: When.
        port: The row of the table of ports.
        flow: The row of the table of flows, or `NO_FLOW`.
        event: Number of the event in `EVENTS`.
        kind: To which kind of packet: a number of `KINDS`.
        marked: 1 where the packet carries an ECN mark.
        wire_bytes: Its size on the wire.
        queue_bytes: Bytes of data that wait at the port afterwards.
        complete: True if these are all records of the file.
    """

    time_ps: array[int]
    port: array[int]
    flow: array[int]
    event: array[int]
    kind: array[int]
    marked: array[int]
    wire_bytes: array[int]
    queue_bytes: array[int]
    complete: bool

    def __len__(self) -> int:
        """Returns the number of records."""
        return len(self.time_ps)


def port_records(path: Path, flows: Mapping[str, int], most: int) -> PortRecords:
    """The first `most` records of ports in a trace; reading stops there.

    Args:
        path: The file.
        flows: Rows of the table of flows, by name.
        most: Maximum number of records.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no such trace, or ends within a packet.
    """
    with path.open("rb") as file:
        columns, complete = _native.port_records(file, flows, most)
    numbers = (array(of, column) for of, column in zip(_TYPES, columns, strict=True))
    time, port, flow, event, kind, marked, wire, queue = numbers
    return PortRecords(time, port, flow, event, kind, marked, wire, queue, complete)

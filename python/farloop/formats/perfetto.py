"""Packets at ports, read from a trace that farloop wrote for Perfetto (docs/traces.md).

The format is that of Perfetto's protos/perfetto/trace: a list of `TracePacket`, as protobuf. Read here is what crates/trace/src/perfetto.rs
writes, and of that only what happened at ports: a general reader would take the definitions of the whole format.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

EVENTS = ("leave", "drop", "mark", "pause", "resume")
"""Events at a port, in the order of their numbers."""

KINDS = ("data", "ack", "signal", "pfc")
"""Kinds of packets, in the order of their numbers."""

NO_FLOW = 0xFFFF_FFFF
"""Instead of a flow's number where something belongs to none."""

_EVENT_OF = {"dequeue": 0, "mark": 2, "pause": 3, "resume": 4}
_KIND_OF = {"data": 0, "ACK": 1, "NACK": 1, "PFC pause": 3, "PFC resume": 3}
_SIGNAL = 2

_PORTS = 2
"""The group of a track of a port; a track's number is the group, 32 bits of the port, and 8 bits of the lane."""
_QUEUE_LANE = 1
_FIRST_PAUSE_LANE = 16

_SLICE_BEGIN, _SLICE_END, _COUNTER = 1, 2, 4
"""Types of Perfetto's track events."""

_CHUNK = 1 << 20


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

    time_ps: array[int] = field(default_factory=lambda: array("q"))
    port: array[int] = field(default_factory=lambda: array("I"))
    flow: array[int] = field(default_factory=lambda: array("I"))
    event: array[int] = field(default_factory=lambda: array("B"))
    kind: array[int] = field(default_factory=lambda: array("B"))
    marked: array[int] = field(default_factory=lambda: array("B"))
    wire_bytes: array[int] = field(default_factory=lambda: array("I"))
    queue_bytes: array[int] = field(default_factory=lambda: array("q"))
    complete: bool = True

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
    made = PortRecords()
    queues: dict[int, int] = {}
    with path.open("rb") as file:
        for frame in _frames(file):
            stamp, event = _track_event(frame)
            if event is None:
                continue
            notes, kind, track, name, counter = _parts(event)
            if track >> 40 != _PORTS:
                continue
            port, lane = (track >> 8) & 0xFFFF_FFFF, track & 0xFF
            if kind == _COUNTER:
                if lane == _QUEUE_LANE:
                    queues[port] = counter
                    # The counter of a packet's port follows the packet.
                    if made.port and made.port[-1] == port:
                        made.queue_bytes[-1] = counter
                continue
            what = _event_number(kind, lane, name)
            if what is None:
                continue
            if len(made) == most:
                made.complete = False
                return made
            annotations = _annotations(notes)
            # Slices have nanoseconds alone, and stand in the order of picoseconds all the same.
            time = max(int(annotations.get("time_ps", stamp * 1000)), made.time_ps[-1] if made.time_ps else 0)
            packet = str(annotations.get("packet", ""))
            made.time_ps.append(time)
            made.port.append(port)
            made.flow.append(flows.get(str(annotations.get("flow", "")), NO_FLOW))
            made.event.append(what)
            made.kind.append(_KIND_OF.get(packet, _SIGNAL) if packet else _KIND_OF["PFC pause"])
            made.marked.append(annotations.get("ecn") == "marked")
            made.wire_bytes.append(int(annotations.get("wire_bytes", 0)))
            made.queue_bytes.append(queues.get(port, 0))
    return made


def _event_number(kind: int, lane: int, name: str) -> int | None:
    """The number of an event; none for those that no map shows."""
    if lane >= _FIRST_PAUSE_LANE and kind in (_SLICE_BEGIN, _SLICE_END):
        return _EVENT_OF["pause" if kind == _SLICE_BEGIN else "resume"]
    return 1 if name.startswith("drop: ") else _EVENT_OF.get(name)


def _frames(file: BinaryIO) -> Iterator[bytes]:
    """Each `TracePacket` of a trace, which is field 1 of the file's one message."""
    rest = b""
    while chunk := file.read(_CHUNK):
        rest += chunk
        at = 0
        while len(rest) - at > 11:
            if rest[at] != 0x0A:
                raise ValueError("is no trace of farloop's")
            size, begin = _varint(rest, at + 1)
            if begin + size > len(rest):
                break
            yield rest[begin : begin + size]
            at = begin + size
        rest = rest[at:]
    at = 0
    while at < len(rest):
        if rest[at] != 0x0A:
            raise ValueError("is no trace of farloop's")
        try:
            size, begin = _varint(rest, at + 1)
        except IndexError:
            raise ValueError("ends within a packet") from None
        if begin + size > len(rest):
            raise ValueError("ends within a packet")
        yield rest[begin : begin + size]
        at = begin + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number at a place, and the place behind it."""
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and contents of a message's fields; those of a fixed size are left out."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif wire == 2:
            size, at = _varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size
        else:
            at += 8 if wire == 1 else 4


def _track_event(frame: bytes) -> tuple[int, bytes | None]:
    """Of a `TracePacket` its time in ns, and its `TrackEvent`."""
    stamp, event = 0, None
    for number, value in _fields(frame):
        if number == 8 and isinstance(value, int):
            stamp = value
        elif number == 11 and isinstance(value, bytes):
            event = value
    return stamp, event


def _parts(event: bytes) -> tuple[list[bytes], int, int, str, int]:
    """Of a `TrackEvent` its annotations, type, track, name and counter."""
    notes: list[bytes] = []
    kind = track = counter = 0
    name = ""
    for number, value in _fields(event):
        if isinstance(value, bytes):
            if number == 4:
                notes.append(value)
            elif number == 23:
                name = value.decode("utf-8", "replace")
        elif number == 9:
            kind = value
        elif number == 11:
            track = value
        elif number == 30:
            counter = value
    return notes, kind, track, name, counter


def _annotations(notes: list[bytes]) -> dict[str, int | str]:
    """Values of `DebugAnnotation`s by their names."""
    values: dict[str, int | str] = {}
    for note in notes:
        name, value = "", None
        for number, content in _fields(note):
            if number == 10 and isinstance(content, bytes):
                name = content.decode("utf-8", "replace")
            elif number == 3 or (number == 6 and isinstance(content, bytes)):
                value = content if isinstance(content, int) else content.decode("utf-8", "replace")
        if value is not None:
            values[name] = value
    return values

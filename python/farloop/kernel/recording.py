"""Records GEMINI in the kernel event by event, in the format of vectors/gemini.jsonl, for replay by other implementations."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel import libbpf
from farloop.kernel.gemini import EVENTS, load, unload
from farloop.kernel.settings import NAMES, constants
from farloop.safe_files.named_files import NamedFiles
from farloop.units import seconds

ROOM = 1 << 24
"""Bytes of the ring buffer: some seconds of one connection at 10 Gbps."""

KINDS = ("start", "ack", "fast_retransmit", "timeout", "undo", "host", "mss", "idle")
"""`enum event_kind` of linux/gemini/kernel.h."""

_EVENT = struct.Struct("=Q2I3Q2I3Q4IQ")
_NONE = 2**64 - 1
_NO_PACKETS = 2**31 - 1


class Recording:
    """Events of connections that began since it is there.

    Attributes:
        lost: Connections of which events are missing from some point on, for want of room; what came before is kept.
    """

    def __init__(self, values: dict[str, int]) -> None:
        self.lost: set[int] = set()
        self._values = values
        self._flows: dict[int, list[dict[str, Any]]] = {}

    @property
    def connections(self) -> int:
        """Number of recorded connections."""
        return len(self._flows)

    @property
    def events(self) -> int:
        """Number of events of all connections."""
        return sum(map(len, self._flows.values()))

    def take(self, data: bytes) -> None:
        """One record of the ring buffer.

        Raises:
            FarloopError: it is no event.
        """
        if len(data) < _EVENT.size or (kind := _EVENT.unpack(data[: _EVENT.size])[-2]) >= len(KINDS):
            raise FarloopError(f"the kernel wrote {len(data)} bytes, which is no event")
        flow, index, alpha, cwnd, ssthresh, pacing, packets, mss, *numbers, _, marked = _EVENT.unpack(
            data[: _EVENT.size]
        )
        lines = self._flows.setdefault(flow, [])
        if index != len(lines):
            self.lost.add(flow)
        if flow in self.lost:
            return
        lines.append(
            {
                **self._event(KINDS[kind], flow, mss, *numbers, marked=marked),
                "cwnd": max(cwnd >> 10, 1),
                "packets": packets,
                "pacing": pacing,
                "cwnd_q10": cwnd,
                "ssthresh_q10": None if ssthresh == _NONE else ssthresh,
                "alpha": alpha,
            }
        )

    def lines(self) -> list[str]:
        """The file, as vectors/README.md has it."""
        head = {"format": "farloop gemini vectors", "version": 4}
        flows = [line for _, lines in sorted(self._flows.items()) for line in lines]
        return [json.dumps(line, separators=(",", ":")) for line in [head, *flows]]

    def _event(
        self, name: str, flow: int, mss: int, a: int, b: int, c: int, d: int, e: int, flags: int, *, marked: int
    ) -> dict[str, Any]:
        event: dict[str, Any] = {"event": name}
        if name == "start":
            event["flow"] = f"connection {flow}"
            event |= {key: self._values[key] for key in NAMES} | {"mss": mss}
            event |= {"skip_after_cut": bool(self._values["skip_after_cut"]), "initial_cwnd": a, "slow_start": True}
            event |= {"initial_alpha": self._values["initial_alpha"], "base_rtt": b or None, "seq": d}
        elif name == "ack":
            event |= {"acked": a, "ack_seq": d, "snd_nxt": e, "in_flight": b, "rtt": c or None, "marked": marked}
            event |= {key: bool(flags >> i & 1) for i, key in enumerate(("ecn_echo", "in_recovery", "app_limited"))}
        elif name == "undo":
            event |= {"prior_cwnd": a, "prior_ssthresh": None if b == _NONE else b}
        elif name == "host":
            event |= {"host_packets": d, "host_ssthresh": None if e >= _NO_PACKETS else e}
        elif name == "mss":
            event["mss"] = d
        elif name == "idle":
            event |= {"idle": a, "rto": b, "restart": c}
        else:
            event |= {"in_flight": b, "snd_nxt": e}
        return event


@contextmanager
def record_gemini(settings: Iterable[str]) -> Iterator[tuple[Recording, libbpf.Poll]]:
    """GEMINI in the kernel while this lasts, and what its connections do.

    Yields:
        The recording, which grows whenever the function beside it is called.

    Raises:
        FarloopError: it cannot be loaded.
    """
    recording = Recording(constants(load(settings, room=ROOM)))
    try:
        number = max(m.id for m in libbpf.maps() if (m.kind, m.name) == (libbpf.RING, EVENTS))
        with libbpf.open_ring(number, recording.take) as poll:
            yield recording, poll
    finally:
        unload()


def write(file: Path, settings: Iterable[str], duration: str) -> Recording:
    """Records for a while, and writes the file when that is over: complete or not at all.

    Raises:
        FarloopError: the duration is none, the file cannot be written, or GEMINI cannot be loaded.
    """
    try:
        left = seconds(duration)
    except ValueError as error:
        raise FarloopError(f"--duration: {error}") from None
    with NamedFiles() as files:
        files.check(file)
        end = time.monotonic() + left
        with record_gemini(settings) as (recording, poll):
            while (now := time.monotonic()) < end:
                poll(max(min(int((end - now) * 1000), 200), 1))
            while poll(0):
                pass
        files.write(file, "".join(f"{line}\n" for line in recording.lines()).encode())
    return recording

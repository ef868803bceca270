"""Traffic of a class, arm by arm: counters as differences, over windows of time."""

from __future__ import annotations

import json
import os
import stat
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from farloop.errors import FarloopError
from farloop.kernel.rollout.sockets import Socket

ARMS = ("moved", "unmoved", "others")
"""Connections of the class with the plan's algorithm, those of the class without it, and all others that can be seen."""

_COUNTERS = {
    "bytes": "bytes_acked",
    "segments": "data_segs_out",
    "retransmitted": "total_retrans",
    "delivered": "delivered",
    "marked": "delivered_ce",
}
_KEPT_SECONDS = 70.0


@dataclass
class Sums:
    """Sums of an arm since the watch began.

    Attributes:
        bytes: Acknowledged.
        segments: Sent with data, repeated ones included.
        retransmitted: Of them.
        delivered: Segments.
        marked: Of them.
        rtt_seconds: Smoothed round-trip times, each times the segments delivered since the last look.
        rtt_segments: Those segments.
        ended: Connections.
        connection_seconds: Time that connections lived, at the looks.
    """

    bytes: int = 0
    segments: int = 0
    retransmitted: int = 0
    delivered: int = 0
    marked: int = 0
    rtt_seconds: float = 0.0
    rtt_segments: int = 0
    ended: int = 0
    connection_seconds: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def __sub__(self, other: Sums) -> Sums:
        return Sums(*(a - b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))


@dataclass(frozen=True)
class Rates:
    """Rates of an arm over some time; None where it did too little to say.

    Attributes:
        delivery: bit/s acknowledged.
        retransmissions: Share of the segments sent.
        marks: Share of the segments delivered.
        rtt: Mean smoothed round-trip time in seconds, each delivered segment once.
        completions: Of the application, per second.
        completion_time: Their 99th percentile in seconds.
    """

    delivery: float | None = None
    retransmissions: float | None = None
    marks: float | None = None
    rtt: float | None = None
    completions: float | None = None
    completion_time: float | None = None


MIN_SEGMENTS = 20
"""Segments from which shares and round-trip times of an arm are judged."""


def rates_of(sums: Sums, duration: float) -> Rates:
    """The rates of sums over a time in seconds."""
    enough = sums.segments >= MIN_SEGMENTS
    return Rates(
        delivery=8 * sums.bytes / duration if duration > 0 else None,
        retransmissions=sums.retransmitted / sums.segments if enough else None,
        marks=sums.marked / sums.delivered if enough and sums.delivered else None,
        rtt=sums.rtt_seconds / sums.rtt_segments if enough and sums.rtt_segments else None,
    )


@dataclass
class Tally:
    """Sums of all arms, and what they were some time ago."""

    sums: dict[str, Sums] = field(default_factory=lambda: {arm: Sums() for arm in ARMS})
    living: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ARMS, 0))
    _last: dict[int, dict[str, int]] = field(default_factory=dict)
    _history: deque[tuple[float, dict[str, Sums]]] = field(default_factory=deque)

    def add(
        self, now: float, living: Mapping[int, Socket], ended: Iterable[Socket], arms: Mapping[int, str]
    ) -> set[int]:
        """Takes a look at all sockets.

        Args:
            now: Seconds of any steady clock.
            living: By cookie.
            ended: Since the last look, with their final values.
            arms: Arm of each connection of the class, by cookie; all that are not there are others.

        Returns:
            The cookies of those that ended.
        """
        self.living = dict.fromkeys(ARMS, 0)
        gone = set()
        for s in ended:
            arm = arms.get(s.cookie, "others")
            self._count(s, arm)
            self.sums[arm].ended += 1
            self._last.pop(s.cookie, None)
            gone.add(s.cookie)
        for s in living.values():
            if s.cookie not in gone:
                arm = arms.get(s.cookie, "others")
                self.living[arm] += 1
                self._count(s, arm)
        for arm in ARMS if self._history else ():
            self.sums[arm].connection_seconds += self.living[arm] * (now - self._history[-1][0])
        for cookie in set(self._last) - set(living):
            del self._last[cookie]
        self._history.append((now, {arm: Sums(**asdict(sums)) for arm, sums in self.sums.items()}))
        while self._history[0][0] < now - _KEPT_SECONDS:
            self._history.popleft()
        return gone

    def sums_since(self, begin: float) -> tuple[dict[str, Sums], float]:
        """Sums of each arm since the first look at or after a time, and over how many seconds that is."""
        now, latest = self._history[-1]
        at, earlier = next((entry for entry in self._history if entry[0] >= begin), self._history[-1])
        return {arm: latest[arm] - earlier[arm] for arm in ARMS}, now - at

    def _count(self, s: Socket, arm: str) -> None:
        before = self._last.get(s.cookie)
        if before is None and not self._history:
            # What it did before the watch began is not counted.
            self._last[s.cookie] = s.fields
            return
        sums = self.sums[arm]
        change = {name: s.fields[key] - (before or {}).get(key, 0) for name, key in _COUNTERS.items()}
        for name, difference in change.items():
            # Numbers of 32 bits wrap; none runs back.
            wrapped = difference + 2**32 if difference < -(2**31) else max(difference, 0)
            setattr(sums, name, getattr(sums, name) + wrapped)
        if s.fields["rtt"] and change["delivered"] > 0:
            sums.rtt_seconds += s.fields["rtt"] / 1e6 * change["delivered"]
            sums.rtt_segments += change["delivered"]
        self._last[s.cookie] = s.fields


class Completions:
    """Completions of the application from a FIFO: a line of JSON each, {"seconds": 0.012}."""

    def __init__(self, path: Path) -> None:
        """Opens the FIFO.

        Raises:
            FarloopError: it is not there, or is no FIFO.
        """
        try:
            if not stat.S_ISFIFO(path.stat().st_mode):
                raise FarloopError(f"{path} is no FIFO; `mkfifo {path}` makes one")
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise FarloopError(f"{path}: {error.strerror}; limits.fifo expects a FIFO, which `mkfifo` makes") from None
        self._rest = b""
        self._history: deque[tuple[float, float]] = deque()
        self.wrong = 0
        """Lines that were no completions."""

    def read(self, now: float) -> None:
        """Takes what has been written since."""
        with suppress(BlockingIOError):
            while data := os.read(self._descriptor, 1 << 16):
                *lines, self._rest = (self._rest + data).split(b"\n")
                for line in filter(None, lines):
                    self._take(now, line)
        while self._history and self._history[0][0] < now - _KEPT_SECONDS:
            self._history.popleft()

    def rate_since(self, begin: float, duration: float) -> tuple[float | None, float | None]:
        """Completions per second since a time, and the 99th percentile of how long they took, in seconds."""
        times = sorted(seconds for at, seconds in self._history if at > begin)
        rank = max(-(-99 * len(times) // 100) - 1, 0)
        return (len(times) / duration if duration > 0 else None), (times[rank] if times else None)

    def close(self) -> None:
        """Closes the FIFO."""
        os.close(self._descriptor)

    def _take(self, now: float, line: bytes) -> None:
        try:
            value = json.loads(line)["seconds"]
            seconds = float(value)
        except (ValueError, TypeError, KeyError, RecursionError):
            self.wrong += 1
            return
        if isinstance(value, bool) or not 0 <= seconds < float("inf"):
            self.wrong += 1
            return
        self._history.append((now, seconds))

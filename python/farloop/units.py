"""Quantities as scenario files write them, turned into SI numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_BITS_PER_SECOND = {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12}
_BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "ps": 1e-12}
_QUANTITY = re.compile(r"\s*([0-9.eE+-]+?)\s*([A-Za-zµ]+)\s*")

INTERVAL_TEXT = re.compile(r" (\[[^\[\]]*\])")
"""The interval behind a number for people, such as "[6.9, 9.1]" in "7.42 [6.9, 9.1]"."""


def seconds(text: str) -> float:
    """A duration such as "25ms" in seconds.

    Raises:
        ValueError: the text is no duration.
    """
    return _quantity(text, _SECONDS, "duration")


def rate(text: str) -> float:
    """A rate such as "100Gbps" in bit/s.

    Raises:
        ValueError: the text is no rate.
    """
    return _quantity(text, _BITS_PER_SECOND, "rate")


def size(text: str) -> float:
    """A size such as "900kB" in bytes.

    Raises:
        ValueError: the text is no size.
    """
    return _quantity(text, _BYTES, "size")


def _quantity(text: str, units: dict[str, float], what: str) -> float:
    match = _QUANTITY.fullmatch(text)
    if not match or match[2] not in units:
        raise ValueError(f"{text!r} is no {what}; expected a number and one of {', '.join(units)}")
    return float(match[1]) * units[match[2]]


def count_text(count: int, what: str) -> str:
    """So many of something: "1 phase", "2 phases", "3 switches"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}es" if what.endswith("ch") else f"{count} {what}s"


def rate_text(bits_per_second: float) -> str:
    """A rate for people, in Gbps, Mbps, kbps or bps."""
    for factor, unit in ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps")):
        if abs(bits_per_second) >= factor:
            return f"{bits_per_second / factor:.3g} {unit}"
    return f"{bits_per_second:.3g} bps"


def bytes_text(size: float) -> str:
    """A size for people, in GB, MB, kB (powers of ten) or bytes."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(size) >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.3g} B"


def time_text(duration: float) -> str:
    """A duration for people, in s, ms, µs or ns."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(duration) >= factor:
            return f"{duration / factor:.3g} {unit}"
    return f"{duration / 1e-9:.3g} ns" if duration else "0 s"


class Unit(NamedTuple):
    """A unit of an axis: its name, and how many of the base unit it is."""

    name: str
    factor: float


TIMES = (Unit("s", 1.0), Unit("ms", 1e-3), Unit("µs", 1e-6), Unit("ns", 1e-9))
RATES = (Unit("Tbps", 1e12), Unit("Gbps", 1e9), Unit("Mbps", 1e6), Unit("kbps", 1e3), Unit("bps", 1.0))
BYTES = (Unit("GB", 1e9), Unit("MB", 1e6), Unit("kB", 1e3), Unit("B", 1.0))


def unit_for(largest: Iterable[float], units: Sequence[Unit]) -> Unit:
    """The unit for an axis that reaches the largest of these values: the biggest one that this value is one or more of."""
    top = max(largest, default=0.0)
    if not top > 0:
        return next(u for u in units if u.factor == 1.0)
    return next((u for u in units if top >= u.factor * 0.9999), units[-1])


def number(value: Any) -> str | None:
    """A measured value for people; `None` for nothing."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(number(v) or "–" for v in value)
    return None if value is None else str(value)

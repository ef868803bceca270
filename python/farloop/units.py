"""Quantities as scenario files write them, turned into SI numbers."""

from __future__ import annotations

import re

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "ps": 1e-12}
_QUANTITY = re.compile(r"\s*([0-9.eE+-]+?)\s*([a-zµ]+)\s*")


def seconds(text: str) -> float:
    """A duration such as "25ms" in seconds.

    Raises:
        ValueError: the text is no duration.
    """
    match = _QUANTITY.fullmatch(text)
    if not match or match[2] not in _SECONDS:
        raise ValueError(f"{text!r} is no duration; expected a number and one of {', '.join(_SECONDS)}")
    return float(match[1]) * _SECONDS[match[2]]


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

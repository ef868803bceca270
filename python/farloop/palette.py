"""Colours that reports and pictures share.

Readable on light and on dark paper, told apart with the common kinds of colour blindness (Okabe, Ito 2008).
"""

from __future__ import annotations

from collections.abc import Sequence

INTRA = ["#0072B2", "#56B4E9", "#009E73", "#4B6FA8", "#7FB7BE"]
CROSS = ["#D55E00", "#E69F00", "#CC79A7", "#B2452D", "#F0A35E"]

IDLE = "#b4bcc4"
"""A link that carried, queued or paused nothing."""

HEAT = ["#56B4E9", "#E69F00", "#C1272D"]
"""From little to the most, for links of the map; what is more is also drawn wider."""


def flow_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour per flow: warm for names that start with "cross", cool for all others."""
    colours: dict[str, str] = {}
    counts = {"cross": 0, "other": 0}
    for name in names:
        kind = "cross" if name.startswith("cross") else "other"
        shades = CROSS if kind == "cross" else INTRA
        colours[name] = shades[counts[kind] % len(shades)]
        counts[kind] += 1
    return colours


def run_colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour per run, from all shades in turn."""
    shades = [shade for pair in zip(INTRA, CROSS, strict=True) for shade in pair]
    return {label: shades[i % len(shades)] for i, label in enumerate(labels)}

"""Colours that reports and pictures share.

Readable on light and on dark paper, distinct with the common kinds of colour blindness (Okabe, Ito 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

INTRA = ["#0072B2", "#56B4E9", "#009E73", "#4B6FA8", "#7FB7BE"]
CROSS = ["#D55E00", "#E69F00", "#CC79A7", "#B2452D", "#F0A35E"]

DISTINCT = 3
"""Number of either that are distinct at sight, also by the colour-blind: curves beyond that have another dash."""

DASHES = ("solid", "dash", "dot")
"""As plotly.js calls them."""

IDLE = "#b4bcc4"
"""A link that carried, queued or paused nothing."""

HEAT = ["#56B4E9", "#E69F00", "#C1272D"]
"""From little to the most, for links of the map; what is more is also drawn wider."""

FAILED = "#C1272D"
"""A link that was down."""


class Look(NamedTuple):
    """Look of a curve: its colour, and one of the `DASHES`."""

    colour: str
    dash: str = "solid"


def look(number: int, *, is_cross: bool) -> Look:
    """The look of a curve by its number among those of its kind, from 0: warm for flows across datacenters, cool for all others.

    Nine of either kind have looks of their own.
    """
    round_, shade = divmod(number, DISTINCT)
    return Look((CROSS if is_cross else INTRA)[shade], DASHES[round_ % len(DASHES)])


def flow_looks(names: Sequence[str]) -> dict[str, Look]:
    """A look per flow: warm for names that start with "cross", cool for all others."""
    looks: dict[str, Look] = {}
    counts = {True: 0, False: 0}
    for name in names:
        is_cross = name.startswith("cross")
        looks[name] = look(counts[is_cross], is_cross=is_cross)
        counts[is_cross] += 1
    return looks


def port_looks(names: Sequence[str]) -> dict[str, Look]:
    """A look per port, from both kinds of shades in turn."""
    return {name: look(i // 2, is_cross=i % 2 == 1) for i, name in enumerate(names)}


def run_colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour per run, from all shades in turn."""
    shades = [shade for pair in zip(INTRA, CROSS, strict=True) for shade in pair]
    return {label: shades[i % len(shades)] for i, label in enumerate(labels)}

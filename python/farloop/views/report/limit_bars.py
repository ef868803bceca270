"""The part of a report that shows what limited the flows: a bar for each run and kind of flows, divided by the time under each limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from farloop.palette import CROSS, INTRA
from farloop.results import limits
from farloop.results.flow_completion import KINDS
from farloop.results.replicas import replicas
from farloop.views.html import render

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison

MIN_SHARE = 0.005
"""Smaller parts are not drawn."""

_COLOURS = [*INTRA[:3], *CROSS[:3], *INTRA[3:], *CROSS[3:], "#6a5d4d", "#808a94"]

_ORDER = (
    "path", "host link", "congestion window", "slow start", "pacing", "receive window", "recovery", "segmentation offload", "credit",
    "application", "handshake", "last packets",
)  # fmt: skip
"""Limits in the order of their colours."""


@dataclass(frozen=True)
class _Part:
    """A part of a bar."""

    limit: str
    percent: float
    colour: str


def section(comparison: Comparison) -> Markup | None:
    """The bars with their legend; nothing where an old output does not say what limited its flows."""
    rows: list[tuple[str, str, list[_Part]]] = []
    for of in replicas(comparison.runs):
        for kind in KINDS:
            entries = [entry for run in of.runs for entry in limits.entries(run) if entry["kind"] == kind]
            if shares := limits.shares_of(entries):
                rows.append((of.label, kind, _parts(shares)))
    if not rows:
        return None
    used = sorted({part.limit for _, _, parts in rows for part in parts}, key=_place)
    return render("limit_bars.html.j2", rows=rows, legend=[(limit, _colour(limit)) for limit in used])


def _parts(shares: dict[str, float]) -> list[_Part]:
    ordered = sorted(shares.items(), key=lambda item: _place(item[0]))
    return [_Part(limit, round(100 * share, 1), _colour(limit)) for limit, share in ordered if share >= MIN_SHARE]


def _place(limit: str) -> int:
    return _ORDER.index(limit) if limit in _ORDER else len(_ORDER)


def _colour(limit: str) -> str:
    return _COLOURS[_place(limit) % len(_COLOURS)]

"""Uno, Fig. 12: completion times of realistic traffic at 40 % load with short queues; measured as in Fig. 10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.papers.uno.fig10 import draw_loads, judge_loads, judge_rivals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.judging.claims import Claim, Finding
    from farloop.results.run import Comparison

LOADS = ("40 %",)


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Mean and 99th percentile beside the artifact's, and which way is ahead."""
    return [
        *judge_loads(comparison, claims["uno/fig12"], LOADS),
        *judge_rivals(comparison, claims["uno/fig12-bbr"], LOADS),
    ]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Mean and 99th percentile by way, beside the artifact's."""
    return {"fig12": draw_loads(comparison, LOADS, "5000 flows with short queues")}

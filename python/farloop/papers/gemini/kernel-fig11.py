"""GEMINI, Fig. 11, at the scale that one machine forwards: flows with different round-trip times share a bottleneck."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding
from farloop.papers.gemini import fig11
from farloop.papers.gemini.common import TestbedScale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison

SCALE = TestbedScale("gemini/kernel-fig11", settled=40.0, rates=0.1, times=10.0)


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """As fig11 judges."""
    return fig11.judge(comparison, claims, SCALE)


def draw(comparison: Comparison) -> dict[str, Figure]:
    """As fig11 draws."""
    return fig11.draw(comparison, SCALE)

"""GEMINI, Fig. 10, at the scale that one machine forwards: three groups of ten flows start one after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding
from farloop.papers.gemini import fig10
from farloop.papers.gemini.common import TestbedScale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison

SCALE = TestbedScale("gemini/kernel-fig10", settled=60.0, rates=0.1, times=10.0)

END = 100.0
"""Measured until here, in seconds: the second half of the time for which all groups run. In the first the third one comes to its share."""

FAIR = 0.98
"""Jain's index from which the sharing counts as fair and stable. That it is the paper's is another statement."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """As fig10 judges."""
    return fig10.judge(comparison, claims, SCALE, at_least=FAIR, end=END)


def draw(comparison: Comparison) -> dict[str, Figure]:
    """As fig10 draws."""
    return fig10.draw(comparison, SCALE, end=END)

"""GEMINI, Fig. 9, at the scale that one machine forwards: round-trip time and throughput under congestion in the WAN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding
from farloop.papers.gemini import fig09
from farloop.papers.gemini.common import TestbedScale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison

SCALE = TestbedScale("gemini/kernel-fig09", settled=10.0, rates=0.1, times=10.0)

SETTLED_FAR = 50.0
"""The same at a base round-trip time of a second, of which 50 s are fifty."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """As fig09 judges."""
    return fig09.judge(comparison, claims, SCALE, settled_far=SETTLED_FAR)


def draw(comparison: Comparison) -> dict[str, Figure]:
    """As fig09 draws."""
    return fig09.draw(comparison, SCALE)

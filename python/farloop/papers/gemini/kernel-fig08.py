"""GEMINI, Fig. 8, at the scale that one machine forwards: throughput of flows across datacenters under congestion inside one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding
from farloop.papers.gemini import fig08
from farloop.papers.gemini.common import TestbedScale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison

SCALE = TestbedScale("gemini/kernel-fig08", settled=10.0, rates=0.1, times=10.0)


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """As fig08 judges."""
    return fig08.judge(comparison, claims, SCALE)


def draw(comparison: Comparison) -> dict[str, Figure]:
    """As fig08 draws."""
    return fig08.draw(comparison, SCALE)

"""Gear, Fig. 6: throughput of intra- and cross-datacenter traffic, over what was generated, on a loaded fat-tree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.traffic import Flows
from farloop.papers.gear.common import (
    backlogs,
    bars,
    longest_needs,
    longest_runs,
    numbers,
    order,
    point,
    ratios,
    scale_note,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Judges which algorithm is nearest to 1, and on which side each is."""
    judging = Judging(comparison, claims["gear/fig06"])
    for run in comparison.runs:
        judging.measure(numbers, run)
    judging.measure(
        lambda: {
            f"{run.algorithm}, {point(run.case)}, flow level": Flows.from_run(run).flow_level_ratio()
            for run in longest_runs(comparison).values()
        }
    )
    order(judging, longest_needs(comparison), "at every point")
    return [judging.finding(note=scale_note(comparison))]


def intra_share(point: str) -> float:
    """Intra part of the generated traffic, from "INTRA:CROSS"; infinite for any other name."""
    try:
        intra, cross = (float(part) for part in point.split(":"))
    except ValueError:
        return math.inf
    return metrics.ratio(intra, intra + cross)


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Bars by generated ratio, as in the paper, with the ideal ratio as a red dotted line."""
    table = ratios(comparison)
    ordered = {point: table[point] for point in sorted(table, key=intra_share)}
    return {"fig06": bars(ordered, "generated intra : cross"), "backlog": backlogs(longest_runs(comparison).values())}

"""AccelToR, Fig. 16: weekly throughput of elephants whose queues overflow into the packet network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.palette import CROSS, INTRA
from farloop.papers.acceltor.common import (
    LONG,
    cumulative,
    drop_short_runs,
    measured_part,
    numbers,
    occupancy,
    scheduled_cases,
    week,
    weekly,
)
from farloop.results.tables import Floats
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

LARGE, SMALL = "500 kB", "300 kB"
COLOURS = {LARGE: CROSS[0], SMALL: INTRA[0]}

WIDER = 1.25
"""So many times as wide is a wider spread than chance makes over 80 elephants: a standard deviation over theirs has an error of 8 %."""

MANY = 0.1
"""Packets per elephant and week that are repeated and were not lost: from here on they are many."""

SLIGHTLY = 0.8
"""Of the occupancy with large queues: what is slightly reduced keeps more."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Spread of throughput over elephants, repairs that nothing but reordering asks for, occupancy."""
    judging = Judging(comparison, claims["acceltor/fig16"])
    both = [scheduled_cases(comparison, name)[0] for name in (LARGE, SMALL)]

    def wider(a: Run, b: Run) -> tuple[bool, str]:
        deviations = [float(elephant_counts(run).std() / elephant_counts(run).mean()) for run in (a, b)]
        evidence = f"standard deviation over mean {deviations[0]:.3f} and {deviations[1]:.3f}, {WIDER:g} times"
        return deviations[1] > WIDER * deviations[0], evidence

    def is_reordered(a: Run, b: Run) -> tuple[bool, str]:
        counts = repairs(a), repairs(b)
        evidence = f"{counts[0]:.3g} and {counts[1]:.3g} packets repeated beyond those lost, per elephant and week"
        return counts[1] > counts[0] + MANY, evidence

    def is_lower(a: Run, b: Run) -> tuple[bool, str]:
        shares = occupancy(a), occupancy(b)
        return SLIGHTLY * shares[0] < shares[1] < shares[0], f"{shares[0]:.3f} and {shares[1]:.3f}"

    judging.order("the elephants' throughput has a wider spread with 300 kB", both, wider)
    judging.order("packets that overtake make for many repairs", both, is_reordered)
    judging.order("the occupancy is slightly lower", both, is_lower)
    for run in drop_short_runs(comparison.runs):
        judging.measure(numbers, run)
    return [judging.finding(note=measured_part(drop_short_runs(comparison.runs)))]


def elephant_counts(run: Run) -> Floats:
    """Throughput of each recorded elephant over all weeks that are measured."""
    return np.asarray(weekly(run).mean(axis=1))


def repairs(run: Run) -> float:
    """Packets that elephants repeat beyond those that they lose, per elephant and week.

    Negative where the run ends before losses are repaired.
    """
    named = pc.starts_with(run.flows["name"].cast(pa.string()), "elephant").to_numpy(zero_copy_only=False)
    repeated, lost = (run.flows[column].to_numpy()[named].sum() for column in ("retransmitted", "dropped"))
    return float(repeated - lost) / int(named.sum()) / (run.duration / week(run))


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Distributions of weekly throughput over elephants."""
    figure, axes = grid(1, "Weekly throughput of elephants by the size of queues")
    for run in drop_short_runs(comparison.runs):
        name = run.case.removesuffix(LONG)
        try:
            values, share = cumulative(elephant_counts(run) / 1e6)
        except UndecidedError:  # too short for that
            continue
        axes[0].step(values, share, where="post", linewidth=1.1, color=COLOURS.get(name), label=name)
    axes[0].set_xlabel("weekly throughput (Mbps)", fontsize=8)
    axes[0].set_ylabel("cumulative share", fontsize=8)
    axes[0].set_ylim(0, 1.02)
    legend_below(figure, axes)
    return {"fig16": figure}

"""AccelToR, Fig. 13: Blocking with up to ten times the buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding
from farloop.papers.acceltor.common import (
    ACCELTOR,
    BLOCKING,
    CircuitJudging,
    Point,
    daily,
    drop_short_runs,
    group_runs,
    make_point,
    measured_part,
    numbers,
    occupancy,
    point_or_nan,
    scheduled_cases,
    spread,
    strip_suffix,
    weekly,
)  # fmt: skip
from farloop.results.tables import Floats
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

BELOW = 0.8
"""Of AccelToR's throughput: up to here another one is well below."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Daily and weekly throughput with each buffer against AccelToR's with 1.8 MB.

    Throughput, as in the paper, and not occupancy: a good part of what Blocking's circuits carry are repeats of packets that still wait.
    """
    judging = CircuitJudging(comparison, claims["acceltor/fig13"])
    own = scheduled_cases(comparison, ACCELTOR)
    for need in scheduled_cases(comparison, BLOCKING):
        size = strip_suffix(need.case).removeprefix(f"{BLOCKING}, ")
        for what, measure in (("daily", daily), ("weekly", weekly)):

            def is_below(a: Run, b: Run, measure: Callable[[Run], Floats] = measure) -> tuple[bool, str]:
                mean = [float(measure(run).mean()) for run in (a, b)]
                part = metrics.ratio(mean[1], mean[0])
                return part < BELOW, f"{mean[1] / 1e6:.3g} of {mean[0] / 1e6:.3g} Mbps, below {BELOW:g} times"

            judging.order(f"{size}: {what} throughput well below AccelToR's", [own[0], need], is_below)
    runs = drop_short_runs(comparison.runs)
    for run in runs:
        judging.measure(numbers, run)
    return [judging.finding(note=measured_part(runs))]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """The paper's two panels, and occupancy."""
    figure, axes = grid(3, "Blocking with larger buffers", columns=3, shared=False)
    runs = drop_short_runs(comparison.runs)
    groups = [_group(run) for run in runs]
    panels: list[tuple[str, Callable[[Run], Point]]] = [
        ("daily throughput (Mbps)", lambda run: spread(daily(run) / 1e6)),
        ("weekly throughput (Mbps)", lambda run: spread(weekly(run) / 1e6)),
        ("occupancy (%)", lambda run: make_point(100 * occupancy(run))),
    ]
    for axis, (label, measure) in zip(axes, panels, strict=True):
        table: dict[str, dict[str, Point]] = {}
        for run in runs:
            table.setdefault(run.case.partition(",")[0], {})[_group(run)] = point_or_nan(measure, run)
        group_runs(axis, groups, table, label, aside=False)
        axis.set_xlabel("buffer of a rack (MB)", fontsize=8)
    legend_below(figure, axes, "lines: 10th and 90th percentile over elephants and weeks")
    return {"fig13": figure}


def _group(run: Run) -> str:
    """Where its bar stands: by the buffer, AccelToR first."""
    name = strip_suffix(run.case)
    return name.removeprefix(f"{BLOCKING}, ").removesuffix(" MB") if name.startswith(BLOCKING) else "AccelToR, 1.8"

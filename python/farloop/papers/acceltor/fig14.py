"""AccelToR, Fig. 14: throughput, occupancy and completion times of mice by their load on the packet network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need
from farloop.papers.acceltor.common import (
    ACCELTOR,
    BLOCKING,
    COLOURS,
    HELD,
    LONG,
    SCHEDULES,
    UNBLOCKING,
    Point,
    drop_short_runs,
    make_point,
    mean_fct,
    measured_part,
    numbers,
    occupancy,
    point_or_nan,
    scheduled_cases,
    set_logarithmic_scale,
    spread,
    weekly,
)
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FULL = " of five uplinks"
"""Suffix of cases whose load is that of the whole packet network."""

HEAVY = 0.7
"""Of an uplink: up to here AccelToR holds."""

QUICKLY = 0.9
"""Of the occupancy at 70 %: at 95 % there is at most so much of it left."""

INFLATED = 1.1
"""Mice that take so many times as long have inflated completion times."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Occupancy up to 70 % of an uplink and above; mice against Blocking's; the whole packet network beside."""
    judging = Judging(comparison, claims["acceltor/fig14"])
    at = {
        name: group_by_load([n for n in scheduled_cases(comparison, f"{name}, ") if FULL not in n.case])
        for name in SCHEDULES
    }
    own, loads = at[ACCELTOR], list(at[ACCELTOR])
    for load in (x for x in loads if x <= 100 * HEAVY):

        def holds(run: Run) -> tuple[bool, str]:
            return occupancy(run) >= HELD, f"{occupancy(run):.3f}"

        judging.order(
            f"{load} %: AccelToR uses {100 * HELD:.0f} % of the optical bandwidth", [own[load]], holds, number=True
        )

    if len(judging.have(list(own.values()))) == len(own):
        judging.measure(_holds, {load: judging.have([need])[0] for load, need in own.items()})

    def falls(heavy: Run, full: Run) -> tuple[bool, str]:
        a, b = occupancy(heavy), occupancy(full)
        return b < QUICKLY * a, f"{a:.3f} and {b:.3f}, below {QUICKLY:g} times"

    last = max(x for x in loads if x <= 100 * HEAVY)
    judging.order(f"AccelToR's occupancy falls from {last} % to {loads[-1]} %", [own[last], own[loads[-1]]], falls)
    for load in loads:

        def is_as_short(a: Run, b: Run) -> tuple[bool, str]:
            times = metrics.ratio(mean_fct(a), mean_fct(b))
            return times < INFLATED, f"{times:.3f} times, below {INFLATED:g}"

        judging.order(
            f"{load} %: mice take no longer than under Blocking", [own[load], at[BLOCKING][load]], is_as_short
        )

        def longer(a: Run, b: Run) -> tuple[bool, str]:
            means = mean_fct(a), mean_fct(b)
            return means[1] > INFLATED * means[0], f"{means[0]:.3g} and {means[1]:.3g}"

        judging.order(f"{load} %: mice take longer under Unblocking", [own[load], at[UNBLOCKING][load]], longer)
    for run in drop_short_runs(comparison.runs):
        judging.measure(numbers, run)
    note = "loads are parts of an uplink's 10 Gbps; of five uplinks: beside, without a verdict"
    return [judging.finding(note=f"{note}; {measured_part(drop_short_runs(comparison.runs))}")]


def _holds(runs: Mapping[int, Run]) -> dict[str, float]:
    """The least occupancy up to 70 %, and the largest load at which it is the paper's."""
    share = {load: occupancy(run) for load, run in runs.items()}
    least = min(share[load] for load in share if load <= 100 * HEAVY)
    return {
        "occupancy_min": least,
        "holds_until_load": max((load / 100 for load in share if share[load] >= HELD), default=0.0),
    }


def group_by_load(needs: Sequence[Need]) -> dict[int, Need]:
    """Runs by the load in the names of their cases, in percent."""
    return dict(sorted((_load(n.case), n) for n in needs))


def _load(case: str) -> int:
    return int(case.removesuffix(LONG).partition(", ")[2].partition(" %")[0])


def draw(comparison: Comparison) -> dict[str, Figure]:
    """The paper's three panels; dashed: loads of five uplinks."""
    figure, axes = grid(3, "Circuits by the load on the packet network", columns=3, shared=False)
    panels: list[tuple[str, Callable[[Run], Point]]] = [
        ("weekly throughput (Mbps)", lambda run: spread(weekly(run) / 1e6)),
        ("occupancy (%)", lambda run: make_point(100 * occupancy(run))),
        ("mice, normalised FCT", lambda run: make_point(mean_fct(run))),
    ]
    for axis, (label, measure) in zip(axes, panels, strict=True):
        for name in SCHEDULES:
            for full, style in ((False, "-"), (True, "--")):
                runs = [
                    r
                    for r in drop_short_runs(comparison.runs)
                    if r.case.startswith(f"{name}, ") and (FULL in r.case) == full
                ]
                points = sorted((_load(run.case), *point_or_nan(measure, run)) for run in runs)
                if not points:
                    continue
                loads, values, low, high = (list(column) for column in zip(*points, strict=True))
                words = name + (", of five uplinks" if full else "")
                look: dict[str, Any] = {"color": COLOURS[name], "linestyle": style, "linewidth": 1.0}
                axis.plot(loads, values, marker="o", markersize=3, label=words, **look)
                if low != high and not full:
                    axis.fill_between(loads, low, high, color=COLOURS[name], alpha=0.15, linewidth=0)
        axis.set_xlabel("load (%)", fontsize=8)
        axis.set_ylabel(label, fontsize=8)
        axis.set_ylim(bottom=0)
    axes[1].axhline(100 * HELD, color="0.5", linestyle=":", linewidth=0.8)
    set_logarithmic_scale(axes[2])
    legend_below(figure, axes, "loads of 10 Gbps; bands: 10th and 90th percentile over elephants and weeks")
    return {"fig14": figure}

"""AccelToR, Fig. 8: throughput of elephants, occupancy of circuits and completion times of mice in networks of 8 to 72 racks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need
from farloop.papers.acceltor.common import (
    ACCELTOR,
    BASELINE,
    BLOCKING,
    HELD,
    NEWRENO,
    SCHEDULES,
    UNBLOCKING,
    WRITTEN,
    CircuitJudging,
    Point,
    daily,
    drop_short_runs,
    group_runs,
    make_point,
    mean_fct,
    measured_part,
    numbers,
    occupancy,
    point_or_nan,
    racks,
    relative_increase,
    scheduled_cases,
    set_logarithmic_scale,
    spread,
    strip_suffix,
    weekly,
)
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

COMPARED = 50
"""Racks of the network in which the paper compares numbers; without it the largest network that runs stands for it."""

WITHIN = 0.02
"""Mice may take so much longer than under Blocking, in the mean: twice what the paper has."""

DETECTED = "AccelToR, detected"
"""Elephants that end, and that the switches find and replace."""

BESIDE = (WRITTEN, DETECTED, "AccelToR, k/2 uplinks")
"""Cases that stand beside the paper's three, by the beginning of their names."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Occupancy by size and by schedule, and the paper's factors between them at 50 racks; mice beside."""
    judging = CircuitJudging(comparison, claims["acceltor/fig08"])
    at = _group_by_schedule(comparison)
    bases = _baselines(comparison.runs)
    runs = [run for run in drop_short_runs(comparison.runs) if not run.case.startswith(BASELINE)]
    for run in runs:
        judging.measure(numbers, run, bases.get(racks(run)))
    for count, baseline in bases.items():
        both = judging.have([at[name][count] for name in (ACCELTOR, BLOCKING) if count in at[name]])
        if len(both) == 2:
            judging.measure(_increase_text, *both, baseline)
    sizes = list(at[ACCELTOR])
    for count, need in at[ACCELTOR].items():
        judging.order(
            f"{count} racks: AccelToR uses {100 * HELD:.0f} % of the optical bandwidth", [need], _is_filled, number=True
        )
    if judging.have(list(at[ACCELTOR].values())):
        judging.measure(
            lambda *runs: {"occupancy_min": min(map(occupancy, runs))}, *judging.have(list(at[ACCELTOR].values()))
        )
    for need in scheduled_cases(comparison, DETECTED):
        size = strip_suffix(need.case).removeprefix(f"{DETECTED}, ")
        judging.order(f"{size}: the heaviest mice take the places of elephants that end", [need], _are_replaced)
    for fewer, more in itertools.pairwise(sizes):

        def falls(small: Run, large: Run) -> tuple[bool, str]:
            a, b = occupancy(small), occupancy(large)
            return b < a, f"{a:.3f} and {b:.3f}"

        judging.order(f"Blocking falls from {fewer} to {more} racks", [at[BLOCKING][n] for n in (fewer, more)], falls)
    for count in sizes:

        def is_ordered(*runs: Run) -> tuple[bool, str]:
            a, b, u = (occupancy(run) for run in runs)
            return u < b < a, f"{a:.3f}, {b:.3f}, {u:.3f}"

        needs = [at[name][count] for name in (ACCELTOR, BLOCKING, UNBLOCKING)]
        judging.order(f"{count} racks: AccelToR above Blocking above Unblocking", needs, is_ordered)
    chosen = {name: row[COMPARED if COMPARED in row else max(row)] for name, row in at.items() if row}
    base = {int(n.case.split(", ")[1].split()[0]): n for n in scheduled_cases(comparison, f"{BASELINE}, ")}
    _factors(judging, chosen, base)
    return [judging.finding(note=measured_part(runs))]


def _is_filled(run: Run) -> tuple[bool, str]:
    share = occupancy(run)
    return share >= HELD, f"{share:.3f}"


def _are_replaced(run: Run) -> tuple[bool, str]:
    """Tests that switches labelled more flows than the initial elephants and those that came back after idle times."""
    totals = run.info["totals"]
    begun = sum(name.startswith("elephant") for name in run.flows["name"].to_pylist())
    ended, others = totals["elephants_finished"], totals["elephants_labelled"] - totals["elephants_idle"] - begun
    return ended > 0 and others > 0, f"{ended} ended, {others} others took a place; occupancy {occupancy(run):.3f}"


def _increase_text(own: Run, rival: Run, base: Run) -> dict[str, str]:
    more, error = relative_increase(own, rival, base)
    return {f"{racks(own)} racks: mice take longer than under Blocking by": f"{100 * more:.2f} ± {100 * error:.2f} %"}


def _baselines(runs: Sequence[Run]) -> dict[int, Run]:
    """The runs in which mice come one by one, by the number of racks."""
    return {racks(run): run for run in runs if run.case.startswith(BASELINE)}


def _group_by_schedule(comparison: Comparison) -> dict[str, dict[int, Need]]:
    """Runs by schedule and number of racks; where a reading has some of the cases only, every schedule at these sizes."""
    rows = {name: _group_by_racks(scheduled_cases(comparison, f"{name}, ")) for name in SCHEDULES}
    sizes = sorted({n for row in rows.values() for n in row})
    return {name: {n: row.get(n, Need(f"{name}, {n} racks", NEWRENO)) for n in sizes} for name, row in rows.items()}


def _group_by_racks(needs: list[Need]) -> dict[int, Need]:
    """Runs by the number of racks in the names of their cases."""
    paper = [n for n in needs if not n.case.startswith(BESIDE)]
    by_racks = {int(n.case.split(", ")[1].split()[0]): n for n in paper}
    return dict(sorted(by_racks.items()))


def _factors(judging: Judging, at: Mapping[str, Need], bases: Mapping[int, Need]) -> None:
    """States the paper's numbers, of the three runs in one network and of its mice one by one."""
    paper = judging.claim.paper
    if not at:
        return
    count = at[ACCELTOR].case.split(", ")[1]
    for name, key in ((BLOCKING, "vs_blocking"), (UNBLOCKING, "vs_unblocking")):

        def factor(own: Run, rival: Run) -> float:
            return metrics.ratio(occupancy(own), occupancy(rival))

        judging.near(key, f"{count}: {paper[key]:g} times {name}'s occupancy", [at[ACCELTOR], at[name]], factor)
    base = [bases[n] for n in bases if count == f"{n} racks"]

    def stays_within(own: Run, rival: Run, *single: Run) -> tuple[bool, str]:
        more, error = relative_increase(own, rival, *single)
        judging.measured["mice_fct_over_blocking"] = more
        return more <= WITHIN, f"{100 * more:.2f} ± {100 * error:.2f} %"

    def compute_gain(own: Run, rival: Run, *single: Run) -> float:
        return 1 - metrics.ratio(mean_fct(own, *single), mean_fct(rival, *single))

    both = [at[ACCELTOR], at[BLOCKING], *base]
    judging.order(
        f"{count}: mice take at most {100 * WITHIN:g} % longer than under Blocking", both, stays_within, number=True
    )
    text = f"{count}: mice take {100 * paper['mice_fct_below_unblocking']:.1f} % less than under Unblocking"
    judging.near("mice_fct_below_unblocking", text, [at[ACCELTOR], at[UNBLOCKING], *base], compute_gain)


def _slowdown_over_baseline(run: Run, bases: Mapping[int, Run]) -> float:
    """Mean FCT of a run's mice over that of the same mice alone; NaN where they came one by one in no run of that size."""
    base = bases.get(racks(run))
    return mean_fct(run, base) if base else math.nan


def draw(comparison: Comparison) -> dict[str, Figure]:
    """The paper's four panels; AccelToR with one uplink beside it."""
    bases = _baselines(comparison.runs)
    runs = [
        run
        for run in drop_short_runs(comparison.runs)
        if not run.case.startswith(BASELINE) and (run.case.startswith(WRITTEN) or not run.case.startswith(BESIDE))
    ]
    sizes = sorted({racks(run) for run in runs})
    groups = [str(n) for n in sizes]
    figure, axes = grid(4, "Circuits in networks of several sizes", columns=2, shared=False)

    def table(value: Callable[[Run], Point]) -> dict[str, dict[str, Point]]:
        rows: dict[str, dict[str, Point]] = {}
        for run in runs:
            name = WRITTEN if run.case.startswith(WRITTEN) else run.case.partition(", ")[0]
            rows.setdefault(name, {})[str(racks(run))] = point_or_nan(value, run)
        return {name: rows[name] for name in (*SCHEDULES, WRITTEN) if name in rows}

    group_runs(axes[0], groups, table(lambda run: spread(daily(run) / 1e6)), "daily throughput (Mbps)")
    group_runs(axes[1], groups, table(lambda run: spread(weekly(run) / 1e6)), "weekly throughput (Mbps)")
    group_runs(axes[2], groups, table(lambda run: make_point(100 * occupancy(run))), "occupancy (%)")
    # Only where the same mice came one by one: another denominator would stand beside this one in the same panel.
    group_runs(
        axes[3], groups, table(lambda run: make_point(_slowdown_over_baseline(run, bases))), "mice, FCT over that alone"
    )
    axes[2].set_ylim(0, 100)
    axes[2].axhline(100 * HELD, color="0.5", linestyle=":", linewidth=0.8)
    set_logarithmic_scale(axes[3])
    for axis in axes[2:]:
        axis.set_xlabel("racks", fontsize=8)
    legend_below(figure, axes, "lines: 10th and 90th percentile over elephants and weeks")
    return {"fig08": figure}

"""AccelToR, Fig. 17: sixteen algorithms of congestion control under the three schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding
from farloop.judging.schedule import Need
from farloop.papers.acceltor.common import (
    ACCELTOR,
    BLOCKING,
    HELD,
    SCHEDULES,
    UNBLOCKING,
    CircuitJudging,
    Point,
    drop_short_runs,
    group_runs,
    make_point,
    measured_part,
    numbers,
    occupancy,
    point_or_nan,
    scheduled_cases,
    spread,
    weekly,
)
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

NAMES = {
    "newreno": "NewReno", "bic": "BIC", "cubic": "CUBIC", "highspeed": "HighSpeed", "htcp": "H-TCP", "hybla": "Hybla",
    "reno-linux": "Reno", "scalable": "Scalable", "veno": "Veno", "westwood": "Westwood+", "ledbat": "LEDBAT", "vegas": "Vegas",
    "illinois": "Illinois", "bbr": "BBR", "yeah": "YeAH", "dctcp": "DCTCP",
}  # fmt: skip
"""The paper's names, in its order."""

RFC = "CUBIC,\nRFC 9438"
"""Label beside ns-3's."""

LOWER = {"cubic": "CUBIC", "bbr": "BBR"}
"""Those that reach less, and the names of their numbers."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Weekly throughput against both rivals under each algorithm; how many of them fill the circuits; the two that do not."""
    judging = CircuitJudging(comparison, claims["acceltor/fig17"])
    # Of CUBIC the cases that come last: ns-3's.
    at = {name: {n.algorithm: n for n in scheduled_cases(comparison, name)} for name in SCHEDULES}
    own = at[ACCELTOR]
    for algorithm, need in own.items():
        for rival in (BLOCKING, UNBLOCKING):

            def has_more(a: Run, b: Run) -> tuple[bool, str]:
                means = [float(weekly(run).mean()) / 1e6 for run in (a, b)]
                return means[0] > means[1], f"{means[0]:.3g} and {means[1]:.3g} Mbps"

            judging.order(
                f"{NAMES[algorithm]}: AccelToR's elephants get more than {rival}'s",
                [need, at[rival].get(algorithm, Need(rival, algorithm))],
                has_more,
            )

    def is_largest(*runs: Run) -> tuple[bool, str]:
        held = [NAMES[run.algorithm] for run in runs if occupancy(run) >= HELD]
        # What more than half of them reach.
        judging.measured["most_above"] = sorted(map(occupancy, runs), reverse=True)[len(runs) // 2]
        return 2 * len(held) > len(runs), f"{len(held)} of {len(runs)}: {', '.join(held) or 'none'}"

    judging.order(f"most use {100 * HELD:.0f} % of the optical bandwidth", list(own.values()), is_largest, number=True)
    for algorithm, key in LOWER.items():

        def is_lower(*runs: Run) -> tuple[bool, str]:
            value, middle = occupancy(runs[0]), _median(runs[1:])
            return value < middle, f"{value:.3f}, the median of the others {middle:.3f}"

        others = [n for a, n in own.items() if a not in LOWER]
        # A reading may run some of the algorithms only.
        need = own.get(algorithm, Need(ACCELTOR, algorithm))
        judging.order(f"{NAMES[algorithm]} uses less than most others", [need, *others], is_lower)
        paper = judging.claim.paper[key]
        judging.near(key, f"{NAMES[algorithm]} uses {100 * paper:.1f} %", [need], occupancy)
    runs = drop_short_runs(comparison.runs)
    for run in runs:
        judging.measure(numbers, run)
    return [judging.finding(note=measured_part(runs))]


def _median(runs: Sequence[Run]) -> float:
    shares = sorted(occupancy(run) for run in runs)
    return shares[len(shares) // 2]


def _label(run: Run) -> str:
    """Where a run stands in the pictures."""
    return RFC if run.algorithm == "cubic" and "CUBIC" not in run.case else NAMES[run.algorithm]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """The paper's two panels, one above the other."""
    figure, axes = grid(2, "Sixteen TCPs under three schedules", columns=1, shared=False)
    figure.set_size_inches(10.5, 6)
    runs = drop_short_runs(comparison.runs)
    groups = [name for name in (*NAMES.values(), RFC) if any(_label(run) == name for run in runs)]
    throughput: dict[str, dict[str, Point]] = {name: {} for name in SCHEDULES}
    used: dict[str, dict[str, Point]] = {name: {} for name in SCHEDULES}
    for run in runs:
        name = run.case.partition(",")[0]
        throughput[name][_label(run)] = point_or_nan(lambda r: spread(weekly(r) / 1e6), run)
        used[name][_label(run)] = point_or_nan(lambda r: make_point(100 * occupancy(r)), run)
    group_runs(axes[0], groups, throughput, "weekly throughput (Mbps)")
    group_runs(axes[1], groups, used, "occupancy (%)")
    axes[1].axhline(100 * HELD, color="0.5", linestyle=":", linewidth=0.8)
    legend_below(figure, axes, "lines: 10th and 90th percentile over elephants and weeks")
    return {"fig17": figure}

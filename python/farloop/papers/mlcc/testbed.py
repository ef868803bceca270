"""MLCC, Fig. 16: the testbed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.papers.mlcc.common import LONG, NAMES, FlowTimes, bars, reductions, scheduled_cases
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

SINCE = 0.007
"""Flows that start from here on are measured: after a round trip across."""

KINDS: dict[str, bool | None] = {"overall": None, "intra": False, "cross": True}


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """By how much the averages are below DCQCN's: of all flows, inside and across."""
    judging = Judging(comparison, claims["mlcc/fig16"])
    needs = scheduled_cases(comparison)
    own, other = ([n for n in needs if n.algorithm == a] for a in ("mlcc", "dcqcn"))

    def reduction(runs: Sequence[Run], kind: str) -> tuple[float, str]:
        means = [_mean(run, kind) for run in runs]
        return reductions(means[: len(own)], means[len(own) :])

    for kind in KINDS:
        for name, group in (("MLCC", own), ("DCQCN", other)):
            runs = judging.have(group)
            if runs:
                judging.measure(
                    lambda n, k, of: {f"{n}, {k} (us)": 1e6 * sum(_mean(r, k) for r in of) / len(of)}, name, kind, runs
                )
    text = "average over all flows below DCQCN's"
    judging.near("overall_vs_dcqcn", text, [*own, *other], lambda *runs: reduction(runs, "overall"), better="higher")
    for kind in ("intra", "cross"):

        def faster(*runs: Run, kind: str = kind) -> tuple[bool, str]:
            value, evidence = reduction(runs, kind)
            return value > 0, f"{100 * value:.1f} %: {evidence}"

        judging.order(f"MLCC improves {kind} traffic", [*own, *other], faster)
    unfinished = sum(FlowTimes.from_run(r, cross=None, since=SINCE).unfinished for r in judging.have([*own, *other]))
    return [judging.finding(note=f"three seeds; {unfinished} flows unfinished at the end, counted with their age")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Averages as bars with the range over the seeds."""
    figure, axes = grid(1, "Average completion time of Hadoop traffic on the testbed")
    table = {}
    for a in ("dcqcn", "mlcc"):
        by_seed = {r.case.removesuffix(LONG): r for r in comparison.runs if r.algorithm == a}
        if by_seed:
            table[a] = {k: [1e3 * _mean(r, k) for r in by_seed.values()] for k in KINDS}
    bars(axes[0], table, NAMES.__getitem__)
    axes[0].set_ylabel("average FCT (ms)", fontsize=8)
    legend_below(figure, axes, "bars: means over the seeds; lines: their range")
    return {"fig16": figure}


def _mean(run: Run, kind: str) -> float:
    return FlowTimes.from_run(run, cross=KINDS[kind], since=SINCE).mean()

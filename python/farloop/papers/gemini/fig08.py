"""GEMINI, Fig. 8: throughput of flows across datacenters under congestion inside one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need, scheduled_runs
from farloop.judging.testbed import SCHEMES, bars, numbers_text
from farloop.papers.gemini.common import SETTLED, TestbedScale, sweep
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

PAPER = TestbedScale("gemini/fig08", settled=SETTLED)

MIN_GAIN = 0.998
"""GEMINI's throughput over DCTCP's that counts as at least the same: both fill the link to within this."""

UNDEGRADED = 0.98
"""Throughput at K = 100 over that at the largest K that counts as not degraded."""

BETTER = 1.01
"""GEMINI's throughput over DCTCP's above which it counts as better."""

NEIGHBOURS = 2
"""So many thresholds next to each other, each twice the one before or nearly so, are a range of settings; one alone is a point."""

LITTLE = 0.05
"""A difference for flows inside the datacenter that counts as little."""


def judge(comparison: Comparison, claims: Mapping[str, Claim], scale: TestbedScale = PAPER) -> list[Finding]:
    """Throughputs and their ratio for each threshold."""
    judging = Judging(comparison, claims[scale.figure])
    tables = {w: {a: sweep(comparison, w, a, scale.settled) for a in ("gemini", "dctcp")} for w in ("inter", "intra")}
    judging.measure(
        lambda: {
            f"{SCHEMES[a]}, {w}, K = {k}: throughput (Mbps)": t / 1e6
            for w, table in tables.items()
            for a, points in table.items()
            for k, (t, _) in points.items()
        }
    )
    gain = {w: gains(table) for w, table in tables.items()}
    inter, intra = (scheduled_runs(comparison, prefix=f"{w}, ") for w in ("inter", "intra"))
    own = [n for n in inter if n.algorithm == "gemini"]

    def gains_at_least(*_: Run) -> tuple[bool, str]:
        evidence = numbers_text({f"K = {k}:": g for k, g in gain["inter"].items()}, ".4f")
        return min(gain["inter"].values()) >= MIN_GAIN, f"GEMINI over DCTCP: {evidence}"

    def is_undegraded(*_: Run) -> tuple[bool, str]:
        points = tables["inter"]["gemini"]
        part = metrics.ratio(points[100][0], points[max(points)][0])
        return part >= UNDEGRADED, f"{part:.4f} of that at K = {max(points)}"

    def changes_little(*_: Run) -> tuple[bool, str]:
        evidence = numbers_text({f"K = {k}:": g for k, g in gain["intra"].items()}, ".4f")
        return all(abs(g - 1) <= LITTLE for g in gain["intra"].values()), f"GEMINI over DCTCP: {evidence}"

    def is_better(*_: Run) -> tuple[bool, str]:
        thresholds = [k for k, g in gain["inter"].items() if g > BETTER]
        run = longest_row([g > BETTER for g in gain["inter"].values()])
        evidence = f"by more than {100 * (BETTER - 1):.1f} % at K = {', '.join(map(str, thresholds)) or 'none'}"
        return run >= NEIGHBOURS, f"{evidence}, of {len(gain['inter'])} thresholds"

    judging.order("GEMINI has at least DCTCP's throughput at every K", inter, gains_at_least)
    judging.order("GEMINI performs better than DCTCP in a range of settings", inter, is_better)
    judging.near("max_gain", "up to 1.49 times DCTCP's throughput", inter, lambda *_: max(gain["inter"].values()))
    largest = [n for n in inter if n.case == "inter, K = 320"]
    judging.near("gain_k320", "4 % more than DCTCP at K = 320", largest, lambda *_: gain["inter"][320])
    for algorithm in ("gemini", "dctcp"):
        judging.near(
            f"{algorithm}_mbps_k320",
            f"{SCHEMES[algorithm]} at K = 320 (Mbps)",
            [n for n in inter if n == Need("inter, K = 320", algorithm)],
            lambda *_, a=algorithm: tables["inter"][a][320][0] / 1e6,
        )
    judging.order("GEMINI's throughput is not degraded at K = 100", own, is_undegraded)
    judging.order("little difference for flows inside the datacenter", intra, changes_little)
    return [judging.finding(note=f"eight flows; throughput is payload, {941 * scale.rates:.4g} Mbps at most")]


def gains(table: Mapping[str, Mapping[int, tuple[float, float]]]) -> dict[int, float]:
    """GEMINI's throughput over DCTCP's, for the thresholds that both have."""
    return {
        k: metrics.ratio(table["gemini"][k][0], table["dctcp"][k][0]) for k in table["gemini"] if k in table["dctcp"]
    }


def longest_row(holds: Sequence[bool]) -> int:
    """Returns the length of the longest run of true values."""
    return max((len(list(group)) for held, group in itertools.groupby(holds) if held), default=0)


def draw(comparison: Comparison, scale: TestbedScale = PAPER) -> dict[str, Figure]:
    """Throughput for each threshold; flows across as in the paper, and those inside the datacenter."""
    figure, axes = grid(2, "Aggregate throughput, ECN threshold swept", columns=2, shared=False)
    for axis, where in zip(axes, ("inter", "intra"), strict=True):
        tables = {SCHEMES[a]: sweep(comparison, where, a, scale.settled) for a in ("dctcp", "gemini")}
        common = [k for k in tables["DCTCP"] if k in tables["GEMINI"]] or sorted(
            {k for t in tables.values() for k in t}
        )
        bars(
            axis,
            {n: {str(k): t[k][0] / 1e6 if k in t else float("nan") for k in common} for n, t in tables.items() if t},
        )
        axis.set_title(f"{where}-DC flows", fontsize=8)
        axis.set_xlabel("ECN threshold (packets)", fontsize=8)
        axis.set_ylabel("throughput (Mbps)", fontsize=8)
        axis.set_ylim(0, 1000 * scale.rates)
    legend_below(figure, [axes[0]])
    return {"fig08": figure}

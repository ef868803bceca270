"""GEMINI, Fig. 9: round-trip time and throughput under congestion in the WAN, T and beta swept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need, scheduled_runs
from farloop.judging.testbed import numbers_text
from farloop.palette import CROSS, INTRA
from farloop.papers.gemini.common import SETTLED_ACROSS, TestbedScale, delay_and_throughput
from farloop.units import time_text
from farloop.views.figures.panels import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

PAPER = TestbedScale("gemini/fig09", settled=SETTLED_ACROSS)

NEARLY_FULL = 0.9
"""Throughput over the largest one that counts as nearly full: the paper calls 857 Mbps "within 10 % of the highest"."""

FAR = 0.1
"""The longer base round-trip time, in seconds."""


def judge(
    comparison: Comparison,
    claims: Mapping[str, Claim],
    scale: TestbedScale = PAPER,
    *,
    settled_far: float = SETTLED_ACROSS,
) -> list[Finding]:
    """Round-trip times and throughputs of the sweep, of Cubic, and at ten times the base round-trip time from `settled_far` on."""
    judging = Judging(comparison, claims[scale.figure])
    far_rtt = time_text(FAR * scale.times)
    published = judging.claim.paper
    far_mbps = f"mbps_at_{far_rtt.replace(' ', '')}"

    def measure_point(run: Run) -> tuple[float, float]:
        return delay_and_throughput(run, scale.settled)

    swept = scheduled_runs(comparison, algorithm="gemini", prefix="T = ")
    cubic, far = scheduled_runs(comparison, algorithm="cubic"), [Need(f"base RTT {far_rtt}", "gemini")]
    judging.measure(
        lambda: {f"{c}: throughput (Mbps)": t / 1e6 for c, (_, t) in sweep(comparison, scale.settled).items()}
    )
    judging.measure(lambda: {f"{c}: RTT (ms)": 1e3 * r for c, (r, _) in sweep(comparison, scale.settled).items()})

    def is_nearly_full(*runs: Run) -> tuple[bool, str]:
        rates = {run.case: measure_point(run)[1] for run in runs}
        parts = {c: metrics.ratio(t, max(rates.values())) for c, t in rates.items()}
        return all(p >= NEARLY_FULL for p in parts.values()), numbers_text(parts)

    def largest_delay(*runs: Run) -> tuple[float, str]:
        points = {run.case: measure_point(run)[0] for run in runs}
        highest = max(points, key=lambda c: points[c])
        return 1e3 * points[highest], f"at {highest}"

    def is_lower(*runs: Run) -> tuple[bool, str]:
        points = {run.case: measure_point(run) for run in runs}
        rows = [pairs(points, beta) for beta in sorted({c.rpartition(" ")[2] for c in points})]
        return all(row == sorted(row) for row in rows), numbers_text({c: 1e3 * r for c, (r, _) in points.items()})

    def is_below(reference: Run, *runs: Run) -> tuple[bool, str]:
        rtt, most = measure_point(reference)[0], max(measure_point(run)[0] for run in runs)
        return most < rtt / 2, f"{1e3 * most:.3g} against {1e3 * rtt:.3g} ms"

    at = f"T = {8 * scale.times:g} ms, beta = 0.2"
    judging.order("throughput is nearly full", swept, is_nearly_full)
    judging.near("gemini_rtt_ms", f"the largest average RTT is {published['gemini_rtt_ms']:g} ms", swept, largest_delay)
    judging.order(
        f"it is at {at}", swept, lambda *runs: (largest_delay(*runs)[1] == f"at {at}", largest_delay(*runs)[1])
    )
    judging.order("a lower T lowers the RTT", swept, is_lower)
    judging.near(
        "cubic_rtt_ms",
        f"Cubic's average RTT is about {time_text(published['cubic_rtt_ms'] / 1e3)}",
        cubic,
        lambda run: 1e3 * measure_point(run)[0],
    )
    judging.order("GEMINI's RTT is far below Cubic's", [*cubic, *swept], is_below)
    judging.near(
        far_mbps,
        f"{published[far_mbps]:g} Mbps at a base RTT of {far_rtt}",
        far,
        lambda run: delay_and_throughput(run, settled_far)[1] / 1e6,
    )
    for run in judging.have(cubic):
        judging.measured["Cubic: throughput (Mbps)"] = measure_point(run)[1] / 1e6
    return [judging.finding(note=f"eight flows; throughput is payload, {941 * scale.rates:.4g} Mbps at most")]


def draw(comparison: Comparison, scale: TestbedScale = PAPER) -> dict[str, Figure]:
    """Round-trip time and throughput of each setting."""
    points = sweep(comparison, scale.settled)
    figure, axes = grid(2, "Flows bottlenecked in the WAN", columns=2, shared=False)
    labels = [c.replace(", ", "\n") for c in points]
    axes[0].bar(labels, [1e3 * r for r, _ in points.values()], color=CROSS[0], width=0.6)
    axes[0].set_ylabel("RTT (ms)", fontsize=8)
    axes[1].bar(labels, [t / 1e6 for _, t in points.values()], color=INTRA[0], width=0.6)
    axes[1].set_ylabel("throughput (Mbps)", fontsize=8)
    for axis in axes:
        axis.tick_params(axis="x", labelsize=5)
    return {"fig09": figure}


def sweep(comparison: Comparison, settled: float = SETTLED_ACROSS) -> dict[str, tuple[float, float]]:
    """Round-trip time and throughput by case, of the cases that vary T and beta."""
    return {run.case: delay_and_throughput(run, settled) for run in comparison.runs if run.case.startswith("T = ")}


def pairs(points: Mapping[str, tuple[float, float]], beta: str) -> list[float]:
    """Round-trip times for one beta, by growing T."""
    chosen = {c: r for c, (r, _) in points.items() if c.rpartition(" ")[2] == beta}
    return [chosen[c] for c in sorted(chosen, key=lambda c: float(c.split()[2]))]

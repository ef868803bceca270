"""GEMINI, Fig. 9: round-trip time and throughput under congestion in the WAN, T and beta swept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import grid
from farloop.palette import CROSS, INTRA
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.papers.measure import first
from farloop.papers.testbed import rates, round_trip, said
from farloop.results import Comparison, Run

SETTLED = 10.0
"""Measured from here on, in seconds, or from half of a run that is shorter than twice as long."""

NEARLY_FULL = 0.9
"""Throughput over the largest one that counts as nearly full: the paper calls 857 Mbps "within 10 % of the highest"."""

FAR = "base RTT 100 ms"


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Round-trip times and throughputs of the sweep, of Cubic, and at ten times the base round-trip time."""
    claim = claims["gemini/fig09"]
    points = sweep(comparison)
    measured: dict[str, Any] = {f"{c}: throughput (Mbps)": t / 1e6 for c, (_, t) in points.items()}
    measured |= {f"{c}: RTT (ms)": 1e3 * r for c, (r, _) in points.items()}
    statements: list[Statement] = []
    if points:
        highest = max(points, key=lambda c: points[c][0])
        best = max(t for _, t in points.values())
        parts = {c: metrics.ratio(t, best) for c, (_, t) in points.items()}
        measured["gemini_rtt_ms"] = 1e3 * points[highest][0]
        statements += [
            Statement("throughput is nearly full", all(p >= NEARLY_FULL for p in parts.values()), said(parts)),
            near(
                claim, "gemini_rtt_ms", measured["gemini_rtt_ms"], "the largest average RTT is 16 ms", f"at {highest}"
            ),
        ]
    if len(points) > 1:
        at = "T = 8 ms, beta = 0.2"
        statements.append(Statement(f"it is at {at}", highest == at, f"at {highest}"))
        text = "a lower T lowers the RTT"
        lower = [pairs(points, beta) for beta in sorted({c.rpartition(" ")[2] for c in points})]
        holds = all(row == sorted(row) for row in lower)
        statements.append(Statement(text, holds, said({c: 1e3 * r for c, (r, _) in points.items()})))
    if cubic := first(comparison, "cubic"):
        rtt = 1e3 * measure(cubic)[0]
        measured |= {"cubic_rtt_ms": rtt, "Cubic: throughput (Mbps)": measure(cubic)[1] / 1e6}
        statements.append(near(claim, "cubic_rtt_ms", rtt, "Cubic's average RTT is about 100 ms"))
        if points:
            text = "GEMINI's RTT is far below Cubic's"
            holds = all(1e3 * r < rtt / 2 for r, _ in points.values())
            statements.append(Statement(text, holds, f"{measured['gemini_rtt_ms']:.3g} against {rtt:.3g} ms"))
    if far := first(comparison, "gemini", FAR):
        measured["mbps_at_100ms"] = measure(far)[1] / 1e6
        text = "857 Mbps at a base RTT of 100 ms"
        statements.append(near(claim, "mbps_at_100ms", measured["mbps_at_100ms"], text))
    return [Finding(claim.id, statements, measured, note="eight flows; throughput is payload, 941 Mbps at most")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Round-trip time and throughput of each setting."""
    points = sweep(comparison)
    figure, axes = grid(2, "Flows bottlenecked in the WAN", columns=2, shared=False)
    labels = [c.replace(", ", "\n") for c in points]
    axes[0].bar(labels, [1e3 * r for r, _ in points.values()], color=CROSS[0], width=0.6)
    axes[0].set_ylabel("RTT (ms)", fontsize=8)
    axes[1].bar(labels, [t / 1e6 for _, t in points.values()], color=INTRA[0], width=0.6)
    axes[1].set_ylabel("throughput (Mbps)", fontsize=8)
    for axis in axes:
        axis.tick_params(axis="x", labelsize=5)
    return {"fig09": figure}


def sweep(comparison: Comparison) -> dict[str, tuple[float, float]]:
    """Round-trip time and throughput by case, of the cases that vary T and beta."""
    return {run.case: measure(run) for run in comparison.runs if run.case.startswith("T = ")}


def pairs(points: Mapping[str, tuple[float, float]], beta: str) -> list[float]:
    """Round-trip times for one beta, by growing T."""
    chosen = {c: r for c, (r, _) in points.items() if c.rpartition(" ")[2] == beta}
    return [chosen[c] for c in sorted(chosen, key=lambda c: float(c.split()[2]))]


def measure(run: Run) -> tuple[float, float]:
    """Mean round-trip time and aggregate throughput."""
    start = min(SETTLED, run.duration / 2)
    return round_trip(run, start), sum(rates(run, start).values())

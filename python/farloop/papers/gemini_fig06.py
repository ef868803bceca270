"""GEMINI, Fig. 6: thresholds of Vegas scaled up serve large flows and lose packets inside datacenters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import grid
from farloop.palette import CROSS, INTRA
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.papers.testbed import Completion, Losses, arrivals
from farloop.results import Comparison, Run


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Throughput of large flows and losses inside datacenters, least against largest scale."""
    claim = claims["gemini/fig06"]
    runs = by_scale(comparison)
    large = {n: Completion.of(run).cells()["large, average"] for n, run in runs.items()}
    lost = {n: Losses.of(run).dcn for n, run in runs.items()}
    measured: dict[str, Any] = {f"N = {n}: large, average (s)": v for n, v in large.items()}
    measured |= {f"N = {n}: loss in DCN": v for n, v in lost.items()}
    statements: list[Statement] = []
    if len(runs) > 1:
        least, most = min(runs), max(runs)
        gain = metrics.ratio(large[least], large[most])
        loss = metrics.ratio(lost[most], lost[least])
        measured |= {"throughput_gain": gain, "loss_gain": loss}
        more = f"{lost[least]:.2g} to {lost[most]:.2g}"
        statements = [
            Statement(f"large flows are faster with N = {most} than with N = {least}", gain > 1, f"{gain:.3g} times"),
            Statement(f"more is lost inside datacenters with N = {most}", lost[most] > lost[least], more),
            near(
                claim,
                "throughput_gain",
                gain,
                f"large flows have {claim.paper['throughput_gain']:g} times the throughput",
            ),
            Statement(
                f"more than {claim.paper['loss_gain']:g} times the losses inside datacenters",
                loss > claim.paper["loss_gain"],
                f"{more}: {loss:.3g} times" if lost[least] > 0 else more,
                number=True,
            ),
        ]
    return [Finding(claim.id, statements, measured)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Completion time of large flows as bars, losses inside datacenters on the right."""
    runs = by_scale(comparison)
    labels = [str(n) for n in runs]
    figure, (axis,) = grid(1, "Vegas, thresholds scaled by N")
    axis.bar(labels, [Completion.of(r).cells()["large, average"] for r in runs.values()], color=INTRA[1], width=0.6)
    axis.set_xlabel("N", fontsize=8)
    axis.set_ylabel("FCT of large flows (s)", fontsize=8)
    right = axis.twinx()
    lost = [1e5 * Losses.of(r).dcn for r in runs.values()]
    right.plot(labels, lost, color=CROSS[0], marker="o", linewidth=1)
    right.set_ylabel("loss rate in DCN (1e-5)", fontsize=8)
    right.set_ylim(0, max(1.0, 1.1 * max(lost, default=0.0)))
    right.tick_params(labelsize=7)
    return {"fig06": figure}


def by_scale(comparison: Comparison) -> dict[int, Run]:
    """The longest run for each scale, from their cases "N = SCALE"."""
    runs: dict[int, Run] = {}
    for run in comparison.runs:
        scale = int(run.case.removeprefix("N = ").partition(",")[0])
        if scale not in runs or arrivals(run) > arrivals(runs[scale]):
            runs[scale] = run
    return dict(sorted(runs.items()))

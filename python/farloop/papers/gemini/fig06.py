"""GEMINI, Fig. 6: thresholds of Vegas scaled up serve large flows and lose packets inside datacenters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import scheduled_runs
from farloop.judging.testbed import Completion, Losses, arrivals
from farloop.palette import CROSS, INTRA
from farloop.views.figures.panels import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

MIN_FLOWS, MAX_FLOWS = 1, 20
"""The scales that are compared: Vegas as it is, and the largest of the figure."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Throughput of large flows and losses inside datacenters, least against largest scale.

    Large thresholds increase losses significantly (§II-B): fewer than a hundred lost packets, which are a burst or two, are no increase,
    whatever the ratio of two such numbers.
    """
    judging = Judging(comparison, claims["gemini/fig06"])
    claim = judging.claim
    runs = group_by_scale(comparison)
    large = {n: Completion.from_run(run).cells()["large, average"] for n, run in runs.items()}
    losses = {n: Losses.from_run(run) for n, run in runs.items()}
    lost = {n: of_run.dcn for n, of_run in losses.items()}
    judging.measure(lambda: {f"N = {n}: large, average (s)": v for n, v in large.items()})
    judging.measure(lambda: {f"N = {n}: loss in DCN": v for n, v in lost.items()})
    planned = {_scale(need.case): need for need in scheduled_runs(comparison)}
    needs = [planned[n] for n in (MIN_FLOWS, MAX_FLOWS) if n in planned]

    def faster(*_: Run) -> tuple[bool, str]:
        gain = metrics.ratio(large[MIN_FLOWS], large[MAX_FLOWS])
        return gain > 1, f"{gain:.3g} times"

    def loss_text() -> str:
        return f"N = {MIN_FLOWS}: {losses[MIN_FLOWS].format_loss()}; N = {MAX_FLOWS}: {losses[MAX_FLOWS].format_loss()}"

    def has_more(*_: Run) -> tuple[bool, str]:
        return losses[MAX_FLOWS].enough and lost[MAX_FLOWS] > lost[MIN_FLOWS], loss_text()

    def has_many(*_: Run) -> tuple[bool, str]:
        # With too few lost at the least scale the ratio has no value, but a bound: no more than that were lost.
        least = max(lost[MIN_FLOWS], metrics.ratio(1, losses[MIN_FLOWS].sent))
        loss = lost[MAX_FLOWS] / least
        if losses[MIN_FLOWS].enough and losses[MAX_FLOWS].enough:
            judging.measured["loss_gain"] = loss
        return losses[MAX_FLOWS].enough and loss > claim.paper["loss_gain"], loss_text()

    judging.order(f"large flows are faster with N = {MAX_FLOWS} than with N = {MIN_FLOWS}", needs, faster)
    judging.order(f"with N = {MAX_FLOWS} more is lost inside datacenters, a hundred packets or more", needs, has_more)
    judging.near(
        "throughput_gain",
        f"large flows have {claim.paper['throughput_gain']:g} times the throughput",
        needs,
        lambda *_: metrics.ratio(large[MIN_FLOWS], large[MAX_FLOWS]),
        better="higher",
    )
    text = f"more than {claim.paper['loss_gain']:g} times the losses inside datacenters"
    judging.order(text, needs, has_many, number=True)
    return [judging.finding()]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Completion time of large flows as bars, losses inside datacenters on the right."""
    runs = group_by_scale(comparison)
    labels = [str(n) for n in runs]
    figure, (axis,) = grid(1, "Vegas, thresholds scaled by N")
    axis.bar(
        labels, [Completion.from_run(r).cells()["large, average"] for r in runs.values()], color=INTRA[1], width=0.6
    )
    axis.set_xlabel("N", fontsize=8)
    axis.set_ylabel("FCT of large flows (s)", fontsize=8)
    right = axis.twinx()
    lost = [1e5 * Losses.from_run(r).dcn for r in runs.values()]
    right.plot(labels, lost, color=CROSS[0], marker="o", linewidth=1)
    right.set_ylabel("loss rate in DCN (1e-5)", fontsize=8)
    right.set_ylim(0, max(1.0, 1.1 * max(lost, default=0.0)))
    right.tick_params(labelsize=7)
    return {"fig06": figure}


def group_by_scale(comparison: Comparison) -> dict[int, Run]:
    """The longest run for each scale, from their cases "N = SCALE"."""
    runs: dict[int, Run] = {}
    for run in comparison.runs:
        scale = _scale(run.case)
        if scale is None:
            continue
        if scale not in runs or arrivals(run) > arrivals(runs[scale]):
            runs[scale] = run
    return dict(sorted(runs.items()))


def _scale(case: str) -> int | None:
    number = case.removeprefix("N = ").partition(",")[0]
    return int(number) if number.isdigit() else None

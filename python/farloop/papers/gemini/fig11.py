"""GEMINI, Fig. 11: four flows inside a datacenter and four across, with different round-trip times, share a bottleneck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import scheduled_runs
from farloop.judging.testbed import COLOURS, SCHEMES, numbers_text, rates, round_trip
from farloop.papers.gemini.common import TestbedScale
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

SETTLED = 20.0
"""Measured from here on, in seconds, or from half of a run that is shorter than twice as long."""

PAPER = TestbedScale("gemini/fig11", settled=SETTLED)

EQUAL = (0.8, 1.25)
"""Ratios of throughputs that count as equal shares."""

EDGES = (1 / 64, 64)
"""Ratios of throughputs that the picture shows."""

PROPORTIONAL = 1.5
"""The ratio of throughputs is proportional to 1/RTT if it is within this factor of the ratio of round-trip times, queues included."""


def judge(comparison: Comparison, claims: Mapping[str, Claim], scale: TestbedScale = PAPER) -> list[Finding]:
    """Throughput of an intra over that of an inter flow, by ratio of the base round-trip times."""
    judging = Judging(comparison, claims[scale.figure])
    needs = {n: scheduled_runs(comparison, algorithm=a) for a, n in SCHEMES.items()}

    def row(runs: Sequence[Run]) -> dict[int, float]:
        return {case_ratio(run): share(run, scale.settled) for run in sorted(runs, key=case_ratio)}

    judging.measure(
        lambda: {
            f"{n}, {k}x: intra over inter": r
            for n, ratios in shares(comparison, scale.settled).items()
            for k, r in ratios.items()
        }
    )

    def is_equal(*runs: Run) -> tuple[bool, str]:
        own = row(runs)
        worst = max(own.values(), key=lambda r: abs(np.log(r)) if r > 0 else np.inf)
        judging.measured["GEMINI, worst: intra over inter"] = worst
        evidence = numbers_text({f"{k}x:": r for k, r in own.items()})
        return EQUAL[0] <= worst <= EQUAL[1], f"intra over inter {evidence}; equal from {EQUAL[0]} to {EQUAL[1]}"

    def favours_short(*runs: Run) -> tuple[bool, str]:
        ratios = row(runs)
        ordered = list(ratios.values())
        return ordered == sorted(ordered) and ordered[-1] > 1, numbers_text({f"{k}x:": r for k, r in ratios.items()})

    def proportional(*runs: Run) -> tuple[bool, str]:
        ratios, delays = row(runs), {case_ratio(run): delay_ratio(run, scale.settled) for run in runs}
        off = {k: metrics.ratio(ratios[k], delays[k]) for k in ratios}
        evidence = ", ".join(f"{k}x: {ratios[k]:.3g} against {delays[k]:.3g}" for k in ratios)
        holds = all(1 / PROPORTIONAL <= o <= PROPORTIONAL for o in off.values())
        return holds, f"throughputs against round-trip times: {evidence}"

    def favours_long(*runs: Run) -> tuple[bool, str]:
        ratios = row(runs)
        return ratios[max(ratios)] < 1, f"intra over inter {numbers_text({f'{k}x:': r for k, r in ratios.items()})}"

    judging.order("GEMINI shares equally, whatever the round-trip times", needs["GEMINI"], is_equal)
    for name in ("Cubic", "DCTCP"):
        text = f"{name} favours short round-trip times, the more the larger their ratio"
        judging.order(text, needs[name], favours_short)
        judging.order(f"{name} shares in proportion to 1/RTT", needs[name], proportional, number=True)
    judging.order("BBR favours long round-trip times", needs["BBR"], favours_long)
    return [judging.finding(note="means of the four flows of each kind")]


def draw(comparison: Comparison, scale: TestbedScale = PAPER) -> dict[str, Figure]:
    """Throughput ratio over the ratio of round-trip times, one curve per scheme."""
    figure, (axis,) = grid(1, "Throughput of intra- over inter-DC flows")
    figure.set_size_inches(4.6, 3.2)
    for name, row in shares(comparison, scale.settled).items():
        # A scheme whose flows of one kind stand still is at the edge.
        axis.plot(
            list(row), np.clip(list(row.values()), *EDGES), color=COLOURS.get(name), marker="o", linewidth=1, label=name
        )
    axis.axhspan(*EQUAL, alpha=0.15)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2)
    axis.set_ylim(*EDGES)
    axis.set_xticks([4, 8, 16, 32, 64], ["4", "8", "16", "32", "64"])
    axis.set_xlabel("RTT2 / RTT1", fontsize=8)
    legend_below(figure, [axis])
    return {"fig11": figure}


def shares(comparison: Comparison, settled: float = SETTLED) -> dict[str, dict[int, float]]:
    """Mean throughput of an intra over that of an inter flow, by scheme and ratio of base round-trip times."""
    names = list(dict.fromkeys(SCHEMES.get(run.algorithm, run.algorithm) for run in comparison.runs))
    return {n: {k: share(run, settled) for k, run in group_by_ratio(comparison, n).items()} for n in names}


def group_by_ratio(comparison: Comparison, name: str) -> dict[int, Run]:
    """The runs of a scheme by ratio of base round-trip times, from their cases "RATIOx"."""
    runs = [r for r in comparison.runs if SCHEMES.get(r.algorithm, r.algorithm) == name and r.case]
    return {case_ratio(run): run for run in sorted(runs, key=case_ratio)}


def case_ratio(run: Run) -> int:
    """The ratio of base round-trip times, from the case "RATIOx", after which there may be more words."""
    number, separator, _ = run.case.partition("x")
    if not (number.isdigit() and separator):
        raise UndecidedError(f"no case of the figure: {run.case or run.label}")
    return int(number)


def share(run: Run, settled: float = SETTLED) -> float:
    """Mean throughput of an intra over that of an inter flow."""
    start = min(settled, run.duration / 2)
    return metrics.ratio(*(float(np.mean(list(rates(run, start, flows=f).values()))) for f in kinds(run)))


def delay_ratio(run: Run, settled: float = SETTLED) -> float:
    """Mean round-trip time of an inter over that of an intra flow, queues included."""
    start = min(settled, run.duration / 2)
    intra, inter = (round_trip(run, start, f) for f in kinds(run))
    return metrics.ratio(inter, intra)


def kinds(run: Run) -> tuple[list[str], list[str]]:
    """The intra and the inter flows."""
    flows = run.samples.objects("flow")
    return [f for f in flows if f.startswith("intra")], [f for f in flows if f.startswith("inter")]

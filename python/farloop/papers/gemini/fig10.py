"""GEMINI, Fig. 10: three groups of ten flows start one after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need, scheduled_runs
from farloop.judging.testbed import COLOURS, SCHEMES, numbers_text, spans
from farloop.palette import CROSS, INTRA
from farloop.papers.gemini.common import TestbedScale
from farloop.results.tables import Floats
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

TOGETHER = 100.0
"""All three groups run from here on, in seconds."""

END = 150.0
"""Until here, in seconds."""

PAPER = TestbedScale("gemini/fig10", settled=TOGETHER)

SPAN = 1.0
"""Throughputs are averaged over so many of the paper's seconds before their index is taken."""

FAIR = 0.99
"""Jain's index from which the sharing counts as fair and stable."""


def judge(
    comparison: Comparison,
    claims: Mapping[str, Claim],
    scale: TestbedScale = PAPER,
    *,
    at_least: float = FAIR,
    end: float = END,
) -> list[Finding]:
    """Average of Jain's index while all groups run, until `end`; `at_least` is fair."""
    window, span = (scale.settled, end), SPAN * scale.times
    places = 1 if scale.rates == 1 else 2

    def average_index(run: Run) -> float:
        return average(run, window, span)

    judging = Judging(comparison, claims[scale.figure])
    needs = {SCHEMES.get(n.algorithm, n.algorithm): n for n in scheduled_runs(comparison)}
    judging.measure(lambda: {SCHEMES.get(run.algorithm, run.algorithm): average_index(run) for run in comparison.runs})
    judging.measure(
        lambda: {
            f"{SCHEMES.get(run.algorithm, run.algorithm)}, Mbps by group at {window[0]:g}-{window[1]:g} s": [
                round(g / 1e6, places) for g in group_rates(run, *window)
            ]
            for run in comparison.runs
        }
    )

    if span != SPAN:
        judging.measure(
            lambda: {
                f"{SCHEMES.get(run.algorithm, run.algorithm)}, over seconds": average(run, window, SPAN)
                for run in comparison.runs
            }
        )

    def is_above(*runs: Run) -> tuple[bool, str]:
        index = {SCHEMES.get(run.algorithm, run.algorithm): average_index(run) for run in runs}
        if missing := [name for name in judging.claim.paper if name not in index]:
            raise UndecidedError(f"not run: {', '.join(missing)}")
        return all(index["GEMINI"] > v for n, v in index.items() if n != "GEMINI"), numbers_text(index, ".4f")

    def is_fair(run: Run) -> tuple[bool, str]:
        return average_index(run) >= at_least, f"{average_index(run):.4f}"

    def select_need(name: str) -> list[Need]:
        return [needs[name]] if name in needs else []

    judging.order(f"GEMINI's index is at least {at_least:g}", select_need("GEMINI"), is_fair)
    judging.order("GEMINI's index is above its rivals'", list(needs.values()), is_above)
    for name in judging.claim.paper:
        judging.near(name, f"index of {name}", select_need(name), average_index)
    over = "seconds" if span == 1 else f"spans of {span:g} s"
    note = f"thirty flows, throughputs over {over}, average from {window[0]:g} to {window[1]:g} s"
    return [judging.finding(note=note)]


def draw(comparison: Comparison, scale: TestbedScale = PAPER, *, end: float = END) -> dict[str, Figure]:
    """One panel per scheme: one flow of each group, as in the paper; and Jain's index over time."""
    span = SPAN * scale.times
    figure, axes = grid(len(comparison.runs), "One flow of each group", columns=2)
    for axis, run in zip(axes, comparison.runs, strict=True):
        for name, colour in (("group1-1", INTRA[0]), ("group2-1", CROSS[0]), ("group3-1", INTRA[2])):
            if name in run.samples.objects("flow"):
                times, rate = spans(run, name, span)
                axis.plot(times, rate / 1e6, color=colour, linewidth=0.8, label=name)
        axis.set_title(
            f"{SCHEMES.get(run.algorithm, run.algorithm)} (Jain {average(run, (scale.settled, end), span):.3f})",
            fontsize=8,
        )
        axis.set_ylim(0, 200 * scale.rates)
        axis.set_xlabel("time (s)", fontsize=8)
    for axis in axes[::2]:
        axis.set_ylabel("throughput (Mbps)", fontsize=8)
    legend_below(figure, [axes[0]])
    fairness, (axis,) = grid(1, "Jain's index of the flows that run")
    for run in comparison.runs:
        name = SCHEMES.get(run.algorithm, run.algorithm)
        times, index = indices(run, span)
        axis.plot(times, index, color=COLOURS.get(name), linewidth=0.8, label=name)
    axis.set_xlabel("time (s)", fontsize=8)
    axis.set_ylim(0, 1.02)
    legend_below(fairness, [axis])
    return {"fig10": figure, "fig10-jain": fairness}


def indices(run: Run, span: float = SPAN) -> tuple[Floats, Floats]:
    """Jain's index over each span, of the flows that had started before it."""
    starts = dict(zip(run.flows["name"].to_pylist(), run.flows["start_ps"].to_numpy() / 1e12, strict=True))
    series = {f: _spans_to_the_end(run, f, span) for f in run.samples.objects("flow")}
    times = max((t for t, _ in series.values()), key=len, default=np.empty(0))
    # A flow has samples from its start on: the last ones of all belong together.
    rows = [np.concatenate([np.full(times.size - r.size, np.nan), r]) for _, r in series.values()]
    table = np.array([np.where(times - span >= starts[f] - 1e-9, r, np.nan) for f, r in zip(series, rows, strict=True)])
    return times, np.array([metrics.jain(column[~np.isnan(column)]) for column in table.T])


def average(run: Run, together: tuple[float, float] = (TOGETHER, END), span: float = SPAN) -> float:
    """Average of the index over spans while all groups run; over the last half of a run that ends before."""
    start, end = together if run.duration > together[0] else (run.duration / 2, run.duration)
    # A real host's samples are a little late: a span belongs to where its middle is.
    times, index = indices(run, span)
    return metrics.mean(times - span / 2, index, start, end)


def _spans_to_the_end(run: Run, flow: str, span: float) -> tuple[Floats, Floats]:
    """A flow's throughput over spans that end with the run, each at its last time: flows that start at any time have the same ones."""
    times, values = run.samples.get(f"flow/{flow}", "throughput")
    samples = max(1, round(span / float(np.median(np.diff(times))))) if times.size > 1 else 1
    first = times.size % samples
    return times[first:][samples - 1 :: samples], values[first:].reshape(-1, samples).mean(axis=1)


def group_rates(run: Run, start: float, end: float) -> list[float]:
    """Mean throughput of a flow of each group."""
    flows = run.samples.objects("flow")
    return [
        float(np.mean([metrics.mean(*run.samples.get(f"flow/{f}", "throughput"), start, end) for f in chosen]))
        for g in (1, 2, 3)
        if (chosen := [f for f in flows if f.startswith(f"group{g}-")])
    ]

"""MLCC, Figs. 7 and 8: convergence, with the bottleneck on either side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import require_duration
from farloop.judging.schedule import scheduled_runs
from farloop.metrics import smooth_values
from farloop.palette import CROSS, INTRA
from farloop.papers.mlcc.common import DCI, fairness, holding_time, paper_name, queue, starts, total
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FAIR = 0.95
"""Jain's index from which shares count as fair."""

ROUND_TRIPS = 3
"""Round trips of the flows across within which convergence is quick."""

AVERAGED = 0.001
"""Seconds over which throughput is averaged."""

FULL = 0.85
"""The part of the bottleneck's 100 Gbps that the flows' payload fills at least; headers and the law's target of 95 % leave 0.9."""

CAPACITY = 100e9

HIGHEST = 26.0
"""Of the throughput in the pictures, in Gbps."""

LAST = 0.02
"""Seconds at the end of the run over which that is taken."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """When shares have become fair for good, and whether the bottleneck is used."""
    judging = Judging(comparison, claims["mlcc/fig07-08"])
    for run in comparison.runs:
        judging.measure(_numbers, run)

    def is_quick(run: Run) -> tuple[bool, str]:
        after, within = _convergence_time(run), ROUND_TRIPS * _round_trip(run)
        evidence = (
            f"Jain's index {FAIR} for good {1e3 * after:.3g} ms after the last start, accepted {1e3 * within:.3g} ms"
        )
        return after <= within, evidence

    def is_used(run: Run) -> tuple[bool, str]:
        part = _final_throughput(run) / CAPACITY
        return part >= FULL, f"{100 * part:.3g} % of the bottleneck, from {100 * FULL:g} %"

    for need in scheduled_runs(comparison, algorithm="mlcc"):
        judging.order(f"{need.case}: fair within {ROUND_TRIPS} round trips across", [need], is_quick)
        judging.order(f"{need.case}: the bottleneck is used", [need], is_used)
    return [judging.finding(note=f"throughput averaged over {1e3 * AVERAGED:g} ms")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """A picture per side: throughput of the flows that start together and in turn; below, the queue of the receivers' DCI switch."""
    pictures = {}
    for name, side in (("fig07", "senders' side"), ("fig08", "receivers' side")):
        runs = [r for r in comparison.runs if r.case.startswith(side)]
        chosen = [r for r in runs if r.algorithm == "mlcc"] + [r for r in runs if r.algorithm == "hpcc"]
        if chosen:
            pictures[name] = _panels(chosen, f"Convergence, bottleneck on the {side}")
        variants = [r for r in runs if r.algorithm.startswith("mlcc-")]
        if variants:
            pictures[f"{name}-variants"] = _panels(variants, f"Variants of MLCC, bottleneck on the {side}")
    return pictures


def _panels(runs: list[Run], title: str) -> Figure:
    figure, axes = grid(2 * len(runs), title, columns=len(runs), shared=False)
    largest = max([1e6, *(float(queue(r, DCI, "max_queue")[1].max()) for r in runs)])
    for i, run in enumerate(runs):
        top, bottom = axes[i], axes[len(runs) + i]
        for flow in _flows(run):
            times, values = run.samples.get(f"flow/{flow}", "throughput")
            colours = CROSS if flow.startswith("cross") else INTRA
            kind, _, n = flow.partition("-")
            label = f"{'cross' if kind == 'cross' else 'intra'}-{n}"
            smooth = smooth_values(values, 10) / 1e9
            top.plot(1e3 * times, smooth, color=colours[int(n) - 1], linewidth=0.8, label=label)
        how = run.case.partition(", ")[2]
        name = paper_name(run) if run.algorithm in ("mlcc", "hpcc") else run.algorithm
        top.set_title(f"{name}, {how}", fontsize=8)
        times, values = queue(run, DCI)
        bottom.plot(1e3 * times, values / 1e6, color="0.2", linewidth=0.9)
        bottom.set_xlabel("time (ms)", fontsize=8)
        for axis, most in ((top, HIGHEST), (bottom, 1.05 * largest / 1e6)):
            axis.set_xlim(0, 1e3 * run.duration)
            axis.set_ylim(0, most)
    axes[0].set_ylabel("throughput (Gbps)", fontsize=8)
    axes[len(runs)].set_ylabel("receivers' DCI queue (MB)", fontsize=8)
    legend_below(figure, axes)
    return figure


def _flows(run: Run) -> list[str]:
    return list(starts(run))


def _round_trip(run: Run) -> float:
    """Of the flows across, without queues."""
    return float(run.flows["base_rtt_ps"].to_numpy().max()) / 1e12


def _convergence_time(run: Run) -> float:
    """Seconds after the last start from which on shares are fair until the end."""
    at = starts(run)
    last = max(at.values())
    run = require_duration(run, last + ROUND_TRIPS * _round_trip(run))
    times, index = fairness(run, list(at), AVERAGED)
    return holding_time(times, np.nan_to_num(index) >= FAIR, last)


def _final_throughput(run: Run) -> float:
    return total(run, _flows(run), run.duration - LAST)


def _numbers(run: Run) -> dict[str, float]:
    numbers = {
        "fair after (ms)": 1e3 * _convergence_time(run),
        "carried at the end (Gbps)": _final_throughput(run) / 1e9,
        "DCI queue, peak (MB)": float(queue(run, DCI, "max_queue")[1].max()) / 1e6,
    }
    return {f"{run.algorithm}, {run.case}: {name}": value for name, value in numbers.items()}

"""MLCC, Fig. 2: flows across reach the receivers' datacenter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import require_duration
from farloop.judging.schedule import scheduled_runs
from farloop.judging.traffic import paused_time
from farloop.palette import CROSS, INTRA
from farloop.papers.mlcc.common import paper_name, queue, total
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

SHOWN = ("dcqcn", "powertcp")
"""Algorithms in the paper's figure."""

LEAF = tuple(f"dc1-leaf2->dc1-h{i}" for i in range(33, 37))
"""Where the flows meet: the servers' links."""

PAUSED = ("dc1-spine1->dc1-leaf2", "dc1-spine2->dc1-leaf2")
"""Ports that the leaf switch pauses."""

ARRIVAL = 0.005
"""When the first packets of the flows across are there: 2 ms, and 3 ms of long haul."""

OWN = "shared buffer"
"""The case that is judged; the other one has a fixed threshold."""

SHARPLY = 2.0
"""At least so many times the queue of before is a sharp rise."""

AFTER = 0.006
"""Seconds from the arrival in which the queue rises: until a round trip later no sender across knows of it."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Pauses and the queue of the leaf switch, before and after the flows across arrive."""
    judging = Judging(comparison, claims["mlcc/fig02"])
    for run in comparison.runs:
        judging.measure(_numbers, run)

    def has_no_early_pause(run: Run) -> tuple[bool, str]:
        first = _first_pause(run)
        return first > ARRIVAL, f"the first pause comes at {1e3 * first:.3g} ms"

    def rises(run: Run) -> tuple[bool, str]:
        before, after = _peaks(require_duration(run, ARRIVAL + AFTER))
        evidence = f"{before / 1e6:.3g} MB before, {after / 1e6:.3g} MB after, a sharp rise is {SHARPLY:g} times"
        return after >= SHARPLY * before, evidence

    def is_triggered(run: Run) -> tuple[bool, str]:
        first = _first_pause(run)
        return first < np.inf, f"first at {1e3 * first:.3g} ms; {1e3 * paused_time(run):.3g} ms over all ports"

    for name in SHOWN:
        needs = [n for n in scheduled_runs(comparison, algorithm=name) if n.case == OWN]
        judging.order(f"{name}: nothing is paused before the flows across arrive", needs, has_no_early_pause)
        judging.order(f"{name}: the queue of the leaf switch rises sharply when they do", needs, rises)
        judging.order(f"{name}: PFC is triggered", needs, is_triggered)
        judging.near("first_pause_ms", f"{name}: PFC pauses at about 5 ms", needs, lambda run: 1e3 * _first_pause(run))
        judging.measured.pop("first_pause_ms", None)
    return [judging.finding(note="pauses of the spine switches' ports to the leaf switch of Rack 6")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Per algorithm: throughput inside and across, the queue of the leaf switch with its pauses."""
    return {
        name: _panels([r for r in comparison.runs if (r.case == OWN) == own])
        for name, own in (("fig02", True), ("fig02-fixed-threshold", False))
        if any((r.case == OWN) == own for r in comparison.runs)
    }


def _panels(runs: list[Run]) -> Figure:
    figure, axes = grid(
        2 * len(runs), "The congestion point is in the receivers' datacenter", columns=len(runs), shared=False
    )
    for i, run in enumerate(runs):
        top, bottom = axes[i], axes[len(runs) + i]
        for kind, colours in (("intra", INTRA), ("cross", CROSS)):
            for n in range(1, 5):
                times, values = run.samples.get(f"flow/{kind}-{n}", "throughput")
                top.plot(1e3 * times, values / 1e9, color=colours[n - 1], linewidth=0.8, label=f"{kind}-{n}")
        top.set_title(paper_name(run), fontsize=8)
        times, values = queue(run, LEAF, "max_queue")
        bottom.plot(1e3 * times, values / 1e6, color="0.2", linewidth=0.9, label="queue of the leaf switch")
        _, part = queue(run, PAUSED, "paused")
        for t in 1e3 * times[part > 0]:
            bottom.axvline(t, color="#C1272D", alpha=0.35, linewidth=0.6, zorder=0)
        bottom.plot([], [], color="#C1272D", alpha=0.6, linewidth=0.9, label="PFC pauses")
        bottom.set_xlabel("time (ms)", fontsize=8)
        for axis in (top, bottom):
            axis.set_xlim(0, 1e3 * run.duration)
            axis.set_ylim(bottom=0)
    axes[0].set_ylabel("throughput (Gbps)", fontsize=8)
    axes[len(runs)].set_ylabel("queue (MB)", fontsize=8)
    legend_below(figure, axes)
    return figure


def _first_pause(run: Run) -> float:
    """When the leaf switch first pauses a spine switch; infinite if it never does."""
    times, values = queue(run, PAUSED, "paused")
    paused_samples = np.flatnonzero(values > 0)
    # A sample describes the interval that it ends.
    return float(times[paused_samples[0]]) if paused_samples.size else float("inf")


def _peaks(run: Run) -> tuple[float, float]:
    times, values = queue(run, LEAF, "max_queue")
    after = (times > ARRIVAL) & (times <= ARRIVAL + AFTER)
    return float(values[times <= ARRIVAL].max(initial=0.0)), float(values[after].max(initial=0.0))


def _numbers(run: Run) -> dict[str, float]:
    before, after = _peaks(run)
    end = run.duration
    numbers = {
        "first pause (ms)": 1e3 * _first_pause(run),
        "paused, all ports (ms)": 1e3 * paused_time(run),
        "flows that a pause elsewhere held": float(np.count_nonzero(run.flows["victim_packets"].to_numpy())),
        "leaf's queue before (MB)": before / 1e6,
        "leaf's queue after (MB)": after / 1e6,
        "intra, last 5 ms (Gbps)": total(run, [f"intra-{i}" for i in range(1, 5)], end - 5e-3) / 1e9,
        "cross, last 5 ms (Gbps)": total(run, [f"cross-{i}" for i in range(1, 5)], end - 5e-3) / 1e9,
    }
    return {f"{paper_name(run)}, {run.case}: {name}": value for name, value in numbers.items()}

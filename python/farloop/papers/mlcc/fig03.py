"""MLCC, Fig. 3: flows across start beside others in the senders' datacenter."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import require_duration
from farloop.judging.schedule import scheduled_runs
from farloop.papers.mlcc.common import paper_name, starts, total
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

SHOWN = ("dcqcn", "powertcp")
"""Algorithms in the paper's figure."""

INTRA = tuple(f"intra-{i}" for i in range(1, 5))
CROSS = tuple(f"cross-{i}" for i in range(1, 5))

LATE = 0.002
"""Seconds before the next flow starts over which throughput is taken."""

LAST = 0.01
"""Seconds at the end of the run that show what the flows are left with."""

UNFAIR = 0.4
"""Less than this part of the throughput, where half is fair, is significant degradation."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Judges the throughput of the intra flows beside none, one, … four flows across."""
    judging = Judging(comparison, claims["mlcc/fig03"])
    for run in comparison.runs:
        judging.measure(_numbers, run)

    def falls(run: Run) -> tuple[bool, str]:
        steps = _steps(run)
        evidence = ", ".join(f"{v / 1e9:.3g}" for v in steps)
        return all(b < a for a, b in itertools.pairwise(steps)), f"{evidence} Gbps beside 0 to 4 flows across"

    def is_squeezed(run: Run) -> tuple[bool, str]:
        intra, cross = _final_throughputs(run)
        share = intra / (intra + cross)
        return share < UNFAIR, f"{100 * share:.3g} % at the end, half is fair, below {100 * UNFAIR:g} % is not"

    for name in SHOWN:
        needs = scheduled_runs(comparison, algorithm=name)
        judging.order(f"{name}: with each flow across the intra flows have less", needs, falls)
        judging.order(f"{name}: they end with much less than a fair share", needs, is_squeezed)
    pinned = "detours pin all eight flows to one uplink of 100 Gbps, which the paper does not say"
    return [judging.finding(note=f"{pinned}; over two, as ECMP would spread them, they fill neither")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Throughput of all flows, one panel per algorithm."""
    title = "The congestion point is in the senders' datacenter"
    return {"fig03": throughput_panels(comparison.runs, title, caption=paper_name, columns=3)}


def _steps(run: Run) -> list[float]:
    """Throughput of the intra flows just before each flow across starts, and at the end."""
    at = starts(run)
    ends = [at[name] for name in CROSS if name in at]
    require_duration(run, max(ends, default=0.0) + LAST)
    # The first one starts a millisecond after the intra flows.
    return [total(run, INTRA, max(end - LATE, 0.0015), end) for end in ends] + [_final_throughputs(run)[0]]


def _final_throughputs(run: Run) -> tuple[float, float]:
    since = run.duration - LAST
    return total(run, INTRA, since), total(run, CROSS, since)


def _numbers(run: Run) -> dict[str, float]:
    intra, cross = _final_throughputs(run)
    steps = {f"{paper_name(run)}: intra beside {i} across (Gbps)": v / 1e9 for i, v in enumerate(_steps(run))}
    return steps | {f"{paper_name(run)}: intra's share at the end": intra / (intra + cross)}

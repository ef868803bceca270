"""Gear, Fig. 13: which telemetry entries a packet keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop.figures.panels import throughput_panels
from farloop.papers.claims import Claim, Finding, Statement
from farloop.papers.measure import ratio, shares, spread
from farloop.results import Comparison, Run

FAIR = (0.8, 1.25)
"""Ratios that count as fair, as in Fig. 9."""

SETTLED = 0.5
"""Seconds after which quick convergence is over; the paper's "by 0.5 s" for Gear (§IV-C3)."""

SIGNIFICANT = 0.1
"""A cross flow's share of the common throughput that differs by more than this is no small difference."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Ratios once settled, as means over the seeds of the background traffic."""
    runs = _by_strategy(comparison)
    measured: dict[str, Any] = {}
    for strategy, group in runs.items():
        mean, low, high = spread(group, _settled)
        measured |= {f"ratio, {strategy}": mean, f"ratio, {strategy}, least": low, f"ratio, {strategy}, largest": high}
        measured[f"cross share, {strategy}"] = spread(group, _cross_share)[0]
    statements = []
    if "all" in runs:
        group = runs["all"]
        mean, low, high = spread(group, _settled)
        statements.append(
            Statement(
                "with all entries both flows have fair shares from 0.5 s on",
                FAIR[0] <= mean <= FAIR[1],
                f"ratio {mean:.3g} ({low:.3g} to {high:.3g} over {len(group)} seed(s))",
            )
        )
    if "all" in runs and "longest queue" in runs:
        full, longest = (spread(runs[s], _cross_share)[0] for s in ("all", "longest queue"))
        evidence = f"share of the cross flow {100 * full:.1f} % with all entries, {100 * longest:.1f} % with one"
        statements += [
            Statement("with the longest queue's entry alone the cross flow takes more", longest > full, evidence),
            Statement("the difference is not significant", abs(longest - full) < SIGNIFICANT, evidence),
        ]
    note = f"{max(map(len, runs.values()), default=0)} seed(s) of the background traffic, from {SETTLED} s on"
    return [Finding(claims["gear/fig13"].id, statements, measured, note=note)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per strategy, as in the paper."""
    base = [group[0] for group in _by_strategy(comparison).values()]
    title = "Gear: telemetry entries that a packet keeps"
    return {"fig13": throughput_panels(base, title, caption=_caption, columns=3)}


def _by_strategy(comparison: Comparison) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in comparison.runs:
        groups.setdefault(run.case.partition(", ")[0], []).append(run)
    return groups


def _start(run: Run) -> float:
    """A run shorter than the settling time is measured over its second half."""
    return min(SETTLED, run.duration / 2)


def _settled(run: Run) -> float:
    return ratio(run, _start(run))


def _cross_share(run: Run) -> float:
    return shares(run, ("intra", "cross"), _start(run))["cross"]


def _caption(run: Run) -> str:
    return f"{run.case.partition(', ')[0]} (ratio {_settled(run):.2f})"

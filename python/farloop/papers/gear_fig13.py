"""Gear, Fig. 13: which telemetry entries a packet keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from farloop.figures.panels import throughput_panels
from farloop.papers.claims import Claim, Finding, Judging
from farloop.papers.measure import lasting, ratio, shares, spread
from farloop.papers.schedule import scheduled
from farloop.results import Comparison, Run

FAIR = (0.8, 1.25)
"""Ratios that count as fair, as in Fig. 9."""

SETTLED = 0.5
"""Seconds after which quick convergence is over; the paper's "by 0.5 s" for Gear (§IV-C3)."""

SIGNIFICANT = 0.1
"""A cross flow's share of the common throughput that differs by more than this is no small difference."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Ratios once settled, as means over the seeds of the background traffic."""
    judging = Judging(comparison, claims["gear/fig13"])
    for strategy, group in _by_strategy(comparison).items():
        judging.measure(lambda s, g: {f"ratio, {s}": spread(g, _settled)[0]}, strategy, group)
        judging.measure(lambda s, g: {f"cross share, {s}": spread(g, _cross_share)[0]}, strategy, group)
    needs = {s: [n for n in scheduled(comparison) if n.case.partition(", ")[0] == s] for s in ("all", "longest queue")}

    def fair(*runs: Run) -> tuple[bool, str]:
        mean, low, high = spread(runs, _settled)
        return FAIR[0] <= mean <= FAIR[1], f"ratio {mean:.3g} ({low:.3g} to {high:.3g} over {len(runs)} seed(s))"

    def differ(runs: Sequence[Run]) -> tuple[float, str]:
        full, longest = (
            spread([r for r in runs if r.case.partition(", ")[0] == s], _cross_share)[0]
            for s in ("all", "longest queue")
        )
        evidence = f"share of the cross flow {100 * full:.1f} % with all entries, {100 * longest:.1f} % with one"
        return longest - full, evidence

    both = [*needs["all"], *needs["longest queue"]]
    judging.order("with all entries both flows have fair shares from 0.5 s on", needs["all"], fair)
    judging.order(
        "with the longest queue's entry alone the cross flow takes more",
        both,
        lambda *runs: (differ(runs)[0] > 0, differ(runs)[1]),
    )
    judging.order(
        "the difference is not significant", both, lambda *runs: (abs(differ(runs)[0]) < SIGNIFICANT, differ(runs)[1])
    )
    return [judging.finding(note=f"from {SETTLED} s on")]


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


def _settled(run: Run) -> float:
    return ratio(lasting(run, SETTLED), SETTLED)


def _cross_share(run: Run) -> float:
    return shares(lasting(run, SETTLED), ("intra", "cross"), SETTLED)["cross"]


def _caption(run: Run) -> str:
    return f"{run.case.partition(', ')[0]} (ratio {ratio(run, SETTLED):.2f})"

"""Gear, Fig. 13: which telemetry entries a packet keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.measure import ratio, require_duration, shares
from farloop.judging.schedule import scheduled_runs
from farloop.judging.traffic import node_layer
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FAIR = (0.8, 1.25)
"""Ratios that count as fair, as in Fig. 9."""

LIGHT = ", light"
"""Suffix of the cases with little background traffic."""

SETTLED = 0.5
"""Seconds after which quick convergence is over; the paper's "by 0.5 s" for Gear (§IV-C3)."""

SIGNIFICANT = 0.1
"""A cross flow's share of the common throughput that differs by more than this is no small difference."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Ratios once settled: under the load of §IV-B; at quick scale under a thirtieth of it."""
    judging = Judging(comparison, claims["gear/fig13"])
    for run in comparison.runs:
        judging.measure(
            lambda r: {f"ratio, {r.case}": _settled_ratio(r), f"cross share, {r.case}": _cross_share(r)}, run
        )
    planned = {n.case.removesuffix(LIGHT): n for n in scheduled_runs(comparison)}

    def is_fair(run: Run) -> tuple[bool, str]:
        return FAIR[0] <= _settled_ratio(run) <= FAIR[1], f"ratio {_settled_ratio(run):.3g}"

    def shares_text(full: Run, longest: Run) -> str:
        shares = f"{100 * _cross_share(full):.1f} % with all entries, {100 * _cross_share(longest):.1f} % with one"
        return f"share of the cross flow {shares}"

    def has_more(full: Run, longest: Run) -> tuple[bool, str]:
        return _cross_share(longest) > _cross_share(full), shares_text(full, longest)

    def changes_little(full: Run, longest: Run) -> tuple[bool, str]:
        return abs(_cross_share(longest) - _cross_share(full)) < SIGNIFICANT, shares_text(full, longest)

    both = [planned["all"], planned["longest queue"]]
    judging.order("with all entries both flows have fair shares from 0.5 s on", both[:1], is_fair)
    judging.order("with the longest queue's entry alone the cross flow takes more", both, has_more)
    judging.order("the difference is not significant", both, changes_little)
    return [
        judging.finding(
            note=f"from {SETTLED} s on; background of 30 % of the servers' links, in the light cases of 1 %"
        )
    ]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per strategy, as in the paper."""
    title = "Gear: telemetry entries that a packet keeps"
    return {"fig13": throughput_panels(comparison.runs, title, caption=_caption, columns=3)}


def _require_usable(run: Run) -> Run:
    """The run, if it goes on for long enough, and its two flows take the same path up to the core, which the seed draws.

    Raises:
        UndecidedError: it does not say anything about the figure.
    """
    # Nothing is offered by its size where a flow without a size passes, or its acknowledgements: those of the intra flow come
    # up from the pod of its destination. Nodes of a pod share the number before the last: dc0-agg1-2.
    ports = run.ports.select(["node", "peer", "offered_bytes"]).to_pylist()
    pods = [
        p["node"].rpartition("-")[0]
        for p in ports
        if p["offered_bytes"] is None and node_layer(p["peer"]) == "core" and node_layer(p["node"]) == "aggregation"
    ]
    if not pods or len(set(pods)) < len(pods):
        raise UndecidedError(f"the two flows take different paths under seed {run.seed}")
    return require_duration(run, SETTLED)


def _settled_ratio(run: Run) -> float:
    return ratio(_require_usable(run), SETTLED)


def _cross_share(run: Run) -> float:
    return shares(_require_usable(run), ("intra", "cross"), SETTLED)["cross"]


def _caption(run: Run) -> str:
    return f"{run.case} (ratio {ratio(run, SETTLED):.2f})"

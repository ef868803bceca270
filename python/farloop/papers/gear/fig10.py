"""Gear, Fig. 10: a second intra-datacenter flow joins at 1 s and leaves at 3 s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import group_by_algorithm, require_duration, shares, spread, throughput
from farloop.judging.schedule import scheduled_runs
from farloop.units import count_text
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FLOWS = ("intra1", "cross", "intra2")
JOINED = (1.5, 3.0)
"""While three flows run, without the first half second after the join."""
BEFORE = (0.5, 1.0)

FAIR = 0.95
"""Jain's index from which three shares count as fair."""

UNMOVED = 0.1
"""A flow whose throughput changes by less than this part has not reacted."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Shares while three flows run; for Gear at several phases of the join."""
    judging = Judging(comparison, claims["gear/fig10"])
    phases = scheduled_runs(comparison, algorithm="gear")
    rivals = [n for n in scheduled_runs(comparison) if n.algorithm != "gear"]
    for name, group in group_by_algorithm(comparison).items():
        judging.measure(_join_shares, name, group[0])

    def is_fair(*runs: Run) -> tuple[bool, str]:
        mean, low, high = spread([require_duration(run, JOINED[1]) for run in runs], _jain)
        judging.measured |= {"Gear_jain": mean, "Gear_jain_least": low, "Gear_jain_largest": high}
        by_phase = ", ".join(
            f"{run.case} {'/'.join(f'{100 * s:.0f}' for s in shares(run, FLOWS, *JOINED).values())}" for run in runs
        )
        judging.notes.append(f"shares (intra1, cross, intra2) by phase of the join: {by_phase}")
        index = f"{mean:.3f} ({low:.3f} to {high:.3f} over {count_text(len(runs), 'time')} of the join)"
        return low >= FAIR, f"Jain's index {index}, fair from {FAIR}"

    def changes_only_intra(run: Run) -> tuple[bool, str]:
        run = require_duration(run, JOINED[1])
        change = {f: metrics.ratio(throughput(run, f, *JOINED), throughput(run, f, *BEFORE)) - 1 for f in FLOWS[:2]}
        evidence = f"intra {100 * change['intra1']:+.0f} %, cross {100 * change['cross']:+.0f} %"
        return abs(change["cross"]) < UNMOVED < abs(change["intra1"]), evidence

    def largest_share(*runs: Run) -> tuple[float, str]:
        cross_shares = {
            run.algorithm: shares(require_duration(run, JOINED[1]), FLOWS, *JOINED)["cross"] for run in runs
        }
        name = max(cross_shares, key=lambda n: cross_shares[n])
        return cross_shares[name], f"it is {name}"

    judging.order("Gear moves all three flows to fair shares", phases, is_fair)
    judging.order(
        "in HPCC only the intra flow reacts to the join",
        [n for n in rivals if n.algorithm == "hpcc"],
        changes_only_intra,
    )
    judging.near("rival_cross_share", "one rival lets the cross flow take about 80 %", rivals, largest_share)
    return [judging.finding()]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per algorithm, as in the paper; the phases of Gear's join in a picture of their own."""
    runs = group_by_algorithm(comparison)
    pictures = {
        "fig10": throughput_panels(
            [group[0] for group in runs.values()],
            "A flow joins at 1 s and leaves at 3 s",
            caption=lambda run: f"{run.algorithm} (Jain {_jain(run):.3f} with three flows)",
            columns=3,
        )
    }
    if len(runs.get("gear", [])) > 1:
        pictures["fig10-phases"] = throughput_panels(
            runs["gear"],
            "Gear, time of the join varied",
            caption=lambda run: f"1 s + {run.case} (Jain {_jain(run):.3f})",
            columns=3,
        )
    return pictures


def _join_shares(name: str, run: Run) -> dict[str, list[float]]:
    return {f"{name}_shares": [round(s, 3) for s in shares(run, FLOWS, *JOINED).values()]}


def _jain(run: Run) -> float:
    return metrics.jain([throughput(run, flow, *JOINED) for flow in FLOWS])

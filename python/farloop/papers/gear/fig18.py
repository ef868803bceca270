"""Gear, Fig. 18: GEMINI at 100 Gbps with a floor on F."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import ratio
from farloop.judging.schedule import scheduled_runs
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

LOW, CHOSEN = 0.01, 0.05
"""The largest floor that is too low, and the one that the paper chooses."""

FAIR = (0.8, 1.25)
"""Ratios that count as fair, as in Fig. 9. Flows tend to fairness if they are fair at the end: over the whole run the paper itself has
1/1.3 with this floor (Fig. 9), because the intra flow recovers slowly from the start."""

LAST = 0.5
"""Seconds at the end of the run."""

STRUGGLING = 0.5
"""An intra flow with less than half of the cross flow's throughput struggles for bandwidth."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """The ratio intra/cross of each floor, over the run and at its end."""
    judging = Judging(comparison, claims["gear/fig18"])
    needs = sorted(scheduled_runs(comparison, algorithm="gemini"), key=lambda n: float(n.case))
    low, at, high = (
        [n for n in needs if float(n.case) <= LOW],
        [n for n in needs if float(n.case) == CHOSEN],
        [n for n in needs if float(n.case) >= CHOSEN],
    )
    judging.measure(lambda: {f"ratio at {r.case}": ratio(r) for r in judging.have(needs)})
    judging.measure(lambda: {f"ratio at {r.case}, last {LAST} s": _final_ratio(r) for r in judging.have(needs)})

    def struggles(*runs: Run) -> tuple[bool, str]:
        return all(ratio(r) < STRUGGLING for r in runs), ", ".join(f"{r.case}: {ratio(r):.3g}" for r in runs)

    def tends(run: Run) -> tuple[bool, str]:
        return FAIR[0] <= _final_ratio(run) <= FAIR[
            1
        ], f"ratio {_final_ratio(run):.3g} over the last {LAST} s, {ratio(run):.3g} over all"

    def grows(*runs: Run) -> tuple[bool, str]:
        values = [ratio(run) for run in runs]
        evidence = ", ".join(f"{r.case}: {v:.3g}" for r, v in zip(runs, values, strict=True))
        return all(a < b for a, b in itertools.pairwise(values)), evidence

    judging.order("with a floor of 0.01 or none the intra flow struggles", low, struggles)
    judging.order("a floor of 0.05 tends to fairness", at, tends)
    judging.order("the larger the floor, the more the intra flow gets", high, grows)
    return [judging.finding()]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per floor, as in the paper."""
    return {
        "fig18": throughput_panels(
            comparison.runs,
            "GEMINI with a floor on F",
            caption=lambda run: f"F at least {_floor(run):g} (ratio {ratio(run):.2f})",
            columns=5,
        )
    }


def _final_ratio(run: Run) -> float:
    return ratio(run, run.duration - LAST)


def _floor(run: Run) -> float:
    parameters = run.scenario["algorithm"].get(run.algorithm, {})
    return float(parameters.get("f_min", 0))

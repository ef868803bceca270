"""Gear, Fig. 9: an intra- and a cross-datacenter flow share one bottleneck."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import (
    balance_time,
    group_by_algorithm,
    ratio,
    require_duration,
    shares,
    spread,
    throughput,
)
from farloop.judging.schedule import Need, scheduled_runs
from farloop.units import count_text
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FAIR = (0.8, 1.25)
"""Ratios that count as fair where the paper gives a word and no number."""

BASE, GEMINI_CASE = "0 ms", "4 s"
"""The cases that are judged: both flows start at 0 s; GEMINI for as long as the paper lets it run."""

HPCC_UNTIL, GEMINI_RUNS = 2.0, 4.0
"""Seconds for which the paper watches them."""

STARVED = 0.1
"""A flow with less than this part of the throughput is (nearly) starved."""

CONVERGED = (0.9, 1 / 0.9)
AVERAGED = 0.2
"""Seconds over which rates are averaged before asking whether they have converged: four round trips of the cross flow."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Ratios of all algorithms, Gear's with its spread over the start phases."""
    judging = Judging(comparison, claims["gear/fig09"])
    phases = scheduled_runs(comparison, algorithm="gear")
    for name, group in group_by_algorithm(comparison).items():
        if name != "gear":
            judging.measure(lambda n, g: {f"{n}_ratio": spread(g, ratio)[0]}, name, group)

    def gear(*runs: Run) -> tuple[float, str]:
        mean, low, high = spread(runs, ratio)
        judging.measured |= {"Gear_ratio_least": low, "Gear_ratio_largest": high}
        return mean, f"{count_text(len(runs), 'start phase')}, {low:.3g} to {high:.3g}"

    def is_fair(run: Run) -> tuple[bool, str]:
        return FAIR[0] <= ratio(run) <= FAIR[1], f"ratio {ratio(run):.3g}"

    def loses(run: Run) -> tuple[bool, str]:
        return ratio(run) < 1, f"ratio {ratio(run):.3g}"

    def has_not_converged(run: Run) -> tuple[bool, str]:
        since = _find_balance(require_duration(run, HPCC_UNTIL))
        return since > HPCC_UNTIL, f"converged after {since:.3g} s" if math.isfinite(
            since
        ) else "has not converged at the end"

    def cross_over_intra(run: Run) -> float:
        return metrics.ratio(1, ratio(run))

    def convergence_time(run: Run) -> float:
        return _find_balance(require_duration(run, GEMINI_RUNS))

    def is_starved(run: Run, victim: str) -> tuple[bool, str]:
        share = shares(run, ("intra", "cross"))[victim]
        return share < STARVED, f"its share is {100 * share:.1f} %"

    judging.near("Gear_ratio", "Gear's ratio is about 1", phases, gear)
    judging.order("Annulus is fair", [Need(BASE, "annulus")], is_fair)
    judging.order("HPCC's intra flow loses", [Need(BASE, "hpcc")], loses)
    judging.order("HPCC has not converged by 2 s", [Need(BASE, "hpcc")], has_not_converged)
    gemini = [Need(GEMINI_CASE, "gemini")]
    judging.order(
        "GEMINI favours the cross flow",
        gemini,
        lambda run: (cross_over_intra(run) > 1, f"cross/intra {cross_over_intra(run):.3g}"),
    )
    text = "GEMINI's cross flow gets about 1.3 times as much"
    judging.near("GEMINI_cross_over_intra", text, gemini, cross_over_intra, better="lower")
    judging.near("GEMINI_converged_s", "GEMINI converges around 2 s", gemini, convergence_time, better="lower")
    for algorithm, name, victim in (("timely", "TIMELY", "intra"), ("dctcp", "DCTCP", "cross")):
        text = f"{name} nearly starves the {victim} flow"
        judging.order(text, [Need(BASE, algorithm)], lambda run, victim=victim: is_starved(run, victim))
    return [judging.finding()]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per algorithm, as in the paper; the start phases of Gear in a picture of their own."""
    base = [group[0] for group in group_by_algorithm(comparison).values()]
    pictures = {
        "fig09": throughput_panels(base, "Throughput of an intra- and a cross-datacenter flow", caption=_caption)
    }
    phases = group_by_algorithm(comparison).get("gear", [])
    if len(phases) > 1:
        pictures["fig09-phases"] = throughput_panels(phases, "Gear, start of the cross flow varied", columns=3)
    return pictures


def _caption(run: Run) -> str:
    rates = "/".join(f"{throughput(run, flow) / 1e9:.1f}" for flow in ("intra", "cross"))
    return f"{run.algorithm} (ratio {ratio(run):.2f}; {rates} Gbps)"


def _find_balance(run: Run) -> float:
    """When the two rates have converged for good."""
    return balance_time(run, low=CONVERGED[0], high=CONVERGED[1], over=AVERAGED)

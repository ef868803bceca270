"""Gear, Fig. 9: an intra- and a cross-datacenter flow share one bottleneck."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop.figures.panels import throughput_panels
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.papers.measure import balanced_from, by_algorithm, first, ratio, shares, spread, throughput
from farloop.results import Comparison, Run

FAIR = (0.8, 1.25)
"""Ratios that count as fair where the paper gives a word and no number."""

STARVED = 0.1
"""A flow with less than this part of the throughput is (nearly) starved."""

CONVERGED = (0.9, 1 / 0.9)
AVERAGED = 0.2
"""Seconds over which rates are averaged before asking whether they have converged: four round trips of the cross flow."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Ratios of all algorithms, Gear's with its spread over the start phases."""
    claim = claims["gear/fig09"]
    runs = by_algorithm(comparison)
    ratios = {name: spread(group, ratio)[0] for name, group in runs.items()}
    measured: dict[str, Any] = {f"{name}_ratio": value for name, value in ratios.items() if name != "gear"}
    statements: list[Statement] = []
    notes = []
    if "gear" in runs:
        mean, low, high = spread(runs["gear"], ratio)
        measured |= {"Gear_ratio": mean, "Gear_ratio_least": low, "Gear_ratio_largest": high}
        phases = len(runs["gear"])
        statements.append(
            near(
                claim,
                "Gear_ratio",
                mean,
                "Gear's ratio is about 1",
                f"{phases} start phase(s), {low:.3g} to {high:.3g}",
            )
        )
        if phases < 5:
            notes.append(f"mean over {phases} start phase(s); the full scale has six")
    if annulus := first(comparison, "annulus"):
        statements.append(_within("Annulus is fair", annulus))
    if hpcc := first(comparison, "hpcc"):
        since = balanced_from(hpcc, low=CONVERGED[0], high=CONVERGED[1], over=AVERAGED)
        statements.append(_order("HPCC's intra flow loses", ratio(hpcc) < 1, f"ratio {ratio(hpcc):.3g}"))
        statements.append(
            _order("HPCC has not converged by 2 s", since > min(2.0, hpcc.duration), f"converged after {since:.3g} s")
        )
    if gemini := first(comparison, "gemini", "4 s") or first(comparison, "gemini"):
        value = 1 / ratio(gemini) if ratio(gemini) > 0 else float("inf")
        measured["GEMINI_cross_over_intra"] = value
        statements.append(_order("GEMINI favours the cross flow", value > 1, f"cross/intra {value:.3g}"))
        statements.append(
            near(claim, "GEMINI_cross_over_intra", value, "GEMINI's cross flow gets about 1.3 times as much")
        )
    for algorithm, name, victim in (("timely", "TIMELY", "intra"), ("dctcp", "DCTCP", "cross")):
        if run := first(comparison, algorithm):
            share = shares(run, ("intra", "cross"))[victim]
            statements.append(
                _order(f"{name} nearly starves the {victim} flow", share < STARVED, f"its share is {100 * share:.1f} %")
            )
    return [Finding(claim.id, statements, measured, note="; ".join(notes))]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per algorithm, as in the paper; the start phases of Gear in a picture of their own."""
    base = [group[0] for group in by_algorithm(comparison).values()]
    pictures = {
        "fig09": throughput_panels(base, "Throughput of an intra- and a cross-datacenter flow", caption=_caption)
    }
    phases = by_algorithm(comparison).get("gear", [])
    if len(phases) > 1:
        pictures["fig09-phases"] = throughput_panels(phases, "Gear, start of the cross flow varied", columns=3)
    return pictures


def _caption(run: Run) -> str:
    rates = "/".join(f"{throughput(run, flow) / 1e9:.1f}" for flow in ("intra", "cross"))
    return f"{run.algorithm} (ratio {ratio(run):.2f}; {rates} Gbps)"


def _within(text: str, run: Run) -> Statement:
    return _order(text, FAIR[0] <= ratio(run) <= FAIR[1], f"ratio {ratio(run):.3g}")


def _order(text: str, holds: bool, evidence: str) -> Statement:
    return Statement(text, bool(holds), evidence)

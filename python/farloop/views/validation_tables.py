"""Checks as tables: a row per algorithm and case for an overview, a row per number in full."""

from __future__ import annotations

import math
from collections.abc import Sequence

from farloop.studies.validation.checks import AGREES, DIFFERS, EXPLAINED, OPEN, VERDICTS, FidelityCheck, worst
from farloop.studies.validation.fluid_errors import ALL, HOLDS, JITTER, MAX_MIN, FluidError
from farloop.studies.validation.fluid_errors import FLUID as GEAR
from farloop.studies.validation.relations import RelationOutcome
from farloop.views.report.tables import Cell

QUANTILES = {"mean": "fct_mean", "p50": "fct_p50", "p90": "fct_p90", "p99": "fct_p99"}
"""Columns of the overview that are differences of completion times, and their metrics."""

OVERVIEW = ["algorithm", "reference", *(f"FCT {name}" for name in QUANTILES), "others, largest", "verdict"]

NUMBERS = ["algorithm", "case", "metric", "farloop", "reference", "difference", "reference's own spread", "limit", "verdict"]  # fmt: skip

RELATIONS = [
    "change",
    "what has to be",
    "networks",
    "exact to the picosecond",
    "largest difference",
    "limit",
    "verdict",
]


FLUID = [
    "case",
    "algorithm",
    "flows",
    "errors of FCT: fluid (mean, median, p90, %)",
    "max-min",
    "packets with jitter",
    "p99 slowdown: fluid, max-min, jitter (%)",
    "last end: fluid, max-min, jitter (%)",
    "bars (%)",
    "verdict",
]


def overview(checks: Sequence[FidelityCheck]) -> list[list[Cell]]:
    """By algorithm, reference and case: the differences of completion times, the largest other one, and the worst verdict."""
    grouped: dict[tuple[str, str, str], list[FidelityCheck]] = {}
    for check in checks:
        grouped.setdefault((check.algorithm, check.reference, check.case), []).append(check)
    rows: list[list[Cell]] = []
    for (algorithm, reference, case), own in sorted(grouped.items()):
        named = {check.metric: check for check in own}
        others = [check for check in own if check.metric not in QUANTILES.values()]
        most = max(others, key=lambda check: check.distance, default=None)
        rows.append(
            [
                algorithm,
                f"{reference}/{case}",
                *(percent(named[metric].difference) if metric in named else None for metric in QUANTILES.values()),
                f"{percent(most.difference)} {most.metric.replace('_', ' ')}" if most else None,
                worst(own),
            ]
        )
    return rows


def numbers(checks: Sequence[FidelityCheck]) -> list[list[Cell]]:
    """Every number with its reference."""
    return [
        [
            check.algorithm,
            check.case,
            check.metric.replace("_", " "),
            f"{check.mean:.4g}",
            f"{check.reference_mean:.4g}",
            percent(check.difference),
            f"± {100 * check.spread:.2g} %" if len(check.theirs) > 1 else None,
            ("range " if check.ranged else "")
            + f"± {100 * check.limit:.3g} %"
            + (f" around {percent(check.expected)}" if check.expected else ""),
            check.verdict,
        ]
        for check in checks
    ]


def relations(outcomes: Sequence[RelationOutcome]) -> list[list[Cell]]:
    """Every change of a network that must not matter, with what it did."""
    return [
        [
            outcome.relation.name,
            outcome.relation.what,
            str(outcome.worlds),
            str(outcome.exact),
            f"{percent(outcome.largest)} ({outcome.where})" if outcome.largest else "none",
            f"± {100 * outcome.relation.limit:.3g} %" if outcome.relation.limit else "exact",
            "holds" if outcome.holds else "does not hold",
        ]
        for outcome in outcomes
    ]


def fluid(errors: Sequence[FluidError], *, by_size: bool = False) -> list[list[Cell]]:
    """The errors of the fluid simulation beside those of max-min fair rates and of packets with jitter: of all flows, or by size."""
    ways = (GEAR, MAX_MIN, JITTER)
    rows: list[list[Cell]] = []
    for each in errors:
        if (each.size == ALL) == by_size:
            continue
        flows = (" / ".join(_digits(each.errors[way][name]) for name in ("mean", "median", "p90")) for way in ways)
        of_run = (
            " / ".join(f"{_digits(each.errors[way][name], '+')}" for way in ways) if name in each.errors[GEAR] else None
            for name in ("p99", "end")
        )
        rows.append(
            [
                f"{each.case}, {each.size}" if by_size else each.case,
                each.algorithm,
                str(each.flows),
                *flows,
                *of_run,
                ", ".join(f"{name} {100 * bar:g}" for name, bar in each.bars.items()) or None,
                each.verdict,
            ]
        )
    return rows


def _digits(part: float, sign: str = "") -> str:
    """A part in percent, with two digits or more."""
    percent_of = 100 * part
    return (
        f"{percent_of:{sign}.0f}"
        if abs(percent_of) >= 9.95
        else f"{percent_of:{sign}.1f}"
        if abs(percent_of) >= 0.995
        else f"{percent_of:{sign}.2f}"
    )


def summary(
    checks: Sequence[FidelityCheck], outcomes: Sequence[RelationOutcome] = (), errors: Sequence[FluidError] = ()
) -> str:
    """Returns the number that agree, in a sentence."""
    held = sum(outcome.holds for outcome in outcomes)
    related = f"{held} of {len(outcomes)} changes that must not matter do not" if outcomes else ""
    if errors:
        own = [error for error in errors if error.size == ALL]
        within = sum(error.verdict == HOLDS for error in own)
        of_fluid = f"{within} of {len(own)} cases of the fluid simulation hold"
        related = f"{related}; {of_fluid}" if related else of_fluid
    if not checks:
        return related
    counts = {verdict: sum(check.verdict == verdict for check in checks) for verdict in VERDICTS}
    parts = [f"{counts[AGREES]} of {len(checks)} numbers are within their limits"]
    if counts[EXPLAINED]:
        parts.append(f"{counts[EXPLAINED]} outside for a cause that an experiment shows")
    if counts[OPEN]:
        parts.append(f"{counts[OPEN]} outside as before, for no settled cause")
    parts.append(f"{counts[DIFFERS]} outside otherwise")
    return ", ".join(parts) + (f"; {related}" if related else "")


def percent(part: float) -> str:
    """A difference, such as "+1.2 %"."""
    return "none" if math.isnan(part) else f"{100 * part:+.2g} %" if abs(part) < 0.1 else f"{100 * part:+.3g} %"

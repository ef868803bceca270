"""The head of a validation's page and of what the terminal prints: how many references hold, and the number that is worst."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from farloop.results.effects import ALL, Effect
from farloop.results.headline import Headline, KeyNumber
from farloop.results.measures import LESS
from farloop.statistics import Interval
from farloop.studies.validation import fluid_errors, references
from farloop.studies.validation.checks import AGREES, DIFFERS, EXPLAINED, OPEN, FidelityCheck, worst
from farloop.studies.validation.fluid_errors import FluidError
from farloop.studies.validation.references import THEORY
from farloop.studies.validation.relations import RelationOutcome
from farloop.units import count_text

DISTANCE = "largest distance from the reference, in limits"

_VERDICTS = {
    DIFFERS: "which has no known cause",
    OPEN: "as before, for no settled cause",
    EXPLAINED: "for a cause that an experiment shows",
    AGREES: "within its limit",
}


def headline_validation(
    checks: Sequence[FidelityCheck], outcomes: Sequence[RelationOutcome] = (), errors: Sequence[FluidError] = ()
) -> Headline:
    """The answer with three numbers, and for the chart each algorithm's largest distance; a scope is a reference, or all of them."""
    of_fluid = [_fluid_text(errors)] if errors else []
    if not checks:
        of_relations = [_relations_text(outcomes)] if outcomes or not errors else []
        return Headline((*of_relations, *of_fluid))
    names = list(dict.fromkeys(check.reference for check in checks))
    by_reference = {name: [check for check in checks if check.reference == name] for name in names}
    held = [name for name, own in by_reference.items() if worst(own) in (AGREES, EXPLAINED)]
    farthest = max(checks, key=lambda check: check.distance)
    within = sum(check.verdict == AGREES for check in checks)
    explained = sum(check.verdict == EXPLAINED for check in checks)
    beyond = f", {explained} outside for a cause that an experiment shows" if explained else ""
    count = f"{len(held)} of {count_text(len(names), 'reference')} {'hold' if len(names) > 1 else 'holds'}"
    sentences = [
        f"{count}: {within} of {count_text(len(checks), 'number')} are within their limits{beyond}.",
        f"The worst is {_place(farthest)}: {_percent(farthest.difference)} from the reference, {_limits(farthest)}, "
        f"{_VERDICTS[farthest.verdict]}.",
        *([_relations_text(outcomes)] if outcomes else []),
        *of_fluid,
    ]
    failing = ", ".join(name for name in names if name not in held)
    numbers = (
        KeyNumber(
            "references that hold",
            f"{len(held)} of {len(names)}",
            f"not: {failing}" if failing else ", ".join(held[:4]),
        ),
        KeyNumber(
            "numbers within their limits",
            f"{within} of {len(checks)}",
            f"{explained} more with a known cause" if explained else "",
        ),
        KeyNumber("the worst number", _percent(farthest.difference), f"{_place(farthest)}; {_limits(farthest)}"),
    )
    effects = [_effect(ALL, checks), *(_effect(name, own) for name, own in by_reference.items() if len(names) > 1)]
    return Headline(tuple(sentences), numbers, effect=effects[0], effects=tuple(effects))


def validation_cautions(checks: Sequence[FidelityCheck]) -> list[str]:
    """Sentences on what makes the agreement worth less, those first that decide."""
    sentences = []
    if differing := [check for check in checks if check.verdict == DIFFERS]:
        first = max(differing, key=lambda check: check.distance)
        sentences.append(
            f"{count_text(len(differing), 'number')} outside without a known cause, such as {_place(first)}."
        )
    if unsettled := [check for check in checks if check.verdict == OPEN]:
        sentences.append(
            f"{count_text(len(unsettled), 'number')} outside as before, for no settled cause, such as {_place(unsettled[0])}."
        )
    used = [references.load(name) for name in dict.fromkeys(check.reference for check in checks)]
    if dependent := [r.name for r in used if not r.independent and r.kind != THEORY]:
        sentences.append(f"Not independent of farloop: {', '.join(dependent)}.")
    few = [r.name for r in used if all(len(c.theirs) == 1 for c in checks if c.reference == r.name)]
    if few:
        sentences.append(
            f"One repetition each, so that nothing is known of the reference's own spread: {', '.join(few)}."
        )
    return sentences


def _effect(scope: str, checks: Sequence[FidelityCheck]) -> Effect:
    distances: dict[str, list[float]] = {}
    for check in checks:
        if math.isfinite(check.distance):
            distances.setdefault(check.algorithm, []).append(check.distance)
    values = {name: Interval(max(each), min(each), max(each), len(each)) for name, each in distances.items()}
    return Effect("distance", DISTANCE, scope, LESS, "{:.2g}".format, values)


def _place(check: FidelityCheck) -> str:
    return f"{check.algorithm}, {check.metric.replace('_', ' ')} in {check.reference}/{check.case}"


def _percent(part: float) -> str:
    return "no number" if math.isnan(part) else f"{100 * part:+.2g} %"


def _limits(check: FidelityCheck) -> str:
    return f"{check.distance:.2g} times its limit" if math.isfinite(check.distance) else "beyond any limit"


def _relations_text(outcomes: Sequence[RelationOutcome]) -> str:
    if not outcomes:
        return "Nothing was compared."
    held = sum(outcome.holds for outcome in outcomes)
    failing = ", ".join(outcome.relation.name for outcome in outcomes if not outcome.holds)
    return (
        f"{held} of {len(outcomes)} changes that must not matter do not{f'; these do: {failing}' if failing else ''}."
    )


def _fluid_text(errors: Sequence[FluidError]) -> str:
    own = [error for error in errors if error.size == fluid_errors.ALL]
    within = sum(error.verdict == fluid_errors.HOLDS for error in own)
    worse = ", ".join(f"{error.case} {error.algorithm}" for error in own if error.verdict == fluid_errors.WORSE)
    ways = (fluid_errors.FLUID, fluid_errors.MAX_MIN, fluid_errors.JITTER)
    known = [[mean for error in own if math.isfinite(mean := error.errors[way]["mean"])] for way in ways]
    middle = [statistics.median(means or [math.nan]) for means in known]
    fluid, max_min, jitter = (f"{100 * value:.2g} %" for value in middle)
    return (
        f"{within} of {count_text(len(own), 'case')} of the fluid simulation hold{f'; worse than recorded: {worse}' if worse else ''}. "
        f"Its mean error of completion times is {fluid} (median over the cases), that of max-min fair rates {max_min}, and that of packets "
        f"with jitter {jitter}."
    )

"""Holds runs to references: each metric of each algorithm with its difference, the reference's own spread, and the limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from farloop.errors import FarloopError, clip_text, nearest
from farloop.results import measures
from farloop.scenario import Scenario
from farloop.studies.validation import references
from farloop.studies.validation.checks import FidelityCheck
from farloop.studies.validation.compared_numbers import measure
from farloop.studies.validation.references import RANGE, SEED, THEORY, Entry, Reference, ReferenceCase

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.experiments.variants import Variant
    from farloop.results.run import Run

MAX_REPETITIONS = 5
"""Of farloop's runs of a case, which differ in ties and in starts by less than a packet's time. References may have more."""


def select(wanted: Sequence[str], *, full: bool) -> list[tuple[Reference, ReferenceCase, Entry]]:
    """Selects references, cases and algorithms by names such as "ns3", "ns3/dumbbell" and "hpcc"; everything for none.

    Args:
        wanted: The names. Of references and cases there are all algorithms; of algorithms all references.
        full: With cases that are not quick, too. A case that is named is always there.

    Raises:
        FarloopError: a name means nothing.
    """
    every_entry = [
        (reference, case, entry)
        for reference in map(references.load, references.names())
        for case in reference.cases
        for entry in case.entries
    ]
    known: dict[str, None] = {}
    for reference, case, entry in every_entry:
        known |= dict.fromkeys((reference.name, f"{reference.name}/{case.name}", entry.algorithm))
    for name in wanted:
        if name not in known:
            raise FarloopError(f"{clip_text(name)}: no reference, case or algorithm; {nearest(name, sorted(known))}")
    return [
        (reference, case, entry)
        for reference, case, entry in every_entry
        if (full or case.quick or f"{reference.name}/{case.name}" in wanted)
        and (not wanted or not {reference.name, f"{reference.name}/{case.name}", entry.algorithm}.isdisjoint(wanted))
    ]


def run(
    chosen: Iterable[tuple[Reference, ReferenceCase, Entry]],
    execution: Execution,
) -> list[FidelityCheck]:
    """Simulates what was chosen, and compares.

    Raises:
        ScenarioError: a scenario of a reference is not valid.
        InvariantError: a simulation broke one of its own consistency checks.
    """
    from farloop.experiments.variants import run_variants

    chosen = list(chosen)
    planned = [variants(*choice) for choice in chosen]
    runs = iter(run_variants([v for each in planned for v in each], execution))
    checks: list[FidelityCheck] = []
    for choice, each in zip(chosen, planned, strict=True):
        checks += compare_entry(*choice, [next(runs) for _ in each])
    return checks


def variants(reference: Reference, case: ReferenceCase, entry: Entry) -> list[Variant]:
    """The simulator's runs of an algorithm in a case: as many as the reference has, five at most, which differ in ties and starts."""
    from farloop.experiments.variants import Variant

    label = f"{reference.name}/{case.name} {entry.algorithm}"
    scenario = Scenario.load(case.scenario).override(dict(entry.set), algorithm=entry.algorithm)
    if reference.kind == THEORY:
        return [Variant(label, case.name, entry.algorithm, scenario)]
    repetitions = []
    most = 1 if case.judge == RANGE else MAX_REPETITIONS
    for number in range(min(entry.repetitions, most)):
        seed = int(scenario.parsed["run"]["seed"]) + number if case.vary == SEED else None
        again = scenario.override({"run.jitter": number}, seed=seed)
        repetitions.append(Variant(f"{label}, {number + 1}", case.name, entry.algorithm, again))
    return repetitions


def compare_entry(reference: Reference, case: ReferenceCase, entry: Entry, runs: Sequence[Run]) -> list[FidelityCheck]:
    """The checks of an algorithm in a case."""
    checks = []
    for metric, theirs in entry.numbers.items():
        explained = entry.explained.get(metric)
        checks.append(
            FidelityCheck(
                reference.name,
                case.name,
                entry.algorithm,
                metric,
                tuple(measure(simulated, metric, fct=case.fct, since=case.since) for simulated in runs),
                theirs,
                entry.limits[metric],
                explained.difference if explained else 0.0,
                explained.why if explained else "",
                explained.settled if explained else True,
                case.judge == RANGE,
                measures.of_validation(metric, case.fct, case.since),
            )
        )
    return checks

"""The advised candidates under other conditions, within what is left of a budget: all conditions under one seed first, then more seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from farloop import _native
from farloop.studies.advice.conditions import LOAD, Condition
from farloop.studies.advice.question import Question
from farloop.studies.advice.racing import Candidate, apply_cost, scores
from farloop.studies.advice.runs import Ask, Runs
from farloop.studies.arena.measuring import Measured
from farloop.studies.arena.ranking import CLOSE, Standing, standings

SEEDS = 3
"""Seeds of each condition, where the budget has room for them."""

PART = 0.25
"""Part of a budget that a screen takes, if that is enough for two candidates."""

MIN_CANDIDATES = 2
"""With fewer nobody can be first."""


@dataclass(frozen=True)
class Change:
    """A candidate under a condition.

    Attributes:
        goal: The goal's quantity, mean over the seeds; `None` without a goal.
        today: The same under the same seeds without the condition.
        times: Ratio of the goal's cost to that of today, under the same seeds; `None` where that is no number.
    """

    goal: float | None
    today: float | None
    times: float | None


@dataclass(frozen=True)
class TriedCondition:
    """A condition and what it changes.

    Attributes:
        condition: The condition.
        standings: The candidates under it.
        because: Why it could not be tried; empty if it was.
        seeds: Seeds of each candidate.
        changes: The change of each candidate, by name.
        spent: Nominal seconds of its runs.
    """

    condition: Condition
    standings: list[Standing] = field(default_factory=list)
    because: str = ""
    seeds: int = 0
    changes: Mapping[str, Change] = field(default_factory=dict)
    spent: float = 0.0

    @property
    def best(self) -> list[str]:
        """Those of the first group whose estimates are within 5 % of the best one."""
        return [s.algorithm for s in self.standings if s.group == 1 and (s.against_best.estimate or 1.0) < CLOSE]

    @property
    def first(self) -> list[str]:
        """The first group."""
        return [standing.algorithm for standing in self.standings if standing.group == 1]


def screen(
    conditions: Sequence[Condition],
    candidates: Sequence[Candidate],
    costs: Mapping[str, float],
    today: Mapping[str, Sequence[Measured]],
    question: Question,
    runs: Runs,
) -> list[TriedCondition]:
    """The conditions under one seed, in their order, as far as the budget goes.

    Args:
        conditions: The conditions, the most important one first.
        candidates: The candidates, the advised one first. Where a quarter of the budget has no room for all of them, the last are left out.
        costs: Nominal seconds of a run of each, by name.
        today: The runs of each candidate without a condition, by name.
        question: Its goal, constraints and budget count.
        runs: Makes simulations.
    """
    kept = list(candidates)
    while len(kept) > MIN_CANDIDATES and _cost(conditions, kept, costs) > min(
        PART * question.budget, question.budget - runs.spent
    ):
        kept.pop()
    outcomes: list[TriedCondition] = []
    # A condition's cost is estimated from a run without it. If a condition costs more than that, the next one is expected to, too.
    excess = 1.0
    for condition in conditions:
        estimate, begin = _cost([condition], kept, costs), runs.spent
        if not is_valid(condition, kept):
            outcomes.append(try_condition(condition, kept, 1, today, question, runs))
            continue
        if begin + excess * estimate > question.budget:
            break
        outcomes.append(try_condition(condition, kept, 1, today, question, runs))
        excess = max(excess, (runs.spent - begin) / estimate)
    return outcomes


def refine(
    outcomes: Sequence[TriedCondition],
    candidates: Sequence[Candidate],
    today: Mapping[str, Sequence[Measured]],
    question: Question,
    runs: Runs,
) -> list[TriedCondition]:
    """The same outcomes, with all candidates and seeds where the budget has room for them, in the order of the outcomes."""
    refined = []
    for outcome in outcomes:
        made = len(outcome.standings) * outcome.seeds
        wanted = SEEDS * len(candidates) - made
        # Another seed may cost a little more.
        room = question.budget - runs.spent - (1.1 * outcome.spent / made * wanted if made else math.inf)
        is_room = made > 0 and room >= 0
        refined.append(
            try_condition(outcome.condition, candidates, SEEDS, today, question, runs) if is_room else outcome
        )
    return refined


def try_condition(
    condition: Condition,
    candidates: Sequence[Candidate],
    seeds: int,
    today: Mapping[str, Sequence[Measured]],
    question: Question,
    runs: Runs,
) -> TriedCondition:
    """The candidates under a condition."""
    wanted = [
        (candidate, Ask(f"{candidate.name}, {condition.text}, seed {seed}", candidate.algorithm, scenario))
        for candidate in candidates
        for seed in range(question.seed, question.seed + seeds)
        for scenario in [condition.apply(candidate.scenario).override(seed=seed)]
    ]
    measured: dict[str, list[Measured]] = {}
    spent, because = 0.0, ""
    for (candidate, _), answer in zip(wanted, runs.ask([ask for _, ask in wanted]), strict=True):
        spent += answer.cost
        if answer.measured is None:
            because = because or f"{candidate.name}: {answer.because}"
        else:
            measured.setdefault(candidate.name, []).append(answer.measured)
    if because:
        return TriedCondition(condition, because=because, spent=spent)
    rows = [row for name, each in measured.items() for row in apply_cost(each, question, name)]
    changes = {name: change(each, today.get(name, ()), question) for name, each in measured.items()}
    table = standings(rows, constraints=question.must)
    return TriedCondition(condition, table, "", seeds, changes, spent)


def change(measured: Sequence[Measured], today: Sequence[Measured], question: Question) -> Change:
    """The goal of some runs, and how many times its cost under the same seeds today it is."""
    seeds = {run.seed for run in measured}
    mean = _mean(measured, question)
    before = _mean([run for run in today if run.seed in seeds], question)
    own, usual = scores(measured, question), scores(today, question)
    ratios = [own[seed] / usual[seed] for seed in own if usual.get(seed)]
    if not ratios or not all(math.isfinite(ratio) and ratio > 0 for ratio in ratios):
        return Change(mean, before, None)
    return Change(mean, before, math.exp(math.fsum(map(math.log, ratios)) / len(ratios)))


def _mean(measured: Sequence[Measured], question: Question) -> float | None:
    """The goal's quantity, mean over runs; `None` where it is no number."""
    values = [] if question.goal is None else [question.goal.take_value(run.values) for run in measured]
    known = [value for value in values if value is not None]
    mean = math.fsum(known) / len(known) if known else math.inf
    return mean if math.isfinite(mean) else None


def _cost(conditions: Sequence[Condition], candidates: Sequence[Candidate], costs: Mapping[str, float]) -> float:
    """Nominal seconds of one seed of conditions, from the costs of runs without them."""
    usual = max(costs.values(), default=0.0)
    each = sum(costs.get(candidate.name, usual) for candidate in candidates)
    return sum(estimated_cost(condition, each) for condition in conditions)


def estimated_cost(condition: Condition, cost: float) -> float:
    """Nominal seconds of a condition whose runs without it take `cost`.

    Twice the load has twice the packets. With half of them a run takes more than half: its network is built, its tables are written.
    """
    return cost * max(1.0, condition.factor or 1.0) if condition.kind == LOAD else cost


def is_valid(condition: Condition, candidates: Sequence[Candidate]) -> bool:
    """Returns true if all candidates can be simulated under a condition; an invalid condition costs nothing."""
    try:
        for candidate in candidates:
            _ = condition.apply(candidate.scenario).resolved
    except _native.ScenarioError:
        return False
    return True

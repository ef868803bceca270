"""The answer to a question: raced, tuned, tried under other conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from farloop import _native, catalogue
from farloop.errors import FarloopError, shown
from farloop.studies.advice import conditions, racing, tuning
from farloop.studies.advice.conditions import TriedCondition
from farloop.studies.advice.question import Question, budget_text
from farloop.studies.advice.racing import Candidate, Place, Race
from farloop.studies.advice.runs import HOPS_PER_SECOND, Ask, Runs
from farloop.studies.advice.tuning import Tuned
from farloop.studies.arena import requirements
from farloop.units import count_text

RACE, TUNE = 0.45, 0.3
"""Parts of a budget for the race and for the search; what they leave is for other conditions."""

ADVISED = 3
"""So many candidates are advised, tuned and tried at most."""

LEAST_PART = 0.8
"""The first round of the race takes no more than this part of a budget."""


@dataclass(frozen=True)
class Excluded:
    """An algorithm that is not asked about: it cannot run there, or takes what cannot be had."""

    algorithm: str
    because: str


@dataclass
class Answer:
    """The answer to a question.

    Attributes:
        question: What was asked.
        excluded: The algorithms that could not be candidates.
        race: The race.
        tuned: What the search found for the best few.
        outcomes: The best few under other conditions.
        spent: Nominal seconds that it took.
        made: Simulations that were made.
        notes: What a reader should know besides.
    """

    question: Question
    excluded: list[Excluded]
    race: Race
    tuned: list[Tuned] = field(default_factory=list)
    outcomes: list[TriedCondition] = field(default_factory=list)
    spent: float = 0.0
    made: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def advised(self) -> list[Place]:
        """What is advised: the first of the leading group, three at most; empty where nothing holds the constraints."""
        return self.race.leaders[:ADVISED]

    @property
    def is_tie(self) -> bool:
        """Whether several lead that are not told apart."""
        return len(self.race.leaders) > 1

    def find(self, name: str) -> Tuned | None:
        """What the search found for a candidate."""
        return next((tuned for tuned in self.tuned if tuned.candidate.name == name), None)

    @property
    def flips(self) -> list[TriedCondition]:
        """The conditions under which the first of the advised is not in the first group."""
        if not self.advised:
            return []
        first = self.advised[0].candidate.name
        return [outcome for outcome in self.outcomes if outcome.standings and first not in outcome.first]

    def sentence(self) -> str:
        """The answer in a sentence."""
        goal = self.question.goal_text
        if not self.race.leaders:
            nearest = self.race.nearest
            if nearest is None:
                return "Nothing could be simulated."
            return f"Nothing holds your constraints; nearest is {nearest.candidate.name} ({nearest.because})."
        names = [place.candidate.name for place in self.race.leaders]
        if len(names) == 1:
            behind = [place.candidate.name for place in self.race.places if place.state == racing.OPEN]
            if behind:
                return (
                    f"Run {names[0]}: it is the best for {goal}; the budget did not tell it from {', '.join(behind)}."
                )
            return f"Run {names[0]}: it is the best for {goal}, and told apart from all others."
        several = f"{', '.join(names[:-1])} and {names[-1]}"
        if len(names) > ADVISED + 1:
            several = f"{', '.join(names[:ADVISED])} and {len(names) - ADVISED} more"
        if self.race.is_decided:
            return f"Run any of {several}: they are within 5 % of each other for {goal}."
        return f"Run one of {several}: {count_text(self.race.seeds, 'seed')} do not tell them apart for {goal}."


def answer(question: Question, runs: Runs, progress: Callable[[str], None] = lambda _text: None) -> Answer:
    """Answers a question.

    Args:
        question: What is asked.
        runs: What makes simulations.
        progress: Called with what is going on, in words.

    Raises:
        FarloopError: fewer than two algorithms can be candidates, the budget is too small, or the search's library is missing.
        ScenarioError: the scenario is not valid.
    """
    if question.tune and not tuning.ready():
        raise FarloopError(tuning.EXTRA)
    candidates, excluded = candidates_of(question)
    _check_budget(candidates, question, runs)
    progress(
        f"{count_text(len(candidates), 'candidate')} for {question.goal_text}; the budget is {budget_text(question.budget)} "
        f"of one processor at {HOPS_PER_SECOND / 1e6:g} million packet-hops per second"
    )
    begin = runs.spent
    race = racing.race(candidates, question, runs, RACE * question.budget - begin)
    result = Answer(question, excluded, race)
    progress(result.sentence())
    if race.wanted is not None:
        enough = math.ceil((begin + race.wanted) / RACE / 60)
        result.notes.append(
            f"The budget ended the race after {count_text(race.seeds, 'seed')}. With --budget {enough}min or more all that are not told "
            f"apart run {min(2 * race.seeds, racing.MOST)} seeds."
        )
    best = [place.candidate for place in result.advised]
    costs = race.costs
    tunes = tuning.ready() if question.tune is None else question.tune
    if not tunes and question.tune is None:
        result.notes.append(
            "Parameters were not tuned: the search needs Optuna (install the extra `advise`, docs/install.md)."
        )
    if tunes and best:
        room = TUNE * question.budget
        count = tuning.trials_for(best, costs, room)
        if count:
            progress(f"{count_text(count, 'trial')} of parameters for each of {', '.join(c.name for c in best)}")
            result.tuned = [tuning.search(candidate, question, runs, count, len(best)) for candidate in best]
        else:
            result.notes.append(
                f"Parameters were not tuned: {tuning.LEAST_TRIALS} trials for each of {count_text(len(best), 'candidate')} would take "
                f"{(tuning.SEEDS * tuning.LEAST_TRIALS + 2 * tuning.JUDGED) * sum(costs[c.name] for c in best) / 60:.2g} min, and the "
                f"search's part of the budget is {room / 60:.2g} min."
            )
    if best:
        _try_elsewhere(result, candidates, costs, runs, progress)
    result.spent, result.made = runs.spent, runs.made
    return result


def candidates_of(question: Question) -> tuple[list[Candidate], list[Excluded]]:
    """The algorithms that are raced, and those that are not, with why.

    Raises:
        FarloopError: fewer than two can be.
        ScenarioError: the scenario is not valid under any.
    """
    names = question.candidates or tuple(
        str(entry["name"])
        for entry in catalogue.entries("algorithms")
        if not requirements.is_reference(str(entry["name"]))
    )
    candidates, excluded = [], []
    error: Exception | None = None
    for name in names:
        missing = _missing(name, question)
        if missing:
            excluded.append(Excluded(name, missing))
            continue
        scenario = question.scenario.override(algorithm=name)
        try:
            _ = scenario.resolved
            scenario.prepared(take=True).check()
        except _native.ScenarioError as refused:
            error = error or refused
            excluded.append(Excluded(name, str(getattr(refused, "problem", refused))))
        else:
            candidates.append(Candidate(name, name, scenario))
    if len(candidates) < 2:
        if not candidates and error is not None:
            raise error
        why = "; ".join(f"{refusal.algorithm}: {shown(refusal.because, 120)}" for refusal in excluded[:3])
        raise FarloopError(
            f"candidates: {count_text(len(candidates), 'algorithm')} can run there, expected two or more ({why})"
        )
    return candidates, excluded


def _missing(algorithm: str, question: Question) -> str:
    """What an algorithm takes that cannot be had; empty where nothing is missing."""
    if question.can is None:
        return ""
    lacking = [need for need in requirements.required(algorithm) if need not in question.can]
    if lacking:
        return f"it needs {', '.join(requirements.CAPABILITIES[need] for need in lacking)}"
    if "kernel" not in question.can and not requirements.is_shipped(algorithm):
        return "hosts do not have it: no Linux kernel or network card ships it"
    return ""


def _check_budget(candidates: Sequence[Candidate], question: Question, runs: Runs) -> None:
    """Whether the first round of a race fits, by one simulation.

    Raises:
        FarloopError: it does not.
    """
    first = candidates[0]
    (first_run,) = runs.ask(
        [Ask(f"{first.name}, seed {question.seed}", first.algorithm, first.scenario.override(seed=question.seed))]
    )
    cost = first_run.cost * len(candidates) * racing.FIRST
    if cost > LEAST_PART * question.budget:
        raise FarloopError(
            f"budget: {budget_text(question.budget)}: {racing.FIRST} seeds of {count_text(len(candidates), 'candidate')} take about "
            f"{cost / 60:.2g} min; expected {math.ceil(cost / LEAST_PART / 60)} min or more, or fewer candidates, or a shorter run.duration"
        )


def _try_elsewhere(
    result: Answer,
    candidates: Sequence[Candidate],
    costs: dict[str, float],
    runs: Runs,
    progress: Callable[[str], None],
) -> None:
    """The advised, tuned where that is advised, and the best of those that left, under other conditions."""
    question = result.question
    tried = []
    for place in result.advised:
        tuned = result.find(place.candidate.name)
        tried.append(place.candidate)
        if tuned is not None and tuned.is_advised:
            tried.append(tuned.tuned)
    tried += [place.candidate for place in result.race.places if place.state in (racing.OPEN, racing.LEFT)][:1]
    base = tried[0].scenario
    all_ = conditions.conditions(base)
    failed = conditions.failed_link(base)
    if failed is not None:
        all_.append(failed)
    else:
        result.notes.append(
            "A failed long-haul link was not tried: there is one only, or the scenario has events of its own."
        )
    each = conditions.SEEDS * sum(costs.get(candidate.algorithm, costs[candidates[0].name]) for candidate in tried)
    room = conditions.affordable(all_, each, question.budget - runs.spent)
    if room:
        progress(f"{count_text(len(room), 'other condition')} for {', '.join(candidate.name for candidate in tried)}")
    # A condition's cost is estimated from a run without it. If a condition costs more than that, the next one is expected to, too.
    excess = 1.0
    for condition in room:
        estimate, begin = conditions.estimated_cost(condition, each), runs.spent
        if begin + excess * estimate > question.budget:
            break
        result.outcomes.append(conditions.tried(condition, tried, question, runs))
        excess = max(excess, (runs.spent - begin) / estimate)
    done = {outcome.condition.text for outcome in result.outcomes}
    if left := [condition.text for condition in all_ if condition.text not in done]:
        result.notes.append(f"The budget has no room for {', '.join(left)}.")

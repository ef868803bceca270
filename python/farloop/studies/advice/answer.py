"""The answer to a question: raced, tuned, tried under other conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from farloop import _native, catalogue
from farloop.algorithm import name_of
from farloop.errors import FarloopError, clip_text
from farloop.results import ecn_sharing
from farloop.results.cautions import Caution, by_weight
from farloop.studies.advice import racing, trying, tuning
from farloop.studies.advice.conditions import Conditions, conditions
from farloop.studies.advice.question import Question, budget_text
from farloop.studies.advice.racing import Candidate, Place, Race
from farloop.studies.advice.runs import HOPS_PER_SECOND, Ask, Runs
from farloop.studies.advice.trying import TriedCondition
from farloop.studies.advice.tuning import Tuned
from farloop.studies.arena import constraints, requirements
from farloop.studies.arena.ranking import FAILS
from farloop.units import count_text

RACE, TUNE = 0.45, 0.3
"""The most that the race and the search take of a budget; other conditions are screened between them, and get what is left after them."""

ADVISED = 3
"""So many candidates are advised, tuned and tried at most."""

NEAREST = 2
"""Candidates that are tried under other conditions where nothing holds the constraints."""

MIN_PART = 0.8
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
        question: The question.
        excluded: The algorithms that could not be candidates.
        race: The race.
        tuned: The search's results for the best few.
        outcomes: The best few under other conditions.
        left_out: Why a kind of condition could not be tried, by kind.
        kinds: The kinds of conditions that there are.
        cautions: Cautions about the first seed of the advised candidate, or of the nearest one.
        spent: Nominal seconds that it took.
        made: Simulations that were made.
        notes: Further notes for the reader.
    """

    question: Question
    excluded: list[Excluded]
    race: Race
    tuned: list[Tuned] = field(default_factory=list)
    outcomes: list[TriedCondition] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    cautions: list[Caution] = field(default_factory=list)
    spent: float = 0.0
    made: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def advised(self) -> list[Place]:
        """The advised candidates: the first of the leading group, three at most; empty where nothing holds the constraints."""
        return self.race.leaders[:ADVISED]

    @property
    def is_tie(self) -> bool:
        """True if several candidates lead without a significant difference."""
        return len(self.race.leaders) > 1

    def find(self, name: str) -> Tuned | None:
        """Returns the search's result for a candidate."""
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
        question: The question.
        runs: Makes simulations.
        progress: Called with what is going on, in words.

    Raises:
        FarloopError: fewer than two algorithms can be candidates, the budget is too small, or the search's library is missing.
        ScenarioError: the scenario is not valid.
    """
    if question.tune and not tuning.has_optuna():
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
            f"apart run {min(2 * race.seeds, racing.MAX_SEEDS)} seeds."
        )
    if usual := _find_broken(result):
        result.notes.append(
            f"Nobody set {', '.join(usual)}: these are usual bounds. --must '{usual[0]}' with another number replaces that, --must none "
            "drops all of them."
        )
    best = [place.candidate for place in result.advised]
    costs = race.costs
    if best or race.nearest is not None:
        _screen(result, runs, progress)
    tunes = tuning.has_optuna() if question.tune is None else question.tune
    if not tunes and question.tune is None:
        result.notes.append(
            "Parameters were not tuned: the search needs Optuna (install the extra `advise`, docs/install.md)."
        )
    if tunes and best:
        room = min(TUNE * question.budget, question.budget - runs.spent)
        count = tuning.trials_for(best, costs, room)
        if count:
            progress(f"{count_text(count, 'trial')} of parameters for each of {', '.join(c.name for c in best)}")
            result.tuned = [tuning.search(candidate, question, runs, count, len(best)) for candidate in best]
        else:
            result.notes.append(
                f"Parameters were not tuned: {tuning.MIN_TRIALS} trials for each of {count_text(len(best), 'candidate')} would take "
                f"{(tuning.SEEDS * tuning.MIN_TRIALS + 2 * tuning.JUDGED) * sum(costs[c.name] for c in best) / 60:.2g} min, and the "
                f"search's part of the budget is {max(room, 0) / 60:.2g} min."
            )
    if result.outcomes:
        _refine(result, runs, progress)
    if (shown_first := race.leaders[0] if race.leaders else race.nearest) is not None:
        first = shown_first.candidate
        scenario = first.scenario.override(seed=question.seed)
        cautions_of_run = runs.cautions(Ask(f"{first.name}, seed {question.seed}", first.algorithm, scenario))
        mixed = ecn_sharing.sentence_of_candidates([c.algorithm for c in candidates], first.scenario.resolved)
        # A network that has both kinds of flows at once says it of its own ports.
        if mixed and not any(caution.code == "ecn" for caution in cautions_of_run):
            cautions_of_run.append(Caution("ecn", mixed))
        result.cautions = by_weight(cautions_of_run)
    result.spent, result.made = runs.spent, runs.made
    return result


def candidates_of(question: Question) -> tuple[list[Candidate], list[Excluded]]:
    """The algorithms that are raced, and those that are not, with why.

    Raises:
        FarloopError: fewer than two can be.
        ScenarioError: the scenario is not valid under any.
    """
    known = [str(entry["name"]) for entry in catalogue.entries("algorithms")]
    known += map(name_of, question.scenario.classes)
    names = question.candidates or tuple(name for name in known if not requirements.is_reference(name))
    candidates, excluded = [], []
    error: Exception | None = None
    for name in names:
        missing = _list_missing(name, question)
        if missing:
            excluded.append(Excluded(name, missing))
            continue
        scenario = question.scenario.override(algorithm=name)
        try:
            _ = scenario.resolved
            scenario.prepare_handle(take=True).check()
        except _native.ScenarioError as refused:
            error = error or refused
            excluded.append(Excluded(name, str(getattr(refused, "problem", refused))))
        else:
            candidates.append(Candidate(name, name, scenario))
    if len(candidates) < 2:
        if not candidates and error is not None:
            raise error
        why = "; ".join(f"{refusal.algorithm}: {clip_text(refusal.because, 120)}" for refusal in excluded[:3])
        raise FarloopError(
            f"candidates: {count_text(len(candidates), 'algorithm')} can run there, expected two or more ({why})"
        )
    return candidates, excluded


def _list_missing(algorithm: str, question: Question) -> str:
    """Returns requirements of an algorithm that are not available; empty where nothing is missing."""
    if question.can is None:
        return ""
    lacking = [need for need in requirements.list_requirements(algorithm) if need not in question.can]
    if lacking:
        return f"it needs {', '.join(requirements.CAPABILITIES[need] for need in lacking)}"
    if "kernel" not in question.can and not requirements.is_shipped(algorithm):
        return "hosts do not have it: no Linux kernel or network card ships it"
    return ""


def _check_budget(candidates: Sequence[Candidate], question: Question, runs: Runs) -> None:
    """Checks by one simulation that the first round of a race fits into the budget.

    Raises:
        FarloopError: it does not.
    """
    first = candidates[0]
    (first_run,) = runs.ask(
        [Ask(f"{first.name}, seed {question.seed}", first.algorithm, first.scenario.override(seed=question.seed))]
    )
    cost = first_run.cost * len(candidates) * racing.FIRST
    if cost > MIN_PART * question.budget:
        raise FarloopError(
            f"budget: {budget_text(question.budget)}: {racing.FIRST} seeds of {count_text(len(candidates), 'candidate')} take about "
            f"{cost / 60:.2g} min; expected {math.ceil(cost / MIN_PART / 60)} min or more, or fewer candidates, or a shorter run.duration"
        )


def _find_broken(result: Answer) -> list[str]:
    """The usual constraints that the nearest candidate breaks, where nothing holds all."""
    nearest = None if result.race.leaders else result.race.nearest
    usual = {str(constraints.parse(text)) for text in constraints.ARENA}
    broken = () if nearest is None or nearest.standing is None else nearest.standing.broken
    return [text for text in (str(b.constraint) for b in broken) if text in usual]


def _screen(result: Answer, runs: Runs, progress: Callable[[str], None]) -> None:
    """The advised, and the best of those that left, under one seed of other conditions; where nothing holds, those nearest to it."""
    candidates = _contenders(result, with_tuned=False)
    varied: Conditions = conditions(candidates[0].scenario)
    result.left_out = varied.left_out
    result.kinds = frozenset(condition.kind for condition in varied.all)
    result.notes += varied.left_out.values()
    progress(f"{count_text(len(varied.all), 'other condition')} for {', '.join(c.name for c in candidates)}")
    race = result.race
    result.outcomes = trying.screen(varied.all, candidates, race.costs, race.measured, result.question, runs)
    tried = {outcome.condition.text for outcome in result.outcomes}
    if left := [condition.text for condition in varied.all if condition.text not in tried]:
        result.notes.append(f"The budget has no room for {', '.join(left)}.")


def _refine(result: Answer, runs: Runs, progress: Callable[[str], None]) -> None:
    """The same conditions under more seeds, with what was tuned."""
    progress(f"more seeds for {count_text(len(result.outcomes), 'other condition')}")
    candidates = _contenders(result, with_tuned=True)
    result.outcomes = trying.refine(result.outcomes, candidates, result.race.measured, result.question, runs)
    if few := [outcome.condition.text for outcome in result.outcomes if 0 < outcome.seeds < trying.SEEDS]:
        result.notes.append(f"The budget has room for one seed only of {', '.join(few)}.")


def _contenders(result: Answer, *, with_tuned: bool) -> list[Candidate]:
    """The advised, with what was tuned where that is advised, and the best of those that left."""
    contenders = []
    for place in result.advised:
        contenders.append(place.candidate)
        tuned = result.find(place.candidate.name)
        if with_tuned and tuned is not None and tuned.is_advised:
            contenders.append(tuned.tuned)
    if not contenders:
        return [place.candidate for place in result.race.places if place.state == FAILS][:NEAREST]
    left = [place.candidate for place in result.race.places if place.state in (racing.OPEN, racing.LEFT)]
    return contenders + left[:1]

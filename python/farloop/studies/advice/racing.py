"""Races candidates for a goal: all under a few seeds, then more seeds for those without a significant difference.

A race (Maron and Moore, Hoeffding Races, NIPS 1993) in the manner of successive halving (Jamieson and Talwalkar, AISTATS 2016): every
round doubles the seeds of those that are left. A candidate leaves where it breaks a constraint, or where it is significantly behind the
best one: by more than 5 %, with 95 % confidence for all candidates and rounds together: rounds share the error alike, and within a round a
candidate that differs significantly leaves its share to the others (Holm, Scandinavian Journal of Statistics 1979). Where the budget has
no room for another round with all that are left, the better half goes on, and the others stay *open*: they are behind by their means, with
unknown confidence. The race ends where one is left, where those that are left are within 5 % of the best by their intervals, or where the
budget is spent.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from farloop import statistics
from farloop.scenario import Scenario
from farloop.statistics import Interval
from farloop.studies.advice.question import Question
from farloop.studies.advice.runs import Ask, Runs
from farloop.studies.arena.measuring import Measured
from farloop.studies.arena.ranking import CLOSE, FAILS, Broken, Standing, standings

FIRST = 3
"""Seeds of the first round."""

MAX_SEEDS = 48
"""Seeds of the last one, if there is one."""

ROUNDS = math.ceil(math.log2(MAX_SEEDS / FIRST)) + 1
"""Rounds at most, which share what may go wrong."""

MIN_CANDIDATES = 2
"""A round has no fewer candidates."""

SURE = 6
"""Seeds from which on a mean says that a constraint is broken; with fewer it takes all of them."""

LEADS, OPEN, LEFT, FAILED = "leads", "open", "left", "failed"
"""Outcomes of a candidate: in the first group, given up for want of budget, significantly behind the first group, or without runs."""


@dataclass(frozen=True)
class Candidate:
    """An algorithm with the scenario that it runs in.

    Attributes:
        name: Name for people: the algorithm, with "tuned" or another distinguishing word.
        algorithm: The algorithm.
        scenario: The scenario under this algorithm, without a seed.
    """

    name: str
    algorithm: str
    scenario: Scenario


@dataclass(frozen=True)
class Place:
    """Result of a candidate.

    Attributes:
        candidate: The candidate.
        state: "leads", "open", "left", "fails" (a constraint) or "failed" (its simulation).
        standing: Its numbers over its own seeds; `None` where it has none.
        against: Ratio of the goal's cost to that of the best one, over the seeds that both have.
        because: The constraints that it breaks, or the reason of its failure.
    """

    candidate: Candidate
    state: str
    standing: Standing | None
    against: Interval
    because: str = ""


@dataclass
class Race:
    """Result of a race.

    Attributes:
        places: The first group by goal, then those that left by theirs, those that break a constraint by how far, those that failed.
        seeds: Seeds of the last round.
        rounds: Number of rounds.
        is_decided: True if it ended because all differences were decided, not for want of budget.
        measured: The runs of each candidate by name.
        costs: Nominal seconds of a run of each, by name.
        wanted: Where the budget ended the race, nominal seconds of one in which all undecided candidates run another round; else `None`.
    """

    places: list[Place]
    seeds: int
    rounds: int
    is_decided: bool
    measured: dict[str, list[Measured]] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    wanted: float | None = None

    @property
    def leaders(self) -> list[Place]:
        """The first group, the best first; empty where nothing holds the constraints."""
        return [place for place in self.places if place.state == LEADS]

    @property
    def nearest(self) -> Place | None:
        """Where nothing holds: the candidate that is nearest to it."""
        return next((place for place in self.places if place.state == FAILS), None)


def race(
    candidates: Sequence[Candidate], question: Question, runs: Runs, budget: float, *, first_seed: int | None = None
) -> Race:
    """Races candidates until they differ significantly or the budget is spent.

    Args:
        candidates: Two or more.
        question: Its goal and constraints count.
        runs: Makes simulations.
        budget: Nominal seconds for it; the first round is held in any case.
        first_seed: The first of the seeds; by default the question's.
    """
    begin = question.seed if first_seed is None else first_seed
    limit = runs.spent + budget
    alive = {candidate.name: candidate for candidate in candidates}
    measured: dict[str, list[Measured]] = {name: [] for name in alive}
    failures: dict[str, str] = {}
    failing: dict[str, tuple[Broken, ...]] = {}
    costs: dict[str, float] = {}
    open_: set[str] = set()
    seeds, rounds, decided, wanted = FIRST, 0, False, None
    while True:
        _add(alive, measured, failures, costs, question, runs, begin, seeds)
        rounds += 1
        alive = {name: c for name, c in alive.items() if name not in failures}
        table = _table(alive, measured, question)
        for standing in table:
            if standing.state == FAILS and (
                seeds >= SURE or any(broken.seeds == len(standing.scores) for broken in standing.broken)
            ):
                failing[standing.algorithm] = standing.broken
                alive.pop(standing.algorithm)
        alive, best, ratios = _drop_worse(alive, measured, question, len(open_))
        undecided = [name for name in alive if name != best and not _is_equal(ratios[name])]
        if len(alive) <= 1 or not undecided or seeds >= MAX_SEEDS:
            decided = not open_ and not undecided
            break
        more = min(2 * seeds, MAX_SEEDS) - seeds
        room = (limit - runs.spent) / more
        kept = _choose_affordable(alive, ratios, costs, room)
        if not kept:
            still = [*alive, *open_]
            others = sum(
                costs[name] * len(runs_of) for name, runs_of in measured.items() if name not in still and runs_of
            )
            wanted = others + (seeds + more) * sum(costs[name] for name in still)
            break
        open_ |= set(alive) - set(kept)
        alive = kept
        seeds += more
    places = _places(candidates, alive, open_, measured, failing, failures, question)
    return Race(places, seeds, rounds, decided, measured, costs, wanted)


def _drop_worse(
    alive: dict[str, Candidate], measured: Mapping[str, Sequence[Measured]], question: Question, given_up: int
) -> tuple[dict[str, Candidate], str, dict[str, Interval]]:
    """Those that the seeds do not tell from the best one, the best one, and how many times its cost each has.

    Args:
        alive: The candidates of this round.
        measured: Their runs.
        question: Its goal counts.
        given_up: Candidates that left undecided: they keep their part of the error.
    """
    while True:
        best, ratios = _compare_with_best(alive, measured, question, max(1, len(alive) - 1 + given_up) * ROUNDS)
        apart = [name for name, ratio in ratios.items() if _is_behind(ratio)]
        alive = {name: c for name, c in alive.items() if name not in apart}
        if not apart:
            return alive, best, ratios


def apply_cost(measured: Sequence[Measured], question: Question, name: str) -> list[Measured]:
    """Runs as the question judges them: under a candidate's name, with the goal's cost."""
    return [replace(run, algorithm=name, costs=question.costs(run)) for run in measured]


def scores(measured: Sequence[Measured], question: Question) -> dict[int, float]:
    """The goal's cost by seed."""
    each = {run.seed: replace(run, costs=question.costs(run)).score for run in measured}
    return {seed: score for seed, score in each.items() if score is not None}


def _add(
    alive: Mapping[str, Candidate],
    measured: dict[str, list[Measured]],
    failures: dict[str, str],
    costs: dict[str, float],
    question: Question,
    runs: Runs,
    begin: int,
    seeds: int,
) -> None:
    """Simulates the seeds that candidates lack."""
    wanted = [
        (name, Ask(f"{name}, seed {seed}", candidate.algorithm, candidate.scenario.override(seed=seed)))
        for seed in range(begin, begin + seeds)
        for name, candidate in alive.items()
        if seed >= begin + len(measured[name])
    ]
    for (name, _), answer in zip(wanted, runs.ask([ask for _, ask in wanted]), strict=True):
        if answer.measured is None:
            failures.setdefault(name, answer.because)
        elif not question.costs(answer.measured):
            failures.setdefault(name, f"its runs have no {question.goal_text}")
        else:
            measured[name].append(answer.measured)
            costs[name] = answer.cost


def _table(
    alive: Mapping[str, Candidate], measured: Mapping[str, Sequence[Measured]], question: Question
) -> list[Standing]:
    rows = [row for name in alive for row in apply_cost(measured[name], question, name)]
    return standings(rows, constraints=question.must)


def _compare_with_best(
    alive: Mapping[str, Candidate], measured: Mapping[str, Sequence[Measured]], question: Question, comparisons: int
) -> tuple[str, dict[str, Interval]]:
    """The best candidate, and how many times its cost each has, with intervals that hold together."""
    each = {name: scores(measured[name], question) for name in alive}
    if not each:
        return "", {}
    best = min(each, key=lambda name: _middle(each[name]))
    return best, {name: _ratio(own, each[best], comparisons) for name, own in each.items()}


def _ratio(own: Mapping[int, float], best: Mapping[int, float], comparisons: int) -> Interval:
    both = [seed for seed in own if seed in best]
    if any(math.isinf(own[seed]) for seed in both):
        return Interval(math.inf, math.inf, math.inf, len(both))
    return statistics.paired_ratio(
        [own[s] for s in both], [best[s] for s in both], confidence=statistics.correct_confidence(comparisons)
    )


def _middle(each: Mapping[int, float]) -> float:
    if any(math.isinf(value) for value in each.values()):
        return math.inf
    return math.exp(math.fsum(map(math.log, each.values())) / len(each))


def _choose_affordable(
    alive: Mapping[str, Candidate], ratios: Mapping[str, Interval], costs: Mapping[str, float], room: float
) -> dict[str, Candidate]:
    """Those that another seed may be had for: all, or the better half, or that one's, with all within 5 % of the best.

    Empty where there is no room for two.
    """
    ordered = sorted(alive, key=lambda name: ratios[name].estimate or math.inf)
    count = len(ordered)
    while count >= MIN_CANDIDATES:
        close = [name for name in ordered[count:] if (ratios[name].estimate or math.inf) < CLOSE]
        kept = ordered[:count] + close
        if sum(costs[name] for name in kept) <= room:
            return {name: alive[name] for name in alive if name in kept}
        count = count // 2
    return {}


def _is_behind(ratio: Interval) -> bool:
    """Returns true if a candidate is significantly behind the best one, and by more than a user would notice."""
    return ratio.estimate is not None and ratio.estimate >= CLOSE and ratio.low is not None and ratio.low > 1


def _is_equal(ratio: Interval) -> bool:
    """Returns true if the seeds show that a candidate is as good as the best one."""
    return ratio.high is not None and ratio.low is not None and ratio.high < CLOSE and ratio.low > 1 / CLOSE


def _places(
    candidates: Sequence[Candidate],
    alive: Mapping[str, Candidate],
    open_: Container[str],
    measured: Mapping[str, Sequence[Measured]],
    failing: Mapping[str, tuple[Broken, ...]],
    failures: Mapping[str, str],
    question: Question,
) -> list[Place]:
    best, ratios = _compare_with_best(alive, measured, question, max(1, len(candidates) - 1))
    best_scores = scores(measured[best], question) if best else {}
    known = {c.name: c for c in candidates}
    own = {
        name: next((s for s in standings(apply_cost(measured[name], question, name), constraints=question.must)), None)
        for name in known
        if measured[name]
    }
    places = []
    for name, candidate in known.items():
        against = ratios.get(name) or (
            _ratio(scores(measured[name], question), best_scores, 1)
            if best and measured[name]
            else Interval(None, None, None, 0)
        )
        if name in failures:
            places.append(Place(candidate, FAILED, own.get(name), against, failures[name]))
        elif name in failing:
            places.append(
                Place(
                    candidate, FAILS, own.get(name), against, "; ".join(broken.beside_bound for broken in failing[name])
                )
            )
        else:
            state = LEADS if name in alive else OPEN if name in open_ else LEFT
            places.append(Place(candidate, state, own.get(name), against))
    order = {LEADS: 0, OPEN: 1, LEFT: 1, FAILS: 2, FAILED: 3}

    def key(place: Place) -> tuple[int, float]:
        if place.state == FAILS:
            return order[FAILS], math.fsum(broken.excess for broken in failing[place.candidate.name])
        return order[place.state], place.against.estimate if place.against.estimate is not None else math.inf

    leaders = sorted((p for p in places if p.state == LEADS), key=key)
    if leaders and leaders[0].standing is not None:
        close = [p for p in leaders if p.against.estimate is not None and p.against.estimate < CLOSE]
        close.sort(key=lambda p: (round((p.standing.paused if p.standing else 0.0) / 0.001), key(p)))
        leaders = close + [p for p in leaders if p not in close]
    return leaders + sorted((p for p in places if p.state != LEADS), key=key)

"""Ranks algorithms in a scenario: first by constraints, then by cost, with those that do not differ significantly.

Two steps. An algorithm that breaks a constraint, on average over the seeds, *fails*. Those that hold all are *ranked* by their score, the
geometric mean of what users of such a network care for, and stand in groups: the first has all that the seeds do not tell apart from the
best score, the second all of the others that they do not tell apart from the best of those, and so on. Differences below 5 % count as none,
and among algorithms so close to the best of their group those that pause less stand first. *References*, such as an algorithm that ignores
congestion, are measured, not ranked.

All algorithms are read together, so the comparisons hold together (`farloop.statistics`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from farloop import statistics
from farloop.results.jitter import is_fragile
from farloop.statistics import Interval
from farloop.studies.arena.constraints import Requirement, bests
from farloop.studies.arena.measuring import Measured

RANKED, FAILS, REFERENCE = "ranked", "fails", "reference"
"""Standings of an algorithm in a scenario."""

CLOSE = 1.05
"""Scores closer than this count as equal: no user of a network would notice."""

PAUSED_ALIKE = 0.001
"""Ports that are paused for parts of the time that differ by less than this are paused alike."""


NONE = Interval(None, None, None, 0)


@dataclass(frozen=True)
class Broken:
    """A constraint that does not hold.

    Attributes:
        constraint: The constraint.
        value: The quantity, mean over seeds.
        seeds: Under how many seeds alone it would not hold.
        excess: How far that is, as the logarithm of the ratio.
    """

    constraint: Requirement
    value: float
    seeds: int
    excess: float

    def __str__(self) -> str:
        return f"{self.constraint.quantity.name} {self.constraint.quantity.text(self.value)}"

    @property
    def beside_bound(self) -> str:
        """The value beside the bound, such as "unfinished 3.55 %, not <= 1 %"."""
        return f"{self}, not {self.constraint.bound_text}"


@dataclass(frozen=True)
class Standing:
    """Standing of one algorithm in a scenario.

    Attributes:
        algorithm: The algorithm.
        state: "ranked", "fails" or "reference".
        group: From 1, of those that are ranked; `None` for others.
        score: Geometric mean over seeds, with its interval; less is better.
        scores: By seed.
        ranks: Among those that are ranked, by seed; empty for others.
        against_best: Ratio to the best ranked score, seed by seed; its interval holds together with those of all others.
        is_apart: True if it differs significantly from the best one; `None` where there are too few seeds.
        multiples: For each cost how many times the least one of those that are ranked it has, geometric mean over seeds.
        broken: The constraints that it breaks, the worst first.
        paused: Part of the time that the port with the longest pauses was paused, mean over seeds.
        is_fragile: True if variations in ties and starts move its score by more than 5 %, and by more than half the width of its interval;
            `None` where there are none.
    """

    algorithm: str
    state: str
    group: int | None
    score: Interval
    scores: dict[int, float]
    ranks: dict[int, int] = field(default_factory=dict)
    against_best: Interval = NONE
    is_apart: bool | None = None
    multiples: dict[str, float] = field(default_factory=dict)
    broken: tuple[Broken, ...] = ()
    paused: float = 0.0
    is_fragile: bool | None = None


def standings(
    runs: Sequence[Measured],
    perturbed: Mapping[str, Sequence[float | None]] | None = None,
    *,
    constraints: Sequence[Requirement] = (),
    references: Iterable[str] = (),
) -> list[Standing]:
    """The algorithms of one scenario: the groups in their order, then those that fail, then references; those without a score are left out.

    Args:
        runs: The measured runs.
        perturbed: The scores of variations of the first seed's runs, by algorithm.
        constraints: The constraints.
        references: Algorithms that are not ranked.
    """
    scored: dict[str, dict[int, Measured]] = {}
    for run in runs:
        if run.score is not None:
            scored.setdefault(run.algorithm, {})[run.seed] = run
    best_rates = _best_rates(runs, constraints)
    broken = {name: _find_broken(each.values(), constraints, best_rates) for name, each in scored.items()}
    unranked = set(references)
    scores = {name: {seed: run.score or 0.0 for seed, run in each.items()} for name, each in scored.items()}
    paused = {name: _mean_paused_share(each.values()) for name, each in scored.items()}
    ranked = [name for name in scored if name not in unranked and not broken[name]]
    groups = _groups({name: scores[name] for name in ranked}, paused)
    best = min(ranked, key=lambda name: _middle(scores[name]), default=None)
    least = _least_costs([scored[name] for name in ranked])
    others = max(1, len(ranked) - 1)

    def standing(name: str, state: str, group: int | None) -> Standing:
        own = scores[name]
        score = _score(own)
        comparable = best is not None and _is_finite(own)
        return Standing(
            algorithm=name,
            state=state,
            group=group,
            score=score,
            scores=own,
            ranks=_ranks(name, ranked, scores) if state == RANKED else {},
            against_best=_ratio_to_best(own, scores[best], statistics.correct_confidence(others))
            if comparable and best is not None
            else NONE,
            is_apart=statistics.differs_significantly(own, scores[best], comparisons=others)
            if comparable and best is not None and state == RANKED
            else None,
            multiples=_multiples(scored[name], least),
            broken=broken[name],
            paused=paused[name],
            is_fragile=_is_fragile(score, own, (perturbed or {}).get(name)),
        )

    in_groups = [standing(name, RANKED, number) for number, group in enumerate(groups, 1) for name in group]
    failing = [name for name in scored if name not in unranked and broken[name]]
    # The nearest to what is asked for first: it is what a user may want where nothing holds all.
    failing.sort(key=lambda name: sum(violation.excess for violation in broken[name]))
    left = sorted((name for name in scored if name in unranked), key=lambda name: _middle(scores[name]))
    return in_groups + [standing(n, FAILS, None) for n in failing] + [standing(n, REFERENCE, None) for n in left]


def _best_rates(runs: Sequence[Measured], constraints: Sequence[Requirement]) -> dict[int, dict[str, float]]:
    """The largest rates among the runs of each seed."""
    by_seed: dict[int, list[Measured]] = {}
    for run in runs:
        by_seed.setdefault(run.seed, []).append(run)
    return {seed: bests((run.values for run in each), constraints) for seed, each in by_seed.items()}


def _find_broken(
    runs: Iterable[Measured], constraints: Sequence[Requirement], best_rates: Mapping[int, Mapping[str, float]]
) -> tuple[Broken, ...]:
    violations = []
    each = list(runs)
    for constraint in constraints:
        known = [run for run in each if constraint.quantity.take_value(run.values) is not None]
        if not known:
            continue
        value = math.fsum(constraint.quantity.take_value(run.values) or 0.0 for run in known) / len(known)
        limit = math.fsum(constraint.limit(run.values, best_rates[run.seed]) for run in known) / len(known)
        excess = constraint.measure_excess(value, limit)
        if excess > 0:
            alone = sum(constraint.excess(run.values, best_rates[run.seed]) > 0 for run in known)
            violations.append(Broken(constraint, value, alone, excess))
    return tuple(sorted(violations, key=lambda violation: -violation.excess))


def _mean_paused_share(runs: Iterable[Measured]) -> float:
    shares = [float(run.values.get("paused_share") or 0.0) for run in runs]
    return math.fsum(shares) / len(shares)


def _groups(scores: Mapping[str, dict[int, float]], paused: Mapping[str, float]) -> list[list[str]]:
    """The groups in their order, each in the order of its members."""
    left = sorted(scores, key=lambda name: _middle(scores[name]))
    comparisons = max(1, len(left) - 1)
    groups = []
    while left:
        leader = left[0]
        level = _middle(scores[leader])
        close = [name for name in left if _middle(scores[name]) < CLOSE * level or name == leader]
        group = close + [
            name
            for name in left
            if name not in close
            # Where there are too few seeds to say, the estimates do.
            and statistics.differs_significantly(scores[name], scores[leader], comparisons=comparisons) is False
        ]
        alike = sorted(close, key=lambda name: (round(paused[name] / PAUSED_ALIKE), _middle(scores[name])))
        groups.append(alike + group[len(close) :])
        left = [name for name in left if name not in group]
    return groups


def _middle(scores: Mapping[int, float]) -> float:
    """The geometric mean; infinite where one is."""
    if not _is_finite(scores):
        return math.inf
    return math.exp(math.fsum(map(math.log, scores.values())) / len(scores))


def _is_finite(scores: Mapping[int, float]) -> bool:
    return all(math.isfinite(score) and score > 0 for score in scores.values())


def _score(scores: Mapping[int, float]) -> Interval:
    """The geometric mean over seeds, with its interval."""
    if not _is_finite(scores):
        return Interval(_middle(scores), None, None, len(scores))
    return statistics.paired_ratio(list(scores.values()), [1.0] * len(scores))


def _ranks(name: str, ranked: Sequence[str], scores: Mapping[str, Mapping[int, float]]) -> dict[int, int]:
    """The rank of an algorithm under each seed: 1 is best, equal scores have equal ranks."""
    return {
        seed: 1 + sum(scores[other].get(seed, math.inf) < score for other in ranked)
        for seed, score in scores[name].items()
    }


def _least_costs(ranked: Iterable[Mapping[int, Measured]]) -> dict[tuple[int, str], float]:
    """The least of each cost under each seed, over the algorithms that are ranked."""
    least: dict[tuple[int, str], float] = {}
    for each in ranked:
        for seed, run in each.items():
            for name, cost in run.costs.items():
                least[seed, name] = min(cost, least.get((seed, name), math.inf))
    return least


def _multiples(runs: Mapping[int, Measured], least: Mapping[tuple[int, str], float]) -> dict[str, float]:
    by_cost: dict[str, list[float]] = {}
    for seed, run in runs.items():
        for name, cost in run.costs.items():
            if (seed, name) in least:
                by_cost.setdefault(name, []).append(cost / least[seed, name])
    return {name: _middle(dict(enumerate(ratios))) for name, ratios in by_cost.items()}


def _is_fragile(score: Interval, scores: Mapping[int, float], perturbed: Sequence[float | None] | None) -> bool | None:
    return None if not perturbed else is_fragile([next(iter(scores.values())), *perturbed], score.half_width)


def _ratio_to_best(own: Mapping[int, float], best: Mapping[int, float], confidence: float) -> Interval:
    both = [seed for seed in own if seed in best]
    return statistics.paired_ratio([own[s] for s in both], [best[s] for s in both], confidence=confidence)

"""Who is best in a scenario, and how sure that is: ranks under every seed, means with intervals, what the seeds cannot tell apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from farloop.arena.measuring import THROUGHPUT, Measured
from farloop.jitter import is_fragile
from farloop.metrics import interval
from farloop.seeds import Estimate, estimate


@dataclass(frozen=True)
class Standing:
    """One algorithm's place in a scenario.

    Attributes:
        place: From 1; algorithms with the same mean share one.
        algorithm: The algorithm.
        score: Mean over seeds.
        scores: By seed.
        ranks: By seed.
        is_apart: Whether the seeds tell it from the best one; `None` where there are too few to say.
        is_fragile: Whether variations in ties and starts move its score by more than 5 %, and by more than half the width of its interval;
            `None` where there are none.
    """

    place: int
    algorithm: str
    score: Estimate
    scores: dict[int, float]
    ranks: dict[int, int]
    is_apart: bool | None
    is_fragile: bool | None = None


def ranks(found: Sequence[Measured]) -> dict[tuple[str, int], int]:
    """The rank of each run of a scenario among those with its seed, by algorithm and seed: 1 is best, equal scores have equal ranks."""
    by_seed: dict[int, list[Measured]] = {}
    for one in found:
        if one.score is not None:
            by_seed.setdefault(one.seed, []).append(one)
    return {
        (one.algorithm, seed): 1 + sum(is_better(other.score, one.score, one.ranked_by) for other in each)
        for seed, each in by_seed.items()
        for one in each
    }


def standings(found: Sequence[Measured], shaken: Mapping[str, Sequence[float | None]] | None = None) -> list[Standing]:
    """The algorithms of one scenario, the best first; those without a score are left out.

    `shaken` has the scores of variations of the first seed's runs, by algorithm.
    """
    ranked = ranks(found)
    scores: dict[str, dict[int, float]] = {}
    for one in found:
        if one.score is not None:
            scores.setdefault(one.algorithm, {})[one.seed] = one.score
    if not scores:
        return []
    by = found[0].ranked_by
    means = {name: estimate(list(each.values())) for name, each in scores.items()}
    ordered = sorted(scores, key=lambda name: means[name].mean, reverse=by == THROUGHPUT)
    best = scores[ordered[0]]
    return [
        Standing(
            place=1 + sum(is_better(means[other].mean, means[name].mean, by) for other in scores),
            algorithm=name,
            score=means[name],
            scores=scores[name],
            ranks={seed: ranked[name, seed] for seed in scores[name]},
            is_apart=_is_apart(scores[name], best),
            is_fragile=_is_fragile(means[name], scores[name], (shaken or {}).get(name)),
        )
        for name in ordered
    ]


def is_better(one: float | None, other: float | None, ranked_by: str) -> bool:
    """Whether a score is better than another one; one that does not exist is not."""
    if one is None or other is None:
        return False
    return one > other if ranked_by == THROUGHPUT else one < other


def _is_fragile(mean: Estimate, scores: dict[int, float], shaken: Sequence[float | None] | None) -> bool | None:
    return None if not shaken else is_fragile([next(iter(scores.values())), *shaken], mean.half_width)


def _is_apart(own: dict[int, float], best: dict[int, float]) -> bool | None:
    """Whether the 95 % interval of the mean logarithm of own over best (of the difference, if one is 0), seed by seed, leaves out 0.

    The traffic of a seed is the same for all, so differences vary less over seeds than the scores do.
    """
    pairs = [(own[seed], best[seed]) for seed in own if seed in best]
    if len(pairs) < 2:
        return None
    starved = any(a <= 0 or b <= 0 for a, b in pairs)
    mean, half = interval([a - b if starved else math.log(a / b) for a, b in pairs])
    return abs(mean) > half

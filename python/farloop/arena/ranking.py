"""Who is best in a scenario, and how sure that is: ranks under every seed, means with intervals, what the seeds cannot tell apart.

All algorithms are read together, so the comparisons with the first place hold together (`farloop.statistics`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from farloop import statistics
from farloop.arena.measuring import THROUGHPUT, Measured
from farloop.results.jitter import is_fragile
from farloop.statistics import Interval


@dataclass(frozen=True)
class Standing:
    """One algorithm's place in a scenario.

    Attributes:
        place: From 1; algorithms with the same mean share one.
        algorithm: The algorithm.
        score: Mean over seeds, with its interval.
        scores: By seed.
        ranks: By seed.
        is_apart: Whether the seeds tell it from the best one; `None` where there are too few to say.
        against_best: How many times the best one's score it has, seed by seed; its interval holds together with those of all others.
        is_fragile: Whether variations in ties and starts move its score by more than 5 %, and by more than half the width of its interval;
            `None` where there are none.
    """

    place: int
    algorithm: str
    score: Interval
    scores: dict[int, float]
    ranks: dict[int, int]
    is_apart: bool | None
    against_best: Interval
    is_fragile: bool | None = None


def ranks(runs: Sequence[Measured]) -> dict[tuple[str, int], int]:
    """The rank of each run of a scenario among those with its seed, by algorithm and seed: 1 is best, equal scores have equal ranks."""
    by_seed: dict[int, list[Measured]] = {}
    for run in runs:
        if run.score is not None:
            by_seed.setdefault(run.seed, []).append(run)
    return {
        (run.algorithm, seed): 1 + sum(is_better(other.score, run.score, run.ranked_by) for other in each)
        for seed, each in by_seed.items()
        for run in each
    }


def standings(runs: Sequence[Measured], shaken: Mapping[str, Sequence[float | None]] | None = None) -> list[Standing]:
    """The algorithms of one scenario, the best first; those without a score are left out.

    `shaken` has the scores of variations of the first seed's runs, by algorithm.
    """
    ranked = ranks(runs)
    scores: dict[str, dict[int, float]] = {}
    for run in runs:
        if run.score is not None:
            scores.setdefault(run.algorithm, {})[run.seed] = run.score
    if not scores:
        return []
    by = runs[0].ranked_by
    floor = 0.0 if by == THROUGHPUT else 1.0
    means = {name: statistics.mean(list(each.values()), floor=floor) for name, each in scores.items()}
    ordered = sorted(scores, key=lambda name: means[name].estimate or 0.0, reverse=by == THROUGHPUT)
    best = scores[ordered[0]]
    others = len(ordered) - 1
    return [
        Standing(
            place=1 + sum(is_better(means[other].estimate, means[name].estimate, by) for other in scores),
            algorithm=name,
            score=means[name],
            scores=scores[name],
            ranks={seed: ranked[name, seed] for seed in scores[name]},
            is_apart=statistics.is_apart(scores[name], best, comparisons=others),
            against_best=_against(scores[name], best, statistics.together(others)),
            is_fragile=_is_fragile(means[name], scores[name], (shaken or {}).get(name)),
        )
        for name in ordered
    ]


def is_better(score: float | None, other: float | None, ranked_by: str) -> bool:
    """Whether a score is better than another one; one that does not exist is not."""
    if score is None or other is None:
        return False
    return score > other if ranked_by == THROUGHPUT else score < other


def _is_fragile(mean: Interval, scores: dict[int, float], shaken: Sequence[float | None] | None) -> bool | None:
    return None if not shaken else is_fragile([next(iter(scores.values())), *shaken], mean.half_width)


def _against(own: dict[int, float], best: dict[int, float], confidence: float) -> Interval:
    both = [seed for seed in own if seed in best]
    return statistics.paired_ratio([own[s] for s in both], [best[s] for s in both], confidence=confidence)

"""The head of an arena's page: its answer with key numbers, the scores of each scenario for the chart, and what to be careful about."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

from farloop import statistics
from farloop.results.effects import Effect, slowdown_text
from farloop.results.headline import Headline, KeyNumber, limit_sentence
from farloop.results.measures import LESS, MORE, limits, of_cell
from farloop.statistics import Interval
from farloop.studies.arena.arena_answer import answer_arena, leaders, list_some
from farloop.studies.arena.measuring import ENDLESS
from farloop.studies.arena.ranking import RANKED, Standing
from farloop.studies.arena.table import Result
from farloop.units import bytes_text, count_text, rate_text

SCORE = "times the best score"

_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")

_CELLS: tuple[tuple[str, str, str, Callable[[float], str]], ...] = (
    ("goodput_bps", "goodput", MORE, rate_text),
    ("intra_small_slowdown_p99", "p99 FCT slowdown of small flows inside", LESS, slowdown_text),
    ("intra_large_slowdown_p99", "p99 FCT slowdown of large flows inside", LESS, slowdown_text),
    ("cross_small_slowdown_p99", "p99 FCT slowdown of small flows across", LESS, slowdown_text),
    ("cross_large_slowdown_p99", "p99 FCT slowdown of large flows across", LESS, slowdown_text),
    ("jain_endless", "Jain's index of endless flows", MORE, "{:.3f}".format),
    ("mean_queue_bytes", "mean queue", LESS, bytes_text),
)
"""Cells that the chart offers beside the score: name, title, what is better, and how a value is written."""


def headline_arena(results: Sequence[Result], seeds: int) -> Headline:
    """The answer with three numbers and the effects, each of one scenario.

    Args:
        results: The results, scenario by scenario.
        seeds: Number of seeds of each run.
    """
    effects = [effect for result in results for effect in _effects(result)]
    several = [effect for effect in effects if len(effect.ranking) > 1] or effects
    scored = [effect for effect in several if effect.name == SCORE]
    # Where the algorithms are furthest apart there is most to see.
    first = max(scored, key=_spread, default=several[0] if several else None)
    return Headline(
        tuple(_SENTENCES.split(answer_arena(results, seeds))),
        tuple(_key_numbers(results)),
        _limit(results, first),
        first,
        tuple(effects),
    )


def arena_cautions(results: Sequence[Result]) -> list[str]:
    """Sentences on what makes the answer doubtful, those first that decide."""
    sentences = []
    for result in results:
        twin = next((r for r in results if r.name == f"{result.name}-same-start"), None)
        if twin is not None and _names(result) and _names(twin) and not set(_names(result)) & set(_names(twin)):
            sentences.append(
                f"where all flows start alike, {list_some(_names(twin))} leads {result.name} instead of {list_some(_names(result))}: the "
                "start decides there, not the algorithm"
            )
    if moved := {s.algorithm: r.name for r in results for s in r.standings if s.is_fragile}:
        sentences.append(
            f"the scores of {list_some(list(moved))} move with the order of simultaneous events, as in {next(iter(moved.values()))}: "
            "fragile in the tables"
        )
    drifting = Counter(r.name for r in results for run in r.runs if run.values["is_steady"] == 0)
    for name, count in drifting.most_common(1):
        total = sum(len(r.runs) for r in results if r.name == name)
        sentences.append(f"in {name} {count} of {total} runs drift; longer runs would have other numbers")
    if refused := {refusal.algorithm for result in results for refusal in result.refusals}:
        sentences.append(f"not everywhere can {list_some(sorted(refused))} run; the tables say why")
    return [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences]


def _effects(result: Result) -> list[Effect]:
    """The scores of the ranked algorithms, then the measurements of all but references, as far as there are any."""
    ranked = [standing for standing in result.standings if standing.state == RANKED]
    shown = [standing for standing in result.standings if standing.state == RANKED or standing.broken]
    made = []
    if ranked:
        ratios = {s.algorithm: s.against_best for s in ranked if _is_number(s.against_best)}
        made.append(Effect("score", SCORE, result.name, LESS, "{:.3g} ×".format, ratios))
    for cell, title, better, text in _CELLS:
        values = {standing.algorithm: _mean(result, standing, cell) for standing in shown}
        known = {name: value for name, value in values.items() if _is_number(value)}
        is_endless = cell.startswith("jain") or cell == "goodput_bps"
        if known and (is_endless or "slowdown" not in cell or result.traffic != ENDLESS):
            made.append(Effect(cell, title, result.name, better, text, known))
    return [effect for effect in made if effect.ranking and any(map(effect.estimate, effect.ranking))]


def _mean(result: Result, standing: Standing, cell: str) -> Interval:
    known = [run.values.get(cell) for run in result.list_runs(standing.algorithm)]
    values = [float(value) for value in known if value is not None]
    if not values:
        return Interval(None, None, None, 0)
    floor, ceiling = limits(of_cell(cell))
    return statistics.mean(values, floor=floor, ceiling=ceiling)


def _is_number(value: Interval) -> bool:
    return value.estimate is not None and math.isfinite(value.estimate)


def _spread(effect: Effect) -> float:
    ranking = effect.ranking
    return effect.times_worse(ranking[-1], ranking[0])


def _names(result: Result) -> list[str]:
    return [standing.algorithm for standing in leaders(result)]


def _key_numbers(results: Sequence[Result]) -> list[KeyNumber]:
    """The scenarios that the best lead, those where one leads alone, and the algorithms that break a constraint."""
    ranked = [result for result in results if leaders(result)]
    total = count_text(len(results), "scenario")
    numbers = []
    counts = Counter(name for result in ranked for name in _names(result)).most_common(3)
    if counts:
        (first, most), *others = counts
        more = ", ".join(f"{name} {count}" for name, count in others)
        numbers.append(KeyNumber(f"{first} is in the first group of", f"{most} of {total}", more))
    alone = [result for result in ranked if len(leaders(result)) == 1]
    if ranked:
        names = ", ".join(f"{_names(result)[0]} in {result.name}" for result in alone[:2])
        numbers.append(KeyNumber("one algorithm alone leads in", f"{len(alone)} of {total}", names))
    failing = Counter(s.algorithm for result in results for s in result.standings if s.broken)
    count = len({standing.algorithm for result in results for standing in result.standings})
    often = ", ".join(f"{name} in {times}" for name, times in failing.most_common(2))
    numbers.append(
        KeyNumber("break a constraint somewhere", f"{len(failing)} of {count_text(count, 'algorithm')}", often)
    )
    return numbers


def _limit(results: Sequence[Result], effect: Effect | None) -> str:
    """The limit of the flows under the leader of the chart's scenario; without one, under the first of the chart."""
    result = next((r for r in results if effect is not None and r.name == effect.scope), None)
    if result is None or effect is None:
        return ""
    first = next(iter(_names(result)), effect.ranking[0])
    entries = [entry for run in result.list_runs(first) for entry in run.limits]
    return limit_sentence(f"Under {first}, in {result.name}, ", entries)

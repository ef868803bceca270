"""The answer of an arena in a sentence or two: which algorithms lead in how many scenarios, and where nothing holds what must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from farloop.studies.arena.ranking import RANKED, Standing
from farloop.studies.arena.table import Result
from farloop.units import count_text

MAX_NAMED = 3
"""Algorithms that a sentence names."""


def answer_arena(results: Sequence[Result], seeds: int) -> str:
    """The answer.

    Args:
        results: The results, scenario by scenario.
        seeds: Number of seeds of each run.
    """
    ranked = [result for result in results if any(standing.state == RANKED for standing in result.standings)]
    if not ranked:
        return f"In no scenario does an algorithm hold all constraints.{_nearest(results)}"
    if len(results) == 1:
        return _answer_scenario(ranked[0], seeds)
    counts = Counter(standing.algorithm for result in ranked for standing in leaders(result))
    (first, most), *others = counts.most_common(MAX_NAMED)
    more = "".join(f", {name} of {count}" for name, count in others)
    text = f"Of {count_text(len(results), 'scenario')} {first} is in the first group of {most}{more}."
    if lone := [r.name for r in ranked if len(leaders(r)) == 1]:
        text += f" One algorithm alone leads in {len(lone)} of them; elsewhere {_unsure(seeds)}."
    left = [result.name for result in results if result not in ranked]
    if left:
        text += f" Nothing holds all constraints in {list_some(left)}."
    return text


def leaders(result: Result) -> list[Standing]:
    """The first group of a scenario."""
    return [standing for standing in result.standings if standing.group == 1]


def list_some(names: Sequence[str]) -> str:
    """Some names, and the number of the others."""
    more = len(names) - MAX_NAMED
    return f"{', '.join(names[:MAX_NAMED])}{f' and {more} more' if more > 0 else ''}"


def _answer_scenario(result: Result, seeds: int) -> str:
    first = leaders(result)
    others = [standing for standing in result.standings if standing.state == RANKED and standing not in first]
    names = [standing.algorithm for standing in first]
    if len(names) == 1:
        text = f"{names[0]} leads in {result.name}"
    else:
        text = f"{list_some(names)} are in the first group of {result.name}: {_unsure(seeds)}"
    if others and (ratio := others[-1].against_best.estimate):
        text += f"; {others[-1].algorithm} is last with {ratio:.3g} times the best score"
    failing = [standing for standing in result.standings if standing.broken]
    if failing:
        text += f". {count_text(len(failing), 'algorithm')} of {len(result.standings)} break a constraint"
    return f"{text}."


def _nearest(results: Sequence[Result]) -> str:
    """The algorithm that is nearest to its bounds, and the one that it breaks the most."""
    failing = [(standing, result.name) for result in results for standing in result.standings if standing.broken]
    if not failing:
        return ""
    standing, name = min(failing, key=lambda each: (len(each[0].broken), each[0].broken[0].excess))
    return f" Nearest is {standing.algorithm} in {name}: {standing.broken[0].beside_bound}."


def _unsure(seeds: int) -> str:
    return f"{count_text(seeds, 'seed')} do not tell the first apart" if seeds > 1 else "one seed tells nothing apart"

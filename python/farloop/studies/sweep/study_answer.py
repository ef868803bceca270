"""The answer of a study in a sentence or two: which point is the best by the first metric, by how much, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from farloop.results.measures import MORE
from farloop.studies.sweep.multiples import label, metric_text, ranked, standings
from farloop.studies.sweep.points import ALGORITHM, SEED

MIN_RATIO = 1.02
"""Values that are closer than this are not said to be a multiple of one another."""


def answer_study(
    collect: Sequence[Mapping[str, Any]], runs: pa.Table, points: pa.Table, keys: Sequence[str]
) -> list[str]:
    """The sentences of the answer.

    Args:
        collect: The metrics as the manifest has them: name, unit, better.
        runs: A row for every run.
        points: A row for every point.
        keys: The keys that vary.
    """
    if not points.num_rows:
        return ["No point is done."]
    metric = next((metric for metric in collect if metric["better"]), None)
    if metric is None or points.num_rows < 2:
        name, unit = collect[0]["name"], collect[0]["unit"]
        texts = [metric_text(row, name, unit) for row in points.slice(0, 1).to_pylist()]
        return [f"{points.num_rows} points; {name} of the first: {texts[0]}."]
    name, unit = metric["name"], metric["unit"]
    ordered = ranked(points, name, metric["better"])
    if len(ordered) < 2:
        return [f"{name} exists at {len(ordered)} of {points.num_rows} points."]
    first, last = ordered[0], ordered[-1]
    word = "highest" if metric["better"] == MORE else "lowest"
    other = "lowest" if metric["better"] == MORE else "highest"
    times = _times(first[name], last[name], metric["better"])
    texts = [f"{metric_text(row, name, unit)} at {label(points, row, keys)}" for row in (first, last)]
    _, note = standings(runs, points, name, metric["better"])
    best = _best_algorithms(ordered, name, word, keys)
    return [*best, f"{name} is {word}, {texts[0]}; it is {other}, {texts[1]}{times}.", f"{note.rstrip('.')}."]


def _times(first: float, last: float, better: str) -> str:
    above, below = (first, last) if better == MORE else (last, first)
    if below <= 0 or above / below < MIN_RATIO:
        return ""
    times = above / below
    return f" (1/{times:.3g})" if better == MORE else f" ({times:.3g} times)"


def _best_algorithms(ordered: Sequence[Mapping[str, Any]], name: str, word: str, keys: Sequence[str]) -> list[str]:
    """The algorithms that are the best at most of the settings that are otherwise alike; nothing where one algorithm or setting varies.

    Args:
        ordered: The points, the best first.
        name: The metric.
        word: "lowest" or "highest".
        keys: The keys that vary.
    """
    others = [key for key in keys if key not in (ALGORITHM, SEED)]
    best: dict[tuple[Any, ...], str] = {}
    for row in ordered:
        best.setdefault(tuple(row[key] for key in others), row.get(ALGORITHM) or "")
    if len({row.get(ALGORITHM) for row in ordered}) < 2 or len(best) < 2:
        return []
    (first, most), *rest = Counter(best.values()).most_common(3)
    more = "".join(f", {algorithm} at {count}" for algorithm, count in rest)
    return [f"{first} has the {word} {name} at {most} of {len(best)} settings{more}."]

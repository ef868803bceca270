"""The answer of a study in a sentence or two: which point is the best by the first metric, by how much, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from farloop.results.measures import MORE
from farloop.results.metric_titles import metric_title
from farloop.studies.sweep.multiples import label, metric_text, rank_points, standings, unit_of
from farloop.studies.sweep.points import ALGORITHM, SEED

SLOWDOWN = "iteration_slowdown"
"""The metric of jobs that is compared with the bound."""

ENOUGH = 1.1
"""Times the ideal network below which a network is enough for a job."""

MAX_SENTENCES = 4
"""Sentences on what is enough."""

MIN_RATIO = 1.02
"""Minimum ratio of values that are described as a multiple of one another."""


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
        return [f"{points.num_rows} points; {metric_title(name)} of the first: {texts[0]}."]
    enough = _list_thresholds(points, keys) if any(each["name"] == SLOWDOWN for each in collect) else []
    name, unit = metric["name"], metric["unit"]
    ordered = rank_points(points, name, metric["better"])
    if len(ordered) < 2:
        return [f"{metric_title(name)} exists at {len(ordered)} of {points.num_rows} points."]
    first, last = ordered[0], ordered[-1]
    word = "highest" if metric["better"] == MORE else "lowest"
    other = "lowest" if metric["better"] == MORE else "highest"
    times = _times(first[name], last[name], metric["better"])
    texts = [f"{metric_text(row, name, unit)} at {label(points, row, keys)}" for row in (first, last)]
    _, note = standings(runs, points, name, metric["better"])
    best = _best_algorithms(ordered, name, word, keys)
    return [
        *enough,
        *best,
        f"{word.capitalize()} {metric_title(name)}: {texts[0]}; {other}: {texts[1]}{times}.",
        f"{note.rstrip('.')}.",
    ]


def _list_thresholds(points: pa.Table, keys: Sequence[str]) -> list[str]:
    """For each key of the network that varies: from which value on, or up to which, jobs stay near the ideal network.

    Where other keys vary as well, a sentence has the value for each of their settings, equal ones together.
    """
    sentences = []
    for key in (key for key in keys if key.startswith("network.")):
        others = [other for other in keys if other not in (key, SEED) and len(set(points[other].to_pylist())) > 1]
        rows: dict[str, list[tuple[float, str, float | None]]] = {}
        for row in points.to_pylist():
            place = row[key]
            if isinstance(place, int | float) and not isinstance(place, bool):
                setting = label(points, row, others) if others else ""
                rows.setdefault(setting, []).append((place, label(points, row, [key]), row[SLOWDOWN]))
        settings: dict[str, list[str]] = {}
        for setting, values in rows.items():
            if len({place for place, _, _ in values}) > 1:
                ascending = sorted(values, key=lambda value: value[0])
                is_distance = unit_of(points, key) == "s" or key.endswith(("loss", "corruption"))
                settings.setdefault(_reach(ascending, is_distance=is_distance), []).append(setting)
        for reach, named in settings.items():
            whose = f"{_join_names(named)}: i" if any(named) else "I"
            sentences.append(f"{whose}terations take {reach}.")
    return sentences[:MAX_SENTENCES]


def _reach(values: Sequence[tuple[float, str, float | None]], *, is_distance: bool) -> str:
    """Where the slowdown stays below the bound, in words.

    Args:
        values: Ascending: magnitude, key and value for people, slowdown; the last is `None` where no iteration was over.
        is_distance: True if less of the key is better. The ideal network is as far away, so that the slowdown may fall again beyond.
    """
    below = [slowdown is not None and slowdown < ENOUGH for _, _, slowdown in values]
    percent = f"{100 * (ENOUGH - 1):.0f} %"
    bound = f"less than {percent} longer than on an ideal network"
    if all(below):
        return f"{bound} from {values[0][1]} to {values[-1][1]}"
    if below[-1] and not is_distance:
        first = len(below) - below[::-1].index(False)
        return f"{bound} from {values[first][1]} on"
    if below[0]:
        return f"{bound} up to {values[below.index(False) - 1][1]}"
    return f"{percent} longer than on an ideal network, or more, at {values[0 if is_distance else -1][1]} already"


def _join_names(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


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
    return [f"{first} has the {word} {metric_title(name)} at {most} of {len(best)} settings{more}."]

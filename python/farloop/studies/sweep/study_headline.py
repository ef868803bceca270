"""The head of a study's page: its answer with key numbers, and each metric by algorithm, or by point, for the chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from farloop.results.effects import Effect
from farloop.results.headline import Headline, KeyNumber
from farloop.results.measures import LESS
from farloop.results.metric_titles import metric_title
from farloop.studies.sweep.multiples import interval_of, label, rank_points, value_text
from farloop.studies.sweep.points import ALGORITHM, SEED
from farloop.studies.sweep.study_answer import answer_study

MAX_SCOPES = 40
"""Settings that the chart lets one choose."""


def headline_study(
    collect: Sequence[Mapping[str, Any]], runs: pa.Table, points: pa.Table, keys: Sequence[str]
) -> Headline:
    """The answer of a study with three numbers and the effects; a scope is a setting under which algorithms are compared.

    Args:
        collect: The metrics as the manifest has them: name, unit, better.
        runs: A row for every run.
        points: A row for every point.
        keys: The keys that vary.
    """
    judged = [metric for metric in collect if metric["better"]]
    numbers = [number for metric in judged if (number := _key_number(metric, points, keys)) is not None]
    effects = [effect for metric in judged for effect in _effects(metric, points, keys)]
    own = [effect for effect in effects if judged and effect.identifier == judged[0]["name"]]
    return Headline(
        tuple(answer_study(collect, runs, points, keys)),
        tuple(numbers[:3]),
        effect=max(own, key=_spread, default=None),
        effects=tuple(effects),
    )


def _key_number(metric: Mapping[str, Any], points: pa.Table, keys: Sequence[str]) -> KeyNumber | None:
    """The best value of a metric, where it is, and the worst."""
    ordered = rank_points(points, metric["name"], metric["better"])
    if not ordered:
        return None
    word = "lowest" if metric["better"] == LESS else "highest"
    first, last = (value_text(row[metric["name"]], metric["unit"]) for row in (ordered[0], ordered[-1]))
    note = f"{label(points, ordered[0], keys)}; worst {last}"
    return KeyNumber(f"{word} {metric_title(metric['name'])}", first, note)


def _effects(metric: Mapping[str, Any], points: pa.Table, keys: Sequence[str]) -> list[Effect]:
    """A metric of each algorithm under each setting; where one algorithm or one setting varies, of each point."""
    name, unit = metric["name"], metric["unit"]
    others = [key for key in keys if key not in (ALGORITHM, SEED)]
    algorithms = len(set(points[ALGORITHM].to_pylist())) if ALGORITHM in points.column_names else 1
    by_setting: dict[str, dict[str, Any]] = {}
    for row in points.to_pylist():
        if row[name] is None:
            continue
        setting = label(points, row, others) if algorithms > 1 else ""
        own = str(row[ALGORITHM]) if algorithms > 1 else label(points, row, keys)
        by_setting.setdefault(setting, {}).setdefault(own, interval_of(row, name))
    return [
        Effect(name, metric_title(name), setting, metric["better"], partial(_text, unit), values)
        for setting, values in list(by_setting.items())[:MAX_SCOPES]
    ]


def _text(unit: str, value: float) -> str:
    return value_text(float(value), unit)


def _spread(effect: Effect) -> float:
    """The ratio of the worst to the best."""
    ranking = effect.ranking
    return effect.times_worse(ranking[-1], ranking[0])

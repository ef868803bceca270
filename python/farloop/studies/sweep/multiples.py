"""Pictures of a study: small multiples of its metrics over a key, the best and the worst points, a Pareto front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from farloop.results.curves import find_bands
from farloop.results.measures import LESS
from farloop.results.metric_titles import metric_title
from farloop.results.tables import Floats
from farloop.statistics import Interval, differs_significantly
from farloop.studies.sweep.dataset import DONE
from farloop.studies.sweep.points import ALGORITHM
from farloop.units import BYTES, RATES, TIMES, Unit, bytes_text, count_text, rate_text, time_text, unit_for

MAX_PANELS = 12
MAX_LINES = 10
MAX_TICKS = 8

FEW = 3
"""Best and worst points that are named."""

WIDE = 20.0
"""An axis whose largest value is more than so many times the smallest is logarithmic."""

_TEXTS = {"s": time_text, "bit/s": rate_text, "B": bytes_text}
_UNITS: dict[str, Sequence[Unit]] = {"s": TIMES, "bit/s": RATES, "B": BYTES}


@dataclass(frozen=True)
class Stroke:
    """A line of a panel: points from left to right, each with both ends of its interval (NaN where there is none)."""

    name: str
    x: Floats
    y: Floats
    low: Floats
    high: Floats

    @property
    def reach(self) -> Floats:
        """Extent of each point's interval below and above it, in two rows."""
        return np.stack([self.y - self.low, self.high - self.y])

    def bands(self) -> list[slice]:
        """The stretches of at least two neighbours with intervals, between which a band can be drawn."""
        return [part for part in find_bands(self.low, self.high) if part.stop - part.start > 1]

    def list_isolated(self) -> list[int]:
        """The points with an interval whose neighbours have none, so that there is no band to show it."""
        return [part.start for part in find_bands(self.low, self.high) if part.stop - part.start == 1]


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes:
        title: Its label.
        words: Labels of the positions 0, 1, … where it has words instead of numbers.
        is_log: True if it is logarithmic.
        values: Its values, where they are few.
    """

    title: str
    words: tuple[str, ...] = ()
    is_log: bool = False
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Multiples:
    """The panels of one metric.

    Attributes:
        metric: Its name.
        panels: The lines of each panel, by its heading.
        across: The horizontal axis, the same in all panels.
        up: The vertical axis, the same in all panels.
        left_out: Panels that there is no room for.
        is_scatter: True if points are not joined, since keys were drawn at random.
    """

    metric: str
    panels: dict[str, list[Stroke]]
    across: list[Axis]
    up: Axis
    left_out: int
    is_scatter: bool = False

    @property
    def lines(self) -> list[str]:
        """The names of all lines."""
        return list(dict.fromkeys(line.name for lines in self.panels.values() for line in lines))


def unit_of(table: pa.Table, name: str) -> str:
    """The unit of a column."""
    metadata = table.schema.field(name).metadata or {}
    return str(metadata.get(b"unit", b"").decode())


def value_text(value: Any, unit: str) -> str:
    """A value of a column for people."""
    if value is None:
        return "base"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _TEXTS[unit](value) if unit in _TEXTS else f"{value:.4g}"
    return str(value)


def varying(points: pa.Table, keys: Sequence[str]) -> list[str]:
    """Those of the keys that have several values."""
    return [key for key in keys if len({repr(value) for value in points[key].to_pylist()}) > 1]


def multiples(points: pa.Table, keys: Sequence[str], metric: str) -> Multiples | None:
    """The panels of a metric; nothing where no point has a value of it.

    Across goes the key with the most numeric values; a line is an algorithm, or a value of the key with the fewest; every combination of
    the others is a panel. Where keys were drawn at random, so that hardly two points share a value, each of them has a panel with all
    points. A key that is a fixed multiple of another, such as an upper threshold, is none of its own.
    """
    rows = [row for row in points.to_pylist() if row[metric] is not None]
    if not rows:
        return None
    free = varying(points, keys)
    numeric = [key for key in free if unit_of(points, key) not in ("text", "true or false")]
    same = _multiples_of_others(rows, numeric)
    free, numeric = ([key for key in each if key not in same] for each in (free, numeric))
    distinct = {key: len({row[key] for row in rows}) for key in free}
    lines_by = next((key for key in (ALGORITHM,) if key in free and distinct[key] <= MAX_LINES), "")
    of_line = max(1, distinct.get(lines_by, 1))
    drawn = [key for key in numeric if len(rows) >= 4 and distinct[key] * of_line > 0.6 * len(rows)]
    if len(drawn) >= 2:
        return _scatter(points, rows, drawn, lines_by, metric)
    candidates = numeric or [key for key in free if key != lines_by] or free
    across = max(candidates, key=lambda key: distinct[key], default="")
    rest = [key for key in free if key not in (across, lines_by)]
    if not lines_by and rest:
        lines_by = min((key for key in rest if distinct[key] <= MAX_LINES), key=lambda key: distinct[key], default="")
        rest = [key for key in rest if key != lines_by]
    if across == lines_by:
        lines_by = ""
    return _lines(points, rows, across, lines_by, rest, metric)


def _multiples_of_others(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[str]:
    """Those of the numeric keys that are the same multiple of an earlier one at every point."""
    dependent: list[str] = []
    for number, key in enumerate(keys):
        for other in keys[:number]:
            pairs = [(row[key], row[other]) for row in rows]
            if any(not a or not b for a, b in pairs):
                continue
            ratio = pairs[0][0] / pairs[0][1]
            if all(math.isclose(a, ratio * b, rel_tol=1e-9) for a, b in pairs):
                dependent.append(key)
                break
    return dependent


def _lines(
    points: pa.Table, rows: Sequence[Mapping[str, Any]], across: str, lines_by: str, rest: Sequence[str], metric: str
) -> Multiples:
    axis, place = _axis(points, rows, across)
    up, factor = scale_axis(points, rows, metric)
    panels: dict[str, dict[str, list[_Place]]] = {}
    for row in rows:
        if across and row[across] is None:
            continue
        heading = ", ".join(f"{key} {value_text(row[key], unit_of(points, key))}" for key in rest)
        name = value_text(row[lines_by], unit_of(points, lines_by)) if lines_by else ""
        name = name if lines_by in ("", ALGORITHM) else f"{lines_by} {name}"
        value = (place(row[across]) if across else 0.0, *_scaled_ends(row, metric, factor))
        panels.setdefault(heading, {}).setdefault(name, []).append(value)
    shown = list(panels)[:MAX_PANELS]
    strokes = {heading: [_line(name, values) for name, values in panels[heading].items()] for heading in shown}
    return Multiples(metric, strokes, [axis] * len(strokes), up, len(panels) - len(shown))


def _scatter(
    points: pa.Table, rows: Sequence[Mapping[str, Any]], keys: Sequence[str], lines_by: str, metric: str
) -> Multiples:
    up, factor = scale_axis(points, rows, metric)
    panels: dict[str, list[Stroke]] = {}
    axes = []
    for key in keys[:MAX_PANELS]:
        axis, place = _axis(points, rows, key)
        lines: dict[str, list[_Place]] = {}
        for row in rows:
            if row[key] is not None:
                name = str(row[lines_by]) if lines_by else ""
                lines.setdefault(name, []).append((place(row[key]), *_scaled_ends(row, metric, factor)))
        panels[key] = [_line(name, values) for name, values in lines.items()]
        axes.append(axis)
    return Multiples(metric, panels, axes, up, max(0, len(keys) - MAX_PANELS), is_scatter=True)


_Place = tuple[float, float, float, float]
"""Where a point is drawn: across, up, and both ends of its interval."""


def _scaled_ends(row: Mapping[str, Any], metric: str, factor: float) -> tuple[float, float, float]:
    interval = interval_of(row, metric)
    low, high = (math.nan if end is None else end / factor for end in (interval.low, interval.high))
    return row[metric] / factor, low, high


def _line(name: str, values: Sequence[_Place]) -> Stroke:
    x, y, low, high = np.array(sorted(values), dtype=float).T
    return Stroke(name, x, y, low, high)


def _axis(points: pa.Table, rows: Sequence[Mapping[str, Any]], key: str) -> tuple[Axis, Any]:
    """The axis of a key, and what gives a value its place on it."""
    if not key:
        return Axis("", ("",)), None
    unit = unit_of(points, key)
    values = [row[key] for row in rows if row[key] is not None]
    if unit in ("text", "true or false"):
        words = list(dict.fromkeys(values))
        return Axis(key, tuple(value_text(word, unit) for word in words)), lambda value: float(words.index(value))
    scale = unit_for((abs(value) for value in values), _UNITS.get(unit, (Unit("", 1.0),)))
    title = f"{key} ({scale.name})" if unit in _UNITS else key
    few = sorted({value / scale.factor for value in values})
    ticks = tuple(few) if len(few) <= MAX_TICKS else ()
    return Axis(title, is_log=is_wide(values), values=ticks), lambda value: value / scale.factor


def scale_axis(points: pa.Table, rows: Sequence[Mapping[str, Any]], metric: str) -> tuple[Axis, float]:
    """The axis of a metric, and how many of the metric's unit one of the axis' is."""
    unit = unit_of(points, metric)
    values = [row[metric] for row in rows]
    scale = unit_for((abs(value) for value in values), _UNITS.get(unit, (Unit("", 1.0),)))
    name = scale.name if unit in _UNITS else "" if unit in ("1", "") else unit
    title = metric_title(metric) if "/" not in metric else metric
    return Axis(f"{title} ({name})" if name else title, is_log=is_wide(values)), scale.factor


def is_wide(values: Sequence[float]) -> bool:
    """Returns true if an axis with these values is to be logarithmic."""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0 and max(known) > WIDE * min(known)


def label(points: pa.Table, row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """A point for people: the values of the keys that differ."""
    parts = [
        value_text(row[key], unit_of(points, key))
        if key == ALGORITHM
        else f"{key} {value_text(row[key], unit_of(points, key))}"
        for key in varying(points, keys)
    ]
    return ", ".join(parts) or "the base scenario"


def interval_of(row: Mapping[str, Any], metric: str) -> Interval:
    """A metric of a point with its interval.

    Studies that older versions wrote know only how far the farther end is; no metric of theirs that has a positive value can be negative.
    """
    value, half = row[metric], row[f"{metric} ci95"]
    if value is None or half is None:
        return Interval(value, None, None, row["seeds"])
    low, high = row.get(f"{metric} low", value - half), row.get(f"{metric} high", value + half)
    return Interval(value, low, high, row["seeds"]).clamp_ends(
        0.0 if value >= 0 and f"{metric} low" not in row else None
    )


def metric_text(row: Mapping[str, Any], metric: str, unit: str) -> str:
    """A metric of a point with its interval."""
    return interval_of(row, metric).format(lambda value: value_text(float(value), unit))


def rank_points(points: pa.Table, metric: str, better: str) -> list[dict[str, Any]]:
    """The points that have a metric, the best first."""
    rows = [row for row in points.to_pylist() if row[metric] is not None]
    return sorted(rows, key=lambda row: row[metric], reverse=better != LESS)


def best_and_worst(ordered: Sequence[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """The first and the last ones with their places, from 1; all where they are few."""
    numbered = list(enumerate(ordered, 1))
    return numbered if len(numbered) <= 2 * FEW else [*numbered[:FEW], *numbered[-FEW:]]


def standings(
    runs: pa.Table, points: pa.Table, metric: str, better: str
) -> tuple[list[tuple[str, dict[str, Any]]], str]:
    """The best and the worst points with what is known of their places, and a sentence on how sure that is.

    Each point is compared with the first and with the last one, seed by seed, so that all comparisons of a metric hold together. A point
    that the seeds do not tell from the first has no place of its own, and neither has one that they do not tell from the last.
    """
    ordered = rank_points(points, metric, better)
    count = len(ordered)
    if count < 2:
        return [("only one", row) for row in ordered], "There is one point."
    seeds: dict[int, dict[int, float]] = {}
    for row in runs.to_pylist():
        if row["status"] == DONE and row[metric] is not None and row["seed"] is not None:
            seeds.setdefault(row["point"], {})[row["seed"]] = row[metric]
    of = [seeds.get(row["point"], {}) for row in ordered]
    pairs = 2 * count - 3  # Each with the first, and each but the first with the last.
    first = [differs_significantly(by_seed, of[0], comparisons=pairs) for by_seed in of]
    last = [differs_significantly(by_seed, of[-1], comparisons=pairs) for by_seed in of]
    shown = []
    for place, row in best_and_worst(ordered):
        i = place - 1
        name = "best" if i == 0 else "worst" if i == count - 1 else f"{place} of {count}"
        if i > 0 and not first[i]:
            name = "not told apart from the best"
        elif 0 < i < count - 1 and not last[i]:
            name = "not told apart from the worst"
        shown.append((name, row))
    if all(apart is None for apart in first[1:]):
        return (
            shown,
            "Every point has one seed, or seeds of its own: nothing tells whether others would order them alike.",
        )
    if not first[-1]:
        return shown, f"The seeds do not tell the best of the {count} points from the worst: this is no ranking."
    alike = sum(not apart for apart in first[1:])
    note = (
        "The seeds tell the best from all others"
        if not alike
        else f"The seeds do not tell the best from {count_text(alike, 'other point')}"
    )
    return shown, f"{note}; compared seed by seed, all comparisons together with 95 % confidence."


def pareto_front(points: pa.Table, first: tuple[str, str], second: tuple[str, str]) -> list[dict[str, Any]]:
    """The points that no other one beats in both metrics, in the order of the first.

    Args:
        points: The points.
        first: A metric, and whether less or more of it is better.
        second: Another one.
    """
    signs = [1.0 if better == LESS else -1.0 for _, better in (first, second)]
    rows = [row for row in points.to_pylist() if row[first[0]] is not None and row[second[0]] is not None]
    rows.sort(key=lambda row: (signs[0] * row[first[0]], signs[1] * row[second[0]]))
    front: list[dict[str, Any]] = []
    for row in rows:
        last = front[-1] if front else None
        value = signs[1] * row[second[0]]
        if (
            last is None
            or value < signs[1] * last[second[0]]
            or (row[first[0]], row[second[0]]) == (last[first[0]], last[second[0]])
        ):
            front.append(row)
    return front

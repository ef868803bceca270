"""A study's numbers: a row for every run, and one for every point over its seeds, as Arrow tables and Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from farloop.results import fields
from farloop.statistics import Interval
from farloop.studies.sweep import points
from farloop.studies.sweep.measures import Measure
from farloop.studies.sweep.points import SEED, Value

DONE, FAILED, REFUSED = "done", "failed", "refused"
"""States of a run: it is in the store; its simulation failed; its scenario cannot be simulated."""

RUNS, POINTS = "runs", "points"
"""The tables, and their files without `.parquet`."""

_RUN = (
    ("run", pa.int64(), "number", "Number of the run, from 1, in the order of the points."),
    ("point", pa.int64(), "number", "Number of its point, from 1: runs of one point differ in their seed alone."),
)
_ALGORITHM = (
    "algorithm",
    pa.string(),
    "text",
    "Congestion control of all flows that name none of their own; null where it was refused and names none.",
)
_SEED = (SEED, pa.int64(), "number", "Seed of all random streams; null where it was refused and names none.")
_STATUS = (
    (
        "status",
        pa.string(),
        "text",
        "`done`; `failed`: its simulation failed; `refused`: its scenario cannot be simulated.",
    ),
    ("because", pa.string(), "text", "Why it is not done; null where it is."),
)
_END = (
    (
        "warmup_s",
        pa.float64(),
        "s",
        "What was cut of the run's beginning for metrics of flows and samples; null where it is not done.",
    ),
    ("path", pa.string(), "text", "Directory of the run in the study's; null where it is not done."),
    ("address", pa.string(), "text", "Hash of all that the run was made from; null where it was refused."),
)

RESERVED = (*(column[0] for column in (*_RUN, _ALGORITHM, _SEED, *_STATUS, *_END)), "seeds")
"""Columns that no metric may have the name of."""


@dataclass
class Row:
    """A run of a study.

    Attributes:
        point: Number of its point, from 0.
        settings: The values of the keys that are varied, but for algorithm and seed.
        algorithm: Its algorithm; nothing where that is not known.
        seed: Its seed.
        label: Name for people.
        key: Its address; empty where its scenario was refused.
        status: DONE, FAILED or REFUSED.
        because: Why it is not done.
        values: The collected values, by name.
        warm_up: Seconds that were cut.
        path: Its directory.
    """

    point: int
    settings: dict[str, Value]
    algorithm: str | None
    seed: int | None
    label: str
    key: str = ""
    status: str = DONE
    because: str = ""
    values: dict[str, float | None] = field(default_factory=dict)
    warm_up: float = 0.0
    path: str = ""


def runs(rows: Sequence[Row], keys: Sequence[str], collect: Sequence[Measure]) -> pa.Table:
    """A row for every run.

    Args:
        rows: The runs.
        keys: The keys that are varied, but for algorithm and seed.
        collect: The collected measures.
    """
    columns: list[tuple[pa.Field, list[Any]]] = []

    def add(declared: tuple[str, pa.DataType, str, str], values: list[Any], measure: str = "") -> None:
        columns.append((_field(*declared, measure), values))

    add(_RUN[0], [i + 1 for i in range(len(rows))])
    add(_RUN[1], [row.point + 1 for row in rows])
    add(_ALGORITHM, [row.algorithm for row in rows])
    columns += _parameters([row.settings for row in rows], keys)
    add(_SEED, [row.seed for row in rows])
    add(_STATUS[0], [row.status for row in rows])
    add(_STATUS[1], [row.because or None for row in rows])
    for metric in collect:
        meaning = f"{metric.meaning[:1].upper()}{metric.meaning[1:]}; null where there is none."
        values = [row.values.get(metric.name) for row in rows]
        add((metric.name, pa.float64(), metric.unit, meaning), values, metric.identifier)
    add(_END[0], [row.warm_up if row.status == DONE else None for row in rows])
    add(_END[1], [row.path or None for row in rows])
    add(_END[2], [row.key or None for row in rows])
    return _table(columns)


@dataclass(frozen=True)
class Summary:
    """Summary of the runs of one point.

    Attributes:
        point: Its number, from 0.
        settings: The values of the keys that are varied, but for algorithm and seed.
        algorithm: Its algorithm.
        seeds: Number of its finished runs.
        intervals: Each metric over its seeds, by name.
    """

    point: int
    settings: Mapping[str, Value]
    algorithm: str | None
    seeds: int
    intervals: Mapping[str, Interval]


_WITHOUT = "null where seeds or flows are too few for one."
_ENDS: tuple[tuple[str, str, Callable[[Interval], float | None]], ...] = (
    ("ci95", "From the number to the farther end of its 95 % confidence interval;", lambda i: i.half_width),
    ("low", "Lower end of its 95 % confidence interval;", lambda i: i.low),
    ("high", "Upper end of its 95 % confidence interval;", lambda i: i.high),
)

OF_METRICS = tuple(f" {end}" for end, _, _ in _ENDS)
"""Suffixes of columns that belong to a metric's column."""


def summaries(rows: Sequence[Summary], keys: Sequence[str], collect: Sequence[Measure]) -> pa.Table:
    """A row for every point with runs that are done: each metric over the seeds, and its 95 % interval."""
    columns: list[tuple[pa.Field, list[Any]]] = [
        (_field("point", pa.int64(), "number", "Number of the point, from 1."), [row.point + 1 for row in rows]),
        (_field(*_ALGORITHM), [row.algorithm for row in rows]),
        *_parameters([row.settings for row in rows], keys),
        (_field("seeds", pa.int64(), "count", "Runs of it that are done."), [row.seeds for row in rows]),
    ]
    for metric in collect:
        intervals = [row.intervals[metric.name] for row in rows]
        middle = "over the flows of all seeds together" if metric.sample is not None else "mean over the seeds"
        text = f"{metric.meaning[:1].upper()}{metric.meaning[1:]}, {middle}; null where there is none."
        declared = _field(metric.name, pa.float64(), metric.unit, text, metric.identifier)
        columns.append((declared, [i.estimate for i in intervals]))
        for end, meaning, value in _ENDS:
            text = f"{meaning} {_WITHOUT}"
            declared = _field(f"{metric.name} {end}", pa.float64(), metric.unit, text, metric.identifier)
            columns.append((declared, [value(i) for i in intervals]))
    return _table(columns)


def parameters(settings: Sequence[Mapping[str, Value]], key: str) -> tuple[list[Any], str]:
    """The values of a key as a column has them, and their unit: quantities in s, bit/s or B; texts where not all are of one kind."""
    values = [point.get(key) for point in settings]
    converted = points.numbers(values)
    if converted is not None:
        numbers, unit = converted
        return (numbers, unit or "1")
    if all(value is None or isinstance(value, bool) for value in values):
        return values, "true or false"
    return [None if value is None else points.value_text(value) for value in values], "text"


def _parameters(settings: Sequence[Mapping[str, Value]], keys: Sequence[str]) -> list[tuple[pa.Field, list[Any]]]:
    columns = []
    for key in keys:
        values, unit = parameters(settings, key)
        kind = pa.string() if unit == "text" else pa.bool_() if unit == "true or false" else pa.float64()
        columns.append(
            (_field(key, kind, unit, f"Value of {key}; null where the point leaves it to the base scenario."), values)
        )
    return columns


def _field(name: str, kind: pa.DataType, unit: str, meaning: str, measure: str = "") -> pa.Field:
    return pa.field(name, kind, metadata=fields.metadata(fields.Field(name, unit, meaning, measure=measure)))


def _table(columns: Sequence[tuple[pa.Field, list[Any]]]) -> pa.Table:
    arrays = [pa.array(values, declared.type) for declared, values in columns]
    return pa.Table.from_arrays(arrays, schema=pa.schema([declared for declared, _ in columns]))

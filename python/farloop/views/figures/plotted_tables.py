"""Numbers of studies, arenas, answers and explanations as figures need them: by group and series, with intervals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from farloop.errors import FarloopError, UnknownNameError, clip_text, nearest
from farloop.output import reading
from farloop.output.manifest import damaged_error, read_manifest
from farloop.results import tables
from farloop.results.metric_titles import metric_title
from farloop.results.why import Explanation, cause_text
from farloop.results.why_job import JobExplanation
from farloop.safe_files import names
from farloop.statistics import Interval, mean
from farloop.studies.arena.quantities import quantity
from farloop.studies.sweep.dataset import OF_METRICS, POINTS
from farloop.studies.sweep.multiples import unit_of, value_text
from farloop.views.figures.marks import AxisQuantity, Heat

if TYPE_CHECKING:
    from farloop.results.run import Comparison

Values = dict[str, dict[str, Interval]]
"""For each group, and in it each series."""

BARS, HEATMAP = "bars", "heatmap"

_PER_UNIT = {"ps": ("s", 1e-12)}
_WORDS = {"share": "1", "time": "s", "rate": "bit/s", "count": "1", "ratio": "1"}


@dataclass(frozen=True)
class Numbers:
    """Numbers of an output without runs of its own.

    Attributes:
        title: Title of the output.
        across: Name of the axis of groups.
    """

    title: str
    across: str = ""
    what: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]] = (BARS, HEATMAP)

    def numbers(self, metric: str) -> tuple[AxisQuantity, Values]:
        """A metric by group and series; the usual one where it is empty.

        Raises:
            UnknownNameError: there is none of that name.
        """
        raise NotImplementedError

    def heat(self, values: Values) -> Heat:
        """The same as a heat map: series × groups."""
        series = list(dict.fromkeys(name for group in values.values() for name in group))
        missing = Interval(None, None, None, 0)
        cells = [[group.get(name, missing).estimate for group in values.values()] for name in series]
        return Heat(series, np.array(cells, dtype=np.float64), columns=list(values), across=self.across)


@dataclass(frozen=True)
class StudyPoints(Numbers):
    """The points of a study, as `points.parquet` has them."""

    points: pa.Table = field(default=None, repr=False)
    what: ClassVar[str] = "a study"

    @property
    def metrics(self) -> list[str]:
        """Columns with numbers that were collected."""
        columns = self.points.column_names
        return [name for name in columns if f"{name}{OF_METRICS[1]}" in columns]

    def numbers(self, metric: str) -> tuple[AxisQuantity, Values]:
        """A collected number: the last key that is varied makes the groups, algorithm and other keys the series."""
        if not self.metrics or not self.points.num_rows:
            raise FarloopError(f"{clip_text(self.title)}: has no point whose runs are done")
        name = _choose_name(metric, self.metrics, {_measure_of(self.points, name): name for name in self.metrics})
        columns = self.points.column_names
        keys = columns[columns.index("algorithm") + 1 : columns.index("seeds")]
        rows = self.points.to_pylist()
        has_algorithms = len({row["algorithm"] for row in rows}) > 1 or len(keys) < 2
        values: Values = {}
        for row in rows:
            texts = [f"{key.rpartition('.')[2]} = {_value_text(self.points, key, row[key])}" for key in keys]
            series = ", ".join([*([str(row["algorithm"])] if has_algorithms else []), *texts[:-1]])
            group = _value_text(self.points, keys[-1], row[keys[-1]]) if keys else ""
            low, high = (row[f"{name}{end}"] for end in OF_METRICS[1:])
            values.setdefault(group, {})[series] = Interval(row[name], low, high, int(row["seeds"]))
        return AxisQuantity(metric_title(name), unit_of(self.points, name) or "1"), values

    def heat(self, values: Values) -> Heat:
        """Series × values of the last key."""
        columns = self.points.column_names
        keys = columns[columns.index("algorithm") + 1 : columns.index("seeds")]
        own = super().heat(values)
        return Heat(own.rows, own.values, own.columns, across=keys[-1] if keys else "")


@dataclass(frozen=True)
class ArenaCells(Numbers):
    """The cells and the ranking of an arena, where every algorithm begins as it does by itself."""

    cells: pa.Table = field(default=None, repr=False)
    ranking: pa.Table = field(default=None, repr=False)
    what: ClassVar[str] = "an arena"

    def numbers(self, metric: str) -> tuple[AxisQuantity, Values]:
        """A column of the cells, mean over seeds, or the score with its interval: scenarios are groups, algorithms series."""
        rows = self.cells.to_pylist()
        start = rows[0]["start"] if rows else ""
        if metric in ("", "score", "arena_score"):
            values: Values = {}
            for row in self.ranking.to_pylist():
                if row["start"] == start:
                    interval = Interval(row["score"], row["score_low"], row["score_high"], int(row["seeds"]))
                    values.setdefault(str(row["scenario"]), {})[str(row["algorithm"])] = interval
            return AxisQuantity("score (less is better)"), values
        known = [f.name for f in self.cells.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
        known = [name for name in known if name != "seed"]
        name = _choose_name(metric, known, {_measure_of(self.cells, name): name for name in known})
        unit, factor = _PER_UNIT.get(unit_of(self.cells, name), (unit_of(self.cells, name), 1.0))
        samples: dict[str, dict[str, list[float]]] = {}
        for row in rows:
            if row["start"] == start and row[name] is not None:
                of = samples.setdefault(str(row["scenario"]), {})
                of.setdefault(str(row["algorithm"]), []).append(float(row[name]) * factor)
        by_scenario = {
            scenario: {label: mean(own, floor=0.0) for label, own in group.items()}
            for scenario, group in samples.items()
        }
        if not by_scenario:
            raise FarloopError(f"--metric {name}: no algorithm has it in any scenario")
        return AxisQuantity(re.sub("_(bps|bytes|ps|s)$", "", name).replace("_", " "), unit), by_scenario


@dataclass(frozen=True)
class PlottedAnswer(Numbers):
    """The candidates of an answer of `farloop advise`."""

    content: Mapping[str, Any] = field(default_factory=dict, repr=False)
    what: ClassVar[str] = "an answer of advise"
    kinds: ClassVar[tuple[str, ...]] = (BARS,)

    def numbers(self, metric: str) -> tuple[AxisQuantity, Values]:
        """A quantity of every candidate that ran: the mean over its seeds."""
        known = list(dict.fromkeys(name for row in self.content["candidates"] for name in row["quantities"]))
        if not known:
            raise FarloopError(f"{clip_text(self.title)}: no candidate ran to its end")
        name = _choose_name(metric.replace("_", " "), known, {quantity(name).measure: name for name in known})
        seeds: dict[str, list[float]] = {row["name"]: [] for row in self.content["candidates"]}
        for run in self.content["runs"]:
            if run.get(name) is not None:
                seeds.setdefault(run["candidate"], []).append(float(run[name]))
        kind = _WORDS.get(quantity(name).kind, "1")
        return AxisQuantity(name, kind), {"": {label: mean(own, floor=0.0) for label, own in seeds.items() if own}}


@dataclass(frozen=True)
class PlottedTime(Numbers):
    """Where the time of a flow or of an iteration went."""

    explanation: Explanation | JobExplanation | None = field(default=None, repr=False)
    what: ClassVar[str] = "an explanation"
    kinds: ClassVar[tuple[str, ...]] = (BARS,)

    def numbers(self, metric: str) -> tuple[AxisQuantity, Values]:
        """The time by cause, the largest first."""
        _choose_name(metric, ["time"], {})
        assert self.explanation is not None
        totals: dict[str, int] = {}
        for part in self.explanation.parts:
            label = cause_text(part) + (f" ({part['limit']})" if part["limit"] else "")
            totals[label] = totals.get(label, 0) + int(part["time_ps"])
        ordered = sorted(totals.items(), key=lambda item: -item[1])
        bars = {label: Interval(time / 1e12, None, None, 1) for label, time in ordered}
        return AxisQuantity(f"time of {self.explanation.title}", "s"), {"": bars}


def read_plotted(source: Path) -> Comparison | Numbers:
    """Reads the runs or numbers of an output that `farloop plot` draws.

    Raises:
        FarloopError: it is no complete farloop output, or one without anything to draw.
    """
    kept = read_manifest(source)
    try:
        if kept["kind"] == "study":
            return StudyPoints(str(kept["title"]), points=tables.read_any(source / f"{POINTS}.parquet"))
        if kept["kind"] == "arena":
            cells, ranking = (tables.read_any(source / f"{name}.parquet") for name in ("cells", "ranking"))
            return ArenaCells("Arena", "scenario", cells, ranking)
        if kept["kind"] == "advice":
            with names.open_regular(source / "answer.json") as file:
                content = json.loads(file.read().decode("utf-8"))
            return PlottedAnswer(str(content["title"]), content=content)
    except FarloopError:
        raise
    except Exception as error:
        raise damaged_error(source, error) from None
    if kept["kind"] == "validation":
        raise FarloopError(
            f"{source}: is an output of validate, whose report has its pictures; expected one of run, compare, reproduce (a figure in it), "
            "sweep, arena or advise"
        )
    return reading.load(source)


def _choose_name(metric: str, known: list[str], by_measure: Mapping[str, str]) -> str:
    """A known name that a metric is, or has the identifier of."""
    if not metric:
        return known[0]
    if metric in known:
        return metric
    if metric and metric in by_measure:
        return by_measure[metric]
    raise UnknownNameError(f"--metric {clip_text(metric)}: no such metric here; {nearest(metric, known)}")


def _measure_of(table: pa.Table, name: str) -> str:
    return str((table.schema.field(name).metadata or {}).get(b"measure", b"").decode())


def _value_text(table: pa.Table, key: str, value: Any) -> str:
    return str(value_text(value, unit_of(table, key)))

"""Sweeps the definition of a study, and writes its tables."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from farloop import _native, algorithm
from farloop.deprecation import warn_renamed
from farloop.errors import FarloopError, UnknownNameError, clip_text, nearest
from farloop.experiments.execution import Execution
from farloop.experiments.journal import journal_trouble
from farloop.output import manifest, reading
from farloop.output.directories import directory, finished_runs
from farloop.output.store import Store
from farloop.output.writing import write_run
from farloop.results import frames, tables
from farloop.results.measures import VERSION
from farloop.results.showing import Drawable
from farloop.results.tables import Floats
from farloop.running.progress import Counting, Uncounted
from farloop.studies.sweep import dataset, precision
from farloop.studies.sweep.dataset import DONE, FAILED, POINTS, RUNS, Row, Summary
from farloop.studies.sweep.definition import Definition
from farloop.studies.sweep.making import Counts, StudyRunner, rows_by_point
from farloop.studies.sweep.points import ALGORITHM, SEED
from farloop.studies.sweep.precision import Unmet

if TYPE_CHECKING:
    from farloop.results.run import Run

STORE = "run-store"
"""Default directory of finished runs, beside the outputs."""

KIND = "study"
"""Kind of a study in manifests."""

Draw = Callable[[Mapping[str, Any], pa.Table, pa.Table, Path], list[str]]
"""Writes pictures and report of a manifest, its runs and its points into a directory; notes on what could not be drawn."""


@dataclass(frozen=True)
class Study(Drawable):
    """A study that has been swept, and what it found.

    Attributes:
        directory: Where it was written.
        title: Title of the study.
        runs: A row for every run: its parameters, metrics, and where it is (Arrow).
        points: A row for every point: its parameters, and each metric over its seeds with its 95 % interval (Arrow).
        counts: Number of runs made, and of runs found in the store.
        notes: Failures, and other notes for people.
        unmet: The points whose precision was not reached within the limit of seeds.
        cautions: Cautions, in words.
    """

    directory: Path
    title: str
    runs: pa.Table = field(repr=False)
    points: pa.Table = field(repr=False)
    counts: Counts = field(default_factory=Counts)
    notes: list[str] = field(default_factory=list)
    unmet: list[Unmet] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)

    @property
    def told(self) -> list[str]:
        """The old name of `notes`."""
        warn_renamed("Study.told", "Study.notes")
        return self.notes

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows of the runs whose simulation failed, with the cause; not of those that are refused, since their scenario is none."""
        return [row for row in self.runs.to_pylist() if row["status"] == FAILED]

    def to_pandas(self, table: str = "points") -> Any:
        """The points, or the runs, as a data frame of pandas.

        Args:
            table: "points" or "runs".

        Raises:
            UnknownNameError: there is no such table.
            FarloopError: pandas is not installed.
        """
        return frames.to_pandas(self._table(table))

    def to_polars(self, table: str = "points") -> Any:
        """The points, or the runs, as a data frame of polars.

        Args:
            table: "points" or "runs".

        Raises:
            UnknownNameError: there is no such table.
            FarloopError: polars is not installed.
        """
        return frames.to_polars(self._table(table))

    def _table(self, name: str) -> pa.Table:
        if name not in (POINTS, RUNS):
            raise UnknownNameError(f"{clip_text(name)}: no such table; {nearest(str(name), (POINTS, RUNS))}")
        return self.points if name == POINTS else self.runs

    def run(self, number: int) -> Run:
        """The run of a number, as the column `run` has it.

        Raises:
            FarloopError: there is none, or it is not done.
        """
        if not 1 <= number <= self.runs.num_rows:
            raise FarloopError(f"run {number}: there are runs 1 to {self.runs.num_rows}")
        path = self.runs["path"][number - 1].as_py()
        if path is None:
            raise FarloopError(f"run {number}: is not done: {self.runs['because'][number - 1].as_py()}")
        return reading.load(self.directory / path).runs[0]


def default_target(name: str) -> Path:
    """Where the study of a file of this name goes."""
    return Path("out") / manifest.slug(name)


def store_of(target: Path, execution: Execution) -> Path:
    """Where the runs of a study are kept that is written to `target`: in the store of its execution, or beside it."""
    return (target.parent / STORE).absolute() if execution.run_store is None else execution.run_store.directory


def sweep(
    definition: Definition,
    target: Path,
    execution: Execution,
    *,
    retry: bool = False,
    force: bool = False,
    draw: Draw | None = None,
    counting: Counting | None = None,
) -> Study:
    """Makes the runs of a study that are not there, and writes all of it into `target`, with the views that `draw` writes.

    Raises:
        FarloopError: something of the study is wrong, or it cannot be written.
        ScenarioError: the base scenario is not valid.
    """
    _check_names(definition)
    with directory(target, force=force) as out:
        where = store_of(target, execution)
        kept = Store(where, finished_runs(target))
        try:
            where.mkdir(parents=True, exist_ok=True)
            trouble = journal_trouble(where)
            with execution:
                shown = counting or Uncounted()
                making = StudyRunner(definition, kept, lambda: execution.engine(where), shown, retry, execution.threads)
                making.make()
            runs, points = _fill(making, out.path)
            unmet = making.unmet()
            notes = _write(making, runs, points, unmet, out.path, draw)
        except OSError as error:
            raise FarloopError(f"{error.filename or where}: cannot be written: {error.strerror or error}") from None
        except BaseException as error:
            if making_left := len(kept):
                error.add_note(f"{making_left} finished runs are in {where}; the same command goes on from there")
            else:
                with contextlib.suppress(OSError):
                    where.rmdir()  # Only where it is empty.
            raise
    messages = [
        *making.messages(),
        *(point.in_words() for point in unmet),
        *_find_unused(making),
        *notes,
        *([trouble] if trouble else []),
    ]
    return Study(target, definition.title, runs, points, making.counts, messages, unmet, _cautions(making))


def _cautions(making: StudyRunner) -> list[str]:
    return [str(caution["text"]) for caution in making.noted.content()["cautions"]]


def _find_unused(making: StudyRunner) -> list[str]:
    """Returns notes about algorithms in Python that no point names."""
    if not making.definition.base.classes:
        return []
    rows = [row for row in making.rows if row.key]
    named = {row.algorithm for row in rows if row.algorithm}
    resolved = making.scenario(rows[0]).parsed if rows else {}
    left = algorithm.find_unused(making.definition.base.classes, resolved, named)
    return [f"{text.partition(';')[0]}; [grid] algorithm or another key may" for text in left]


def _check_names(definition: Definition) -> None:
    for metric in definition.collect:
        if metric.name in dataset.RESERVED or metric.name in definition.varied:
            raise FarloopError(
                f"collect: {clip_text(metric.name)}: is the name of another column; give the function another name"
            )


def _fill(making: StudyRunner, into: Path) -> tuple[pa.Table, pa.Table]:
    """Writes the runs into an existing directory, and measures them; the tables."""
    definition = making.definition
    keys = [key for key in definition.varied if key not in (ALGORITHM, SEED)]
    rows = making.rows
    summaries: list[Summary] = []
    for number, of_point in rows_by_point(rows).items():
        same = [row for row in of_point if row.status == DONE]
        samples: dict[str, list[Floats]] = {metric.name: [] for metric in definition.collect}
        for row in same:
            _measure(making, row, samples, into)
        if same:
            intervals = {
                metric.name: precision.interval(metric, [row.values[metric.name] for row in same], samples[metric.name])
                for metric in definition.collect
            }
            making.noted.note_sizes(definition.collect, samples)
            summaries.append(Summary(number, same[0].settings, same[0].algorithm, len(same), intervals))
    runs = dataset.runs(rows, keys, definition.collect)
    points = dataset.summaries(summaries, keys, definition.collect)
    return runs, points


def _measure(making: StudyRunner, row: Row, samples: dict[str, list[Floats]], into: Path) -> None:
    """Writes a run, unless another row has the same one, and measures it."""
    run = making.run(row).by_sizes(making.definition.sizes)
    row.path = f"{RUNS}/{row.key[:16]}"
    where = into / row.path
    if not where.exists():
        where.mkdir(parents=True)
        content = write_run(run, where, making.store)
        manifest.write_json(where / manifest.MANIFEST, content | {"files": manifest.files(where)})
    row.warm_up = precision.warm_up(making.definition.warm_up, run)
    making.noted.note(row, run)
    for metric in making.definition.collect:
        row.values[metric.name] = metric.measure_run(run, row.warm_up)
        if metric.sample is not None:
            samples[metric.name].append(metric.sample(run, row.warm_up))


def _write(
    making: StudyRunner, runs: pa.Table, points: pa.Table, unmet: Sequence[Unmet], into: Path, draw: Draw | None
) -> list[str]:
    """Writes the tables, the views and the manifest; notes on what could not be drawn."""
    definition = making.definition
    tables.write(runs, into / f"{RUNS}.parquet")
    tables.write(points, into / f"{POINTS}.parquet")
    content: dict[str, Any] = {
        "farloop": _native.version(),
        "definitions": VERSION,
        "kind": KIND,
        "title": definition.title,
        "base": {
            "file": definition.base.display_name,
            "overrides": list(definition.base.overrides),
            "text": definition.base.text,
        },
        "keys": [key for key in definition.varied if key != SEED],
        "collect": [
            {"name": metric.name, "unit": metric.unit, "meaning": metric.meaning, "better": metric.better}
            for metric in definition.collect
        ],
        "measures": {metric.name: metric.identifier for metric in definition.collect if metric.identifier},
        "pareto": [metric.name for metric in definition.pareto or ()],
        "until": None if definition.until is None else definition.until.text,
        "unmet": [point.row() for point in unmet],
        "warmup": definition.warm_up,
        "sizes": None if definition.sizes is None else definition.sizes.name,
        "excluded": definition.excluded,
        "classes": {algorithm.name_of(class_): algorithm.digest(class_) for class_ in definition.base.classes},
        **making.noted.content(),
        **manifest.circumstances_of_study(),
    }
    notes = [] if draw is None else draw(content, runs, points, into)
    manifest.write_json(into / manifest.MANIFEST, content | {"notes": notes, "files": manifest.files(into)})
    return notes

"""Studies from Python and for the command line: sweeps a definition, writes what came of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from farloop import _native, algorithm
from farloop.errors import FarloopError, shown
from farloop.experiments.execution import Execution
from farloop.experiments.journal import journal_trouble
from farloop.output import manifest, reading
from farloop.output.directories import directory, finished_runs
from farloop.output.store import Store
from farloop.output.writing import write_run
from farloop.results import tables
from farloop.results.measures import VERSION
from farloop.results.tables import Floats
from farloop.running.progress import Counting, Uncounted
from farloop.scenario import Source
from farloop.sweep import dataset, precision
from farloop.sweep.dataset import DONE, FAILED, POINTS, RUNS, Row, Summary
from farloop.sweep.definition import Collected, Definition, Files, from_file, from_python
from farloop.sweep.making import Counts, Making, rows_by_point
from farloop.sweep.points import ALGORITHM, SEED
from farloop.sweep.precision import Unmet

if TYPE_CHECKING:
    from farloop.results.run import Run

STORE = "run-store"
"""Where finished runs are kept, beside the outputs, if nothing else is said."""

KIND = "study"
"""What manifests call a study."""


@dataclass(frozen=True)
class Study:
    """A study that has been swept, and what it found.

    Attributes:
        directory: Where it was written.
        title: What it is about.
        runs: A row for every run: its parameters, metrics, and where it is (Arrow).
        points: A row for every point: its parameters, and each metric over its seeds with its 95 % interval (Arrow).
        counts: How many runs were made, and how many were there already.
        told: What failed, and what else people should know.
        unmet: The points whose precision was not reached within the limit of seeds.
        cautions: What a user may believe wrongly, in words.
    """

    directory: Path
    title: str
    runs: pa.Table = field(repr=False)
    points: pa.Table = field(repr=False)
    counts: Counts = field(default_factory=Counts)
    told: list[str] = field(default_factory=list)
    unmet: list[Unmet] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows of the runs whose simulation failed, with the cause; not of those that are refused, since their scenario is none."""
        return [row for row in self.runs.to_pylist() if row["status"] == FAILED]

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


def study(
    file: str | PathLike[str] | None = None,
    *,
    base: Source | None = None,
    title: str | None = None,
    algorithm_file: Files | None = None,
    set: Mapping[str, Any] | None = None,
    grid: Mapping[str, Iterable[Any]] | None = None,
    listed: Iterable[Mapping[str, Any]] | None = None,
    random: Mapping[str, Any] | None = None,
    where: str | Iterable[str] | None = None,
    sizes: str | None = None,
    collect: Collected | Iterable[Collected] | None = None,
    pareto: Iterable[Collected] | None = None,
    until: str | None = None,
    most_seeds: int | None = None,
    warmup: str | None = None,
    out: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    workers: int | None = None,
    ray: str | None = None,
    slurm: str | None = None,
    retry: bool = False,
    force: bool = False,
    force_memory: bool = False,
    report: bool = True,
    progress: Counting | None = None,
    execution: Execution | None = None,
) -> Study:
    """Simulates many points of a scenario, in processes side by side, and writes what they have to say into a directory.

    Either `file`, or `base` with what a file would say. Runs that are there are not made again, whoever made them.

    Args:
        file: A study's file (TOML).
        base: The scenario that all points change: a file, the name of a paper's figure, or a loaded scenario.
        title: What it is about.
        algorithm_file: Files of Python with algorithms, which may then be named wherever an algorithm is; so may classes in a file.
        set: Settings for all points.
        grid: Values by key, combined each with each: `{"algorithm": ["hpcc", "dctcp"], "workload.load": [0.3, 0.6], "seed": "1-10"}`.
        listed: Points, each a mapping of keys to values.
        random: `{"samples": 20, "seed": 1, "network.wan_delay": {"from": "1ms", "to": "50ms", "scale": "log"}}`.
        where: Constraints between keys, such as "network.wan_delay > 2 * network.link_delay".
        sizes: Classes of flow sizes for the names of metrics: "gemini", "median", or bounds such as "20kB,1MB".
        collect: Names of metrics, such as "p99_slowdown", functions from a `Run` to a number, or mappings from names to such.
        pareto: Two of them, for the Pareto front.
        until: A precision, such as "p99 slowdown ± 5 %": seeds are added until the 95 % confidence interval is as narrow.
        most_seeds: The limit for that (by default 100).
        warmup: What is cut of each run's beginning for metrics of flows and samples: "none", "mser-5" (default with `until`), or a time.
        out: Where to write (by default below out/, under the name of the file).
        store: Where finished runs are kept and looked for (by default run-store beside `out`).
        workers: Processes side by side (by default one per processor).
        ray: Run on this Ray cluster: "auto", or an address.
        slurm: Run as Slurm jobs with these options, such as "partition=short,time=2:00:00".
        retry: Try again what has failed before.
        force: Write beside files that farloop did not write, over those of the same names.
        force_memory: Start runs also where one may take more memory than there is; without it such runs are refused, the others made.
        report: With the report and the pictures; `farloop report` draws them later.
        progress: What shows how many runs are done.
        execution: How and where to simulate, in place of `store`, `workers`, `ray`, `slurm` and `force_memory`.

    Raises:
        FarloopError: something of the study is wrong, or it cannot be written. A run that fails is no error: see `Study.failures`.
        ScenarioError: the base scenario is not valid.
    """
    described = (
        title,
        algorithm_file,
        set,
        grid,
        listed,
        random,
        where,
        sizes,
        collect,
        pareto,
        until,
        most_seeds,
        warmup,
    )
    if (file is None) == (base is None):
        raise FarloopError("file and base: expected one of them")
    if file is not None:
        if any(argument is not None for argument in described):
            raise FarloopError("file: expected no other argument beside it; to build a study from a scenario, use base")
        definition = from_file(file)
    else:
        assert base is not None
        definition = from_python(
            base,
            title=title,
            algorithm_file=algorithm_file,
            set=set,
            grid=grid,
            listed=listed,
            random=random,
            where=where,
            sizes=sizes,
            collect=collect,
            pareto=pareto,
            until=until,
            most_seeds=most_seeds,
            warmup=warmup,
        )
    name = Path(file).stem if file is not None else Path(definition.base.file).stem
    target = Path(out) if out is not None else default_target(name)
    execution = Execution.select(
        execution, store=store, workers=workers, ray=ray, slurm=slurm, force_memory=force_memory
    )
    with execution:
        return sweep(definition, target, execution, retry=retry, force=force, report=report, counting=progress)


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
    report: bool = True,
    counting: Counting | None = None,
) -> Study:
    """Makes the runs of a study that are not there, and writes all of it into `target`.

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
            with execution.default_to_workers() as by_workers:
                making = Making(definition, kept, by_workers.engine(where), counting or Uncounted(), retries=retry)
                making.make()
            runs, points = _fill(making, out.path)
            unmet = making.unmet()
            notes = _write(making, runs, points, unmet, out.path, report=report)
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
        *_unused(making),
        *notes,
        *([trouble] if trouble else []),
    ]
    return Study(target, definition.title, runs, points, making.counts, messages, unmet, _cautions(making))


def _cautions(making: Making) -> list[str]:
    return [str(caution["text"]) for caution in making.noted.content()["cautions"]]


def _unused(making: Making) -> list[str]:
    """What to tell of algorithms in Python that no point names."""
    if not making.definition.base.classes:
        return []
    rows = [row for row in making.rows if row.key]
    named = {row.algorithm for row in rows if row.algorithm}
    resolved = making.scenario(rows[0]).parsed if rows else {}
    left = algorithm.unused(making.definition.base.classes, resolved, named)
    return [f"{text.partition(';')[0]}; [grid] algorithm or another key may" for text in left]


def _check_names(definition: Definition) -> None:
    for metric in definition.collect:
        if metric.name in dataset.RESERVED or metric.name in definition.varied:
            raise FarloopError(
                f"collect: {shown(metric.name)}: is the name of another column; give the function another name"
            )


def _fill(making: Making, into: Path) -> tuple[pa.Table, pa.Table]:
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


def _measure(making: Making, row: Row, samples: dict[str, list[Floats]], into: Path) -> None:
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
        row.values[metric.name] = metric.of(run, row.warm_up)
        if metric.sample is not None:
            samples[metric.name].append(metric.sample(run, row.warm_up))


def _write(
    making: Making, runs: pa.Table, points: pa.Table, unmet: Sequence[Unmet], into: Path, *, report: bool
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
            "file": definition.base.file_told,
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
    }
    notes = write_views(content, runs, points, into) if report else []
    manifest.write_json(into / manifest.MANIFEST, content | {"notes": notes, "files": manifest.files(into)})
    return notes


def write_views(content: Mapping[str, Any], runs: pa.Table, points: pa.Table, into: Path) -> list[str]:
    """Writes pictures and report of a study; notes on what could not be drawn."""
    from farloop.output.report_files import attempt
    from farloop.sweep import drawing, findings

    notes: list[str] = []
    pictures = into / manifest.FIGURES
    pictures.mkdir(exist_ok=True)
    attempt("the pictures could not be drawn", lambda: drawing.draw(content, points, pictures), notes)
    made: list[str] = []
    attempt("the report could not be drawn", lambda: made.append(findings.page(content, runs, points, notes)), notes)
    if made:
        (into / manifest.REPORT).write_text(made[0], encoding="utf-8", errors="replace")
    return notes


def rewrite(source: Path, kept: Mapping[str, Any], aside: Path) -> None:
    """Draws a study on disk anew, from its tables, into a directory of `rewriting`.

    Raises:
        FarloopError: something could not be drawn.
    """
    runs, points = (tables.read_any(source / f"{name}.parquet") for name in (RUNS, POINTS))
    notes = write_views(kept, runs, points, aside)
    if notes:
        raise FarloopError(f"{source}: {'; '.join(notes)}; the old report stays")

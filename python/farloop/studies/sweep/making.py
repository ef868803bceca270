"""Makes the runs of a study: a row for each, those that are not there by an engine, more seeds until enough is known."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from farloop import _native
from farloop.errors import FarloopError, clip_text
from farloop.experiments.execution import Engine
from farloop.experiments.journal import KEPT, MADE
from farloop.experiments.task_runs import count_tasks, threads_of_each
from farloop.experiments.tasks import DECLINED, Task
from farloop.experiments.tasks import FAILED as TASK_FAILED
from farloop.experiments.variants import Variant, make_run
from farloop.output.store import Store, address
from farloop.results.run import Run
from farloop.results.seeds import LARGEST_SEED, seed_suffix
from farloop.results.tables import Floats
from farloop.running.progress import LINE_EVERY, Counting
from farloop.scenario import Scenario
from farloop.statistics import Interval
from farloop.studies.sweep import points, precision
from farloop.studies.sweep.dataset import DONE, FAILED, REFUSED, Row
from farloop.studies.sweep.definition import Definition
from farloop.studies.sweep.points import ALGORITHM, SEED, Point
from farloop.studies.sweep.precision import Unmet
from farloop.studies.sweep.remarks import Remarks
from farloop.units import count_text

FIRST_WORD = 1.0
"""Seconds until a note appears about a step that takes long."""


def rows_by_point(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """The rows of each point, by its number, in the order of the numbers."""
    by_point: dict[int, list[Row]] = {}
    for row in rows:
        by_point.setdefault(row.point, []).append(row)
    return dict(sorted(by_point.items()))


@dataclass
class Counts:
    """Counts of runs by outcome.

    Attributes:
        made: Runs that were simulated.
        kept: Runs that were there.
        lost: Workers that ended in the middle of a run, which was made again.
    """

    made: int = 0
    kept: int = 0
    lost: int = 0

    def lose(self) -> None:
        """A worker has ended in the middle of a run."""
        self.lost += 1


@dataclass
class StudyRunner:
    """The runs of a study, as far as they are made.

    Attributes:
        definition: The study.
        store: Where runs are found, and put.
        engine: Gives what makes them, when some are to be made.
        counting: Shows progress.
        retries: True to run again what has failed before.
        threads: Number of threads for all runs together; by default one per processor.
        rows: The runs.
        counts: Counts of runs by outcome.
        noted: Remarks on the runs.
    """

    definition: Definition
    store: Store
    engine: Callable[[], Engine]
    counting: Counting
    retries: bool = False
    threads: int | None = None
    rows: list[Row] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    noted: Remarks = field(default_factory=Remarks)
    _points: list[Point] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _tried: set[str] = field(default_factory=set)
    _specified: dict[str, tuple[bytes, int | None]] = field(default_factory=dict)
    """By address: the scenario with all its keys, as compressed JSON, and the bytes of memory that its run takes, if it was not there."""
    _measured: dict[str, tuple[float | None, Floats | None]] = field(default_factory=dict)

    def make(self) -> None:
        """Makes all runs, and more seeds where a precision is asked for.

        Raises:
            FarloopError: a value of a key is none that it can have, no point can be simulated, or runs cannot be made or kept here.
            ScenarioError: the base scenario is not valid.
        """
        self._plan(self._first_points())
        if all(row.status == REFUSED for row in self.rows):
            # A wrong base scenario would give the same message for any point.
            raise _native.ScenarioError(self.rows[0].because)
        self._make(self.rows)
        if all(row.status == REFUSED for row in self.rows):
            raise FarloopError(f"{self.definition.base.file}: {self.rows[0].because}")
        if self.definition.until is not None:
            while more := self._list_missing():
                self.counting.note(f"{count_text(len(more), 'more run')} for {self.definition.until.text}")
                before = len(self.rows)
                self._plan(more)
                self._make(self.rows[before:])

    def scenario(self, row: Row) -> Scenario:
        """The scenario of a row."""
        point: Point = self._points[row.point] | ({} if row.seed is None else {SEED: row.seed})
        scenario = self.definition.scenario(point)
        specified = self._specified.get(row.key)
        return scenario if specified is None else scenario.attach_resolved(json.loads(zlib.decompress(specified[0])))

    def run(self, row: Row) -> Run:
        """The run of a row that is done."""
        stored = self.store.get(row.key)
        if stored is None:
            raise FarloopError(
                f"{self.store.directory}: the run {row.label} was taken away while it was needed; sweep again"
            )
        return make_run(stored, Variant(row.label, "", row.algorithm or "", self.scenario(row)))

    def _first_points(self) -> list[Point]:
        """The study's points; those that say no seed take the first ones where a precision is asked for."""
        given = self.definition.points
        if self.definition.until is None:
            return given
        first = min(precision.MIN_SEEDS, self.definition.most_seeds)
        return [
            point | {SEED: seed}
            for point in given
            for seed in ([point[SEED]] if SEED in point else range(1, first + 1))
        ]

    def _plan(self, wanted: Sequence[Point]) -> None:
        """Adds a row for each point, and says how far that is where it takes long."""
        noted_at = time.monotonic() - LINE_EVERY + FIRST_WORD
        for count, point in enumerate(wanted):
            if time.monotonic() - noted_at > LINE_EVERY:
                noted_at = time.monotonic()
                self.counting.note(f"{count:,} of {len(wanted):,} points are worked out")
            settings = {key: value for key, value in point.items() if key != SEED}
            name = repr(sorted(settings.items()))
            if name not in self._numbers:
                self._numbers[name] = len(self._points)
                self._points.append(settings)
            self.rows.append(self._row(self._numbers[name], point))

    def _row(self, number: int, point: Point) -> Row:
        seed = point.get(SEED)
        settings = {key: value for key, value in point.items() if key not in (SEED, ALGORITHM)}
        named = point.get(ALGORITHM)
        parts = [
            *([str(named)] if named is not None else []),
            *(f"{key} {points.value_text(value)}" for key, value in settings.items()),
        ]
        row = Row(
            number,
            settings,
            None if named is None else str(named),
            seed if isinstance(seed, int) else None,
            (", ".join(parts) or "base") + (seed_suffix(seed) if isinstance(seed, int) else ""),
        )
        scenario = self.definition.scenario(point)
        try:
            key = address(scenario)
            # Only for a run that is still to be made: whether there is such a network, and how much memory it takes.
            memory = None if key in self.store else scenario.memory.total
            resolved, row.key = scenario.parsed, key
        except _native.ScenarioError as error:
            self._refuse_value(error, point)
            row.status, row.because = REFUSED, str(getattr(error, "problem", error)) if self.rows else str(error)
            return row
        row.algorithm, row.seed = str(resolved["algorithm"]["name"]), int(resolved["run"]["seed"])
        self._specified[row.key] = zlib.compress(json.dumps(resolved).encode()), memory
        return row

    def _refuse_value(self, error: _native.ScenarioError, point: Point) -> None:
        """Where a setting itself is wrong, and not what it comes to together with others, the study is wrong.

        Raises:
            FarloopError: it is.
        """
        option, _, problem = str(error).partition(": ")
        if option != "set":
            return
        about = problem.partition(": ")[0]
        names = {key: points.NAMES.get(key, key) for key in (*self.definition.places, *point)}
        near = [
            key
            for key, name in names.items()
            if name == about or name.startswith(f"{about}.") or about.startswith(f"{name}.")
        ]
        place = next((self.definition.places[key] for key in near if self.definition.places.get(key)), "")
        raise FarloopError(f"{place}: {problem}" if place else problem) from None

    def _make(self, rows: Sequence[Row]) -> None:
        """Makes those of the runs that are not there; writes into their rows how they stand."""
        of_key: dict[str, list[Row]] = {}
        for row in rows:
            if row.key:
                of_key.setdefault(row.key, []).append(row)
        missing = []
        for key, same in of_key.items():
            if key in self.store:
                self.counts.kept += 1
                continue
            because = self.store.failure(key)
            if because and not (self.retries and key not in self._tried):
                self._stand(same, FAILED, because)
                continue
            missing.append(key)
        self._tried |= set(missing)
        there = len(of_key) - len(missing)
        if not missing:
            self.counting.begin(0, there, 0)
            return
        engine = self.engine()
        self.counting.begin(len(missing), there, min(engine.workers, len(missing)))
        tasks = self._tasks(missing, of_key, threads_of_each(engine, len(missing), self.threads))
        for task, outcome in count_tasks(engine, tasks, self.store, self.counting, self._for_people, self.counts.lose):
            if outcome.status == MADE:
                self.counts.made += 1
            elif outcome.status == KEPT:
                self.counts.kept += 1
            elif outcome.status == TASK_FAILED:
                self._stand(of_key[task.key], FAILED, outcome.because)
            elif outcome.status == DECLINED:
                self._stand(of_key[task.key], REFUSED, outcome.because)
                for row in of_key[task.key]:
                    row.key = ""

    def _tasks(self, missing: Sequence[str], of_key: dict[str, list[Row]], threads: int) -> Iterator[Task]:
        for key in missing:
            row = of_key[key][0]
            files = self.definition.algorithm_files
            memory = self._specified[key][1]
            yield Task.from_scenario(key, row.label, self.scenario(row), self.store.directory, threads, files, memory)

    def _for_people(self, because: str, task: Task) -> str:
        """Returns a worker's message, with files as the study names them: workers may have another working directory."""
        because = because.replace(task.file, self.definition.base.file)
        for file, given in zip(task.algorithm_files, self.definition.algorithm_files, strict=True):
            because = because.replace(file, str(given))
        return because

    @staticmethod
    def _stand(rows: Sequence[Row], status: str, because: str) -> None:
        for row in rows:
            row.status, row.because = status, because

    def _list_missing(self) -> list[Point]:
        """The points with the seeds that are still to be run for the precision that is asked for."""
        target = self.definition.until
        assert target is not None
        more: list[Point] = []
        for number, rows in rows_by_point(self.rows).items():
            settings = self._points[number]
            if any(row.status != DONE for row in rows):
                # More seeds of what fails would fail.
                continue
            now = self.interval(rows)
            count = precision.more_seeds(target, now, len(rows), self.definition.most_seeds)
            last = max(row.seed or 0 for row in rows)
            if last + count > LARGEST_SEED:
                raise FarloopError(f"seed: {last}: there are no {count} seeds after it; expected smaller ones")
            more += [settings | {SEED: last + 1 + i} for i in range(count)]
        return more

    def interval(self, rows: Sequence[Row]) -> Interval:
        """Returns the interval, over the runs of one point, of the metric that must be precise."""
        target = self.definition.until
        assert target is not None
        for row in rows:
            if row.key not in self._measured:
                run = self.run(row)
                cut = precision.warm_up(self.definition.warm_up, run)
                sample = target.measure.sample
                self._measured[row.key] = (
                    target.measure.measure_run(run, cut),
                    None if sample is None else sample(run, cut),
                )
        measured = [self._measured[row.key] for row in rows]
        return precision.interval(
            target.measure, [number for number, _ in measured], [s for _, s in measured if s is not None]
        )

    def unmet(self) -> list[Unmet]:
        """The points whose precision was not reached; none where none was asked for."""
        target = self.definition.until
        unmet: list[Unmet] = []
        for number in range(len(self._points) if target is not None else 0):
            rows = [row for row in self.rows if row.point == number]
            if target is None or any(row.status != DONE for row in rows):
                # Failed runs are listed as failures.
                continue
            now = self.interval(rows)
            if now.estimate is None or not precision.is_precise(target, now, len(rows)):
                seed = rows[0].seed
                label = rows[0].label.removesuffix("" if seed is None else seed_suffix(seed))
                unmet.append(Unmet(number + 1, label, target, now, len(rows)))
        return unmet

    def messages(self) -> list[str]:
        """Returns the missing runs and their reasons, for people; runs with the same cause together."""
        by_cause: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            if row.status != DONE:
                by_cause.setdefault((row.status, row.because), []).append(row)
        return [
            rows[0].label
            + (f" and {count_text(len(rows) - 1, 'other run')}" if len(rows) > 1 else "")
            + f": {status}: {clip_text(because, 300)}"
            for (status, because), rows in by_cause.items()
        ]

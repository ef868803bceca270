"""Runs simulations as tasks of an engine: threads, workers on this machine, or those of a cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from farloop import algorithm
from farloop.algorithm import Algorithm
from farloop.errors import FarloopError
from farloop.experiments.execution import Engine, Execution
from farloop.experiments.journal import KEPT, MADE
from farloop.experiments.tasks import BROKEN, DECLINED, FAILED, LOST, Outcome, Task
from farloop.experiments.threads import Job, check_memory, number_of_threads, plan_jobs, read_back
from farloop.formats.scenario_text import worded_for_python
from farloop.output.store import Simulated, Store
from farloop.results.gears import PACKETS, gear_of
from farloop.running.progress import Counting, Reporter, tell_gear, tell_kept, tell_note
from farloop.scenario import Scenario

Explain = Callable[[str, Task], str]
"""Says why a task ended as it did in words for people: workers may have another working directory, and know files by their whole names."""


def finish_tasks(
    engine: Engine,
    tasks: Iterable[Task],
    delayed: Callable[[Task, Outcome], None],
    explain: Explain,
    progress: Callable[[Task, float, float, int], None] | None = None,
) -> Generator[tuple[Task, Outcome]]:
    """Makes tasks; gives each with its outcome when it has ended for good.

    Args:
        engine: Makes the tasks.
        tasks: The tasks.
        delayed: Called with the outcome of a task that goes on.
        explain: Says why in words for people.
        progress: Called when a task begins, and now and then while it is made.

    Raises:
        FarloopError: a task cannot be done here.
    """
    with closing(engine.outcomes(tasks, progress)) as outcomes:
        for task, outcome in outcomes:
            if outcome.delay:
                delayed(task, outcome)
                continue
            ended = replace(outcome, because=explain(outcome.because, task))
            if ended.status == BROKEN:
                raise FarloopError(ended.because)
            yield task, ended


def count_tasks(
    engine: Engine,
    tasks: Iterable[Task],
    store: Store,
    counting: Counting,
    explain: Explain = lambda because, _: because,
    lost: Callable[[], None] = lambda: None,
) -> Generator[tuple[Task, Outcome]]:
    """Makes the tasks of a study that goes on where some fail; gives each with its outcome.

    The store keeps why a simulation failed. It keeps nothing of one for which there is no memory here: another machine may have it.

    Args:
        engine: Makes the tasks.
        tasks: The tasks.
        store: Where the runs go.
        counting: Shows progress.
        explain: Words for people from those of a task.
        lost: Called where a worker ended in the middle of a run.

    Raises:
        FarloopError: a task cannot be done here.
        OSError: the store cannot be written.
    """

    def note(task: Task, outcome: Outcome) -> None:
        if outcome.status == LOST:
            lost()
        counting.note(f"{task.label}: {outcome.delay}")

    for task, outcome in finish_tasks(engine, tasks, note, explain):
        counting.report_done(task.label, outcome.because)
        if outcome.status == MADE:
            store.forget_failure(task.key)
        elif outcome.status == FAILED:
            store.put_failure(task.key, outcome.because)
        yield task, outcome


def threads_of_each(engine: Engine, runs: int, threads: int | None = None) -> int:
    """Returns the number of threads that each run of an engine may use, of `threads` for all runs together."""
    return max(1, number_of_threads(threads) // max(1, min(engine.workers, runs)))


def make_runs(jobs: Sequence[Job], execution: Execution) -> list[Simulated]:
    """Runs all jobs by the engine of an execution; the results are in the order of the jobs, and those of `simulate`.

    Without a store a temporary one serves workers on this machine.

    Raises:
        ScenarioError: a scenario is not valid; all are checked before the first one runs.
        InvariantError: a simulation broke one of its own consistency checks.
        MemoryError: a simulation ended for want of memory.
        FarloopError: a trace is wanted, an algorithm is in no file that other processes could load, a cluster has no store, a run may take
            more memory than there is, or runs cannot be made or kept. An error of a simulation has lost its cause and its traceback.
    """
    option = execution.engine_options[0]
    if any(job.trace for job in jobs):
        raise FarloopError(f"{option} and --trace: expected one of them, since only threads of this process trace")
    classes = dict.fromkeys(class_ for job in jobs for class_ in job.scenario.classes)
    files = {class_: _find_file(class_, option) for class_ in classes}
    if execution.run_store is not None:
        return _make(jobs, execution, execution.run_store, files)
    if execution.workers is None:
        raise FarloopError(f"{option}: expected a store beside it, on a file system that all machines share")
    with tempfile.TemporaryDirectory(prefix="farloop-") as directory:
        return _make(jobs, execution, Store(Path(directory)), files)


def _find_file(class_: type[Algorithm], option: str) -> Path:
    try:
        return algorithm.file_of(class_)
    except algorithm.AlgorithmError as error:
        problem = str(error).partition("; expected")[0]
        raise FarloopError(
            f"{problem}; expected a class in a file of its own, or no {option}: threads of this process take any class"
        ) from None


def _make(
    jobs: Sequence[Job], execution: Execution, store: Store, files: Mapping[type[Algorithm], Path]
) -> list[Simulated]:
    reporter = execution.reporter
    keys, first, missing = plan_jobs(jobs, store, reporter)
    if missing:
        if execution.workers is not None:
            check_memory(first[key].scenario for key in missing)
        try:
            engine = execution.engine(store.directory)
            store.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FarloopError(f"{store.directory}: cannot be written: {error.strerror or error}") from None
        threads = threads_of_each(engine, len(missing), execution.threads)

        def make_task(key: str) -> Task:
            name, scenario = first[key].name, first[key].scenario
            own = list(dict.fromkeys(files[class_] for class_ in scenario.classes))
            return Task.from_scenario(key, name, scenario, store.directory, threads, own)

        def explain(because: str, task: Task) -> str:
            return because.replace(Scenario("", task.file).display_name, first[task.key].scenario.display_name)

        shown = _TaskProgress(reporter, {key: gear_of(job.scenario.parsed) for key, job in first.items()})
        with closing(finish_tasks(engine, map(make_task, missing), shown.delay, explain, shown.update)) as ended:
            for task, outcome in ended:
                _check_outcome(outcome, first[task.key].scenario)
                shown.end(task, outcome)
    return read_back(store, keys)


class _TaskProgress:
    """Shows the progress of tasks as that of jobs."""

    def __init__(self, reporter: Reporter, gears: Mapping[str, str]) -> None:
        self._reporter = reporter
        self._gears = gears
        self._begun: set[str] = set()

    def update(self, task: Task, simulated: float, end: float, packet_hops: int) -> None:
        """A task begins, or goes on."""
        if task.key not in self._begun:
            self._begun.add(task.key)
            self._reporter.start(task.label)
            tell_gear(self._reporter, task.label, self._gears.get(task.key, PACKETS))
        if end > 0:
            self._reporter.update(task.label, simulated, end, packet_hops)

    def delay(self, task: Task, outcome: Outcome) -> None:
        """A task is made later."""
        tell_note(self._reporter, f"{task.label}: {outcome.delay}")

    def end(self, task: Task, outcome: Outcome) -> None:
        """A task has ended."""
        if outcome.status == KEPT and task.key not in self._begun:
            tell_kept(self._reporter, task.label)
        else:
            self.update(task, 0.0, 0.0, 0)
            self._reporter.finish(task.label)


def _check_outcome(outcome: Outcome, scenario: Scenario) -> None:
    """Raises what a task failed with, in the words of the thread engine.

    Raises:
        Exception: it failed.
    """
    if outcome.status in (MADE, KEPT):
        return
    if outcome.status == DECLINED:
        raise FarloopError(f"{scenario.file}: {outcome.because}")
    with worded_for_python(scenario.text, scenario.display_name, scenario.case):
        raise outcome.make_error(f"--{outcome.because}" if outcome.because.startswith("set: ") else outcome.because)

"""Runs simulations as tasks of an engine: workers on this machine, or those of a cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from farloop import algorithm
from farloop.algorithm import Algorithm
from farloop.errors import FarloopError
from farloop.experiments.execution import Execution
from farloop.experiments.journal import KEPT, MADE
from farloop.experiments.tasks import DECLINED, FAILED, Outcome, Task
from farloop.experiments.threads import Job, check_memory, number_of_threads, plan_jobs, read_back
from farloop.formats.scenario_text import worded_for_python
from farloop.output.store import Simulated, Store
from farloop.running.progress import Reporter, tell_kept, tell_note
from farloop.scenario import Scenario


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
        threads = number_of_threads(execution.threads)
        try:
            engine = execution.engine(store.directory)
            store.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FarloopError(f"{store.directory}: cannot be written: {error.strerror or error}") from None
        threads_of_run = max(1, threads // min(engine.workers, len(missing)))

        def make_task(key: str) -> Task:
            name, scenario = first[key].name, first[key].scenario
            own = list(dict.fromkeys(files[class_] for class_ in scenario.classes))
            return Task.of(key, name, scenario, store.directory, threads_of_run, own)

        shown = _TaskProgress(reporter)
        with closing(engine.outcomes(map(make_task, missing), shown.update)) as outcomes:
            for task, outcome in outcomes:
                _check_outcome(task, outcome, first[task.key].scenario)
                shown.end(task, outcome)
    return read_back(store, keys)


class _TaskProgress:
    """Shows the progress of tasks as that of jobs."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._begun: set[str] = set()

    def update(self, task: Task, simulated: float, end: float, packet_hops: int) -> None:
        """A task begins, or goes on."""
        if task.key not in self._begun:
            self._begun.add(task.key)
            self._reporter.start(task.label)
        if end > 0:
            self._reporter.update(task.label, simulated, end, packet_hops)

    def end(self, task: Task, outcome: Outcome) -> None:
        """A task has ended, or is made later."""
        if outcome.delay:
            tell_note(self._reporter, f"{task.label}: {outcome.delay}")
        elif outcome.status == KEPT and task.key not in self._begun:
            tell_kept(self._reporter, task.label)
        else:
            self.update(task, 0.0, 0.0, 0)
            self._reporter.finish(task.label)


def _check_outcome(task: Task, outcome: Outcome, scenario: Scenario) -> None:
    """Raises what a task failed with, in the words of the thread engine.

    Raises:
        Exception: it failed.
    """
    if outcome.delay or outcome.status in (MADE, KEPT):
        return
    # Workers may have another working directory, so that they know files by their whole names.
    because = outcome.because.replace(Scenario("", task.file).file_told, scenario.file_told)
    if outcome.status == DECLINED:
        raise FarloopError(f"{scenario.file}: {because}")
    if outcome.status != FAILED:
        raise FarloopError(because)
    with worded_for_python(scenario.text, scenario.file_told, scenario.case):
        raise outcome.make_error(f"--{because}" if because.startswith("set: ") else because)

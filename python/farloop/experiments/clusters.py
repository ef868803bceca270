"""Runs tasks on a cluster: on Ray, or as Slurm jobs through submitit. Both are optional packages, loaded where they are asked for.

Ray and Slurm decide where and when; here is only what a study needs besides: tasks whose worker was lost go on, and what somebody else is
making is looked at again later. Every machine writes into the same store, on a file system that all share.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import math
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, clip_text, nearest
from farloop.experiments.journal import BUSY, LOOK_AGAIN, MADE
from farloop.experiments.processes import TRIES
from farloop.experiments.tasks import FAILED, LOST, Outcome, Task, make
from farloop.output.store import Store

LOGS = "slurm"
"""In a store: what submitit writes for each job."""

_SLURM = ("partition", "time", "account", "qos", "constraint", "reservation", "exclude")
"""Options that are Slurm's own."""

_OURS = ("jobs", "runs", "cluster")
"""Options of ours: jobs side by side at most, runs of a job, and "local" for jobs on this machine, to try it out."""


_REQUIREMENTS = {"ray": "ray>=2.50", "submitit": "submitit>=1.5"}
"""Requirements for pip, as in pyproject.toml's extras: farloop itself is on no index, so that `farloop[ray]` alone finds nothing."""


def make_lines(lines: Sequence[str]) -> list[str]:
    """Makes tasks one after the other, wherever it is called; both as lines."""
    return [make(Task.from_json(line)).as_json() for line in lines]


def _package(name: str, option: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        how = f"install it beside farloop: {sys.executable} -m pip install '{_REQUIREMENTS[name]}'"
        raise FarloopError(f"{option}: the Python package {name} is missing; {how}") from None


def _show_token() -> None:
    """Lets Ray show its token where there is one.

    From 2.59 on `ray start` asks for it wherever it finds one, but `ray.init` shows it only if the environment says so
    before Ray is imported. Clusters without a token ignore it.
    """
    paths = [os.environ.get("RAY_AUTH_TOKEN_PATH"), Path.home() / ".ray" / "auth_token"]
    if os.environ.get("RAY_AUTH_TOKEN") or any(path and Path(path).is_file() for path in paths):
        os.environ.setdefault("RAY_AUTH_MODE", "token")


class _Retries:
    """Retries: tasks that are given out again, now or later, after their outcomes."""

    def __init__(self) -> None:
        self._lost: Counter[str] = Counter()
        self._busy: set[str] = set()
        self.again: deque[Task] = deque()
        self._later: list[tuple[float, Task]] = []

    def record_outcome(self, task: Task, outcome: Outcome) -> Iterator[tuple[Task, Outcome]]:
        """Yields what callers should see of the outcome, and schedules the task again if it was busy or its worker was lost."""
        if outcome.status == BUSY:
            self._later.append((time.monotonic() + LOOK_AGAIN, task))
            if task.key not in self._busy:
                self._busy.add(task.key)
                yield task, outcome
            return
        yield task, outcome
        if outcome.status == LOST:
            self._lost[task.key] += 1
            if self._lost[task.key] < TRIES:
                self.again.append(task)
            else:
                yield task, Outcome(FAILED, f"its worker ended {TRIES} times ({outcome.because})")

    def take(self) -> list[Task]:
        """Tasks that are to be given out again now."""
        now = time.monotonic()
        ready = [*self.again, *(task for at, task in self._later if at <= now)]
        self.again.clear()
        self._later = [(at, task) for at, task in self._later if at > now]
        return ready

    @property
    def is_waiting(self) -> bool:
        """True if some tasks wait to be given out again."""
        return bool(self.again or self._later)


class RayCluster:
    """A Ray cluster that is running.

    Args:
        address: "auto" for the one on this machine, or its address.

    Raises:
        FarloopError: Ray is not installed, or there is no such cluster.
    """

    def __init__(self, address: str) -> None:
        _show_token()
        self._ray = _package("ray", "--ray")
        try:
            self._ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
        except Exception as error:
            # Ray says the same where it is refused for want of the right token.
            raise FarloopError(
                f"--ray {clip_text(address)}: no cluster answers there: {clip_text(error, 200)}; "
                "start one with `ray start --head`, and where it "
                "asks for a token, set RAY_AUTH_TOKEN to what `ray get-auth-token` says there"
            ) from None
        there = self._ray.cluster_resources()
        self._memory = int(there.get("memory", math.inf) if math.isfinite(there.get("memory", math.inf)) else 0)
        self.workers = max(1, int(there.get("CPU", 1)))

    def outcomes(
        self, tasks: Iterable[Task], progress: Callable[[Task, float, float, int], None] | None = None
    ) -> Generator[tuple[Task, Outcome]]:
        """Makes all tasks; gives each with its outcome as it ends. LOST is reported each time, BUSY once; such tasks are retried."""
        ray, source, tries = self._ray, iter(tasks), _Retries()
        # A worker that is lost is counted here, as on this machine; so Ray tries once.
        remote = ray.remote(max_retries=0)(make_lines)
        pending: dict[Any, Task] = {}
        try:
            while True:
                ready = [*tries.take(), *islice(source, max(0, 2 * self.workers - len(pending)))]
                for task in ready:
                    needed = {"memory": min(task.memory, int(0.9 * self._memory))} if self._memory else {}
                    reference = remote.options(num_cpus=min(task.threads, self.workers), **needed).remote(
                        [task.as_json()]
                    )
                    pending[reference] = task
                    if progress is not None:
                        progress(task, 0.0, 0.0, 0)
                if not pending:
                    if not tries.is_waiting:
                        return
                    time.sleep(LOOK_AGAIN / 5)
                    continue
                done, _ = ray.wait(list(pending), num_returns=1, timeout=LOOK_AGAIN)
                for reference in done:
                    task = pending.pop(reference)
                    try:
                        outcome = Outcome.from_json(ray.get(reference)[0])
                    except ray.exceptions.RayTaskError:
                        raise
                    except ray.exceptions.RayError as error:
                        outcome = Outcome(LOST, type(error).__name__)
                    yield from tries.record_outcome(task, outcome)
        except ray.exceptions.RayTaskError as error:
            raise FarloopError(f"--ray: a worker cannot make runs: {clip_text(error.cause or error, 300)}") from None
        finally:
            for reference in pending:
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leaves the cluster."""
        self._ray.shutdown()


class SlurmCluster:
    """Slurm, through submitit.

    Args:
        options: Such as "partition=short,time=2:00:00,jobs=50,runs=10".
        store: Where runs go; submitit's own files go below it.

    Raises:
        FarloopError: submitit is not installed, an option is wrong, or there is no Slurm here.
    """

    def __init__(self, options: str, store: Path) -> None:
        chosen = read_options(options)
        submitit = _package("submitit", "--slurm")
        cluster = chosen.pop("cluster", "slurm")
        self.workers, self._runs = int(chosen.pop("jobs", "100")), int(chosen.pop("runs", "1"))
        minutes = _minutes(chosen.pop("time", "60"))
        (store / LOGS).mkdir(parents=True, exist_ok=True)
        try:
            self._executor = submitit.AutoExecutor(folder=store / LOGS, cluster=cluster)
            own = {f"slurm_{key}": value for key, value in chosen.items()} if cluster == "slurm" else {}
            parallel = {"slurm_array_parallelism": self.workers} if cluster == "slurm" else {}
            self._executor.update_parameters(timeout_min=minutes, name="farloop", **own, **parallel)
        except Exception as error:
            raise FarloopError(f"--slurm: {clip_text(error, 300)}; runs on this machine need no --slurm") from None
        self._failures = (submitit.core.utils.UncompletedJobError, submitit.core.utils.FailedJobError)
        self._store = Store(store)

    def outcomes(
        self, tasks: Iterable[Task], progress: Callable[[Task, float, float, int], None] | None = None
    ) -> Generator[tuple[Task, Outcome]]:
        """Makes all tasks; gives each with its outcome as it ends. LOST is reported each time, BUSY once; such tasks are retried."""
        source, tries = iter(tasks), _Retries()
        pending: dict[Any, list[Task]] = {}
        try:
            while True:
                room = max(0, self.workers - len(pending)) * self._runs
                ready = [*tries.take(), *islice(source, room)]
                pending.update(self._submit_tasks(ready))
                if progress is not None:
                    for task in ready:
                        progress(task, 0.0, 0.0, 0)
                if not pending:
                    if not tries.is_waiting:
                        return
                    time.sleep(LOOK_AGAIN / 5)
                    continue
                time.sleep(LOOK_AGAIN / 5)
                for job in [job for job in pending if job.done()]:
                    for task, outcome in self._job_outcomes(job, pending.pop(job)):
                        yield from tries.record_outcome(task, outcome)
        finally:
            for job in pending:
                with contextlib.suppress(Exception):
                    job.cancel()

    def close(self) -> None:
        """Nothing is left to end."""

    def _submit_tasks(self, tasks: Sequence[Task]) -> dict[Any, list[Task]]:
        """Hands tasks to Slurm, so many runs to a job, as one array of jobs."""
        if not tasks:
            return {}
        chunks = [list(tasks[i : i + self._runs]) for i in range(0, len(tasks), self._runs)]
        memory = max(task.memory for task in tasks)
        threads = max(task.threads for task in tasks)
        self._executor.update_parameters(mem_gb=max(1, math.ceil(memory / 2**30)), cpus_per_task=threads)
        with self._executor.batch():
            jobs = [self._executor.submit(make_lines, [task.as_json() for task in chunk]) for chunk in chunks]
        return dict(zip(jobs, chunks, strict=True))

    def _job_outcomes(self, job: Any, tasks: Sequence[Task]) -> list[tuple[Task, Outcome]]:
        try:
            lines = job.result()
        except self._failures as error:
            because = f"job {job.job_id} ended without a result ({clip_text(str(error).strip().splitlines()[0], 160)})"
            # Those that it made before it ended are there.
            return [(task, Outcome(MADE) if task.key in self._store else Outcome(LOST, because)) for task in tasks]
        return [(task, Outcome.from_json(line)) for task, line in zip(tasks, lines, strict=True)]


def read_options(text: str) -> dict[str, str]:
    """Options of the form "partition=short,time=2:00:00".

    Raises:
        FarloopError: one is not of this form, or not known.
    """
    known = (*_SLURM, *_OURS)
    options: dict[str, str] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        key, equals, value = part.partition("=")
        if not equals or not value:
            raise FarloopError(f"--slurm: {clip_text(part)}: expected key=value, such as partition=short,time=2:00:00")
        if key not in known:
            raise FarloopError(
                f"--slurm: {clip_text(key)}: unknown option; {nearest(key, known).replace('there is', 'accepted:')}"
            )
        if key in ("jobs", "runs") and not (value.isascii() and value.isdigit() and 1 <= int(value) <= 100_000):
            raise FarloopError(f"--slurm: {key}={clip_text(value)}: expected a whole number from 1 to 100000")
        if key == "cluster" and value not in ("slurm", "local"):
            raise FarloopError(
                f"--slurm: cluster={clip_text(value)}: expected slurm, or local for jobs on this machine"
            )
        options[key] = value
    if "time" in options:
        _minutes(options["time"])
    return options


def _minutes(text: str) -> int:
    """Minutes of a time as Slurm takes it: "90", "2:00:00", "1-12:00:00".

    Raises:
        FarloopError: it is none.
    """
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isascii() and part.isdigit() for part in (*parts, *([days] if dash else []))) or len(parts) > 3:
        raise FarloopError(
            f"--slurm: time={clip_text(text)}: expected minutes, hours:minutes:seconds, or days-hours:minutes:seconds"
        )
    numbers = [int(part) for part in parts]
    if len(numbers) == 1:
        minutes = float(numbers[0] * (60 if dash else 1))
    elif len(numbers) == 2:
        minutes = numbers[0] * 60 + numbers[1] if dash else numbers[0] + numbers[1] / 60
    else:
        minutes = numbers[0] * 60 + numbers[1] + numbers[2] / 60
    return max(1, math.ceil(minutes + (int(days) * 1440 if dash else 0)))

"""Runs simulations, several at a time. The native simulator releases the interpreter's lock, so threads are enough."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from farloop import _native
from farloop.errors import InvariantError
from farloop.progress import Reporter, Silent
from farloop.scenario import Scenario
from farloop.tables import Column

POLL = 0.2
"""Seconds between looks for an interrupt while simulations run."""


@dataclass(frozen=True)
class Job:
    """One simulation: a name for people, and what to simulate."""

    name: str
    scenario: Scenario


@dataclass(frozen=True)
class Outcome:
    """What the simulator gave: raw columns of its tables, and totals, invariants, deadlocks, wall time, version."""

    tables: dict[str, dict[str, Column]]
    info: dict[str, Any]


def default_threads() -> int:
    """As many as this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def simulate(jobs: Sequence[Job], *, threads: int | None = None, reporter: Reporter | None = None) -> list[Outcome]:
    """Runs all jobs, at most `threads` at a time; the results are in the order of the jobs and depend on nothing else.

    Raises:
        ScenarioError: a scenario is not valid; all are checked before the first one runs.
        InvariantError: a simulation broke one of its own consistency checks.
        KeyboardInterrupt: the user interrupted; nothing runs any more.
    """
    for job in jobs:
        _ = job.scenario.resolved
    reporter = reporter or Silent()
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=max(1, threads or default_threads())) as pool:
        futures = [pool.submit(_simulate, job, reporter, stop) for job in jobs]
        try:
            _wait(futures)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _wait(futures: Sequence[Future[Outcome]]) -> None:
    """Returns when all are done; raises as soon as one fails. Waits in short steps: an interrupt counts only between them."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=POLL)
        for future in done:
            future.result()


def _simulate(job: Job, reporter: Reporter, stop: threading.Event) -> Outcome:
    def progress(simulated: float, end: float, packet_hops: int) -> bool:
        reporter.update(job.name, simulated, end, packet_hops)
        return not stop.is_set()

    reporter.start(job.name)
    scenario = job.scenario
    output = _native.run(scenario.text, scenario.file, list(scenario.overrides), progress)
    info = json.loads(output.info)
    for invariant in info["invariants"]:
        if not invariant["ok"]:
            raise InvariantError(f"{job.name}: invariant violated: {invariant['name']}: {invariant['detail']}")
    reporter.finish(job.name)
    return Outcome(output.tables, info)

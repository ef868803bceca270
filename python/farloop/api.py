"""Running and comparing from Python; the command line is a thin skin over this."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

from farloop import _native, papers
from farloop.errors import FarloopError
from farloop.progress import Reporter
from farloop.results import Comparison, Run
from farloop.scenario import Scenario, Settings
from farloop.simulate import Job, simulate

ProgressCallback = Callable[[float, float, int], object]
"""Called with simulated seconds, simulated seconds at the end, and packet-hops so far."""


class _Callback:
    """Passes one run's progress on to a function."""

    def __init__(self, function: ProgressCallback) -> None:
        self._function = function

    def start(self, job: str) -> None:
        """Nothing to say."""

    def update(self, job: str, simulated: float, end: float, packet_hops: int) -> None:
        """Calls the function."""
        self._function(simulated, end, packet_hops)

    def finish(self, job: str) -> None:
        """Nothing to say."""


def run(
    scenario: str | PathLike[str] | Scenario,
    *,
    algorithm: str | None = None,
    set: Settings | None = None,
    seed: int | None = None,
    progress: ProgressCallback | Reporter | None = None,
) -> Run:
    """Simulates a scenario.

    Args:
        scenario: A scenario file, the name of a paper's figure ("gear/fig09"), or a loaded scenario.
        algorithm: The algorithm of all flows that name none of their own; by default the scenario's.
        set: Settings that replace some of the scenario's: `{"run.duration": "100ms"}` or `["run.duration=100ms"]`.
        seed: The seed of all random streams; by default the scenario's.
        progress: Called now and then with simulated seconds, simulated seconds at the end, and packet-hops so far.

    Raises:
        ScenarioError: the scenario or a setting is not valid; the text says what is, and what would be.
        InvariantError: the simulation broke one of its own consistency checks.
    """
    wanted = Scenario.load(scenario).override(set, algorithm=algorithm, seed=seed)
    name = algorithm or algorithm_name(wanted)
    reporter = _Callback(progress) if callable(progress) else progress
    (outcome,) = simulate([Job(name, wanted)], threads=1, reporter=reporter)
    return Run.from_outcome(outcome, wanted, algorithm=name, label=name)


def compare(
    scenario: str | PathLike[str] | Scenario,
    algorithms: Sequence[str],
    *,
    set: Settings | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Reporter | None = None,
) -> Comparison:
    """Simulates a scenario once per algorithm, with the same network and traffic.

    Args:
        scenario: A scenario file, the name of a paper's figure ("gear/fig09"), or a loaded scenario.
        algorithms: The algorithms.
        set: Settings that replace some of the scenario's: `{"run.duration": "100ms"}` or `["run.duration=100ms"]`.
        seed: The seed of all random streams; by default the scenario's.
        threads: Most simulations at a time; by default one per processor. The results do not depend on it.
        progress: What shows progress.

    Raises:
        ScenarioError: the scenario or a setting is not valid; the text says what is, and what would be.
        InvariantError: a simulation broke one of its own consistency checks.
        FarloopError: no algorithm, or one named twice.
    """
    if not algorithms:
        raise FarloopError("no algorithm to compare; `farloop list algorithms` shows them")
    repeated = sorted({a for a in algorithms if list(algorithms).count(a) > 1})
    if repeated:
        raise FarloopError(f"compared with itself: {', '.join(repeated)}")
    base = Scenario.load(scenario).override(set, seed=seed)
    wanted = [base.override(algorithm=a) for a in algorithms]
    jobs = [Job(a, s) for a, s in zip(algorithms, wanted, strict=True)]
    outcomes = simulate(jobs, threads=threads, reporter=progress)
    runs = [Run.from_outcome(o, s, algorithm=a, label=a) for a, s, o in zip(algorithms, wanted, outcomes, strict=True)]
    comparison = Comparison(title=str(base.resolved.get("title", base.file)), runs=runs)
    return papers.judged(comparison, base)


def algorithm_name(scenario: Scenario) -> str:
    """The algorithm of the flows that name none of their own."""
    algorithm = scenario.resolved.get("algorithm", {})
    return str(algorithm.get("name", "")) if isinstance(algorithm, dict) else str(algorithm)


def algorithms() -> list[dict[str, Any]]:
    """Every algorithm and preset: name, preset_of, summary, source, needs, and parameters with kind, default and range."""
    known: list[dict[str, Any]] = json.loads(_native.algorithms())
    return known


def workloads() -> list[dict[str, Any]]:
    """Every flow-size distribution: name, mean in bytes, source."""
    known: list[dict[str, Any]] = json.loads(_native.workloads())
    return known


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, for editors."""
    known: dict[str, Any] = json.loads(_native.schema())
    return known


def version() -> str:
    """The version of the simulator."""
    return _native.version()

"""Running and comparing from Python; the command line is a thin skin over this."""

from __future__ import annotations

import json
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

from farloop import _native
from farloop.algorithm import Algorithm, checked, name_of
from farloop.errors import FarloopError, shown
from farloop.scenario import Scenario, Settings, Source

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.output.store import Store
    from farloop.results.run import Comparison, Run
    from farloop.results.seeds import Seeds
    from farloop.results.trace import TraceItems
    from farloop.running.progress import ProgressCallback, Reporter


@overload
def run(
    scenario: Source,
    *,
    algorithm: str | type[Algorithm] | None = None,
    set: Settings | None = None,
    seed: int | None = None,
    seeds: None = None,
    threads: int | None = None,
    progress: ProgressCallback | Reporter | None = None,
    trace: TraceItems | None = None,
    force_memory: bool = False,
    execution: Execution | None = None,
) -> Run: ...


@overload
def run(
    scenario: Source,
    *,
    algorithm: str | type[Algorithm] | None = None,
    set: Settings | None = None,
    seeds: Seeds,
    threads: int | None = None,
    progress: ProgressCallback | Reporter | None = None,
    force_memory: bool = False,
    execution: Execution | None = None,
) -> Comparison: ...


def run(
    scenario: Source,
    *,
    algorithm: str | type[Algorithm] | None = None,
    set: Settings | None = None,
    seed: int | None = None,
    seeds: Seeds | None = None,
    threads: int | None = None,
    progress: ProgressCallback | Reporter | None = None,
    trace: TraceItems | None = None,
    force_memory: bool = False,
    execution: Execution | None = None,
) -> Run | Comparison:
    """Simulates a scenario.

    Args:
        scenario: A scenario file, the name of a paper's figure ("gear/fig09"), the tables of a scenario as a dictionary, or a loaded
            scenario.
        algorithm: The algorithm of all flows that name none of their own, a name or a class of `farloop.algorithm`; by default
            the scenario's.
        set: Settings that replace some of the scenario's: `{"run.duration": "100ms"}` or `["run.duration=100ms"]`.
        seed: The seed of all random streams; by default the scenario's.
        seeds: One run for each of these seeds: `range(1, 11)`, or "1-10"; the result is a `Comparison` of them.
        threads: How many, for simulations side by side first, then for the parts of each; by default as many as pay, at most one per
            processor. The results do not depend on it.
        progress: Called now and then with simulated seconds, simulated seconds at the end, and packet-hops so far.
        trace: What to trace: `["flows=intra", "window=10ms..12ms"]`, or "all"; what there is, is in docs/traces.md. `Run.save` writes the
            trace for Perfetto and Wireshark. Nothing else of the run changes.
        force_memory: Start the run also where it may take more memory than there is.
        execution: How and where to simulate, in place of `threads`, `progress` and `force_memory`.

    Raises:
        ScenarioError: the scenario, a setting or an item of the trace is not valid; the text says what is, and what would be.
        InvariantError: the simulation broke one of its own consistency checks.
        FarloopError: both seed and seeds, seeds that are none, seeds and a trace, a progress that cannot be called, or a run that may
            take more memory than there is.
    """
    from farloop.experiments.execution import Execution

    execution = Execution.select(execution, threads=threads, progress=progress, force_memory=force_memory)
    if seeds is not None:
        if trace is not None:
            raise FarloopError("trace and seeds: expected one of them, since a trace is of one run")
        return run_seeds(scenario, algorithm=algorithm, set=set, seed=seed, seeds=seeds, execution=execution)
    return run_one(scenario, algorithm=algorithm, set=set, seed=seed, execution=execution, trace=trace)


def run_one(
    scenario: Source,
    *,
    execution: Execution,
    algorithm: str | type[Algorithm] | None = None,
    set: Settings | None = None,
    seed: int | None = None,
    trace: TraceItems | None = None,
) -> Run:
    """`run` without seeds."""
    from farloop.experiments.variants import Variant, run_variants
    from farloop.results.trace import read_items

    with execution:
        wanted = Scenario.load(scenario).override(set, algorithm=algorithm, seed=seed)
        name = algorithm_name(wanted)
        (made,) = run_variants([Variant(name, "", name, wanted)], execution, trace=read_items(trace))
    return made


def run_seeds(
    scenario: Source,
    *,
    execution: Execution,
    algorithm: str | type[Algorithm] | None = None,
    set: Settings | None = None,
    seed: int | None = None,
    seeds: Seeds | None = None,
    jitter: int = 0,
) -> Comparison:
    """`run` with seeds or jitter; finished runs are taken from the store, and put there."""
    with execution:
        wanted = Scenario.load(scenario).override(set, algorithm=algorithm)
        name = algorithm_name(wanted)
        return compare(wanted, [name], seed=seed, seeds=seeds, jitter=jitter, execution=execution)


def compare(
    scenario: Source,
    algorithms: str | Iterable[str | type[Algorithm]],
    *,
    set: Settings | None = None,
    seed: int | None = None,
    seeds: Seeds | None = None,
    threads: int | None = None,
    progress: ProgressCallback | Reporter | None = None,
    store: Store | str | PathLike[str] | None = None,
    force_memory: bool = False,
    jitter: int = 0,
    execution: Execution | None = None,
) -> Comparison:
    """Simulates a scenario once per algorithm, with the same network and traffic.

    Args:
        scenario: A scenario file, the name of a paper's figure ("gear/fig09"), the tables of a scenario as a dictionary, or a loaded
            scenario.
        algorithms: The algorithms: names and classes of `farloop.algorithm`, or one text "gear,hpcc".
        set: Settings that replace some of the scenario's: `{"run.duration": "100ms"}` or `["run.duration=100ms"]`.
        seed: The seed of all random streams; by default the scenario's.
        seeds: One run of each algorithm for each of these seeds: `range(1, 11)`, or "1-10".
        threads: How many, for simulations side by side first, then for the parts of each; by default as many as pay, at most one per
            processor. The results do not depend on it.
        progress: What shows progress.
        store: Where finished runs are kept and looked for: a directory.
        force_memory: Start runs also where one may take more memory than there is.
        jitter: So many variations of each run (of the first seed) in ties and starts: numbers that they move are fragile.
        execution: How and where to simulate, in place of `threads`, `progress`, `store` and `force_memory`.

    Raises:
        ScenarioError: the scenario or a setting is not valid; the text says what is, and what would be.
        InvariantError: a simulation broke one of its own consistency checks.
        FarloopError: no algorithm, or one named twice; both seed and seeds, or seeds that are none; a jitter that is no number; a run
            that may take more memory than there is.
    """
    from farloop.experiments.execution import Execution
    from farloop.experiments.variants import Variant, with_seeds
    from farloop.experiments.variations import run_comparison
    from farloop.judging.verdicts import judged
    from farloop.results.jitter import read_jitter
    from farloop.results.seeds import read_seeds

    execution = Execution.select(execution, threads=threads, progress=progress, store=store, force_memory=force_memory)
    chosen = _algorithms(algorithms)
    if seed is not None and seeds is not None:
        raise FarloopError("seed and seeds: expected one of them")
    replicated, _ = read_seeds(seeds), read_jitter(jitter)
    base = Scenario.load(scenario).override(set, seed=seed)
    variants = [Variant(name, "", name, base.override(algorithm=algorithm)) for name, algorithm in chosen.items()]
    return run_comparison(
        str(base.parsed.get("title") or base.file_told),
        variants,
        execution,
        seeded=with_seeds(variants, replicated),
        seeds=replicated,
        jitter=jitter,
        judge=lambda runs: judged(runs, base),
    )


def _algorithms(algorithms: object) -> dict[str, str | type[Algorithm]]:
    """Names, and what they stand for."""
    chosen: list[Any]
    if isinstance(algorithms, str):
        chosen = [name.strip() for name in algorithms.split(",") if name.strip()]
    elif isinstance(algorithms, Iterable):
        chosen = list(algorithms)
    else:
        raise FarloopError(f"algorithms: {shown(repr(algorithms))}: expected names, such as gear and hpcc")
    for algorithm in chosen:
        if not isinstance(algorithm, str) and not isinstance(algorithm, type):
            raise FarloopError(f"algorithms: {shown(repr(algorithm))}: expected a name, such as hpcc")
    if not chosen:
        raise FarloopError("no algorithm to compare; `farloop list algorithms` shows them")
    names = [algorithm if isinstance(algorithm, str) else name_of(checked(algorithm)) for algorithm in chosen]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise FarloopError(f"compared with itself: {', '.join(map(shown, repeated))}")
    return dict(zip(names, chosen, strict=True))


def load(directory: str | PathLike[str]) -> Comparison:
    """Reads an output that farloop wrote; a single run becomes a comparison of one.

    Args:
        directory: What `--out` or `save` named; of a reproduction the directory of one figure in it.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    from farloop.output import reading

    return reading.load(directory)


def algorithm_name(scenario: Scenario) -> str:
    """The algorithm of the flows that name none of their own."""
    algorithm = scenario.parsed.get("algorithm", {})
    return str(algorithm.get("name", "")) if isinstance(algorithm, dict) else str(algorithm)


def algorithms() -> list[dict[str, Any]]:
    """Every algorithm and preset: name, preset_of, summary, source, needs, and parameters with kind, default and range."""
    known: list[dict[str, Any]] = json.loads(_native.algorithms())
    return known


def path_choosers() -> list[dict[str, Any]]:
    """What chooses the paths of multipath flows: name, summary, source, and parameters with kind, default and range."""
    known: list[dict[str, Any]] = json.loads(_native.path_choosers())
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

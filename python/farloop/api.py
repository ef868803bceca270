"""Running and comparing from Python; the command line is a thin skin over this."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from farloop import _native
from farloop.algorithm import Algorithm, by_scope, check_class, name_of
from farloop.errors import FarloopError, clip_text
from farloop.results import gears
from farloop.scenario import Scenario, Settings, Source, parse_settings

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.output.store import Store
    from farloop.results.differences import Difference
    from farloop.results.run import Comparison, Run
    from farloop.results.seeds import Seeds
    from farloop.results.trace import TraceItems
    from farloop.running.progress import Counting, ProgressCallback, Reporter
    from farloop.studies.advice.asking import Advice
    from farloop.studies.capacity.planning import CapacityPlan
    from farloop.studies.sweep.definition import Collected, Files
    from farloop.studies.sweep.study import Study


@overload
def run(
    scenario: Source,
    *,
    algorithm: str | type[Algorithm] | None = None,
    set: Settings | None = None,
    seed: int | None = None,
    seeds: None = None,
    gear: str | None = None,
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
    gear: str | None = None,
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
    gear: str | None = None,
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
        gear: "packets" (the default), "fluid" (rates and fluid queues: faster, with an error; docs/fluid.md) or "max-min" (a baseline), in
            place of the scenario's `run.gear`.
        threads: Number of threads, for simulations side by side first, then for the parts of each; by default as many as pay, at most one
            per processor. The results do not depend on it.
        progress: Called now and then with simulated seconds, simulated seconds at the end, and packet-hops so far (of a gear that is not
            of packets looks at flows).
        trace: Items to trace: `["flows=intra", "window=10ms..12ms"]`, or "all"; docs/traces.md lists them. `Run.save` writes the
            trace for Perfetto and Wireshark. Nothing else of the run changes.
        force_memory: Start the run also where it may take more memory than there is.
        execution: Engine and its settings, in place of `threads`, `progress` and `force_memory`.

    Raises:
        ScenarioError: the scenario, a setting or an item of the trace is not valid; the text says what is, and what would be.
        InvariantError: the simulation broke one of its own consistency checks.
        FarloopError: no such gear, several threads for one run of rates, both seed and seeds, seeds that are none, seeds and a trace, a
            progress that cannot be called, or a run that may take more memory than there is.
    """
    from farloop.experiments.execution import Execution

    execution = Execution.select(execution, threads=threads, progress=progress, force_memory=force_memory)
    settings = with_gear(set, gear)
    if seeds is not None:
        if trace is not None:
            raise FarloopError("trace and seeds: expected one of them, since a trace is of one run")
        return run_seeds(scenario, algorithm=algorithm, set=settings, seed=seed, seeds=seeds, execution=execution)
    return run_one(scenario, algorithm=algorithm, set=settings, seed=seed, execution=execution, trace=trace)


def with_gear(settings: Settings | None, gear: str | None) -> Settings | None:
    """Settings with that of a gear behind them; as they are for `None`.

    Raises:
        ScenarioError: a setting is not of the form key=value.
        FarloopError: there is no such gear.
    """
    own = gears.setting(gear)
    return [*(f"{key}={value}" for key, value in parse_settings(settings)), *own] if own else settings


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
        gear = gears.gear_of(wanted.parsed)
        if gear != gears.PACKETS and execution.threads is not None and execution.threads > 1:
            raise FarloopError(
                f'threads: {execution.threads}: a run with {gears.KEY} = "{gear}" takes one thread; expected 1, or several runs '
                "side by side"
            )
        name = wanted.algorithm_name
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
        name = wanted.algorithm_name
        return compare(wanted, [name], seed=seed, seeds=seeds, jitter=jitter, execution=execution)


def compare(
    scenario: Source,
    algorithms: str | Iterable[str | type[Algorithm]],
    *,
    set: Settings | None = None,
    seed: int | None = None,
    seeds: Seeds | None = None,
    gear: str | None = None,
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
        gear: "packets" (the default), "fluid" (rates and fluid queues: faster, with an error; docs/fluid.md) or "max-min" (a baseline), in
            place of the scenario's `run.gear`.
        threads: Number of threads, for simulations side by side first, then for the parts of each; by default as many as pay, at most one
            per processor. The results do not depend on it.
        progress: Object that shows progress.
        store: Where finished runs are kept and looked for: a directory.
        force_memory: Start runs also where one may take more memory than there is.
        jitter: So many variations of each run (of the first seed) in ties and starts: numbers that they move are fragile.
        execution: Engine and its settings, in place of `threads`, `progress`, `store` and `force_memory`.

    Raises:
        ScenarioError: the scenario or a setting is not valid; the text says what is, and what would be.
        InvariantError: a simulation broke one of its own consistency checks.
        FarloopError: no algorithm, or one named twice; no such gear; both seed and seeds, or seeds that are none; a jitter that is no
            number; a run that may take more memory than there is.
    """
    from farloop.experiments.execution import Execution
    from farloop.experiments.variants import Variant, repeat_with_seeds
    from farloop.experiments.variations import run_comparison
    from farloop.judging.verdicts import judge_comparison
    from farloop.results.jitter import read_jitter
    from farloop.results.seeds import read_seeds

    execution = Execution.select(execution, threads=threads, progress=progress, store=store, force_memory=force_memory)
    chosen = _algorithms(algorithms)
    if seed is not None and seeds is not None:
        raise FarloopError("seed and seeds: expected one of them")
    replicated, _ = read_seeds(seeds), read_jitter(jitter)
    base = Scenario.load(scenario).override(with_gear(set, gear), seed=seed)
    classes = {name: each for name, each in chosen.items() if isinstance(each, type)}
    variants = [
        # A pair may name a class that is compared beside it.
        Variant(
            name,
            "",
            name,
            base.with_classes(classes[s] for s in by_scope(name) if s in classes).override(algorithm=algorithm),
        )
        for name, algorithm in chosen.items()
    ]
    return run_comparison(
        str(base.parsed.get("title") or base.display_name),
        variants,
        execution,
        seeded=repeat_with_seeds(variants, replicated),
        seeds=replicated,
        jitter=jitter,
        judge=lambda runs: judge_comparison(runs, base),
    )


def _algorithms(algorithms: object) -> dict[str, str | type[Algorithm]]:
    """Names, and what they stand for."""
    chosen: list[Any]
    if isinstance(algorithms, str):
        chosen = [name.strip() for name in algorithms.split(",") if name.strip()]
    elif isinstance(algorithms, Iterable):
        chosen = list(algorithms)
    else:
        raise FarloopError(f"algorithms: {clip_text(repr(algorithms))}: expected names, such as gear and hpcc")
    for algorithm in chosen:
        if not isinstance(algorithm, str) and not isinstance(algorithm, type):
            raise FarloopError(f"algorithms: {clip_text(repr(algorithm))}: expected a name, such as hpcc")
    if not chosen:
        raise FarloopError("no algorithm to compare; `farloop list algorithms` shows them")
    names = [algorithm if isinstance(algorithm, str) else name_of(check_class(algorithm)) for algorithm in chosen]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise FarloopError(f"compared with itself: {', '.join(map(clip_text, repeated))}")
    return dict(zip(names, chosen, strict=True))


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
    gear: str | None = None,
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
    """Simulates many points of a scenario, and writes what they have to say into a directory.

    Either `file`, or `base` with what a file would say. Runs that are there are not made again, whoever made them.

    Args:
        file: A study's file (TOML).
        base: The scenario that all points change: a file, the name of a paper's figure, or a loaded scenario.
        title: Title of the study.
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
        warmup: Beginning of each run that is cut for metrics of flows and samples: "none", "mser-5" (default with `until`), or a time.
        gear: The gear of all runs, as `run` has it, in place of the base's; also beside `file`.
        out: Where to write (by default below out/, under the name of the file).
        store: Where finished runs are kept and looked for (by default run-store beside `out`).
        workers: Simulate in so many processes from the beginning (by default threads begin, and a process per processor goes on).
        ray: Run on this Ray cluster: "auto", or an address.
        slurm: Run as Slurm jobs with these options, such as "partition=short,time=2:00:00".
        retry: Try again what has failed before.
        force: Write beside files that farloop did not write, over those of the same names.
        force_memory: Start runs also where one may take more memory than there is; without it such runs are refused, the others made.
        report: With the report and the pictures; `farloop report` draws them later.
        progress: Object that shows the number of finished runs.
        execution: Engine and its settings, in place of `store`, `workers`, `ray`, `slurm` and `force_memory`.

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
    from farloop.experiments.execution import Execution
    from farloop.studies.sweep import definition as definitions
    from farloop.studies.sweep import study as studies
    from farloop.views import study_page

    if (file is None) == (base is None):
        raise FarloopError("file and base: expected one of them")
    if file is not None:
        if any(argument is not None for argument in described):
            raise FarloopError("file: expected no other argument beside it; to build a study from a scenario, use base")
        definition = definitions.from_file(file, gear=gear)
    else:
        assert base is not None
        definition = definitions.from_python(
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
            gear=gear,
        )
    name = Path(file).stem if file is not None else Path(definition.base.file).stem
    target = Path(out) if out is not None else studies.default_target(name)
    execution = Execution.select(
        execution, store=store, workers=workers, ray=ray, slurm=slurm, force_memory=force_memory
    )
    with execution:
        draw = study_page.write if report else None
        return studies.sweep(definition, target, execution, retry=retry, force=force, draw=draw, counting=progress)


def advise(
    scenario: Source,
    *,
    goal: str | None = None,
    must: Sequence[str] | None = None,
    can: Sequence[str] | None = None,
    candidates: str | Sequence[str] | None = None,
    budget: str | None = None,
    seed: int | None = None,
    tune: bool | None = None,
    set: Settings | None = None,
    out: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    workers: int | None = None,
    ray: str | None = None,
    slurm: str | None = None,
    force: bool = False,
    force_memory: bool = False,
    progress: Counting | None = None,
    execution: Execution | None = None,
) -> Advice:
    """Recommends algorithms for a scenario: races those that can run, tunes the best, tries them under other conditions, writes an answer.

    Args:
        scenario: A scenario, its file, a paper's figure, or a question's file (TOML with `scenario`, `goal`, `must`, `can`, `budget`).
        goal: Such as "p99 slowdown of small flows"; by default what the arena judges by.
        must: Constraints such as "no pfc across" or "goodput >= 90 %", in place of the usual ones of the same quantities.
        can: Features that hosts and switches can be given: "ecn", "int", "switch agents", "dci", "symmetric", "credit",
            "kernel".
        candidates: Names of algorithms; by default all that are no references.
        budget: Time of one processor that simulations may take, such as "10min".
        seed: The first of the seeds.
        tune: True to tune parameters of the best; by default if Optuna is installed.
        set: Settings of the scenario.
        out: Where to write (by default below out/, under the name of the scenario).
        store: Where runs are kept (by default run-store beside the output).
        workers: Simulate in so many processes from the beginning (by default threads begin, and a process per processor goes on).
        ray: A Ray cluster instead.
        slurm: Slurm jobs instead.
        force: True to write into a directory that holds other files.
        force_memory: True to start runs that may need more memory than there is.
        progress: Object that shows the number of finished runs.
        execution: Engine and its settings, in place of `store`, `workers`, `ray`, `slurm` and `force_memory`.

    Raises:
        FarloopError: the question is wrong, the budget too small, or the answer cannot be written.
        ScenarioError: the scenario is not valid.
    """
    from farloop.experiments.execution import Execution
    from farloop.studies.advice import asking
    from farloop.studies.advice import question as questions
    from farloop.studies.sweep.study import default_target
    from farloop.views import advice_page

    source = str(scenario) if isinstance(scenario, PathLike) else scenario
    question = questions.read(
        source, goal=goal, must=must, can=can, candidates=candidates, budget=budget, seed=seed, tune=tune, set=set
    )
    target = Path(out) if out is not None else default_target(f"advice-{Path(question.scenario.file).stem}")
    execution = Execution.select(
        execution, store=store, workers=workers, ray=ray, slurm=slurm, force_memory=force_memory
    )
    return asking.write(question, target, execution, force=force, page=advice_page.page, counting=progress)


def plan(
    scenario: Source,
    *,
    vary: Sequence[str] | None = None,
    along: str | None = None,
    until: Sequence[str] | None = None,
    survive: int | None = None,
    cost: str | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    screen: str | None = None,
    budget: str | None = None,
    set: Settings | None = None,
    out: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    workers: int | None = None,
    ray: str | None = None,
    slurm: str | None = None,
    force: bool = False,
    force_memory: bool = False,
    progress: Counting | None = None,
    execution: Execution | None = None,
) -> CapacityPlan:
    """Searches the least network that holds what is asked: rates drop what they are sure of, packets decide the rest, an answer is written.

    Args:
        scenario: A scenario, its file, a paper's figure, or a plan's file (TOML with `scenario`, `vary`, `until`).
        vary: Variables with their values, the cheapest first, such as "links = 1..8".
        along: A variable for each value of which the answer is given, such as "distance = 100km, 1000km".
        until: What must hold under every seed, such as "p99 slowdown <= 3".
        survive: Number of the busiest links between sites that may be down.
        cost: An expression of the variables in km, Gbps and MB; needed for more than one of them.
        seeds: Number of seeds under which packets confirm.
        seed: The first of the seeds.
        screen: "fluid" to screen by rates, or "none".
        budget: Time of one processor that simulations may take, such as "10min".
        set: Settings of the scenario.
        out: Where to write (by default below out/, under the name of the scenario).
        store: Where runs are kept (by default run-store beside the output).
        workers: Simulate in so many processes from the beginning (by default threads begin, and a process per processor goes on).
        ray: A Ray cluster instead.
        slurm: Slurm jobs instead.
        force: True to write into a directory that holds other files.
        force_memory: True to start runs that may need more memory than there is.
        progress: Object that shows the number of finished runs.
        execution: Engine and its settings, in place of `store`, `workers`, `ray`, `slurm` and `force_memory`.

    Raises:
        FarloopError: the question is wrong, the budget too small, or the answer cannot be written.
        ScenarioError: the scenario is not valid.
    """
    from farloop.experiments.execution import Execution
    from farloop.studies.capacity import capacity_question, planning
    from farloop.studies.sweep.study import default_target
    from farloop.views import capacity_page

    source = str(scenario) if isinstance(scenario, PathLike) else scenario
    question = capacity_question.read(
        source,
        vary=vary,
        along=along,
        until=until,
        survive=survive,
        cost=cost,
        seeds=seeds,
        seed=seed,
        screen=screen,
        budget=budget,
        set=set,
    )
    target = Path(out) if out is not None else default_target(f"plan-{Path(question.scenario.file).stem}")
    execution = Execution.select(
        execution, store=store, workers=workers, ray=ray, slurm=slurm, force_memory=force_memory
    )
    return planning.write(question, target, execution, force=force, page=capacity_page.page, counting=progress)


def load(directory: str | PathLike[str]) -> Comparison:
    """Reads an output that farloop wrote; a single run becomes a comparison of one.

    Args:
        directory: Directory that `--out` or `save` named; of a reproduction the directory of one figure in it.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    from farloop.output import reading

    return reading.load(directory)


def diff(old: str | PathLike[str] | Run | Comparison, new: str | PathLike[str] | Run | Comparison) -> Difference:
    """Compares two results: settings, headline numbers and tables that differ. Nothing is simulated.

    One run each is compared whatever its name; of several runs, those of the same name are. Numbers are means over seeds, with the units of
    their measures: rates in bit/s, times in seconds, sizes in bytes. They differ unless they are exactly equal.

    Args:
        old: Directory of an output, as `load` reads it, or a result in memory: that which numbers are compared with.
        new: The other one.

    Raises:
        FarloopError: a directory is no complete farloop output, or no run has the same name in both.
    """
    from farloop.results.differences import compare_outputs
    from farloop.results.run import Comparison, Run

    def read(output: str | PathLike[str] | Run | Comparison) -> Comparison:
        if isinstance(output, Run):
            return output.alone
        return output if isinstance(output, Comparison) else _load_with_numbers(output)

    return compare_outputs(read(old), read(new))


def _load_with_numbers(directory: str | PathLike[str]) -> Comparison:
    """Reads an output and computes the numbers of its runs, so that a damaged manifest is named with its directory.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    from farloop.output.manifest import damaged_error

    comparison = load(directory)
    try:
        for run_ in comparison:
            _ = run_.numbers
    except (FarloopError, MemoryError):
        raise
    except Exception as error:
        raise damaged_error(Path(directory), error) from None
    return comparison


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, for editors."""
    known: dict[str, Any] = json.loads(_native.schema())
    return known


def version() -> str:
    """The version of the simulator."""
    return _native.version()

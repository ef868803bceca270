"""`farloop run` and `farloop compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop import memory
from farloop.algorithm import find_unused
from farloop.commands.command import handle_errors, print_json, ready_to_draw
from farloop.commands.declarations import declare_command
from farloop.commands.options import (
    AlgorithmFileOption,
    AlgorithmsOption,
    ForceMemoryOption,
    ForceOption,
    FreshOption,
    GearOption,
    JitterOption,
    JsonOption,
    NoReportOption,
    OutOption,
    QuietOption,
    RayOption,
    SameStartOption,
    ScenarioArgument,
    SeedOption,
    SeedsOption,
    SetOption,
    SizesOption,
    SlurmOption,
    StoreOption,
    ThreadsOption,
    TraceOption,
    WorkersOption,
    algorithm_names,
    load_with_classes,
)
from farloop.errors import FarloopError
from farloop.messages import say_notes
from farloop.scenario import Scenario


@declare_command(
    "run",
    group="Simulate",
    place=1,
    summary="Simulate one scenario.",
    examples=(
        "farloop run scenario.toml --set run.duration=50ms --out out/first",
        "farloop run scenario.toml --algorithm bbr --seeds 1-5",
        "farloop run scenario.toml --algorithm-file mine.py --algorithm mine",
    ),
)
@handle_errors
def run_(
    scenario: ScenarioArgument,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Algorithm of every flow that does not name its own; A/B: A inside datacenters, B across.",
            autocompletion=algorithm_names,
        ),
    ] = None,
    algorithm_file: AlgorithmFileOption = None,
    set_: SetOption = None,
    same_start: SameStartOption = None,
    gear: GearOption = None,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    slurm: SlurmOption = None,
    store: StoreOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    fresh: FreshOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
    trace: TraceOption = None,
    jitter: JitterOption = 0,
    sizes: SizesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate one scenario."""
    from farloop import api
    from farloop.experiments.execution import Execution
    from farloop.output import saving
    from farloop.output.directories import directory
    from farloop.output.manifest import slug
    from farloop.results import gears, size_classes, starts
    from farloop.running.progress import reporter

    if trace and seeds is not None:
        raise FarloopError(
            "--trace and --seeds: expected one of them, since a trace is of one run; choose its seed with --seed"
        )
    if trace and jitter:
        raise FarloopError("--trace and --jitter: expected one of them, since a trace is of one run")
    classes = size_classes.read_option(sizes)
    execution = Execution(threads=threads, workers=workers, ray=ray, slurm=slurm)
    alone = seeds is None and not jitter
    settings = [*(set_ or []), *starts.setting(same_start), *gears.setting(gear)]
    wanted = load_with_classes(Scenario.load(scenario), algorithm_file).override(
        settings, algorithm=algorithm, seed=seed
    )
    target = out or Path("out") / slug(Path(wanted.file).stem)
    with memory.allow_excess(force_memory):
        notes = find_unused(wanted.classes, wanted.resolved)
    with memory.allow_excess(force_memory), directory(target, force=force, fresh=fresh, store=store) as aside:
        with reporter(quiet=quiet) as progress:
            if alone:
                # The run is written at once: a store that nobody has named would only copy it.
                kept = aside.store if store or execution.engine_options else None
                single = api.run_one(wanted, execution=execution.attach(kept, progress), trace=trace or None)
                single = single.by_sizes(classes)
            else:
                on_store = execution.attach(aside.store, progress)
                several = api.run_seeds(wanted, seed=seed, seeds=seeds, jitter=jitter, execution=on_store)
                several = several.by_sizes(classes)
        ready_to_draw(not no_report)
        more_notes = (
            saving.fill_run(single, aside.path, report=not no_report)
            if alone
            else saving.fill_comparison(several, aside.path, aside.store, report=not no_report)
        )
    say_notes([*notes, *more_notes])
    if as_json:
        from farloop.views import machine

        print_json(machine.comparison(single.alone if alone else several, target, "run"))
    elif not quiet:
        from farloop.views import terminal

        terminal.comparison(single.alone if alone else several)
        terminal.print_written(target, report=not no_report)
        if alone and single.trace is not None:
            terminal.print_trace(target, single.trace)


@declare_command(
    "compare",
    group="Simulate",
    place=2,
    summary="Simulate it under several algorithms, side by side.",
    examples=(
        "farloop compare scenario.toml --algorithms cubic,bbr,dctcp --seeds 1-5",
        "farloop compare gear/fig09 --algorithms gear,hpcc --jitter 3",
        "farloop compare scenario.toml --algorithms cubic,bbr --json",
    ),
)
@handle_errors
def compare(
    scenario: ScenarioArgument,
    algorithms: AlgorithmsOption,
    algorithm_file: AlgorithmFileOption = None,
    set_: SetOption = None,
    same_start: SameStartOption = None,
    gear: GearOption = None,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    slurm: SlurmOption = None,
    store: StoreOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    fresh: FreshOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
    jitter: JitterOption = 0,
    sizes: SizesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate the same network and traffic under several algorithms. Repeat an interrupted command to continue it."""
    from farloop import api
    from farloop.experiments.execution import Execution
    from farloop.output import saving
    from farloop.output.directories import directory
    from farloop.output.manifest import slug
    from farloop.results import gears, size_classes, starts
    from farloop.running.progress import reporter

    classes = size_classes.read_option(sizes)
    execution = Execution(threads=threads, workers=workers, ray=ray, slurm=slurm)
    wanted = load_with_classes(Scenario.load(scenario), algorithm_file)
    target = out or Path("out") / slug(f"{Path(wanted.file).stem[:80]}-compared")
    with memory.allow_excess(force_memory), directory(target, force=force, fresh=fresh, store=store) as aside:
        with reporter(quiet=quiet) as progress:
            result = api.compare(
                wanted,
                algorithms,
                set=[*(set_ or []), *starts.setting(same_start), *gears.setting(gear)],
                seed=seed,
                seeds=seeds,
                jitter=jitter,
                execution=execution.attach(aside.store, progress),
            ).by_sizes(classes)
        ready_to_draw(not no_report)
        notes = saving.fill_comparison(result, aside.path, aside.store, report=not no_report)
    say_notes(notes)
    if as_json:
        from farloop.views import machine

        print_json(machine.comparison(result, target, "comparison"))
    elif not quiet:
        from farloop.views import terminal

        terminal.comparison(result)
        terminal.print_written(target, report=not no_report)

"""`farloop arena`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop import memory
from farloop.commands.command import handle_errors, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import (
    AlgorithmFileOption,
    ArenaJitterOption,
    ArenaScenariosOption,
    ArenaStartOption,
    ForceMemoryOption,
    ForceOption,
    FreshOption,
    JsonOption,
    MustOption,
    NoReportOption,
    OutOption,
    OverOption,
    QuietOption,
    RayOption,
    SetOption,
    SlurmOption,
    StoreOption,
    ThreadsOption,
    WorkersOption,
    algorithm_names,
    load_classes,
)


@declare_command(
    "arena",
    group="Papers",
    place=2,
    summary="Judge all algorithms in cross-datacenter scenarios.",
    examples=(
        "farloop arena --algorithms cubic,bbr,gemini",
        "farloop arena --scenario mine.toml --seeds 1-10 --must 'goodput >= 90 %'",
        "farloop arena --scenario mine.toml --over workload.load=0.3,0.5,0.8",
    ),
)
@handle_errors
def arena(
    scenario: ArenaScenariosOption = None,
    algorithms: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="The algorithms, separated by commas (default: all); A/B: A inside datacenters, B across.",
            autocompletion=algorithm_names,
        ),
    ] = None,
    algorithm_file: AlgorithmFileOption = None,
    set_: SetOption = None,
    must: MustOption = None,
    over: OverOption = None,
    same_start: ArenaStartOption = "bdp",
    full: Annotated[bool, typer.Option("--full", help="Run at full scale, which takes longer.")] = False,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="SEEDS", help="One run for each of these seeds, such as 1-10 or 1,3,7 (default: 1-3)."),
    ] = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Say why the tail is slow: simulate each algorithm once more, and show what took most of the time of the flow at the 99th "
            "percentile of the slowdown.",
        ),
    ] = False,
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
    jitter: ArenaJitterOption = 3,
    as_json: JsonOption = False,
) -> None:
    """Judge algorithms in cross-datacenter scenarios: what must hold, then who is best. Repeat an interrupted command to continue it."""
    from farloop.experiments.execution import Execution
    from farloop.output.directories import directory
    from farloop.running.progress import reporter
    from farloop.studies.arena import scenario_runs
    from farloop.studies.arena.plan import plan
    from farloop.views import arena_page

    execution = Execution(threads=threads, workers=workers, ray=ray, slurm=slurm)
    planned = plan(
        scenario or [],
        algorithms,
        set=set_,
        seeds=seeds,
        full=full,
        same_start=same_start,
        jitter=jitter,
        must=must or [],
        over=over,
        why=why,
        classes=load_classes(algorithm_file),
    )
    target = out or Path("out") / "arena"
    with (
        memory.allow_excess(force_memory),
        directory(target, force=force, fresh=fresh, store=store) as aside,
        reporter(quiet=quiet) as progress,
    ):
        page = None if no_report else arena_page.page
        results = scenario_runs.run(planned, aside.path, execution.attach(aside.store, progress), page=page)
    if as_json:
        from farloop.views import machine

        print_json(machine.arena(results, target))
    elif not quiet:
        from farloop.views import terminal

        terminal.arena(results, planned.algorithms, len(planned.seeds))
        terminal.print_written(target, report=not no_report)

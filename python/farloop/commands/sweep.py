"""`farloop sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import EXIT_IMPRECISE, EXIT_INVARIANT, handle_errors, print_json, ready_to_draw
from farloop.commands.declarations import declare_command
from farloop.commands.options import (
    AlgorithmFileOption,
    ForceMemoryOption,
    ForceOption,
    GearOption,
    JsonOption,
    NoReportOption,
    OutOption,
    QuietOption,
    RayOption,
    SizesOption,
    SlurmOption,
    StudyStoreOption,
    StudyThreadsOption,
    StudyWorkersOption,
)
from farloop.messages import say, say_notes


@declare_command(
    "sweep",
    group="Simulate",
    place=3,
    summary="Simulate a study: many settings, algorithms and seeds.",
    examples=(
        "farloop sweep study.toml",
        "farloop sweep study.toml --until 'p99 slowdown ± 5 %'",
        "farloop sweep study.toml --slurm partition=short,time=2:00:00",
    ),
)
@handle_errors
def sweep(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study file (TOML): a base scenario, points, what to collect.")
    ],
    algorithm_file: AlgorithmFileOption = None,
    gear: GearOption = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="PRECISION",
            help="Add seeds until the 95 % confidence interval is this narrow: 'p99 slowdown ± 5 %' (or +- 5 %).",
        ),
    ] = None,
    most_seeds: Annotated[
        int | None, typer.Option(min=10, metavar="N", help="Stop --until after N seeds (default: 100).")
    ] = None,
    sizes: SizesOption = None,
    threads: StudyThreadsOption = None,
    workers: StudyWorkersOption = None,
    ray: RayOption = None,
    slurm: SlurmOption = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run again what failed before.")] = False,
    store: StudyStoreOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Simulate a study: many runs over settings, algorithms and seeds, on this machine or a cluster. Finished runs are never repeated."""
    from farloop.experiments.execution import Execution
    from farloop.running.progress import counter
    from farloop.studies.sweep import definition as definitions
    from farloop.studies.sweep import study as studies
    from farloop.views import study_page

    wanted = definitions.from_file(
        study,
        until=until,
        most_seeds=most_seeds,
        sizes=sizes,
        algorithm_files=algorithm_file or [],
        gear=gear,
        progress=None if quiet else say,
    )
    target = out or studies.default_target(study.stem)
    ready_to_draw(not no_report)
    execution = Execution(
        threads=threads, workers=workers, ray=ray, slurm=slurm, store=store, force_memory=force_memory
    )
    with execution, counter(quiet=quiet) as counting:
        result = studies.sweep(
            wanted,
            target,
            execution,
            retry=retry,
            force=force,
            draw=None if no_report else study_page.write,
            counting=counting,
        )
    say_notes(result.notes)
    if as_json:
        from farloop.views import machine

        print_json(machine.study(result))
    elif not quiet:
        from farloop.views import terminal

        terminal.study(result, wanted.collect)
        terminal.print_written(target, report=not no_report)
    if result.failures:
        raise typer.Exit(EXIT_INVARIANT)
    if result.unmet:
        raise typer.Exit(EXIT_IMPRECISE)

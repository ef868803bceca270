"""`farloop interference`: how training jobs slow one another down."""

from __future__ import annotations

from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import (
    ForceMemoryOption,
    JsonOption,
    RayOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    SlurmOption,
    StoreOption,
    ThreadsOption,
    WorkersOption,
    algorithm_names,
)


@declare_command(
    "interference",
    group="Simulate",
    place=6,
    summary="Say how training jobs slow one another down.",
    examples=("farloop interference jobs.toml",),
)
@handle_errors
def interference(
    scenario: ScenarioArgument,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Algorithm of all that names none of its own; A/B: A inside datacenters, B across.",
            autocompletion=algorithm_names,
        ),
    ] = None,
    set_: SetOption = None,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    slurm: SlurmOption = None,
    store: StoreOption = None,
    force_memory: ForceMemoryOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json_: JsonOption = False,
) -> None:
    """Say how training jobs slow one another down: each alone, each pair, and all together.

    The scenario has two or more [[job]]. All else of it stays in each run. The table has the time of an iteration alone, and that beside
    others over it.
    """
    from farloop.experiments.execution import Execution
    from farloop.running.progress import reporter
    from farloop.studies.interference import interference as ask

    with reporter(quiet=quiet or json_) as progress:
        result = ask(
            scenario,
            algorithm=algorithm,
            set=set_,
            seed=seed,
            execution=Execution(
                threads=threads,
                workers=workers,
                ray=ray,
                slurm=slurm,
                store=store,
                progress=progress,
                force_memory=force_memory,
            ),
        )
    if json_:
        print_json(result.as_json)
        return
    from farloop.views import terminal

    terminal.interference(result)

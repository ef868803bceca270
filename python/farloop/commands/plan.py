"""`farloop plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import (
    ForceMemoryOption,
    ForceOption,
    JsonOption,
    NoReportOption,
    OutOption,
    QuietOption,
    RayOption,
    SetOption,
    SlurmOption,
    StudyStoreOption,
    StudyThreadsOption,
    StudyWorkersOption,
)


@declare_command(
    "plan",
    group="Simulate",
    place=5,
    summary="Say how many links, which rate or which buffer is enough.",
    examples=(
        "farloop plan scenario.toml --vary 'links = 1..8' --until 'p99 slowdown <= 3'",
        "farloop plan scenario.toml --vary 'buffer = 16MB, 64MB' --until 'no drops'",
        "farloop plan plan.toml --survive 1 --out out/links",
    ),
)
@handle_errors
def plan(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="A scenario file, a paper's figure, or a plan's file: TOML with scenario, vary, along, until, cost (docs/plan.md).",
        ),
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="What is searched, the cheapest value first: links, wan_rate, distance, buffer, oversubscription, load or a key of the "
            "scenario, such as 'links = 1..8'. May be repeated; then --cost says what is cheap.",
        ),
    ] = None,
    along: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="The answer is given for each of these, such as 'distance = 100km, 1000km, 5000km'.",
        ),
    ] = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONSTRAINT",
            help="What must hold under every seed, such as 'p99 slowdown <= 3' or 'iteration time <= 2s'. May be repeated.",
        ),
    ] = None,
    survive: Annotated[
        int | None,
        typer.Option(metavar="N", help="It must hold also with the N busiest links between sites down (default: 0)."),
    ] = None,
    cost: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="Its cost in km, Gbps and MB: 'links * 100 + buffer * 2'.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Seeds under which packets confirm the answer (default: 3).")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="The first of the seeds (default: 1).")] = None,
    screen: Annotated[
        str | None,
        typer.Option(
            metavar="GEAR", help="fluid: rates drop what they are sure of; none: packets alone (default: fluid)."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Processor time of all simulations, such as 90s or 2h (default: 10min)."),
    ] = None,
    set_: SetOption = None,
    threads: StudyThreadsOption = None,
    workers: StudyWorkersOption = None,
    ray: RayOption = None,
    slurm: SlurmOption = None,
    store: StudyStoreOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say how many links, which rate, buffer or distance is enough. Repeat an interrupted command to continue it."""
    from farloop.experiments.execution import Execution
    from farloop.running.progress import counter
    from farloop.studies.capacity import capacity_question, planning
    from farloop.studies.sweep import study
    from farloop.views import capacity_page

    question = capacity_question.read(
        scenario,
        vary=vary or None,
        along=along,
        until=until or None,
        survive=survive,
        cost=cost,
        seeds=seeds,
        seed=seed,
        screen=screen,
        budget=budget,
        set=set_,
    )
    target = out or study.default_target(f"plan-{Path(question.scenario.file).stem}")
    execution = Execution(
        threads=threads, workers=workers, ray=ray, slurm=slurm, store=store, force_memory=force_memory
    )
    with execution, counter(quiet=quiet) as counting:
        page = None if no_report else capacity_page.page
        answer = planning.write(question, target, execution, force=force, page=page, counting=counting)
    if as_json:
        from farloop.views import machine

        print_json(machine.plan(answer))
    elif not quiet:
        from farloop.views import terminal

        terminal.plan(answer.content)
        terminal.print_written(target, report=not no_report)

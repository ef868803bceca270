"""`farloop advise`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import (
    AlgorithmFileOption,
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
    load_classes,
)


@declare_command(
    "advise",
    group="Simulate",
    place=4,
    summary="Say what should run in a scenario, and when that changes.",
    examples=(
        "farloop advise scenario.toml --budget 10min",
        "farloop advise scenario.toml --goal goodput --must 'no pfc across'",
        "farloop advise question.toml --out out/answer",
    ),
)
@handle_errors
def advise(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="A scenario file, a paper's figure, or a question's file: TOML with scenario, goal, must, can, budget (docs/advise.md).",
        ),
    ],
    goal: Annotated[
        str | None,
        typer.Option(
            metavar="GOAL",
            help="What is to be good, such as 'p99 slowdown of small flows' or goodput (default: the arena's score).",
        ),
    ] = None,
    must: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONSTRAINT",
            help="What must hold, such as 'no pfc across' or 'goodput >= 90 %'. It replaces the usual bound of that quantity; 'none' drops "
            "all usual ones. May be repeated.",
        ),
    ] = None,
    can: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help="What hosts and switches can be made to do: ecn, int, 'switch agents', dci, symmetric, credit, kernel (default: "
            "all that the scenario's network offers). May be repeated.",
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="The algorithms to ask about (default: all that are no references); A/B: A inside datacenters, B across.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time of one processor that simulations may take, such as 90s, 10min or 2h (default: 10min).",
        ),
    ] = None,
    algorithm_file: AlgorithmFileOption = None,
    set_: SetOption = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="The first of the seeds (default: 1).")] = None,
    no_tune: Annotated[
        bool,
        typer.Option(
            "--no-tune", help="Do not search for parameters (the search needs the extra `advise`: docs/install.md)."
        ),
    ] = False,
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
    """Say what should run in a scenario, and when the answer changes. Repeat an interrupted command to continue it."""
    from farloop.experiments.execution import Execution
    from farloop.running.progress import counter
    from farloop.studies.advice import asking, question
    from farloop.studies.sweep import study
    from farloop.views import advice_page

    advice_question = question.read(
        scenario,
        goal=goal,
        must=must or None,
        can=can or None,
        candidates=candidates,
        budget=budget,
        seed=seed,
        tune=False if no_tune else None,
        set=set_,
        classes=load_classes(algorithm_file),
    )
    target = out or study.default_target(f"advice-{Path(advice_question.scenario.file).stem}")
    execution = Execution(
        threads=threads, workers=workers, ray=ray, slurm=slurm, store=store, force_memory=force_memory
    )
    with execution, counter(quiet=quiet) as counting:
        page = None if no_report else advice_page.page
        advice = asking.write(advice_question, target, execution, force=force, page=page, counting=counting)
    if as_json:
        from farloop.views import machine

        print_json(machine.advice(advice))
    elif not quiet:
        from farloop.views import terminal

        terminal.advice(advice.content)
        terminal.print_written(target, report=not no_report)

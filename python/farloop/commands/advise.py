"""`farloop advise`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop import memory
from farloop.commands.command import guarded
from farloop.commands.options import ForceMemoryOption, ForceOption, NoReportOption, OutOption, QuietOption, SetOption


@guarded
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
        typer.Option(metavar="A,B,...", help="The algorithms to ask about (default: all that are no references)."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time of one processor that simulations may take, such as 90s, 10min or 2h (default: 10min).",
        ),
    ] = None,
    set_: SetOption = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="The first of the seeds (default: 1).")] = None,
    no_tune: Annotated[
        bool,
        typer.Option(
            "--no-tune", help="Do not search for parameters (the search needs the extra `advise`: docs/install.md)."
        ),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Run N processes side by side (default: one per processor).")
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="auto|ADDRESS", help="Run on this Ray cluster (docs/studies.md).")
    ] = None,
    slurm: Annotated[
        str | None, typer.Option(metavar="KEY=VALUE,...", help="Run as Slurm jobs (docs/studies.md).")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep finished runs in DIR, and look for them there (default: run-store beside the output).",
        ),
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say what should run in a scenario, and when the answer changes. Repeat an interrupted command to continue it."""
    from farloop.advice import asking, question
    from farloop.running.progress import counter
    from farloop.sweep import study

    asked = question.read(
        scenario,
        goal=goal,
        must=must or None,
        can=can or None,
        candidates=candidates,
        budget=budget,
        seed=seed,
        tune=False if no_tune else None,
        set=set_,
    )
    target = out or study.default_target(f"advice-{Path(asked.scenario.file).stem}")
    with memory.forced(force_memory), counter(quiet=quiet) as counting:
        advice = asking.write(
            asked,
            target,
            store=store,
            workers=workers,
            ray=ray,
            slurm=slurm,
            force=force,
            report=not no_report,
            counting=counting,
        )
    if not quiet:
        from farloop.commands import show

        show.advice(advice.content)
        show.written(target, report=not no_report)

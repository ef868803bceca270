"""`farloop reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop import memory
from farloop.commands.command import handle_errors, print_json, ready_to_draw
from farloop.commands.declarations import declare_command
from farloop.commands.options import (
    CaseOption,
    FiguresArgument,
    ForceMemoryOption,
    ForceOption,
    FreshOption,
    JitterOption,
    JsonOption,
    NoReportOption,
    OnlyAlgorithmsOption,
    OutOption,
    QuietOption,
    RayOption,
    SameStartOption,
    SeedsOption,
    SetOption,
    SlurmOption,
    StoreOption,
    ThreadsOption,
    WorkersOption,
)
from farloop.messages import say_notes


@declare_command(
    "reproduce",
    group="Papers",
    place=1,
    summary="Reproduce papers' figures and judge what they claim.",
    examples=(
        "farloop reproduce gear/fig09",
        "farloop reproduce gemini --full --seeds 1-5 --out out/gemini",
        "farloop reproduce gear/fig09 --algorithms hpcc --set run.duration=1s",
    ),
)
@handle_errors
def reproduce(
    figures: FiguresArgument = None,
    full: Annotated[bool, typer.Option("--full", help="Run all cases at full scale (hours to days).")] = False,
    set_: SetOption = None,
    case: CaseOption = None,
    algorithms: OnlyAlgorithmsOption = None,
    same_start: SameStartOption = None,
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
    as_json: JsonOption = False,
) -> None:
    """Reproduce figures of papers and judge their claims. Repeat an interrupted command to continue it.

    With --set, --case or --algorithms the output is a reading, not a verdict: it says of each statement whether it holds under that change.
    """
    from farloop.experiments.execution import Execution
    from farloop.output.directories import directory
    from farloop.output.manifest import slug
    from farloop.running.progress import reporter
    from farloop.studies import reproduce as reproduction
    from farloop.views.report.index import index_page

    execution = Execution(threads=threads, workers=workers, ray=ray, slurm=slurm)
    chosen = reproduction.select(figures or [])
    names = tuple(name.strip() for name in (algorithms or "").split(",") if name.strip())
    reading = reproduction.Reading(tuple(set_ or ()), tuple(case or ()), names)
    target = out or Path("out") / slug("-".join(["reproduce", *(figures or [])]))
    ready_to_draw(not no_report)
    with (
        memory.allow_excess(force_memory),
        directory(target, force=force, fresh=fresh, store=store) as aside,
        reporter(quiet=quiet) as progress,
    ):
        done = reproduction.reproduce(
            chosen,
            aside.path,
            execution.attach(aside.store, progress),
            full=full,
            same_start=same_start,
            reading=reading,
            seeds=seeds,
            index_page=None if no_report else index_page,
            jitter=jitter,
        )
    say_notes(f"{verdicts.figure}: {note}" for verdicts in done for note in verdicts.notes)
    if as_json:
        from farloop.views import machine

        print_json(machine.reproduction(done, target))
    elif not quiet:
        from farloop.views import terminal

        terminal.reproduction(done)
        terminal.print_written(target, report=not no_report)

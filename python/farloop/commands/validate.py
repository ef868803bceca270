"""`farloop validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import EXIT_INVARIANT, handle_errors, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import (
    ForceOption,
    FreshOption,
    JsonOption,
    NoReportOption,
    OutOption,
    QuietOption,
    RayOption,
    SlurmOption,
    StoreOption,
    ThreadsOption,
    WorkersOption,
)


def complete_references(incomplete: str) -> list[str]:
    """References and their cases, for shells."""
    from farloop.studies.validation import fluid_cases, fluid_errors, metamorphic, references

    known_names = [
        name
        for reference in map(references.load, references.names())
        for name in (reference.name, *(f"{reference.name}/{case.name}" for case in reference.cases))
    ]
    of_fluid = (fluid_errors.NAME, *(f"{fluid_errors.NAME}/{case.name}" for case in fluid_cases.load()))
    return [name for name in (*known_names, metamorphic.NAME, *of_fluid) if name.startswith(incomplete)]


@declare_command(
    "validate",
    group="Papers",
    place=3,
    summary="Compare with other simulators, Linux and theory.",
    examples=(
        "farloop validate",
        "farloop validate metamorphic --json",
        "farloop validate fluid",
    ),
)
@handle_errors
def validate(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REFERENCE[/CASE]|ALGORITHM|metamorphic|fluid[/CASE] ...]",
            help="What to compare (default: everything that is quick).",
            autocompletion=complete_references,
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Run the longer cases, too.")] = False,
    threads: ThreadsOption = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    slurm: SlurmOption = None,
    store: StoreOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    fresh: FreshOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the simulator with other simulators, Linux and theory, and its fluid gear with its packets.

    Ends with code 1 if a number differs without a known cause.
    """
    from farloop.experiments.execution import Execution
    from farloop.output.directories import directory
    from farloop.running.progress import reporter
    from farloop.studies.validation import checking, checks, fluid_errors, metamorphic, record
    from farloop.views import validation_page

    execution = Execution(threads=threads, workers=workers, ray=ray, slurm=slurm)
    wanted = names or []
    of_fluid = [name for name in wanted if name.partition("/")[0] == fluid_errors.NAME]
    among = [name for name in wanted if name != metamorphic.NAME and name not in of_fluid]
    chosen = checking.select(among, full=full) if among or not wanted else []
    cases = fluid_errors.select(of_fluid, full=full) if of_fluid or not wanted else []
    worlds = metamorphic.WORLDS_IN_FULL if full else metamorphic.WORLDS
    target = out or Path("out") / "validation"
    with directory(target, force=force, fresh=fresh, store=store) as aside, reporter(quiet=quiet) as progress:
        with execution.attach(aside.store, progress) as on_store:
            results = checking.run(chosen, on_store)
            outcomes = metamorphic.run(on_store, worlds) if not wanted or metamorphic.NAME in wanted else []
            errors = fluid_errors.run(cases, on_store) if cases else []
        draw = None if no_report else validation_page.write
        scale = "full" if full else "quick"
        record.write(results, aside.path, scale=scale, outcomes=outcomes, errors=errors, draw=draw)
    if as_json:
        from farloop.views import machine

        print_json(machine.validation(results, outcomes, target, errors))
    elif not quiet:
        from farloop.views import terminal

        terminal.validation(results, outcomes, errors)
        terminal.print_written(target, report=not no_report)
    differs = results and checks.worst(results) == checks.DIFFERS
    worse = any(error.verdict == fluid_errors.WORSE for error in errors)
    if differs or worse or not all(outcome.holds for outcome in outcomes):
        raise typer.Exit(EXIT_INVARIANT)

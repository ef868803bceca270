"""`farloop validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from farloop.experiments.execution import Execution
    from farloop.output.directories import Output


def complete_references(incomplete: str) -> list[str]:
    """References and their cases, for shells."""
    from farloop.studies.validation import fluid_cases, fluid_errors, metamorphic, references
    from farloop.studies.validation.lcmp import flow_by_flow

    known_names = [
        name
        for reference in map(references.load, references.names())
        for name in (reference.name, *(f"{reference.name}/{case.name}" for case in reference.cases))
    ]
    of_fluid = (fluid_errors.NAME, *(f"{fluid_errors.NAME}/{case.name}" for case in fluid_cases.load()))
    of_lcmp = (flow_by_flow.NAME, *(case.name for case in flow_by_flow.CASES))
    return [name for name in (*known_names, metamorphic.NAME, *of_fluid, *of_lcmp) if name.startswith(incomplete)]


@declare_command(
    "validate",
    group="Papers",
    place=3,
    summary="Compare with other simulators, Linux and theory.",
    examples=(
        "farloop validate",
        "farloop validate metamorphic --json",
        "farloop validate fluid",
        "farloop validate lcmp --from LCMP",
    ),
)
@handle_errors
def validate(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REFERENCE[/CASE]|ALGORITHM|metamorphic|fluid[/CASE]|lcmp[/CASE] ...]",
            help="What to compare (default: everything that is quick).",
            autocompletion=complete_references,
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Run the longer cases, too.")] = False,
    checkout: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="CHECKOUT",
            help="With lcmp: a checkout of its artifact, whose files farloop does not have.",
        ),
    ] = None,
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
    from farloop.errors import FarloopError
    from farloop.experiments.execution import Execution
    from farloop.output.directories import directory
    from farloop.running.progress import reporter
    from farloop.studies.validation import checking, checks, fluid_errors, metamorphic, record
    from farloop.studies.validation.lcmp import flow_by_flow
    from farloop.views import validation_page

    execution = Execution(threads=threads, workers=workers, ray=ray, slurm=slurm)
    wanted = names or []
    if of_lcmp := [name for name in wanted if name.partition("/")[0] == flow_by_flow.NAME]:
        if len(of_lcmp) < len(wanted):
            raise FarloopError(
                f"{flow_by_flow.NAME} beside other names: expected it alone, since it takes files of others"
            )
        into = directory(out or Path("out") / flow_by_flow.NAME, force=force, fresh=fresh, store=store)
        _validate_lcmp(of_lcmp, checkout, execution, into, full=full, quiet=quiet, as_json=as_json)
        return
    if checkout is not None:
        raise FarloopError(
            f"--from: only {flow_by_flow.NAME} takes files of others; expected `farloop validate {flow_by_flow.NAME} --from CHECKOUT`"
        )
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


def _validate_lcmp(
    names: list[str],
    checkout: Path | None,
    execution: Execution,
    into: AbstractContextManager[Output],
    *,
    full: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compares with the completion times in a checkout of LCMP's artifact; without one shows what the repository has kept of it."""
    from farloop.running.progress import reporter
    from farloop.studies.validation.lcmp import artifact, flow_by_flow, kept
    from farloop.views import terminal

    cases = flow_by_flow.select(names, full=full)
    if checkout is None:
        compared = kept.read_recorded(None if names == [flow_by_flow.NAME] else cases)
        note = f"No checkout: `git clone {artifact.REPOSITORY}`, and name it with --from. Kept of earlier comparisons:"
    else:
        note = ""
        with into as aside, reporter(quiet=quiet) as progress:
            with execution.attach(aside.store, progress) as on_store:
                compared = flow_by_flow.run(checkout, cases, on_store, full=full)
            kept.write(compared, aside.path, scale="full" if full else "quick")
    if as_json:
        print_json({"checkout": checkout is not None, "cases": [case.row() for case in compared]})
    elif not quiet:
        terminal.lcmp(compared, note)
    if checkout is not None and any(case.verdict == flow_by_flow.DIFFERS for case in compared):
        raise typer.Exit(EXIT_INVARIANT)

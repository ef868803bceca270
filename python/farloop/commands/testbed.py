"""`farloop testbed`: scenarios on this host's kernel."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_json
from farloop.commands.declarations import declare_group, show_examples
from farloop.commands.help_groups import WholeLines
from farloop.errors import FarloopError
from farloop.messages import say
from farloop.scenario import Scenario
from farloop.units import count_text

app = typer.Typer(
    cls=WholeLines, help="Run a scenario with this host's Linux kernel.", no_args_is_help=True, rich_markup_mode=None
)
declare_group(
    "testbed", app, group="Linux kernel", place=1, summary="Run a scenario with real TCP, beside the simulation."
)

EVERY = 2.0
"""Seconds between words about how far a run is, or a fifth of a longer run."""


@app.command(**show_examples("farloop testbed run testbed.toml --out out/measured"))
@handle_errors
def run(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A scenario file (docs/testbed.md: what a testbed can build).")
    ],
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Algorithm of every flow that does not name its own: gemini, cubic, bbr or others; "
            "A/B: A inside datacenters, B across.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a setting of the scenario, such as run.duration=10s. May be repeated.",
        ),
    ] = None,
    repetitions: Annotated[int, typer.Option(min=1, metavar="N", help="Measure N times.")] = 1,
    compare_with_simulation: Annotated[
        bool, typer.Option("--compare-with-simulation", help="Simulate the scenario, too, and say where both agree.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write to DIR (default: out/NAME-testbed).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write into DIR even if it holds other files.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write tables and summary only.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Build a scenario out of network namespaces, run its flows as TCP connections, and measure them. Needs root."""
    from farloop.output import saving
    from farloop.output.directories import directory
    from farloop.output.manifest import slug
    from farloop.testbed.repetitions import measure

    wanted = Scenario.load(scenario).override(set_, algorithm=algorithm)
    target = out or Path("out") / slug(f"{Path(wanted.file).stem[:80]}-testbed")
    progress = _progress(quiet=quiet)
    with directory(target, force=force) as aside:
        comparison = measure(
            wanted, repetitions=repetitions, with_simulation=compare_with_simulation, progress=progress
        )
        if len(comparison) == 1:
            notes = saving.fill_run(comparison.runs[0], aside.path, report=not no_report)
        else:
            notes = saving.fill_comparison(comparison, aside.path, report=not no_report)
    for note in notes:
        say(f"farloop: note: {note}")
    if not quiet:
        from farloop.views import terminal

        terminal.comparison(comparison)
        terminal.print_written(target, report=not no_report)


@app.command(**show_examples("farloop testbed figure gemini/fig10 --repetitions 3"))
@handle_errors
def figure(
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE", help="A paper's figure at a testbed's scale: gemini/kernel-fig10, or gemini/fig10."
        ),
    ],
    repetitions: Annotated[
        int, typer.Option(metavar="N", help="Measure N times, and simulate with the seeds 1 to N.")
    ] = 1,
    full: Annotated[bool, typer.Option("--full", help="Run all cases of the figure.")] = False,
    case: Annotated[str, typer.Option(metavar="PREFIX", help="Run only cases whose name begins with PREFIX.")] = "",
    algorithms: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Run only these algorithms, separated by commas.")
    ] = None,
    attempts: Annotated[
        int,
        typer.Option(
            metavar="N", help="Measure a run up to N times if this host pauses it for too long; keep the best."
        ),
    ] = 1,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write to DIR (default: out/FIGURE).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write into DIR even if it holds other files.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write tables and summary only.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Simulate a paper's figure, measure it on this host's kernel, and judge both by its claims. Needs root."""
    from farloop.output.directories import directory
    from farloop.output.manifest import slug
    from farloop.running.progress import reporter
    from farloop.testbed import paper_figures
    from farloop.views.report import verdict_pairs

    planned = paper_figures.plan_figure(figure, full=full, repetitions=repetitions, case=case, algorithms=algorithms)
    target = out or Path("out") / slug(planned.figure)

    def announce(text: str) -> None:
        if not quiet:
            say(f"farloop: {text}")

    with directory(target, force=force) as aside, reporter(quiet=quiet) as simulating:
        claims, notes, failure = paper_figures.run(
            planned,
            aside.path,
            attempts=attempts,
            progress=_progress(quiet=quiet),
            reporter=simulating,
            store=aside.store,
            page=None if no_report else verdict_pairs.page,
            say=announce,
        )
    for note in notes:
        say(f"farloop: note: {note}")
    if not quiet:
        from farloop.views import terminal

        terminal.side_by_side(claims)
        terminal.print_written(target, report=not no_report)
    if failure is not None:
        failure.add_note(f"what was measured before is in {target}")
        raise failure


@app.command(**show_examples("farloop testbed clean"))
@handle_errors
def clean() -> None:
    """End processes that a killed testbed left behind. Its network is gone already; nothing else is touched."""
    from farloop.testbed.link_emulator import find_orphans

    left = find_orphans()
    for pid in left:
        try:
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        except PermissionError:
            raise FarloopError(f"process {pid} belongs to another user; run this command as root") from None
    typer.echo(
        f"{count_text(len(left), 'link emulator')} of killed testbeds ended" if left else "nothing was left behind"
    )


@app.command(**show_examples("farloop testbed doctor"))
@handle_errors
def doctor(json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check what a testbed needs on this host, and say what is missing. Changes nothing."""
    from farloop.testbed.repetitions import missing_requirements

    lacking = missing_requirements(["gemini"])
    if json_:
        print_json({"missing": lacking})
    else:
        typer.echo("\n".join(lacking) or "nothing is missing")
    if lacking:
        raise typer.Exit(2)


def _progress(*, quiet: bool) -> Callable[[str, float, float], bool]:
    """Says now and then how far a measurement is."""
    announced: dict[str, float] = {}

    def progress(label: str, now: float, end: float) -> bool:
        # An attempt that is made again begins anew.
        last = announced.get(label, 0.0)
        if not quiet and (now < last or now >= last + max(EVERY, end / 5)):
            announced[label] = now
            say(f"farloop: {label}: {now:.0f} of {end:g} s")
        return True

    return progress

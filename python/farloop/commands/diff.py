"""`farloop diff`: settings and numbers that differ between two outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import EXIT_DIFFERENT, handle_errors, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import JsonOption, QuietOption


@declare_command(
    "diff",
    group="Look up",
    place=7,
    summary="Say what differs between two outputs.",
    examples=(
        "farloop diff out/before out/after",
        "farloop diff out/before out/after --json",
    ),
)
@handle_errors
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The output directory that numbers are compared with.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The other output directory.")],
    quiet: QuietOption = False,
    json_: JsonOption = False,
) -> None:
    """Say which settings and headline numbers differ between two outputs, and by how much. Nothing is simulated.

    Of outputs with several runs, those of the same name are compared. Settings are the scenario's keys with all defaults, the version
    of farloop, and files that the scenario names. The exit code is 0 if the outputs are equal, 1 if they differ, 2 for an error.
    """
    from farloop.api import diff as compare

    difference = compare(old, new)
    if json_:
        print_json(difference.as_json)
    elif not quiet:
        from farloop.views import terminal

        terminal.difference(difference)
    if not difference.is_equal:
        raise typer.Exit(EXIT_DIFFERENT)

"""`farloop archive`: an output with all that repeats it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_line
from farloop.commands.declarations import declare_command
from farloop.commands.options import QuietOption
from farloop.messages import say_notes


@declare_command(
    "archive",
    group="Look up",
    place=5,
    summary="Pack an output with all that repeats it.",
    examples=(
        "farloop archive out/first",
        "farloop archive out/first --out artifact",
    ),
)
@handle_errors
def archive(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="An output of run, compare, sweep, arena, advise, plan or reproduce.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.tar.gz|FOLDER",
            help="An archive, or else a new folder with the same files (default: DIR.tar.gz).",
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Pack an output with all that repeats it: scenario, algorithms, versions, tables, and a script that gives the same bytes."""
    from farloop.output import archiving
    from farloop.output.manifest import list_files, slug
    from farloop.safe_files.named_files import NamedFiles

    whole = directory.resolve()
    target = out or whole.with_name(f"{whole.name}.tar.gz")
    files = archiving.archive(directory)
    if target.name.endswith((".tar.gz", ".tgz")) or str(target).startswith("/dev/"):
        with NamedFiles([directory / each for each in list_files(directory, "")]) as named:
            named.write(target, archiving.pack(files, slug(whole.name)))
    else:
        archiving.write_folder(files, target)
    say_notes(archiving.places_of_machine(files))
    if not quiet:
        print_line(f"written: {out or Path(f'{directory}.tar.gz')}")

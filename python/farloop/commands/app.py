"""The command line: a thin skin over the Python API. The files of commands beside it declare them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from farloop.commands.command import handle_errors
from farloop.commands.declarations import find_commands, show_examples
from farloop.commands.help_groups import Grouped

app = typer.Typer(
    name="farloop",
    cls=Grouped,
    help="Congestion control for networks that span datacenters: simulate it, compare it, reproduce the papers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 110},
    # Help says what is written: [workload] is no markup.
    rich_markup_mode=None,
)
for _command in find_commands():
    if isinstance(_command.run, typer.Typer):
        app.add_typer(_command.run, name=_command.name)
    else:
        app.command(_command.name, **show_examples(*_command.examples))(_command.run)


def run() -> int:
    """Runs the command line; the exit code. Interrupts, and errors of standard output, are the caller's."""
    out = sys.stdout
    try:
        app(prog_name="farloop")
    except SystemExit as leave:
        # Typer ends with an error, and another standard output, where the reader of a pipe has gone away, as `head` does: that is none.
        # Any other one is of an algorithm in Python that has put it there.
        gone = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        sys.stdout = out
        return 0 if gone else leave.code if isinstance(leave.code, int) else 0 if leave.code is None else 1
    return 0


@app.callback(invoke_without_command=True)
@handle_errors
def root(
    version: Annotated[bool, typer.Option("--version", help="Print version and build details, and exit.")] = False,
) -> None:
    """Congestion control for networks that span datacenters: simulate it, compare it, reproduce the papers."""
    if version:
        from farloop.commands import build_facts

        typer.echo(build_facts.text())
        raise typer.Exit

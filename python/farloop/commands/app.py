"""The command line: a thin skin over the Python API. Each group of commands has a file of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from farloop.commands.advise import advise
from farloop.commands.archive import archive
from farloop.commands.arena import arena
from farloop.commands.bench import bench
from farloop.commands.command import handle_errors
from farloop.commands.examples import Exemplified, epilog_of
from farloop.commands.help_groups import Grouped
from farloop.commands.import_files import COMMANDS as IMPORTS
from farloop.commands.interference import interference
from farloop.commands.kernel import app as kernel
from farloop.commands.look_up import explain, list_, schema
from farloop.commands.new_algorithm import new_algorithm
from farloop.commands.papers import reproduce
from farloop.commands.plot import plot
from farloop.commands.report import report
from farloop.commands.run import compare, run_
from farloop.commands.scale_network import scale
from farloop.commands.sweep import sweep
from farloop.commands.testbed import app as testbed
from farloop.commands.validate import validate
from farloop.commands.why import why

COMMANDS: dict[str, Callable[..., None]] = {
    "run": run_,
    "compare": compare,
    "reproduce": reproduce,
    "arena": arena,
    "sweep": sweep,
    "advise": advise,
    "list": list_,
    "schema": schema,
    "validate": validate,
    **IMPORTS,
    "explain": explain,
    "report": report,
    "plot": plot,
    "archive": archive,
    "why": why,
    "interference": interference,
    "scale": scale,
    "bench": bench,
    "new-algorithm": new_algorithm,
}
"""By their names on the command line."""

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
app.add_typer(kernel, name="kernel")
app.add_typer(testbed, name="testbed")
for _name, _command in COMMANDS.items():
    app.command(_name, cls=Exemplified, epilog=epilog_of(_name))(_command)


def _add_examples(words: str, group: typer.Typer) -> None:
    """Gives the commands of a group their examples, and those of the groups in it."""
    for info in group.registered_commands:
        own = info.name or getattr(info.callback, "__name__", "").strip("_").replace("_", "-")
        info.cls, info.epilog = Exemplified, epilog_of(f"{words} {own}")
    for below in group.registered_groups:
        if below.typer_instance is not None:
            _add_examples(f"{words} {below.name}", below.typer_instance)


_add_examples("kernel", kernel)
_add_examples("testbed", testbed)


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

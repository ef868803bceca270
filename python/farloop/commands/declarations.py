"""Declarations of commands: name, group and line in `farloop --help`, examples. Each command's file makes its own; `app.py` takes them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from typer.core import TyperCommand

from farloop import commands

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

    Function = TypeVar("Function", bound=Callable[..., None])

GROUPS = ("Simulate", "Papers", "Linux kernel", "Look up", "Import", "Develop")
"""The groups of commands in the order of `farloop --help`."""

SHARED = {"app", "build_facts", "command", "declarations", "help_groups", "kernel_rollout", "options"}
"""The modules beside the commands that declare none. Every other module of the folder is imported and declares at least one."""

LAST = 99


@dataclass(frozen=True)
class Declaration:
    """A command of `farloop`, or a group of commands (`farloop kernel`)."""

    name: str
    """Its name on the command line."""

    group: str
    """Its group in `farloop --help`, one of `GROUPS`."""

    summary: str
    """Its line in `farloop --help`; a sentence that fits into 80 columns beside the names."""

    run: Callable[..., None] | typer.Typer
    examples: tuple[str, ...] = ()
    """Command lines at the end of its help. A test parses each."""

    place: int = LAST
    """Its place within the group; commands without one follow by name."""

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            raise ValueError(f"{self.name}: there is no group {self.group!r}; expected one of {', '.join(GROUPS)}")


_declared: dict[str, Declaration] = {}


def declare_command(
    name: str, *, group: str, summary: str, examples: tuple[str, ...], place: int = LAST
) -> Callable[[Function], Function]:
    """Declares a function as a command of `farloop`; the fields are those of `Declaration`."""

    def declare(function: Function) -> Function:
        _declared[name] = Declaration(name, group, summary, function, examples, place)
        return function

    return declare


def declare_group(name: str, app: typer.Typer, *, group: str, summary: str, place: int = LAST) -> None:
    """Declares several commands under one name. Each of them shows its own examples (`show_examples`)."""
    _declared[name] = Declaration(name, group, summary, app, (), place)


def find_commands() -> list[Declaration]:
    """Imports the files of commands and returns what they declare, in the order of `farloop --help`."""
    for module in pkgutil.iter_modules(commands.__path__):
        if module.name not in SHARED:
            importlib.import_module(f"{commands.__name__}.{module.name}")
    return sorted(_declared.values(), key=lambda it: (GROUPS.index(it.group), it.place, it.name))


def group_summaries() -> dict[str, dict[str, str]]:
    """Returns the groups in their order: names of commands and their summaries."""
    declared = find_commands()
    return {title: {it.name: it.summary for it in declared if it.group == title} for title in GROUPS}


def write_command_table(page: str) -> str:
    """Returns a page with the table of all commands between its marks filled in."""
    rows = [
        f"| {title} | `farloop {name}` | {summary} |"
        for title, lines in group_summaries().items()
        for name, summary in lines.items()
    ]
    start, end = "<!-- commands -->\n", "<!-- end -->"
    before, mark, rest = page.partition(start)
    _, stop, after = rest.partition(end)
    if not mark or not stop:
        raise ValueError(f"the page has no {start.strip()} and {end}")
    return "".join(
        [
            before,
            mark,
            "| group | command | what it does |\n| --- | --- | --- |\n",
            *(row + "\n" for row in rows),
            stop,
            after,
        ]
    )


class Exemplified(TyperCommand):
    """A command whose help ends with examples, each on a line of its own."""

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Writes the examples as they stand: a command line that is wrapped cannot be copied."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.epilog.splitlines()))


def show_examples(*lines: str) -> dict[str, Any]:
    """Returns the arguments of typer's `command` that end its help with these command lines."""
    return {"cls": Exemplified, "epilog": "\n".join(lines)}


if __name__ == "__main__":
    import sys
    from pathlib import Path

    from farloop.commands import declarations
    from farloop.safe_files.named_files import NamedFiles

    with NamedFiles() as pages:
        for argument in sys.argv[1:]:
            # The module under its own name: the files of commands declare into that one, not into `__main__`.
            pages.write(argument, declarations.write_command_table(Path(argument).read_text("utf-8")).encode())

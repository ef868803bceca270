"""The lists of commands in help: in groups by what they are for, and no line cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperGroup

from farloop.commands.declarations import group_summaries

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

OTHER = "Other commands"
"""The group of commands that are in no group."""


_WORDS = "farloop.words"


class WholeLines(TyperGroup):
    """A group of commands whose help lists each with the first sentence of its help, over several lines where it needs them."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Writes the lists of commands."""
        left = {name: command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))}
        left = {name: command for name, command in left.items() if not command.hidden}
        width = max(map(len, left), default=0)
        for title, lines in self.groups().items():
            rows = [(name.ljust(width), text) for name, text in lines.items() if left.pop(name, None)]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        if left:
            with formatter.section(OTHER if self.groups() else "Commands"):
                formatter.write_dl([(name.ljust(width), _first_sentence(command)) for name, command in left.items()])

    def groups(self) -> dict[str, dict[str, str]]:
        """The groups in their order: names of commands, and their lines."""
        return {}


class Grouped(WholeLines):
    """The commands of `farloop` in their groups."""

    def groups(self) -> dict[str, dict[str, str]]:
        """The groups in their order: names of commands, and their lines."""
        return group_summaries()

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parses the words, and remembers them for manifests."""
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Context) -> object:
        """Runs the command."""
        from farloop.output.command_line import remember_words

        with remember_words(ctx.meta[_WORDS]):
            return super().invoke(ctx)


def _first_sentence(command: Command) -> str:
    text = " ".join((command.short_help or command.help or "").split())
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]

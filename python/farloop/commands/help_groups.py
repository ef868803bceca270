"""The lists of commands in help: in groups by what they are for, and no line cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

GROUPS: dict[str, dict[str, str]] = {
    "Simulate": {
        "run": "Simulate one scenario.",
        "compare": "Simulate it under several algorithms, side by side.",
        "sweep": "Simulate a study: many settings, algorithms and seeds.",
        "advise": "Say what should run in a scenario, and when that changes.",
        "why": "Say where the time of a flow or a job's iteration went.",
        "interference": "Say how training jobs slow one another down.",
        "scale": "Divide a scenario of training jobs: less to simulate.",
    },
    "Papers": {
        "reproduce": "Reproduce papers' figures and judge what they claim.",
        "arena": "Judge all algorithms in cross-datacenter scenarios.",
        "validate": "Compare with other simulators, Linux and theory.",
    },
    "Linux kernel": {
        "testbed": "Run a scenario with real TCP, beside the simulation.",
        "kernel": "Load an algorithm into this host's kernel; watch it.",
    },
    "Look up": {
        "list": "List algorithms, paths, scenarios, workloads or claims.",
        "explain": "Describe an algorithm; check a scenario before a run.",
        "schema": "Print the JSON Schema of scenarios, for editors.",
        "report": "Draw the report of an output again.",
        "archive": "Pack an output with all that repeats it.",
        "plot": "Draw one metric of an output as a figure for a paper.",
    },
    "Import": {
        "import-graphml": "Turn a GraphML file into a scenario's network.",
        "import-flows": "Turn a Parquet file of flows into CSV.",
        "import-goal": "Turn a GOAL trace (LogGOPSim, ATLAHS) into CSV.",
        "import-job": "Say what is in a training job; convert it.",
        "import-sndlib": "Turn an SNDlib network and its demands into a scenario.",
        "import-hpcc": "Turn HPCC's topology.txt and flow.txt into a scenario.",
        "import-htsim": "Turn an htsim connection matrix (.cm) into CSV.",
    },
    "Develop": {
        "new-algorithm": "Start an algorithm of your own in Rust.",
        "bench": "Measure how fast the simulator is on this machine.",
    },
}
"""The groups of `farloop --help` in their order, and a line for each command that fits into 80 columns."""

OTHER = "Other commands"
"""The group of commands that have no line in `GROUPS`."""


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
        return GROUPS

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

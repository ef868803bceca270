"""`farloop kernel`: algorithms in the Linux kernel that runs."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farloop.commands import kernel_rollout
from farloop.commands.command import handle_errors, print_json
from farloop.commands.declarations import declare_group, show_examples
from farloop.commands.help_groups import WholeLines
from farloop.errors import FarloopError
from farloop.messages import say
from farloop.units import count_text

if TYPE_CHECKING:
    from farloop.kernel.programs import Program

app = typer.Typer(
    cls=WholeLines, help="Run an algorithm in this host's Linux kernel.", no_args_is_help=True, rich_markup_mode=None
)
declare_group(
    "kernel", app, group="Linux kernel", place=2, summary="Load an algorithm into this host's kernel; watch it."
)


class Name(enum.StrEnum):
    """The algorithms that there are for the kernel."""

    GEMINI = "gemini"
    CUBIC = "cubic"
    DCTCP = "dctcp"
    VEGAS = "vegas"
    GEAR = "gear"


NameArgument = Annotated[
    Name,
    typer.Argument(metavar="ALGORITHM", help="gemini or gear; for comparison cubic, dctcp or vegas."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(**show_examples("farloop kernel doctor"))
@handle_errors
def doctor(as_json: JsonOption = False) -> None:
    """Check what this host needs to load algorithms, and how to get what is missing. Changes nothing."""
    from farloop.kernel.doctor import report

    checks = report()
    if as_json:
        print_json(checks)
    else:
        from farloop.views import terminal

        terminal.kernel_checks(checks)
    if not all(check["ok"] for check in checks if check["need"] == "load"):
        raise typer.Exit(2)


SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a parameter (`farloop explain ALGORITHM`); gemini and gear need capacity, such as capacity=10Gbps. May be repeated.",
    ),
]


@app.command(**show_examples("farloop kernel load dctcp", "farloop kernel load gemini --set capacity=10Gbps"))
@handle_errors
def load(algorithm: NameArgument, set_: SetOption = None) -> None:
    """Register an algorithm with the kernel, until `unload` or a reboot. Only connections that select it use it."""
    program = _program(algorithm)
    parameters = program.load(set_ or [])
    known_as = "" if program.control == algorithm else f" as {program.control}"
    typer.echo(f"{algorithm} is loaded{known_as}: {', '.join(f'{k} {_value_text(v)}' for k, v in parameters.items())}")
    typer.echo(
        f"new connections use it if sysctl net.ipv4.tcp_congestion_control, a route or a socket option names {program.control}"
    )


@app.command(**show_examples("farloop kernel unload gemini"))
@handle_errors
def unload(algorithm: NameArgument) -> None:
    """Unregister an algorithm. Connections that use it keep it until they end."""
    _program(algorithm).unload()
    typer.echo(f"{algorithm} is unloaded")


@app.command(**show_examples("farloop kernel status gemini"))
@handle_errors
def status(algorithm: NameArgument, as_json: JsonOption = False) -> None:
    """Show whether an algorithm is loaded, and its connections in all network namespaces."""
    state = {"algorithm": str(algorithm), **_program(algorithm).status()}
    if as_json:
        print_json(state)
    else:
        from farloop.views import terminal

        terminal.kernel_status(state)


@app.command(**show_examples("farloop kernel record gemini events.jsonl --set capacity=10Gbps --duration 30s"))
@handle_errors
def record(
    algorithm: NameArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Write to FILE; an existing file is replaced.")],
    set_: SetOption = None,
    duration: Annotated[str, typer.Option(metavar="TIME", help="Record for this long, such as 30s.")] = "10s",
) -> None:
    """Load gemini for some time and write all events of the connections that begin meanwhile (vectors/README.md)."""
    from farloop.kernel.recording import write

    if algorithm != Name.GEMINI:
        raise FarloopError(f"{algorithm} cannot be recorded: vectors are of gemini's arithmetic")
    recorded = write(file, set_ or [], duration)
    typer.echo(f"{file}: {recorded.events} events of {count_text(recorded.connections, 'connection')}")
    if recorded.lost:
        say(
            f"farloop: {count_text(len(recorded.lost), 'connection')} recorded only in part: the kernel had no room for more events"
        )


telemetry = typer.Typer(
    cls=WholeLines,
    help="Carry in-band telemetry on the sockets of a cgroup (docs/int-option.md).",
    no_args_is_help=True,
)
app.add_typer(telemetry, name="telemetry")
app.add_typer(kernel_rollout.app, name="rollout")

CgroupArgument = Annotated[Path, typer.Argument(metavar="CGROUP", help="The directory of a cgroup (version 2).")]


@telemetry.command(**show_examples("farloop kernel telemetry attach /sys/fs/cgroup/gear"))
@handle_errors
def attach(
    cgroup: CgroupArgument,
    entries: Annotated[int, typer.Option(metavar="N", help="Leave room for N hops in each packet, 1 to 3.")] = 3,
) -> None:
    """Let new sockets of a cgroup offer switches room for telemetry, and echo what these write."""
    from farloop.kernel.telemetry import attach as attach_to

    attach_to(cgroup, entries)
    typer.echo(f"connections that begin in {cgroup} carry telemetry")


@telemetry.command(**show_examples("farloop kernel telemetry detach /sys/fs/cgroup/gear"))
@handle_errors
def detach(cgroup: CgroupArgument) -> None:
    """Stop telemetry in a cgroup. Its connections go on without."""
    from farloop.kernel.telemetry import detach as detach_from

    detach_from(cgroup)
    typer.echo(f"new connections in {cgroup} carry no telemetry")


@telemetry.command("status", **show_examples("farloop kernel telemetry status --json"))
@handle_errors
def telemetry_status(as_json: JsonOption = False) -> None:
    """Show the connections with telemetry: what they offered, found and echoed, in all network namespaces."""
    from farloop.kernel.telemetry import connections

    connected = connections()
    if as_json:
        print_json(connected)
    else:
        from farloop.views import terminal

        terminal.kernel_telemetry(connected)


def _program(name: Name) -> Program:
    from farloop.kernel.baselines import CUBIC, DCTCP, VEGAS
    from farloop.kernel.gear import GEAR
    from farloop.kernel.gemini import GEMINI

    return {Name.GEAR: GEAR, Name.GEMINI: GEMINI, Name.CUBIC: CUBIC, Name.DCTCP: DCTCP, Name.VEGAS: VEGAS}[name]


def _value_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

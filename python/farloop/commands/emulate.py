"""`farloop emulate` and `farloop netem`: a scenario's long links between real programs."""

from __future__ import annotations

from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import ScenarioArgument, SetOption
from farloop.errors import FarloopError
from farloop.messages import say

LongerThanOption = Annotated[
    str, typer.Option("--longer-than", metavar="TIME", help="Links with this delay or a longer one are emulated.")
]
JitterOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Packets take up to TIME longer, at random; they keep their order."),
]
BurstLossOption = Annotated[
    str | None,
    typer.Option(
        "--burst-loss",
        metavar="P,R[,L[,L0]]",
        help="Losses in bursts (Gilbert-Elliott): probabilities of the bad state after the good one, of the good one after it, "
        "of a loss in the bad one (1) and in the good one (0).",
    ),
]
ReorderOption = Annotated[
    str | None,
    typer.Option(metavar="P,TIME", help="With probability P a packet arrives TIME later; others may overtake it."),
]


@declare_command(
    "emulate",
    group="Linux kernel",
    place=3,
    summary="Put a scenario's long links between real programs.",
    examples=(
        "farloop emulate examples/testbed.toml --duration 60s",
        'farloop emulate examples/emulate.toml --run east="iperf3 -s"',
        "farloop emulate examples/emulate.toml --between tap0,tap1",
    ),
)
@handle_errors
def emulate(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    longer_than: LongerThanOption = "100us",
    between: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Two interfaces of this host, such as taps of virtual machines, in place of network namespaces. "
            "Never those of the default route.",
        ),
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=COMMAND", help="Run a program at an end of a link. May be repeated; the last one ends it all."
        ),
    ] = None,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="End after TIME (default: at an interrupt).")
    ] = None,
    jitter: JitterOption = None,
    burst_loss: BurstLossOption = None,
    reorder: ReorderOption = None,
    segmentation_offload: Annotated[
        bool,
        typer.Option(
            "--segmentation-offload", help="Programs send frames of up to 16 kB, which farloop cuts: faster, in bursts."
        ),
    ] = False,
    no_receive_offload: Annotated[
        bool,
        typer.Option(
            "--no-receive-offload", help="Each TCP segment reaches programs by itself, not joined with others: slower."
        ),
    ] = False,
    priority: Annotated[
        str, typer.Option(metavar="fifo|normal", help="Priority of the emulator: real-time (SCHED_FIFO) or normal.")
    ] = "fifo",
    one_way: Annotated[
        bool, typer.Option("--one-way", help="Calibrate from the first end of each link to the second only.")
    ] = False,
    no_calibration: Annotated[
        bool, typer.Option("--no-calibration", help="Do not check first what this host carries.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Emulate a scenario's long links between network namespaces or two interfaces. Needs root.

    Before it begins, a second of packets at the links' rates shows whether this host carries them. At the end it prints what became of all
    packets, and how late they left.
    """
    from farloop.emulation import long_links, session
    from farloop.scenario import Scenario
    from farloop.views import emulated_links as view

    if priority not in ("fifo", "normal"):
        raise FarloopError(f'--priority: there is no priority "{priority}"; expected fifo or normal')
    if between is not None and run:
        raise FarloopError("--run: two interfaces are no nodes to run programs at; expected it without --between")
    if between is not None and segmentation_offload:
        raise FarloopError(
            "--segmentation-offload: interfaces that are there keep their settings; expected it without --between"
        )
    added = long_links.read_impairments(jitter, burst_loss, reorder)
    seconds = None if duration is None else long_links.read_time("--duration", duration, 1e9)
    wanted = Scenario.load(scenario).override(set_)
    planned = long_links.read_plan(wanted, long_links.read_time("--longer-than", longer_than, 10.0))
    programs = session.read_programs(planned, run or [])
    if planned.short_links:
        say(f"farloop: note: {view.describe_omissions(planned)}")
    done = session.emulate(
        planned,
        added,
        between=between,
        programs=programs,
        duration=seconds,
        segmentation_offload=segmentation_offload,
        receive_offload=not no_receive_offload,
        real_time=priority == "fifo",
        one_way=one_way,
        calibrates=not no_calibration,
        say=lambda line: say(f"farloop: {line}"),
    )
    if json_:
        print_json(done.as_json())
    else:
        typer.echo("\n".join(view.lines(done)))
    if done.failed:
        program, code = done.failed[0]
        raise FarloopError(f"--run: {program} ended with {code}")


@declare_command(
    "netem",
    group="Linux kernel",
    place=4,
    summary="Print tc lines for a scenario's long links, with right limits.",
    examples=("farloop netem examples/emulate.toml --devices eth1,eth1",),
)
@handle_errors
def netem(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    longer_than: LongerThanOption = "100us",
    devices: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="The interface at each end of each long link, first ends first."),
    ] = None,
    jitter: JitterOption = None,
    burst_loss: BurstLossOption = None,
    reorder: ReorderOption = None,
) -> None:
    """Print the commands of `tc` that have the kernel's netem do what it can of a scenario's long links, and say what it will not do.

    Its limit holds all packets on the way and in the queue: the default of 1000 drops most of what a long fast link carries. Nothing is
    changed.
    """
    from farloop.emulation import long_links
    from farloop.emulation.netem import tc_lines
    from farloop.scenario import Scenario

    wanted = Scenario.load(scenario).override(set_)
    planned = long_links.read_plan(wanted, long_links.read_time("--longer-than", longer_than, 10.0))
    names = None if devices is None else [name.strip() for name in devices.split(",")]
    for name in names or ():
        if not name or len(name) > 15 or not name.isprintable() or set(name) & set(" /'\"$`;&|<>()\\#"):
            raise FarloopError(f'--devices: "{name}" is no name of an interface; expected 1 to 15 characters')
    typer.echo("\n".join(tc_lines(planned, long_links.read_impairments(jitter, burst_loss, reorder), names)))

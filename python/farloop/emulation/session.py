"""An emulation from start to end: the ends, the emulator, the programs between, and what is said of it afterwards."""

from __future__ import annotations

import ctypes
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from farloop.emulation import calibration
from farloop.emulation.calibration import Calibration
from farloop.emulation.ends import LinkEnds, make_namespaces, named_interfaces
from farloop.emulation.long_links import EmulationPlan, Impairments, direction_name
from farloop.emulation.process import Emulator
from farloop.errors import FarloopError, InvariantError
from farloop.messages import Stopped

LOSSES = {
    "dropped_queue": "dropped, queue full",
    "dropped_down": "dropped, link down",
    "dropped_long": "dropped, too long",
    "lost_down": "lost, link down",
    "lost_random": "lost at random",
    "lost_burst": "lost in bursts",
    "lost_numbered": "lost by number",
    "damaged": "damaged",
}
"""The causes for which a packet does not arrive."""

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class NodeProgram:
    """A program at a node: the words of its command line."""

    node: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class DirectionReport:
    """The counts of one direction of a link.

    Attributes:
        name: Such as "wan1->wan2".
        counts: Packets by what became of them, as `_native.emulate` gives them.
        burst_time: Seconds that the longest frame that came took at the link's first rate.
    """

    name: str
    counts: dict[str, Any]
    burst_time: float

    @property
    def gone(self) -> int:
        """Packets that did not arrive, by the law of the link."""
        return sum(int(self.counts[key]) for key in LOSSES)

    def check(self) -> None:
        """Checks that all packets are counted once.

        Raises:
            InvariantError: they are not.
        """
        came, left, inside = (self.counts[key] for key in ("came", "left", "inside"))
        if came != left + inside + self.gone:
            raise InvariantError(
                f"{self.name}: of {came} packets {left} left, {inside} are inside and {self.gone} are gone"
            )


@dataclass(frozen=True)
class Emulation:
    """The result of an emulation.

    Attributes:
        seconds: How long it ran.
        real_time: The emulator asked for real-time priority.
        calibration: What this host carried before; `None` without.
        directions: Both directions of each link.
        failed: Programs that did not end with 0, with their codes.
    """

    seconds: float
    real_time: bool
    calibration: Calibration | None
    directions: tuple[DirectionReport, ...]
    failed: tuple[tuple[str, int], ...]

    @property
    def host_lost(self) -> int:
        """Packets that this host lost: they are no part of the law."""
        return sum(int(each.counts["overruns"] + each.counts["refused"]) for each in self.directions)

    def as_json(self) -> dict[str, Any]:
        """For `--json`: counts of packets, times in seconds."""
        return {
            "seconds": self.seconds,
            "real_time": self.real_time,
            "calibration": None if self.calibration is None else vars(self.calibration),
            "directions": [
                {"direction": each.name, "longest_burst_s": each.burst_time} | _in_seconds(each.counts)
                for each in self.directions
            ],
            "failed": [{"program": program, "code": code} for program, code in self.failed],
        }


def _in_seconds(counts: dict[str, Any]) -> dict[str, Any]:
    named = {key: value for key, value in counts.items() if not key.startswith("lateness") and key != "samples"}
    late = {f"{key}_s": value / 1e9 for key, value in counts.items() if key.startswith("lateness")}
    return named | late


def read_programs(plan: EmulationPlan, texts: Sequence[str]) -> list[NodeProgram]:
    """Reads "NODE=COMMAND".

    Raises:
        FarloopError: one has no such form, or no such node.
    """
    nodes = list(dict.fromkeys(end for link in plan.links for end in link.ends))
    programs = []
    for text in texts:
        node, is_there, words = text.partition("=")
        try:
            split = shlex.split(words)
        except ValueError as error:
            raise FarloopError(f'--run: "{text}": {error}') from None
        if not is_there or not split:
            raise FarloopError(f'--run: "{text}" is no program; expected NODE=COMMAND, such as {nodes[0]}="iperf3 -s"')
        if node not in nodes:
            raise FarloopError(f'--run: no long link ends at "{node}"; expected one of {", ".join(nodes)}')
        programs.append(NodeProgram(node, tuple(split)))
    return programs


def emulate(
    plan: EmulationPlan,
    added: Impairments,
    *,
    between: str | None = None,
    programs: Sequence[NodeProgram] = (),
    duration: float | None = None,
    segmentation_offload: bool = False,
    receive_offload: bool = True,
    real_time: bool = True,
    one_way: bool = False,
    calibrates: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> Emulation:
    """Emulates until the last of the programs has ended, the time is over, or somebody interrupts it.

    Args:
        plan: The links.
        added: What happens on them beyond the scenario.
        between: Two interfaces, with a comma; `None` for namespaces of its own.
        programs: What runs at the links' nodes.
        duration: In seconds; `None` for no end.
        segmentation_offload: Hosts leave it to the emulator to cut frames.
        receive_offload: TCP segments that leave together reach namespaces as one frame.
        real_time: The emulator takes real-time priority where it may.
        one_way: Calibrate in one direction only.
        calibrates: Refuse what this host cannot carry.
        say: Gets lines for people, before it begins.

    Raises:
        FarloopError: this host cannot carry it, or something fails.
        InvariantError: packets are not accounted for.
    """
    calibration.check_rights()
    with ExitStack() as stack:
        named = None if between is None else named_interfaces(plan, between)
        measured = None
        if calibrates:
            measured = calibration.calibrate(plan, real_time=real_time, one_way=one_way)
            measured.refuse()
            say(measured.line())
        is_there = named is not None
        receive_offload = receive_offload and not is_there
        made = make_namespaces(plan, segmentation_offload=segmentation_offload, receive_offload=receive_offload)
        ends = named or stack.enter_context(made)
        spec = plan.spec(
            ends.interfaces,
            added,
            segmentation_offload=segmentation_offload,
            takes_large=is_there,
            promiscuous=is_there,
            receive_offload=receive_offload,
        )
        emulator = Emulator(spec, ends.namespace, real_time=real_time)
        stack.callback(emulator.kill)
        start = time.monotonic()
        for line in _entrances(plan, ends):
            say(line)
        failed = _wait(emulator, ends, programs, duration)
        seconds = time.monotonic() - start
        reports = emulator.stop()
    directions = tuple(
        DirectionReport(
            name=direction_name(link, end),
            counts=counts,
            burst_time=counts["longest"] * 8 / link.rate,
        )
        for link, pair in zip(plan.links, reports, strict=True)
        for end, counts in enumerate(pair)
    )
    for direction in directions:
        direction.check()
    return Emulation(seconds, real_time, measured, directions, failed)


def _entrances(plan: EmulationPlan, ends: LinkEnds) -> list[str]:
    """How programs get in."""
    if not ends.nodes:
        first, second = ends.interfaces[0]
        return [f"{plan.links[0].name} is between {first} and {second}"]
    return [
        f"{node}: nsenter --net={ends.nodes[node].path}  "
        + ", ".join(f"{device} has {v4} and {v6}" for device, v4, v6 in ends.addresses[node])
        for node in ends.nodes
    ]


def _wait(
    emulator: Emulator, ends: LinkEnds, programs: Sequence[NodeProgram], duration: float | None
) -> tuple[tuple[str, int], ...]:
    """Runs the programs and waits for the end. Gives those that did not end with 0."""
    end = None if duration is None else time.monotonic() + duration
    running: list[tuple[str, subprocess.Popen[bytes]]] = []
    try:
        for program in programs:
            with ends.nodes[program.node].enter_namespace():
                try:
                    started = subprocess.Popen(program.words, preexec_fn=_die_with_parent)
                except OSError as error:
                    raise FarloopError(f"--run: {program.words[0]}: {error.strerror}") from None
            running.append((shlex.join(program.words), started))
        while end is None or time.monotonic() < end:
            emulator.check()
            # The last one decides: others may be servers.
            if running and running[-1][1].poll() is not None:
                break
            time.sleep(0.02)
    except (KeyboardInterrupt, Stopped):
        pass
    finally:
        codes = []
        for text, process in running:
            code = process.poll()
            if code is None:
                process.terminate()
                process.wait()
            elif code:
                codes.append((text, code))
    return tuple(codes)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

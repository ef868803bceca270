"""The testbed's link emulator: a process with real-time priority that delays the frames of long links, as netem does in the kernel.

`python -m farloop.testbed.link_emulator SPEC` is that process. It runs until its standard input ends, which is when whoever started it
ends, and then writes how late frames left.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from farloop.testbed.emulator_process import EmulatorProcess
from farloop.testbed.namespaces import Namespace

PRIORITY = 20
"""Of SCHED_FIFO. Processes of ordinary priority wait for longer than queues last."""

MODULE = "farloop.testbed.link_emulator"


@dataclass(frozen=True)
class Lateness:
    """Lateness of frames in one direction of an emulated link: times in seconds, counts of frames.

    Attributes:
        frames: Those that left.
        mean: Their mean lateness.
        most: The largest.
        stalls: Frames that were more than 10 ms late.
        dropped: Those that found no room.
    """

    frames: int
    mean: float
    most: float
    stalls: int
    dropped: int


class NumberedSegments(NamedTuple):
    """Events for TCP segments of one direction by their number in their connection: numbers and ranges as in `[[event]]`.

    Attributes:
        lose_data: Segments with payload that are lost; empty for none.
        lose_acks: Acknowledgements without payload that are lost.
        late_data: Segments with payload that leave later than others.
        late_by: Added delay of these segments, in ns.
    """

    lose_data: str = ""
    lose_acks: str = ""
    late_data: str = ""
    late_by: int = 0


class EmulatedLink(NamedTuple):
    """Two interfaces, by their names, and the link that they stand for.

    Attributes:
        first: One interface.
        second: The other.
        delay: One-way, in ns.
        rate: In bit/s.
        framing: Bytes that a frame has on the link beyond what reaches an interface.
        there: Events for segments that enter by the first interface.
        back: Events for segments that enter by the second.
    """

    first: str
    second: str
    delay: int
    rate: int
    framing: int
    there: NumberedSegments = NumberedSegments()
    back: NumberedSegments = NumberedSegments()


class LinkEmulator(EmulatorProcess):
    """A running link emulator.

    Args:
        namespace: Where its interfaces are.
        links: The links that it emulates.

    Raises:
        FarloopError: it cannot be started.
    """

    def __init__(self, namespace: Namespace, links: Sequence[EmulatedLink]) -> None:
        spec = json.dumps({"owner": os.getpid(), "links": links})
        super().__init__("the link emulator", [MODULE, spec], namespace)

    def stop(self) -> list[tuple[Lateness, Lateness]]:
        """Ends it: the lateness of each link, there and back.

        Raises:
            FarloopError: it had ended before.
        """
        return [(_lateness(there), _lateness(back)) for there, back in self.read_output()]


def _lateness(counts: Sequence[int]) -> Lateness:
    frames, total, most, stalls, dropped = counts
    return Lateness(frames, total / frames / 1e9 if frames else 0.0, most / 1e9, stalls, dropped)


def raise_priority(priority: int) -> bool:
    """Gives this process real-time priority, where it may have it: whether it has."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        return False
    return True


def pin_processors(*, emulates: bool) -> None:
    """Gives the link emulator a processor of its own, and its owner the others, where there are several.

    A processor that is to run another process leaves what it has of the network's work to a thread of ordinary priority.
    """
    there = sorted(os.sched_getaffinity(0))
    if len(there) > 1:
        os.sched_setaffinity(0, {there[-1]} if emulates else set(there[:-1]))


def find_orphans() -> list[int]:
    """Link emulators whose owner is gone, by process: they end by themselves, unless they hang."""
    orphans = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, KeyError, IndexError, TypeError):
            words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            owner = int(json.loads(words[words.index(MODULE) + 1])["owner"])
            if not Path(f"/proc/{owner}").exists():
                orphans.append(int(process.name))
    return sorted(orphans)


def main(spec: str) -> int:
    """The process."""
    from farloop import _native

    # Whoever started it ends first, and has the last word.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pin_processors(emulates=True)
    raise_priority(PRIORITY)
    links = [
        EmulatedLink(first, second, delay, rate, framing, NumberedSegments(*there), NumberedSegments(*back))
        for first, second, delay, rate, framing, there, back in json.loads(spec)["links"]
    ]

    def say(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    say(json.dumps(_native.delay(links, lambda: say("ready"))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Can this host carry a plan's links? A second of packets at their rates, before anything real depends on it."""

from __future__ import annotations

import dataclasses
import threading
from contextlib import suppress
from dataclasses import dataclass

from farloop import _native
from farloop.emulation.ends import make_namespaces
from farloop.emulation.long_links import ETHERNET, EmulationPlan, Impairments
from farloop.emulation.process import Emulator
from farloop.errors import FarloopError
from farloop.units import rate_text, time_text

SECONDS = 1.0

LOAD = 0.98
"""Of the links' rates: what is asked for without a queue."""

ENOUGH = 0.95
"""Part of the packets that has to arrive: a paced sender on a busy host leaves some out."""

MAX_LATENESS = 0.001
"""Seconds that 99 of 100 packets may be late."""

_MAX_DELAY = 10_000_000
"""In ns: the second does not wait for a longer link."""

_TOGETHER = 50_000
"""Ns from one burst of the senders to the next: sleeping for less takes longer."""


@dataclass(frozen=True)
class Calibration:
    """The load that this host carried in a second.

    Attributes:
        wanted: Packets that the links take, all of them together.
        sent: Packets that the senders sent.
        carried: Packets that left.
        lost: Packets that this host lost: rings that were full, interfaces without room.
        p99: Seconds that 99 of 100 were late, in the worst direction.
        worst: The largest.
        rate: In bit/s, what `carried` is.
    """

    wanted: int
    sent: int
    carried: int
    lost: int
    p99: float
    worst: float
    rate: float

    def line(self) -> str:
        """For people."""
        return (
            f"this host carried {self.carried:,} of {self.wanted:,} packets in a second ({rate_text(self.rate)}; "
            f"senders sent {self.sent:,}), 99 % within {time_text(self.p99)}, the worst {time_text(self.worst)}"
        )

    def refuse(self) -> None:
        """Refuses what this host cannot carry.

        Raises:
            FarloopError: it lost packets, carried too few, or too late.
        """
        if self.lost:
            why = f"it lost {self.lost:,}"
        elif self.carried < ENOUGH * self.wanted:
            why = f"{ENOUGH:.0%} of them are needed"
        elif self.p99 > MAX_LATENESS:
            why = f"99 % within {time_text(MAX_LATENESS)} are needed"
        else:
            return
        raise FarloopError(
            f"{self.line()}; {why}: expected lower rates, an idle host, --one-way for traffic in one direction, "
            "or --no-calibration to try it nevertheless"
        )


def calibrate(plan: EmulationPlan, *, real_time: bool, one_way: bool) -> Calibration:
    """Sends packets of full size at the links' rates for a second, through namespaces that are gone afterwards.

    Args:
        plan: The links.
        real_time: The emulator takes real-time priority.
        one_way: Only from the first end of each link to the second.

    Raises:
        FarloopError: this process may not.
    """
    links = tuple(
        dataclasses.replace(link, delay_ns=min(link.delay_ns, _MAX_DELAY), loss=0.0, corruption=0.0, changes=([], []))
        for link in plan.links
    )
    size = plan.mtu + ETHERNET
    plan = dataclasses.replace(plan, links=links)
    sent: list[int] = []
    with make_namespaces(plan) as ends:
        emulator = Emulator(plan.spec(ends.interfaces, Impairments()), ends.namespace, real_time=real_time)
        try:

            def send(node: str, device: str, rate: int) -> None:
                gap = (size + plan.framing) * 8e9 / (rate * LOAD)
                burst = max(1, round(_TOGETHER / gap))
                with suppress(OSError), ends.nodes[node].enter_namespace():
                    sent.append(_native.send_paced(device, size, max(1, round(gap)), burst, int(SECONDS * 1e9)))

            threads = [
                threading.Thread(target=send, args=(link.ends[end], f"link{number}", link.rate))
                for number, link in enumerate(links, 1)
                for end in ((0,) if one_way else (0, 1))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            reports = emulator.stop()
        finally:
            emulator.kill()
    directions = [of_end for link in reports for of_end in link]
    carried = sum(each["left"] + each["inside"] for each in directions)
    wanted = sum(link.rate * LOAD / 8 / (size + plan.framing) for link in links) * (1 if one_way else 2) * SECONDS
    return Calibration(
        wanted=int(wanted),
        sent=sum(sent),
        carried=carried,
        lost=sum(each["overruns"] + each["refused"] for each in directions),
        p99=max(each["lateness_p99"] for each in directions) / 1e9,
        worst=max(each["lateness_worst"] for each in directions) / 1e9,
        rate=carried * 8 * (size + plan.framing) / SECONDS,
    )


def check_rights() -> None:
    """Checks that this process may open packet sockets.

    Raises:
        FarloopError: it may not, or this is not Linux.
    """
    import socket

    family = getattr(socket, "AF_PACKET", None)
    if family is None:
        raise FarloopError("emulated links need Linux")
    try:
        socket.socket(family, socket.SOCK_RAW, 0).close()
    except PermissionError:
        raise FarloopError(
            "packet sockets may not be opened: run it as root (capabilities net_raw, net_admin and sys_admin)"
        ) from None

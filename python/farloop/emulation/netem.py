"""The long links of a scenario as `tc` lines for the kernel's netem, with limits that hold what is on the way, and what netem will not do.

Words and units are those of iproute2 (tc-netem(8), tc-tbf(8), tc-red(8)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from farloop.emulation.long_links import ETHERNET, EmulationPlan, Impairments, LongLink, direction_name
from farloop.errors import FarloopError

TBF_BURST = 0.0005
"""TBF's burst in seconds of its rate, as testbeds have it."""

MAX_LIMIT = 2**32 - 1


def tc_lines(plan: EmulationPlan, added: Impairments, devices: Sequence[str] | None = None) -> list[str]:
    """Lines for a shell: commands of `tc`, and comments with what they do not do.

    Args:
        plan: The links.
        added: What happens on them beyond the scenario.
        devices: The interface at each end of each link, first ends first; `None` for names that stand for them.

    Raises:
        FarloopError: there are more or fewer interfaces, or a limit is beyond what `tc` takes.
    """
    wanted = 2 * len(plan.links)
    if devices is not None and len(devices) != wanted:
        raise FarloopError(f"--devices: there are {len(devices)} interfaces; expected {wanted}, two for each long link")
    lines = [
        f"# limit: packets of {plan.mtu} B on the way, and those of the queue; netem's default is 1000, and it drops what is beyond"
    ]
    for number, link in enumerate(plan.links):
        for end in (0, 1):
            device = f"DEVICE{2 * number + end + 1}" if devices is None else devices[2 * number + end]
            lines += ["", f"# {direction_name(link, end)}: at the egress of {device}"]
            lines += _commands(plan, link, end, added, device)
            lines += [f"# not done: {text}" for text in _list_omissions(link, end, added)]
    lines += ["", *(f"# everywhere: {text}" for text in _NOWHERE)]
    return lines


_NOWHERE = (
    "netem acts on what leaves an interface; traffic that comes in needs the line at the other end, or an ifb device",
    "it wakes by the kernel's timer and tells nobody how late; farloop emulate measures that",
    "segments that the host leaves to its card count as one packet: ethtool -K DEVICE tso off gso off gro off",
)


def on_the_way(plan: EmulationPlan, link: LongLink, added: Impairments, rate: int | None = None) -> int:
    """Packets of the scenario's MTU that a link holds on the way: rate times delay, rounded up."""
    seconds = link.delay_ns / 1e9 + added.jitter
    return math.ceil((rate or link.rate) * seconds / 8 / plan.mtu)


def queue_packets(plan: EmulationPlan, link: LongLink, end: int) -> int:
    """Packets that the queue of a port holds."""
    port = link.ports[end]
    in_bytes = math.ceil(port.limit / (plan.mtu + ETHERNET + plan.framing))
    return in_bytes if port.packets is None else min(in_bytes, port.packets)


def _commands(plan: EmulationPlan, link: LongLink, end: int, added: Impairments, device: str) -> list[str]:
    port, name = link.ports[end], direction_name(link, end)
    way, queue = on_the_way(plan, link, added), queue_packets(plan, link, end)
    if way + queue > MAX_LIMIT:
        raise FarloopError(f"{name}: a limit of {way + queue} packets is beyond tc's {MAX_LIMIT}; expected less")
    rate = f"rate {link.rate}bit"
    words = _netem_words(link, added)
    if port.marking is None:
        limit = f"limit {way + queue}"
        return [f"tc qdisc replace dev {device} root handle 1: netem {limit} {words} {rate} {plan.framing}"]
    burst = max(round(link.rate * TBF_BURST / 8), 2 * (plan.mtu + ETHERNET + plan.framing))
    kmin, kmax, pmax = port.marking
    size = plan.mtu + ETHERNET
    least, most = max(kmin, size), max(kmax, kmin + size, 2 * size)
    limit_bytes = max(min(port.limit, queue * (size + plan.framing)), most + size)
    red = (
        f"red limit {limit_bytes} min {least} max {most} avpkt {size} burst {least // size + 1} "
        f"bandwidth {link.rate}bit probability {pmax:g} ecn"
    )
    return [
        f"tc qdisc replace dev {device} root handle 1: netem limit {way + queue} {words}",
        f"tc qdisc add dev {device} parent 1:1 handle 10: tbf {rate} burst {burst} limit {limit_bytes} overhead {plan.framing}",
        f"tc qdisc add dev {device} parent 10:1 handle 100: {red}",
    ]


def _netem_words(link: LongLink, added: Impairments) -> str:
    delay_us = link.delay_ns / 1000
    if added.jitter:
        # netem's jitter is to both sides of the delay.
        half = added.jitter * 1e6 / 2
        words = [f"delay {delay_us + half:.15g}us {half:.15g}us"]
    else:
        words = [f"delay {delay_us:.15g}us"]
    if added.bursts is not None:
        parts = " ".join(f"{100 * part:.12g}%" for part in added.bursts)
        words.append(f"loss gemodel {parts}")
    elif link.loss:
        words.append(f"loss random {100 * link.loss:.12g}%")
    if link.corruption:
        words.append(f"corrupt {100 * link.corruption:.12g}%")
    return " ".join(words)


def _list_omissions(link: LongLink, end: int, added: Impairments) -> list[str]:
    """The parts of a direction that its lines leave out or do otherwise."""
    missing = []
    if link.ports[end].marking is not None:
        missing += [
            "marks by the queue that a packet finds: RED marks by an average of it",
            "the order of queue and way: netem delays first, so marks come back as late, but queues build behind the way",
        ]
    else:
        missing.append("a queue of its own: packets on the way and in the queue share one limit")
    if added.bursts is not None and link.loss:
        missing.append(f"random losses of {link.loss:g} beside those in bursts: netem has one law of losses")
    if added.jitter:
        missing.append("order under jitter: netem lets packets overtake")
    if added.reordering is not None:
        part, by = added.reordering
        missing.append(
            f"packets that come {by * 1000:g} ms late ({100 * part:g} %): netem's reorder sends some at once instead"
        )
    times = sorted({change["at"] for change in link.changes[end]})
    if times:
        at = ", ".join(f"{time / 1e9:g} s" for time in times[:4])
        more = f" and {len(times) - 4} more times" if len(times) > 4 else ""
        missing.append(f"[[event]] at {at}{more}: run tc qdisc change then; a link that goes down loses what is on it")
    if link.corruption:
        missing.append("loss of what is damaged: netem flips a bit and delivers, and cards and checksums decide")
    return missing

"""The long links that a scenario has, and what the command adds; crates/scenario/src/emulation.rs reads and refuses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from farloop import units
from farloop.errors import FarloopError
from farloop.formats.scenario_text import worded_for_python
from farloop.scenario import Scenario

ETHERNET = 14
"""Bytes of Ethernet's header, which interfaces count."""

HOST_QUEUE = 32_000_000
"""Bytes of a host's own queue, as in testbeds; TCP keeps it short."""


BURST = 16_384
"""Bytes of the longest frame that hosts in namespaces leave to the emulator to cut: 0.13 ms at 1 Gbps."""


class BurstLoss(NamedTuple):
    """Losses by Gilbert and Elliott: probabilities of the bad state after the good one, of the good one after it, and of a loss in each."""

    to_bad: float
    to_good: float
    loss_bad: float
    loss_good: float


@dataclass(frozen=True)
class Impairments:
    """Impairments that the command adds to all links, in both directions.

    Attributes:
        jitter: Most seconds that a packet takes longer; the order stays.
        bursts: Losses in bursts.
        reordering: Probability that a packet arrives late, and by how many seconds.
    """

    jitter: float = 0.0
    bursts: BurstLoss | None = None
    reordering: tuple[float, float] | None = None


@dataclass(frozen=True)
class SendingPort:
    """The port that sends into a direction, in bytes on the wire.

    Attributes:
        limit: The longest queue.
        packets: The longest queue in packets, or `None`.
        marking: kmin, kmax and pmax, or `None` for no marks.
    """

    limit: int
    packets: int | None
    marking: tuple[int, int, float] | None


@dataclass(frozen=True)
class LongLink:
    """A long link.

    Attributes:
        ends: The names of its nodes.
        name: Its name as scenarios have it, such as "wan1->wan2".
        rate: In bit/s.
        delay_ns: One-way.
        loss: Probability of a loss.
        corruption: Probability of damage.
        ports: That of each end.
        changes: `[[event]]`s of each direction: `at` and delays in ns, `setting`, `value`, `late_by`.
    """

    ends: tuple[str, str]
    name: str
    rate: int
    delay_ns: int
    loss: float
    corruption: float
    ports: tuple[SendingPort, SendingPort]
    changes: tuple[list[dict[str, Any]], list[dict[str, Any]]]


@dataclass(frozen=True)
class EmulationPlan:
    """All long links of a scenario.

    Attributes:
        mtu: Largest IP packet.
        framing: Bytes of a packet on the wire beyond its frame.
        seed: Of what happens at random.
        links: In the scenario's order.
        short_links: Links that are shorter, and not emulated.
        short_changes: Events of these.
    """

    mtu: int
    framing: int
    seed: int
    links: tuple[LongLink, ...]
    short_links: int
    short_changes: int

    def spec(
        self,
        interfaces: list[tuple[str, str]],
        added: Impairments,
        *,
        segmentation_offload: bool = False,
        **options: bool,
    ) -> dict[str, Any]:
        """The links as `_native.emulate` takes them, between these interfaces."""
        links = [
            {"ends": ends, "directions": [_direction(self, link, end, added) for end in (0, 1)]}
            for link, ends in zip(self.links, interfaces, strict=True)
        ]
        # Two tags may come before the packet.
        longest = BURST + ETHERNET + 8 if segmentation_offload else self.mtu + ETHERNET + 8
        return {"seed": self.seed, "longest": longest, "links": links, **options}


def _direction(plan: EmulationPlan, link: LongLink, end: int, added: Impairments) -> dict[str, Any]:
    port = link.ports[end]
    marking = None if port.marking is None else dict(zip(("kmin", "kmax", "pmax"), port.marking, strict=True))
    return {
        "rate": link.rate,
        "delay": link.delay_ns,
        "framing": plan.framing,
        "longest": plan.mtu + ETHERNET,
        "limit": port.limit,
        "limit_packets": port.packets,
        "marking": marking,
        "loss": link.loss,
        "corruption": link.corruption,
        "bursts": added.bursts,
        "jitter": round(added.jitter * 1e9),
        "reordering": None if added.reordering is None else [added.reordering[0], round(added.reordering[1] * 1e9)],
        "changes": link.changes[end],
    }


def direction_name(link: LongLink, end: int) -> str:
    """A direction of a link as scenarios name it, such as "wan2->wan1#2"."""
    if end == 0:
        return link.name
    _, hash_mark, number = link.name.partition("#")
    return f"{link.ends[1]}->{link.ends[0]}{hash_mark}{number}"


def read_plan(scenario: Scenario, longer_than: float) -> EmulationPlan:
    """The links of a scenario that take this long, in seconds, or longer.

    Raises:
        ScenarioError: it is not valid, has no such link, or one that cannot be emulated.
    """
    with worded_for_python(scenario.text, scenario.display_name, scenario.case):
        text = scenario.prepare_handle().emulation(round(longer_than * 1e12))
    resolved = json.loads(text)
    return EmulationPlan(
        mtu=resolved["mtu"],
        framing=resolved["framing"],
        seed=resolved["seed"],
        links=tuple(_link(link) for link in resolved["links"]),
        short_links=resolved["short_links"],
        short_changes=resolved["short_changes"],
    )


def _link(link: dict[str, Any]) -> LongLink:
    return LongLink(
        ends=(link["a"], link["peer"]),
        name=f"{link['a']}->{link['b']}",
        rate=link["rate_bps"],
        delay_ns=link["delay_ps"] // 1000,
        loss=link["loss"],
        corruption=link["corruption"],
        ports=(_port(link["ports"][0]), _port(link["ports"][1])),
        changes=(link["changes"][0], link["changes"][1]),
    )


def _port(port: dict[str, Any] | None) -> SendingPort:
    if port is None:
        return SendingPort(HOST_QUEUE, None, None)
    marking = None if port["kmin_bytes"] is None else (port["kmin_bytes"], port["kmax_bytes"], port["pmax"])
    return SendingPort(port["limit_bytes"], port["limit_packets"], marking)


def read_impairments(jitter: str | None, burst_loss: str | None, reorder: str | None) -> Impairments:
    """Reads the options of the command.

    Args:
        jitter: A time, such as "200us".
        burst_loss: Two to four probabilities, such as "0.001,0.1": to the bad state, to the good one, of a loss in the bad one (1) and in
            the good one (0).
        reorder: A probability and a time, such as "0.01,2ms".

    Raises:
        FarloopError: one is something else.
    """
    return Impairments(
        jitter=0.0 if jitter is None else read_time("--jitter", jitter, 10.0),
        bursts=None if burst_loss is None else _bursts(burst_loss),
        reordering=None if reorder is None else _reordering(reorder),
    )


def read_time(option: str, text: str, most: float) -> float:
    """A time of an option, in seconds, of up to `most`.

    Raises:
        FarloopError: it is something else.
    """
    try:
        value = units.seconds(text)
    except ValueError as error:
        raise FarloopError(f"{option}: {error}") from None
    if not 0 <= value <= most:
        raise FarloopError(f"{option}: {text} is out of range; expected 0 to {most:g}s")
    return value


def _bursts(text: str) -> BurstLoss:
    parts = [_probability("--burst-loss", part) for part in text.split(",")]
    if not 2 <= len(parts) <= 4:
        raise FarloopError(
            f'--burst-loss: "{text}" has {len(parts)} numbers; expected 2 to 4 probabilities, such as 0.001,0.1'
        )
    bad, good, *losses = parts
    return BurstLoss(bad, good, *losses, *(1.0, 0.0)[len(losses) :])


def _reordering(text: str) -> tuple[float, float]:
    part, comma, time = text.partition(",")
    if not comma:
        raise FarloopError(f'--reorder: "{text}" is one value; expected a probability and a time, such as 0.01,2ms')
    return _probability("--reorder", part), read_time("--reorder", time.strip(), 10.0)


def _probability(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise FarloopError(f'{option}: "{text.strip()}" is no probability; expected 0 to 1')
    return value

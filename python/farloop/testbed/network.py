"""Builds what flows pass of a plan out of network namespaces: one for each host and switch, a pair of interfaces for each link.

The link emulator is in one more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from farloop.testbed import ports
from farloop.testbed.blueprint import Blueprint
from farloop.testbed.link_emulator import EmulatedLink, LinkEmulator, NumberedSegments
from farloop.testbed.namespaces import Namespace
from farloop.testbed.ports import FIRST_INTERFACE, Ports, Setting

DELAYED = 100_000_000
"""Links of this delay in ps, or longer, are emulated; a shorter delay is less than what the machine adds by itself."""

BURST = 0.0005
"""TBF's burst in seconds of its rate: about as late as kernels wake up.

A burst is a queue at the next port, and the simulator has none there.
"""

DRAINS = 1.02
"""Factor on the rate of links that cannot be a bottleneck: a port that one link of no higher rate feeds, and an emulated link.

Without it, a queue that forms there while the host stalls would last for as long as the link before is busy.
"""

_ETHERNET = 14
_HOST_QUEUE = 32_000_000
"""Bytes of a host's own queue; TCP keeps it short."""

_GATEWAY = "169.254.0.1"
"""Address of every interface's peer."""

_SYSCTLS = {
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
}
_HOST = {
    "ipv4/tcp_no_metrics_save": "1",
    "ipv4/tcp_rmem": "4096 1048576 67108864",
    "ipv4/tcp_wmem": "4096 65536 67108864",
    "ipv4/tcp_orphan_retries": "1",
}


@dataclass(frozen=True)
class Network:
    """A network that stands.

    Attributes:
        plan: The plan that it was built from.
        namespaces: One for each node that flows pass.
        ports: The program of all egress ports.
        emulator: The link emulator, where there is one.
        emulated: Numbers of the links that it delays.
    """

    plan: Blueprint
    namespaces: Mapping[int, Namespace]
    ports: Ports
    emulator: LinkEmulator | None
    emulated: tuple[int, ...]

    def address(self, node: int) -> str:
        """The IPv4 address of a host."""
        return _address(node)

    @staticmethod
    def port(link: int, end: int) -> int:
        """The number of an egress port: that of end 0 or 1 of a link."""
        return 2 * link + end

    @staticmethod
    def device(link: int, end: int) -> str:
        """The interface of a node, that of end 0 or 1 of a link."""
        return _device(link, end)


@contextmanager
def build_network(
    plan: Blueprint, accidents: Mapping[int, tuple[NumberedSegments, NumberedSegments]] | None = None
) -> Iterator[Network]:
    """The network of a plan until the block ends.

    Args:
        plan: The plan to build.
        accidents: By number of an emulated link, what happens there to segments from its first end and from its second.

    Raises:
        FarloopError: something of it cannot be built; nothing of it is left then.
    """
    with ExitStack() as stack:

        def namespace() -> Namespace:
            made = Namespace()
            stack.callback(made.close)
            return made

        used = plan.used
        nodes = {node: namespace() for node in sorted({end for i in used for end in plan.links[i].ends})}
        emulated = tuple(i for i in used if plan.links[i].delay_ps >= DELAYED)
        between = namespace() if emulated else None
        for each in (*nodes.values(), *([between] if between else [])):
            each.settings(_SYSCTLS)
        for node, of_node in nodes.items():
            of_node.settings(_HOST if plan.nodes[node].kind == "host" else {"ipv4/ip_forward": "1"})
        _links(plan, nodes, between, emulated)
        _addresses(plan, nodes)
        program = stack.enter_context(ports.load_program(_settings(plan), len(plan.flows)))
        for number in used:
            for end in (0, 1):
                program.attach(Network.port(number, end), nodes[plan.links[number].ends[end]])
        emulator = None
        if between:
            emulator = LinkEmulator(
                between, [_emulated_link(plan, number, (accidents or {}).get(number)) for number in emulated]
            )
            stack.callback(emulator.kill)
        yield Network(plan, nodes, program, emulator, emulated)


def _emulated_link(
    plan: Blueprint, number: int, accidents: tuple[NumberedSegments, NumberedSegments] | None
) -> EmulatedLink:
    link = plan.links[number]
    ends = (_emulator_interface(number, 0), _emulator_interface(number, 1))
    there, back = accidents or (NumberedSegments(), NumberedSegments())
    return EmulatedLink(*ends, link.delay_ps // 1000, int(DRAINS * link.rate), plan.unseen, there, back)


def _links(
    plan: Blueprint, nodes: Mapping[int, Namespace], between: Namespace | None, emulated: tuple[int, ...]
) -> None:
    """Interfaces, each with its queueing discipline."""
    lines: dict[int, list[str]] = {}
    shapes: dict[int, list[str]] = {}
    devices: dict[int, list[str]] = {}
    middle: list[str] = []
    for number in plan.used:
        link = plan.links[number]
        names = [_device(number, end) for end in (0, 1)]
        index = [f"index {FIRST_INTERFACE + Network.port(number, end)}" for end in (0, 1)]
        own = [f"{names[end]} {index[end]} address {_mac(number, end)} mtu {plan.mtu} gso_max_segs 1" for end in (0, 1)]
        first = lines.setdefault(link.ends[0], [])
        if number in emulated and between:
            for end in (0, 1):
                # `ip` gives the peer its index only where this one has one, too.
                inner = f"{_emulator_interface(number, end)} {index[end]} mtu {plan.mtu}"
                middle.append(f"link add {inner} type veth peer name {own[end]} netns {nodes[link.ends[end]].path}")
        else:
            first.append(f"link add {own[0]} type veth peer name {own[1]} netns {nodes[link.ends[1]].path}")
        burst = max(int(BURST * link.rate / 8), 2 * (plan.mtu + _ETHERNET + plan.unseen))
        for end in (0, 1):
            port, rate = link.ports[end], _rate(plan, number, end)
            room = _HOST_QUEUE if port is None else port.limit + burst + 1_000_000
            shapes.setdefault(link.ends[end], []).append(
                f"qdisc add dev {names[end]} root tbf rate {rate}bit burst {burst} limit {min(room, 2**31)} overhead {plan.unseen}"
            )
            devices.setdefault(link.ends[end], []).append(names[end])
    for node, commands in lines.items():
        nodes[node].batch("ip", commands)
    if between:
        between.batch("ip", middle)
        ends = [_emulator_interface(i, end) for i in emulated for end in (0, 1)]
        between.whole_packets(ends)
        between.batch("ip", [f"link set {device} arp off up" for device in ends])
    for node, of_node in devices.items():
        nodes[node].whole_packets(of_node)
        nodes[node].batch("tc", shapes[node])


def _addresses(plan: Blueprint, nodes: Mapping[int, Namespace]) -> None:
    """Addresses of hosts, neighbours that need not be asked for, routes along the shortest paths."""
    # Without an address of its own, if only this one, a namespace has no routes through others.
    lines = {node: ["link set lo up"] for node in nodes}
    for number in plan.used:
        for end in (0, 1):
            node, device = plan.links[number].ends[end], _device(number, end)
            lines[node].append(f"link set {device} up")
            lines[node].append(f"neigh add {_GATEWAY} lladdr {_mac(number, 1 - end)} dev {device} nud permanent")
            if plan.nodes[node].kind == "host":
                lines[node].append(f"addr add {_address(node)}/32 dev {device}")
    for host in set(plan.hosts) & set(nodes):
        for node, (number, end) in plan.routes(host).items():
            if number in plan.used:
                lines[node].append(f"route add {_address(host)}/32 via {_GATEWAY} dev {_device(number, end)} onlink")
    for node, commands in lines.items():
        nodes[node].batch("ip", commands)


def _settings(plan: Blueprint) -> list[Setting]:
    """Returns the settings of each port, by number."""
    settings = []
    for number, link in enumerate(plan.links):
        for end, port in enumerate(link.ports):
            rate = _rate(plan, number, end)
            if port is None:
                settings.append(Setting(rate, plan.unseen))
            elif port.kmin is None or port.kmax is None or port.pmax is None:
                settings.append(Setting(rate, plan.unseen, port.limit, port.packets or 0))
            else:
                marking = (port.kmin, port.kmax, port.pmax)
                settings.append(Setting(rate, plan.unseen, port.limit, port.packets or 0, *marking))
    return settings


def _rate(plan: Blueprint, link: int, end: int) -> int:
    """Returns the rate of a port, in bit/s."""
    rate = plan.links[link].rate
    return int(DRAINS * rate) if (link, end) in plan.fed_by_one else rate


def _device(link: int, end: int) -> str:
    return f"farloop{link}{'ab'[end]}"


def _emulator_interface(link: int, end: int) -> str:
    """The interface of the link emulator that faces an end of a link."""
    return f"emulated{link}{'ab'[end]}"


def _mac(link: int, end: int) -> str:
    return f"02:fa:00:{link >> 8:02x}:{link & 255:02x}:{end:02x}"


def _address(node: int) -> str:
    return f"10.213.{node >> 8}.{node & 255}"

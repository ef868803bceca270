"""The ends of emulated links: network namespaces that the command makes, one for each node, or two interfaces that are there."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from farloop.emulation.long_links import BURST, EmulationPlan
from farloop.errors import FarloopError
from farloop.testbed.namespaces import Namespace, command

MAX_LINKS = 64

_HOST = {
    "ipv4/tcp_rmem": "4096 1048576 67108864",
    "ipv4/tcp_wmem": "4096 65536 67108864",
    "ipv4/tcp_no_metrics_save": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv4/ip_forward": "1",
    "ipv6/conf/all/forwarding": "1",
}
"""Windows as large as a long path needs; nodes with several links forward."""

_SILENT = {"ipv6/conf/all/disable_ipv6": "1", "ipv6/conf/default/disable_ipv6": "1"}


@dataclass(frozen=True)
class LinkEnds:
    """Interfaces that an emulator moves frames between.

    Attributes:
        interfaces: Of each link, the two that the emulator opens.
        namespace: Where these are; `None` for this process's own.
        nodes: By node, its namespace; empty where the interfaces were there.
        addresses: By node, of each link the interface and its addresses.
    """

    interfaces: list[tuple[str, str]]
    namespace: Namespace | None
    nodes: dict[str, Namespace] = field(default_factory=dict)
    addresses: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)


@contextmanager
def make_namespaces(
    plan: EmulationPlan, *, segmentation_offload: bool = False, receive_offload: bool = True
) -> Iterator[LinkEnds]:
    """A namespace for each end of a link, until the block ends or this process does.

    Args:
        plan: The links.
        segmentation_offload: Hosts leave to the emulator to cut frames of up to `BURST`.
        receive_offload: Hosts take frames that the emulator joined from several packets, and leave it the checksums.

    Raises:
        FarloopError: this process may not make them.
    """
    if len(plan.links) > MAX_LINKS:
        raise FarloopError(f"the scenario has {len(plan.links)} long links; expected at most {MAX_LINKS}")
    with ExitStack() as stack:

        def namespace() -> Namespace:
            made = Namespace()
            stack.callback(made.close)
            return made

        between = namespace()
        between.settings(_SILENT)
        nodes = {name: namespace() for name in dict.fromkeys(end for link in plan.links for end in link.ends)}
        addresses: dict[str, list[tuple[str, str, str]]] = {name: [] for name in nodes}
        interfaces = []
        for each in nodes.values():
            each.settings(_HOST)
            each.batch("ip", ["link set lo up"])
        for number, link in enumerate(plan.links, 1):
            outer = f"link{number}"
            inner = (f"emulated{number}a", f"emulated{number}b")
            interfaces.append(inner)
            for end, (node, device) in enumerate(zip(link.ends, inner, strict=True)):
                own, v4, v6 = nodes[node], f"10.213.{number}.{end + 1}", f"fd00:213:{number}::{end + 1}"
                peer = f"type veth peer name {outer} mtu {plan.mtu} netns {own.path}"
                between.batch("ip", [f"link add name {device} mtu {plan.mtu} {peer}"])
                if not receive_offload:
                    between.whole_packets([device])
                if segmentation_offload:
                    own.batch("ip", [f"link set {outer} gso_max_size {BURST}"])
                else:
                    own.whole_packets([outer], checksums=not receive_offload)
                between.batch("ip", [f"link set {device} arp off up"])
                lines = [f"link set {outer} up", f"addr add {v4}/24 dev {outer}"]
                own.batch("ip", [*lines, f"addr add {v6}/64 dev {outer} nodad"])
                addresses[node].append((outer, v4, v6))
        yield LinkEnds(interfaces, between, nodes, addresses)


def named_interfaces(plan: EmulationPlan, text: str) -> LinkEnds:
    """Two interfaces of this namespace: those of a switch, of virtual machines (taps), or of a network card.

    Args:
        plan: One link.
        text: Their names, with a comma between them; the first is the link's first end.

    Raises:
        FarloopError: they are not two, are not there, are in use, or carry the default route.
    """
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise FarloopError(f'--between: "{text}" is not two interfaces; expected two names, such as tap0,tap1')
    if len(plan.links) != 1:
        links = ", ".join(link.name for link in plan.links[:4])
        raise FarloopError(
            f"--between: the scenario has {len(plan.links)} long links ({links}); expected one: set --longer-than"
        )
    there = {name for _, name in socket.if_nameindex()}
    for name in names:
        if name not in there:
            raise FarloopError(f'--between: there is no interface "{name}"; expected two of {", ".join(sorted(there))}')
        _refuse_interface(name, plan.mtu)
    return LinkEnds([(names[0], names[1])], None)


def _refuse_interface(name: str, mtu: int) -> None:
    """Refuses an interface whose frames this host handles itself, or that cannot carry the scenario's."""
    if name in default_routes():
        raise FarloopError(f"--between: {name} carries the default route of this host; expected another interface")
    (interface,) = _ip("-json", "address", "show", "dev", name)
    if "LOOPBACK" in interface["flags"]:
        raise FarloopError(f"--between: {name} is the loopback interface; expected another one")
    if "master" in interface:
        raise FarloopError(
            f"--between: {name} belongs to {interface['master']}, which takes its frames; expected an interface without: "
            f"ip link set {name} nomaster"
        )
    used = [address["local"] for address in interface["addr_info"] if address.get("scope") == "global"]
    if used:
        raise FarloopError(
            f"--between: {name} has the address {used[0]}, to which this host would answer, too; expected one without: "
            f"ip address flush dev {name}"
        )
    if interface["mtu"] < mtu:
        raise FarloopError(
            f"--between: {name} has an MTU of {interface['mtu']}, and the scenario's is {mtu} (transport.mtu); "
            f"expected {mtu} or more: ip link set {name} mtu {mtu}"
        )
    if "UP" not in interface["flags"]:
        raise FarloopError(f"--between: {name} is down; expected it up: ip link set {name} up")


def default_routes() -> set[str]:
    """Interfaces that carry a default route of any table, IPv4 or IPv6."""
    routes = [route for family in ("-4", "-6") for route in _ip("-json", family, "route", "show", "table", "all")]
    devices = set()
    for route in routes:
        if route.get("dst") == "default":
            devices |= {hop["dev"] for hop in [route, *route.get("nexthops", [])] if "dev" in hop}
    return devices


def _ip(*words: str) -> list[dict[str, Any]]:
    done = subprocess.run([command("ip"), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise FarloopError(f"ip {' '.join(words)} fails: {done.stderr.strip() or done.returncode}")
    return list(json.loads(done.stdout or "[]"))

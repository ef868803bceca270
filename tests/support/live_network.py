"""Hosts that send through one switch to a receiver, with real TCP between them: a small testbed for live tests and scripts."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.testbed import network
from farloop.testbed.blueprint import Blueprint, Control, Flow, Link, Node, Port
from farloop.testbed.namespaces import Namespace

ROOT = Path(__file__).parents[2]
# Shared processors leave an ordinary process waiting for longer than the whole queue lasts.
PRIORITY = ["chrt", "--fifo", "10"]
TOOLS = ("ip", "tc", "iperf3", "clang", "chrt", "unshare")
CHECKSUMS = {"Tcp": ("InErrs", "InCsumErrors"), "Ip": ("InHdrErrors",)}
ACCESS = 10_000
"""Mbps of the links that hosts send by."""


def missing_tools() -> list[str]:
    """Programs that are not installed."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in TOOLS if shutil.which(name, path=path) is None]


@dataclass(frozen=True)
class LiveNetwork:
    """Senders 0, 1, ..., a switch and a receiver."""

    network: network.Network
    senders: int

    @property
    def receiver(self) -> Namespace:
        """The namespace of the receiving host."""
        return self.network.namespaces[self.senders + 1]

    @property
    def hosts(self) -> list[Namespace]:
        """The namespaces of all hosts, the receiver's last."""
        return [*(self.network.namespaces[i] for i in range(self.senders)), self.receiver]

    @property
    def receiver_address(self) -> str:
        """The IPv4 address of the receiver."""
        return self.network.address(self.senders + 1)

    def sender_address(self, number: int) -> str:
        """The IPv4 address of a sender."""
        return self.network.address(number)

    def lose(self, packet: int) -> None:
        """The switch drops one of the packets with data to the receiver, counted from 1."""
        self.network.ports.lose(network.Network.port(self.senders, 0), packet)

    def write_telemetry(self, folder: Path, link: int, rate_mbps: int, hop: int) -> None:
        """The port at the sending end of a link writes telemetry into what leaves by it; link `senders` is the switch's."""
        program = folder / f"telemetry{hop}.bpf.o"
        flags = ["-mcpu=v3", "-O2", "-g", f"-DRATE_MBPS={rate_mbps}", f"-DHOP={hop}"]
        source = ROOT / "linux" / "testbed" / "telemetry.bpf.c"
        subprocess.run(["clang", "-target", "bpf", *flags, "-c", source, "-o", program], check=True)
        device = network.Network.device(link, 0)
        # After the port's own program. tc mounts bpffs where there is none: in a mount namespace of its own it takes that away with it.
        words = ["tc", "filter", "add", "dev", device, "egress", "pref", "2"]
        words += ["bpf", "direct-action", "object-file", str(program), "section", "tc"]
        node = self.network.namespaces[self.network.plan.links[link].ends[0]]
        with node.enter_namespace():
            subprocess.run(["unshare", "--mount", *words], check=True)


@contextlib.contextmanager
def live_network(
    *,
    rate_mbps: int,
    control: str,
    delays_us: Sequence[int] = (0,),
    threshold: int | None = None,
    limit: int = 400_000,
    settings: dict[str, str] | None = None,
) -> Iterator[LiveNetwork]:
    """A sender for each of the one-way delays, and a port of a rate that all of them share.

    Args:
        control: The congestion control of all hosts.
        threshold: Bytes beyond which the port marks.
        limit: The port's longest queue in bytes.
        settings: Further sysctls of all hosts.
    """
    senders = len(delays_us)
    switch, receiver = senders, senders + 1
    nodes = [*(Node(f"sender{i}", "host", 0) for i in range(senders)), Node("switch", "switch", 0)]
    marks = (None, None, None) if threshold is None else (threshold, threshold, 1.0)
    shared = Link((switch, receiver), 1, rate_mbps * 10**6, 0, (Port(limit, None, *marks), None))
    access = [Link((i, switch), 1, ACCESS * 10**6, delay * 10**6, (None, None)) for i, delay in enumerate(delays_us)]
    plan = Blueprint(
        mtu=1500,
        unseen=0,
        duration=0,
        interval=None,
        nodes=(*nodes, Node("receiver", "host", 0)),
        links=(*access, shared),
        algorithms=(Control(control, control, {}),),
        flows=tuple(Flow(f"flow{i}", i, receiver, 0, False, 0, None, None, None, 0) for i in range(senders)),
        recorded_flows=(),
        recorded_ports=(),
    )
    with network.build_network(plan) as built:
        made = LiveNetwork(built, senders)
        for host in made.hosts:
            host.settings({"ipv4/tcp_congestion_control": control, **(settings or {})})
        yield made


def start(host: Namespace, *words: object, cgroup: Path | None = None) -> subprocess.Popen[str]:
    """A program of a host, with real-time priority; its output is piped."""
    join = ["sh", "-c", f'echo $$ > {cgroup}/cgroup.procs && exec "$@"', "sh"] if cgroup else []
    with host.enter_namespace():
        return subprocess.Popen([*join, *PRIORITY, *map(str, words)], stdout=subprocess.PIPE, text=True)


def end(*processes: subprocess.Popen[str]) -> None:
    """Ends programs of hosts."""
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def bulk_flows(
    made: LiveNetwork,
    seconds: float,
    *,
    options: Sequence[object] = (),
    cgroup: Path | None = None,
    during: Callable[[], object] = lambda: None,
) -> tuple[list[Any], list[Any]]:
    """iperf3 from each sender to the receiver, with further options: reports of the receiving and of the sending side.

    `during` is called in the middle.
    """
    servers, clients = [], []
    try:
        for i in range(made.senders):
            words = ["iperf3", "-s", "-1", "-p", 5201 + i, "-i", "0.1", "-J"]
            servers.append(start(made.receiver, *words, cgroup=cgroup))
        time.sleep(0.3)
        for i in range(made.senders):
            words = ["iperf3", "-c", made.receiver_address, "-p", 5201 + i, "-t", seconds, "-i", "0.1", "-J", *options]
            clients.append(start(made.hosts[i], *words, cgroup=cgroup))
        time.sleep(seconds / 2)
        during()
        sent = [json.loads(client.communicate(timeout=seconds + 20)[0]) for client in clients]
        received = [json.loads(server.communicate(timeout=10)[0]) for server in servers]
    finally:
        end(*clients, *servers)
    for report in (*sent, *received):
        assert "error" not in report, report["error"]
    return received, sent


def throughputs(report: Any) -> list[float]:
    """Mbps per tenth of a second, of a report of iperf3."""
    return [interval["sum"]["bits_per_second"] / 1e6 for interval in report["intervals"]]


def checksum_errors(host: Namespace) -> int:
    """How many packets came with wrong checksums or headers."""
    with host.enter_namespace():
        rows = [line.split() for line in Path("/proc/thread-self/net/snmp").read_text().splitlines()]
    total = 0
    # Of each protocol a line of names and one of values.
    for names, values in zip(rows[::2], rows[1::2], strict=True):
        counts = dict(zip(names, values, strict=True))
        total += sum(int(counts[name]) for name in CHECKSUMS.get(names[0].removesuffix(":"), ()))
    return total

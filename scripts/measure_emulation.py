"""How late packets leave an emulated link, by a clock at the receiver: the table of docs/emulate.md. As root, on an idle host.

    .venv/bin/python scripts/measure_emulation.py [--seconds 5] [--repetitions 3] [--only NAME] [--setting NAME]

A packet's due time is that of the link's law. Its lateness at the receiver is the kernel's stamp at the receiving interface
minus that time, for one in 32 packets; of a frame that was joined from several the first is stamped, which waited longest. The stamp is
taken by the processor that goes on with the packet (net.core.netdev_tstamp_prequeue = 0 meanwhile): what waits for another one is late.

Settings, one at a time, are those that could help TCP: what farloop does by default is `default`, and `plain` is without receive offload.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from farloop import _native
from farloop.emulation.ends import LinkEnds, make_namespaces
from farloop.emulation.long_links import ETHERNET, EmulationPlan, Impairments, read_plan
from farloop.emulation.process import Emulator
from farloop.scenario import Scenario
from farloop.testbed.namespaces import Namespace

EXAMPLE = Path(__file__).parents[1] / "examples" / "emulate.toml"
STAMPS = Path("/proc/sys/net/core/netdev_tstamp_prequeue")
SIOCETHTOOL = 0x8946
ETHTOOL_SGRO = 0x2C
LOAD = 0.98
TOGETHER_NS = 50_000

RECORD = (
    "import json, sys; from farloop import _native;"
    "print(json.dumps(_native.record_arrivals(sys.argv[1], lambda: print('ready', flush=True))))"
)
RECEIVE = """
import socket, sys
with socket.create_server(("0.0.0.0", int(sys.argv[1]))) as server:
    print("ready", flush=True)
    connection, _ = server.accept()
    if int(sys.argv[2]):
        connection.setsockopt(socket.SOL_SOCKET, 46, int(sys.argv[2]))  # SO_BUSY_POLL, us
    buffer = bytearray(1 << 20)
    total = 0
    while size := connection.recv_into(buffer):
        total += size
    print(total, flush=True)
"""
SEND = """
import socket, sys, time
with socket.socket() as connection:
    if int(sys.argv[4]):
        connection.setsockopt(socket.SOL_SOCKET, 47, int(sys.argv[4]))  # SO_MAX_PACING_RATE, bytes/s
    connection.connect((sys.argv[1], int(sys.argv[2])))
    connection.settimeout(5)
    end = time.monotonic() + float(sys.argv[3])
    data = bytes(1 << 20)
    while time.monotonic() < end:
        connection.sendall(data)
"""


class Case(NamedTuple):
    """A row: rate of the link, traffic, directions, and whether hosts leave it to the emulator to cut frames."""

    name: str
    rate: str
    traffic: str
    both_ways: bool
    offload: bool


class Setting(NamedTuple):
    """A setting of the hosts at the link's ends.

    Attributes:
        joins: The emulator joins segments (`--no-receive-offload` without), and hosts leave checksums to it.
        pacing: Of the link's rate, SO_MAX_PACING_RATE of the senders; 0 for none.
        busy_poll: SO_BUSY_POLL of the receivers, us.
        rps: Receivers' packets are handled by the first processor (rps_cpus).
        gro: The kernel merges what reaches the hosts (`ethtool -K link1 gro on`), which gives veth a NAPI.
        shell: Commands in each host's namespace, with a sysfs of its own at /sys.
    """

    joins: bool = False
    pacing: float = 0.0
    busy_poll: int = 0
    rps: bool = False
    gro: bool = False
    shell: str = ""


_QUEUE = "/sys/class/net/link1"
_HELD = f"echo 50000 > {_QUEUE}/gro_flush_timeout; echo 2 > {_QUEUE}/napi_defer_hard_irqs"
SETTINGS = {
    "default": Setting(joins=True),
    "plain": Setting(),
    "pacing": Setting(pacing=0.95),
    "rps": Setting(rps=True),
    "kernel-gro": Setting(gro=True),
    "kernel-gro-held": Setting(gro=True, shell=_HELD),
    "threaded": Setting(gro=True, shell=f"echo 1 > {_QUEUE}/threaded"),
    "busy-poll": Setting(gro=True, busy_poll=50),
    "default+pacing": Setting(joins=True, pacing=0.95),
    "default+rps": Setting(joins=True, rps=True),
}

CASES = [
    Case("paced, both ways", "1Gbps", "paced", True, False),
    Case("TCP, both ways", "1Gbps", "tcp", True, False),
    Case("TCP, both ways, offload", "1Gbps", "tcp", True, True),
    Case("TCP, one way", "3Gbps", "tcp", False, False),
    Case("TCP, one way, offload", "3Gbps", "tcp", False, True),
]


def measure(case: Case, seconds: float, setting: Setting, *, real_time: bool) -> dict[str, Any]:
    """One measurement."""
    rate = f"link.west->east.rate={case.rate}"
    # A queue and marks of the same time at any rate.
    scale = 3 if case.rate == "3Gbps" else 1
    settings = [rate, f"wan_switch.queue_limit={2 * scale}MB"]
    settings += [f"wan_switch.{key}={250 * scale}kB" for key in ("kmin", "kmax")]
    plan = read_plan(Scenario.load(EXAMPLE).override(settings), 100e-6)
    load_before = os.getloadavg()[0]
    with ExitStack() as stack:
        stack.enter_context(stamped_late())
        offloads = {"segmentation_offload": case.offload, "receive_offload": setting.joins}
        ends = stack.enter_context(make_namespaces(plan, **offloads))
        spec = plan.spec(ends.interfaces, Impairments(), samples=True, **offloads)
        for node in ends.nodes.values():
            node.settings({"ipv4/tcp_ecn": "1"})
            apply(setting, node)
        emulator = Emulator(spec, ends.namespace, real_time=real_time)
        stack.callback(emulator.kill)
        recorders = [start(ends, node, RECORD, "link1") for node in ("east", "west")]
        before, began = emulator.cpu_seconds(), time.monotonic()
        sent = run_traffic(plan, ends, case, seconds, setting)
        lasted = time.monotonic() - began
        used = emulator.cpu_seconds() - before
        time.sleep(0.1)
        arrivals = [json.loads(recorder.communicate(timeout=30)[0]) for recorder in recorders]
        (reports,) = emulator.stop()
    directions = [of_direction(*pair, lasted) for pair in zip(reports, arrivals, strict=True)]
    return {
        "case": case.name,
        "rate": case.rate,
        "priority": "fifo" if real_time else "normal",
        "load_before": load_before,
        "cpu": used / lasted,
        "received_bps": sent,
        "directions": directions[: 2 if case.both_ways else 1],
    }


def of_direction(report: dict[str, Any], arrivals: list[list[int]], lasted: float) -> dict[str, Any]:
    """The numbers of one direction: times in us."""
    due: dict[int, int] = {}
    twice = set()
    for key, at in report["samples"]:
        if key in due:
            twice.add(key)
        due[key] = at
    late = sorted((at - due[key]) / 1000 for key, at in arrivals if key in due and key not in twice)
    part = {"p50": 0.5, "p99": 0.99, "worst": 1.0}
    at_receiver = {name: late[min(int(p * len(late)), len(late) - 1)] if late else None for name, p in part.items()}
    at_emulator = {name: report[f"lateness_{name}"] / 1000 for name in part}
    counts = ("came", "left", "marked", "dropped_queue", "overruns", "refused", "longest", "joined")
    return {
        "receiver_us": at_receiver,
        "emulator_us": at_emulator,
        "samples": len(late),
        "packets_per_s": report["left"] / lasted,
        "bps": report["bytes"] * 8 / lasted,
    } | {name: report[name] for name in counts}


def apply(setting: Setting, node: Namespace) -> None:
    """Has a host be as the setting says."""
    lines = f"echo 1 > {_QUEUE}/queues/rx-0/rps_cpus; {setting.shell}" if setting.rps else setting.shell
    with node.enter_namespace():
        if setting.gro:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
                value = ctypes.create_string_buffer(struct.pack("=II", ETHTOOL_SGRO, 1))
                request = struct.pack("@16sP16x", b"link1", ctypes.addressof(value))
                fcntl.ioctl(control, SIOCETHTOOL, request)
        if lines:
            words = ["unshare", "--mount", "sh", "-ec", f"mount -t sysfs none /sys; {lines}"]
            subprocess.run(words, check=True)


@contextmanager
def stamped_late() -> Iterator[None]:
    """Packets are stamped by the processor that goes on with them, until the block ends."""
    before = STAMPS.read_text()
    STAMPS.write_text("0")
    try:
        yield
    finally:
        STAMPS.write_text(before)


def run_traffic(plan: EmulationPlan, ends: LinkEnds, case: Case, seconds: float, setting: Setting) -> list[float]:
    """Runs it; of TCP what receivers got, in bit/s."""
    pairs = [("west", "east", "10.213.1.2"), ("east", "west", "10.213.1.1")][: 2 if case.both_ways else 1]
    if case.traffic == "paced":
        size = plan.mtu + ETHERNET
        gap = (size + plan.framing) * 8e9 / (plan.links[0].rate * LOAD)
        burst = max(1, round(TOGETHER_NS / gap))

        def send(node: str) -> None:
            with ends.nodes[node].enter_namespace():
                _native.send_paced("link1", size, round(gap), burst, int(seconds * 1e9))

        threads = [threading.Thread(target=send, args=(source,)) for source, _, _ in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return []
    polls = str(setting.busy_poll)
    pacing = str(round(setting.pacing * plan.links[0].rate / 8))
    servers = [start(ends, sink, RECEIVE, str(5201 + i), polls) for i, (_, sink, _) in enumerate(pairs)]
    clients = []
    for i, (source, _, address) in enumerate(pairs):
        with ends.nodes[source].enter_namespace():
            words = [sys.executable, "-c", SEND, address, str(5201 + i), str(seconds), pacing]
            clients.append(subprocess.Popen(words))
    for client in clients:
        client.wait()
    return [int(server.communicate(timeout=30)[0]) * 8 / seconds for server in servers]


def start(ends: LinkEnds, node: str, program: str, *words: str) -> subprocess.Popen[str]:
    """A program of Python at a node, once it is ready."""
    with ends.nodes[node].enter_namespace():
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        made = subprocess.Popen([sys.executable, "-c", program, *words], **pipes, text=True)
    assert made.stdout is not None
    if made.stdout.readline() != "ready\n":
        raise SystemExit(f"{words}: does not start")
    return made


def print_row(row: dict[str, Any]) -> None:
    """One row of the table: the worse direction."""

    def worse(key: str, name: str) -> str:
        values = [each[key][name] for each in row["directions"] if each[key][name] is not None]
        return f"{max(values):,.0f}" if values else "–"

    receiver, emulator = (
        " / ".join(worse(key, n) for n in ("p50", "p99", "worst")) for key in ("receiver_us", "emulator_us")
    )
    carried = " + ".join(f"{each['bps'] / 1e9:.2f}" for each in row["directions"])
    goodput = " + ".join(f"{bps / 1e9:.2f}" for bps in row["received_bps"]) or "–"
    lost = sum(each["overruns"] + each["refused"] for each in row["directions"])
    dropped = sum(each["dropped_queue"] for each in row["directions"])
    packets = sum(each["packets_per_s"] for each in row["directions"])
    cells = (
        f"{row['rate']} {row['case']}",
        row["priority"],
        carried,
        goodput,
        f"{packets:,.0f}",
        receiver,
        emulator,
        dropped,
        lost,
    )
    cells += (f"{row['cpu']:.2f}", f"{row['load_before']:.1f}")
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose name and rate have this in them")
    parser.add_argument("--setting", choices=list(SETTINGS), default="default", help="how hosts are set up")
    parser.add_argument("--priority", choices=["fifo", "normal"], help="one priority alone")
    parser.add_argument("--json", type=Path, help="write all numbers here")
    options = parser.parse_args()
    columns = (
        "link, traffic",
        "priority",
        "Gbps",
        "TCP goodput",
        "packets/s",
        "late at the receiver: p50 / p99 / worst (us)",
    )
    columns += ("by the emulator", "dropped", "lost by the host", "processors", "load before")
    sys.stdout.write(f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|\n")
    sys.stdout.flush()
    rows = []
    for case in CASES:
        if options.only not in f"{case.rate} {case.name}":
            continue
        for priority in ("fifo", "normal"):
            if options.priority not in (None, priority):
                continue
            for _ in range(options.repetitions):
                rows.append(measure(case, options.seconds, SETTINGS[options.setting], real_time=priority == "fifo"))
                rows[-1]["setting"] = options.setting
                print_row(rows[-1])
                if options.json is not None:
                    options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

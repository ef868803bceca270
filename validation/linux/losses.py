"""The reference `linux-losses`: this host's kernel where chosen segments and ACKs are lost, late or dropped by a queue.

    python validation/linux/losses.py                         # everything: an hour or less
    python validation/linux/losses.py --case tail-3 --algorithm bbr

It needs root and what `farloop testbed doctor` asks for. Each [[case]] of reference.toml is built of network namespaces, as
`farloop testbed` builds it, and the link emulator does to segments what the case's [[event]] does in the simulator. Each
repetition is a connection of its own, with the congestion control of its socket.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import select
import socket
import struct
import sys
import termios
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from farloop.kernel.tcp_info import tcp_info
from farloop.scenario import Scenario
from farloop.testbed.blueprint import plan
from farloop.testbed.connections import PRIORITY
from farloop.testbed.link_emulator import NumberedSegments, pin_processors, raise_priority
from farloop.testbed.namespaces import Namespace
from farloop.testbed.network import Network, build_network

REFERENCE = Path(__file__).resolve().parents[2] / "python/farloop/studies/validation/references/linux-losses"

SAMPLED = 0.01
"""Seconds between samples of a connection's state."""

PATIENCE = 60.0
"""Seconds that a transfer may take."""

STARTUP_GAIN = 700
"""256 times the pacing gain; that of STARTUP is 739, and no other is above 320 (tcp_bbr.c)."""

UNDOS = ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo")
BESIDE = (*UNDOS, "TCPSpuriousRTOs", "TCPLossProbes", "TCPLossProbeRecovery", "TCPTimeouts", "TCPDSACKRecv")
"""Counters that are printed beside the metrics."""

SYSCTLS = (
    *(
        "tcp_timestamps",
        "tcp_sack",
        "tcp_dsack",
        "tcp_recovery",
        "tcp_early_retrans",
        "tcp_frto",
        "tcp_reordering",
        "tcp_max_reordering",
    ),
    *("tcp_comp_sack_delay_ns", "tcp_comp_sack_nr", "tcp_comp_sack_slack_ns", "tcp_min_rtt_wlen", "tcp_retries2"),
    *("tcp_no_metrics_save", "tcp_slow_start_after_idle", "tcp_rto_min_us", "tcp_ecn", "tcp_rmem", "tcp_wmem"),
)
NETWORK = "buffers.toml"
"""The scenario without any event; all have its network."""

LONG = ("shallow", "deep", "each-hundredth", "acks-half", "acks-fourth")
"""Cases that last for so many round trips that the mean of their round-trip times means something."""

Sample = tuple[float, float, int]
"""Seconds since the connection was asked for, smoothed round-trip time in seconds, and 256 times BBR's pacing gain."""

HOSTS = {"each-hundredth": {"ipv4/tcp_rmem": "4096 8388608 67108864"}}
"""Further sysctls of a case: BBR fills a path of 100 ms with more than the usual receive buffer takes at first."""

_CC_INFO = 26
_BBR_INFO = 20


def main() -> None:
    """Measures cases, and keeps what it measured after each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument("--algorithm", action="append", help="only this algorithm; may be repeated")
    parser.add_argument(
        "--sysctl", action="append", default=[], metavar="NAME=VALUE", help="of net.ipv4 at the hosts, to try it"
    )
    parser.add_argument("--out", type=Path, default=REFERENCE / "results.json")
    options = parser.parse_args()
    reference = tomllib.loads((REFERENCE / "reference.toml").read_text())
    extra = {f"ipv4/{name}": value for name, value in (item.split("=", 1) for item in options.sysctl)}
    pin_processors(emulates=False)
    raise_priority(PRIORITY)
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    for case in reference["case"]:
        runs = [r for r in case["run"] if not options.algorithm or r["algorithm"] in options.algorithm]
        if not runs or (options.case and case["name"] not in options.case):
            continue
        for algorithm, values in measure_case(case, runs, options.repetitions, extra).items():
            results.setdefault(case["name"], {})[algorithm] = values
        order = [c["name"] for c in reference["case"] if c["name"] in results]
        options.out.write_text(written({name: results[name] for name in order}))


def written(results: Mapping[str, Any]) -> str:
    """JSON with one algorithm in a line."""
    cases = []
    for case, algorithms in results.items():
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in algorithms.items())
        cases.append(f" {json.dumps(case)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(cases) + "\n}\n"


def measure_case(
    case: Mapping[str, Any], runs: list[Any], repetitions: int, extra: Mapping[str, str]
) -> dict[str, dict[str, list[float]]]:
    """By algorithm and metric, one value for each repetition; `extra` are further sysctls of the hosts."""
    network_keys = {key: value for key, value in case["set"].items() if key.split(".")[0] in ("link", "switch", "flow")}
    # Without the event and what goes with timestamps, which are this script's, it is a network that testbeds build.
    blueprint = plan(Scenario.load(REFERENCE / NETWORK).override(network_keys))
    size = blueprint.flows[0].size
    assert size is not None
    event = tomllib.loads((REFERENCE / case["scenario"]).read_text()).get("event", [{}])[0]
    event |= {key.split(".")[2]: value for key, value in case["set"].items() if key.startswith("event.1.")}
    timestamps = bool(case["set"].get("transport.timestamps", True))
    is_long = case["name"].removesuffix("-plain") in LONG
    own = {**HOSTS.get(case["name"].removesuffix("-plain"), {}), **extra}
    measured: dict[str, dict[str, list[float]]] = {}
    with build_network(blueprint, {0: accidents(event)}) as network:
        for host in blueprint.hosts:
            network.namespaces[host].settings({"ipv4/tcp_timestamps": str(int(timestamps)), **own})
        sys.stderr.write(f"{case['name']}: {described(network.namespaces[blueprint.hosts[0]])}\n")
        # The first connection of a network meets a host that has not done any of it yet.
        transfer(network, runs[0]["reference"], size)
        for run in runs:
            rows = [transfer(network, run["reference"], size) for _ in range(repetitions)]
            skipped = () if is_long else ("rtt_mean:f",)
            wanted = [name for name in rows[0] if name not in (*skipped, *BESIDE)]
            measured[run["algorithm"]] = {name: [float(f"{row[name]:.5g}") for row in rows] for name in wanted}
            sys.stderr.write(f"{case['name']} {run['algorithm']}\n")
            for name in rows[0]:
                sys.stderr.write(f"  {name}: {' '.join(f'{row[name]:.4g}' for row in rows)}\n")
        assert network.emulator
        late = max(way.most for both in network.emulator.stop() for way in both)
        sys.stderr.write(f"{case['name']}: a frame left up to {1e3 * late:.1f} ms late\n")
    return measured


def accidents(event: Mapping[str, Any]) -> tuple[NumberedSegments, NumberedSegments]:
    """Effects of an [[event]] on segments from the sender, and to those towards it."""
    late_by = round(float(event.get("late_by", "0ms").removesuffix("ms")) * 1e6)
    data = NumberedSegments(event.get("lose_data", ""), "", event.get("late_data", ""), late_by)
    return data, NumberedSegments("", event.get("lose_acks", ""))


def transfer(network: Network, control: str, size: int) -> dict[str, float]:
    """The metrics of one connection that carries `size` bytes, and counters beside them."""
    source, sink = (network.namespaces[i] for i in network.plan.hosts)
    address = network.address(network.plan.hosts[1])
    with sink.enter_namespace():
        listener = made(control)
        listener.bind((address, 0))
        listener.listen(1)
    with source.enter_namespace():
        sender = made(control)
    before = counters(source)
    begun = time.monotonic()
    sender.connect_ex(listener.getsockname())
    received, samples, receiver = carry(sender, listener, size, begun)
    info = tcp_info(sender)
    after = counters(source)
    for end in (sender, receiver, listener):
        end.close()
    return {
        "fct_mean": received,
        "flow:f:retransmitted": info.retransmitted,
        "flow:f:timeouts": info.timeouts,
        "flow:f:spurious": sum(after[name] - before[name] for name in UNDOS),
        **({"startup:f": startup(samples)} if control == "bbr" else {}),
        "rtt_mean:f": sum(rtt for _, rtt, _ in samples) / max(len(samples), 1),
        **{name: after[name] - before[name] for name in BESIDE},
    }


def carry(
    sender: socket.socket, listener: socket.socket, size: int, begun: float
) -> tuple[float, list[Sample], socket.socket]:
    """Sends and receives all bytes: when the last one had arrived, round-trip time and BBR's gain at each sample, and the receiver."""
    left, delivered, received = size, 0, 0.0
    samples: list[Sample] = []
    receiver: socket.socket | None = None
    buffer, zeros = bytearray(1 << 18), bytes(1 << 16)
    next_sample = begun + SAMPLED
    # Until the sender knows that all has arrived: what it does meanwhile counts as well.
    while receiver is None or delivered < size or unacknowledged(sender):
        if time.monotonic() > begun + PATIENCE:
            raise TimeoutError(f"{size - delivered} of {size} B have not arrived after {PATIENCE:g} s")
        readable, writable, _ = select.select(
            [receiver or listener], [sender] if left else [], [], max(next_sample - time.monotonic(), 0.0)
        )
        if readable and receiver is None:
            receiver, _ = listener.accept()
            receiver.setblocking(False)
        elif readable and receiver is not None:
            delivered += receiver.recv_into(buffer)
            received = time.monotonic() - begun
        if writable:
            left -= sender.send(zeros[: min(left, len(zeros))])
        if time.monotonic() >= next_sample:
            next_sample += SAMPLED
            if (rtt := tcp_info(sender).rtt) and delivered < size:
                samples.append((time.monotonic() - begun, rtt, bbr_gain(sender)))
    return received, samples, receiver


def startup(samples: list[Sample]) -> float:
    """Seconds with the gain of STARTUP; before the first acknowledgement BBR has none yet."""
    total = before = 0.0
    began = False
    for at, _, gain in samples:
        began |= gain >= STARTUP_GAIN
        total += at - before if gain >= STARTUP_GAIN or not began else 0.0
        before = at
    return total


def made(control: str) -> socket.socket:
    """A socket with this congestion control, which closes at once."""
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.setblocking(False)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    return connection


def unacknowledged(sender: socket.socket) -> bool:
    """Returns whether bytes of a connection are on their way (SIOCOUTQ, tcp(7))."""
    return struct.unpack("i", fcntl.ioctl(sender, termios.TIOCOUTQ, bytes(4)))[0] > 0


def bbr_gain(sender: socket.socket) -> int:
    """256 times BBR's pacing gain: `struct tcp_bbr_info` of linux/inet_diag.h; 0 for other algorithms."""
    raw = sender.getsockopt(socket.IPPROTO_TCP, _CC_INFO, 64)
    return int(struct.unpack_from("=5I", raw)[3]) if len(raw) == _BBR_INFO else 0


def counters(namespace: Namespace) -> dict[str, int]:
    """TCP's counters of a namespace, by the names that nstat shows without "TcpExt"."""
    with namespace.enter_namespace():
        rows = [line.split() for line in Path("/proc/thread-self/net/netstat").read_text().splitlines()]
    names, values = next((n, v) for n, v in zip(rows[::2], rows[1::2], strict=True) if n[0] == "TcpExt:")
    return dict(zip(names[1:], map(int, values[1:]), strict=True))


def described(host: Namespace) -> str:
    """The kernel's version, and a host's settings that decide what its TCP does."""
    folder = Path("/proc/sys/net/ipv4")
    with host.enter_namespace():
        values = {name: " ".join((folder / name).read_text().split()) for name in SYSCTLS if (folder / name).exists()}
    return f"Linux {os.uname().release}, {', '.join(f'{name} = {value}' for name, value in values.items())}"


if __name__ == "__main__":
    main()

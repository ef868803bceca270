"""Makes the reference `hpcc-ns3` again: runs the HPCC paper's ns-3 on its scenarios and flow lists, and writes results.json.

It takes the directory `simulation` of that program, which a user has built optimised, as its README says. (The numbers here are of
g++ 12 with -O3, and of the commit that reference.toml names.)

    python validation/hpcc-ns3/make.py .../High-Precision-Congestion-Control/simulation

That takes ten minutes of processor time, one run after the other. `--lists` writes scenarios and flow lists again instead, from
the distributions beside the program (`traffic_gen/`); results must then be made again, too.

The scenario is farloop's: nodes, links and flows are read from it, and the program's files are written from that. Rates have to be among
those that its telemetry knows (25, 50, 100, 200, 400 Gbps).
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

REFERENCE = Path(__file__).parents[2] / "python" / "farloop" / "studies" / "validation" / "references" / "hpcc-ns3"

REPETITIONS = 5
PAYLOAD = 1000
"""Of a full packet, in bytes."""
HOST_GBPS = 25
"""Rate of the hosts' links; the settings below are those of the program's own script (run.py) for it."""
SHIFT_NS = 335
"""Starts move by less than a packet of the hosts' links takes (1048 B at 25 Gbps)."""
FIRST_PORT = 100
"""Destination port of the first repetition; the next ones count up, which changes where flows are hashed to."""
PRIORITY_GROUP = 3
SMALL, LARGE = 100_000, 1_000_000
FEWEST_PAUSES = 100
"""Fewer pause frames than that are left to chance, and no number of the reference."""


@dataclass(frozen=True)
class Algorithm:
    """Settings of the program for an algorithm; all as in its run.py but the lowest rate, which is that of its code (100 Mbps).

    Attributes:
        mode: CC_MODE.
        window: HAS_WIN and VAR_WIN.
        gain: EWMA_GAIN.
        rate_ai: RATE_AI in Mbps.
        rate_hai: RATE_HAI in Mbps.
        thresholds: Of ECN for the hosts' rate: KMIN and KMAX in kB, PMAX. They grow with a port's rate.
    """

    mode: int
    window: bool
    gain: float = 1 / 256
    rate_ai: int = 10
    rate_hai: int = 50
    thresholds: tuple[int, int, float] = (100, 400, 0.2)


ALGORITHMS = {
    "hpcc": Algorithm(mode=3, window=True, rate_ai=10),
    "dcqcn": Algorithm(mode=1, window=False, rate_ai=5, rate_hai=50),
    "timely": Algorithm(mode=7, window=False, rate_ai=25, rate_hai=125),
    "dctcp-rate": Algorithm(mode=8, window=True, gain=1 / 16, thresholds=(75, 75, 1.0)),
}


@dataclass(frozen=True)
class Flow:
    """A flow of a list."""

    source: str
    target: str
    start_ns: int
    size: int


@dataclass(frozen=True)
class Network:
    """What the program needs of a scenario.

    Attributes:
        hosts: Names; the program's numbers are their places, and those of the switches come after them.
        switches: Names.
        links: Ends, rate in Gbps and delay in nanoseconds.
        flows: In the order of their starts.
        buffer_mib: Of each switch.
        stop_s: When the run ends.
    """

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[tuple[str, str, int, int], ...]
    flows: tuple[Flow, ...]
    buffer_mib: int
    stop_s: float

    def number(self, node: str) -> int:
        """The program's number of a node."""
        return (self.hosts + self.switches).index(node)

    def distances(self, source: str) -> dict[str, int]:
        """How many links there are from a host to each node."""
        near: dict[str, list[str]] = {name: [] for name in self.hosts + self.switches}
        for a, b, _, _ in self.links:
            near[a].append(b)
            near[b].append(a)
        hops, edge = {source: 0}, [source]
        while edge:
            edge = [b for a in edge for b in near[a] if hops.setdefault(b, hops[a] + 1) == hops[a] + 1]
            edge = list(dict.fromkeys(edge))
        return hops

    def packet_hops(self) -> int:
        """How often a packet arrives at a node: each data packet and its ACK, at every hop, without losses and pauses."""
        hops = {host: self.distances(host) for host in self.hosts}
        return sum(2 * -(-flow.size // PAYLOAD) * hops[flow.source][flow.target] for flow in self.flows)


def quantity(text: str, units: dict[str, float]) -> float:
    """A number with a unit, in the unit whose factor is 1."""
    unit = text.lstrip("0123456789.")
    return float(text.removesuffix(unit)) * units[unit]


NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "MiB": 2.0**20}


def network(scenario: Path) -> Network:
    """Reads a scenario of the reference: topology = "links" and one workload with a list."""
    content: dict[str, Any] = tomllib.loads(scenario.read_text("utf-8"))
    named: dict[str, list[str]] = {"host": [], "switch": []}
    for node in content["node"]:
        named[node.get("kind", "host")].append(node["name"])
    with (scenario.parent / content["workload"]["flows"]).open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    flows = [
        Flow(row["from"], row["to"], round(quantity(row["start"], NANOSECONDS)), round(quantity(row["size"], BYTES)))
        for row in rows
    ]
    return Network(
        tuple(named["host"]),
        tuple(named["switch"]),
        tuple(
            (link["a"], link["b"], int(link["rate"].removesuffix("Gbps")), round(quantity(link["delay"], NANOSECONDS)))
            for link in content["link"]
        ),
        tuple(sorted(flows, key=lambda flow: flow.start_ns)),
        round(quantity(content["switch"]["buffer"], BYTES) / 2**20),
        quantity(content["run"]["duration"], NANOSECONDS) / 1e9,
    )


def config(algorithm: Algorithm, net: Network) -> str:
    """The program's configuration. Its files stand in the directory that it runs in."""
    low, high, most = algorithm.thresholds
    rates = sorted({rate for _, _, rate, _ in net.links})

    def by_rate(values: Sequence[float]) -> str:
        return f"{len(rates)} " + " ".join(f"{r * 10**9} {v:g}" for r, v in zip(rates, values, strict=True))

    settings = {
        "ENABLE_QCN": 1,
        "USE_DYNAMIC_PFC_THRESHOLD": 1,
        "PACKET_PAYLOAD_SIZE": PAYLOAD,
        "TOPOLOGY_FILE": "topology.txt",
        "FLOW_FILE": "flow.txt",
        "TRACE_FILE": "trace.txt",
        "TRACE_OUTPUT_FILE": "trace.out",
        "FCT_OUTPUT_FILE": "fct.txt",
        "PFC_OUTPUT_FILE": "pfc.txt",
        "SIMULATOR_STOP_TIME": f"{net.stop_s:.6f}",
        "CC_MODE": algorithm.mode,
        "ALPHA_RESUME_INTERVAL": 1,
        "RATE_DECREASE_INTERVAL": 4,
        "CLAMP_TARGET_RATE": 0,
        "RP_TIMER": 300,
        "EWMA_GAIN": algorithm.gain,
        "FAST_RECOVERY_TIMES": 1,
        "RATE_AI": f"{algorithm.rate_ai}Mb/s",
        "RATE_HAI": f"{algorithm.rate_hai}Mb/s",
        "MIN_RATE": "100Mb/s",
        "DCTCP_RATE_AI": "615Mb/s",
        "ERROR_RATE_PER_LINK": "0.0000",
        "L2_CHUNK_SIZE": 4000,
        "L2_ACK_INTERVAL": 1,
        "L2_BACK_TO_ZERO": 0,
        "HAS_WIN": int(algorithm.window),
        "GLOBAL_T": 1,
        "VAR_WIN": int(algorithm.window),
        "FAST_REACT": int(algorithm.mode == 3),
        "U_TARGET": 0.95,
        "MI_THRESH": 0,
        "INT_MULTI": HOST_GBPS // 25,
        "MULTI_RATE": 0,
        "SAMPLE_FEEDBACK": 0,
        "RATE_BOUND": 1,
        "ACK_HIGH_PRIO": 0,
        "LINK_DOWN": "0 0 0",
        "ENABLE_TRACE": 0,
        "KMAX_MAP": by_rate([high * rate / HOST_GBPS for rate in rates]),
        "KMIN_MAP": by_rate([low * rate / HOST_GBPS for rate in rates]),
        "PMAX_MAP": by_rate([most for _ in rates]),
        "BUFFER_SIZE": net.buffer_mib,
        "QLEN_MON_FILE": "qlen.txt",
        "QLEN_MON_START": 10**15,
        "QLEN_MON_END": 10**15,
    }
    return "".join(f"{key} {value}\n" for key, value in settings.items())


def topology(net: Network) -> str:
    """The program's topology file."""
    lines = [f"{len(net.hosts) + len(net.switches)} {len(net.switches)} {len(net.links)}"]
    lines.append(" ".join(str(net.number(name)) for name in net.switches))
    lines += [f"{net.number(a)} {net.number(b)} {rate}Gbps {delay}ns 0" for a, b, rate, delay in net.links]
    return "\n".join(lines) + "\n"


def flow_list(net: Network, repetition: int) -> str:
    """The program's flow file. In all repetitions but the first each flow begins later, by less than a packet's time."""
    late = (
        np.random.default_rng(repetition).integers(0, SHIFT_NS, len(net.flows)) if repetition else [0] * len(net.flows)
    )
    moved = [(flow.start_ns + int(by), flow) for flow, by in zip(net.flows, late, strict=True)]
    flows = sorted(moved, key=lambda start_flow: start_flow[0])
    lines = [str(len(flows))]
    for start, flow in flows:
        ends = f"{net.number(flow.source)} {net.number(flow.target)}"
        lines.append(f"{ends} {PRIORITY_GROUP} {FIRST_PORT + repetition} {flow.size} {start / 1e9:.9f}")
    return "\n".join(lines) + "\n"


def resident(process: int) -> int:
    """Peak of a process' resident memory so far, in bytes; 0 when it is over.

    What wait4 says of it would count the memory of this process, which it was forked from.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text("utf-8")
    except OSError:
        return 0
    peak = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peak[0]) * 1024 if peak else 0


def simulate(program: Path, net: Network, algorithm: Algorithm, repetition: int, folder: Path) -> dict[str, float]:
    """One run of the program: its numbers, in SI units."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.txt").write_text(config(algorithm, net), "utf-8")
    (folder / "topology.txt").write_text(topology(net), "utf-8")
    (folder / "flow.txt").write_text(flow_list(net, repetition), "utf-8")
    (folder / "trace.txt").write_text("0\n", "utf-8")
    libraries = {**os.environ, "LD_LIBRARY_PATH": str(program / "build")}
    began = time.monotonic()
    with (folder / "stdout.txt").open("w", encoding="utf-8") as out:
        command = [str(program / "build" / "scratch" / "third"), "config.txt"]
        child = subprocess.Popen(command, cwd=folder, env=libraries, stdout=out)
        memory, ended = 0, 0
        while not ended:
            memory = max(memory, resident(child.pid))
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
            time.sleep(0.02)
        child.returncode = os.waitstatus_to_exitcode(status)
    took = time.monotonic() - began
    if child.returncode:
        raise SystemExit(f"{command[0]}: exit status {child.returncode}; see {folder}/stdout.txt")
    if "Drop:" in (folder / "stdout.txt").read_text("utf-8"):
        raise SystemExit(f"packets were dropped; see {folder}/stdout.txt")
    rows = [line.split() for line in (folder / "fct.txt").read_text("utf-8").splitlines()]
    pauses = sum(line.split()[4] == "1" for line in (folder / "pfc.txt").read_text("utf-8").splitlines())
    sizes = np.array([int(row[4]) for row in rows])
    times = np.array([int(row[6]) for row in rows]) / 1e9
    numbers = {
        "fct_mean": float(times.mean()),
        **{f"fct_p{p}": float(np.quantile(times, p / 100)) for p in (50, 90, 99)},
        "unfinished": float(len(net.flows) - len(rows)),
    }
    if pauses >= FEWEST_PAUSES:
        numbers["ports:pauses:sum"] = float(pauses)
    for name, some in (("small", sizes < SMALL), ("large", sizes >= LARGE)):
        if 0 < some.sum() < len(rows):
            numbers[f"fct_{name}_mean"] = float(times[some].mean())
    # Its processor time, all of it in one thread: other work on the machine does not count.
    numbers["wall_s"] = usage.ru_utime + usage.ru_stime
    numbers["packet_hops"] = float(net.packet_hops())
    numbers["memory_bytes"] = float(memory)
    sys.stderr.write(f"{folder.name}: {took:.1f} s, " + ", ".join(f"{k} {v:.4g}" for k, v in numbers.items()) + "\n")
    return numbers


def draw(points: Sequence[tuple[float, float]], count: int, rng: np.random.Generator) -> list[int]:
    """Flow sizes from a cumulative distribution of bytes and per cent, linear between its points."""
    size, percent = np.array(points).T
    return [max(1, round(float(s))) for s in np.interp(rng.uniform(0, 100, count), percent, size)]


def distribution(program: Path, name: str) -> list[tuple[float, float]]:
    """A distribution that comes with the program."""
    text = (program.parent / "traffic_gen" / f"{name}_distribution.txt").read_text("utf-8")
    return [(float(size), float(percent)) for size, percent in (line.split() for line in text.splitlines() if line)]


def arrivals(program: Path, name: str, hosts: Sequence[str], count: int, load: float, seed: int) -> list[Flow]:
    """Poisson arrivals between random pairs of hosts, which load the hosts' links by payload."""
    rng = np.random.default_rng(seed)
    points = distribution(program, name)
    sizes = draw(points, count, rng)
    mean = sum((a + b) / 2 * (q - p) / 100 for (a, p), (b, q) in itertools.pairwise(points))
    starts = np.cumsum(rng.exponential(8 * mean / (load * HOST_GBPS * len(hosts)), count))
    flows = []
    for start, size in zip(starts, sizes, strict=True):
        source, target = rng.choice(len(hosts), 2, replace=False)
        flows.append(Flow(hosts[source], hosts[target], round(float(start)), size))
    return flows


@dataclass(frozen=True)
class Case:
    """A scenario of the reference.

    Attributes:
        title: What it is.
        links: Ends and rate in Gbps; names of hosts begin with h.
        flows: The list.
        buffer_mib: Of each switch.
        duration_ms: When the run ends: not long after the last flow of the slowest algorithm.
        longest: Hops of the longest path, as rates in Gbps.
    """

    title: str
    links: tuple[tuple[str, str, int], ...]
    flows: list[Flow]
    buffer_mib: int
    duration_ms: int
    longest: tuple[int, ...]


DELAY_NS = 1000
"""Of every link."""


def names(first: int, last: int) -> list[str]:
    """Hosts."""
    return [f"h{number}" for number in range(first, last + 1)]


def fabric(spines: int, leaves: int, each: int, rate: int) -> tuple[tuple[str, str, int], ...]:
    """Leaves with `each` hosts, and a link of `rate` Gbps from every leaf to every spine."""
    hosts = [
        (f"h{leaf * each + n}", f"leaf{leaf + 1}", HOST_GBPS) for leaf in range(leaves) for n in range(1, each + 1)
    ]
    return (
        *hosts,
        *((f"leaf{leaf}", f"spine{s}", rate) for leaf in range(1, leaves + 1) for s in range(1, spines + 1)),
    )


def cases(program: Path) -> dict[str, Case]:
    """The scenarios, with their flow lists."""
    incast = [Flow("h17", "h18", 1_000, 80_000_000)]
    for burst in range(24):
        incast += [Flow(host, "h18", 500_000 + 4_000_000 * burst, 500_000) for host in names(1, 16)]
    return {
        "staggered": Case(
            "Sixteen flows of 4 MB over one link of 25 Gbps, one more each 200 us",
            (
                *((host, "left", HOST_GBPS) for host in names(1, 16)),
                *(("right", host, HOST_GBPS) for host in names(17, 32)),
                ("left", "right", HOST_GBPS),
            ),
            [Flow(f"h{n}", f"h{n + 16}", 1_000 + 200_000 * (n - 1), 4_000_000) for n in range(1, 17)],
            buffer_mib=8,
            duration_ms=60,
            longest=(25, 25, 25),
        ),
        "incast": Case(
            "Twenty-four bursts of sixteen flows of 500 kB to one host, and a flow of 80 MB to it",
            tuple((host, "tor", HOST_GBPS) for host in names(1, 18)),
            incast,
            buffer_mib=8,
            duration_ms=250,
            longest=(25, 25),
        ),
        "websearch": Case(
            "WebSearch at half load in four racks of four hosts, with one spine, so that every pair has one path",
            fabric(1, 4, 4, 100),
            arrivals(program, "WebSearch", names(1, 16), 500, 0.5, seed=1),
            buffer_mib=16,
            duration_ms=120,
            longest=(25, 100, 100, 25),
        ),
        "ecmp": Case(
            "Hadoop at half load in four racks of four hosts with two spines, to which flows are hashed",
            fabric(2, 4, 4, 50),
            arrivals(program, "FbHdp", names(1, 16), 2000, 0.5, seed=2),
            buffer_mib=16,
            duration_ms=60,
            longest=(25, 50, 50, 25),
        ),
    }


def written(name: str, case: Case) -> str:
    """A case as a scenario of farloop's."""
    ends = list(dict.fromkeys(end for a, b, _ in case.links for end in (a, b)))
    nodes = sorted(ends, key=lambda end: not end.startswith("h"))
    ports = [
        max(rate for a, b, rate in case.links if switch in (a, b)) for switch in nodes if not switch.startswith("h")
    ]
    headroom = round(max(ports) * DELAY_NS / 8 * 3) + 4096
    rtt_ns = 2 * DELAY_NS * len(case.longest) + sum(PAYLOAD * 8 // rate for rate in case.longest)
    lines = [
        f'title = "{case.title}"',
        'source = "Written by validation/hpcc-ns3/make.py --lists"',
        "",
        "[run]",
        f'duration = "{case.duration_ms}ms"',
        "",
        "[network]",
        'topology = "links"',
        "",
        "[hosts]",
        'order = "cycle" # RdmaEgressQueue::GetNextQindex',
        "",
        "[transport]",
        'kind = "rdma"',
        'mtu = "1034B" # 1000 B of payload, SeqTsHeader 6, UDP 8, IP 20',
        'header = "34B"',
        'framing = "14B" # its PppHeader has the size of an Ethernet header; neither preamble nor gap',
        'ack = "46B" # 60 B with framing',
        "control_priority = false # at switches ACKs wait with the data",
        'rto_intra = "10s" # it has no timeout',
        "",
        "[switch]",
        f'buffer = "{case.buffer_mib}MiB"',
        "pfc = true",
        "xoff_alpha = 0.125 # pfc_a_shift = 3 at ports as fast as hosts",
        f'xoff_alpha_rate = "{HOST_GBPS}Gbps" # one less at twice the rate (scratch/third.cc)',
        'hysteresis = "3kB"',
        f'headroom = "{headroom}B" # three one-way delays of its fastest port, and the 4 KiB that each port has to itself',
        'ecn_at = "departure"',
        'kmin = "100kB"',
        'kmax = "400kB"',
        "pmax = 0.2",
        f'ecn_rate = "{HOST_GBPS}Gbps"',
        "",
        "# Twice the propagation and once the transmission of the payload at each hop of the longest path (maxRtt, maxBdp).",
        "[algorithm.hpcc]",
        "max_stage = 0 # MI_THRESH of its scripts",
        "w_ai_fraction = 0.0004 # RATE_AI of its scripts, 10 Mbps",
        f'base_rtt = "{rtt_ns}ns"',
        "",
        "[algorithm.dctcp-rate]",
        f'window_cap_bytes = "{rtt_ns * HOST_GBPS // 8}B"',
        "",
        "[algorithm.timely]",
        'update = "rtt"',
        'hai = "any"',
        'min_rtt = "20us"',
        "max_decrease = 1.0",
        "",
        "[workload]",
        'pattern = "list"',
        f'flows = "{name}.csv"',
        "",
    ]
    for node in nodes:
        kind = "host" if node.startswith("h") else "switch"
        lines += ["[[node]]", f'name = "{node}"', f'kind = "{kind}"', "datacenter = 0", ""]
    for a, b, rate in case.links:
        lines += ["[[link]]", f'a = "{a}"', f'b = "{b}"', f'rate = "{rate}Gbps"', f'delay = "{DELAY_NS}ns"', ""]
    return "\n".join(lines)


def write_lists(program: Path) -> None:
    """Writes all scenarios and flow lists."""
    for name, case in cases(program).items():
        (REFERENCE / f"{name}.toml").write_text(written(name, case), "utf-8")
        rows = [f"{flow.source},{flow.target},{flow.start_ns}ns,{flow.size}B" for flow in case.flows]
        (REFERENCE / f"{name}.csv").write_text("\n".join(["from,to,start,size", *rows]) + "\n", "utf-8")


def document(results: dict[str, dict[str, Any]]) -> str:
    """The results as JSON, with the repetitions of a number on one line, in seven digits."""

    def table(rows: dict[str, str], depth: int) -> str:
        inner = ",\n".join(f'{" " * depth}"{key}": {value}' for key, value in rows.items())
        return f"{{\n{inner}\n{' ' * (depth - 1)}}}"

    return (
        table(
            {
                case: table(
                    {
                        name: table(
                            {key: json.dumps([float(f"{v:.7g}") for v in vs]) for key, vs in numbers.items()}, 3
                        )
                        for name, numbers in of_case.items()
                    },
                    2,
                )
                for case, of_case in results.items()
            },
            1,
        )
        + "\n"
    )


def main() -> None:
    """Runs what was asked for, and writes or completes results.json."""
    parser = argparse.ArgumentParser(description="Runs the HPCC paper's ns-3 on the reference's cases.")
    parser.add_argument("program", type=Path, help="its directory simulation/, built")
    parser.add_argument("--case", action="append", help="only this case, also several times")
    parser.add_argument(
        "--algorithm", action="append", choices=ALGORITHMS, help="only this algorithm, also several times"
    )
    parser.add_argument("--scratch", type=Path, default=Path("hpcc-ns3-runs"), help="where the program's files go")
    parser.add_argument("--out", type=Path, default=REFERENCE / "results.json", help="the file with the results")
    parser.add_argument("--lists", action="store_true", help="write scenarios and flow lists again, and run nothing")
    asked = parser.parse_args()
    program = asked.program.resolve()
    if asked.lists:
        write_lists(program)
        return
    results: dict[str, dict[str, Any]] = json.loads(asked.out.read_text("utf-8")) if asked.out.exists() else {}
    for scenario in sorted(REFERENCE.glob("*.toml")):
        if scenario.name == "reference.toml" or (asked.case and scenario.stem not in asked.case):
            continue
        net = network(scenario)
        for name in asked.algorithm or ALGORITHMS:
            runs = [
                simulate(program, net, ALGORITHMS[name], n, asked.scratch / f"{scenario.stem}-{name}-{n}")
                for n in range(REPETITIONS)
            ]
            common = [key for key in runs[0] if all(key in run for run in runs)]
            results.setdefault(scenario.stem, {})[name] = {key: [run[key] for run in runs] for key in common}
            asked.out.write_text(document(results), "utf-8")


if __name__ == "__main__":
    main()

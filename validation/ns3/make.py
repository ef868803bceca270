"""Makes the reference of ns-3 again: results.json of python/farloop/studies/validation/references/ns3.

    python -m venv ns3 && ns3/bin/pip install ns3==3.44.post0
    python validation/ns3/make.py ns3                      # all cases; needs g++
    python validation/ns3/make.py ns3 --case dumbbell --algorithm cubic

The argument is the virtual environment. driver.cc is compiled against the headers and libraries of its ns3 package, and simulates
what the scenarios of the reference say: nodes, links, queues, flows. farloop is not needed. `--flows` draws the flow lists
again, with a fixed seed; that needs numpy.

What ns-3 is set to is in COMMON, and in ATTRIBUTES for each algorithm; the rest are its defaults.

- Connections are opened before the flows start, one each millisecond in the first seconds, in the empty network. A flow's
  time is from its start to the arrival of its last byte at the receiver.
- Point-to-point links add 2 B (PPP) to a packet. The device's queue is the only one, drop-tail, in packets, without the packet on the
  transmitter. Where a scenario has ECN, RED with both thresholds at K marks: it stands over a device that takes one packet
  more, so that a packet is marked if K + 1 wait.
- Every packet is acknowledged. Timestamps are off: ns-3 counts them in milliseconds, and would measure round-trip times so.
- TcpClassicRecovery with SACK is RFC 6675: the window is the threshold during recovery. (ns-3's PRR counts each
  duplicate ACK twice.)
- RttMeanDeviation has a gain of 1: ns-3 hands its algorithms the smoothed round-trip time, where their papers have the newest
  one, and so it is that. Timeouts are at their minimum of 200 ms either way.
- A flow alone is simulated once: nothing varies. Otherwise variation k > 0 has every flow start later by a random time below a
  packet's at the host's link.
- TcpLedbat is left out: outside slow start it never grows. It bounds the window by the flight after an ACK, RFC 6817 by that before.
"""

import argparse
import csv
import json
import random
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parent.parent / "python" / "farloop" / "studies" / "validation" / "references" / "ns3"
VARIATIONS = 3

COMMON = {
    "ns3::TcpL4Protocol::RecoveryType": "ns3::TcpClassicRecovery",
    "ns3::TcpSocket::InitialCwnd": "10",
    "ns3::TcpSocket::SndBufSize": "4000000",
    "ns3::TcpSocket::RcvBufSize": "500000000",
    "ns3::TcpSocket::DelAckCount": "1",
    "ns3::TcpSocketBase::MinRto": "200ms",
    "ns3::TcpSocketBase::ClockGranularity": "1us",
    "ns3::TcpSocketBase::Timestamp": "false",
    "ns3::RttMeanDeviation::Alpha": "1",
}
ATTRIBUTES: dict[str, dict[str, str]] = {
    "TcpCubic": {"ns3::TcpCubic::HyStart": "false"},
    "TcpBbr": {"ns3::TcpBbr::RttWindowLength": "1000s"},
    "TcpHybla": {"ns3::TcpHybla::RRTT": "25ms"},
    "TcpScalable": {"ns3::TcpScalable::AIFactor": "100"},
}
"""What an algorithm sets besides, by ns-3's name of it."""

WARM_UP = 3.0
"""Seconds before the first start, in which connections are opened."""

WEB_SEARCH = [
    (0, 0.0),
    (10_000, 0.15),
    (20_000, 0.2),
    (30_000, 0.3),
    (50_000, 0.4),
    (80_000, 0.53),
    (200_000, 0.6),
    (1_000_000, 0.7),
    (2_000_000, 0.8),
    (5_000_000, 0.9),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
]
"""Alizadeh et al. (DCTCP), SIGCOMM 2010; farloop's "websearch"."""


def main() -> None:
    """Reads the command line; runs what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("venv", type=Path, nargs="?", help="virtual environment with the package ns3")
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument("--algorithm", action="append", help="only this algorithm of farloop; may be repeated")
    parser.add_argument(
        "--set", action="append", default=[], metavar="ATTRIBUTE=VALUE", help="ns-3 attribute, to try it"
    )
    parser.add_argument("--print", action="store_true", help="print results; results.json stays as it is")
    parser.add_argument("--flows", action="store_true", help="draw the flow lists again")
    arguments = parser.parse_args()
    if arguments.flows:
        draw_flows()
        return
    if arguments.venv is None:
        parser.error("the virtual environment is missing")
    driver = compiled(arguments.venv)
    reference = tomllib.loads((REFERENCE / "reference.toml").read_text(encoding="utf-8"))
    path = REFERENCE / "results.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    extra = dict(item.split("=", 1) for item in arguments.set)
    for case in reference["case"]:
        if arguments.case and case["name"] not in arguments.case:
            continue
        for run in case["run"]:
            if arguments.algorithm and run["algorithm"] not in arguments.algorithm:
                continue
            values = measured(driver, case, run["reference"], extra)
            say(f"{case['name']} {run['algorithm']} {values if arguments.print else ''}")
            if not arguments.print:
                results.setdefault(case["name"], {})[run["algorithm"]] = values
                path.write_text(written(results), encoding="utf-8")


def compiled(venv: Path) -> Path:
    """The driver, compiled against the ns3 package of a virtual environment, beside which it is put."""
    (package,) = venv.glob("lib/python3*/site-packages/ns3")
    program = venv / "farloop-ns3-driver"
    source = HERE / "driver.cc"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    (core,) = package.glob("lib64/libns3*-core.so")
    stem = core.name.removeprefix("lib").removesuffix("core.so")
    modules = ("core", "network", "internet", "point-to-point", "traffic-control", "stats")
    libraries = package.resolve() / "lib64"
    command = ["g++", "-std=c++20", "-O2", f"-I{package / 'include'}", str(source), "-o", str(program)]
    command += [f"-L{libraries}", f"-Wl,-rpath,{libraries}", *(f"-l{stem}{module}" for module in modules)]
    subprocess.run(command, check=True)
    return program


def measured(driver: Path, case: dict[str, Any], algorithm: str, extra: dict[str, str]) -> dict[str, list[float]]:
    """All metrics of a case, one value for each variation."""
    by_metric: dict[str, list[float]] = {}
    scenario = tomllib.loads((REFERENCE / case["scenario"]).read_text(encoding="utf-8"))
    alone = len(flows(scenario, REFERENCE / case["scenario"])) == 1
    for variation in range(1 if alone else VARIATIONS):
        text = statements(REFERENCE / case["scenario"], algorithm, case.get("since"), variation, extra)
        output = subprocess.run([str(driver)], input=text, capture_output=True, text=True, check=True).stdout
        values = {name: float(value) for name, value in (line.split() for line in output.splitlines())}
        for name, value in metrics(values, text).items():
            by_metric.setdefault(name, []).append(value)
    return by_metric


def statements(path: Path, algorithm: str, since: str | None, variation: int, extra: dict[str, str]) -> str:
    """What the driver is to simulate, by a scenario of farloop."""
    scenario = tomllib.loads(path.read_text(encoding="utf-8"))
    nodes, links = network(scenario["network"], scenario.get("node", []), scenario.get("link", []))
    number = {name: index for index, name in enumerate(nodes)}
    switch = scenario["switch"]
    transport = scenario["transport"]
    mark = threshold(scenario, transport) if switch.get("ecn") else 0
    settings = COMMON | ATTRIBUTES.get(algorithm, {}) | extra
    payload = size(transport["mtu"]) - size(transport["header"])
    settings["ns3::TcpSocket::SegmentSize"] = str(payload)
    lines = [f"set {name} {value}" for name, value in settings.items()]
    lines.append(f"names {' '.join(nodes)}")
    lines.append(f"network {len(nodes)} {WARM_UP} {seconds(since) if since else 0.0} {payload}")
    for a, b, rate, delay in links:
        to_host = is_host(a, nodes) or is_host(b, nodes)
        limit = 1_000_000 if to_host else switch["queue_limit_packets"]
        lines.append(f"link {number[a]} {number[b]} {rate} {delay} {limit} {0 if to_host else mark}")
    for port in scenario["record"]["ports"]:
        a, b = port.split("->")
        lines.append(f"watch {number[a]} {number[b]}")
    rates = {a: rate for a, b, rate, _ in links}
    draw = random.Random(variation)
    for flow in flows(scenario, path):
        packet = 8 * (size(transport["mtu"]) + size(transport["framing"])) / bits(rates[flow["from"]])
        start = seconds(flow.get("start") or "0s") + (draw.random() * packet if variation else 0.0)
        bytes_ = size(flow["size"]) if flow.get("size") else 0
        ends = f"{number[flow['from']]} {number[flow['to']]}"
        lines.append(f"flow {ends} {bytes_} {start:.12f} {algorithm} {flow.get('name', '-')}")
    lines.append(f"run {seconds(scenario['run']['duration'])}")
    return "\n".join(lines) + "\n"


def threshold(scenario: dict[str, Any], transport: dict[str, Any]) -> int:
    """K of RED, in packets: farloop marks a packet that finds more than kmin waiting, one of them in ns-3's device."""
    packets, rest = divmod(size(scenario["switch"]["kmin"]), size(transport["mtu"]) + size(transport["framing"]))
    if rest:
        sys.exit("kmin is no number of full packets")
    return packets


def is_host(name: str, nodes: dict[str, str]) -> bool:
    """Whether a node is a host."""
    return nodes[name] == "host"


def network(
    keys: dict[str, Any], nodes: list[dict[str, Any]], links: list[dict[str, Any]]
) -> tuple[dict[str, str], list[tuple[str, str, str, str]]]:
    """Nodes with their kinds, and links with rate and delay."""
    if keys["topology"] == "links":
        kinds = {node["name"]: node.get("kind", "host") for node in nodes}
        return kinds, [(link["a"], link["b"], link["rate"], link["delay"]) for link in links]
    delay = keys["link_delay"]
    kinds = {}
    edges = []
    for i in range(1, keys["intra_pairs"] + 1):
        kinds |= {f"s{i}": "host", f"d{i}": "host"}
        edges += [(f"s{i}", "left", keys["rate"], delay), (f"d{i}", "right", keys["rate"], delay)]
    edges.append(("left", "right", keys["bottleneck_rate"], delay))
    return kinds | {"left": "switch", "right": "switch"}, edges


def flows(scenario: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """All flows, in farloop's order."""
    listed = list(scenario.get("flow", []))
    if "workload" in scenario:
        with (path.parent / scenario["workload"]["flows"]).open(encoding="utf-8", newline="") as file:
            listed += list(csv.DictReader(file))
    return listed


def metrics(values: dict[str, float], text: str) -> dict[str, float]:
    """The metrics of farloop from what the driver printed."""
    lines = [line.split() for line in text.splitlines()]
    scenario_flows = [line for line in lines if line[0] == "flow"]
    sizes = [int(line[3]) for line in scenario_flows]
    times = [values[f"fct:{i}"] for i in range(len(sizes))]
    finished = sorted(time for time, size_ in zip(times, sizes, strict=True) if size_ and time >= 0)
    result = {}
    if finished:
        result["fct_mean"] = sum(finished) / len(finished)
        result |= {f"fct_p{percent}": quantile(finished, percent / 100) for percent in (50, 90, 99)}
        result["unfinished"] = sum(1 for time in times if time < 0)
    else:
        rates = [values[f"throughput:{i}"] for i in range(len(sizes))]
        names = [line[6] for line in scenario_flows]
        result |= {f"throughput:{name}": rate for name, rate in zip(names, rates, strict=True)}
        if len(rates) > 1:
            result |= {f"share:{name}": rate / sum(rates) for name, rate in zip(names, rates, strict=True)}
            result["jain"] = sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))
        result |= {f"cwnd_mean:{name}": values[f"cwnd_mean:{i}"] for i, name in enumerate(names)}
    nodes = next(line[1:] for line in lines if line[0] == "names")
    # A flow alone loses a dozen packets, too few to compare, and its longest queue is that of its slow start.
    wanted = ("queue_mean", "queue_max", "drops") if finished else ("queue_mean",)
    for name, value in values.items():
        kind, _, port = name.partition(":")
        if kind in wanted:
            result[f"{kind}:{'->'.join(nodes[int(end)] for end in port.split('->'))}"] = value
    return result | {"wall_s": values["wall_s"], "packet_hops": values["packet_hops"]}


def quantile(ordered: list[float], q: float) -> float:
    """numpy.quantile's "linear"."""
    position = q * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def seconds(text: str) -> float:
    """A time with its unit."""
    return amount(text, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0})


def size(text: str) -> int:
    """A size with its unit, in bytes."""
    return round(amount(text, {"kB": 1e3, "MB": 1e6, "GB": 1e9, "B": 1.0}))


def bits(text: str) -> float:
    """A rate with its unit, in bits per second."""
    return amount(text, {"kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9})


def amount(text: str, units: dict[str, float]) -> float:
    """A number with one of these units."""
    for unit, factor in units.items():
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise ValueError(text)


def written(results: dict[str, Any]) -> str:
    """JSON with a line for each metric, in six digits."""
    short = json.loads(json.dumps(results), parse_float=lambda text: float(f"{float(text):.6g}"))
    text = "{\n"
    for number, (case, runs) in enumerate(short.items()):
        text += "" if number == 0 else ",\n"
        text += f"  {json.dumps(case)}: {{\n"
        for position, (algorithm, metrics) in enumerate(runs.items()):
            rows = ",\n".join(f"      {json.dumps(name)}: {json.dumps(values)}" for name, values in metrics.items())
            text += ("" if position == 0 else ",\n") + f"    {json.dumps(algorithm)}: {{\n{rows}\n    }}"
        text += "\n  }"
    return text + "\n}\n"


def draw_flows() -> None:
    """500 flows with a sixteenth of WebSearch's sizes between pairs of hosts, at random times: 40 % of 50 Mbps."""
    import numpy as np

    random_ = np.random.default_rng(23)
    count = 500
    sizes_at, probabilities = zip(*WEB_SEARCH, strict=True)
    sizes = np.maximum(1, np.interp(random_.random(count), probabilities, sizes_at) / 16).astype(int)
    gap = sizes.mean() * 8 / (0.4 * 50e6)
    starts = np.cumsum(random_.exponential(gap, count))
    pairs = random_.integers(1, 17, count)
    with (REFERENCE / "dumbbell.csv").open("w", encoding="utf-8", newline="\n") as file:
        file.write("from,to,start,size\n")
        for pair, start, size_ in zip(pairs, starts, sizes, strict=True):
            file.write(f"s{pair},d{pair},{round(start * 1e6)}us,{size_}B\n")
    say(f"mean size {sizes.mean():.0f} B, {starts[-1]:.1f} s")


def say(text: str) -> None:
    """Writes a line to standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

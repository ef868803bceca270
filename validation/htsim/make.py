"""Makes the numbers of the references "htsim" and "htsim-changed" again: completion times that csg-htsim gives for the cases' flow lists.

    python validation/htsim/make.py DRIVER

DRIVER is the program of `driver.cpp`, beside this file, which a user has compiled and linked with csg-htsim's library (here g++ 12 with
-O3). It runs a flow list through htsim's transports. This script runs each case three times, with starts moved by less than a packet's
time, and writes `results.json`. It says what htsim has to be told; what farloop has to be told is in the scenarios and in `reference.toml`.

`--case CASE` runs one case. Those of "htsim-changed" need a driver whose htsim has other rules, which its `reference.toml` names in
words; they run only where they are named. `--flows` draws the flow lists again (fixed seeds; WebSearch sizes of DCTCP, SIGCOMM 2010, in
whole packets: htsim sends no others).
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = ROOT / "python" / "farloop" / "studies" / "validation" / "references"
PUBLISHED, CHANGED = "htsim", "htsim-changed"

REPETITIONS = 3
PACKET = 1500
"""Bytes of a packet on the wire (TCP, Swift), or of its payload (HPCC, RoCE, which add 64): htsim knows no other sizes."""

SHIFT = 1.2e-6
"""Starts of a repetition move by less than this: what a packet takes at 10 Gbps."""

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

WEBSEARCH = (
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
)
"""Sizes of the web search cluster in bytes with their cumulative probability (Alizadeh et al., DCTCP, SIGCOMM 2010)."""

WEBSEARCH_MEAN = 1.71125e6


@dataclass(frozen=True)
class Run:
    """What the driver is told for one algorithm of a case.

    Attributes:
        settings: The driver's settings; `struct Settings` in driver.cpp has their units.
    """

    settings: dict[str, str | int | float]


@dataclass(frozen=True)
class Case:
    """A flow list and a network.

    Attributes:
        flows: The list's file in the reference's directory.
        network: The driver's settings of the network.
        runs: By farloop's name of the algorithm.
        reference: Which of the two it belongs to.
    """

    flows: str
    network: dict[str, str | int | float]
    runs: dict[str, Run]
    reference: str = PUBLISHED


DUMBBELL: dict[str, str | int | float] = {
    "topology": "dumbbell",
    "hosts": 8,
    "rate": 40_000_000_000,
    "delay": 5_000_000,
}
INCAST: dict[str, str | int | float] = {"topology": "dumbbell", "hosts": 60, "delay": 5_000_000}
TREE: dict[str, str | int | float] = {"topology": "tree", "leaves": 4, "hosts": 4, "delay": 2_000_000}

SWIFT = Run({"algorithm": "swift"})
DCTCP = Run({"algorithm": "dctcp", "mark": 45_000})
HPCC = Run({"algorithm": "hpcc", "base_rtt": 31_954_000, "w_ai": 80, "xoff": 100_000_000, "xon": 99_000_000})
ROCE = Run({"algorithm": "roce", "xoff": 100_000, "xon": 97_000})
TCP = Run({"algorithm": "tcp", "buffer": 600_000})

CASES = {
    "dumbbell": Case("dumbbell.csv", DUMBBELL, {"swift": SWIFT, "dctcp": DCTCP}),
    "incast": Case("incast.csv", INCAST, {"swift": SWIFT}),
    "tree": Case("tree.csv", TREE, {"swift": SWIFT}),
    "lossless": Case("dumbbell.csv", DUMBBELL, {"fixed": ROCE}),
    "drop-tail": Case("dumbbell.csv", DUMBBELL, {"reno": TCP}),
    "dumbbell-rfc8257": Case("dumbbell.csv", DUMBBELL, {"dctcp": DCTCP}, CHANGED),
    "telemetry": Case("dumbbell.csv", DUMBBELL, {"hpcc": HPCC}, CHANGED),
    "lossless-tree": Case("tree.csv", TREE, {"fixed": ROCE}, CHANGED),
}


def seconds(text: str) -> float:
    """The value of a time with its unit."""
    unit = next(unit for unit in ("ns", "us", "ms", "s") if text.endswith(unit))
    return float(text.removesuffix(unit)) * UNITS[unit]


def flow_lines(path: Path, repetition: int) -> str:
    """The flow list as the driver reads it, with starts moved in all repetitions but the first."""
    random = np.random.default_rng(repetition)
    lines = []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            shift = random.uniform(0, SHIFT) if repetition else 0.0
            start = round((seconds(row["start"]) + shift) * 1e12)
            lines.append(f"{row['name']} {row['from']} {row['to']} {start} {row['size'].removesuffix('B')}")
    return "\n".join(lines) + "\n"


def once(program: Path, case: Case, run: Run, repetition: int) -> dict[str, float]:
    """The metrics of one run."""
    settings = {**case.network, "packet": PACKET, **run.settings}
    done = subprocess.run(
        [str(program), *(f"{key}={value}" for key, value in settings.items())],
        input=flow_lines(REFERENCES / case.reference / case.flows, repetition),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{settings['algorithm']} ended with {done.returncode}: {done.stderr.strip()}")
    lines = [line.split() for line in done.stdout.splitlines()]
    times = np.array([float(line[2]) for line in lines if line[0] == "flow"])
    said = dict(pair.split("=") for line in lines if line[0] == "run" for pair in line[1:])
    quantiles = {f"fct_p{percent}": float(np.quantile(times, percent / 100)) for percent in (50, 90, 99)}
    return {
        "fct_mean": float(times.mean()),
        **quantiles,
        "unfinished": float(said["unfinished"]),
        "wall_s": float(said["wall_s"]),
        "packet_hops": float(said["packet_hops"]),
        "memory_bytes": float(said["memory_bytes"]),
    }


def measure(program: Path, case: Case, run: Run) -> dict[str, list[float]]:
    """The metrics of all repetitions."""
    runs = [once(program, case, run, repetition) for repetition in range(REPETITIONS)]
    return {metric: [float(f"{run_values[metric]:.7g}") for run_values in runs] for metric in runs[0]}


def write_flows(name: str, rows: list[tuple[str, str, int, int]]) -> None:
    """Writes a flow list: source, destination, start in ns, size in bytes."""
    lines = ["name,from,to,start,size"]
    lines += [f"f{i},{source},{sink},{start}ns,{size}B" for i, (source, sink, start, size) in enumerate(rows, 1)]
    for reference in (PUBLISHED, CHANGED):
        if any(case.flows == name and case.reference == reference for case in CASES.values()):
            (REFERENCES / reference / name).write_text("\n".join(lines) + "\n")


def draw(random: np.random.Generator, count: int, gap: float) -> tuple[list[int], list[int]]:
    """Sizes in bytes, whole packets, and starts in ns at exponential gaps of this mean (s)."""
    bounds, shares = zip(*WEBSEARCH, strict=True)
    sizes = np.ceil(np.interp(random.uniform(size=count), shares, bounds) / PACKET).clip(1) * PACKET
    starts = np.cumsum(random.exponential(gap, count)) * 1e9
    return sizes.astype(int).tolist(), starts.astype(int).tolist()


def make_flows() -> None:
    """Draws the flow lists of all cases."""
    per_second = 10e9 / 8 / WEBSEARCH_MEAN
    random = np.random.default_rng(23)
    sizes, starts = draw(random, 1000, 1 / (0.5 * per_second))
    ends = random.integers(1, 9, (1000, 2)).tolist()
    write_flows("dumbbell.csv", [(f"s{a}", f"d{b}", t, s) for (a, b), t, s in zip(ends, starts, sizes, strict=True)])
    random = np.random.default_rng(24)
    sizes, starts = draw(random, 400, 1 / (8 * 0.4 * per_second))
    senders, receivers = (
        [f"h{i}" for i in range(1, 17) if i % 4 in (1, 2)],
        [f"h{i}" for i in range(1, 17) if i % 4 in (3, 0)],
    )
    pairs = random.integers(0, 8, (400, 2)).tolist()
    write_flows(
        "tree.csv", [(senders[a], receivers[b], t, s) for (a, b), t, s in zip(pairs, starts, sizes, strict=True)]
    )
    random = np.random.default_rng(25)
    rounds = [
        (f"s{i}", "d1", 10_000_000 * k + int(random.integers(0, 20_000)), 120_000)
        for k in range(6)
        for i in range(1, 61)
    ]
    write_flows("incast.csv", rounds)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description="Make the references htsim and htsim-changed again.")
    parser.add_argument("driver", type=Path, help="driver.cpp, compiled and linked with csg-htsim's library")
    parser.add_argument("--case", choices=sorted(CASES), help="one case")
    parser.add_argument("--flows", action="store_true", help="draw the flow lists again")
    arguments = parser.parse_args()
    if arguments.flows:
        make_flows()
    for name, case in CASES.items():
        if arguments.case not in (None, name) or (arguments.case is None and case.reference == CHANGED):
            continue
        kept = REFERENCES / case.reference / "results.json"
        results = json.loads(kept.read_text()) if kept.is_file() else {}
        results[name] = {algorithm: measure(arguments.driver, case, run) for algorithm, run in case.runs.items()}
        kept.write_text(json.dumps(results, indent=1) + "\n")
        sys.stdout.write(f"{name} {json.dumps(results[name])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

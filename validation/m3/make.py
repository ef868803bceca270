"""Makes `results.json`: the fluid gear on the public runs of m3, beside farloop's packets and the ns-3 of the HPCC paper.

Li et al., "m3: Accurate Flow-Level Performance Estimation using Machine Learning", SIGCOMM 2024, publish 100 runs of that ns-3 on a path of
two links (github.com/netiken/m3, directory `data`): 24,700 flows under DCTCP, DCQCN and TIMELY with windows, and HPCC. Each run has
settings of its own. Their files are not here:

    git clone https://github.com/netiken/m3
    python validation/m3/make.py m3/data

Without a directory it says so and ends with code 0. docs/fluid.md has the table.

The path: host 0, a switch, and host 2 with links of 10 Gbps; host 1 stands for what joins and leaves between them, and its link never
limits. Here each of its flows has a host of its own, of 10 Gbps, so that none waits for another; the first packet's time on that link is
taken from its propagation. That the network is this one follows from the completion times of the empty network, which are in the files:
`ideal` of
results.json is farloop's largest difference from them, in percent; runs of HPCC, whose packets carry telemetry, have none.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import farloop
from farloop.results.flow_completion import column

RESULTS = Path(__file__).parent / "results.json"
ALGORITHMS = {"1": "dcqcn", "3": "hpcc", "7": "timely", "8": "dctcp-rate"}
"""By CC_MODE of the program."""

PAYLOAD, HEADER = 1000, 48
"""Of a full packet, in bytes."""
TELEMETRY = 42
"""Bytes of the program's IntHeader under HPCC: five hops of 8 B, and a count. Its completion times of the empty network leave them out."""

RULES: dict[str, dict[str, Any]] = {
    "packets": {},
    "fluid": {"run.gear": "fluid", "run.fluid_error": False, "transport.control_priority": True},
    "max-min": {"run.gear": "max-min", "transport.control_priority": True},
}
"""By gear. Rates know no ACKs that wait with data; here they meet none on their way back."""


def main() -> None:
    """Runs what the directory has, and writes the errors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("data", nargs="?", type=Path, help="The directory data of a checkout of netiken/m3.")
    parser.add_argument("--runs", type=int, default=0, help="Only so many (default: all); results.json stays.")
    wanted = parser.parse_args()
    if wanted.data is None or not wanted.data.is_dir():
        sys.stderr.write("no data: git clone https://github.com/netiken/m3, and name its directory data\n")
        return
    rows: list[dict[str, Any]] = []
    folders = sorted(folder for folder in wanted.data.iterdir() if folder.name.startswith("shard"))
    for number, folder in enumerate(folders[: wanted.runs or None]):
        rows.append(measure(folder))
        sys.stderr.write(f"\r{number + 1} of {len(folders)}")
    sys.stderr.write("\n")
    results = summarise(rows)
    sys.stdout.write(json.dumps(results, indent=1) + "\n")
    if not wanted.runs:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def read_config(folder: Path) -> dict[str, list[str]]:
    """The settings of a run of the program."""
    (file,) = folder.glob("config_*.txt")
    words = [line.split() for line in file.read_text("utf-8").splitlines()]
    return {own[0]: own[1:] for own in words if own}


def algorithm_settings(config: dict[str, list[str]]) -> dict[str, Any]:
    """The algorithm's section of the scenario for the settings of a run."""
    name = ALGORITHMS[config["CC_MODE"][0]]
    window = config["FIXED_WIN"][0] + "B"
    rate = {key: config[key][0].replace("Mb/s", "Mbps") for key in ("RATE_AI", "RATE_HAI", "MIN_RATE", "DCTCP_RATE_AI")}
    capped = {"window_cap": True, "window_cap_bytes": window, "window_cap_scaling": "rate"}
    own: dict[str, Any]
    if name == "dcqcn":
        own = capped | {
            "alpha_interval": config["ALPHA_RESUME_INTERVAL"][0] + "us",
            "cnp_interval": config["RATE_DECREASE_INTERVAL"][0] + "us",
            "increase_interval": config["RP_TIMER"][0] + "us",
            "g": float(config["EWMA_GAIN"][0]),
            "fast_recovery": int(config["FAST_RECOVERY_TIMES"][0]),
            "ai": rate["RATE_AI"],
            "hai": rate["RATE_HAI"],
            "min_rate": rate["MIN_RATE"],
        }
    elif name == "timely":
        own = capped | {
            "update": "rtt",
            "hai": "any",
            "min_rtt": "20us",
            "max_decrease": 1.0,
            "delta": rate["RATE_AI"],
            "t_high": config["TIMELY_T_HIGH"][0] + "ns",
            "t_low": config["TIMELY_T_LOW"][0] + "ns",
            "beta": float(config["TIMELY_BETA"][0]),
            "min_rate": rate["MIN_RATE"],
        }
    elif name == "dctcp-rate":
        own = {
            "g": float(config["EWMA_GAIN"][0]),
            "increase_rate": rate["DCTCP_RATE_AI"],
            "window_cap_bytes": window,
            "min_rate": rate["MIN_RATE"],
        }
    else:
        per_base_rtt = float(config["RATE_AI"][0].removesuffix("Mb/s")) * 1e6 * float(config["BASE_RTT"][0]) * 1e-9 / 8
        own = {
            "eta": float(config["U_TARGET"][0]),
            "max_stage": int(config["MI_THRESH"][0]),
            "w_ai": f"{round(per_base_rtt)}B",
            "base_rtt": config["BASE_RTT"][0] + "ns",
            "min_rate": rate["MIN_RATE"],
        }
    return {"name": name, name: own}


def scenario(folder: Path) -> dict[str, Any]:
    """A run of the program as a scenario."""
    config = read_config(folder)
    starts, sizes, ends = (np.load(folder / f"{name}.npy") for name in ("fat", "fsize", "fsd"))
    first = int(starts[0]) - 1000
    kmin, kmax = (config[name][2] + "kB" for name in ("KMIN_MAP", "KMAX_MAP"))
    delays, flows = {"h0": "1us", "h2": "1us"}, []
    for number, (start, size, pair) in enumerate(zip(starts, sizes, ends.tolist(), strict=True)):
        own = f"h1-{number}"
        if 1 in pair:
            delays[own] = f"{1000 - 0.8 * (min(int(size), PAYLOAD) + HEADER):.1f}ns"
        names = [own if end == 1 else f"h{end}" for end in pair]
        flows.append({"from": names[0], "to": names[1], "size": f"{size}B", "start": f"{int(start) - first}ns"})
    return {
        "title": folder.name,
        "run": {"duration": "4s"},
        "network": {"topology": "links"},
        "node": [{"name": name, "kind": "host", "datacenter": 0} for name in delays]
        + [{"name": "s", "kind": "switch", "datacenter": 0}],
        "link": [{"a": name, "b": "s", "rate": "10Gbps", "delay": delay} for name, delay in delays.items()],
        "hosts": {"order": "cycle"},
        "transport": {
            "kind": "rdma",
            "mtu": "1034B",
            "header": "34B",
            "framing": "14B",
            "ack": "46B",
            "control_priority": config["ACK_HIGH_PRIO"][0] == "1",
            "rto_intra": "10s",
            "int_bytes": f"{TELEMETRY}B",
        },
        "switch": {
            "buffer": config["BUFFER_SIZE"][0] + "MB",
            "pfc": config["ENABLE_PFC"][0] == "1",
            "ecn_at": "departure",
            "kmin": kmin,
            "kmax": kmax,
            "pmax": float(config["PMAX_MAP"][2]),
        },
        "algorithm": algorithm_settings(config),
        "flow": flows,
        "record": {"ports": "none"},
    }


def measure(folder: Path) -> dict[str, Any]:
    """Completion times of a run in nanoseconds: the program's, its empty network's, and farloop's by gear."""
    run = scenario(folder)
    own: dict[str, Any] = {"algorithm": run["algorithm"]["name"]}
    (order,), (times,), (ideals,) = (
        [np.load(file) for file in folder.glob(pattern)] for pattern in ("fid_*.npy", "fct_topo*.npy", "fct_i_*.npy")
    )
    own["ns-3"], own["ideal"] = times.astype(float), ideals.astype(float)
    for gear, settings in RULES.items():
        flows = farloop.run(run, set=settings, threads=1).flows
        own[gear] = ((column(flows, "received_ps") - column(flows, "start_ps")) / 1e3)[order]
        own["own ideal"] = (column(flows, "ideal_fct_ps") / 1e3)[order]
    return own


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Errors in percent, by what is held to what, and by algorithm."""
    compared = (
        ("fluid", "packets"),
        ("max-min", "packets"),
        ("packets", "ns-3"),
        ("fluid", "ns-3"),
        ("max-min", "ns-3"),
    )
    groups = {"all": rows} | {
        name: [row for row in rows if row["algorithm"] == name] for name in sorted({row["algorithm"] for row in rows})
    }
    plain = [row for row in rows if row["algorithm"] != "hpcc"]
    apart = max(float(np.max(np.abs(row["own ideal"] / row["ideal"] - 1))) for row in plain)
    table = {
        group: {f"{own} against {other}": errors(of, own, other) for own, other in compared}
        for group, of in groups.items()
    }
    return {
        "runs": len(rows),
        "flows": sum(len(row["ns-3"]) for row in rows),
        "ideal": round(apart * 100, 3),
        "errors": table,
    }


def errors(rows: list[dict[str, Any]], own: str, other: str) -> dict[str, float]:
    """Of completion times the mean, median and 90th percentile; of runs' 99th percentile of the slowdown the mean error."""
    times, true = (np.concatenate([row[name] for row in rows]) for name in (own, other))
    apart = np.abs(times / true - 1)
    p99 = [
        abs(np.quantile(row[own] / row["ideal"], 0.99) / np.quantile(row[other] / row["ideal"], 0.99) - 1)
        for row in rows
    ]
    numbers = {"mean": np.mean(apart), "median": np.median(apart), "p90": np.quantile(apart, 0.9), "p99": np.mean(p99)}
    return {name: round(float(value) * 100, 2) for name, value in numbers.items()}


if __name__ == "__main__":
    main()

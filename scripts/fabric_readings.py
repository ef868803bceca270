"""Other readings of Gear's fabric (gear/fabric): ratio, pauses and slowdowns, a line each of docs/findings/gear.md.

    .venv/bin/python scripts/fabric_readings.py "one pool" gear,hpcc
    .venv/bin/python scripts/fabric_readings.py "HPCC's T the largest RTT" gear,hpcc 20ms

One run simulates 80 ms and takes half a minute to two; a third argument gives another duration. Up to 50 ms no flow is old enough for
a ratio or a slowdown.
"""

import sys
from pathlib import Path

import farloop
from farloop.judging.traffic import AGE, Flows, offered_load, paused_time, slowdown_statistics

SCENARIO = Path(__file__).parents[1] / "papers" / "gear" / "fabric.toml"
COMMON = {"run.duration": "80ms", "record.interval": "none"}
READINGS = {
    "as adopted": {},
    "agents everywhere": {"algorithm.agents": "all"},
    "one pool": {"switch.xoff": "none"},
    "one pool, agents everywhere": {"switch.xoff": "none", "algorithm.agents": "all"},
    "100 Gbps long haul": {"network.wan_rate": "100Gbps"},
    "three entries": {"transport.int_carriage": "three"},
    "cross window": {"algorithm.gear.cross_window_limit": "true"},
    # One N for the paper, in Gear and HPCC alike (docs/findings/gear.md, "Rules").
    "W_AI 0.3 %": {"algorithm.gear.w_ai_fraction": "0.003", "algorithm.hpcc.w_ai_fraction": "0.003"},
    "W_AI 0.5 %": {"algorithm.gear.w_ai_fraction": "0.005", "algorithm.hpcc.w_ai_fraction": "0.005"},
    "W_AI 2 %": {"algorithm.gear.w_ai_fraction": "0.02", "algorithm.hpcc.w_ai_fraction": "0.02"},
    # Algorithm 1, line 11, as printed.
    "steps II and III always": {"algorithm.gear.step_threshold": "0.01"},
    # DCTCP as in HPCC's published simulator: a rate for its state, paced, its window in proportion.
    "DCTCP of HPCC's simulator": {
        "algorithm.dctcp.control": "rate",
        "algorithm.dctcp.window_cap": "true",
        "algorithm.dctcp.window_cap_scaling": "rate",
    },
    # HPCC's published scripts set MI_THRESH 0; Gear's maxStage is HPCC's.
    "max_stage 0": {"algorithm.gear.max_stage": "0", "algorithm.hpcc.max_stage": "0"},
    # HPCC's published scripts set GLOBAL_T 1: T is the largest base RTT of all pairs, here of a pair across (flows.parquet, base_rtt_ps).
    "HPCC's T the largest RTT": {"algorithm.hpcc.base_rtt": "50.028ms"},
    "marks on departure": {"switch.ecn_at": "departure"},
    "load 20 %": {"workload.intra.load": "0.1667", "workload.cross.load": "0.0333"},
    "load 15 %": {"workload.intra.load": "0.125", "workload.cross.load": "0.025"},
}


def main() -> None:
    """Runs a reading under the given algorithms and prints its measurements; of slowdowns average, 95th and 99th percentile."""
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in READINGS:
        sys.exit(f"usage: fabric_readings.py READING ALGORITHM,... [DURATION]; readings: {', '.join(READINGS)}")
    duration = {"run.duration": sys.argv[3]} if len(sys.argv) == 4 else {}
    first = None
    for algorithm in sys.argv[2].split(","):
        run = farloop.run(SCENARIO, algorithm=algorithm, set=COMMON | READINGS[sys.argv[1]] | duration)
        first = paused_time(run) if first is None else first
        flows = Flows.from_run(run)
        readings = [
            f"paused {paused_time(run) * 1e3:.2f} ms"
            + (f" ({paused_time(run) / first:.2f} of the first)" if first else "")
        ]
        readings += [f"carried {flows.throughput() / 1e9:.0f} Gbps"]
        if run.duration > AGE:
            readings.insert(0, f"ratio {flows.normalised_ratio():.3f}")
            for kind, values in flows.slowdowns().items():
                cells = slowdown_statistics(values)
                readings += [f"{kind} {cells['avg']:.1f} / {cells['p95']:.0f} / {cells['p99']:.0f}"]
        sys.stdout.write(f"{algorithm}: {', '.join(readings)}\n")
        sys.stdout.flush()
    sys.stdout.write(f"offered: {', '.join(f'{layer} {load:.2f}' for layer, load in offered_load(run).items())}\n")


if __name__ == "__main__":
    main()

"""Other readings of Gear's fabric (gear/fabric): ratio and pauses of each algorithm, a line each of docs/findings/gear-fabric.md.

    .venv/bin/python scripts/fabric_readings.py "one pool" gear,hpcc

One run simulates 80 ms and takes one to two minutes.
"""

import sys
from pathlib import Path

import farloop
from farloop.judging.traffic import Flows, offered, paused

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
    "W_AI 0.3 %": {"algorithm.gear.w_ai_fraction": "0.003"},
    "marks on departure": {"switch.ecn_at": "departure"},
    "load 20 %": {"workload.intra.load": "0.1667", "workload.cross.load": "0.0333"},
    "load 15 %": {"workload.intra.load": "0.125", "workload.cross.load": "0.025"},
}


def main() -> None:
    """Runs a reading under the given algorithms and prints its measurements."""
    if len(sys.argv) != 3 or sys.argv[1] not in READINGS:
        sys.exit(f"usage: fabric_readings.py READING ALGORITHM,...; readings: {', '.join(READINGS)}")
    for algorithm in sys.argv[2].split(","):
        run = farloop.run(SCENARIO, algorithm=algorithm, set=COMMON | READINGS[sys.argv[1]])
        flows = Flows.of(run)
        sys.stdout.write(f"{algorithm}: ratio {flows.normalised_ratio():.3f}, paused {paused(run) * 1e3:.2f} ms\n")
        sys.stdout.flush()
    sys.stdout.write(f"offered: {', '.join(f'{layer} {load:.2f}' for layer, load in offered(run).items())}\n")


if __name__ == "__main__":
    main()

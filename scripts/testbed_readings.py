"""Gear's testbed (gear/fig16) over TCP, as the paper's prototype has it: shares and times, a line for each algorithm.

    .venv/bin/python scripts/testbed_readings.py WAN gear,hpcc 3s

The paper's prototype carries telemetry in a TCP option (§IV-D); papers/gear/fig16.toml has RDMA with go-back-N. Here every flow has TCP,
with the least timeout of §IV-A. A run takes 3 s of processor time.
"""

import sys
import tomllib
from pathlib import Path

import farloop
from farloop import metrics
from farloop.judging.measure import common_start, ratio, shares
from farloop.papers.gear.fig16 import AVERAGED, NEAR

FIGURE = Path(__file__).parents[1] / "papers" / "gear" / "fig16.toml"
NOT_SIMULATED = ("figure", "case", "claim")
TRANSPORT = {"kind": "tcp", "min_rto": "1ms"}
TARGET = 0.7
"""The intra flow's share with the bottleneck in the WAN."""


def main() -> None:
    """Runs a case under the given algorithms and prints what the figure's judge measures."""
    document = tomllib.loads(FIGURE.read_text("utf-8"))
    cases = {case["name"]: case.get("set", {}) for case in document["case"]}
    if len(sys.argv) != 4 or sys.argv[1] not in cases:
        sys.exit(f"usage: testbed_readings.py CASE ALGORITHM,... DURATION; cases: {', '.join(cases)}")
    scenario = {key: value for key, value in document.items() if key not in NOT_SIMULATED} | {"transport": TRANSPORT}
    low, high = ((TARGET + side) / (1 - TARGET - side) for side in (-NEAR, NEAR))
    for algorithm in sys.argv[2].split(","):
        run = farloop.run(scenario, algorithm=algorithm, set=cases[sys.argv[1]] | {"run.duration": sys.argv[3]})
        start = common_start(run)
        times, intra = run.samples.get("flow/intra", "throughput")
        _, cross = run.samples.get("flow/cross", "throughput")
        settled = metrics.convergence_time(times, intra, cross, low=low, high=high, over=AVERAGED, start=start)
        part = shares(run, ("intra", "cross"), (start + run.duration) / 2)["intra"]
        sys.stdout.write(f"{algorithm}: ratio {ratio(run):.3g}, intra part {part:.3f}, settled after {settled:.3g} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Makes `results.json`: flow completion times that uet-htsim gives for permutations and incasts under its path choosers.

    python validation/uet-htsim/make.py PROGRAM
    python validation/uet-htsim/make.py PROGRAM --case permutation-reps

PROGRAM is `htsim_uec` of ultraethernet/uet-htsim at commit 40ccb0526bb6297eeb22ab33f9934fb35278dbaf, which a user has built. Each case
runs ten times: seed n draws the pairs of the permutation, or the senders of the incast, and is what the program is told as `-seed`. The
same pairs are what farloop has to be given: `pairs` says them. Times are completion times in microseconds, from start 0 on, in the order
of the pairs.

The network: 128 hosts, 8 leaves of 16, 16 spines, 400 Gbps and 1 us everywhere, so 8.338 us of unloaded round-trip time. Queues hold 100
packets of 4160 B (4096 B of payload), mark from 25 to 75, and trim; windows start at 150 packets; 64 entropy values. The cases "slow-spine"
have all links of spine 0 at a quarter of the rate, with a quarter of the queue and thresholds (`-failed 1`); "oversubscribed" has 4 spines.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMIT = "40ccb0526bb6297eeb22ab33f9934fb35278dbaf"
SEEDS = range(1, 11)
HOSTS, LEAVES, SPINES = 128, 8, 16
SIZE = 1_000_000
"""Bytes of a flow."""

TOPOLOGY = """Nodes {hosts}
Tiers 2
Podsize {hosts}

Tier 0
Downlink_speed_Gbps 400
Radix_Down {per_leaf}
Radix_Up {spines}
Downlink_Latency_ns 1000
Oversubscribed {ratio}
Switch_Latency_ns 0

Tier 1
Downlink_speed_Gbps 400
Radix_Down {leaves}
Downlink_Latency_ns 1000
Switch_Latency_ns 0
"""

COMMON = [
    "-end",
    "2000",
    "-linkspeed",
    "400000",
    "-mtu",
    "4160",
    "-q",
    "100",
    "-ecn",
    "25",
    "75",
    "-cwnd",
    "150",
    "-paths",
    "64",
    "-strat",
    "ecmp_host",
]
SENDER, RECEIVER = ["-sender_cc_only"], ["-receiver_cc_only"]
FINISHED = re.compile(r"^Flow \S+ flowId (\d+) .*? finished at ([0-9.e+]+) ")


@dataclass(frozen=True)
class Case:
    """One traffic pattern under one transport.

    Attributes:
        pattern: "permutation"; "permutation-across", whose pairs are at different leaves; or "incast-N" with N senders to host 0.
        options: What the program is told beyond what all cases have in common.
        spines: Of the network; leaves have as many uplinks.
    """

    pattern: str
    options: tuple[str, ...]
    spines: int = SPINES


def case(pattern: str, control: list[str], chooser: str, *more: str, spines: int = SPINES) -> Case:
    """A case whose packets this chooser spreads."""
    return Case(pattern, (*control, "-load_balancing_algo", chooser, *more), spines)


CASES = {
    **{
        f"permutation-{chooser}": case("permutation", SENDER, chooser)
        for chooser in ("oblivious", "bitmap", "reps", "mixed")
    },
    "permutation-rccc": case("permutation", RECEIVER, "mixed"),
    "incast-2-nscc": case("incast-2", SENDER, "mixed"),
    "incast-2-rccc": case("incast-2", RECEIVER, "mixed"),
    "incast-8-nscc": case("incast-8", SENDER, "mixed"),
    "incast-8-rccc": case("incast-8", RECEIVER, "mixed"),
    **{
        f"slow-spine-{chooser}": case("permutation", SENDER, chooser, "-failed", "1")
        for chooser in ("oblivious", "bitmap", "reps", "mixed")
    },
    **{
        f"oversubscribed-{chooser}": case("permutation-across", SENDER, chooser, spines=SPINES // 4)
        for chooser in ("oblivious", "bitmap", "reps", "mixed")
    },
    "oversubscribed-rccc": case("permutation-across", RECEIVER, "mixed", spines=SPINES // 4),
}


def pairs(pattern: str, seed: int) -> list[tuple[int, int]]:
    """Source and destination of each flow.

    Args:
        pattern: As in `Case`.
        seed: Draws them.

    Returns:
        For a permutation one pair per host, none with itself; for an incast distinct senders to host 0.
    """
    draw = random.Random(seed)
    if pattern == "permutation":
        while True:
            to = draw.sample(range(HOSTS), HOSTS)
            if all(a != b for a, b in enumerate(to)):
                return list(enumerate(to))
    if pattern == "permutation-across":
        to, leaf = draw.sample(range(HOSTS), HOSTS), HOSTS // LEAVES
        while local := [a for a, b in enumerate(to) if a // leaf == b // leaf]:
            other = draw.randrange(HOSTS)
            to[local[0]], to[other] = to[other], to[local[0]]
        return list(enumerate(to))
    return [(source, 0) for source in sorted(draw.sample(range(1, HOSTS), int(pattern.removeprefix("incast-"))))]


def completion_times(program: Path, case: Case, seed: int) -> list[float]:
    """Runs the program once.

    Args:
        program: Path of htsim_uec.
        case: What to run.
        seed: Of the pairs and of the program.

    Returns:
        Completion times in microseconds, in the order of the pairs.

    Raises:
        RuntimeError: The program failed, or a flow has not finished.
    """
    flows = pairs(case.pattern, seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network = TOPOLOGY.format(
            hosts=HOSTS, per_leaf=HOSTS // LEAVES, leaves=LEAVES, spines=case.spines, ratio=SPINES // case.spines
        )
        (folder / "net.topo").write_text(network)
        lines = [
            f"Nodes {HOSTS}",
            f"Connections {len(flows)}",
            *(f"{a}->{b} id {n} start 0 size {SIZE}" for n, (a, b) in enumerate(flows, 1)),
        ]
        (folder / "flows.cm").write_text("\n".join(lines) + "\n")
        command = [
            str(program),
            *COMMON,
            *case.options,
            "-seed",
            str(seed),
            "-topo",
            "net.topo",
            "-tm",
            "flows.cm",
            "-o",
            "log",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(command)} ended with {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"
        )
    times = {int(m[1]): float(m[2]) for m in map(FINISHED.match, done.stdout.splitlines()) if m}
    if len(times) != len(flows):
        raise RuntimeError(f"{len(times)} of {len(flows)} flows finished: {' '.join(command)}")
    return [times[flow] for flow in sorted(times)]


def main() -> None:
    """Runs the cases and writes what they give."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="htsim_uec of uet-htsim, built")
    parser.add_argument("--case", choices=sorted(CASES), help="only this case")
    arguments = parser.parse_args()
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for name, case in CASES.items():
        if arguments.case not in (None, name):
            continue
        runs = {str(seed): completion_times(arguments.program.resolve(), case, seed) for seed in SEEDS}
        means = [statistics.fmean(times) for times in runs.values()]
        tails = [max(times) for times in runs.values()]
        results[name] = {
            "program": f"uet-htsim, commit {COMMIT}",
            "command": " ".join(["htsim_uec", *COMMON, *case.options, "-seed SEED -topo net.topo -tm flows.cm"]),
            "mean_us": round(statistics.fmean(means), 4),
            "mean_sd_us": round(statistics.stdev(means), 4),
            "tail_us": round(statistics.fmean(tails), 4),
            "tail_sd_us": round(statistics.stdev(tails), 4),
            "fct_us": runs,
        }
        sys.stdout.write(f"{name}: mean {results[name]['mean_us']} us, tail {results[name]['tail_us']} us\n")
        text = json.dumps(results, indent=1)
        path.write_text(re.sub(r"\[\s+([0-9.,\s]+?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", text) + "\n")


if __name__ == "__main__":
    main()

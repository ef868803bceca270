"""Runs the cases of `results.json` in farloop, and prints both simulators' times: the tables of spec/nscc.md and spec/rccc.md.

    .venv/bin/python validation/uet-htsim/compare.py [CASE ...]

Same pairs, same seeds, same network: 128 hosts, 8 leaves, 16 spines, 400 Gbps, 1 us. Queues hold 100 packets of 4160 B, mark from 25 to
75 packets on departure, and trim.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

import farloop

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import make  # noqa: E402  # beside this file

SCENARIO = """\
title = "As uet-htsim has it"
[run]
duration = "5ms"
seed = {seed}
[network]
topology = "spine-leaf"
spines = {spines}
leaves = 8
hosts_per_leaf = 16
rate = "400Gbps"
fabric_rate = "400Gbps"
link_delay = "1us"
[switch]
buffer = "64MB"
pfc = false
ecn = true
kmin = "104kB"
kmax = "312kB"
ecn_rate = "400Gbps"
ecn_at = "departure"
trim = "64B"
queue_limit = "416kB"
queue_limit_rate = "400Gbps"
[transport]
kind = "multipath"
paths = "{paths}"
mtu = "4160B"
[algorithm]
name = "{algorithm}"
"""

CASES = (
    ("permutation-oblivious", "permutation", "oblivious", "nscc"),
    ("permutation-bitmap", "permutation", "bitmap", "nscc"),
    ("permutation-reps", "permutation", "reps", "nscc"),
    ("permutation-mixed", "permutation", "mixed", "nscc"),
    ("incast-2-nscc", "incast-2", "mixed", "nscc"),
    ("incast-8-nscc", "incast-8", "mixed", "nscc"),
    ("permutation-rccc", "permutation", "mixed", "rccc"),
    ("incast-2-rccc", "incast-2", "mixed", "rccc"),
    ("incast-8-rccc", "incast-8", "mixed", "rccc"),
    *((f"slow-spine-{paths}", "permutation", paths, "nscc") for paths in ("oblivious", "bitmap", "reps", "mixed")),
    *(
        (f"oversubscribed-{paths}", "permutation-across", paths, "nscc")
        for paths in ("oblivious", "bitmap", "reps", "mixed")
    ),
    ("oversubscribed-rccc", "permutation-across", "mixed", "rccc"),
)

SLOW = """\
[[event]]
at = "0s"
link = "leaf*<->spine1"
rate = "100Gbps"
"""
"""A spine's links at a quarter of the rate; their ports hold 104 kB, and mark accordingly."""


def completion_times(name: str, pattern: str, paths: str, algorithm: str, seed: int, directory: Path) -> list[float]:
    """Completion times in microseconds, from a flow's start to its last ACK."""
    slow, spines = name.startswith("slow-spine"), make.CASES[name].spines
    text = SCENARIO.format(seed=seed, paths=paths, algorithm=algorithm, spines=spines)
    if slow:
        text += SLOW
    for number, (source, destination) in enumerate(make.pairs(pattern, seed)):
        text += f'[[flow]]\nname = "f{number}"\nfrom = "h{source + 1}"\nto = "h{destination + 1}"\nsize = "1MB"\n'
    file = directory / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    flows = farloop.run(file).flows.to_pydict()
    return [(end - begin) / 1e6 for begin, end in zip(flows["start_ps"], flows["finish_ps"], strict=True)]


def summary(runs: list[list[float]]) -> tuple[float, float]:
    """Means over the seeds of mean and largest completion time."""
    return statistics.fmean(map(statistics.fmean, runs)), statistics.fmean(map(max, runs))


def main() -> int:
    """Prints the table."""
    published = json.loads((HERE / "results.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as directory:
        for name, pattern, paths, algorithm in CASES:
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            case = (name, pattern, paths, algorithm)
            own = summary([completion_times(*case, seed, Path(directory)) for seed in make.SEEDS])
            theirs = summary(list(published[name]["fct_us"].values()))
            cells = [f"{a:.2f} / {b:.2f} ({a / b - 1:+.1%})" for a, b in zip(own, theirs, strict=True)]
            sys.stdout.write(f"| {name} | {cells[0]} | {cells[1]} |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

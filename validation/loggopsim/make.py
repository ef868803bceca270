"""Runs LogGOPSim on the GOAL files beside this script again, and stores its completion times in `results.json`.

    python validation/loggopsim/make.py LOGGOPSIM TXT2BIN

Both are programs of spcl/LogGOPSim (here at 76451de, built by its Makefile with -O2 for -O0). `--inputs` writes the GOAL files again: ring,
recursive doubling, request chains, broadcast, all-to-all, 1F1B. `crates/job/tests/loggopsim.rs` runs them on the ideal network of
`crates/job` and holds its times to these.

LogGOPSim's parameters are integers: G = 1 ns/B is 8 Gbps. It charges (size - 1) G at the receiver's processor, so that a rank that receives
does nothing else meanwhile, where farloop's interface receives while the processor goes on. A ring, doubling, a chain of requests and a
broadcast wait for their messages anyway; an all-to-all and a pipeline do not, and there the two differ (docs/jobs.md).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent

SETTINGS = {
    "defaults": {"L": 2500, "o": 1500, "g": 1000, "G": 6, "S": 65535},
    "wide": {"L": 5_000_000, "o": 500, "g": 100, "G": 1, "S": 65535},
    "eager": {"L": 10_000, "o": 100, "g": 0, "G": 1, "S": 2_000_000_000},
}
"""LogGOPSim's own defaults; a link of 1,000 km; and little overhead with all sends eager. Nanoseconds and bytes."""


class Rank:
    """Statements of a rank."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def add(self, statement: str, *after: str) -> str:
        """Adds an operation behind others and gives its label."""
        self.count += 1
        label = f"l{self.count}"
        self.lines.append(f"{label}: {statement}")
        self.lines += [f"{label} requires {sooner}" for sooner in after if sooner]
        return label


def ring(ranks: int, part: int) -> list[Rank]:
    """All-reduce: 2 (n - 1) steps, each with a part of the data."""
    made = [Rank() for _ in range(ranks)]
    for number, rank in enumerate(made):
        got = rank.add("calc 1000")
        for _ in range(2 * (ranks - 1)):
            rank.add(f"send {part}b to {(number + 1) % ranks} tag 1", got)
            got = rank.add(f"recv {part}b from {(number - 1) % ranks} tag 1", got)
    return made


def doubling(ranks: int, size: int) -> list[Rank]:
    """All-reduce by recursive doubling: all of the data with a partner at each power of two."""
    made = [Rank() for _ in range(ranks)]
    for number, rank in enumerate(made):
        got = rank.add("calc 1000")
        distance = 1
        while distance < ranks:
            rank.add(f"send {size}b to {number ^ distance} tag 1", got)
            got = rank.add(f"recv {size}b from {number ^ distance} tag 1", got)
            distance *= 2
    return made


def requests(ranks: int, size: int) -> list[Rank]:
    """A client asks one server after the other, each of which computes and answers with more."""
    made = [Rank() for _ in range(ranks)]
    got = ""
    for server in range(1, ranks):
        made[0].add(f"send 64b to {server} tag 2", got)
        got = made[0].add(f"recv {size}b from {server} tag 3", got)
        asked = made[server].add("recv 64b from 0 tag 2")
        done = made[server].add("calc 20000", asked)
        made[server].add(f"send {size}b to 0 tag 3", done)
    return made


def broadcast(ranks: int, size: int) -> list[Rank]:
    """Along a binomial tree."""
    made = [Rank() for _ in range(ranks)]
    got = [""] * ranks
    distance = 1
    while distance < ranks:
        for near in range(min(distance, ranks - distance)):
            made[near].add(f"send {size}b to {near + distance} tag 4", got[near])
            got[near + distance] = made[near + distance].add(f"recv {size}b from {near} tag 4")
        distance *= 2
    return made


def all_to_all(ranks: int, size: int) -> list[Rank]:
    """Each to each at once."""
    made = [Rank() for _ in range(ranks)]
    for number, rank in enumerate(made):
        for ahead in range(1, ranks):
            rank.add(f"send {size}b to {(number + ahead) % ranks} tag 5")
            rank.add(f"recv {size}b from {(number - ahead) % ranks} tag 5")
    return made


def pipeline(stages: int, size: int, microbatches: int = 16, forward: int = 2_000_000) -> list[Rank]:
    """1F1B: stage s runs p - s - 1 microbatches ahead; backward takes twice as long as forward."""
    made = [Rank() for _ in range(stages)]
    for stage, rank in enumerate(made):
        ahead = min(stages - stage - 1, microbatches)
        order = [("f", i) for i in range(ahead)]
        for i in range(microbatches):
            if ahead + i < microbatches:
                order.append(("f", ahead + i))
            order.append(("b", i))
        last = ""
        for kind, number in order:
            before, behind = (stage - 1, stage + 1) if kind == "f" else (stage + 1, stage - 1)
            tag = 2 * number + (kind == "b")
            got = rank.add(f"recv {size}b from {before} tag {tag}") if 0 <= before < stages else ""
            last = rank.add(f"calc {forward if kind == 'f' else 2 * forward}", last, got)
            if 0 <= behind < stages:
                rank.add(f"send {size}b to {behind} tag {tag}", last)
    return made


CASES: dict[str, Callable[[], list[Rank]]] = {
    "ring-8-4k": lambda: ring(8, 4096),
    "ring-8-1m": lambda: ring(8, 1_000_000),
    "doubling-16-32k": lambda: doubling(16, 32_768),
    "doubling-8-1m": lambda: doubling(8, 1_000_000),
    "requests-9-100k": lambda: requests(9, 100_000),
    "broadcast-32-1": lambda: broadcast(32, 1),
    "broadcast-16-60k": lambda: broadcast(16, 60_000),
    "all-to-all-8-60k": lambda: all_to_all(8, 60_000),
    "pipeline-4-1m": lambda: pipeline(4, 1_000_000),
}


def write_inputs() -> None:
    """Writes the GOAL files."""
    for name, make in CASES.items():
        ranks = make()
        parts = [f"num_ranks {len(ranks)}"]
        parts += ["\n".join([f"rank {number} {{", *rank.lines, "}"]) for number, rank in enumerate(ranks)]
        (HERE / f"{name}.goal").write_text("\n".join(parts) + "\n", encoding="utf-8")


def measured(simulator: str, binary: Path, settings: dict[str, int]) -> int:
    """The completion time in nanoseconds."""
    options = [f"--LogGOPS_{key}={value}" for key, value in settings.items()]
    done = subprocess.run([simulator, "-b", "-f", str(binary), *options], capture_output=True, text=True, check=True)
    match = re.search(r"Maximum finishing time at host \d+: (\d+)", done.stdout)
    if not match:
        raise SystemExit(f"{binary.name}: no finishing time in {done.stdout[-300:]!r}")
    return int(match[1])


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loggopsim")
    parser.add_argument("txt2bin")
    parser.add_argument("--inputs", action="store_true", help="write the GOAL files again")
    given = parser.parse_args()
    if given.inputs:
        write_inputs()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            binary = Path(folder) / f"{name}.bin"
            command = [given.txt2bin, "-i", str(HERE / f"{name}.goal"), "-o", str(binary)]
            subprocess.run(command, check=True, capture_output=True)
            for title, settings in SETTINGS.items():
                rows.append({"case": name, "settings": title, "ns": measured(given.loggopsim, binary, settings)})
    content = {"source": "spcl/LogGOPSim 76451de", "settings": SETTINGS, "results": rows}
    (HERE / "results.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

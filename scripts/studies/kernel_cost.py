#!/usr/bin/env python3
"""How long the programs of the kernel half run per ACK, by the kernel's own count (docs/kernel.md). As root; compiled by `make kernel`.

    scripts/studies/kernel_cost.py [--repetitions 5] [--seconds 4]

Two flows from one network namespace to another through 200 Mbps that are marked beyond 15.4 kB, GEMINI's and the baselines' in turn. An
ACK costs what the programs take that run once for each; the clock that is read around each of them is in it, and what that is tells an
empty program.
"""

import argparse
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]

from support.live_network import bulk_flows, live_network  # noqa: E402

from farloop.kernel import libbpf  # noqa: E402
from farloop.kernel.baselines import CUBIC, DCTCP, VEGAS  # noqa: E402
from farloop.kernel.gemini import GEMINI  # noqa: E402

PER_ACK = {
    "gemini": ("on_ack",),
    "cubic": ("cubic_avoid",),
    "dctcp": ("dctcp_avoid", "dctcp_ack"),
    "vegas": ("vegas_avoid", "vegas_acked"),
}
EMPTY = "on_segments"
SETTINGS = {"gemini": ["capacity=200Mbps", "ecn_threshold=15380B"]}
LIMIT = 1.5


def measured(program, seconds):
    """Mean ns of each of a program's functions, and how many packets a second they carried."""
    before = {p.id for p in libbpf.programs()}
    program.load(SETTINGS.get(program.name, []))
    try:
        control = "farloop_dctcp" if program.name == "dctcp" else program.control
        # The same traffic: all answer marks, and the kernel paces all.
        given = {"rate_mbps": 200, "threshold": 15_380, "settings": {"ipv4/tcp_ecn": "1"}}
        with live_network(control=control, **given) as network, libbpf.count_runs():
            bulk_flows(network, seconds, options=["-P", 2, "--fq-rate", "10G"])
            mine = [p for p in libbpf.programs() if p.kind == libbpf.PROGRAM_STRUCT_OPS and p.id not in before]
    finally:
        program.unload()
    return {p.name: (p.time / p.calls, p.calls) for p in mine if p.calls}


def write(line):
    """A line of the table."""
    sys.stdout.write(f"{line}\n")


def main():
    """Prints a table of medians with their spread, and GEMINI's beside CUBIC's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--algorithms", default="gemini,cubic,dctcp,vegas", help="which, gemini and cubic among them")
    given = parser.parse_args()
    wanted = given.algorithms.split(",")
    costs: dict[str, list[float]] = {name: [] for name in wanted}
    empty, calls = [], dict.fromkeys(wanted, 0)
    for _ in range(given.repetitions):
        for program in (p for p in (GEMINI, CUBIC, DCTCP, VEGAS) if p.name in wanted):
            functions = measured(program, given.seconds)
            names = PER_ACK[program.name]
            costs[program.name].append(sum(functions[name][0] for name in names))
            calls[program.name] += functions[names[0]][1]
            empty += [functions[EMPTY][0]] if EMPTY in functions else []
    for name, values in costs.items():
        spread = f"{min(values):.0f} to {max(values):.0f}"
        write(
            f"{name:7} {statistics.median(values):5.0f} ns per ACK ({spread}; {calls[name]} ACKs; {', '.join(PER_ACK[name])})"
        )
    write(f"{'empty':7} {statistics.median(empty):5.0f} ns per call")
    ratio = statistics.median(g / c for g, c in zip(costs["gemini"], costs["cubic"], strict=True))
    write(f"gemini / cubic: {ratio:.2f} (at most {LIMIT})")
    return ratio > LIMIT


if __name__ == "__main__":
    sys.exit(main())

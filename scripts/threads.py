#!/usr/bin/env python3
"""What the automatic choice of threads costs: wall time over that of `--threads 1`, idle and beside busy loops, in one run.

    .venv/bin/python scripts/threads.py [CASE ...]         all cases, five times each: some minutes
    .venv/bin/python scripts/threads.py --repeats 9 --busy 4 small

Each case runs with `--threads 1`, with none given (auto) and with `--threads 2`, in turn, so that whatever else the machine does meets
all of them alike; first on the machine as it is, then beside busy loops. Printed are medians of wall time and their ratios to the first
column, with the least and the largest ratio of one round. Ends with exit code 1 where auto's median is over 1.2 times that of one thread;
100 ms are granted for the noise of starting a program.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FARLOOP = ROOT / ".venv" / "bin" / "farloop"

#: What auto may cost, beside one thread.
LIMIT = 1.2
#: Seconds by which two runs of one command differ anyway.
NOISE = 0.1

#: Scenario and what is set: seconds of simulated work, from a third to some ten.
CASES: Mapping[str, Sequence[str]] = {
    "small": ["gear/fig09", "--set", "run.duration=100ms"],
    "dumbbell": ["gear/fig09", "--set", "run.duration=500ms"],
    "fabric": ["benches/d2.toml"],
    "two-sites": ["benches/d3.toml", "--set", "run.duration=3ms"],
}

#: Ends with the process that started it, however that ends.
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(100_000): pass"

MODES: Mapping[str, Sequence[str]] = {"1": ["--threads", "1"], "auto": [], "2": ["--threads", "2"]}


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that never rest."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def timed(case: str, mode: str) -> float:
    """Seconds of wall time of one run."""
    with tempfile.TemporaryDirectory() as directory:
        command = [str(FARLOOP), "run", *CASES[case], *MODES[mode], "--no-report", "--quiet"]
        begin = time.monotonic()
        subprocess.run([*command, "--out", f"{directory}/run"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - begin


def measure(case: str, repeats: int) -> tuple[str, bool]:
    """A line of a case, and whether auto is within its limit."""
    rounds = [{mode: timed(case, mode) for mode in MODES} for _ in range(repeats)]
    medians = {mode: statistics.median(wall[mode] for wall in rounds) for mode in MODES}

    def ratio(mode: str) -> str:
        each = [wall[mode] / wall["1"] for wall in rounds]
        return f"{medians[mode]:7.2f} s  {medians[mode] / medians['1']:5.2f} ({min(each):.2f} - {max(each):.2f})"

    line = f"{case:<10} {medians['1']:7.2f} s  {ratio('auto'):<30} {ratio('2')}"
    return line, medians["auto"] <= LIMIT * medians["1"] + NOISE


def main(arguments: Sequence[str]) -> int:
    """Does what the command line says."""
    parser = argparse.ArgumentParser(description="Wall time by threads, idle and beside busy loops.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)} (all)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds (5)")
    parser.add_argument("--busy", type=int, default=2, help="busy loops (2)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.cases if name not in CASES]
    if unknown or options.repeats < 1 or options.busy < 1:
        parser.error(f"expected cases of {', '.join(CASES)}, and numbers from 1 on")
    kept = True
    for loops in (0, options.busy):
        sys.stdout.write(f"beside {loops} busy loops; medians of {options.repeats}\n")
        sys.stdout.write(
            f"{'case':<10} {'threads 1':>9}  {'auto':>9}  {'over threads 1':<19} {'threads 2':>9}  over threads 1\n"
        )
        with busy(loops):
            for case in options.cases or CASES:
                line, within = measure(case, options.repeats)
                kept = kept and within
                sys.stdout.write(f"{line}{'' if within else f'   auto is over {LIMIT}'}\n")
                sys.stdout.flush()
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

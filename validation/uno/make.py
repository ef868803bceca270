"""Makes `results.json`: flow completion times that Uno's own simulator gives for its Fig. 8.

    python validation/uno/make.py DIRECTORY

DIRECTORY is a checkout of spcl/Uno_SC25 at commit 68d164e where `make` in `sim` and `make htsim_lcp_entry_modern` in `sim/datacenter` have
run. Settings are those of `artifact_scripts/fig8_comparison.py`, which runs each case once; records of rates are left out
(`-collect_data 0`), which changes no time. Flows of 1 GB go to host 240 from eight hosts: of its datacenter ("near", numbers from 128 on)
or of the other one ("far"). Times are completion times in milliseconds, in the order of the flows' numbers.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMIT = "68d164e"
MIXES = {"near and far": "4_4", "near": "8_0", "far": "0_8"}
"""The traffic matrix of each mix, under `lcp/configs/tms/simple`."""

COMMON = (
    "-o uec_entry -queue_type composite -hop_latency 1000 -switch_latency 0 -nodes 128 -collect_data 0 -topology interdc "
    "-os_border 16 -strat rand -linkspeed 100000 -usePacing 1 -end_time 2860 -lcpK 6 -interdcDelay 886500 "
    "-forceQueueSize 1000000 -noFi"
)
THRESHOLDS = "-interKmin 25 -interKmax 75 -kmin 25 -kmax 75 -ecnAlpha 0.5 -noQaInter -noQaIntra -seed 15"
ALGORITHMS = {
    "uno": (
        "-seed 215 -noRto -queueSizeRatio 1 -IntraFiT 100 -InterFiT 2500 -interKmax 60 -interKmin 20 -ecnAlpha 0.65 -interEcn "
        "-mdRTT 0.0003515625 -kmin 10 -kmax 80 -lcpAlgo aimd_phantom -use_phantom 1 -phantom_size 22400515 "
        "-phantom_slowdown 5 -phantom_kmin 2 -phantom_kmax 60"
    ),
    "gemini": f"{THRESHOLDS} -interAlgo gemini -intraAlgo gemini -geminiH 0.00024 -geminiBeta 0.1 -geminiT 0.1",
    "bbr": f"{THRESHOLDS} -interAlgo bbr -intraAlgo mprdma -interEcn",
}
FINISHED = re.compile(r"Flow id=(\d+) Completion time is ([0-9.e+]+)us")


def completion_times(directory: Path, mix: str, algorithm: str) -> tuple[str, list[float]]:
    """Runs the simulator once.

    Args:
        directory: Of the checkout.
        mix: Of `MIXES`.
        algorithm: Of `ALGORITHMS`.

    Returns:
        The command, and the completion times in milliseconds.

    Raises:
        RuntimeError: The simulator failed, or a flow has not finished.
    """
    options = [*COMMON.split(), *ALGORITHMS[algorithm].split()]
    configs = directory.resolve() / "lcp" / "configs"
    files = ["-topo", "topos/fat_tree_100Gbps.topo", "-tm", f"tms/simple/{MIXES[mix]}_1000MB.cm"]
    placed = [str(configs / word) if "/" in word else word for word in files]
    program = directory.resolve() / "sim" / "datacenter" / "htsim_lcp_entry_modern"
    with tempfile.TemporaryDirectory() as folder:
        # It writes there, and makes no directories.
        (Path(folder) / "log").mkdir()
        command = [str(program), *options, *placed, "-logging-folder", "log/run"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    times = {int(m[1]): float(m[2]) / 1e3 for m in FINISHED.finditer(done.stdout)}
    if done.returncode != 0 or len(times) != 8:
        raise RuntimeError(f"{len(times)} of 8 flows finished, exit code {done.returncode}: {' '.join(command)}")
    return " ".join(["htsim_lcp_entry_modern", *options, *files]), [times[flow] for flow in sorted(times)]


def main() -> None:
    """Runs the cases and writes what they give."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="a checkout of Uno_SC25, built")
    arguments = parser.parse_args()
    results = {}
    for mix in MIXES:
        for algorithm in ALGORITHMS:
            command, times = completion_times(arguments.directory, mix, algorithm)
            results[f"{mix}, {algorithm}"] = {
                "program": f"Uno_SC25, commit {COMMIT}",
                "command": command,
                "fct_ms": times,
            }
            sys.stdout.write(f"{mix}, {algorithm}: {times}\n")
    text = json.dumps(results, indent=1)
    one_line = re.sub(r"\[\s+([0-9.,\s]+?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", text)
    (HERE / "results.json").write_text(one_line + "\n")


if __name__ == "__main__":
    main()

"""Makes `results.json`: flow completion times that Uno's own simulator gives for its Figs. 8 and 9, and for a load of its Fig. 10.

    python validation/uno/make.py DIRECTORY [CASE ...]

DIRECTORY is a checkout of spcl/Uno_SC25 at commit 68d164e where `make libhtsim.a` in `sim` and `make htsim_lcp_entry_modern` in
`sim/datacenter` have run. A CASE is a part of the names to run, such as "8 links"; what `results.json` has of the others stays. Settings
are those of `artifact_scripts/fig8_comparison.py`, `artifact_scripts/fig9.py` and `sc25_fig10_realistic_80_load.sh`, which run each case
once; records of rates are left out (`-collect_data 0`), which changes no time.

Without graphviz, `logsim-interface.cpp`, which reads traces and nothing here needs, can be left out. The simulator walks through all events
to cancel one (`EventList::cancelPendingSource`); with an index by source, which changes no time, Figs. 9 and 10 take a tenth of the time.

- Fig. 8: flows of 1 GB go to host 240 from eight hosts: of its datacenter ("near", numbers from 128 on) or of the other one ("far").
  Times are completion times in milliseconds, in the order of the flows' numbers.
- Fig. 9: mean and 99th percentile of the completion times in microseconds, of all flows and of each kind.
- Fig. 10: the same of the flows inside that are over after 1.5 ms, and how many are not.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
COMMIT = "68d164e"
TOPOLOGY = "topos/fat_tree_100Gbps.topo"
HOSTS = 128
"""In each datacenter."""

MIXES = {"near and far": "4_4", "near": "8_0", "far": "0_8"}
"""The traffic matrix of each mix of Fig. 8, under `lcp/configs/tms/simple`."""

COMMON = (
    "-o uec_entry -queue_type composite -hop_latency 1000 -switch_latency 0 -nodes 128 -collect_data 0 -topology interdc "
    "-linkspeed 100000 -usePacing 1 -lcpK 6 -interdcDelay 886500 -forceQueueSize 1000000 -noFi"
)
THRESHOLDS = "-interKmin 25 -interKmax 75 -kmin 25 -kmax 75 -ecnAlpha 0.5"
NO_ADAPT = f"{THRESHOLDS} -noQaInter -noQaIntra -seed 15"
ALGORITHMS = {
    "uno": (
        "-seed 215 -noRto -queueSizeRatio 1 -IntraFiT 100 -InterFiT 2500 -interKmax 60 -interKmin 20 -ecnAlpha 0.65 -interEcn "
        "-mdRTT 0.0003515625 -kmin 10 -kmax 80 -lcpAlgo aimd_phantom -use_phantom 1 -phantom_size 22400515 "
        "-phantom_slowdown 5 -phantom_kmin 2 -phantom_kmax 60"
    ),
    "gemini": f"{NO_ADAPT} -interAlgo gemini -intraAlgo gemini -geminiH 0.00024 -geminiBeta 0.1 -geminiT 0.1",
    "bbr": f"{NO_ADAPT} -interAlgo bbr -intraAlgo mprdma -interEcn",
}
WAYS = {
    "uno, one path": ("ecmp_classic", "uno"),
    "uno": ("simple_subflow", "uno"),
    "gemini": ("ecmp_classic", "gemini"),
    "bbr": ("ecmp_classic", "bbr"),
}
"""Load balancer and algorithm of each way of Figs. 9 and 10."""

LOADED = {
    "uno": (
        f"{THRESHOLDS} -seed 15 -noRto -lcpAlgo aimd_phantom -use_phantom 1 -phantom_size 22400515 -phantom_slowdown 10 "
        "-phantom_kmin 2 -phantom_kmax 60 -interEcn"
    ),
    "gemini": (
        "-kmin 25 -kmax 75 -ecnAlpha 0.5 -noQaInter -noQaIntra -seed 15 -interAlgo gemini -intraAlgo gemini "
        "-geminiH 0.00024 -geminiBeta 0.1 -geminiT 5"
    ),
    "bbr": f"{NO_ADAPT} -noRto -interAlgo bbr -ccAlgoIntra mprdma",
}
"""Options of the algorithms in Fig. 10."""

LOADED_MS = 1.5
"""Of Fig. 10 that many milliseconds run. All flows begin within 0.7 ms, and nearly all inside are over by then; the rest takes hours."""

MAX_LISTED = 8
"""Of the flows of a case whose times `results.json` has one by one."""

FINISHED = re.compile(r"Flow id=(\d+) Completion time is ([0-9.e+]+)us")
FLOW = re.compile(r"^(\d+)->(\d+) id (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A run of the simulator.

    Attributes:
        name: In `results.json`.
        options: Of its command.
        matrix: The traffic matrix, under `lcp/configs/tms`.
        kinds: Of its flows, those that `results.json` has.
        whole: All flows are over by its end.
    """

    name: str
    options: str
    matrix: str
    kinds: tuple[str, ...] = ("all", "intra", "inter")
    whole: bool = True


def cases() -> Iterator[Case]:
    """All runs, in the order of the figures."""
    for mix, matrix in MIXES.items():
        for name, options in ALGORITHMS.items():
            rest = f"{COMMON} -os_border 16 -strat rand -end_time 2860 {options}"
            yield Case(f"{mix}, {name}", rest, f"simple/{matrix}_1000MB.cm")
    for links, ratio in (("8 links", 16), ("128 links", 1)):
        for way, (balancer, name) in WAYS.items():
            # GEMINI's flows over 128 links are over after 21 ms, and what goes on until the end takes hours.
            end = 30 if (ratio, way) == (1, "gemini") else 2860
            rest = f"{COMMON} -os_border {ratio} -strat {balancer} -end_time {end} {ALGORITHMS[name]}"
            yield Case(f"{links}, {way}", rest, "simple/custom_256_5mb.cm")
    for way, (balancer, name) in WAYS.items():
        rest = f"{COMMON} -os_border 16 -strat {balancer} -end_time {LOADED_MS} {LOADED[name]}"
        yield Case(f"80 %, {way}", rest, "workloads/websearchIntra_AlibabaInter_5000f_80l.cm", ("intra",), whole=False)


def run(directory: Path, case: Case) -> dict[str, Any]:
    """Runs the simulator once.

    Args:
        directory: Of the checkout.
        case: What to run.

    Returns:
        What `results.json` has of the case.

    Raises:
        RuntimeError: The simulator failed, or a flow has not finished.
    """
    options = case.options.split()
    configs = directory.resolve() / "lcp" / "configs"
    files = ["-topo", TOPOLOGY, "-tm", f"tms/{case.matrix}"]
    placed = [str(configs / word) if "/" in word else word for word in files]
    program = directory.resolve() / "sim" / "datacenter" / "htsim_lcp_entry_modern"
    flows = FLOW.findall((configs / "tms" / case.matrix).read_text())
    with tempfile.TemporaryDirectory() as folder:
        # It writes there, and makes no directories.
        (Path(folder) / "log").mkdir()
        command = [str(program), *options, *placed, "-logging-folder", "log/run"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    times = {int(m[1]): float(m[2]) for m in FINISHED.finditer(done.stdout)}
    across = {int(i): (int(a) < HOSTS) != (int(b) < HOSTS) for a, b, i in flows}
    chosen = {
        "all": list(across),
        "intra": [flow for flow, far in across.items() if not far],
        "inter": [flow for flow, far in across.items() if far],
    }
    late = {kind: [flow for flow in chosen[kind] if flow not in times] for kind in case.kinds}
    if done.returncode != 0 or (case.whole and any(late.values())):
        finished = f"{len(times)} of {len(flows)} flows finished"
        raise RuntimeError(f"{finished}, exit code {done.returncode}: {' '.join(command)}")
    result: dict[str, Any] = {
        "program": f"Uno_SC25, commit {COMMIT}",
        "command": " ".join(["htsim_lcp_entry_modern", *options, *files]),
    }
    if len(flows) <= MAX_LISTED:
        return result | {"fct_ms": [times[flow] / 1e3 for flow in sorted(times)]}
    for kind in case.kinds:
        taken = [times[flow] for flow in chosen[kind] if flow in times]
        result[f"{kind}: mean (us)"] = float(f"{np.mean(taken):.5g}")
        result[f"{kind}: 99 % (us)"] = float(f"{np.percentile(taken, 99):.5g}")
        if not case.whole:
            result[f"{kind}: not over"] = len(late[kind])
    return result


def main() -> None:
    """Runs the cases and writes what they give."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="a checkout of Uno_SC25, built")
    parser.add_argument("case", nargs="*", help="parts of the names of cases (default: all)")
    arguments = parser.parse_args()
    record = HERE / "results.json"
    results = json.loads(record.read_text()) if record.is_file() else {}
    for case in cases():
        if arguments.case and not any(part in case.name for part in arguments.case):
            continue
        results[case.name] = run(arguments.directory, case)
        sys.stdout.write(f"{case.name}: { {k: v for k, v in results[case.name].items() if k != 'command'} }\n")
        sys.stdout.flush()
        text = json.dumps(results, indent=1, ensure_ascii=False)
        one_line = re.sub(r"\[\s+([0-9.,\s]+?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", text)
        record.write_text(one_line + "\n")


if __name__ == "__main__":
    main()

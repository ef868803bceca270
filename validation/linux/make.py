"""References from the TCP of this host's own Linux kernel, by `farloop testbed`.

    python validation/linux/make.py linux             # reno, cubic and bbr of the kernel itself
    python validation/linux/make.py linux-ports       # dctcp, vegas and gemini: programs of this project in the kernel, not independent
    python validation/linux/make.py linux --flows     # only writes the flow list anew

It needs root and what `farloop testbed doctor` asks for. Each scenario beside reference.toml is built of network namespaces
and measured as often as `--repetitions` says; what differs between repetitions is the host's own timing. A measurement that
the host paused for more than 6 ms is made again, and the one with the shorter pause is kept.

What the metrics are is in `farloop.studies.validation.compared_numbers`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import farloop
from farloop.studies.validation.compared_numbers import measure

REFERENCES = Path(__file__).resolve().parents[2] / "python/farloop/studies/validation/references"
PAUSE = 6e-3
"""A host's pause, in seconds, from which on a measurement is repeated: a good part of the shortest queue."""

ATTEMPTS = 2

_FCT = ["fct_mean", "fct_p50", "fct_p90", "fct_p99", "fct_small_mean", "fct_large_mean", "unfinished"]
_QUEUE = "series:port/leaf->receiver:queue:mean"
_ALONE = ["throughput:f1", "rtt_mean:f1", "cwnd_mean:f1", _QUEUE, "period:f1"]
PERIODIC = ("reno-linux", "cubic")
"""Algorithms whose windows fall at losses and grow in between: the others have no period."""

METRICS = {
    "one-flow": _ALONE,
    "two-delays": [
        "share:near",
        "share:far",
        "throughput:near",
        "throughput:far",
        "rtt_mean:near",
        "rtt_mean:far",
        _QUEUE,
    ],
    "four-flows": ["jain", "rtt_mean:f1", _QUEUE],
    "eight-flows": ["jain", "rtt_mean:f1", _QUEUE],
    "websearch": _FCT,
    "websearch-deep": _FCT,
}


def main() -> None:
    """Measures the cases of one directory, or some of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("directory", choices=["linux", "linux-ports"])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument("--algorithm", action="append", help="only this algorithm; may be repeated")
    parser.add_argument("--farloop", default="farloop", help="the command, if it is not on the path")
    parser.add_argument("--flows", action="store_true", help="only write the flow list")
    options = parser.parse_args()
    directory = REFERENCES / options.directory
    if options.flows:
        flow_list(directory / "websearch.csv")
        return
    reference = tomllib.loads((directory / "reference.toml").read_text())
    file = directory / "results.json"
    results: dict[str, dict[str, dict[str, list[float]]]] = json.loads(file.read_text()) if file.exists() else {}
    for case in reference["case"]:
        if options.case and case["name"] not in options.case:
            continue
        for run in case["run"]:
            if options.algorithm and run["algorithm"] not in options.algorithm:
                continue
            rows = [
                measured(options.farloop, directory / case["scenario"], run, case) for _ in range(options.repetitions)
            ]
            values = {metric: [float(f"{row[metric]:.6g}") for row in rows] for metric in rows[0]}
            results.setdefault(case["name"], {})[run["algorithm"]] = values
            file.write_text(written(results))
            sys.stderr.write(f"{case['name']} {run['algorithm']} {json.dumps(values)}\n")


def written(results: dict[str, dict[str, dict[str, list[float]]]]) -> str:
    """JSON with one metric in a line."""
    lines = []
    for case, algorithms in results.items():
        runs = [
            f'  "{name}": {{\n'
            + ",\n".join(f"   {json.dumps(metric)}: {json.dumps(v)}" for metric, v in values.items())
            + "\n  }"
            for name, values in algorithms.items()
        ]
        lines.append(f' "{case}": {{\n' + ",\n".join(runs) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def measured(command: str, scenario: Path, run: dict[str, Any], case: dict[str, Any]) -> dict[str, float]:
    """The metrics of one measurement: of the attempts that the host paused, the one that it paused least."""
    best: tuple[float, dict[str, float]] | None = None
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as out:
            subprocess.run(
                [
                    *(command, "testbed", "run", str(scenario), "--algorithm", run["algorithm"]),
                    *("--out", out, "--no-report", "--force", "--quiet"),
                ],
                check=True,
            )
            gap = float(json.loads((Path(out) / "manifest.json").read_text())["measured"]["longest_gap_s"])
            sys.stderr.write(f"{case['name']} {run['algorithm']}: longest pause {1e3 * gap:.1f} ms\n")
            if best is None or gap < best[0]:
                best = (gap, metrics(Path(out), case, run["algorithm"]))
        if best[0] < PAUSE:
            break
    assert best is not None
    return best[1]


def metrics(out: Path, case: dict[str, Any], algorithm: str) -> dict[str, float]:
    """What METRICS asks of a measurement, by the same functions that measure farloop's run."""
    (run,) = farloop.load(out).runs
    since = float(case.get("since", "0s").removesuffix("s"))
    return {
        metric: measure(run, metric, since=since)
        for metric in METRICS[case["scenario"].removesuffix(".toml")]
        if algorithm in PERIODIC or not metric.startswith("period")
    }


def flow_list(file: Path) -> None:
    """400 Poisson flows with the sizes of WebSearch, a tenth of each, at 60 % of 50 Mbps."""
    run = farloop.run(
        {
            "run": {"duration": "60s", "seed": 7},
            "network": {"cross_pairs": 0, "rate": "500Mbps"},
            "switch": {"pfc": False},
            "transport": {"kind": "tcp"},
            "workload": {"sizes": "websearch", "load": 0.6, "hosts": "*1", "from": "s1", "stop": "19s"},
            "record": {"interval": "none"},
        },
        algorithm="fixed",
    )
    starts, sizes = (run.flows[name].to_pylist() for name in ("start_ps", "size_bytes"))
    drawn = sorted(zip(starts, sizes, strict=True))[:400]
    rows = [
        f"f{i},sender,receiver,{round(start / 1e6)}us,{max(size // 10, 1)}B"
        for i, (start, size) in enumerate(drawn, start=1)
    ]
    file.write_text("\n".join(["name,from,to,start,size", *rows]) + "\n")


if __name__ == "__main__":
    main()

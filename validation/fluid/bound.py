"""Makes `bound.json`: how often the bounds of the fluid simulation's errors cover the errors, and how wide they are.

    python validation/fluid/bound.py [--part calibration] [FAMILY ...]

simulates the scenarios that `bound.toml` lists packet by packet and as rates. It keeps the error and its bound for each class of sizes, and
for the 99th percentile of the slowdown. A scenario that is refused as rates is left out. docs/fluid.md has the table.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import farloop
from farloop.results.flow_completion import column
from farloop.studies.validation import fluid_cases

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "bound.json"
CLASSES = {"up to 10 kB": (0, 1e4), "up to 100 kB": (1e4, 1e5), "up to 1 MB": (1e5, 1e6), "above 1 MB": (1e6, np.inf)}
P99 = "99th percentile of the slowdown"


def main() -> None:
    """Runs what is listed, and writes the errors with their bounds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("families", nargs="*", help="Families of scenarios (default: all).")
    parser.add_argument("--part", choices=("calibration", "held-out"), default="held-out", help="Which scenarios.")
    wanted = parser.parse_args()
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else []
    groups = tomllib.loads((HERE / "bound.toml").read_text("utf-8"))["scenarios"]
    for group in groups:
        family = group["family"]
        if group["part"] != wanted.part or (wanted.families and family not in wanted.families):
            continue
        kept = [row for row in kept if (row["part"], row["family"]) != (wanted.part, family)]
        for settings in group["set"]:
            for seed in group["seeds"]:
                for algorithm in group["algorithms"]:
                    about = {
                        "part": wanted.part,
                        "family": family,
                        "set": settings,
                        "seed": seed,
                        "algorithm": algorithm,
                    }
                    kept += [
                        about | row for row in errors(fluid_cases.DIRECTORY / group["file"], settings, seed, algorithm)
                    ]
        RESULTS.write_text("[\n" + ",\n".join(json.dumps(row) for row in kept) + "\n]\n", "utf-8")


def errors(scenario: Path, settings: dict[str, Any], seed: int, algorithm: str) -> Iterator[dict[str, Any]]:
    """The errors of a scenario with their bounds, as parts of packets' numbers."""
    try:
        rates = farloop.run(scenario, algorithm=algorithm, seed=seed, set=settings, gear="fluid", threads=1)
    except farloop.ScenarioError as refused:
        sys.stderr.write(f"{scenario.stem} {settings} {algorithm}: {str(refused).splitlines()[0]}\n")
        return
    packets = farloop.run(scenario, algorithm=algorithm, seed=seed, set=settings, threads=1)
    bounds = rates.info["error"]
    times = [column(run.flows, "received_ps") - column(run.flows, "start_ps") for run in (rates, packets)]
    known = np.isfinite(times[0]) & np.isfinite(times[1])
    sizes, ideal = column(packets.flows, "size_bytes"), column(packets.flows, "ideal_fct_ps")
    apart = np.abs(times[0] / times[1] - 1)
    for name, (above, up_to) in CLASSES.items():
        mask = known & (sizes > above) & (sizes <= up_to)
        if bounds and mask.any() and name in bounds["fct"]:
            yield {"of": name, "error": round(float(np.mean(apart[mask])), 5)} | _rounded(bounds["fct"][name])
    if bounds and bounds["p99_slowdown"]:
        rate, packet = (float(np.quantile(each[known] / ideal[known], 0.99)) for each in times)
        yield {"of": P99, "error": round(abs(rate / packet - 1), 5)} | _rounded(bounds["p99_slowdown"])
    sys.stderr.write(f"{scenario.stem} {settings} {seed} {algorithm}\n")


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 5) for name, value in row.items()}


if __name__ == "__main__":
    main()

"""Measures farloop's speed beside the programs of the references, and writes speed.json of python/farloop/studies/validation/references.

    python validation/speed.py --htsim DRIVER --hpcc-ns3 .../simulation --ns3 VENV

The arguments are those of the references' own scripts (`htsim/make.py`, `hpcc-ns3/make.py`, `ns3/make.py`). A program that is left out is
not measured, and what speed.json has of it stays. It runs on Linux.

Each scenario runs in turns: the program, farloop, the program, farloop, five times, on one core, one process at a time. What is measured
is the processor time of the whole process, user and system: with reading the flow list and, for farloop, with starting Python, and without
writing results; for farloop that of the simulation alone, besides. Memory is the peak of the resident set, for farloop with Python's.
The quotient is the median of the five quotients of neighbouring runs, since a machine's speed changes; times are medians. A packet-hop
is a packet or an ACK that arrives at a node, as farloop counted them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
REFERENCES = HERE.parent / "python" / "farloop" / "studies" / "validation" / "references"
ROUNDS = 5

CASES = {
    "htsim": [
        ("dumbbell", "dctcp"),
        ("dumbbell", "swift"),
        ("drop-tail", "reno"),
        ("lossless", "fixed"),
        ("tree", "swift"),
    ],
    "hpcc-ns3": [("websearch", "hpcc"), ("websearch", "dcqcn"), ("websearch", "timely"), ("websearch", "dctcp-rate")],
    "ns3": [("dumbbell", "reno"), ("dumbbell", "cubic"), ("dumbbell-others", "bbr"), ("marks", "dctcp")],
}
"""By program: cases and algorithms of its reference, the long ones."""

Program = Callable[[str, str], float]
"""Runs a case with an algorithm once; the peak of its memory in bytes."""


def main() -> None:
    """Reads the command line, measures, and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--htsim", type=Path, metavar="DRIVER", help="htsim/driver.cpp, compiled and linked with csg-htsim"
    )
    parser.add_argument(
        "--hpcc-ns3", type=Path, metavar="DIR", help="the HPCC paper's ns-3: its directory simulation/, built"
    )
    parser.add_argument("--ns3", type=Path, metavar="VENV", help="virtual environment with the package ns3")
    parser.add_argument("--one", nargs=3, metavar=("SCENARIO", "ALGORITHM", "SETTINGS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        sys.stdout.write(json.dumps(simulated(*given.one)))
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # inherited by everything that is run
    path = REFERENCES / "speed.json"
    kept: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for name, open_program in (("htsim", htsim), ("hpcc-ns3", hpcc_ns3), ("ns3", ns3)):
        where = getattr(given, name.replace("-", "_"))
        if where is not None:
            run = open_program(where.resolve())
            kept[name] = {"machine": machine(), "cases": [measured(name, *case, run) for case in CASES[name]]}
            path.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


def measured(reference: str, case: str, algorithm: str, program: Program) -> dict[str, Any]:
    """The medians of a case."""
    toml = tomllib.loads((REFERENCES / reference / "reference.toml").read_text("utf-8"))
    (entry,) = (c for c in toml["case"] if c["name"] == case)
    settings = next(r.get("set", {}) for r in entry["run"] if r["algorithm"] == algorithm)
    scenario = str(REFERENCES / reference / entry["scenario"])
    command = [sys.executable, __file__, "--one", scenario, algorithm, json.dumps(settings)]
    theirs, ours, alone, memory, said = [], [], [], [], {}
    for _ in range(ROUNDS):
        began = children()
        memory.append(program(case, algorithm))
        theirs.append(children() - began)
        began = children()
        said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        ours.append(children() - began)
        alone.append(said["seconds"])
    row = {
        "case": case,
        "algorithm": algorithm,
        "packet_hops": said["packet_hops"],
        "program_s": statistics.median(theirs),
        "farloop_s": statistics.median(ours),
        "simulation_s": statistics.median(alone),
        "times_faster": statistics.median(a / b for a, b in zip(theirs, ours, strict=True)),
        "program_bytes": statistics.median(memory),
        "farloop_bytes": said["memory_bytes"],
    }
    sys.stderr.write(f"{reference}/{case} {algorithm}: {row}\n")
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}


def simulated(scenario: str, algorithm: str, settings: str) -> dict[str, float]:
    """The run of farloop, in this process."""
    from farloop.experiments.execution import Execution
    from farloop.experiments.variants import Variant, run_variants
    from farloop.scenario import Scenario

    loaded = Scenario.load(Path(scenario)).override(json.loads(settings), algorithm=algorithm)
    began = time.process_time()
    (run,) = run_variants([Variant("one", "one", algorithm, loaded)], Execution(threads=1))
    took = time.process_time() - began
    return {"seconds": took, "packet_hops": run.summary["packet_hops"], "memory_bytes": peak("self")}


def children() -> float:
    """Processor time of all processes that this one has started and that are over, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def peak(process: str) -> int:
    """The most memory that a process has had resident so far, in bytes; 0 when it is over."""
    try:
        lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def machine() -> str:
    """Processor and system."""
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    return f"{model}, Linux {platform.release().split('-')[0]}"


def script(name: str) -> ModuleType:
    """The script that makes a reference."""
    spec = importlib.util.spec_from_file_location(f"make_{name.replace('-', '_')}", HERE / name / "make.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def htsim(driver: Path) -> Program:
    """The driver of htsim, which tells its memory itself."""
    make = script("htsim")

    def run(case: str, algorithm: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            # Through a shell: a child of this process would count its memory as its own.
            through = Path(folder) / "driver"
            through.write_text(f'#!/bin/sh\n"{driver}" "$@"\n', "utf-8")
            through.chmod(0o755)
            return float(make.once(through, make.CASES[case], make.CASES[case].runs[algorithm], 0)["memory_bytes"])

    return run


def hpcc_ns3(simulation: Path) -> Program:
    """The HPCC paper's ns-3."""
    make = script("hpcc-ns3")

    def run(case: str, algorithm: str) -> float:
        net = make.network(REFERENCES / "hpcc-ns3" / f"{case}.toml")
        with tempfile.TemporaryDirectory() as folder:
            return float(
                make.simulate(simulation, net, make.ALGORITHMS[algorithm], 0, Path(folder) / "run")["memory_bytes"]
            )

    return run


def ns3(venv: Path) -> Program:
    """The driver of ns-3."""
    make = script("ns3")
    driver = make.compiled(venv)
    toml = tomllib.loads((REFERENCES / "ns3" / "reference.toml").read_text("utf-8"))

    def run(case: str, algorithm: str) -> float:
        (entry,) = (c for c in toml["case"] if c["name"] == case)
        name = next(r["reference"] for r in entry["run"] if r["algorithm"] == algorithm)
        text = make.statements(REFERENCES / "ns3" / entry["scenario"], name, entry.get("since"), 0, {})
        with tempfile.TemporaryFile("w+") as given:
            given.write(text)
            given.seek(0)
            child = subprocess.Popen([str(driver)], stdin=given, stdout=subprocess.DEVNULL)
            memory = 0
            while child.poll() is None:
                memory = max(memory, peak(str(child.pid)))
                time.sleep(0.02)
        if child.returncode:
            sys.exit(f"{driver}: exit status {child.returncode}")
        return float(memory)

    return run


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Instructions of the benches, held to stored baselines: figures that no other work on the machine moves.

For packets, instructions and events per packet-hop; for rates (`run.gear = "fluid"`), instructions per look at a flow.

    scripts/guard.py [CASE ...]       measures, and fails where a case costs over 3 % more than its baseline
    scripts/guard.py --build          builds the program that is measured, and ends
    scripts/guard.py --accept         measures all cases and stores them as the baselines
    scripts/guard.py --tolerance 1    fails where a case costs over 1 % more
    scripts/guard.py --runs 2         measures twice, and says how far the counts are apart
    scripts/guard.py --profile quick  of a program without optimisation at link time, whose baselines are its own (CI)

Counted by valgrind's callgrind, inside of `Simulation::run` alone: neither reading a scenario nor building its network
counts. The baselines (benches/guard.json, benches/guard-quick.json) hold for one compiler and one kind of machine.
Where valgrind is missing, or compiler or machine are others, this says so and ends without a verdict, with exit code 0.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parent.parent

BASELINES = {"release": ROOT / "benches" / "guard.json", "quick": ROOT / "benches" / "guard-quick.json"}
"""By the profile of Cargo with which the program is built."""

#: The functions whose instructions count, callees included: of packets, and of rates. They are marked `#[inline(never)]`.
COUNTED = ("farloop_net::sim::Simulation::run*", "farloop_fluid::simulation::Simulation::run")

#: By how much a case may differ from its baseline unless `--tolerance` says otherwise.
TOLERANCE = 0.03

#: Name, scenario, what is set: short enough for an emulator; wide-area delays so short that answers come back.
CASES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "D1": ("d1", {"run.duration": "75ms"}),
    "D2": ("d2", {"run.duration": "400us"}),
    "D2-tcp": ("d2-tcp", {"run.duration": "400us"}),
    "D2-multipath": ("d2-multipath", {"run.duration": "400us"}),
    "D2-multipath-departure": ("d2-multipath", {"run.duration": "400us", "switch.ecn_at": '"departure"'}),
    "hybrid": ("hybrid", {"run.duration": "6ms"}),
    "D3": ("d3", {"run.duration": "400us", "network.wan_delay": "100us"}),
    "gear-fabric": ("gear-fabric", {"run.duration": "1ms", "network.wan_delay": "200us"}),
    "mlcc": ("mlcc", {"run.duration": "2ms", "network.wan_delay": "200us"}),
    "D2-fluid": ("d2", {"run.gear": '"fluid"', "run.fluid_error": "false", "switch.buffer": '"2GB"'}),
    "ring-fluid": ("ring", {"run.gear": '"fluid"', "run.fluid_error": "false", "workload.size": '"64MB"'}),
}


@dataclass(frozen=True)
class Count:
    """What was counted in one case."""

    instructions: int
    #: Packet-hops, or looks.
    number: int
    #: Events of the calendar; 0 where they are not counted.
    events: int
    unit: str = "packet-hop"

    @property
    def each(self) -> float:
        """Instructions per packet-hop, or per look."""
        return self.instructions / self.number

    @property
    def events_each(self) -> float:
        """Events of the calendar per packet-hop."""
        return self.events / self.number


def say(text: str, to: TextIO | None = None) -> None:
    """Writes a line."""
    stream = to or sys.stdout
    stream.write(f"{text}\n")
    stream.flush()


class GuardError(Exception):
    """Nothing could be measured."""


def verdict(name: str, count: Count, baseline: Count | None, tolerance: float = TOLERANCE) -> tuple[bool, str]:
    """Whether a case may pass, and a line that says why."""
    line = f"{name}: {count.each:.1f} instructions per {count.unit}"
    if baseline is None:
        return False, f"{line}; it has no baseline"
    change = count.each / baseline.each - 1
    line += f", baseline {baseline.each:.1f} ({change:+.2%})"
    events, before = count.events_each, baseline.events_each
    if events > before * (1 + tolerance):
        return False, f"{line}; {events:.3f} events per {count.unit}, were {before:.3f}: over {100 * tolerance:g}% more"
    if count.number != baseline.number:
        line += f"; the simulation differs: {count.number:,} {count.unit}s, were {baseline.number:,}"
    if change > tolerance:
        return False, f"{line}: over {100 * tolerance:g}% more"
    if change < -tolerance:
        return True, f"{line}: the baseline can be lowered (make guard-accept)"
    return True, line


def spread(counts: Sequence[Count]) -> str:
    """How far counts of one case are apart."""
    instructions = [count.instructions for count in counts]
    apart = max(instructions) - min(instructions)
    return (
        f"{len(counts)} runs, {apart:,} of {max(instructions):,} instructions apart ({apart / max(instructions):.1e})"
    )


def load(text: str) -> tuple[dict[str, str], dict[str, Count]]:
    """Where the baselines were measured, and the baselines."""
    stored: dict[str, Any] = json.loads(text)

    def count(case: dict[str, int]) -> Count:
        if "looks" in case:
            return Count(case["instructions"], case["looks"], 0, "look")
        return Count(case["instructions"], case["packet_hops"], case["events"])

    return stored["measured_with"], {name: count(case) for name, case in stored["cases"].items()}


def dump(place: Mapping[str, str], counts: Mapping[str, Count]) -> str:
    """The text of the baselines' file."""

    def case(count: Count) -> dict[str, float]:
        key = count.unit.replace("-", "_")
        events = {"events": count.events} if count.events else {}
        each = {f"instructions_per_{key}": round(count.each, 1)}
        return {"instructions": count.instructions, f"{key}s": count.number, **events, **each}

    cases = {name: case(count) for name, count in counts.items()}
    return json.dumps({"measured_with": dict(place), "cases": cases}, indent=2) + "\n"


def obstacle(here: Mapping[str, str], pinned: str, stored: Mapping[str, str] | None) -> str | None:
    """Why counts of this machine cannot be held to the baselines."""
    if here["rustc"].split()[1:2] != [pinned]:
        return f"the compiler is {here['rustc']}, the pinned toolchain {pinned} (rust-toolchain.toml)"
    if stored is not None and here["machine"] != stored["machine"]:
        return f"this machine is {here['machine']}, the baselines are of {stored['machine']}"
    return None


def environment() -> dict[str, str]:
    """The environment without what changes the code that the compiler makes, or for how many threads."""
    names = re.compile(r"CARGO_PROFILE_|CARGO_BUILD_RUSTFLAGS|CARGO_ENCODED_RUSTFLAGS|RUSTFLAGS|FARLOOP_")
    kept = {name: value for name, value in os.environ.items() if not names.match(name)}
    # Incremental compilation inlines other functions, and so changes the counts.
    return kept | {"CARGO_INCREMENTAL": "0"}


def build(profile: str) -> Path:
    """Builds the program that runs a scenario: as users run it ("release"), or as tests do ("quick")."""
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "build", "--quiet", "--profile", profile, "-p", "farloop-scenario", "--example", "run"]
    if subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode != 0:
        raise GuardError("the example `run` of farloop-scenario cannot be built")
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / profile / "examples" / "run"


def measure(run: Path, name: str) -> Count:
    """Runs a case under callgrind."""
    scenario, overrides = CASES[name]
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory) / "profile"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        command += [f"--toggle-collect={function}" for function in COUNTED]
        command += [str(run), f"benches/{scenario}.toml", *(f"{key}={value}" for key, value in overrides.items())]
        done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise GuardError(f"{name} failed under valgrind with exit code {done.returncode}:\n{done.stderr}")
        text = profile.read_text(encoding="utf-8")
    return Count(counted(name, text), *work(name, done.stdout))


def counted(name: str, profile: str) -> int:
    """Instructions in a profile of callgrind."""
    total = re.search(r"^(?:summary|totals): *(\d+)", profile, re.MULTILINE)
    if total is None or int(total[1]) == 0:
        raise GuardError(
            f"{name}: no instruction was counted in {' or '.join(COUNTED)}; has it another name, or was it inlined?"
        )
    return int(total[1])


def work(name: str, output: str) -> tuple[int, int, str]:
    """Packet-hops and events, or looks, as the program reports them, and what the first ones are."""
    looks = re.search(r"^(\d+) looks", output, re.MULTILINE)
    if looks is not None and int(looks[1]) > 0:
        return int(looks[1]), 0, "look"
    reported = re.search(r"^(\d+) packet-hops, (\d+) events", output, re.MULTILINE)
    if reported is None or int(reported[1]) == 0:
        raise GuardError(f"{name}: the program reported no packet-hops or looks:\n{output}")
    return int(reported[1]), int(reported[2]), "packet-hop"


def main(arguments: Sequence[str]) -> int:
    """Does what the command line says."""
    parser = argparse.ArgumentParser(description="Instructions per packet-hop or look, held to stored baselines.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)} (all)")
    parser.add_argument("--accept", action="store_true", help="store what is measured as the baselines")
    parser.add_argument("--build", action="store_true", help="build the program that is measured, and end")
    parser.add_argument("--profile", choices=BASELINES, default="release", help="how the program is built (release)")
    parser.add_argument("--runs", type=int, default=1, help="measure so often, and say how far the counts are apart")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=100 * TOLERANCE,
        metavar="PERCENT",
        help="by how much a case may cost more (3)",
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"there is no case {', '.join(unknown)}; cases: {', '.join(CASES)}")
    if options.accept and options.cases:
        parser.error("--accept stores all cases; leave out their names")
    if options.runs < 1:
        parser.error("--runs is 1 or more")
    if not 0 < options.tolerance < 100:
        parser.error("--tolerance is above 0 and below 100 percent")
    if shutil.which("valgrind") is None:
        say("guard skipped: valgrind is missing; install it with your package manager (apt-get install valgrind)")
        return 0
    compiler = subprocess.run(
        [os.environ.get("RUSTC", "rustc"), "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    here = {"rustc": compiler.stdout.strip(), "machine": f"{platform.system()} {platform.machine()}"}
    pinned = tomllib.loads((ROOT / "rust-toolchain.toml").read_text(encoding="utf-8"))["toolchain"]["channel"]
    file = BASELINES[options.profile]
    is_compared = file.exists() and not options.accept
    stored, baselines = load(file.read_text(encoding="utf-8")) if is_compared else (None, {})
    reason = obstacle(here, pinned, stored)
    if reason is not None:
        say(f"guard skipped: {reason}")
        return 0
    try:
        program = build(options.profile)
        if options.build:
            return 0
        counts = measure_all(program, options.cases or list(CASES), options.runs)
    except GuardError as error:
        say(f"guard failed: {error}", to=sys.stderr)
        return 1
    if options.accept:
        file.write_text(dump(here, counts), encoding="utf-8")
        say(f"stored in {file.relative_to(ROOT)}: commit it, and say in the message why the cost changed")
        return 0
    return judge(here, stored, counts, baselines, options.tolerance / 100)


def measure_all(run: Path, names: Sequence[str], runs: int) -> dict[str, Count]:
    """Measures all cases, some at a time."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = {name: [pool.submit(measure, run, name) for _ in range(runs)] for name in names}
        counts = {name: [job.result() for job in of_case] for name, of_case in jobs.items()}
    if runs > 1:
        for name, of_case in counts.items():
            say(f"{name}: {spread(of_case)}")
    return {name: of_case[0] for name, of_case in counts.items()}


def judge(
    here: Mapping[str, str],
    stored: Mapping[str, str] | None,
    counts: Mapping[str, Count],
    baselines: Mapping[str, Count],
    tolerance: float = TOLERANCE,
) -> int:
    """Prints the verdicts; 1 if a case costs too much, else 0."""
    verdicts = [verdict(name, count, baselines.get(name), tolerance) for name, count in counts.items()]
    for _, line in verdicts:
        say(line)
    if all(passed for passed, _ in verdicts):
        return 0
    if any(name not in baselines for name in counts):
        say("Cases without a baseline: `make guard-accept` stores what they cost.", to=sys.stderr)
        return 1
    if stored is not None and stored["rustc"] != here["rustc"]:
        say(f"The baselines are of {stored['rustc']}, this is {here['rustc']}.", to=sys.stderr)
    say(
        "The simulator has become more expensive. If that is meant, store the new cost with `make guard-accept` "
        "(scripts/guard.py --accept), and say in the message of the commit what it is paid for.",
        to=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Whether `farloop validate` would notice: ten faults are put into the simulator, one at a time, and its quick part runs on each.

    scripts/faults.py                 all of them (some twenty minutes), and writes the table of docs/validation.md
    scripts/faults.py headroom ecmp   some of them; the table stays

Each fault is a replacement of one line or a few in a copy of the sources, which is built there. It is caught where a number leaves its
limit, a change that must not matter does, or a run breaks one of its own consistency checks.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "validation.md"
BEGIN, END = "<!-- faults: written by scripts/faults.py -->", "<!-- end of faults -->"

#: Where the copies are compiled, so that each builds only what its fault touches.
TARGET = ROOT / "target" / "faults"

#: Optimised, but without what takes long to compile.
PROFILE = {
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "CARGO_PROFILE_RELEASE_INCREMENTAL": "true",
}


@dataclass(frozen=True)
class Fault:
    """A fault of a simulator.

    Attributes:
        name: What it is called on the command line.
        what: What is wrong, in words.
        edits: File, what stands there once, and what stands there then.
    """

    name: str
    what: str
    edits: tuple[tuple[str, str, str], ...]


FAULTS = (
    Fault(
        "threshold",
        "ECN marks from a packet later on",
        (
            (
                "crates/net/src/port/stats.rs",
                "        Marking { kmin, kmax,",
                "        let (kmin, kmax) = (kmin + Bytes::new(1538), kmax + Bytes::new(1538));\n        Marking { kmin, kmax,",
            ),
        ),
    ),
    Fault(
        "rtt",
        "round-trip times count twice",
        (
            (
                "crates/net/src/host/endpoint.rs",
                "    Answer { seq: packet.seq, nack, rtt, ecn_echo }",
                "    Answer { seq: packet.seq, nack, rtt: rtt * 2, ecn_echo }",
            ),
            (
                "crates/tcp/src/rto.rs",
                "    pub fn sample(&mut self, rtt: Delta) {\n",
                "    pub fn sample(&mut self, rtt: Delta) {\n        let rtt = rtt * 2;\n",
            ),
        ),
    ),
    Fault(
        "gain",
        "DCTCP's α moves with half its gain",
        (
            (
                "crates/cc/src/algorithms/dctcp.rs",
                "            self.alpha = (1.0 - self.g) * self.alpha + self.g * fraction; // Eq. 1",
                "            self.alpha = (1.0 - self.g / 2.0) * self.alpha + self.g / 2.0 * fraction;",
            ),
        ),
    ),
    Fault(
        "duplicates",
        "TCP repeats after two duplicate ACKs",
        (
            (
                "crates/tcp/src/recovery.rs",
                "                if self.repair.dup_acks >= self.config.dup_ack_threshold && self.is_fresh() {",
                "                if self.repair.dup_acks >= self.config.dup_ack_threshold - 1 && self.is_fresh() {",
            ),
            (
                "crates/tcp/src/recovery.rs",
                "            self.board.lose_by_sack(self.config.dup_ack_threshold);",
                "            self.board.lose_by_sack(self.config.dup_ack_threshold - 1);",
            ),
            (
                "crates/tcp/src/recovery.rs",
                "            if self.repair.dup_acks >= self.config.dup_ack_threshold {",
                "            if self.repair.dup_acks >= self.config.dup_ack_threshold - 1 {",
            ),
        ),
    ),
    Fault(
        "headroom",
        "no buffer is kept for what arrives after a pause",
        (
            (
                "crates/network/src/headroom.rs",
                "            (_, None) => pfc.headroom.unwrap_or_else(computed),",
                "            (_, None) => pfc.headroom.unwrap_or_else(computed).min(Bytes::ZERO),",
            ),
        ),
    ),
    Fault(
        "acks",
        "ACKs take no time on a link",
        (
            (
                "crates/net/src/port/mod.rs",
                "        let end = start + time;\n        self.busy_until = end;",
                "        let time = if packets[slot].kind == PacketKind::Data { time } else { Delta::ZERO };\n"
                "        let end = start + time;\n        self.busy_until = end;",
            ),
        ),
    ),
    Fault(
        "ecmp",
        "ECMP always takes the first port",
        (
            (
                "crates/network/src/network/routing.rs",
                "        self.groups[group.ports as usize + place(hash, group.size as usize)]",
                "        self.groups[group.ports as usize + place(hash, group.size as usize) * 0]",
            ),
        ),
    ),
    Fault(
        "delay",
        "links delay data and not ACKs",
        (
            (
                "crates/net/src/port/mod.rs",
                "        let arrival = end + self.delay + late;",
                "        let away = if packets[slot].kind == PacketKind::Data { self.delay } else { Delta::ZERO };\n"
                "        let arrival = end + away + late;",
            ),
        ),
    ),
    Fault(
        "back-off",
        "retransmission timeouts do not double",
        (("crates/tcp/src/rto.rs", "        self.backoff += 1;", "        self.backoff += 0;"),),
    ),
    Fault(
        "telemetry",
        "INT reports the queue of a packet ago",
        (
            (
                "crates/net/src/port/mod.rs",
                "            let (queue, rate) = (if empty { Bytes::ZERO } else { self.shown_queue() }, self.int);\n",
                "            let ahead = Bytes::new(u64::from(packets[slot].wire));\n"
                "            let (queue, rate) = (if empty { ahead } else { self.shown_queue() + ahead }, self.int);\n",
            ),
        ),
    ),
)


def main() -> int:
    """Tries the faults; the exit status says whether at least nine of ten were caught."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=", ".join(fault.name for fault in FAULTS))
    chosen = parser.parse_args().faults
    for name in chosen:
        if name not in [fault.name for fault in FAULTS]:
            parser.error(f"{name}: no such fault; there are {', '.join(fault.name for fault in FAULTS)}")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        copy = copied(Path(name))
        build(copy)
        if problem := validated(copy):
            sys.stderr.write(f"faults: without any fault: {problem}; expected nothing\n")
            return 2
        for fault in FAULTS:
            if chosen and fault.name not in chosen:
                continue
            caught = tried(fault, copy)
            rows.append((fault, caught))
            sys.stdout.write(f"{fault.name}: {caught or 'NOT CAUGHT'}\n")
            sys.stdout.flush()
    if not chosen:
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), rows), encoding="utf-8")
    missed = sum(not caught for _, caught in rows)
    return int(missed > max(1, len(rows)) // 10)


def with_table(text: str, rows: Sequence[tuple[Fault, str]]) -> str:
    """The page with the table of faults between its markers."""
    lines = ["| fault | caught by |", "| --- | --- |"]
    lines += [f"| {fault.what} | {caught or '**not caught**'} |" for fault, caught in rows]
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{rest.partition(END)[2]}"


def copied(into: Path) -> Path:
    """The sources that git knows, in a directory of their own. They are new there: cargo goes by times, not by places."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, into / name)
    return into


def tried(fault: Fault, copy: Path) -> str:
    """What catches a fault, in words; empty if nothing does. The copy is as before afterwards."""
    before = {path: (copy / path).read_text("utf-8") for path, _, _ in fault.edits}
    try:
        for path, old, new in fault.edits:
            (copy / path).write_text(edited((copy / path).read_text("utf-8"), old, new), encoding="utf-8")
        build(copy)
        return validated(copy)
    finally:
        for path, text in before.items():
            (copy / path).write_text(text, encoding="utf-8")


def edited(text: str, old: str, new: str) -> str:
    """The text with the replacement.

    Raises:
        ValueError: what is to be replaced does not stand there once.
    """
    if text.count(old) != 1:
        raise ValueError(f"stands there {text.count(old)} times; expected once: {old}")
    return text.replace(old, new)


def build(copy: Path) -> None:
    """Compiles the copy's simulator into its package."""
    environment = os.environ | PROFILE | {"CARGO_TARGET_DIR": str(TARGET)}
    command = ["cargo", "build", "--quiet", "--release", "--package", "farloop-py"]
    subprocess.run(command, cwd=copy, env=environment, check=True)
    shutil.copy2(TARGET / "release" / "lib_native.so", copy / "python" / "farloop" / "_native.abi3.so")


def validated(copy: Path) -> str:
    """What the copy's quick part finds, in words; empty for nothing."""
    into = copy / "out"
    shutil.rmtree(into, ignore_errors=True)
    command = [sys.executable, "-m", "farloop", "validate", "--quiet", "--no-report", "--out", str(into)]
    environment = os.environ | {"PYTHONPATH": str(copy / "python")}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if not (into / "validation.json").is_file():
        if not done.returncode:
            return ""
        said = [line for line in done.stderr.splitlines() if line.strip() and "are kept" not in line]
        own = [line.removeprefix("farloop: ") for line in said if line.startswith("farloop: ")]
        return (
            f"a run's own check: {own[0][:160]}"
            if own
            else f"the program ends with {done.returncode}: {said[-1][:160]}"
        )
    kept = json.loads((into / "validation.json").read_text("utf-8"))
    differing = [row for row in kept["checks"] if row["verdict"] == "differs"]
    broken = [row["relation"] for row in kept["relations"] if not row["holds"]]
    parts = []
    if differing:
        places = list(dict.fromkeys(f"{row['reference']}/{row['case']}" for row in differing))
        more = f" and {len(places) - 3} more" if len(places) > 3 else ""
        parts.append(f"{len(differing)} numbers: {', '.join(places[:3])}{more}")
    if broken:
        parts.append(f"changes that must not matter: {', '.join(broken)}")
    return "; ".join(parts)


if __name__ == "__main__":
    sys.exit(main())

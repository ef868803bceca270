#!/usr/bin/env python3
"""Compares all files that farloop's commands write, before and after a change that should move no number.

    scripts/compare_outputs.py make OUT [--testbed DIR] [RUN ...]   runs the commands of scripts/outputs.toml
    scripts/compare_outputs.py compare OLD NEW [--names FILE.toml]  compares two of these

Numbers are compared by their labels: a column by its name, a value of a JSON file by its path, so that an order may change. FILE.toml
gives labels other names, as `"old name" = "new name"`. Wall times, progress, commits, dates and the place of the checkout do not count. The
exit code is 1 where anything else differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "scripts" / "outputs.toml"

VARYING = frozenset(
    {
        "wall_s",
        "wall",
        "seconds",
        "processor_s",
        "cpu_s",
        "commit",
        "date",
        "version",
        "python",
        "machine",
        "host",
        "made",
        "command",
    }
)
"""Labels whose values say when, where and with which build a run was made."""

VARYING_TEXT = re.compile(
    r"\b\d+(?:\.\d+)? ?(?:s|ms|min|h) (?:of wall time|wall)|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)?(?:e\d+)? packet-hops per second|"
    r"\bin \d[\d.,]* (?:s|min|h) of computing|\"wall_s\": ?[0-9.e-]+|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?"
)
"""The same in pages and in what commands print."""

PROGRESS = re.compile(
    r": started$|: done in |: building the network for |: [\d.]+ of [\d.]+ s simulated|\bruns? (?:to make|done)|: kept from before$"
)
"""Lines on standard error that say how far a command is: their order is that of threads."""

SPEED = "M hops/s"
"""The head of the last column of a table of runs, whose cells are wall times."""

SPEEDS = re.compile(r"│[^│]*│$|<td>[^<]*(?:<br><span class=\"interval-text\">[^<]*</span>)?</td></tr>", re.MULTILINE)
"""The last cells of rows, on a terminal and on a page."""

CHECKOUT = re.compile(r"(?<![\w/+])/[\w./-]{0,200}/(?=(?:python/farloop|examples)/)")
"""The place of a checkout."""

SHOWN = 8
"""Differences of a file that are printed."""


def make(out: Path, names: Sequence[str], testbed: Path | None) -> int:
    """Runs the commands, each into a folder of its own, and keeps what they print."""
    runs = tomllib.loads(RUNS.read_text("utf-8"))["run"]
    unknown = set(names) - {run["name"] for run in runs}
    if unknown:
        sys.stderr.write(f"compare_outputs: there is no run {sorted(unknown)[0]!r} in {RUNS.name}\n")
        return 2
    places = {run["name"]: str(out / run["name"]) for run in runs}
    failed = 0
    for run in runs:
        name = run["name"]
        if (names and name not in names) or (name == "testbed" and testbed is None):
            continue
        folder = out / name
        if testbed is not None and name == "testbed":
            shutil.copytree(testbed, folder, dirs_exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        command = run["command"].format(out=folder, **places)
        done = subprocess.run(
            [sys.executable, "-m", "farloop", *shlex.split(command)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        (folder / "stdout.txt").write_text(done.stdout.replace(str(out), "OUT"), "utf-8")
        (folder / "stderr.txt").write_text(done.stderr.replace(str(out), "OUT"), "utf-8")
        show(f"{name}: exit code {done.returncode}")
        if done.returncode not in (0, 1):
            sys.stderr.write(done.stderr)
            failed = 1
    return failed


def compare(old: Path, new: Path, names: Mapping[str, str]) -> int:
    """Compares all files of two folders, and prints what differs."""
    files = [{str(p.relative_to(folder)) for p in folder.rglob("*") if is_output(p)} for folder in (old, new)]
    differing = 0
    for gone in sorted(files[0] - files[1]):
        show(f"{gone}: in {old} only")
    for come in sorted(files[1] - files[0]):
        show(f"{come}: in {new} only")
    differing += len(files[0] ^ files[1])
    for name in sorted(files[0] & files[1]):
        differences = list(compare_files(old / name, new / name, names))
        if differences:
            differing += 1
            show(f"{name}: {len(differences)} differences")
            for line in differences[:SHOWN]:
                show(f"  {line}")
    same = len(files[0] & files[1])
    show(f"{same} files in both folders, {differing} differ")
    return int(differing > 0)


def is_output(path: Path) -> bool:
    """Returns true for a file that is no part of a store of runs, whose names are addresses."""
    return (
        path.is_file()
        and not {".store", "run-store"}.intersection(path.parts)
        and not path.name.endswith((".lock", ".log"))
    )


def compare_files(old: Path, new: Path, names: Mapping[str, str]) -> Iterator[str]:
    """Yields a line for each label whose values differ."""
    readers = {".parquet": read_parquet, ".json": read_json, ".csv": read_csv}
    if old.read_bytes() == new.read_bytes():
        return
    reader = readers.get(old.suffix)
    if reader is None:
        yield from compare_texts(old, new)
        return
    before, after = reader(old), reader(new)
    before = {rename(label, names): value for label, value in before.items()}
    for label in sorted(before.keys() - after.keys()):
        yield f"{label}: gone, was {shorten(before[label])}"
    for label in sorted(after.keys() - before.keys()):
        yield f"{label}: new, is {shorten(after[label])}"
    for label in sorted(before.keys() & after.keys()):
        if before[label] != after[label]:
            yield f"{label}: {shorten(before[label])} became {shorten(after[label])}"


def rename(label: str, names: Mapping[str, str]) -> str:
    """The label with each of its parts by its new name."""
    return names.get(label) or "/".join(names.get(part, part) for part in label.split("/"))


def shorten(value: object) -> str:
    """A value as text that fits on a line."""
    text = repr(value)
    return text if len(text) <= 90 else text[:87] + "..."


def read_parquet(path: Path) -> dict[str, object]:
    """The columns of a table; NaN as text, since it is not equal to itself."""
    table = pq.read_table(path)
    return {name: [plain(v) for v in table[name].to_pylist()] for name in table.column_names if name not in VARYING}


def read_csv(path: Path) -> dict[str, object]:
    """The columns of a file with a head."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(line for line in file if not line.startswith("#")))
    head = rows[0] if rows else []
    return {
        name: [row[i] if i < len(row) else "" for row in rows[1:]] for i, name in enumerate(head) if name not in VARYING
    }


def read_json(path: Path) -> dict[str, object]:
    """The values of a file, each by its path."""
    return dict(flatten("", json.loads(path.read_text("utf-8"))))


def flatten(place: str, value: Any) -> Iterator[tuple[str, object]]:
    """Yields path and value of each leaf whose label does not vary. Lists of objects that have a name go by it."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in VARYING and key not in ("address", "tables"):
                yield from flatten(f"{place}/{key}" if place else key, item)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for i, item in enumerate(value):
            yield from flatten(f"{place}/{item.get('name', i)}", item)
    else:
        yield place, plain(value)


def plain(value: object) -> object:
    """NaN as text; texts without the place of the checkout; everything else as it is."""
    if isinstance(value, str):
        return CHECKOUT.sub("", value)
    return "nan" if isinstance(value, float) and value != value else value


def compare_texts(old: Path, new: Path) -> Iterator[str]:
    """Yields the first place where two pages differ; other files byte by byte."""
    try:
        lines = [comparable_lines(path) for path in (old, new)]
    except UnicodeDecodeError:
        yield f"{old.stat().st_size} bytes became {new.stat().st_size} others"
        return
    for i, pair in enumerate(zip(*lines, strict=False)):
        # The lines of a page with data are long: only those that differ are looked through.
        a, b = pair if pair[0] == pair[1] else (VARYING_TEXT.sub("~", line) for line in pair)
        if a != b:
            at = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            yield f"line {i + 1}, column {at + 1}: {shorten(a[max(at - 20, 0) : at + 60])} became {shorten(b[max(at - 20, 0) : at + 60])}"
    if len(lines[0]) != len(lines[1]):
        yield f"{len(lines[0])} lines became {len(lines[1])}"


def comparable_lines(path: Path) -> list[str]:
    """The lines of a page, or of what a command prints, without progress, speeds and the place of the checkout."""
    text = CHECKOUT.sub("", path.read_text("utf-8"))
    if SPEED in text:
        text = SPEEDS.sub("~", text)
    return [line for line in text.split("\n") if path.name != "stderr.txt" or not PROGRESS.search(line)]


def show(line: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="run the commands of scripts/outputs.toml")
    making.add_argument("out", type=Path)
    making.add_argument("runs", nargs="*", metavar="RUN", help="only these runs")
    making.add_argument("--testbed", type=Path, help="an output of `farloop testbed run`, whose report is drawn again")
    comparing = commands.add_parser("compare", help="compare two such folders")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--names", type=Path, help="a TOML file of old names and the new ones")
    arguments = parser.parse_args()
    if arguments.command == "make":
        return make(arguments.out.resolve(), arguments.runs, arguments.testbed)
    names = tomllib.loads(arguments.names.read_text("utf-8")) if arguments.names else {}
    return compare(arguments.old, arguments.new, names)


if __name__ == "__main__":
    sys.exit(main())

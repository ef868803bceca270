#!/usr/bin/env python3
"""Runs the tests that are closest to what has changed: `make test FAST=1`.

    scripts/fast_tests.py                     files changed since the last commit, untracked ones included
    scripts/fast_tests.py --since main        since another commit
    scripts/fast_tests.py --list              prints the commands and runs nothing

An edited crate has its own tests run. An edited Python file has those test files run that import its module, that have its room's name or
that name it, the closest first, as far as the seconds of the last `make test` fit into `--seconds`. This is no proof: before a change is
proposed, `make test` runs all.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "python/farloop/"

UNKNOWN_SECONDS = 4.0
"""For a test file that `make test` has not yet timed."""

STRUCTURE = ("tests/project/test_names.py", "tests/project/test_lengths.py", "tests/project/test_imports.py")
"""Quick tests that any edit can fail."""

MARKERS = "not live and not record and not browser and not site"


def list_changes(since: str) -> list[str]:
    """Paths that differ from a commit, and those that git does not yet know.

    Raises:
        subprocess.CalledProcessError: git knows no such commit.
    """
    changed = git("diff", "--name-only", since, "--") + git("ls-files", "--others", "--exclude-standard")
    return sorted(set(changed))


def git(*words: str) -> list[str]:
    """The lines that a command of git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]


def list_crates(changes: Iterable[str]) -> list[str]:
    """The packages of the edited crates that have Rust tests."""
    names = {match[1] for path in changes if (match := re.match(r"crates/(\w+)/", path))}
    return [f"farloop-{name}" for name in sorted(names - {"py", "benches"})]


def rank_test_files(changes: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """Test files, those first that are closest to the edited files.

    Args:
        changes: Paths below the repository.
        texts: For each test file its source.
    """
    scores: Counter[str] = Counter()
    for path in changes:
        if path in texts:
            scores[path] += 100
        if not path.startswith(PACKAGE):
            continue
        # Tests are in folders named after the innermost folder of what they test.
        rest = path.removeprefix(PACKAGE).rpartition("/")[0]
        room = rest.rpartition("/")[2]
        stem = Path(path).stem
        module = path.removeprefix("python/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        package, _, name = module.rpartition(".")
        imports = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{re.escape(name)}\b")
        for test, text in texts.items():
            if imports.search(text):
                scores[test] += 10
            if rest and test.startswith(f"tests/{room}/"):
                scores[test] += 4
            if stem in Path(test).stem:
                scores[test] += 4
            if rest and f"farloop.{rest.replace('/', '.')}" in text:
                scores[test] += 1
    return sorted(scores, key=lambda test: (-scores[test], test))


def read_times(report: Path) -> dict[str, float]:
    """Seconds of each test file in a report of pytest (JUnit XML); nothing where there is none."""
    if not report.is_file():
        return {}
    times: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        parts = case.get("classname", "").split(".")
        # A class of tests stands behind its module.
        while parts and not (ROOT / ("/".join(parts) + ".py")).is_file():
            parts.pop()
        times["/".join(parts) + ".py"] += float(case.get("time", 0))
    return dict(times)


def choose(ranked: Sequence[str], times: Mapping[str, float], seconds: float) -> list[str]:
    """The first test files that fit into some processor seconds, at least one."""
    chosen: list[str] = []
    left = seconds
    for test in ranked:
        cost = times.get(test, UNKNOWN_SECONDS)
        if chosen and cost > left:
            continue
        chosen.append(test)
        left -= cost
    return chosen


def show(line: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Chooses the tests and runs them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--since", default="HEAD", help="the commit with which the files are compared")
    parser.add_argument("--times", type=Path, default=ROOT / "target" / "pytest.xml", help="what pytest reported last")
    parser.add_argument("--workers", default="auto", help="processes of pytest")
    parser.add_argument("--seconds", type=float, default=80.0, help="processor seconds for Python tests")
    parser.add_argument("--list", action="store_true", help="print the commands and run nothing")
    arguments = parser.parse_args()
    try:
        changes = list_changes(arguments.since)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"fast_tests: {error.stderr.strip()}\n")
        return 2
    texts = {str(p.relative_to(ROOT)): p.read_text("utf-8") for p in sorted((ROOT / "tests").rglob("test_*.py"))}
    commands: list[list[str]] = []
    if crates := list_crates(changes):
        commands.append(["cargo", "test", *(word for crate in crates for word in ("-p", crate))])
    ranked = rank_test_files(changes, texts)
    tests = choose(ranked, read_times(arguments.times), arguments.seconds) if ranked else []
    if tests or crates:
        files = list(dict.fromkeys([*tests, *STRUCTURE]))
        commands.append(
            [sys.executable, "-m", "pytest", "-m", MARKERS, "-n", arguments.workers, "--dist", "loadfile", *files]
        )
    if not commands:
        show(
            f"nothing that has tests differs from {arguments.since}: `make test` runs all, SINCE=COMMIT looks from there"
        )
        return 0
    if left_out := len(ranked) - len(tests):
        show(
            f"{len(tests)} test files of {len(ranked)} that have to do with the changes; {left_out} do not fit into the time"
        )
    for command in commands:
        show(" ".join(command))
        if not arguments.list and (code := subprocess.run(command, cwd=ROOT).returncode):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())

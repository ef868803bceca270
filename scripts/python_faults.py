#!/usr/bin/env python3
"""Whether the tests would notice: faults are put into python/farloop, one at a time, and the tests run on each.

    scripts/python_faults.py                 all of them, by the tests that the list names
    scripts/python_faults.py --whole         what these miss by the whole suite
    scripts/python_faults.py seed-dropped    some of them; --jobs 4 tries so many side by side

scripts/python_faults.toml is the list. Each fault is one line of a copy of the package, which has the native module beside it: the
checkout's own files stay as they are. It is caught where a test fails that passes on the copy without the fault.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from faults import ROOT, Fault, edited

PACKAGE = "python/farloop"
LIST = ROOT / "scripts" / "python_faults.toml"

EVERYTHING = "not live and not record and not browser"
"""Which tests run: those of `make test` that are no packets of a live kernel."""

LIMIT = 3600
"""Seconds that tests may take. A fault that has no end is not caught: nobody waits for it."""

PATIENCE = 30
"""Seconds that pytest then has to tidy up."""

FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", re.MULTILINE)
"""A line of pytest's summary that names a test."""


class ListError(Exception):
    """The list does not fit the sources; the text names the fault, and what is expected."""


@dataclass(frozen=True)
class PythonFault(Fault):
    """A fault of the package.

    Attributes:
        tests: What is likely to notice: files of tests, or FILE::TEST of one that takes long.
    """

    tests: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """What became of a fault.

    Attributes:
        fault: The fault.
        caught: The test that notices; empty if none does.
        why: Why none does.
    """

    fault: PythonFault
    caught: str
    why: str = ""


def read_faults(path: Path = LIST) -> tuple[PythonFault, ...]:
    """The faults of a list, in its order."""
    entries = tomllib.loads(path.read_text("utf-8"))["fault"]
    return tuple(
        PythonFault(
            entry["name"],
            entry["what"],
            ((f"{PACKAGE}/{entry['file']}", entry["line"], entry["instead"]),),
            tuple(entry["tests"]),
        )
        for entry in entries
    )


def faulty_text(fault: PythonFault, package: Path) -> tuple[Path, str]:
    """The file of a package, or of a copy of it, that a fault is in, and its text with the fault.

    Raises:
        ListError: the line does not stand there once and whole, or a test is not there.
    """
    ((name, old, new),) = fault.edits
    source = package / name.removeprefix(f"{PACKAGE}/")
    for tests in fault.tests:
        file, _, function = tests.partition("::")
        path = ROOT / file
        if not path.is_file() or (function and f"def {function}(" not in path.read_text("utf-8")):
            expected = "expected what is likely to notice, FILE or FILE::TEST"
            raise ListError(f"{fault.name}: {tests}: no such test; {expected}")
    try:
        text = source.read_text("utf-8")
    except OSError as error:
        raise ListError(f"{fault.name}: {name}: {error.strerror}; expected the file that the fault is in") from None
    try:
        changed = edited(text, old, new)
    except ValueError as error:
        raise ListError(f"{fault.name}: {name}: {error}") from None
    if old not in (line.strip() for line in text.splitlines()):
        raise ListError(f"{fault.name}: {name}: stands there as a part of a line; expected a whole one: {old}")
    return source, changed


def main() -> int:
    """Tries the faults; the exit status says whether all were caught."""
    faults = read_faults()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="the name of a fault (default: all of the list)")
    parser.add_argument("--whole", action="store_true", help="run the whole suite on what the named tests miss")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="try so many faults side by side")
    given = parser.parse_args()
    for name in given.faults:
        if name not in [fault.name for fault in faults]:
            parser.error(f"{name}: no such fault; there are {', '.join(fault.name for fault in faults)}")
    chosen = [fault for fault in faults if not given.faults or fault.name in given.faults]
    try:
        for fault in chosen:
            faulty_text(fault, ROOT / PACKAGE)
    except ListError as error:
        parser.error(str(error))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max(1, given.jobs)) as pool:
        sound = copy_package(ROOT / PACKAGE, Path(folder) / "sound")
        trials = []
        for trial in pool.map(partial(try_fault, sound=sound, whole=given.whole), chosen):
            sys.stdout.write(f"{trial.fault.name}: {trial.caught or f'NOT CAUGHT ({trial.why})'}\n")
            sys.stdout.flush()
            trials.append(trial)
    sys.stdout.write("\n" + results_table(trials))
    return int(any(not trial.caught for trial in trials))


def results_table(trials: Sequence[Trial]) -> str:
    """The results as a table in Markdown."""
    lines = ["| fault | what is wrong | file | caught by |", "| --- | --- | --- | --- |"]
    for trial in trials:
        ((name, _, _),) = trial.fault.edits
        caught = trial.caught.replace("|", "\\|") or "**not caught**"
        lines.append(f"| {trial.fault.name} | {trial.fault.what} | {name.removeprefix(f'{PACKAGE}/')} | {caught} |")
    return "\n".join(lines) + "\n"


def copy_package(package: Path, into: Path) -> Path:
    """A copy of the package, native module and data included, in a folder of its own; that folder.

    Times are copied, too: what Python has compiled still counts.
    """
    shutil.copytree(package, into / "farloop")
    return into


def try_fault(fault: PythonFault, *, sound: Path, whole: bool = False) -> Trial:
    """Runs the tests on a copy with the fault.

    Args:
        fault: The fault.
        sound: The folder with the copy that has none.
        whole: Run the whole suite where the named tests do not notice.

    Raises:
        RuntimeError: processes of that environment import another package than the copy.
    """
    with tempfile.TemporaryDirectory(dir=sound.parent) as folder:
        copy = copy_package(sound / "farloop", Path(folder))
        source, text = faulty_text(fault, copy / "farloop")
        source.write_text(text, encoding="utf-8")
        why = ""
        for tests in (fault.tests, ("tests",)) if whole else (fault.tests,):
            failed, why = run_tests(copy, tests)
            if not failed:
                continue
            # A test that needs the checkout fails on any copy.
            without, _ = run_tests(sound, [failed])
            if not without:
                return Trial(fault, failed)
            why = f"{failed} fails without the fault, too"
    return Trial(fault, "", why)


def run_tests(copy: Path, tests: Sequence[str]) -> tuple[str, str]:
    """Runs tests against a copy until the first one fails.

    Returns:
        The test that failed, empty where all pass; and in words how it ended.

    Raises:
        RuntimeError: processes of that environment import another package than the copy.
    """
    paths = [str(copy), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    question = [sys.executable, "-c", "import farloop; print(farloop.__file__)"]
    answer = subprocess.run(question, cwd=copy.parent, env=environment, capture_output=True, text=True, check=False)
    imported = answer.stdout.strip()
    if not answer.returncode and Path(imported).resolve().parent != (copy / "farloop").resolve():
        raise RuntimeError(f"{imported} is imported; expected {copy / 'farloop'}")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider", "-m", EVERYTHING, *tests]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            # pytest ends what its tests have started.
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=PATIENCE)
            process.kill()
            return "", f"no end within {LIMIT} s"
    if not process.returncode:
        return "", "all pass"
    if named := FAILED.findall(output):
        return named[0], "a test fails"
    last = [line for line in output.splitlines() if line.strip()][-1:]
    return "", f"pytest ended with {process.returncode}: {' '.join(last)[:200]}"


if __name__ == "__main__":
    sys.exit(main())

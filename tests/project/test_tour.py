"""The commands of the tour and of the README, line by line, in a copy of what a fresh clone has."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.site

REPOSITORY = Path(__file__).parents[2]

PATIENCE = 120
"""Seconds that a line may take."""


BEGUN = ": started|runs to make"
"""What a command says that makes many runs."""

TOUR, README = "docs/tour.md", "README.md"


def tour(page: str) -> list[str]:
    text = (REPOSITORY / page).read_text("utf-8")
    (block,) = re.findall(r"^```\n(export PATH=.*?)^```", text, re.MULTILINE | re.DOTALL)
    return block.splitlines()


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    directory = tmp_path_factory.mktemp("clone")
    for name in ("papers", "examples", "spec", "crates/cc"):
        shutil.copytree(REPOSITORY / name, directory / name)
    programs = directory / ".venv" / "bin"
    programs.mkdir(parents=True)
    program = programs / "farloop"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m farloop "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return directory


def test_every_line_of_the_tour_runs(clone):
    lines = tour(TOUR)
    assert len(lines) > 10
    run_all(clone, lines)
    assert (clone / "out/first/report.html").is_file()
    assert (clone / "out/backbone/figures/network.png").is_file()
    for name in ("scenario.schema.json", "net.toml", "flows.csv"):
        assert (clone / name).stat().st_size > 0


def test_every_line_of_the_readme_runs(clone):
    """But for the kernel's, which need root and have tests of their own (test_testbed_live.py)."""
    lines = tour(README)
    ours = [line for line in lines if not line.startswith("farloop testbed ")]
    assert len(ours) == len(lines) - 1 >= 3
    run_all(clone, ours)


def run_all(clone: Path, lines: list[str]) -> None:
    export = lines[0]
    for line in lines[1:]:
        assert line.startswith("farloop "), line
        said, code = run(clone, f"{export}\nexec {line}")
        # Whole papers take hours: that such a line begins to simulate is enough.
        assert code == 0 or (code == 130 and re.search(BEGUN, said) and "interrupted" in said), f"{line}\n{said}"


def test_the_python_of_the_tour_runs(clone):
    (code,) = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / TOUR).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=clone, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert "┃ run" in done.stdout
    assert (clone / "out/both/report.html").is_file()


def run(directory: Path, script: str) -> tuple[str, int]:
    """What a line says and its exit code; one that makes many runs is interrupted soon after it has begun."""
    log = directory / "log"
    with log.open("w") as said:
        process = subprocess.Popen(
            ["sh", "-c", script],
            cwd=directory,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=os.environ | {"NO_COLOR": "1"},
            # A shell starts its background jobs with interrupts ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    began = time.monotonic()
    while process.poll() is None and time.monotonic() < began + PATIENCE:
        if re.search("compare|reproduce|farloop (advise|arena|sweep)", script) and re.search(BEGUN, log.read_text()):
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.1)
    try:
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
    return log.read_text(), process.returncode


def test_the_example_is_what_the_imports_print(clone):
    for command, kept in (
        ("import-flows examples/flows.parquet", "flows.csv"),
        ("import-graphml examples/net.graphml", "backbone.toml"),
    ):
        printed, code = run(clone, f".venv/bin/farloop {command}")
        assert code == 0
        assert (clone / "examples" / kept).read_text("utf-8").endswith(printed)

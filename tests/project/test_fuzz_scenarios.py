"""The module beside a build with every check, scenario by scenario: `make fuzz-scenarios`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "fuzz_scenarios.py"
DIGESTS = ROOT / "crates" / "scenario" / "tests" / "digests"
"""A scenario with digests that tests of Rust compute, under several algorithms."""


@pytest.fixture
def kept(tmp_path):
    """A scenario and its digests as the fuzzer keeps them, under one algorithm."""
    text = (DIGESTS / "small.toml").read_text("utf-8")
    (tmp_path / "1.toml").write_text(text.replace('name = "hpcc"', 'name = "dcqcn"'), encoding="utf-8")
    lines = (DIGESTS / "small.txt").read_text("utf-8").splitlines()
    own = [line.removeprefix("dcqcn ") for line in lines if line.startswith("dcqcn ")]
    (tmp_path / "1.txt").write_text("\n".join(own) + "\n", encoding="utf-8")
    return tmp_path


def run(directory):
    return subprocess.run([sys.executable, SCRIPT, directory], capture_output=True, text=True, check=False)


def test_what_is_the_same_passes(kept):
    done = run(kept)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "1 scenarios: the module gives what the build with checks gives\n"


@pytest.mark.parametrize(
    ("old", "new"), [("flows.finish_ps ", "flows.finish_ps 0"), ("flows.", "flows.no_such_column 0\nflows.")]
)
def test_what_differs_is_named_with_the_scenario(kept, old, new):
    digests = (kept / "1.txt").read_text("utf-8")
    assert old in digests
    (kept / "1.txt").write_text(digests.replace(old, new, 1), encoding="utf-8")
    done = run(kept)
    assert done.returncode == 1
    assert "1.toml: the module, alone, differs from the build with checks in flows." in done.stderr
    assert "[run]" in done.stderr


def test_a_directory_without_scenarios_is_refused(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 2
    assert "expected scenarios that FARLOOP_FUZZ_DIGESTS has kept" in done.stderr

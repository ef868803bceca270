"""A machine that lacks something is told so in one line, with the way to get it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check-prerequisites.sh"
TOOLS = {
    "cargo": "echo 'cargo 1.88.0 (x 2025-01-01)'",
    "python3": 'case "$2" in *version_info*) echo 3.11;; esac',
    "cc": "exit 0",
}


@pytest.fixture
def check(tmp_path):
    def run(**changes):
        bin_ = tmp_path / "bin"
        shutil.rmtree(bin_, ignore_errors=True)
        bin_.mkdir()
        for real in ("cut", "sh", "env"):
            (bin_ / real).symlink_to(str(shutil.which(real)))
        for name, script in (TOOLS | changes).items():
            if script is not None:
                (bin_ / name).write_text(f"#!/bin/sh\n{script}\n")
                (bin_ / name).chmod(0o755)
        shell = str(shutil.which("sh"))
        return subprocess.run(
            [shell, str(SCRIPT)], env={"PATH": str(bin_)}, capture_output=True, text=True, check=False, cwd=os.sep
        )

    return run


def test_with_everything_there_it_is_silent(check):
    done = check()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("changes", "what", "how"),
    [
        ({"cargo": None}, "cargo 1.88", "rustup"),
        ({"cargo": "echo 'cargo 1.63.0'"}, "found 1.63.0", "rustup"),
        ({"cargo": "exit 1"}, "does not run", "rustup"),
        ({"python3": None}, "Python 3.11", "apt install"),
        ({"python3": "echo 3.9"}, "is 3.9", "apt install"),
        ({"python3": 'case "$2" in *version_info*) echo 3.12;; *) exit 1;; esac'}, "venv", "apt install python3-venv"),
        ({"cc": None}, "cc", "apt install build-essential"),
    ],
)
def test_what_is_missing_gets_one_line(check, changes, what, how):
    done = check(**changes)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert what in line
    assert how in line


def test_newer_ones_will_do(check):
    newer = check(cargo="echo 'cargo 2.0.0'", python3='case "$2" in *version_info*) echo 4.0;; esac')
    assert newer.returncode == 0, newer.stderr

"""What random events have led to so far leads there without an overflow, a division by zero or a number out of its bounds."""

import importlib.util
import os
import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORPUS = sorted((ROOT / "linux" / "fuzz" / "corpus").iterdir())


@pytest.fixture(scope="module")
def compiler():
    """The system's C compiler, with what it has of sanitizers."""
    words = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(words[0]) is None:
        pytest.skip(f"no C compiler: {words[0]} is not there")
    return words


def compiled(compiler, source, target, *flags):
    """The program, with its overflows checked where the compiler can."""
    for checks in (["-fsanitize=undefined", "-fno-sanitize-recover=all"], []):
        words = [*compiler, "-std=c11", "-O1", "-Wall", "-Wextra", *flags, *checks, "-o", target, source]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return target
    raise AssertionError(done.stderr)


def test_the_corpus_leads_to_no_error(compiler, tmp_path):
    program = compiled(compiler, ROOT / "linux/fuzz/fuzz.c", tmp_path / "fuzz", "-DREPLAY")
    done = subprocess.run([program, *CORPUS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(CORPUS) >= 12 and {path.read_bytes()[0] % 4 for path in CORPUS} == {0, 1, 2, 3}


def test_the_harness_notices_a_rule_that_is_broken(compiler, tmp_path):
    """A floor of the window that is left out is seen by the corpus."""
    for folder in ("cubic", "dctcp", "gemini", "vegas", "fuzz"):
        shutil.copytree(ROOT / "linux" / folder, tmp_path / folder)
    core = tmp_path / "gemini" / "core.h"
    text = core.read_text()
    rule = "rtt = gemini_min(gemini_max(rtt, 1), GEMINI_MAX_RTT);"
    assert text.count(rule) == 1
    core.write_text(text.replace(rule, ""))
    program = compiled(compiler, tmp_path / "fuzz/fuzz.c", tmp_path / "broken", "-DREPLAY")
    done = subprocess.run([program, *CORPUS], capture_output=True, text=True, check=False)
    assert done.returncode != 0


def test_random_events_and_bytes_for_a_moment(compiler, tmp_path):
    spec = importlib.util.spec_from_file_location("fuzz_kernel", ROOT / "scripts" / "fuzz_kernel.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    replay = compiled(compiler, ROOT / "linux/gemini/replay.c", tmp_path / "replay")
    assert script.compared(random.Random(7), replay, tmp_path, 10, False) == 1210
    script.read(random.Random(7), 20)

"""Files whose names are not UTF-8, and systems that are not: no finished run is lost over a name."""

import json
import os
import subprocess
import sys

import pytest
from conftest import SMALL
from support import in_process

import farloop
from farloop.scenario import Scenario

LATIN = os.fsdecode(b"caf\xe9")
SHORT = (
    SMALL.replace('duration = "20ms"', 'duration = "1ms"')
    .replace('start = "5ms"', 'start = "0ms"')
    .replace('start = "1ms"\n', "")
)

ALGORITHM = """\
from farloop.algorithm import Algorithm


class Mine(Algorithm):
    "Keeps its window."

    def start(self, flow):
        self.cwnd = flow.bdp

    def on_ack(self, ctx, ack):
        pass
"""

OLD = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""A system whose names are ASCII to Python."""


def farloop_in(directory, *arguments, **environment):
    """The command with bytes as output; in a process of its own where it is to have another system's environment."""
    if not environment:
        done = in_process.run(arguments, directory)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.encode(), done.stderr.encode())
    words = [sys.executable, "-m", "farloop", *arguments]
    named = os.environ | {"NO_COLOR": "1"} | environment
    return subprocess.run(words, cwd=directory, env=named, capture_output=True, timeout=120, check=False)


@pytest.fixture
def here(tmp_path):
    try:
        (tmp_path / f"{LATIN}.toml").write_text(SHORT)
    except OSError:
        pytest.skip("this file system takes UTF-8 names alone")
    (tmp_path / f"{LATIN}.py").write_text(ALGORITHM)
    (tmp_path / "small.toml").write_text(SHORT)
    return tmp_path


@pytest.mark.parametrize("environment", [{}, OLD])
def test_an_output_whose_name_is_not_utf8(environment, here):
    for command in (
        ["compare", "small.toml", "--algorithms", "hpcc,dctcp"],
        ["run", "small.toml", "--trace", "all"],
    ):
        done = farloop_in(here, *command, "--out", LATIN, "--no-report", **environment)
        assert done.returncode == 0, done.stderr
        assert farloop.load(here / LATIN).runs[0].flows.num_rows == 3
        assert farloop_in(here, "report", LATIN, **environment).returncode == 0
        assert (here / LATIN / "report.html").is_file()


def test_a_scenario_whose_name_is_not_utf8(here):
    done = farloop_in(here, "run", f"{LATIN}.toml", "--out", "r")
    assert done.returncode == 0, done.stderr
    assert json.loads((here / "r" / "manifest.json").read_text("utf-8"))["file"] == r"caf\xe9.toml"
    (here / f"{LATIN}.toml").write_text("[run\n")
    done = farloop_in(here, "run", f"{LATIN}.toml", "--out", "q")
    assert done.returncode == 2
    assert rb"farloop: caf\xe9.toml:1:" in done.stderr


def test_an_algorithm_whose_files_name_is_not_utf8(here):
    done = farloop_in(here, "run", "small.toml", "--algorithm", "mine", "--algorithm-file", f"{LATIN}.py", "--out", "r")
    assert done.returncode == 0, done.stderr
    study = here / "study.toml"
    study.write_text('base = "small.toml"\n[grid]\nalgorithm = ["mine", "hpcc"]\n')
    done = farloop_in(here, "sweep", "study.toml", "--algorithm-file", f"{LATIN}.py", "--out", LATIN, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert farloop_in(here, "explain", f"{LATIN}.py").stdout.splitlines()[1] == rb"source: caf\xe9.py"


def test_names_in_utf8_on_a_system_without(here):
    text = SHORT[: SHORT.index("[[flow]]")] + '[workload]\nflows = "flüsse.csv"\n'
    (here / "netz-ü.toml").write_text(text, encoding="utf-8")
    sizes = []
    for size in ("10kB", "20kB"):
        (here / "flüsse.csv").write_text(f"from,to,size\ns1,d1,{size}\n")
        done = farloop_in(here, "compare", "netz-ü.toml", "--algorithms", "hpcc", "--out", "ü", "--no-report", **OLD)
        assert done.returncode == 0, done.stderr
        sizes.append(farloop.load(here / "ü").runs[0].flows["size_bytes"][0].as_py())
    assert sizes == [10_000, 20_000], "an older run with other flows is none of these"
    assert json.loads((here / "ü" / "manifest.json").read_text("utf-8"))["base"]["file"] == "netz-ü.toml"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "small.toml", "--trace", LATIN],
        ["why", "small.toml", LATIN],
        ["run", "small.toml", "--set", f"run.duration={LATIN}"],
        ["run", "small.toml", "--algorithm", LATIN],
        ["compare", "small.toml", "--algorithms", f"hpcc,{LATIN}"],
        ["import-job", "small.toml", "--latency", LATIN],
        ["import-job", "small.toml", "--out", LATIN, "--to", "goal"],
        ["import-job", LATIN],
    ],
)
def test_arguments_that_are_not_utf8_are_refused(words, here):
    done = farloop_in(here, *words)
    assert done.returncode == 2, done.stderr
    assert rb"'caf\udce9'" in done.stderr or rb"caf\udce9'" in done.stderr
    assert b"is not UTF-8 text; expected that" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_the_simulator_is_told():
    assert Scenario.from_text("", f"{LATIN}.toml").display_name == r"caf\xe9.toml"
    assert Scenario.from_text("", "ü/\U0001f600.toml").display_name == "ü/\U0001f600.toml"
    assert Scenario.from_text("", "\ud800.toml").display_name == r"\ud800.toml"

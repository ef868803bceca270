"""`farloop archive` of outputs of many runs: the files that their commands read, and a script that gives the same bytes."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "python-algorithm" / "hpcc.py"

SITES = """\
title = "Two sites"
run.duration = "5ms"
network = { topology = "dumbbell", intra_pairs = 2, cross_pairs = 2, rate = "1Gbps", wan_delay = "100us" }
workload.flows = "lists/flows.csv"
"""

STUDY = """\
base = "../sites.toml"
algorithm_file = "../hpcc.py"
collect = ["p99_slowdown", "max_queue"]
[grid]
algorithm = ["dctcp", "hpcc-python"]
seed = "1-2"
"""

QUESTION = """\
scenario = "../sites.toml"
goal = "p99 slowdown"
must = ["none"]
candidates = ["dctcp", "hpcc"]
budget = "20s"
tune = false
"""

COMMANDS = {
    "sweep": ["sweep", "studies/study.toml"],
    "arena": [
        *(
            "arena",
            "--scenario",
            "sites.toml",
            "--algorithms",
            "dctcp,hpcc-python,dctcp/hpcc",
            "--seeds",
            "1-2",
            "--jitter",
            "1",
        ),
        *("--must", "none", "--algorithm-file", "hpcc.py"),
    ],
    "advise": ["advise", "studies/question.toml"],
}


@pytest.fixture
def place(command):
    """Files of one user, in folders beside one another."""
    here = command.directory
    (here / "lists").mkdir()
    rows = "".join(f"f{i},s{1 + i % 2},{'d1' if i % 2 else 'r1'},{20 + i}kB,{i * 40}us\n" for i in range(40))
    (here / "lists" / "flows.csv").write_text(f"name,from,to,size,start\n{rows}")
    (here / "sites.toml").write_text(SITES)
    shutil.copy(EXAMPLE, here)
    (here / "studies").mkdir()
    (here / "studies" / "study.toml").write_text(STUDY)
    (here / "studies" / "question.toml").write_text(QUESTION)
    return here


def rerun(folder: Path) -> subprocess.CompletedProcess[str]:
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(["./rerun.sh"], cwd=folder, env={"PATH": search}, capture_output=True, text=True)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", COMMANDS)
def test_the_script_gives_the_same_bytes_in_another_place(place, command, tmp_path_factory, kind):
    made = command(*COMMANDS[kind], "--out", str(place / "made"), "--store", str(place / "runs"), "--no-report", "-q")
    assert made.returncode == 0, made.stderr
    done = command("archive", "made")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "written: made.tar.gz\n")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with tarfile.open(place / "made.tar.gz") as tape:
        tape.extractall(elsewhere, filter="data")
    for path in place.iterdir():
        if path.name != "made.tar.gz":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    folder = elsewhere / "made"
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for word in (str(place), str(Path.home()), sys.prefix, socket.gethostname(), os.environ["PATH"]):
            assert word.encode() not in content, (path, word)
    assert (folder / "README.md").is_file() and "farloop==" in (folder / "requirements.txt").read_text()
    ended = rerun(folder)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("files have the same bytes\n")
    table = next(path for path in sorted((folder / "output").rglob("*")) if path.suffix in (".csv", ".parquet"))
    table.write_bytes(table.read_bytes()[:-1] + b"x")
    assert rerun(folder).returncode != 0


def test_a_reproduction_is_repeated(command, tmp_path):
    words = ["--case", "2:1", "--seeds", "1", "--out", "r", "--no-report", "-q"]
    assert command("reproduce", "uec/incast", *words).returncode == 0
    assert command("archive", "r", "--out", str(tmp_path / "a")).returncode == 0
    ended = rerun(tmp_path / "a")
    assert ended.returncode == 0, ended.stderr
    assert "claims.json" in (tmp_path / "a" / "files.txt").read_text()


def test_what_cannot_be_repeated_is_refused_in_a_line(place, command):
    assert command(*COMMANDS["sweep"], "--out", "made", "--no-report", "-q").returncode == 0
    (place / "lists" / "flows.csv").write_text("name,from,to,size,start\na,s1,d1,1kB,0s\n")
    done = command("archive", "made")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "flows.csv: has changed since the runs" in done.stderr
    manifest = place / "made" / "manifest.json"
    kept = json.loads(manifest.read_text())
    for begin in (["sh", "sweep"], ["farloop", "kernel"], ["/tmp/farloop", "sweep"]):
        manifest.write_text(json.dumps(kept | {"command": [*begin, *kept["command"][2:]]}))
        done = command("archive", "made")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "expected `farloop sweep`" in done.stderr
    manifest.write_text(json.dumps(kept).replace('"command"', '"other"'))
    done = command("archive", "made")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "does not have the command that made it" in done.stderr

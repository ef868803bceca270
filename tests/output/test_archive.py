"""`farloop archive`: unpacked anywhere, `rerun.sh` gives the same bytes; nothing of the machine is in it."""

import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "python-algorithm"
FLOWS = "name,from,to,size,start\na,s1,d1,100kB,0s\nb,s2,r1,200kB,1us\n"


@pytest.fixture
def place(command):
    """The example's algorithm, and a scenario that names a list of flows by an absolute path."""
    shutil.copy(EXAMPLE / "hpcc.py", command.directory)
    (command.directory / "lists").mkdir()
    (command.directory / "lists" / "flows.csv").write_text(FLOWS)
    text = (
        'title = "Listed flows"\nrun.duration = "5ms"\nnetwork.topology = "dumbbell"\nnetwork.intra_pairs = 2\nnetwork.cross_pairs = 2\n'
        f'network.wan_delay = "100us"\nalgorithm.name = "hpcc"\nworkload.flows = "{command.directory}/lists/flows.csv"\n'
    )
    (command.directory / "listed.toml").write_text(text)
    return command.directory


RUN = ["run", "listed.toml", "--algorithm-file", "hpcc.py", "--algorithm", "hpcc-python", "--seed", "4"]
COMPARE = [
    "compare",
    "listed.toml",
    "--algorithm-file",
    "hpcc.py",
    "--algorithms",
    "hpcc-python,hpcc,dctcp",
    "--seeds",
    "1-2",
]


MORE = ["--set", "run.duration=4ms", "--sizes", "150kB", "--jitter", "1"]


@pytest.mark.sampled
@pytest.mark.parametrize("words", [RUN, [*COMPARE, *MORE]], ids=["run", "compare"])
def test_the_script_gives_the_same_bytes_in_another_place(place, command, tmp_path_factory, words):
    assert command(*words, "--out", str(place / "made"), "--no-report", "-q").returncode == 0
    done = command("archive", "made")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "written: made.tar.gz\n")
    first = (place / "made.tar.gz").read_bytes()
    assert command("archive", "made", "--out", "again.tar.gz").returncode == 0
    assert (place / "again.tar.gz").read_bytes() == first
    # What it was made from is gone: only the archive is left.
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with tarfile.open(place / "made.tar.gz") as tape:
        assert {(e.mtime, e.uid, e.gid, e.uname, e.gname) for e in tape.getmembers()} == {(0, 0, 0, "", "")}
        assert tape.getnames() == sorted(tape.getnames())
        tape.extractall(elsewhere, filter="data")
    for name in ("made", "lists"):
        shutil.rmtree(place / name)
    for path in (elsewhere / "made").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for word in (str(place), str(Path.home()), sys.prefix, socket.gethostname(), os.environ["PATH"]):
            assert word.encode() not in content, (path, word)
        user = rb"\b" + getpass.getuser().encode() + rb"\b"
        assert path.suffix == ".parquet" or not re.search(user, content), path
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(["./rerun.sh"], cwd=elsewhere / "made", env={"PATH": search}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("files have the same bytes\n")
    table = next((elsewhere / "made" / "output").rglob("flows.parquet"))
    table.write_bytes(table.read_bytes()[:-1] + b"x")
    assert (
        subprocess.run(["./rerun.sh"], cwd=elsewhere / "made", env={"PATH": search}, capture_output=True).returncode
        != 0
    )


def test_a_folder_has_the_same_files_and_is_new(place, command):
    assert command(*RUN, "--out", "made", "--no-report", "-q").returncode == 0
    assert command("archive", "made", "--out", "kept").returncode == 0
    assert os.access(place / "kept" / "rerun.sh", os.X_OK)
    readme = (place / "kept" / "README.md").read_text()
    assert "farloop run listed.toml --algorithm-file hpcc.py --algorithm hpcc-python --seed 4 --out made" in readme
    assert (place / "kept" / "algorithms" / "hpcc.py").read_text() == (EXAMPLE / "hpcc.py").read_text()
    assert "pyarrow==" in (place / "kept" / "requirements.txt").read_text()
    done = command("archive", "made", "--out", "kept")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is there already; expected a new folder" in done.stderr


def test_a_file_that_has_changed_or_is_gone_is_named(place, command):
    assert command(*RUN, "--out", "made", "--no-report", "-q").returncode == 0
    (place / "lists" / "flows.csv").write_text(FLOWS + "c,s1,d1,1kB,0s\n")
    done = command("archive", "made")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "flows.csv: has changed since the run; expected the file that it read" in done.stderr
    (place / "lists" / "flows.csv").unlink()
    done = command("archive", "made")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "flows.csv: No such file or directory; expected the file that the run read" in done.stderr
    assert not (place / "made.tar.gz").exists()


def test_a_text_that_names_the_machine_is_said(place, command):
    with (place / "hpcc.py").open("a") as file:
        file.write(f"# copied from {place}\n")
    assert command(*RUN, "--out", "made", "--no-report", "-q").returncode == 0
    done = command("archive", "made")
    assert done.returncode == 0
    assert "algorithms/hpcc.py: names " in done.stderr


def test_figures_of_papers_and_other_kinds_are_refused_in_a_line(command):
    words = ["--case", "2:1", "--seeds", "1", "--out", "r", "--no-report", "-q"]
    assert command("reproduce", "uec/incast", *words).returncode == 0
    (command.directory / "v").mkdir()
    (command.directory / "v" / "manifest.json").write_text('{"farloop": "0.1.0", "kind": "validation", "files": []}')
    for name, said in (
        ("v", "expected one of run, compare, sweep, arena, advise, plan or reproduce"),
        ("r/uec/incast", "`farloop reproduce uec/incast` repeats it"),
    ):
        done = command("archive", name)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert said in done.stderr

"""Memory: what a run takes is said before it starts, what cannot fit does not start, and packets that do not fit are an error, no abort."""

import resource
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import farloop
from farloop import memory
from farloop.errors import FarloopError
from farloop.memory import PROCESS, Estimate

FLOOD = """\
switch.pfc = false
run.duration = "2s"
algorithm.name = "fixed"
algorithm.fixed.cwnd = "1000GB"
network.topology = "dumbbell"
network.intra_pairs = 0
network.cross_pairs = 1
network.rate = "400Gbps"
network.wan_delay = "1s"

[[flow]]
from = "s1"
to = "r1"
"""

ADDRESS_SPACE = 1_200_000_000
"""Bytes: the interpreter and its packets take about half of it."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory there is")


def limited(directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command, with so much address space."""
    return subprocess.run(
        [sys.executable, "-m", "farloop", *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
    )


@pytest.mark.long
def test_out_of_memory_is_an_error_that_names_packets_and_keys(tmp_path: Path) -> None:
    (tmp_path / "flood.toml").write_text(FLOOD)
    done = limited(tmp_path, "run", "flood.toml", "-q", "--out", "out", "--force-memory")
    assert done.returncode == 2, done.stderr
    assert "out of memory after" in done.stderr
    assert "packets in queues and on links take" in done.stderr
    for key in ("[network]", "transport.receive_window", "[switch]"):
        assert key in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["flood.toml"]


def test_a_run_above_what_there_is_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "flood.toml").write_text(FLOOD)
    for command in (["run", "flood.toml"], ["compare", "flood.toml", "--algorithms", "fixed,dctcp"]):
        done = limited(tmp_path, *command, "-q", "--out", "out")
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("farloop: flood.toml: the run may take 8."), done.stderr
        assert "GB of memory, and there are 1.2 GB for it in all: packets in flight 8." in done.stderr
        for key in ("rates and delays in [network]", "switch.buffer", "--force-memory", "force_memory=True"):
            assert key in done.stderr
        assert [p.name for p in tmp_path.iterdir()] == ["flood.toml"]


def test_python_refuses_as_well_unless_it_is_told_to_start(monkeypatch: pytest.MonkeyPatch, small: Path) -> None:
    monkeypatch.setattr(memory._native, "total_memory", lambda: PROCESS)
    for call in (lambda **more: farloop.run(small, **more), lambda **more: farloop.compare(small, "hpcc", **more)):
        with pytest.raises(
            FarloopError, match=r"small\.toml: the run may take .*, and there are 110 MB for it in all: "
        ):
            call()
        assert call(force_memory=True) is not None
    # It holds for the call alone.
    with pytest.raises(FarloopError, match="force_memory=True"):
        farloop.run(small, seeds="1-2")


def test_above_what_is_free_there_is_a_note_before_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], small: Path
) -> None:
    farloop.run(small)
    assert "memory" not in capsys.readouterr().err
    monkeypatch.setattr(memory._native, "available_memory", lambda: PROCESS)
    farloop.compare(small, "hpcc,dctcp")
    said = capsys.readouterr().err
    assert said.startswith("farloop: note: ")
    assert "of memory, and 110 MB are free: " in said
    assert "packets in flight" in said


@pytest.mark.long
def test_of_a_study_those_runs_are_refused_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "flood.toml").write_text(FLOOD.replace('"2s"', '"1ms"').replace('"1000GB"', '"10kB"'))
    study = 'base = "flood.toml"\ncollect = ["throughput"]\n[grid]\n"run.duration" = ["1ms", "3s"]\n'
    (tmp_path / "study.toml").write_text(study)
    done = limited(tmp_path, "sweep", "study.toml", "--workers", "1", "-q", "--out", "out", "--no-report")
    assert done.returncode == 0, done.stderr
    short, long = pq.read_table(tmp_path / "out" / "runs.parquet").to_pylist()
    assert [short["status"], long["status"]] == ["done", "refused"]
    assert long["address"] is None
    assert "the run may take" in long["because"]
    assert "1.2 GB for it in all" in long["because"]
    # Workers are other processes: they start it, too, where that is wanted.
    forced = ("-q", "--out", "forced", "--store", "another", "--no-report", "--force-memory")
    done = limited(tmp_path, "sweep", "study.toml", "--workers", "1", *forced)
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "forced" / "runs.parquet")["status"].to_pylist() == ["done", "done"]
    # Alone it is an error, as a scenario is that is wrong.
    (tmp_path / "study.toml").write_text(study.replace('"1ms", ', ""))
    done = limited(tmp_path, "sweep", "study.toml", "--workers", "1", "-q", "--out", "other")
    assert done.returncode == 2
    assert "flood.toml: the run may take" in done.stderr
    assert not (tmp_path / "other").exists()


def test_only_as_many_run_side_by_side_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(*gigabytes: float) -> list[Estimate]:
        return [Estimate((("flows", int(size * 1e9), "[[flow]]"),)) for size in gigabytes]

    monkeypatch.setattr(memory._native, "available_memory", lambda: 10_000_000_000)
    assert memory.side_by_side(of(1, 1, 1), 2) == 2
    assert memory.side_by_side(of(1, 1, 4, 4), 4) == 2
    assert memory.side_by_side(of(20, 20), 4) == 1
    assert memory.side_by_side([], 4) == 4
    monkeypatch.setattr(memory._native, "available_memory", lambda: None)
    assert memory.side_by_side(of(20, 20), 4) == 4


FLOWS = (
    'run.duration = "2ms"\nnetwork.topology = "dumbbell"\ntransport.kind = "tcp"\nalgorithm.name = "dctcp"\nrecord.interval = "none"\n'
    + '[[flow]]\nfrom = "s1"\nto = "d1"\nsize = "100kB"\ncount = 100000\n' * 3
)

SKETCHES = """\
run.duration = "100us"
network = { topology = "hybrid", racks = 6, hosts_per_rack = 4, circuit_rate = "10Gbps" }
switch = { pfc = false, ecn = false, ecmp = "packet" }
circuits = { scheduling = "acceltor", elephants = "detected", sketch_rows = 8, sketch_width = 1000000 }
workload = [{ pattern = "poisson", between = "racks", sizes = "1MB", load = 0.12 }]
algorithm.name = "reno"
record.interval = "none"
transport.kind = "tcp"
"""

FABRIC = """\
run.duration = "20us"
network = { topology = "spine-leaf", leaves = 200, spines = 32, hosts_per_leaf = 40 }
switch.buffer = "64MB"
algorithm.name = "hpcc"
record.interval = "none"
[[flow]]
from = "h1"
to = "h2"
"""

EVENTS = FABRIC.replace(
    "leaves = 200, spines = 32, hosts_per_leaf = 40", "leaves = 100, spines = 8, hosts_per_leaf = 10"
) + "".join(f'[[event]]\nat = "{i}00ns"\nlink = "*<->*"\nrate = "{50 + i % 2 * 40}Gbps"\n' for i in range(1, 151))

PEAK = """\
import resource, subprocess, sys
command = [sys.executable, "-m", "farloop", "run", "large.toml", "--threads", "1", "-q", "--no-report", "--out", "out"]
subprocess.run(command, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
"""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "least"),
    [(FLOWS, 400e6), (SKETCHES, 800e6), (FABRIC, 120e6), (EVENTS, 180e6)],
    ids=["flows", "sketches", "fabric", "events"],
)
def test_the_estimate_is_near_what_a_run_takes(text: str, least: float, tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text(text)
    done = subprocess.run([sys.executable, "-c", PEAK], cwd=tmp_path, capture_output=True, text=True, check=True)
    estimate, peak = farloop.Scenario.load(tmp_path / "large.toml").memory.total, int(done.stdout)
    assert peak > least, "the run is large enough to tell"
    assert 1 / 1.3 < estimate / peak < 1.3, f"estimated {estimate / 1e6:.0f} MB, took {peak / 1e6:.0f} MB"

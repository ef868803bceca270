"""Studies on clusters: a Ray cluster on the loopback, and submitit's local jobs, also killed ones; the runs are those of this machine."""

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.studies import BASE, journal

import farloop
from farloop.errors import FarloopError
from farloop.experiments import clusters

GRID = {"algorithm": ["dctcp", "hpcc"], "seed": "1-6"}


@pytest.fixture
def base(tmp_path):
    path = tmp_path / "base.toml"
    path.write_text(BASE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The study as this machine makes it."""
    where = tmp_path_factory.mktemp("here")
    (where / "base.toml").write_text(BASE, encoding="utf-8")
    return farloop.study(base=where / "base.toml", grid=GRID, out=where / "s", report=False, workers=2)


@pytest.fixture(scope="module")
def ray_cluster(tmp_path_factory):
    """A Ray cluster of two processors on the loopback, in a group of processes of its own, which alone is ended.

    Its address, and a client's environment. It has a home and a token of its own: since 2.59 a token that lies in the user's home makes
    `ray start` ask for it.
    """
    pytest.importorskip("ray", reason="ray is not installed")
    port = 26379 + os.getpid() % 1000
    # Sockets have short paths.
    where = Path("/tmp") / f"farloop-ray-{os.getpid()}"
    home = tmp_path_factory.mktemp("home")
    client = {"HOME": str(home), "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    # Ray's workers are nice to others, who need not be nice to them.
    environment = os.environ | client | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    options = ["--num-cpus=2", f"--port={port}", "--node-ip-address=127.0.0.1", "--include-dashboard=false"]
    options += [f"--temp-dir={where}", "--object-store-memory=100000000", "--disable-usage-stats", "--block"]
    log = tmp_path_factory.mktemp("ray") / "log"
    with log.open("w") as file:
        cluster = subprocess.Popen(
            [str(Path(sys.executable).parent / "ray"), "start", "--head", *options],
            stdout=file,
            stderr=file,
            env=environment | {"RAY_AUTH_MODE": "token"},
            start_new_session=True,
        )
    try:
        for _ in range(480):
            if cluster.poll() is not None or "Ray runtime started" in log.read_text():
                break
            time.sleep(0.5)
        if cluster.poll() is not None or "Ray runtime started" not in log.read_text():
            pytest.skip(f"no Ray cluster can be started: {log.read_text()[-300:]}")
        yield f"127.0.0.1:{port}", environment
    finally:
        cluster.terminate()
        try:
            cluster.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(cluster.pid, signal.SIGKILL)
            cluster.wait()


def same(made, here):
    """Whether two studies say the same; the directories of runs are called by their addresses."""
    return made.runs.equals(here.runs) and made.points.equals(here.points)


def test_submitit_makes_the_same_runs(base, here):
    pytest.importorskip("submitit", reason="submitit is not installed")
    slurm = "cluster=local,jobs=2,runs=4,time=10"
    made = farloop.study(base=base, grid=GRID, out=base.parent / "s", report=False, slurm=slurm)
    assert (made.counts.made, made.failures) == (12, [])
    assert same(made, here)
    again = farloop.study(base=base, grid=GRID, out=base.parent / "s", report=False, slurm=slurm)
    assert (again.counts.made, again.counts.kept) == (0, 12)


def test_a_comparison_is_the_same_by_slurm_jobs(base):
    pytest.importorskip("submitit", reason="submitit is not installed")
    by_slurm = farloop.Execution(slurm="cluster=local,jobs=2,runs=2,time=10", store=base.parent / "kept")
    compared = [farloop.compare(base, ["dctcp", "hpcc"], seeds="1-2", execution=how) for how in (None, by_slurm)]
    for mine, other in zip(*(comparison.runs for comparison in compared), strict=True):
        assert (mine.label, mine.address) == (other.label, other.address)
        assert mine.flows.equals(other.flows)
    assert set(journal(base.parent / "kept", "finished").values()) == {1}


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the jobs in /proc")
def test_a_job_that_is_killed_costs_its_last_run_alone(base, here):
    pytest.importorskip("submitit", reason="submitit is not installed")
    store, killed = base.parent / "run-store", []

    def kill():
        while not killed:
            if len(list(store.glob("[0-9a-f]*/run.json"))) >= 2:
                for path in Path("/proc").glob("[0-9]*/cmdline"):
                    try:
                        words = path.read_bytes().split(b"\0")
                    except OSError:
                        continue
                    if b"submitit.core._submit" in words and str(store).encode() in b" ".join(words):
                        os.kill(int(path.parent.name), signal.SIGKILL)
                        killed.append(path.parent.name)
                        return
            time.sleep(0.005)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    made = farloop.study(
        base=base, grid=GRID, out=base.parent / "s", report=False, slurm="cluster=local,jobs=1,runs=12,time=10"
    )
    killed.append("")
    assert len(killed) == 2, "none was killed"
    assert made.counts.lost >= 1
    assert made.failures == []
    assert same(made, here)
    assert max(journal(store, "finished").values()) == 1


def over_ray(base, address, environment):
    """The study over Ray, as a command: Ray reads its environment once in a process."""
    code = """
import sys, farloop
base, grid, out, ray = sys.argv[1:]
found = farloop.study(base=base, grid=eval(grid), out=out, ray=ray, report=False)
print(found.counts.made, found.counts.kept, found.failures)
by_ray = farloop.Execution(ray=ray, store=found.directory.parent / "run-store")
for how in (by_ray, None):
    compared = farloop.compare(base, ["dctcp", "hpcc"], set={"run.duration": "5ms"}, execution=how)
    print([(run.label, run.summary["packet_hops"]) for run in compared])
"""
    arguments = [str(base), repr(GRID), str(base.parent / "s"), address]
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def test_ray_makes_the_same_runs(base, here, ray_cluster):
    done = over_ray(base, *ray_cluster)
    assert done.stdout.splitlines()[-3:-2] == ["12 0 []"], done.stderr
    by_ray, by_threads = done.stdout.splitlines()[-2:]
    assert by_ray == by_threads
    assert len(journal(base.parent / "run-store", "finished")) == 14
    runs = pq.read_table(base.parent / "s" / "runs.parquet")
    assert runs.equals(here.runs)
    assert over_ray(base, *ray_cluster).stdout.splitlines()[-3:-2] == ["0 12 []"]


def test_a_ray_cluster_refuses_another_token(base, ray_cluster):
    address, environment = ray_cluster
    done = over_ray(base, address, environment | {"RAY_AUTH_TOKEN": secrets.token_hex(16)})
    assert done.returncode != 0
    assert "set RAY_AUTH_TOKEN to what `ray get-auth-token` says there" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("partition", "partition: expected key=value"),
        ("partiton=x", "partiton: unknown option; did you mean partition? accepted: partition, time"),
        ("jobs=0", "jobs=0: expected a whole number from 1"),
        ("cluster=mine", "cluster=mine: expected slurm, or local"),
        ("time=soon", "time=soon: expected minutes"),
        ("time=1:2:3:4", "expected minutes"),
    ],
)
def test_wrong_options_of_slurm_are_told(options, said):
    with pytest.raises(FarloopError) as raised:
        clusters.read_options(options)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90", 90), ("2:00:00", 120), ("0:30", 1), ("10:30", 11), ("1-12:00:00", 2160), ("2-6", 3240), ("1-2:30", 1590)],
)
def test_times_are_slurms(text, minutes):
    assert clusters._minutes(text) == minutes


def test_what_is_missing_is_told(base, monkeypatch):
    for name in ("ray", "submitit"):
        # An import of what is None there fails.
        monkeypatch.setitem(sys.modules, name, None)
    for option in ("ray", "slurm"):
        with pytest.raises(
            FarloopError, match=rf"--{option}: the Python package \w+ is missing; .* -m pip install '\w+>=[\d.]+'"
        ):
            farloop.study(
                base=base, grid=GRID, out=base.parent / "s", **{option: "partition=x" if option == "slurm" else "auto"}
            )
    with pytest.raises(FarloopError, match="--ray and --slurm: expected one of them"):
        farloop.study(base=base, grid=GRID, out=base.parent / "s", ray="auto", slurm="partition=x")


def test_where_there_is_no_slurm_it_is_told(base, monkeypatch):
    pytest.importorskip("submitit", reason="submitit is not installed")
    monkeypatch.setenv("PATH", str(base.parent))
    with pytest.raises(FarloopError, match="--slurm: "):
        farloop.study(base=base, grid=GRID, out=base.parent / "s", slurm="partition=x")

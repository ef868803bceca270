"""Memory of jobs: said before they are expanded; and what a process does that has none."""

import compileall
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import farloop
from farloop import memory
from farloop.errors import FarloopError
from farloop.formats.job import read_job
from farloop.messages import is_out_of_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory there is")

SCENARIO = """\
[run]
duration = "50ms"
[network]
topology = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 2
[algorithm]
name = "dcqcn"
[[job]]
name = "t"
ranks_per_host = 1024
"""

LARGE = "data = 4096\nmicrobatches = 4096\ninner_steps = 10000\nlayers = 1024\n"
"""Keys of a plan that come to far more than any machine has; each is in its range."""


def workload(ranks: int, layers: int) -> str:
    header = f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 4 pp: 1 vpp: 1 ga: 1 all_gpus: {ranks}"
    layer = "attention -1 100 ALLREDUCE 4096 200 ALLTOALL_EP 4096 300 REDUCESCATTER 5000 100\n"
    return f"{header} checkpoints: 0 checkpoint_initiates: 0\n{layers}\n{layer * layers}"


def farloop_command(
    folder: Path, *arguments: str, address_space: int | None = None, **variables: str
) -> "subprocess.CompletedProcess[str]":
    def limit() -> None:
        if address_space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    return subprocess.run(
        [sys.executable, "-m", "farloop", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        env=os.environ | variables,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [["explain", "s.toml"], ["run", "s.toml", "-q", "--out", "out"], ["import-job", "p.toml"], ["import-job", "w.txt"]],
)
def test_a_job_above_what_there_is_is_not_expanded(tmp_path: Path, command: list[str]):
    (tmp_path / "s.toml").write_text(SCENARIO + LARGE)
    (tmp_path / "p.toml").write_text(LARGE)
    (tmp_path / "w.txt").write_text(workload(1 << 20, 2000))
    # Enough for the command, and nothing of such a job.
    done = farloop_command(tmp_path, *command, address_space=1_500_000_000)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    file = "s.toml:10: job.t.model" if command[1] == "s.toml" else command[1]
    assert done.stderr.startswith(f"farloop: {file}: the job may take "), done.stderr
    assert "B of memory, and there are 1.5 GB for it in all: " in done.stderr
    assert "--force-memory" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_forced_job_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "p.toml").write_text("layers = 4\n")
    (tmp_path / "s.toml").write_text(SCENARIO + "layers = 4\nscale = 1024\n")
    monkeypatch.setattr(memory._native, "total_memory", lambda: memory.PROCESS)
    scenario = farloop.Scenario.load(tmp_path / "s.toml")
    with pytest.raises(FarloopError, match="the job may take"):
        read_job([tmp_path / "p.toml"])
    with pytest.raises(farloop.ScenarioError, match="the job may take"):
        _ = scenario.explained
    with memory.allow_excess(True):
        assert read_job([tmp_path / "p.toml"])["ranks"] == 1
        # Also the scenario that was refused just now, and on threads of its run.
        assert scenario.explained["jobs"][0]["ranks"] == 1
    assert farloop.run(scenario, force_memory=True).iterations.num_rows == 1


MEASURE = """
import json, sys
from farloop.formats.job import read_job
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
started = peak()
made = read_job([sys.argv[1]], **json.loads(sys.argv[2]))
print(json.dumps([made["memory_bytes"], started, peak()]))
"""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("tensor = 8\ndata = 16\nlayers = 32\nmicrobatches = 8\n", {"timed": False, "collectives": "ring"}),
        ("tensor = 4\ndata = 16\nlayers = 32\nmicrobatches = 8\n", {"collectives": "ring"}),
        ("tensor = 8\ndata = 8\nlayers = 16\nmicrobatches = 8\n", {"timed": False, "collectives": "tree"}),
        ("pipeline = 32\nmicrobatches = 1024\ndata = 4\n", {"timed": False}),
        ("tensor = 8\ndata = 16\nlayers = 8\nmicrobatches = 2\n", {"timed": False, "collectives": "nccl"}),
        (workload(256, 40), {"timed": False, "collectives": "ring"}),
    ],
)
def test_the_estimate_of_a_job_is_what_it_takes(tmp_path: Path, text: str, options: dict[str, Any]):
    file = tmp_path / ("w.txt" if text.startswith("HYBRID") else "p.toml")
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(file), json.dumps(options)], capture_output=True, text=True, check=True
    )
    estimate, started, peak = json.loads(done.stdout)
    ratio = (estimate - memory.PROCESS) / (peak - started)
    assert 0.5 < ratio < 2.2, f"{ratio:.2f}: {peak / 1e6:.0f} MB"


def test_iterations_take_rows_and_no_programs(tmp_path: Path):
    (tmp_path / "one.goal").write_text("num_ranks 1\nrank 0 {\ncalc 10\n}\n")
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO + 'file = "one.goal"\niterations = 100000\n')
    estimated = {what: size for what, size, _ in farloop.Scenario.load(file).memory.shares}
    assert 20e6 < estimated["times of iterations"] < 200e6
    made = farloop.run(file)
    assert made.iterations.num_rows == 100_000
    (job,) = made.info["jobs"]
    assert job.keys() == {"name", "payload_bytes", "bytes_across", "base_rtt_s"}, "the tables have the iterations"


@pytest.fixture(scope="module")
def compiled():
    """The package as bytecode, as an installed one is: to compile it takes memory of its own."""
    assert farloop.__file__ is not None
    compileall.compile_dir(Path(farloop.__file__).parent, quiet=1)


@pytest.mark.sampled
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("megabytes", [160, 200, 240, 300, 380])
@pytest.mark.parametrize(
    "command",
    [["explain", "s.toml"], ["run", "s.toml", "-q", "--out", "out"], ["import-job", "p.toml"], ["list", "algorithms"]],
)
def test_a_process_without_memory_ends_with_a_line(tmp_path: Path, command: list[str], megabytes: int):
    (tmp_path / "s.toml").write_text(SCENARIO + "layers = 4\nscale = 1024\n")
    (tmp_path / "p.toml").write_text("layers = 4\ntensor = 2\n")
    done = farloop_command(tmp_path, *command, address_space=megabytes * 1_000_000)
    assert done.returncode in (0, 1, 2), done.stderr[-500:]
    if done.returncode:
        assert "memory" in done.stderr and "Traceback" not in done.stderr, done.stderr[-800:]
        assert "jemalloc" not in done.stderr, done.stderr[-800:]


IN_PARTS = """\
run.duration = "500us"
algorithm.name = "hpcc"
network = { topology = "datacenters", fabric = "spine-leaf", leaves = 4, hosts_per_leaf = 8, wan_delay = "50us" }
switch = { xoff = "100kB" }
record.interval = "none"
[[workload]]
sizes = "websearch"
load = 0.4
cross_share = 0.2
"""
"""Large enough to be cut for two threads."""


def test_a_run_without_further_threads_is_the_same(tmp_path: Path):
    (tmp_path / "s.toml").write_text(IN_PARTS)
    arguments = ["run", "s.toml", "-q", "--no-report", "--threads", "2", "--out"]
    # No stack is that large: no thread of the simulator starts.
    done = farloop_command(tmp_path, *arguments, "alone", RUST_MIN_STACK=str(1 << 50))
    assert done.returncode == 0, done.stderr[-500:]
    assert "panicked" not in done.stderr
    alone, whole = farloop.load(tmp_path / "alone").runs[0], farloop.run(tmp_path / "s.toml", threads=1)
    assert alone.info["parts"] == 2
    assert alone.flows.equals(whole.flows) and alone.ports.equals(whole.ports)


def _raised(make: Callable[[], object]) -> BaseException:
    try:
        make()
    except BaseException as error:
        return error
    raise AssertionError


def test_what_says_that_memory_is_used_up():
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("can't start new thread"))
    assert is_out_of_memory(SystemError("error return without exception set"))
    assert is_out_of_memory(SystemError("<function _handle_fromlist> returned NULL without setting an exception"))
    assert not is_out_of_memory(SystemError("bad argument to internal function"))
    assert is_out_of_memory(ImportError("libarrow.so: failed to map segment from shared object"))
    assert is_out_of_memory(OSError(12, "Cannot allocate memory"))
    for other in (RuntimeError("x"), ImportError("no module"), OSError(2, "x"), _raised(lambda: 1 / 0)):
        assert not is_out_of_memory(other)

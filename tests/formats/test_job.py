"""`farloop import-job`: what it says of a job, what it writes, and what it refuses; crates/job tests the rest."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from farloop import _native
from farloop.commands.app import app
from farloop.errors import FarloopError
from farloop.formats.job import read_job
from farloop.formats.job_formats import FORMATS

ROOT = Path(__file__).parents[2]
RING = ROOT / "validation" / "loggopsim" / "ring-8-1m.goal"
PLAN = 'model = "llama3-8b"\nlayers = 4\ntensor = 2\ndata = 2\nmicrobatches = 2\n'
AICB = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4\n"
    "1\nlayer -1 100 ALLREDUCE 4000 200 ALLREDUCE 4000 300 ALLREDUCE 8000 100\n"
)


def command(*arguments):
    return CliRunner().invoke(app, ["import-job", *map(str, arguments)])


def test_a_ring_is_counted_and_timed():
    job = read_job([RING], latency="5us", rate="400Gbps")
    assert (job["format"], job["ranks"], job["sends"], job["sent_bytes"]) == ("goal", 8, 112, 112_000_000)
    ideal = job["ideal"]
    # 1 us of computing, then 14 steps of 5 us and 1 MB at 50 GB/s.
    assert ideal["iteration_s"] == pytest.approx(1e-6 + 14 * (5e-6 + 1e6 / 50e9), rel=1e-4)
    path = ideal["critical_path"]
    parts = ("compute_s", "latency_s", "serialisation_s", "interface_s", "overhead_s")
    assert sum(path[part] for part in parts) == pytest.approx(ideal["iteration_s"], abs=1e-15)
    assert path["messages"] == 14


def test_formats_become_one_another(tmp_path):
    goal, binary = tmp_path / "a.goal", tmp_path / "a.bin"
    first = read_job([RING], out=goal)
    second = read_job([goal], out=binary)
    third = read_job([binary], out=tmp_path / "c.et")
    assert third["written"] == [str(tmp_path / f"c.{rank}.et") for rank in range(8)]
    # In any order of the arguments, as a shell may list them.
    fourth = read_job(sorted(tmp_path.glob("c.*.et"), reverse=True))
    counted = [(t["format"], t["sends"], t["dependencies"], t["ideal"]) for t in (first, second, third, fourth)]
    assert [t[0] for t in counted] == ["goal", "goal", "goal-binary", "chakra"]
    assert all(t[1:] == counted[0][1:] for t in counted)


def test_every_declared_format_is_in_the_help_and_written_by_the_end_of_a_name(tmp_path):
    shown = command("--help").output
    (tmp_path / "plan.toml").write_text(PLAN)
    for row in FORMATS:
        assert row.name in shown
        out = tmp_path / f"job{row.extension}"
        done = command(tmp_path / "plan.toml", "--out", out, "--no-time")
        if not row.is_written:
            assert "expected --to" in done.stderr
        elif done.exit_code == 0:
            first = tmp_path / f"job.0{row.extension}" if row.is_file_per_rank else out
            assert first.exists()
        else:
            assert f"cannot be written as {row.name}" in done.stderr


def test_a_plan_is_a_job(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    job = read_job([plan], collectives="ring", host=(2, "1us", "3600Gbps"), out=tmp_path / "p.goal")
    assert (job["format"], job["ranks"]) == ("plan", 4)
    assert {row["collective"]: row["count"] for row in job["collectives"]} == {"all-reduce": 4 * 4 * 2 * 2 + 6 * 2}
    phases = {row["phase"] for row in job["ideal"]["critical_path"]["phases"]}
    assert {"forward", "backward", "optimizer"} <= phases
    again = read_job([tmp_path / "p.goal"], host=(2, "1us", "3600Gbps"))
    assert again["ideal"]["messages"] == job["ideal"]["messages"]
    # GOAL counts in nanoseconds.
    assert again["ideal"]["iteration_s"] == pytest.approx(job["ideal"]["iteration_s"], rel=1e-5)


def test_sites_and_messages_cost_what_is_said(tmp_path):
    near = read_job([RING])["ideal"]["iteration_s"]
    far = read_job([RING], site=(4, "10ms", "400Gbps"))["ideal"]["iteration_s"]
    # A chunk makes 14 hops round the ring of eight; of hops in a row every fourth leaves a site, so four of them at most.
    assert far == pytest.approx(near + 4 * (10e-3 - 5e-6), rel=1e-6)
    costly = read_job([RING], message=("1us", "0ns", "none"))["ideal"]["iteration_s"]
    assert costly == pytest.approx(near + 14 * 2e-6, rel=1e-6)


def test_the_command_prints_lines_or_json(tmp_path):
    workload = tmp_path / "w.txt"
    workload.write_text(AICB)
    done = command(workload, "--collectives", "ring")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("aicb: 4 ranks, 24 operations: 12 computations, 0 sends, 0 receives")
    assert "all-reduce: 6, 64 kB over all ranks" in done.stdout
    assert "note: update times, the last column, cost nothing" in done.stdout
    assert "critical path: computing" in done.stdout
    assert json.loads(command(workload, "--json", "--no-time").stdout)["ideal"] is None


@pytest.mark.parametrize(
    ("text", "options", "named"),
    [
        ("num_ranks 1\nrank 0 {\ncalc -5\n}\n", (), [":3:", "calc NANOSECONDS"]),
        ("num_ranks 2\nrank 0 {\n}\n", (), ["rank 1 is missing"]),
        ("num_ranks 1\nrank 0 {\n", (), ["end of the file"]),
        ("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}\n", (), [":3:", "rank 1 receives no such message"]),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n", (), [":3:", "wait for one another"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--rate", "5"), ["--rate"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--format", "goat"), ["--format", "goal-binary"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--collectives", "star"), ["--collectives", "nccl, ring"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--to", "goal"), ["--to", "--out"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--out", "x.dat"), ["--out", ".goal, .bin"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--site-latency", "1ms"), ["--ranks-per-site"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--ranks-per-site", "4"), ["--site-latency"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--out", "/nowhere/x.goal"), ["/nowhere/x.goal", "cannot be written"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--groups", "/nowhere/g.json"), ["/nowhere/g.json", "cannot be read"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--rate", "0bps"), ["--rate", "0bps", "above zero"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--ranks", "4294967296"), ["--ranks", "4294967296", "1 to 16777216"]),
        ("num_ranks 1\nrank 0 {\n}\n", ("--ranks-per-host", "4294967296"), ["--ranks-per-host", "1 to 16777216"]),
        (
            "num_ranks 1\nrank 0 {\n}\n",
            ("--ranks-per-site", "99999999999999", "--site-latency", "1ms"),
            ["--ranks-per-site"],
        ),
        ('{"workload_graph": []}', (), ["is JSON", ".et", "chakra_converter"]),
        ("", (), ["is empty"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, text, options, named):
    file = tmp_path / "job.goal"
    file.write_text(text)
    done = command(file, *options)
    assert done.exit_code == 2, done.output
    assert len(done.stderr.strip().splitlines()) == 1
    assert all(name in done.stderr for name in named), done.stderr


def test_what_cannot_be_read_is_refused(tmp_path):
    for given, named in ((tmp_path, "directory"), (tmp_path / "absent.goal", "cannot be read")):
        with pytest.raises(FarloopError, match=named):
            read_job([given])
    with pytest.raises(FarloopError, match="a second file"):
        read_job([RING, RING])


def test_a_failed_write_leaves_nothing(tmp_path):
    file = tmp_path / "any.goal"
    file.write_text("num_ranks 2\nrank 0 {\nrecv 8b from -1\n}\nrank 1 {\nsend 8b to 0\n}\n")
    with pytest.raises(FarloopError, match="receives from any, which Chakra cannot say"):
        read_job([file], out=tmp_path / "x.et")
    assert list(tmp_path.iterdir()) == [file]


def test_progress_can_stop_it(tmp_path):
    file = _large(tmp_path, 40_000)
    seen = []
    with pytest.raises(_native.Cancelled):
        _native.import_job([str(file)], lambda what, done, total: bool(seen.append((what, done, total))))
    assert seen[0][0] == "reading" and 0 < seen[0][1] < seen[0][2] == file.stat().st_size


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_ends_it_within_a_second(tmp_path):
    file = _large(tmp_path, 4_000_000)
    # A shell starts background jobs with SIGINT ignored, and its children inherit that.
    process = subprocess.Popen(
        [sys.executable, "-m", "farloop", "import-job", str(file)],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(1)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    # A second on an idle machine; tests share theirs.
    assert time.monotonic() - began < 10


def _large(folder, count):
    file = folder / "large.goal"
    with file.open("w") as out:
        out.write("num_ranks 1\nrank 0 {\n")
        out.writelines(f"l{i}: calc 1\n" + (f"l{i} requires l{i - 1}\n" if i else "") for i in range(count))
        out.write("}\n")
    return file


def test_a_collective_that_a_rank_lacks_names_the_option_and_the_file_beside_the_traces(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    read_job([tmp_path / "plan.toml"], out=tmp_path / "t.et", timed=False)
    groups = tmp_path / "t.groups.json"
    kept = groups.rename(tmp_path / "kept")
    traces = [tmp_path / f"t.{rank}.et" for rank in range(4)]
    (tmp_path / "a.json").write_text('{"5": ["x"]}')
    assert "which rank 2 does not do; expected --groups FILE, where" in command(*traces).stderr
    (tmp_path / "w.json").write_text('{"5": [0, 1]}')
    assert f"--groups {tmp_path / 'w.json'}, where" in command(*traces).stderr
    # With groups that leave a rank out, and where something else is wrong, there is no hint.
    groups.write_text(json.dumps({name: [0, 1, 2, 3] for name in json.loads(kept.read_text())}))
    refused = command(*traces, "--groups", groups)
    assert refused.exit_code == 2 and "--groups" not in refused.stderr
    traces[0].write_bytes(traces[0].read_bytes()[:-1])
    assert "--groups" not in command(*traces).stderr

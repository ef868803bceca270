"""Studies: which points there are, runs that no kill can spoil and nobody makes twice, one dataset, a report."""

import contextlib
import itertools
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import SMALL
from support import studies
from support.studies import BASE, STUDY, journal

import farloop
from farloop import memory
from farloop.errors import FarloopError
from farloop.experiments import journal as journals
from farloop.experiments import processes, tasks
from farloop.output.store import Store, address, simulator
from farloop.running.progress import CountLines
from farloop.studies.sweep import multiples, points


@pytest.fixture
def place(tmp_path):
    return studies.written(tmp_path)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    where = tmp_path_factory.mktemp("swept")
    (where / "base.toml").write_text(BASE, encoding="utf-8")
    (where / "study.toml").write_text(STUDY, encoding="utf-8")
    return farloop.study(where / "study.toml", out=where / "out" / "s", workers=2)


def test_a_run_is_built_once_where_it_is_planned_and_once_where_it_is_made(place, on_scenario):
    asked, loads = on_scenario(), [0.2, 0.4]
    base = place / "base.toml"
    study = farloop.study(base=base, grid={"workload.load": loads}, out=place / "s", workers=1, report=False)
    assert study.counts.made == len(loads)
    built = Counter()
    for handle in asked:
        built[dict(handle.arguments[2]).get("workload.load")] += handle.builds
    assert {load: built[str(load)] for load in loads} == dict.fromkeys(loads, 1)
    asked.clear()
    again = farloop.study(
        base=base,
        grid={"workload.load": loads},
        out=place / "again",
        workers=1,
        store=place / "run-store",
        report=False,
    )
    assert (again.counts.made, again.counts.kept) == (0, len(loads))
    assert not [handle for handle in asked if handle.builds], "no network is built for a run that is there"
    # What a worker does, in this process.
    scenario = farloop.Scenario.load(base).override({"workload.load": 0.3})
    task = tasks.Task.from_scenario(address(scenario), "one", scenario, place / "run-store", 1)
    asked.clear()
    assert tasks.make(task).status == journals.MADE
    assert [handle.builds for handle in asked] == [1]


def test_the_dataset_has_parameters_metrics_and_the_way_to_each_run(swept):
    table = pq.read_table(swept.directory / "runs.parquet")
    assert table.equals(swept.runs)
    assert table.num_rows == 12
    assert table["status"].to_pylist() == ["done"] * 12
    assert table["seed"].to_pylist() == [1, 2, 3] * 4
    assert [table.schema.field(n).metadata[b"unit"] for n in ("workload.load", "throughput")] == [b"1", b"bit/s"]
    assert all(table.schema.field(name).metadata[b"meaning"] for name in table.column_names)
    for row in table.to_pylist():
        run = swept.run(row["run"])
        assert run.address == row["address"]
        assert run.algorithm == row["algorithm"]
        assert row["p99_slowdown"] == np.percentile(run.slowdown, 99)
        assert row["throughput"] == run.summary["throughput"]
        assert row["max port/left->right queue"] == run.samples.get("port/left->right", "queue")[1].max()
    again = farloop.run(swept.directory.parents[1] / "base.toml", algorithm="hpcc", seed=3, set={"workload.load": 0.4})
    assert again.flows.equals(swept.run(12).flows), "a study's run is the run that `run` makes"


def test_other_programs_read_the_dataset(swept):
    path = str(swept.directory / "runs.parquet")
    wanted = swept.runs["throughput"].to_pylist()
    for module, column in (
        ("pandas", lambda m: m.read_parquet(path)["throughput"].tolist()),
        ("polars", lambda m: m.read_parquet(path)["throughput"].to_list()),
        ("duckdb", lambda m: [v for (v,) in m.sql(f"select throughput from '{path}' order by run").fetchall()]),
    ):
        try:
            loaded = __import__(module)
        except ImportError:
            continue
        assert column(loaded) == wanted, module


def test_points_are_means_over_seeds_with_intervals(swept):
    runs = swept.runs.to_pylist()
    for row in swept.points.to_pylist():
        same = [r["throughput"] for r in runs if r["point"] == row["point"]]
        mean = farloop.statistics.mean(same, floor=0.0)
        assert (row["seeds"], row["throughput"]) == (3, pytest.approx(mean.estimate))
        assert (row["throughput low"], row["throughput high"]) == (pytest.approx(mean.low), pytest.approx(mean.high))
        assert row["throughput ci95"] == pytest.approx(mean.half_width), "to the farther end"
        pooled = np.concatenate([swept.run(r["run"]).slowdown for r in runs if r["point"] == row["point"]])
        assert row["p99_slowdown"] == np.percentile(pooled, 99)


def test_a_second_study_makes_nothing_again(swept):
    before = (swept.directory / "runs.parquet").read_bytes(), (swept.directory / "report.html").read_bytes()
    store = swept.directory.parent / "run-store"
    study = swept.directory.parents[1] / "study.toml"
    again = farloop.study(study, out=swept.directory)
    assert (again.counts.made, again.counts.kept) == (0, 12)
    assert ((swept.directory / "runs.parquet").read_bytes(), (swept.directory / "report.html").read_bytes()) == before
    more = farloop.study(
        base=swept.directory.parents[1] / "base.toml",
        grid={"workload.load": np.array([0.2, 0.3]), "algorithm": ["dctcp"], "seed": range(1, 4)},
        collect=[how_many, "jain", {"twice": lambda run: 2 * how_many(run)}],
        out=swept.directory.parent / "other",
        report=False,
    )
    assert (more.counts.made, more.counts.kept) == (3, 3), "another study's runs count as well"
    assert all(count == 1 for count in journal(store, "finished").values())
    assert more.runs["how_many"].to_pylist() == [float(more.run(i).flows.num_rows) for i in range(1, 7)]
    assert more.runs["twice"].to_pylist() == [2 * number for number in more.runs["how_many"].to_pylist()]
    assert not (more.directory / "report.html").exists()


def how_many(run):
    return run.flows.num_rows


@pytest.mark.usefixtures("without_workers")
def test_an_output_is_enough_where_the_store_is_gone(place):
    first = farloop.study(place / "study.toml", out=place / "s", report=False)
    assert first.counts.made == 12
    for path in sorted((place / "run-store").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    again = farloop.study(place / "study.toml", out=place / "s", report=False)
    assert (again.counts.made, again.counts.kept) == (0, 12)
    assert again.runs.equals(first.runs)


def test_the_report_is_drawn_anew_from_the_tables(swept, command):
    names = sorted(path.name for path in (swept.directory / "figures").iterdir())
    assert names == ["max-port-left--right-queue.png", "p99_slowdown.png", "pareto.png", "throughput.png"]
    before = (swept.directory / "report.html").read_bytes()
    assert command("report", str(swept.directory), "-q").returncode == 0
    assert (swept.directory / "report.html").read_bytes() == before
    text = before.decode()
    assert 'src="http' not in text
    for words in (
        "Which points are the best and the worst?",
        "Pareto front",
        "What are the numbers of all points?",
        "dctcp, workload.load 0.2",
        " [",
    ):
        assert words in text
    with pytest.raises(FarloopError, match=r"load one of the runs in it, such as .*runs"):
        farloop.load(swept.directory)


def test_small_multiples_have_the_study_s_numbers(swept):
    drawn = multiples.multiples(swept.points, ["algorithm", "workload.load"], "throughput")
    assert list(drawn.panels) == [""]
    assert [(line.name, line.x.tolist()) for line in drawn.panels[""]] == [("dctcp", [0.2, 0.4]), ("hpcc", [0.2, 0.4])]
    first = drawn.panels[""][0]
    assert (first.y * 1e6).tolist() == pytest.approx(
        swept.points["throughput"].to_pylist()[:2]
    ) or drawn.up.title.endswith("(Gbps)")
    assert (first.low <= first.y).all() and (first.y <= first.high).all()
    assert first.bands() == [slice(0, 2)]


def test_pareto_front_by_hand():
    import pyarrow as pa

    rows = pa.table({"a": [1.0, 2.0, 3.0, 2.0, None], "b": [5.0, 7.0, 6.0, 4.0, 9.0], "name": list("pqrst")})
    front = multiples.pareto_front(rows, ("a", "less"), ("b", "more"))
    assert [row["name"] for row in front] == ["p", "q"]
    front = multiples.pareto_front(rows, ("a", "less"), ("b", "less"))
    assert [row["name"] for row in front] == ["p", "s"]
    front = multiples.pareto_front(rows, ("a", "more"), ("b", "more"))
    assert [row["name"] for row in front] == ["r", "q"]


def workers_of(process):
    """The processes that a process has started."""
    workers = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process.pid and fields[0] != "Z":
            workers.append(int(path.parent.name))
    return workers


KILLED = STUDY.replace('seed = "1-3"', 'seed = "1-9"')
RUNS = 36

MORE = int(os.environ.get("FARLOOP_SWEEP_SEEDS", "9"))
"""Seeds of four points each of which the workers are killed: 50 for two hundred runs, whose numbers `pytest -s` shows."""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
def test_workers_killed_at_random_cost_nothing_but_time(command, place):
    runs, kills = 4 * MORE, max(10, MORE)
    (place / "study.toml").write_text(KILLED.replace("1-9", f"1-{MORE}"), encoding="utf-8")
    choose = random.Random(5)
    began = time.monotonic()
    process = command.start("sweep", "study.toml", "--out", "s", "--workers", "2", "--no-report")
    store, killed, wanted = place / "run-store", 0, 1
    while process.poll() is None:
        if killed < kills and len(list(store.glob("[0-9a-f]*/run.json"))) >= wanted:
            there = workers_of(process)
            if there:
                os.kill(choose.choice(there), signal.SIGKILL)
                killed += 1
                wanted = len(list(store.glob("[0-9a-f]*/run.json"))) + choose.randint(1, 4)
        time.sleep(choose.uniform(0.001, 0.02))
    _, err = process.communicate()
    assert process.returncode == 0, err
    took = time.monotonic() - began
    assert killed >= 6
    table = pq.read_table(place / "s" / "runs.parquet")
    assert table["status"].to_pylist() == ["done"] * runs
    assert len(set(table["address"].to_pylist())) == runs
    # Between a run and its line in the journal somebody may have been killed: then there is no line.
    assert set(journal(store, "finished").values()) == {1}
    assert len(journal(store, "finished")) >= runs - killed
    assert runs <= sum(journal(store, "began").values()) <= runs + killed, "only what was killed is made again"
    done = set()
    for line in map(json.loads, (store / journals.JOURNAL).read_text("utf-8").splitlines()):
        assert line["run"] not in done, "what is made is not begun again"
        done |= {line["run"]} if line["what"] == "finished" else set()
    before = (store / journals.JOURNAL).read_bytes()
    assert not [p.name for p in store.iterdir() if p.name.startswith(".")], "nothing half-written is left"
    began = time.monotonic()
    again = command("sweep", "study.toml", "--out", "s", "--no-report")
    assert again.returncode == 0, again.stderr
    assert f"no run to make, {runs} kept from before" in again.stderr
    second = time.monotonic() - began
    assert second < 60
    assert (store / journals.JOURNAL).read_bytes() == before
    assert pq.read_table(place / "s" / "runs.parquet").equals(table)
    made = sum(journal(store, "began").values())
    print(f"{runs} runs, {killed} workers killed, {made} begun, {took:.0f} s; the same again {second:.1f} s")  # noqa: T201


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
def test_a_sweep_that_is_killed_goes_on_and_leaves_no_worker(command, place):
    (place / "study.toml").write_text(KILLED, encoding="utf-8")
    arguments = ["sweep", "study.toml", "--out", "s", "--workers", "2", "--no-report"]
    process = command.start(*arguments)
    store = place / "run-store"
    while len(list(store.glob("[0-9a-f]*/run.json"))) < 5:
        time.sleep(0.01)
    orphans = workers_of(process)
    process.kill()
    process.communicate()
    assert not (place / "s").exists()
    for _ in range(200):
        if not any(Path(f"/proc/{pid}/cmdline").exists() for pid in orphans):
            break
        time.sleep(0.05)
    else:
        pytest.fail("a worker outlives who started it")
    again = command(*arguments)
    assert again.returncode == 0, again.stderr
    assert max(journal(store, "finished").values()) == 1
    assert pq.read_table(place / "s" / "runs.parquet")["status"].to_pylist() == ["done"] * RUNS


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
def test_a_worker_stops_in_the_middle_of_a_run_when_who_started_it_is_killed(command, place):
    endless = SMALL.replace('"20ms"', '"3600s"') + "[record]\nflows = []\nports = []\n"
    (place / "base.toml").write_text(endless, encoding="utf-8")
    (place / "study.toml").write_text('base = "base.toml"\ncollect = ["throughput"]\n[grid]\nseed = "1"\n', "utf-8")
    process = command.start("sweep", "study.toml", "--out", "s", "--workers", "1", "--no-report", "--force-memory")
    while not (place / "run-store" / journals.JOURNAL).exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    (worker,) = workers_of(process)
    process.kill()
    process.communicate()
    try:
        until = time.monotonic() + 30
        while Path(f"/proc/{worker}/cmdline").exists():
            assert time.monotonic() < until, "the run goes on for nobody"
            time.sleep(0.05)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def test_two_sweeps_at_once_share_the_work(command, place):
    several = [
        command.start("sweep", "study.toml", "--out", f"s{i}", "--workers", "1", "--no-report") for i in range(2)
    ]
    for process in several:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert set(journal(place / "run-store", "finished").values()) == {1}
    assert len(journal(place / "run-store", "finished")) == 12


def chain(switches):
    """A path with so many switches; telemetry has room for 16."""
    nodes = "".join(f'[[node]]\nname = "x{i}"\nkind = "switch"\ndatacenter = 0\n' for i in range(switches))
    nodes += "".join(f'[[node]]\nname = "{h}"\ndatacenter = 0\n' for h in "ab")
    way = ["a", *(f"x{i}" for i in range(switches)), "b"]
    links = "".join(f'[[link]]\na = "{a}"\nb = "{b}"\n' for a, b in itertools.pairwise(way))
    flow = '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\nsize = "10kB"\n'
    return f'[run]\nduration = "1ms"\n[network]\ntopology = "links"\n{nodes}{links}[algorithm]\nname = "dctcp"\n{flow}'


@pytest.mark.usefixtures("without_workers")
def test_failures_are_listed_and_tried_again_only_when_asked(command, place):
    (place / "far.toml").write_text(chain(20), encoding="utf-8")
    text = 'base = "far.toml"\ncollect = "p99_slowdown"\n[grid]\nalgorithm = ["dctcp", "bbr"]\nswitch.int = [false, true]\n'
    (place / "study.toml").write_text(text, encoding="utf-8")
    first = command("sweep", "study.toml", "--out", "s")
    assert first.returncode == 1, first.stderr
    assert "dctcp, switch.int true: failed: far.toml:" in first.stderr
    assert "at most 16 fit" in first.stderr
    assert "bbr, switch.int false and 1 other run: refused: the algorithm" in first.stderr
    table = pq.read_table(place / "s" / "runs.parquet").to_pylist()
    assert [row["status"] for row in table] == ["done", "failed", "refused", "refused"]
    assert "at most 16 fit" in table[1]["because"]
    assert [row["path"] is None for row in table] == [False, True, True, True]
    assert "at most 16 fit" in (place / "s" / "report.html").read_text("utf-8")
    began = journal(place / "run-store", "began")
    again = command("sweep", "study.toml", "--out", "s", "--no-report")
    assert again.returncode == 1
    assert journal(place / "run-store", "began") == began, "known to fail"
    assert "at most 16 fit" in again.stderr
    retried = command("sweep", "study.toml", "--out", "s", "--retry", "--no-report")
    assert retried.returncode == 1
    assert sum(journal(place / "run-store", "began").values()) == sum(began.values()) + 1


def test_a_study_of_which_nothing_can_run_is_an_error(place):
    with pytest.raises(farloop.ScenarioError, match="needs the delivery rate"):
        farloop.study(base=place / "base.toml", grid={"algorithm": ["bbr"]}, out=place / "s")
    with pytest.raises(FarloopError, match=r"^workload\.lod: unknown key"):
        farloop.study(base=place / "base.toml", grid={"workload.lod": [1]}, out=place / "s")
    with pytest.raises(FarloopError, match="file and base: expected one of them"):
        farloop.study()
    assert not (place / "s").exists()


def task(place, key, memory, store=None, lasts="1ms"):
    return tasks.Task(
        key,
        key,
        SMALL,
        str(place / "small.toml"),
        (("run.duration", lasts), ("run.seed", key)),
        str(store or place),
        memory,
        1,
        simulator(),
    )


def test_only_as_many_run_side_by_side_as_fit(place):
    seen = []

    class Watched(processes.LocalPool):
        def _give(self, waiting, source):
            # A run can end sooner than the other worker begins: they wait for each other.
            if all(worker.is_ready for worker in self._started):
                super()._give(waiting, source)

        def _answers(self):
            seen.append(sum(w.task is not None for w in self._started))
            return super()._answers()

    gigabyte = 1 << 30
    for room, most in ((gigabyte, 1), (3 * gigabyte, 2)):
        seen.clear()
        pending = (task(place, f"{room}{i}", gigabyte, lasts="100ms") for i in range(4))
        with contextlib.closing(Watched(2, room)) as watched:
            outcomes = list(watched.outcomes(pending))
        assert [outcome.status for _, outcome in outcomes] == ["made"] * 4
        assert max(seen) == most
    with contextlib.closing(Watched(2, 1)) as watched:
        ((_, alone),) = watched.outcomes([task(place, "7", gigabyte)])
    assert alone.status == "made", "one always runs"


def test_the_estimate_is_more_than_what_runs_take(place):
    (place / "large.toml").write_text(
        BASE.replace('"1Gbps"', '"100Gbps"').replace('wan_delay = "1ms"', 'wan_delay = "10ms"'), encoding="utf-8"
    )
    scenario = farloop.Scenario.load(place / "large.toml").override({"workload.stop": "none", "workload.sizes": "10MB"})
    wanted = tasks.Task.from_scenario("1", "large", scenario, place, 1)
    with contextlib.closing(processes.LocalPool(1)) as pool:
        ((_, outcome),) = pool.outcomes([wanted])
    assert outcome.status == "made"
    assert memory.PROCESS // 2 < outcome.peak < wanted.memory < 20 * outcome.peak


def test_a_worker_of_another_build_makes_nothing(place):
    other = tasks.Task.from_json(task(place, "1", 1).as_json().replace(simulator(), "0" * 64))
    assert "another build" in tasks.make(other).because
    assert "no such directory" in tasks.make(task(place, "1", 1, place / "absent")).because
    assert list(place.glob("1")) == []


def test_what_is_claimed_is_made_by_nobody_else(place):
    wanted = task(place, "12", 1)
    with Store(place).claim_run("12") as mine:
        assert mine
        assert tasks.make(wanted).status == journals.BUSY
    assert tasks.make(wanted).status == journals.MADE
    assert tasks.make(wanted).status == journals.KEPT
    (place / "12" / "flows.parquet").write_bytes(b"damaged")
    assert tasks.make(wanted).status == journals.MADE, "what is damaged is none"
    assert "12" in Store(place)


def test_progress_says_how_long_it_takes(capsys):
    shown = CountLines()
    shown.begin(3, 2, 1)
    shown._printed -= 100
    shown.report_done("a")
    shown.report_done("b", "no luck")
    shown.report_done("c")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "3 runs to make, 2 kept from before, 1 side by side"
    assert lines[1].startswith("1 of 3 runs done, ")
    assert lines[1].endswith(" s left")
    assert lines[2] == "b: failed: no luck"
    assert lines[3].startswith("3 of 3 runs done, 1 failed, in ")


def test_help_and_python_agree(command):
    shown = command("sweep", "--help").stdout
    for option in ("--until", "--workers", "--retry", "--store", "--most-seeds"):
        assert option in shown
    assert points.NAMES == {"algorithm": "algorithm.name", "seed": "run.seed"}

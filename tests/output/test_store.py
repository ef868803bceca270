"""Finished runs are kept and never made again; killed ones never count."""

import dataclasses
import json
import os
import shutil

import pyarrow.parquet as pq
import pytest

import farloop
from farloop.commands.report import rewrite
from farloop.experiments.execution import Execution
from farloop.experiments.threads import Job, simulate
from farloop.output import directories, manifest, store
from farloop.output.store import Pending, Simulated, Store, address, prefix
from farloop.scenario import Scenario
from farloop.studies import reproduce

LONG = "run.duration=2s"
"""Long enough to be killed on the way, short enough for a test."""


def started(done):
    return sorted(line.partition(":")[0] for line in done.stderr.splitlines() if line.endswith(": started"))


def results(directory):
    """Every file that a simulation decides, with its bytes."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.suffix == ".parquet" or path.name in ("summary.json", "claims.json")
    }


def kill_after(command, line, *arguments):
    process = command.start(*arguments)
    while line not in (read := process.stderr.readline()):
        assert read, f"ended before {line!r}"
    process.kill()
    process.communicate(timeout=60)


def test_a_killed_comparison_goes_on_where_it_was(command, small):
    arguments = [
        "compare",
        str(small),
        "--algorithms",
        "hpcc,dctcp,timely",
        "--set",
        LONG,
        "--threads",
        "1",
        "--no-report",
    ]
    kill_after(command, "hpcc: done", *arguments, "--out", "r")
    kill_after(command, "dctcp: done", *arguments, "--out", "r")
    assert not (command.directory / "r").exists(), "an output is complete or absent"
    again = command(*arguments, "--out", "r")
    assert again.returncode == 0, again.stderr
    assert started(again) == ["timely"]
    assert "hpcc: kept from before" in again.stderr
    assert command(*arguments, "--out", "undisturbed", "--quiet").returncode == 0
    resumed, wanted = results(command.directory / "r"), results(command.directory / "undisturbed")
    assert resumed == wanted
    assert len(resumed) == 3 * 9 + 1
    assert {p.name for p in command.directory.iterdir()} == {"small.toml", "r", "undisturbed"}
    complete = command(*arguments, "--out", "r")
    assert started(complete) == [], "a complete output's runs are used again"
    assert results(command.directory / "r") == wanted
    assert started(command(*arguments, "--out", "r", "--fresh")) == ["dctcp", "hpcc", "timely"]


def test_a_reproduction_that_fails_goes_on_where_it_was(tmp_path, monkeypatch, on_scenario):
    real_plan = reproduce.plan
    made = []

    def plan(figure, *, full, same_start=None, reading=None):
        planned = real_plan(figure, full=full, same_start=same_start)
        variants = [
            dataclasses.replace(p, scenario=p.scenario.override({"run.duration": "1ms"})) for p in planned.variants[:2]
        ]
        return dataclasses.replace(planned, variants=variants)

    def run(real, *arguments):
        made.append(arguments)
        if len(made) == 4:
            raise MemoryError
        return real(*arguments)

    def once():
        with directories.directory(tmp_path / "r") as out:
            reproduce.reproduce(
                ["gear/fig02", "gear/fig09"], out.path, Execution(threads=1, store=out.store), full=False
            )

    monkeypatch.setattr(reproduce, "plan", plan)
    on_scenario(run)
    with pytest.raises(MemoryError) as raised:
        once()
    assert raised.value.__notes__ == ["3 finished runs are kept; the same command goes on from there"]
    assert not (tmp_path / "r").exists()
    once()
    assert len(made) == 5, "the one that failed, and no other"
    once()
    assert len(made) == 5, "all are in the complete output"
    listed = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert listed["figures"] == ["gear/fig02", "gear/fig09"]
    before = results(tmp_path / "r")
    rewrite(tmp_path / "r")
    assert results(tmp_path / "r") == before
    assert manifest.find_foreign(tmp_path / "r") == []
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_an_interrupt_says_what_is_kept(command, small):
    arguments = ["run", str(small), "--seeds", "1-3", "--set", LONG, "--threads", "1", "--out", "r"]
    process = command.start(*arguments)
    while "done" not in process.stderr.readline():
        pass
    process.send_signal(2)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "farloop: interrupted; 1 finished run is kept; the same command goes on from there"
    assert not (command.directory / "r").exists()
    assert started(command(*arguments)) == ["hpcc, seed 2", "hpcc, seed 3"]


def test_a_failure_after_simulating_keeps_the_runs(command, small):
    arguments = ["compare", str(small), "--algorithms", "hpcc,dctcp", "--set", "run.duration=1ms", "--out", "r"]
    process = command.start(*arguments)
    # Somebody else's file, while it runs.
    process.stderr.readline()
    (command.directory / "r").mkdir()
    (command.directory / "r" / "thesis.tex").write_text("mine")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "thesis.tex" in err
    assert "2 finished runs are kept" in err
    (command.directory / "r" / "thesis.tex").unlink()
    assert started(command(*arguments)) == []


@pytest.fixture
def scenario(small):
    return Scenario.load(small).override({"run.duration": "1ms"})


@pytest.fixture
def outcome(scenario):
    (simulated,) = simulate([Job("x", scenario)])
    return simulated


def test_an_address_is_of_what_decides_the_result(scenario, small, monkeypatch):
    base = address(scenario)
    assert address(scenario.override({"run.seed": 3})) == base, "3 is what the file says"
    assert (
        address(
            Scenario.from_text(scenario.text.replace("Two flows", "Another title"), scenario.file).override(
                ["run.duration=1ms"]
            )
        )
        == base
    )
    others = [
        scenario.override(seed=4),
        scenario.override(algorithm="dctcp"),
        scenario.override({"switch.buffer": "3MB"}),
        scenario.override({"algorithm.hpcc.eta": 0.9}),
    ]
    assert len({base, *map(address, others)}) == 5
    monkeypatch.setattr(store, "simulator", lambda: "another build")
    assert address(scenario) != base


def test_an_address_is_of_the_files_that_are_read(small):
    text = small.read_text().split("[[flow]]")[0] + '[workload]\nflows = "flows.csv"\n'
    flows = small.with_name("flows.csv")
    flows.write_text("from,to,size\ns1,d1,10kB\n")
    scenario = Scenario.from_text(text, str(small))
    before = address(scenario)
    flows.write_text("from,to,size\ns1,d1,20kB\n")
    assert address(Scenario.from_text(text, str(small))) != before


def test_what_is_kept_comes_back(outcome, tmp_path):
    kept = Store(tmp_path / "runs")
    assert kept.get("ab") is None
    kept.put("ab", outcome)
    stored = kept.get("ab")
    assert stored is not None
    assert stored.info == outcome.info
    assert all(stored.tables[name].equals(outcome.tables[name], check_metadata=True) for name in outcome.tables)
    assert len(kept) == 1


@pytest.mark.parametrize("damage", ["cut", "gone", "swapped", "other rows", "no address"])
def test_a_run_that_is_not_whole_does_not_count(damage, outcome, tmp_path):
    kept = Store(tmp_path / "runs")
    kept.put("ab", outcome)
    flows = tmp_path / "runs" / "ab" / "flows.parquet"
    if damage == "cut":
        flows.write_bytes(flows.read_bytes()[:-1])
    elif damage == "gone":
        flows.unlink()
    elif damage == "swapped":
        shutil.copyfile(flows.with_name("ports.parquet"), flows)
    elif damage == "other rows":
        pq.write_table(pq.read_table(flows).slice(1), flows)
    else:
        note = flows.with_name("run.json")
        note.write_text(json.dumps(json.loads(note.read_text()) | {"address": "cd"}))
    assert "ab" not in kept
    assert kept.get("ab") is None


def test_a_run_that_is_damaged_is_replaced(outcome, tmp_path):
    kept = Store(tmp_path / "runs")
    kept.put("ab", outcome)
    (tmp_path / "runs" / "ab" / "flows.parquet").unlink()
    kept.put("ab", outcome)
    assert "ab" in kept
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["ab"], "not beside what is damaged"


def test_a_run_that_cannot_be_written_is_not_there(outcome, tmp_path):
    kept = Store(tmp_path / "runs")
    with pytest.raises(AttributeError):
        kept.put("ab", Simulated(outcome.tables | {"ports": None}, outcome.info))
    assert list((tmp_path / "runs").iterdir()) == []


def test_equal_jobs_run_once(scenario, on_scenario):
    made = []
    on_scenario(lambda real, *args: made.append(args) or real(*args))
    first, second = simulate([Job("a", scenario), Job("b", scenario.override(seed=3))])
    assert len(made) == 1
    assert first is second


def test_a_live_owner_is_left_alone_and_a_dead_ones_runs_are_taken_over(outcome, tmp_path):
    target = tmp_path / "out" / "r"
    live, dead = Pending(target), Pending(target)
    Store(live.runs).put("aa", outcome)
    Store(dead.runs).put("bb", outcome)
    # What a killed process leaves: everything but the lock.
    dead._lock.close()
    heir = Pending(target)
    assert live.path.is_dir()
    assert not dead.path.exists()
    assert Store(heir.runs).get("bb") is not None
    assert Store(heir.runs).get("aa") is None
    assert heir.close() == 1
    live.remove()
    last = Pending(target)
    assert Store(last.runs).get("bb") is not None
    last.remove()
    assert list(target.parent.iterdir()) == []


def test_names_that_end_in_a_process_number_neither_block_nor_are_swept(result, tmp_path):
    for name in (f".r.partial-{os.getpid()}", ".r.partial-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text("")
    result.save(tmp_path / "r", report=False)
    assert {p.name for p in tmp_path.iterdir()} == {"r", f".r.partial-{os.getpid()}", ".r.partial-1"}


def test_an_older_output_whose_replacement_was_killed_comes_back(result, tmp_path):
    target = result.save(tmp_path / "r", report=False)
    killed = Pending(target)
    target.rename(killed.path / store.REPLACED)
    killed._lock.close()
    Pending(target).remove()
    assert farloop.load(target).runs[0].label == result.label


def test_names_at_the_limit_of_the_file_system(result, tmp_path):
    for name in ("n" * 255, "ü" * 127, "*[x]?"):
        result.save(tmp_path / name, report=False)
        assert len(os.fsencode(prefix(tmp_path / name))) < 240
        left = Pending(tmp_path / name)
        left._lock.close()
        result.save(tmp_path / name, report=False)
        assert not left.path.exists()


def test_labels_that_are_the_same_as_file_names_stay_apart(comparison, tmp_path):
    runs = [dataclasses.replace(run, label=label) for run in comparison for label in ("a b", "A-b")]
    saved = farloop.Comparison("names", runs).save(tmp_path / "r", report=False)
    assert sorted(p.name for p in (saved / "runs").iterdir()) == ["A-b-2", "A-b-4", "a-b", "a-b-3"]

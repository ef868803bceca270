"""Commands that are killed repeat nothing that was finished; two at once make each run once. By threads and by workers."""

import json
import signal
import threading
import time

import pytest
from support import studies
from support.advice import SITES
from support.studies import STUDY, jobs_text, journal

import farloop
from farloop.experiments.journal import JOURNAL
from farloop.output.store import address
from farloop.running.progress import Lines
from farloop.scenario import Scenario

ENGINES = {"threads": ["--threads", "1"], "workers": ["--workers", "1"]}

ARENA = ["arena", "--scenario", "base.toml", "--algorithms", "dctcp,hpcc", "--seeds", "1-3", "--same-start", "own"]
THEORY = ("store-and-forward", "ecn-arrival", "dctcp-cycle", "gemini-queue", "reno-sawtooth", "cubic-curve")
STUDIES = {
    "arena": [*ARENA, "--jitter", "0", "--set", "run.duration=300ms", "--set", "workload.stop=none"],
    "validate": ["validate", *(f"theory/{name}" for name in THEORY)],
    "compare": ["compare", "small.toml", "--algorithms", "hpcc,dctcp,timely,swift", "--set", "run.duration=1s"],
    "reproduce": ["reproduce", "gear/fig09", "--set", "run.duration=30ms"],
    "advise": ["advise", "sites.toml", "--candidates", "dctcp,swift", "--no-tune", "--budget", "4s"],
    "plan": ["plan", "sites.toml", "--vary", "load = 0.6, 0.5, 0.4", "--until", "p99 slowdown <= 1.01", "--seeds", "3"],
    "sweep": ["sweep", "study.toml"],
    "interference": ["interference", "jobs.toml"],
}
KILLED = [
    *((study, engine) for study in ("arena", "validate", "reproduce", "advise", "interference") for engine in ENGINES),
    ("compare", "workers"),
    ("plan", "threads"),
    ("sweep", "threads"),
]
"""With a comparison by threads and a sweep by workers, which are killed elsewhere, each kind of study by each engine."""


@pytest.fixture
def place(small):
    return studies.written(small.parent)


def lines(store):
    path = store / JOURNAL
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


@pytest.mark.sampled
@pytest.mark.parametrize(("study", "engine"), KILLED)
def test_a_command_that_is_killed_repeats_nothing_finished(study, engine, command, place):
    (place / "sites.toml").write_text(SITES, encoding="utf-8")
    (place / "jobs.toml").write_text(jobs_text("abc", scale=64), encoding="utf-8")
    (place / "study.toml").write_text(STUDY.replace("1-3", "1-5"), encoding="utf-8")
    arguments = [*STUDIES[study], *ENGINES[engine], "--store", "kept", "--quiet"]
    # What interference prints is all that it writes.
    out, again, third = ([] if study == "interference" else ["--no-report", "--out", name] for name in ("r", "r", "s"))
    store = place / "kept"
    process = command.start(*arguments, *out)
    while sum(line["what"] == "finished" for line in lines(store)) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.kill()
    process.communicate(timeout=60)
    assert not (place / "r").exists()
    before = [line["run"] for line in lines(store) if line["what"] == "finished"]
    done = command(*arguments, *again)
    assert done.returncode == 0, done.stderr
    began, finished = journal(store, "began"), journal(store, "finished")
    assert {began[run] for run in before} == {1}, "what is finished is not begun again"
    assert len(finished) > len(before), "it was killed on the way"
    assert max(finished.values()) == 1
    made = sum(began.values())
    assert made <= len(began) + 1, "one run was lost"
    assert command(*arguments, *third).returncode == 0
    assert sum(journal(store, "began").values()) == made, "a second time nothing is simulated"


def test_threads_and_workers_at_once_make_each_run_once(command, place):
    arguments = ["compare", "small.toml", "--algorithms", "hpcc,dctcp", "--seeds", "1-3", "--set", "run.duration=1s"]
    arguments += ["--store", "kept", "--no-report"]
    several = [command.start(*arguments, *options, "--out", name) for name, options in ENGINES.items()]
    for process in several:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    finished = journal(place / "kept", "finished")
    assert len(finished) == 6
    assert set(finished.values()) == {1}
    assert set(journal(place / "kept", "began").values()) == {1}
    summaries = [(place / name / "summary.json").read_bytes() for name in ENGINES]
    assert summaries[0] == summaries[1]


def test_an_interrupt_ends_the_workers_and_says_what_is_kept(command, place):
    arguments = ["run", "small.toml", "--seeds", "1-3", "--set", "run.duration=2s", "--workers", "1", "--no-report"]
    process = command.start(*arguments, "--out", "r")
    while "done" not in (line := process.stderr.readline()):
        assert line, "it ended before a run was done"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "farloop: interrupted; 1 finished run is kept; the same command goes on from there"
    again = command(*arguments, "--out", "r")
    assert sorted(line for line in again.stderr.splitlines() if line.endswith("started")) == [
        "hpcc, seed 2: started",
        "hpcc, seed 3: started",
    ]


def test_workers_wait_for_another_command_and_say_so_once(small, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("farloop.experiments.processes.LOOK_AGAIN", 0.2)
    scenario = Scenario.load(small).override({"run.duration": "1ms"})
    how = farloop.Execution(workers=1, store=tmp_path / "kept", progress=Lines())
    made = []
    with how.run_store.claim_run(address(scenario)):
        waiting = threading.Thread(target=lambda: made.append(farloop.run(scenario, execution=how)))
        waiting.start()
        while "hpcc: another command is at it" not in (err := capsys.readouterr().err):
            assert waiting.is_alive()
            time.sleep(0.05)
        time.sleep(0.5)
        assert waiting.is_alive()
    waiting.join(60)
    lines = (err + capsys.readouterr().err).splitlines()
    assert [line.partition(":")[2].split(" in ")[0] for line in lines] == [
        " another command is at it; this one waits for its run",
        " started",
        " done",
    ]
    assert made[0].flows.num_rows == 3

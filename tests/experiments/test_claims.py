"""A run of a store is made once, whoever is at it; who waits for another one's run can be stopped, and takes it over."""

import signal
import threading
import time

import pytest
from support.studies import journal

from farloop.experiments.threads import Job, simulate
from farloop.output.directories import directory
from farloop.output.store import Store, address
from farloop.running.progress import Lines
from farloop.scenario import Scenario


@pytest.fixture
def jobs(small):
    scenario = Scenario.load(small).override({"run.duration": "1ms"})
    return [Job(f"seed {seed}", scenario.override(seed=seed)) for seed in range(1, 5)]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr("farloop.experiments.crew.LOOK_AGAIN", 0.05)
    return Store(tmp_path / "runs")


def simulate_beside(jobs, store, reporter=None):
    """Simulates in a thread beside the test's; the thread, and the list that its results come into."""
    results = []
    thread = threading.Thread(target=lambda: results.extend(simulate(jobs, threads=1, store=store, reporter=reporter)))
    thread.start()
    return thread, results


def test_threads_of_one_process_share_the_work(jobs, store, on_scenario):
    on_scenario(lambda real, *arguments: time.sleep(0.05) or real(*arguments))
    first, second = simulate_beside(jobs, store), simulate_beside(jobs[::-1], Store(store.directory))
    for thread, _ in (first, second):
        thread.join(30)
        assert not thread.is_alive()
    assert journal(store.directory, "finished") == dict.fromkeys([address(job.scenario) for job in jobs], 1)
    for mine, other in zip(first[1], second[1][::-1], strict=True):
        assert mine.info == other.info
        assert all(mine.tables[name].equals(other.tables[name]) for name in mine.tables)


@pytest.mark.parametrize("puts", [True, False])
def test_another_ones_run_is_waited_for_and_taken_over_where_it_never_comes(puts, jobs, store, on_scenario, capsys):
    (made,) = simulate(jobs[:1])
    begun = on_scenario(lambda real, *arguments: begun_runs.append(1) or real(*arguments))
    begun_runs = []
    key = address(jobs[0].scenario)
    with store.claim_run(key) as mine:
        assert mine
        thread, results = simulate_beside(jobs[:2], store, Lines())
        thread.join(0.5)
        assert thread.is_alive(), "what somebody else makes is waited for"
        assert len(begun_runs) == 1, "the other one is made meanwhile"
        if puts:
            store.put(key, made)
    thread.join(30)
    assert begun
    assert len(begun_runs) == (1 if puts else 2)
    assert results[0].tables["flows"].equals(made.tables["flows"])
    lines = capsys.readouterr().err.splitlines()
    assert lines.count("seed 1: another command is at it; this one waits for its run") == 1
    assert ("seed 1: kept from before" in lines) == puts


def test_who_waits_can_be_interrupted(jobs, store):
    def interrupt(_number, _frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with store.claim_run(address(jobs[0].scenario)):
            began = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                simulate(jobs[:1], store=store)
            assert time.monotonic() - began < 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_run_that_fails_is_claimed_no_more(jobs, store, on_scenario):
    def fail(_real, *_arguments):
        raise MemoryError

    on_scenario(fail)
    with pytest.raises(MemoryError):
        simulate(jobs[:1], store=store)
    with store.claim_run(address(jobs[0].scenario)) as mine:
        assert mine


def test_an_error_says_in_which_store_the_finished_runs_are(jobs, tmp_path):
    with pytest.raises(KeyboardInterrupt) as raised, directory(tmp_path / "r", store=tmp_path / "kept") as out:
        simulate(jobs[:2], store=out.store)
        raise KeyboardInterrupt
    kept = tmp_path / "kept"
    assert raised.value.__notes__ == [f"2 finished runs are in {kept}; the same command goes on from there"]
    assert {path.name for path in tmp_path.iterdir()} == {"small.toml", "kept"}, "no hidden directory is left"
    with directory(tmp_path / "r", store=kept) as out:
        assert all(address(job.scenario) in out.store for job in jobs[:2])


@pytest.mark.parametrize("begins", [True, False])
def test_an_interrupt_in_the_start_of_a_thread_is_told_as_one(begins, jobs, monkeypatch):
    """Nobody can wait for a thread before its start is over: an error that says so would hide the interrupt."""

    class Interrupted(threading.Thread):
        def start(self):
            if begins:
                threading.Timer(0.2, super().start).start()
            raise KeyboardInterrupt

    monkeypatch.setattr("farloop.experiments.crew.threading.Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulate(jobs[:1], threads=1)

"""Studies begin in threads of this process; processes take over where they take long, or could take this one down."""

import contextlib
import signal
import threading
import time
from dataclasses import replace

import pytest
from conftest import SMALL
from support import studies
from support.studies import journal

import farloop
from farloop import memory
from farloop.algorithm import Algorithm
from farloop.errors import InvariantError
from farloop.experiments import task_threads, tasks
from farloop.experiments.journal import KEPT, MADE
from farloop.experiments.task_threads import TaskThreads, ThreadsFirst
from farloop.experiments.tasks import BUSY, Task
from farloop.output.store import Store, address
from farloop.scenario import Scenario

GIGABYTE = 1 << 30


@pytest.fixture
def place(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    return studies.written(tmp_path)


@pytest.fixture
def pools(monkeypatch):
    """What processes were to make: it is made here, and soon."""
    made = []

    class Pool(studies.PoolOfOne):
        def outcomes(self, waiting, progress=None):
            for task in waiting:
                made.append(task.label)
                yield task, tasks.make(replace(task, overrides=(*task.overrides, ("run.duration", "1ms"))))

    monkeypatch.setattr("farloop.experiments.processes.LocalPool", Pool)
    return made


def make_tasks(place, count, lasts="1ms", memory=memory.PROCESS, classes=()):
    scenarios = [
        Scenario.load(place / "small.toml").override({"run.duration": lasts}, seed=seed).with_classes(classes)
        for seed in range(1, count + 1)
    ]
    return [
        Task.from_scenario(address(scenario), f"run {number}", scenario, place, 1, memory=memory)
        for number, scenario in enumerate(scenarios, 1)
    ]


def statuses(engine, wanted):
    with contextlib.closing(engine.outcomes(iter(wanted))) as outcomes:
        return {(task.label, outcome.status) for task, outcome in outcomes}


@pytest.mark.parametrize("engine", [ThreadsFirst, TaskThreads])
def test_what_is_short_starts_no_process(engine, place, pools):
    wanted = make_tasks(place, 5)
    assert statuses(engine(2), wanted) == {(f"run {number}", MADE) for number in range(1, 6)}
    assert statuses(engine(2), wanted) == {(f"run {number}", KEPT) for number in range(1, 6)}
    assert pools == []


def test_processes_take_over_what_takes_longer(place, pools):
    slow = [*make_tasks(place, 1, "3600s"), *make_tasks(place, 3)]
    engine = ThreadsFirst(2, seconds=0.5)
    outcomes = engine.outcomes(iter(slow))
    quick = {next(outcomes)[0].key for _ in range(3)}
    assert quick == {task.key for task in slow[1:]}, "threads make what they can meanwhile"
    assert pools == []
    ((task, outcome),) = outcomes
    assert (task.key, outcome.status) == (slow[0].key, MADE), "what a thread had begun is made by a process"
    assert journal(place, "finished") == dict.fromkeys([task.key for task in slow], 1)
    assert statuses(engine, make_tasks(place, 2, "2ms")) == {("run 1", MADE), ("run 2", MADE)}
    assert pools == ["run 1", "run 1", "run 2"], "they stay for the next tasks"


def test_what_could_take_this_process_down_has_its_own(place, pools, monkeypatch):
    monkeypatch.setattr("farloop._native.available_memory", lambda: 8 * GIGABYTE)
    light = make_tasks(place, 2, memory=memory.PROCESS + GIGABYTE // 2)
    heavy = make_tasks(place, 4, memory=memory.PROCESS + GIGABYTE)[2:]
    assert statuses(ThreadsFirst(2), [*light, *heavy]) == {(f"run {number}", MADE) for number in (1, 2, 3, 4)}
    assert pools == ["run 3", "run 4"]


class Window(Algorithm):
    """A window."""

    def start(self, flow):
        self.cwnd = 8 * flow.mss

    def on_ack(self, ctx, ack):
        pass


def test_algorithms_in_python_have_processes_unless_threads_are_chosen(place, pools):
    wanted = make_tasks(place, 2, classes=(Window,))
    assert statuses(TaskThreads(2), wanted) == {("run 1", MADE), ("run 2", MADE)}
    assert pools == []
    statuses(ThreadsFirst(2), wanted)
    assert pools == ["run 1", "run 2"]


def test_threads_make_as_many_side_by_side_as_fit_into_memory(place, monkeypatch, on_scenario):
    running, most, lock = 0, 0, threading.Lock()

    def count(real, *arguments):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.05)
        try:
            return real(*arguments)
        finally:
            with lock:
                running -= 1

    on_scenario(count)
    for free, expected in ((100, 3), (3, 2), (1, 1)):
        monkeypatch.setattr("farloop._native.available_memory", lambda free=free: free * GIGABYTE)
        most = 0
        wanted = make_tasks(place, 6, f"{free}us", memory=memory.PROCESS + GIGABYTE)
        assert len(statuses(TaskThreads(3), wanted)) == 6
        assert most == expected


def test_another_ones_run_is_waited_for_and_told_once(place, monkeypatch):
    monkeypatch.setattr(task_threads, "LOOK_AGAIN", 0.05)
    (task,) = make_tasks(place, 1)
    with Store(place).claim_run(task.key):
        outcomes = TaskThreads(1).outcomes(iter([task]))
        assert next(outcomes)[1].status == BUSY
        rest = []
        thread = threading.Thread(target=lambda: rest.extend(outcomes))
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    thread.join(30)
    assert [outcome.status for _, outcome in rest] == [MADE]


def test_failures_are_kept_whatever_engine_meets_them(place, on_scenario):
    def fail(_real, *_arguments):
        raise InvariantError("mine: invariant violated: x")

    on_scenario(fail)
    grid = {"base": place / "base.toml", "grid": {"seed": "1-2"}, "report": False}
    for name, execution in (("auto", farloop.Execution()), ("threads", farloop.Execution(threads=1))):
        study = farloop.study(**grid, out=place / name / "s", execution=execution)
        assert [row["because"] for row in study.failures] == ["mine: invariant violated: x"] * 2
        assert len(list((place / name / "run-store").glob("*.failed.json"))) == 2


def test_memory_that_ends_fails_one_run_of_a_study(place, on_scenario):
    def fail(real, *arguments):
        if len(made) == 1:
            made.append(0)
            raise MemoryError
        made.append(1)
        return real(*arguments)

    made = []
    on_scenario(fail)
    study = farloop.study(
        base=place / "base.toml",
        grid={"seed": "1-3"},
        out=place / "s",
        report=False,
        execution=farloop.Execution(threads=1),
    )
    assert study.runs["status"].to_pylist() == ["done", "failed", "done"]
    assert [row["because"] for row in study.failures] == ["out of memory"]


@pytest.mark.parametrize("what", ["", "while True: pass"])
def test_an_interrupt_ends_a_sweep_by_threads(what, command, place):
    began = place / "began"
    handler = f"        open({str(began)!r}, 'w').close()\n        {what or 'pass'}\n"
    (place / "mine.py").write_text(
        "from farloop.algorithm import Algorithm\n\n\nclass Mine(Algorithm):\n    '''A window.'''\n\n"
        f"    def start(self, flow):\n        self.cwnd = 8 * flow.mss\n\n    def on_ack(self, ctx, ack):\n{handler}",
        encoding="utf-8",
    )
    (place / "study.toml").write_text(
        'base = "small.toml"\ncollect = ["throughput"]\n[set]\nalgorithm.name = "mine"\nrun.duration = "3600s"\n[grid]\nseed = "1-2"\n',
        encoding="utf-8",
    )
    process = command.start(
        "sweep", "study.toml", "--algorithm-file", "mine.py", "--threads", "2", "--out", "s", "--force-memory"
    )
    try:
        while not began.exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "farloop: interrupted" in err
    assert not (place / "s").exists()

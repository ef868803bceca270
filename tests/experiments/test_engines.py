"""Workers make the runs that threads make, for every study; what they cannot make they refuse in a line."""

import contextlib
import itertools
import json

import pytest
from support import studies
from support.advice import SITES
from support.studies import journal

import farloop
from farloop.algorithm import Algorithm
from farloop.errors import FarloopError, InvariantError
from farloop.experiments import processes, tasks
from farloop.experiments.execution import Execution
from farloop.experiments.journal import JOURNAL
from farloop.experiments.variants import Variant, run_variants
from farloop.scenario import Scenario

SHORT = {"run.duration": "2ms"}

STARTED = []
"""The pools that tests have started."""


class PoolOfOne(studies.PoolOfOne):
    """Makes tasks in this process, and counts pools."""

    def __init__(self, workers):
        super().__init__(workers)
        self.closed = 0
        STARTED.append(self)

    def close(self):
        """Counts."""
        self.closed += 1


@pytest.fixture(autouse=True)
def pools(monkeypatch):
    STARTED.clear()
    monkeypatch.setattr("farloop.experiments.processes.LocalPool", PoolOfOne)
    # A machine with other work may be slow.
    monkeypatch.setattr("farloop.experiments.task_threads.ThreadsFirst.__init__.__defaults__", (600.0,))
    return STARTED


def results(directory):
    """The files that simulations decide, with their bytes."""
    names = ("summary.json", "claims.json", "validation.json", "answer.json", "jitter.json")
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.suffix in (".parquet", ".csv") or path.name in names
    }


COMMANDS = {
    "run": ["run", "small.toml", "--set", "run.duration=2ms", "--seeds", "1-2"],
    "run one": ["run", "small.toml", "--set", "run.duration=2ms"],
    "compare": ["compare", "small.toml", "--algorithms", "hpcc,dctcp", "--set", "run.duration=2ms", "--jitter", "1"],
    "reproduce": ["reproduce", "gear/fig09", "--set", "run.duration=1ms", "--algorithms", "hpcc,dctcp"],
    "arena": [
        "arena",
        "--scenario",
        "base.toml",
        "--algorithms",
        "dctcp,hpcc",
        "--seeds",
        "1-2",
        "--jitter",
        "1",
        "--why",
    ],
    "validate": ["validate", "theory/store-and-forward"],
    "sweep": ["sweep", "study.toml"],
    "plan": ["plan", "sites.toml", "--vary", "load = 0.6, 0.2", "--until", "p99 slowdown <= 2", "--seeds", "2"],
    "advise": ["advise", "sites.toml", "--candidates", "dctcp,swift", "--no-tune", "--budget", "3s"],
}


@pytest.fixture
def place(small):
    return studies.written(small.parent)


@pytest.mark.sampled
@pytest.mark.parametrize("name", COMMANDS)
def test_workers_make_what_threads_make_and_nothing_a_second_time(name, command, place, pools):
    (place / "sites.toml").write_text(SITES, encoding="utf-8")
    arguments = [*COMMANDS[name], "--no-report"]
    assert command(*arguments, "--out", "threads").returncode == 0
    assert not pools, "threads start nothing"
    made = command(*arguments, "--out", "workers", "--workers", "2", "--store", "kept")
    assert made.returncode == 0, made.stderr
    assert len(pools) == 1, "one pool for all runs of a command"
    assert results(place / "threads")
    assert results(place / "workers") == results(place / "threads")
    begun = journal(place / "kept", "began")
    assert set(begun.values()) == {1}
    for engine in (["--workers", "2"], []):
        again = command(*arguments, "--out", "again", "--store", "kept", *engine)
        assert again.returncode == 0, again.stderr
        assert journal(place / "kept", "began") == begun, "threads and workers keep runs alike"
        assert results(place / "again") == results(place / "threads")
    assert len(pools) == 1, "no worker starts where nothing is missing"


def test_interference_by_workers_says_the_same(command, tmp_path, pools):
    (tmp_path / "jobs.toml").write_text(studies.jobs_text("ab"), encoding="utf-8")
    alone = command("interference", "jobs.toml", "--json")
    assert alone.returncode == 0, alone.stderr
    by_workers = command("interference", "jobs.toml", "--json", "--workers", "2", "--store", "kept")
    assert json.loads(by_workers.stdout) == json.loads(alone.stdout)
    assert len(journal(tmp_path / "kept", "finished")) == 3
    before = (tmp_path / "kept" / JOURNAL).read_bytes()
    assert command("interference", "jobs.toml", "--json", "--store", "kept").stdout == alone.stdout
    assert (tmp_path / "kept" / JOURNAL).read_bytes() == before
    assert len(pools) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2", "--ray", "auto"], "--workers and --ray: expected one of them"),
        (["--slurm", "jobs=0"], "--slurm: jobs=0: expected a whole number from 1"),
        (["--fresh", "--store", "kept"], "--fresh and --store: expected one of them"),
        (["--store", "small.toml"], "small.toml: cannot be written: File exists"),
        (["--workers", "2", "--store", "small.toml"], "small.toml: cannot be written: File exists"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(options, message, command, place):
    done = command("compare", "small.toml", "--algorithms", "hpcc,dctcp", *options, "--out", "r")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (place / "r").exists()


def test_a_trace_comes_from_threads_alone(command, place):
    done = command("run", "small.toml", "--trace", "all", "--workers", "2", "--out", "r")
    assert done.returncode == 2
    assert done.stderr == (
        "farloop: --workers and --trace: expected one of them, since only threads of this process trace\n"
    )


def test_classes_without_a_file_run_in_threads_alone(small):
    scope = {"Algorithm": Algorithm}
    exec(
        "class Made(Algorithm):\n    'A window.'\n    def start(self, flow):\n        self.cwnd = 8 * flow.mss\n"
        "    def on_ack(self, ctx, ack):\n        pass\n",
        scope,
    )
    with pytest.raises(
        FarloopError, match=r"^Made: is in no file .* or no --workers: threads of this process take any class$"
    ):
        farloop.run(small, algorithm=scope["Made"], set=SHORT, execution=Execution(workers=2))


def test_a_class_in_a_file_is_the_same_in_a_worker(small, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from farloop.algorithm import Algorithm\n\n\nclass Mine(Algorithm):\n    '''A window.'''\n\n"
        "    def start(self, flow):\n        self.cwnd = 8 * flow.mss\n\n"
        "    def on_ack(self, ctx, ack):\n        pass\n\n\n"
        "class Other(Mine):\n    '''Another.'''\n",
        encoding="utf-8",
    )
    mine = farloop.algorithm.load(tmp_path / "mine.py")[0]
    first = farloop.run(small, algorithm=mine, set=SHORT)
    other = farloop.run(small, algorithm=mine, set=SHORT, execution=Execution(workers=1))
    assert first.flows.equals(other.flows)
    assert first.info["classes"] == other.info["classes"]


def test_a_failure_is_raised_as_threads_raise_it_and_not_kept(small, tmp_path, on_scenario):
    def fail(_real, *_arguments):
        raise InvariantError("mine: invariant violated: x")

    on_scenario(fail)
    raised = []
    for execution in (Execution(store=tmp_path / "a"), Execution(store=tmp_path / "b", workers=2)):
        with pytest.raises(InvariantError) as error:
            farloop.compare(small, ["hpcc", "dctcp"], set=SHORT, execution=execution)
        raised.append(str(error.value))
        assert not list(execution.run_store.directory.glob("*.failed.json")), "a comparison runs again what failed"
    assert raised[0] == raised[1]


def test_errors_of_scenarios_say_the_same(small):
    text = '[network]\ntopology = "links"\n' + "".join(
        f'[[node]]\nname = "x{i}"\nkind = "switch"\ndatacenter = 0\n' for i in range(20)
    )
    text += "".join(f'[[node]]\nname = "{host}"\ndatacenter = 0\n' for host in "ab")
    way = ["a", *(f"x{i}" for i in range(20)), "b"]
    text += "".join(f'[[link]]\na = "{a}"\nb = "{b}"\n' for a, b in itertools.pairwise(way))
    text += '[algorithm]\nname = "dctcp"\n[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\nsize = "10kB"\n'
    place = small.with_name("far.toml")
    place.write_text('[run]\nduration = "1ms"\n' + text, encoding="utf-8")
    scenario = Scenario.load(place).override({"switch.int": "true"})
    errors = []
    for execution in (Execution(), Execution(workers=1)):
        with pytest.raises(farloop.ScenarioError) as error:
            run_variants([Variant("far", "", "dctcp", scenario)], execution)
        errors.append((str(error.value), getattr(error.value, "problem", None)))
    assert "at most 16 fit" in errors[0][0]
    assert errors[0] == errors[1]


def test_memory_that_ends_is_told_alike(small, on_scenario):
    def fail(_real, *_arguments):
        raise MemoryError

    on_scenario(fail)
    with pytest.raises(MemoryError):
        farloop.run(small, set=SHORT, execution=Execution(workers=1))


def test_an_execution_and_its_options_are_not_given_twice(small):
    for options in ({"threads": 1}, {"force_memory": True}, {"progress": lambda *_: None}):
        with pytest.raises(FarloopError, match=rf"^execution and {next(iter(options))}: expected one of them"):
            farloop.run(small, execution=Execution(), **options)
    with pytest.raises(FarloopError, match="workers: 0: expected a whole number from 1 to 1024"):
        Execution(workers=0)
    with pytest.raises(FarloopError, match="--slurm: expected a store beside it"):
        farloop.run(small, set=SHORT, execution=Execution(slurm="partition=x"))


def test_a_pool_stays_for_the_next_tasks_and_closes_all_that_it_opened(place, monkeypatch):
    monkeypatch.undo()
    scenarios = [Scenario.load(place / "small.toml").override(SHORT, seed=seed) for seed in (1, 2)]
    calls = []
    with contextlib.closing(processes.LocalPool(1)) as pool:
        processes_of = []
        for number, scenario in enumerate(scenarios):
            task = tasks.Task.from_scenario(f"{number}", f"run {number}", scenario, place, 1)
            ((_, outcome),) = pool.outcomes([task], lambda task, *numbers: calls.append((task.label, *numbers)))
            assert outcome.status == "made"
            processes_of.append(pool._started[0].process.pid)
        assert len(set(processes_of)) == 1, "a worker makes several batches"
        selector, worker = pool._selector, pool._started[0].process
    assert {label for label, *_ in calls} == {"run 0", "run 1"}
    assert selector.get_map() is None, "the selector is closed"
    assert worker.returncode == 0
    assert worker.stdin.closed and worker.stdout.closed


def test_workers_say_how_far_a_simulation_is(place, monkeypatch):
    monkeypatch.undo()
    calls = []

    class Shown:
        def start(self, job):
            calls.append(("start", job))

        def update(self, job, simulated, end, packet_hops):
            calls.append((simulated, end, packet_hops))

        def finish(self, job):
            calls.append(("finish", job))

    farloop.run(place / "small.toml", set={"run.duration": "4s"}, execution=Execution(workers=1, progress=Shown()))
    assert calls[0] == ("start", "hpcc")
    assert calls[-1] == ("finish", "hpcc")
    between = calls[1:-1]
    assert between, "progress in simulated time"
    assert all(0 <= simulated <= end == pytest.approx(4.0) for simulated, end, _ in between)


def test_an_execution_keeps_its_workers_inside_with(small, pools):
    how = Execution(workers=2)
    for seed in (1, 2):
        farloop.run(small, seed=seed, set=SHORT, execution=how)
    assert len(pools) == 2
    with how:
        for seed in (1, 2):
            farloop.run(small, seed=seed, set=SHORT, execution=how)
        assert len(pools) == 3
        assert pools[-1].closed == 0
    assert [pool.closed for pool in pools] == [1, 1, 1]

"""Algorithms in Python in studies: they run in workers, and what they are made of is part of a run's address."""

import os
import subprocess
import sys

import pytest
from support import studies
from support.studies import STUDY

import farloop
from farloop.errors import FarloopError
from farloop.experiments import tasks
from farloop.studies.sweep import definition


@pytest.fixture
def place(tmp_path):
    return studies.written(tmp_path)


MINE = """\
from farloop.algorithm import Algorithm, parameter


class Mine(Algorithm):
    \"\"\"A window that never changes.\"\"\"

    segments = parameter(8, "The window.", low=1, high=1000)

    def start(self, flow):
        self.cwnd = self.segments * flow.mss

    def on_ack(self, ctx, ack):
        if ack.rtt_ps in {1, 2}:
            raise RuntimeError("never")
"""


@pytest.fixture
def own(place):
    """A study of an algorithm in Python beside one of farloop's."""
    (place / "mine.py").write_text(MINE, encoding="utf-8")
    text = STUDY.replace('base = "base.toml"', 'base = "base.toml"\nalgorithm_file = ["mine.py"]')
    text = text.replace('["dctcp", "hpcc"]', '["dctcp", "mine"]').replace("[0.2, 0.4]", "[0.2]").replace("1-3", "1-2")
    (place / "study.toml").write_text(text, encoding="utf-8")
    return place


def test_algorithms_in_python_run_in_workers_and_are_part_of_the_address(own):
    def sweep(**more):
        return farloop.study(own / "study.toml", out=own / "out" / "s", workers=2, report=False, **more)

    first = sweep()
    assert (first.counts.made, first.notes) == (4, [])
    assert first.runs["algorithm"].to_pylist() == ["dctcp", "dctcp", "mine", "mine"]
    alone = farloop.run(own / "base.toml", algorithm=load(own / "mine.py"), set={"workload.load": 0.2, "run.seed": 2})
    assert alone.flows.equals(first.run(4).flows), "a worker does what this process does"
    assert sweep().counts.made == 0
    (own / "mine.py").write_text(MINE.replace("parameter(8", "parameter(4"), encoding="utf-8")
    changed = sweep()
    assert (changed.counts.made, changed.counts.kept) == (2, 2)
    assert not changed.run(4).flows.equals(alone.flows)


def load(path):
    from farloop import algorithm

    return algorithm.load(path)[0]


def test_classes_of_a_file_are_values_of_a_study_from_python(own):
    mine = load(own / "mine.py")
    options = {"out": own / "out" / "p", "workers": 2, "report": False}
    grid = {"algorithm": ["dctcp", mine], "algorithm.mine.segments": [4]}
    study = farloop.study(base=own / "base.toml", grid=grid, **options)
    assert study.runs["algorithm"].to_pylist() == ["dctcp", "mine"]
    assert study.failures == []

    class Local(mine):
        """In no file that says the same."""

    for cls, said in ((Local, "is in no file that other processes could load"), (int, "expected a class derived from")):
        with pytest.raises(FarloopError, match=said):
            farloop.study(base=own / "base.toml", grid={"algorithm": [cls]}, **options)


def test_an_algorithm_in_python_that_fails_is_listed_with_its_line(own, command):
    (own / "mine.py").write_text(MINE.replace("if ack.rtt_ps in {1, 2}:", "if ack.acked > 0:"), encoding="utf-8")
    done = command("sweep", str(own / "study.toml"), "--out", "s", "--no-report", "--workers", "2")
    assert done.returncode == 1
    assert f"{own}/mine.py:14: RuntimeError: never" in done.stderr.replace("\n", " ")
    assert "mine, workload.load 0.2, seed 1 and 1 other run" in done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("mine.py", "yours.py"), "study.toml:3: algorithm_file: {}/yours.py: no such file"),
        (('["mine.py"]', "3"), "study.toml:3: algorithm_file: 3: expected a file of Python, or a list of them"),
        (('["mine.py"]', "[3]"), "study.toml:3: algorithm_file: 3: expected a file of Python"),
        (('"mine"]', '"mien"]'), "study.toml:7: grid.algorithm: mien: no such algorithm"),
        (("[grid]", "[set]\nalgorithm.mine.segments = 0\n[grid]"), "study.toml:7: algorithm.mine.segments: 0"),
    ],
)
def test_wrong_algorithms_in_python_are_told_with_file_and_line(change, said, own):
    path = own / "study.toml"
    path.write_text(path.read_text("utf-8").replace(*change), encoding="utf-8")
    with pytest.raises((FarloopError, farloop.ScenarioError)) as raised:
        farloop.study(path, out=own / "s", workers=1)
    assert said.format(own) in str(raised.value)
    assert not (own / "s").exists()


def test_a_file_that_changes_under_a_study_makes_nothing(own):
    study = definition.from_file(own / "study.toml")
    scenario = study.scenario(study.points[-1])
    (own / "store").mkdir()
    task = tasks.Task.from_scenario("0" * 64, "mine", scenario, own / "store", 1, study.algorithm_files)
    (own / "mine.py").write_text(MINE + "\n", encoding="utf-8")
    outcome = tasks.make(tasks.Task.from_json(task.as_json()))
    assert outcome.status == tasks.BROKEN
    assert "mine has changed since the command began" in outcome.because


def test_the_address_of_an_algorithm_in_python_is_the_same_in_every_process(own):
    script = "from farloop import algorithm; print(algorithm.digest(algorithm.load('mine.py')[0]))"
    (own / "mine.py").write_text(MINE.replace("{1, 2}", "{'a', 'b', 'c', 'd', 'e'}"), encoding="utf-8")
    addresses = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=own,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(addresses) == 1

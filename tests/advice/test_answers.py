"""`farloop advise` from the question to the page, with runs that are simulated."""

import json
import re

import pytest
from support.advice import ALGORITHMS, SITES
from support.studies import PoolOfOne

import farloop
from farloop.experiments import processes
from farloop.scenario import Scenario


@pytest.mark.long
@pytest.mark.usefixtures("without_workers")
def test_the_command_answers_goes_on_and_is_drawn_again(command):
    pytest.importorskip("optuna")
    (command.directory / "sites.toml").write_text(SITES, encoding="utf-8")
    ask = [
        "advise",
        "sites.toml",
        "--goal",
        "p99 slowdown",
        "--must",
        "none",
        "--candidates",
        ALGORITHMS,
        "--budget",
        "10s",
    ]
    done = command(*ask, "--out", "a")
    assert done.returncode == 0, done.stderr
    assert "Run " in done.stdout
    assert "│ a link fails" in done.stdout
    content = json.loads((command.directory / "a" / "answer.json").read_text("utf-8"))
    assert content["advised"]
    assert 8.5 < content["spent_s"] <= content["question"]["budget_s"] == 10
    assert any("The budget has room for one seed only of" in note for note in content["notes"])
    assert {row["name"] for row in content["candidates"]} == set(ALGORITHMS.split(","))
    assert len(content["conditions"]) == 14, "every condition has run"
    assert {row["seeds"] for row in content["conditions"]} >= {1}
    assert [row["text"] for row in content["outlook"]] == [
        "today",
        "a link fails",
        "half the buffer",
        "twice the RTT",
        "load + 20 %",
    ]
    report = (command.directory / "a" / "report.html").read_text("utf-8")
    for heading in (
        "What if things change?",
        "What do you write and type?",
        "How good are the candidates?",
        "What was asked, and how was it judged?",
    ):
        assert heading in report
    assert not re.search(r'(?:src|href)="(?!#)', report)
    assert content["few_flows"] == {}, "there are enough of 30 kB, and none of more"
    assert "over fewer than" not in report
    best = content["advised"][0]
    assert f'name = "{best}"' in (command.directory / "a" / "deploy" / f"{best}.toml").read_text("utf-8")
    again = command(*ask, "--out", "b")
    assert again.returncode == 0
    assert " runs to make" not in again.stderr, "all runs are there"
    assert (command.directory / "b" / "answer.json").read_bytes() == (
        command.directory / "a" / "answer.json"
    ).read_bytes()
    assert command("report", "b").returncode == 0
    assert (command.directory / "b" / "report.html").read_text("utf-8") == report


@pytest.mark.long
def test_where_nothing_holds_python_says_what_is_nearest(tmp_path, monkeypatch):
    pools, workers = [], []

    class Counted(processes.LocalPool):
        def close(self):
            if self._started:
                pools.append(self.workers)
                workers.append(self.starts)
            super().close()

        starts = 0

        def _start(self):
            self.starts += 1
            super()._start()

    monkeypatch.setattr("farloop.experiments.processes.LocalPool", Counted)
    question = {"must": ["queue delay <= 1ns"], "candidates": ALGORITHMS, "budget": "1min", "tune": False}
    advice = farloop.advise(Scenario.from_text(SITES), **question, out=tmp_path / "a", workers=2)
    assert advice.advised == ()
    assert (pools, workers) == ([2], [2]), "one pool, and no worker twice, for all batches"
    monkeypatch.setattr("farloop.experiments.processes.LocalPool", PoolOfOne)
    other = farloop.advise(Scenario.from_text(SITES), **question, out=tmp_path / "b", store=tmp_path / "other")
    assert other.made == advice.made > len(ALGORITHMS.split(","))
    answers = [(tmp_path / name / "answer.json").read_bytes() for name in "ab"]
    assert answers[0] == answers[1], "the answer is the same whatever makes the runs"
    assert advice.sentence.startswith("Nothing holds your constraints; nearest is ")
    assert "Nothing holds your constraints" in (tmp_path / "a" / "report.html").read_text("utf-8")
    nearest = advice.content["nearest"]
    assert nearest in advice.sentence and len(advice.content["outlook"]) == 5
    assert any(standing["name"] == nearest for row in advice.content["conditions"] for standing in row["standings"])
    with pytest.raises(farloop.FarloopError, match=r"its numbers are in answer\.json"):
        farloop.load(tmp_path / "a")

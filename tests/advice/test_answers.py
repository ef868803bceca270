"""`farloop advise` from the question to the page, with runs that are simulated."""

import json
import re

import pytest
from support.advice import ALGORITHMS, SITES

import farloop
from farloop.scenario import Scenario


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
        "3min",
    ]
    done = command(*ask, "--out", "a")
    assert done.returncode == 0, done.stderr
    assert "Run " in done.stdout
    content = json.loads((command.directory / "a" / "answer.json").read_text("utf-8"))
    assert content["advised"]
    assert content["spent_s"] <= content["question"]["budget_s"]
    assert {row["name"] for row in content["candidates"]} == set(ALGORITHMS.split(","))
    assert len(content["conditions"]) > 5
    report = (command.directory / "a" / "report.html").read_text("utf-8")
    for heading in (
        "The question",
        "The candidates",
        "When the choice changes",
        "What to write and type",
        "How it was judged",
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


def test_where_nothing_holds_python_says_what_is_nearest(tmp_path):
    advice = farloop.advise(
        Scenario.from_text(SITES),
        must=["queue delay <= 1ns"],
        candidates=ALGORITHMS,
        budget="1min",
        tune=False,
        out=tmp_path / "a",
    )
    assert advice.advised == ()
    assert advice.sentence.startswith("Nothing holds your constraints; nearest is ")
    assert "Nothing holds your constraints" in (tmp_path / "a" / "report.html").read_text("utf-8")
    with pytest.raises(farloop.FarloopError, match=r"its numbers are in answer\.json"):
        farloop.load(tmp_path / "a")

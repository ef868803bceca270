"""Why the tail is slow (`farloop arena --why`): which flow is explained, what the table says, what is kept for the next time."""

import csv
import json
import math
import threading
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app
from farloop.experiments import explaining
from farloop.experiments.execution import Execution
from farloop.output import store
from farloop.results import fields
from farloop.results.why import Explanation
from farloop.studies.arena import plan, scenario_runs, tails
from farloop.studies.arena.tails import Tail

NETWORK = """\
title = "{name}"
source = "A test"
run.duration = "20ms"
algorithm.name = "dctcp"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 1
rate = "1Gbps"
link_delay = "5us"
wan_delay = "1ms"
"""

WEB = '[workload]\npattern = "poisson"\nload = 0.5\nsizes = "50kB"\nstop = "10ms"\n'
ENDLESS = '[[flow]]\nname = "endless"\nfrom = "s1"\nto = "d1"\n'
SHARED = '[transport]\nkind = "tcp"\nconnections = "persistent"\n' + WEB
ASKED = ("--why", "--algorithms", "dctcp,timely", "--seeds", "1-2", "--jitter", "0", "--same-start", "own", "--quiet")


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tails")
    for name, traffic in (("web", WEB), ("endless", ENDLESS), ("shared", SHARED)):
        (folder / f"{name}.toml").write_text(NETWORK.format(name=name) + traffic, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def held(scenarios):
    """An arena with explanations."""
    code, output = asked(scenarios, "out", *ASKED)
    assert code == 0, output
    return scenarios / "out"


def asked(folder, out, *more):
    chosen = [text for name in ("web", "endless", "shared") for text in ("--scenario", str(folder / f"{name}.toml"))]
    done = CliRunner().invoke(app, ["arena", *chosen, "--out", str(folder / out), *more])
    return done.exit_code, " ".join(done.output.split())


def rows(where):
    with (where / "why.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("simulated again")


def test_the_flow_at_the_99th_percentile_of_the_first_seed_is_explained(held):
    (row,) = [row for row in rows(held) if (row["scenario"], row["algorithm"]) == ("web", "timely")]
    run = farloop.load(held / "web")["timely, seed 1"]
    at = run.flows["name"].to_pylist().index(row["flow"])
    slowdowns = sorted(run.slowdown)
    slower = [value for value in slowdowns if value > float(row["slowdown"])]
    assert float(row["slowdown"]) in slowdowns
    assert len(slower) <= 0.01 * len(slowdowns) < len(slower) + 1
    flow = run.flows.slice(at, 1).to_pylist()[0]
    assert int(row["time_ps"]) == flow["finish_ps"] - flow["start_ps"]
    explanation = farloop.why(held / "web" / "runs" / "timely-seed-1", row["flow"])
    assert (row["cause"], float(row["share"])) == explanation.largest
    assert row["answer"] == explanation.answer
    assert not row["because"]


def test_what_is_not_followed_says_so(held):
    because = {(row["scenario"], row["algorithm"]): row["because"] for row in rows(held)}
    assert because["endless", "dctcp"] == tails.NO_FLOW
    assert because["shared", "dctcp"] == "flows that share a connection are not followed"
    page = (held / "report.html").read_text("utf-8")
    assert "flows that share a connection are not followed" in page
    assert "why the tail is slow, most often" in page


def test_the_table_says_what_its_columns_are(held):
    read = pq.read_table(held / "why.parquet")
    assert read.column_names == [f.name for f in fields.WHY] == list(rows(held)[0])
    assert all(f.optional or read[f.name].null_count == 0 for f in fields.WHY)
    assert all("null" in f.meaning for f in fields.WHY if f.optional)


def test_a_report_drawn_again_has_the_same(held):
    before = {name: (held / name).read_bytes() for name in ("report.html", "why.csv", "why.parquet", "cells.csv")}
    done = CliRunner().invoke(app, ["report", str(held), "--quiet"])
    assert done.exit_code == 0, done.output
    assert {name: (held / name).read_bytes() for name in before} == before


def test_an_arena_that_is_not_asked_explains_nothing(scenarios, held, monkeypatch):
    monkeypatch.setattr("farloop.experiments.explaining.why", refuse)
    assert asked(scenarios, "plain", *ASKED[1:])[0] == 0
    plain = scenarios / "plain"
    assert not (plain / "why.csv").exists()
    assert not list(plain.rglob("why.json"))
    assert "why the tail is slow, most often" not in (plain / "report.html").read_text("utf-8")
    assert (plain / "cells.csv").read_bytes() == (held / "cells.csv").read_bytes()


def test_the_same_command_explains_nothing_again(scenarios, held, monkeypatch):
    before = (held / "why.csv").read_bytes()
    asked_again = []

    def only_shared(run, name, **options):
        asked_again.append(run.label)
        raise farloop.FarloopError("flows that share a connection are not followed")

    monkeypatch.setattr("farloop.experiments.explaining.why", only_shared)
    assert asked(scenarios, "out", *ASKED)[0] == 0
    assert sorted(asked_again) == ["dctcp, seed 1", "timely, seed 1"], (
        "what is refused is asked once more: it takes no simulation"
    )
    assert (held / "why.csv").read_bytes() == before
    assert (held / "web" / "runs" / "dctcp-seed-1" / "why.json").is_file()


def test_an_interrupted_arena_keeps_its_explanations(scenarios, tmp_path, monkeypatch):
    planned = plan.plan([str(scenarios / "web.toml")], "dctcp,timely", seeds="1", why=True)
    kept = store.Store(tmp_path / "runs")
    original, calls = explaining.why, []

    def interrupted(run, name, **options):
        calls.append(run.algorithm)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(run, name, **options)

    monkeypatch.setattr(explaining, "why", interrupted)
    (tmp_path / "a").mkdir()
    with pytest.raises(KeyboardInterrupt):
        scenario_runs.run(planned, tmp_path / "a", Execution(threads=1, store=kept))
    other = store.Store(tmp_path / "taken-over")
    other.adopt(tmp_path / "runs")
    assert len(other) == 3, "two runs and an explanation"
    (tmp_path / "b").mkdir()
    scenario_runs.run(planned, tmp_path / "b", Execution(threads=1, store=other))
    assert calls == ["dctcp", "timely", "timely"]
    assert [bool(row["cause"]) for row in rows(tmp_path / "b")] == [True, True]


def test_an_explanation_that_another_command_makes_is_waited_for(held, tmp_path, monkeypatch):
    run = farloop.load(held / "web")["dctcp, seed 1"]
    true = json.loads((held / "web" / "runs" / "dctcp-seed-1" / "why.json").read_text("utf-8"))
    monkeypatch.setattr("farloop.experiments.crew.LOOK_AGAIN", 0.05)
    monkeypatch.setattr(explaining, "why", lambda *_, **__: pytest.fail("it is explained twice"))
    kept, explained = store.Store(tmp_path / "runs"), []
    with kept.claim_run(run.address):
        waiting = threading.Thread(
            target=lambda: explained.append(tails.of_runs([run], "web", Execution(store=kept))["dctcp"])
        )
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        kept.put_explanation(run.address, true)
    waiting.join(30)
    assert explained[0].flow == true["flow"]
    assert explained[0].cause


HUGE = 10**400
ODD = {
    "no JSON": "",
    "a list": "[]",
    "hardly anything": '{"flow": 1}',
    "nested deeply": '{"flow": ' + "[" * 400 + "]" * 400 + "}",
    "nested too deeply": "[" * 200_000,
    "of 70 MB": " " * 70_000_000,
    "another cause": {"parts": [{"cause": "forged"}]},
    "another limit": {"parts": [{"limit": "forged"}]},
    "a cause that is none": {"parts": [{"cause": ["queue"]}]},
    "a part less": {"parts": []},
    "no time": {"start_ps": 0, "end_ps": 0, "parts": [{"time_ps": 0}]},
    "huge times": {"number": HUGE, "start_ps": HUGE, "end_ps": HUGE, "parts": [{"time_ps": 0}]},
    "a huge end": {"end_ps": HUGE, "parts": [{"time_ps": HUGE}]},
    "not a number": {"parts": [{"time_ps": math.nan}]},
    "an infinite time": {"start_ps": 0, "end_ps": math.inf, "parts": [{"time_ps": math.inf}]},
    "a time before 0": {"parts": [{"time_ps": -1}, {}]},
    "a time that is a text": {"parts": [{"time_ps": "1"}]},
    "true in place of 1": {"start_ps": False, "end_ps": True, "parts": [{"time_ps": True}]},
    "another flow's number": {"number": 10**6},
    "another start": {"start_ps": 1},
    "an escape": {"parts": [{"port": "\x1b[31m"}]},
    "a surrogate": {"parts": [{"rival": "\ud800"}]},
    "a port that is a list": {"parts": [{"port": [1]}]},
    "after nothing": {"after": 5},
    "after what is no flow": {"after": {"flow": None, "end_ps": 0, "delay_ps": 0}},
}


@pytest.mark.parametrize("odd", ODD)
def test_an_explanation_that_cannot_be_read_is_made_again(odd, scenarios, held, tmp_path, monkeypatch):
    run = farloop.load(held / "web")["dctcp, seed 1"]
    true = json.loads((held / "web" / "runs" / "dctcp-seed-1" / "why.json").read_text("utf-8"))
    calls = []
    simulated = farloop.why(run, true["flow"])
    monkeypatch.setattr(explaining, "why", lambda *_, **__: calls.append(1) or simulated)
    kept = store.Store(tmp_path / "runs")
    kept.directory.mkdir()
    path = kept.directory / f"{run.address}.why.json"
    path.write_text(json.dumps(true), encoding="utf-8")
    wanted = tails.of_runs([run], "web", Execution(store=kept))["dctcp"]
    assert not calls
    change = ODD[odd]
    if isinstance(change, dict):
        parts = [true["parts"][0] | part for part in change.get("parts", [])]
        change = json.dumps(true | change | ({"parts": parts} if "parts" in change else {}))
    path.write_text(change, encoding="utf-8")
    assert kept.explanation(run.address) is None or odd.startswith("another ")
    assert tails.of_runs([run], "web", Execution(store=kept))["dctcp"] == wanted
    assert calls == [1]
    assert json.loads(path.read_text("utf-8")) == true


def test_bad_input_gets_a_line(scenarios):
    code, output = asked(scenarios, "bad", *ASKED, "--set", "run.seed=3")
    assert code == 2
    assert "--set run.seed: the arena sets it itself" in output
    assert not (scenarios / "bad").exists()


def test_the_most_frequent_cause_is_of_those_that_are_explained():
    many = [Tail("a", 1, cause="pacing", share=0.5), Tail("a", 1, cause="PFC pause", share=0.9)]
    many += [Tail("a", 1, cause="pacing", share=0.7), Tail("a", 1, because="no flow")]
    assert tails.most_frequent(many) == "pacing, 2 of 3"
    assert tails.most_frequent(many[3:]) == ""
    assert [tail.text for tail in many[2:]] == ["pacing, 70 %", "no flow"]


def test_the_largest_cause_is_over_all_places_and_rivals():
    def part(cause, time_ps, limit="", **more):
        return {"cause": cause, "limit": limit, "own": False, "rival": None, "time_ps": time_ps} | more

    def largest(*parts):
        total = sum(part["time_ps"] for part in parts)
        return Explanation("f", 0, 0, total, True, None, list(parts), []).largest

    behind = [part("queue", 30, rival="x"), part("queue", 35, rival="y"), part("queue", 5, own=True)]
    assert largest(*behind, part("propagation", 30)) == ("queue behind rivals", 0.65)
    full = [part("propagation", 50, "window"), part("propagation", 30), part("queue", 20)]
    assert largest(*full) == ("propagation (window)", 0.8)
    assert largest(part("pacing", 10, "rate")) == ("pacing", 1.0)
    assert largest(part("pause", 10)) == ("PFC pause", 1.0)
    assert largest(part("queue", 10)) == ("queue behind frames of the link", 1.0)
    assert largest() == ("", 0.0)

"""Whether a run is steady: halves of its arrivals that differ are told in the terminal, in summaries, reports and verdicts."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest
from support.papers_fixtures import judge, made, rates

import farloop
from farloop.judging import verdicts
from farloop.judging.claims import Finding
from farloop.results import cautions, steadiness


def table(slowdowns, *, unfinished=0):
    """Flows that begin a microsecond after each other, with an ideal completion time of a microsecond; the last ones may not finish."""
    count = len(slowdowns)
    starts = np.arange(count) * 10**6
    received = [int(start + 10**6 * value) for start, value in zip(starts, slowdowns, strict=True)]
    received[count - unfinished :] = [None] * unfinished
    return pa.table(
        {
            "start_ps": pa.array(starts, pa.int64()),
            "received_ps": pa.array(received, pa.int64()),
            "ideal_fct_ps": pa.array([10**6] * count, pa.int64()),
            "size_bytes": pa.array([1000] * count, pa.int64()),
            "cross_datacenter": pa.array([0] * count, pa.int64()),
        }
    )


def random(count, scale=1.0, seed=1):
    return 1 + scale * np.random.default_rng(seed).exponential(size=count)


def test_a_steady_run_is_steady():
    drifting = [steadiness.steadiness(table(random(1000, seed=seed)), 1.0) for seed in range(40)]
    assert sum(not run.is_steady for run in drifting) <= 2
    assert sum(run.has_long_warm_up for run in drifting) <= 2


def test_halves_that_differ_are_told_with_their_numbers():
    judged = steadiness.steadiness(table(np.concatenate([random(500), random(500, 1.6, 2)])), 1.0)
    assert not judged.is_steady
    mean, tail = judged.halves
    assert mean.first.high < mean.second.low
    assert mean.is_real
    assert judged.in_words().startswith(f"mean slowdown {mean.first.estimate:.3g} [")
    # A difference that is certain and small is none to warn of; one that is large and uncertain neither.
    small = steadiness.Drift(
        "mean", *(dataclasses.replace(mean.first, estimate=v, low=v - 0.01, high=v + 0.01) for v in (2.0, 2.1))
    )
    assert not small.is_real
    wide = steadiness.Drift(
        "mean", *(dataclasses.replace(mean.first, estimate=v, low=1.0, high=9.0) for v in (2.0, 4.0))
    )
    assert not wide.is_real
    assert tail.name == "p99 slowdown"


def test_few_flows_say_nothing():
    assert steadiness.steadiness(table(random(steadiness.MIN_FLOWS - 1)), 1.0) is None
    assert steadiness.steadiness(table(random(steadiness.MIN_FLOWS)), 1.0) is not None
    assert steadiness.steadiness(table(random(300), unfinished=290), 1.0) is None, "hardly any finished"


def test_flows_that_have_not_finished_count_with_their_age():
    """The second half stands still: of those that finished all are as fast as before."""
    flows = table(random(600), unfinished=250)
    judged = steadiness.steadiness(flows, 700 * 1e-6)
    assert not judged.is_steady
    assert judged.halves[0].second.estimate > 20


def test_a_long_warm_up_is_told():
    level = np.concatenate([np.full(400, 3.0), np.zeros(600)])
    judged = steadiness.steadiness(table(random(1000, 0.5) + level), 1.0)
    assert 0.3 < judged.share <= 0.5
    assert judged.has_long_warm_up
    assert judged.is_steady, "after it"
    assert judged.warm_up == pytest.approx(400e-6, rel=0.1)


CROWDED = """
[run]
duration = "60ms"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 0
rate = "1Gbps"
link_delay = "2us"
[algorithm]
name = "dctcp"
[workload]
sizes = "20kB"
load = 0.2
stop = "60ms"
[[flow]]
name = "late"
from = "s1"
to = "d1"
start = "30ms"
[record]
flows = []
ports = []
"""


def test_a_flow_that_joins_in_the_middle_makes_a_run_unsteady(command):
    (command.directory / "s.toml").write_text(CROWDED, encoding="utf-8")
    done = command("run", "s.toml", "--out", "o")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "not steady" in line]
    summary = json.loads((command.directory / "o" / "summary.json").read_text())
    assert summary["steady"] is False
    assert summary["warm_up"] >= 0
    (caution,) = [warning for warning in summary["cautions"] if warning["code"] == "not-steady"]
    assert f"caution: {caution['text']}" == line
    assert "not steady" in (command.directory / "o" / "report.html").read_text()
    run = farloop.load(command.directory / "o").runs[0]
    assert run.steadiness.halves[0].first.estimate < run.steadiness.halves[0].second.estimate
    both = farloop.Comparison("", [dataclasses.replace(run, label=name) for name in ("a", "b")])
    (text,) = [warning.text for warning in cautions.comparison_cautions(both) if warning.code == "not-steady"]
    assert text.startswith("a: not steady")
    assert text.endswith("(and in 1 other of 2 runs)")
    note = steadiness.note(both.runs)
    assert note.startswith("not steady in 2 of 2 runs, such as a: mean slowdown ")


def test_a_verdict_says_that_its_runs_are_not_steady(monkeypatch):
    runs = [made("gear/fig09", "", "gear", series=rates(intra=30, cross=30), interval=0.1)]
    before = judge("gear/fig09", runs)
    drifts = "not steady in 1 of 1 run, such as gear: mean slowdown 1 [1, 1], then 2 [2, 2]"
    monkeypatch.setattr(steadiness, "note", lambda runs: drifts)
    for name, row in judge("gear/fig09", runs).items():
        was = before[name]
        assert row["verdict"] == was["verdict"], "the verdict itself is as it was"
        assert row["note"] == "; ".join(part for part in (was["note"], drifts) if part)
    assert verdicts._add_note(Finding("x", [], unjudged="why"), "drifts").note == ""

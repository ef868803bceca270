"""Ties: artefacts of two flows in step are caught as fragile, and the marks are wherever the numbers are."""

import dataclasses
import json

import pytest

import farloop
from farloop.commands.report import rewrite
from farloop.errors import FarloopError
from farloop.experiments.execution import Execution
from farloop.results import cautions, jitter
from farloop.studies.arena import plan, scenario_runs
from farloop.views import arena_page

STEP = """\
title = "Two hosts in step at a port that drops"
source = "A test"
[run]
duration = "2ms"
[network]
topology = "links"
[[node]]
name = "sw"
kind = "switch"
datacenter = 0
[[node]]
name = "h1"
datacenter = 0
[[node]]
name = "h2"
datacenter = 0
[[node]]
name = "d"
datacenter = 0
[[link]]
a = "h1"
b = "sw"
rate = "10Gbps"
delay = "1us"
[[link]]
a = "h2"
b = "sw"
rate = "10Gbps"
delay = "1us"
[[link]]
a = "sw"
b = "d"
rate = "10Gbps"
delay = "1us"
[switch]
pfc = false
ecn = false
queue_limit_packets = 1
[transport]
kind = "tcp"
min_rto = "100us"
[algorithm]
name = "fixed"
fixed.cwnd = "1MB"
[[flow]]
name = "one"
from = "h1"
to = "d"
[[flow]]
name = "two"
from = "h2"
to = "d"
"""


@pytest.fixture
def step(tmp_path):
    path = tmp_path / "step.toml"
    path.write_text(STEP, encoding="utf-8")
    return path


def test_the_tie_decides_who_starves_and_that_is_fragile(step):
    alone = farloop.run(step)
    first, second = (flow["throughput"] for flow in alone.summary["flows"])
    assert max(first, second) > 20 * min(first, second), "the artefact"
    varied = farloop.compare(step, "fixed", jitter=3)
    assert varied.runs[0].flows.equals(alone.flows), "the run itself is the same"
    moved = {first.measure: first for first in jitter.find_fragile(varied)}
    assert set(moved) == {"throughput of one", "throughput of two"}
    assert moved["throughput of one"].high > 20 * moved["throughput of one"].low
    (caution,) = [c for c in cautions.comparison_cautions(varied) if c.code == "fragile"]
    assert caution.text.startswith("fixed: fragile: throughput of")
    assert "3 variations" in caution.text


def test_variations_repeat_whatever_the_threads_and_without_ties_nothing_is_fragile(step, small):
    numbers = [farloop.compare(step, "fixed", jitter=2, threads=threads).jitter.numbers for threads in (1, 3)]
    assert numbers[0] == numbers[1]
    varied = farloop.compare(small, "hpcc", jitter=2)
    assert jitter.find_fragile(varied) == []
    assert not [c for c in cautions.comparison_cautions(varied) if c.code == "fragile"]
    assert varied.jitter.numbers["hpcc"]["throughput"][0] != varied.jitter.numbers["hpcc"]["throughput"][1]


def test_outputs_say_it_and_say_it_again(step, command, tmp_path):
    done = command("run", "step.toml", "--jitter", "2", "--out", "o", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "fixed: fragile: throughput of" in done.stdout
    out = tmp_path / "o"
    summary = json.loads((out / "summary.json").read_text("utf-8"))["fixed"]
    assert [c["code"] for c in summary["cautions"]] == ["fragile"]
    assert len(summary["jitter"]["throughput of one"]) == 3
    rewrite(out)
    assert "fixed: fragile" in (out / "report.html").read_text("utf-8")
    assert json.loads((out / "summary.json").read_text("utf-8"))["fixed"] == summary
    again = farloop.load(out)
    assert again.jitter is not None
    assert [move.measure for move in jitter.find_fragile(again)] == ["throughput of two", "throughput of one"] or len(
        jitter.find_fragile(again)
    ) == 2


LOADED = """\
run.duration = "1ms"
[network]
topology = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 2
rate = "10Gbps"
[algorithm]
name = "hpcc"
[[workload]]
name = "web"
sizes = "websearch"
load = 0.5
"""


def test_clocks_that_are_off_leave_traffic_and_nominal_rates_alone(tmp_path):
    path = tmp_path / "loaded.toml"
    path.write_text(LOADED, encoding="utf-8")
    exact, off = farloop.run(path), farloop.run(path, set={"hosts.clock_offset": "100ppm"})
    for column in ("source", "destination", "start_ps", "size_bytes", "base_rtt_ps", "ideal_fct_ps"):
        assert exact.flows[column].equals(off.flows[column]), column
    assert exact.ports["rate_bps"].equals(off.ports["rate_bps"])
    assert not exact.flows["received_ps"].equals(off.flows["received_ps"])


def test_of_several_seeds_the_first_is_varied_and_the_interval_counts(step):
    varied = farloop.compare(step, "fixed", seeds="1-2", jitter=3)
    assert len(varied.runs) == 2
    assert set(varied.jitter.numbers) == {"fixed"}
    assert jitter.find_fragile(varied)
    assert not jitter.is_fragile([1.0, 1.3], half=0.4)
    assert jitter.is_fragile([1.0, 1.3], half=0.2)


@pytest.mark.parametrize(
    ("values", "moves"),
    [([1.0, 1.04], False), ([1.0, 1.06], True), ([0.0, 0.0], False), ([1.0, None], True), ([None, None], False)],
)
def test_a_number_is_fragile_beyond_its_precision(values, moves):
    assert jitter.is_fragile(values) is moves


def test_verdicts_that_flip_or_whose_numbers_move_say_so():
    row = {"id": "a/b", "verdict": "reproduced", "note": "n", "measured": {"x": 1.0}}
    entry = {"verdict": "reproduced", "measured": {"x": 1.0}}
    steady = jitter.TieSensitivity(1, {}, {"a/b": [entry, entry]})
    flips = jitter.TieSensitivity(1, {}, {"a/b": [entry, {"verdict": "differs", "measured": {"x": 1.01}}]})
    moves = jitter.TieSensitivity(1, {}, {"a/b": [entry, {"verdict": "reproduced", "measured": {"x": 0.5}}]})
    assert jitter.of_claims([row], None) == [row]
    assert [jitter.of_claims([row], of)[0]["fragile"] for of in (steady, flips, moves)] == [False, True, True]
    assert "under other ties and starts differs" in jitter.of_claims([row], flips)[0]["note"]
    assert jitter.of_claims([row], moves)[0]["note"] == "n; fragile: x 0.5 to 1"


def test_the_arena_marks_fragile_scores(step, tmp_path):
    planned = plan.plan([str(step)], "fixed,reno", seeds="1-2", jitter=2)
    into = tmp_path / "arena"
    into.mkdir()
    (result,) = scenario_runs.run(planned, into, Execution(), page=arena_page.page)
    assert {name: len(scores) for name, scores in result.perturbed.items()} == {"fixed": 2, "reno": 2}
    marked = [dataclasses.replace(result, perturbed={"fixed": [0.5 * result.list_runs("fixed")[0].score], "reno": []})]
    from farloop.views.arena_page import page

    assert page(marked, planned.algorithms, (1, 2), "quick").count(">fragile</span>") == 2
    places = {standing.algorithm: standing.is_fragile for standing in marked[0].standings}
    assert places == {"fixed": True, "reno": None}
    text = (into / "report.html").read_text("utf-8")
    (tmp_path / "new").mkdir()
    scenario_runs.rewrite(
        into, json.loads((into / "manifest.json").read_text("utf-8")), tmp_path / "new", arena_page.page
    )
    assert (tmp_path / "new" / "report.html").read_text("utf-8") == text


def test_bad_input_is_told(command, step):
    for arguments, message in [
        (["--jitter", "-1"], "--jitter"),
        (["--jitter", "1", "--trace", "all"], "--trace and --jitter: expected one of them"),
        (["--set", "run.jitter=-1"], "run.jitter"),
        (["--set", "hosts.clock_offset=200ppm"], "expected 0ppm to 100ppm"),
        (["--set", "hosts.clock_offset=20"], "expected 0ppm to 100ppm"),
        (["--set", 'hosts.clock_offset=["h9 +1ppm"]'], 'no host is called "h9"'),
        (["--set", "hosts.stall_gap=1ms"], "no host stalls"),
        (["--set", "hosts.clock_ofset=1ppm"], 'did you mean "clock_offset"'),
    ]:
        done = command("run", "step.toml", *arguments, "--out", "o")
        assert done.returncode == 2, (arguments, done.stdout, done.stderr)
        assert message in done.stderr, (arguments, done.stderr)
        assert "Traceback" not in done.stderr
    with pytest.raises(FarloopError, match="jitter: True: expected a whole number"):
        farloop.compare(step, "fixed", jitter=True)

"""The arena: every algorithm in every scenario, cells that cannot be, a table that sorts, and runs that no kill can spoil."""

import csv
import itertools
import json
import math
import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import farloop
from farloop import catalogue
from farloop.experiments.execution import Execution
from farloop.results import fields, measures
from farloop.scenario import ARENA, Scenario, arena_names
from farloop.studies.arena import measuring, plan, scenario_runs, table
from farloop.views import arena_page, svg

ROOT = Path(__file__).parents[2]

LONG = """\
title = "Two long flows"
source = "A test"
[run]
duration = "40ms"
[network]
topology = "dumbbell"
rate = "1Gbps"
link_delay = "5us"
wan_delay = "1ms"
[switch]
kmin = "30kB"
kmax = "30kB"
[algorithm]
name = "hpcc"
[[workload]]
name = "intra"
pattern = "incast"
senders = 1
sizes = "1GB"
hosts = "?1"
between = "intra"
receiver = "d1"
spread = "3ms"
[[flow]]
name = "cross"
from = "s2"
to = "r1"
[record]
interval = "500us"
[[case]]
name = "full"
quick = false
set = { "run.duration" = "60ms" }
"""

SHORT = """\
title = "Short flows"
source = "A test"
[run]
duration = "40ms"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 2
rate = "1Gbps"
link_delay = "5us"
wan_delay = "1ms"
[switch]
int = false
[algorithm]
name = "dctcp"
[workload]
sizes = "50kB"
load = 0.2
stop = "10ms"
[record]
flows = []
"""

VIEWS = ("report.html", "cells.csv", "cells.parquet", "ranking.csv", "ranking.parquet")
CHOSEN = ("--scenario", "long.toml", "--scenario", "short.toml", "--algorithms", "hpcc,dctcp,bbr", "--seeds", "1-2")
CHOSEN += ("--same-start", "own", "--jitter", "0")


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory):
    where = tmp_path_factory.mktemp("arena")
    (where / "long.toml").write_text(LONG, encoding="utf-8")
    (where / "short.toml").write_text(SHORT, encoding="utf-8")
    return [str(where / name) for name in ("long.toml", "short.toml")]


@pytest.fixture(scope="module")
def planned(scenarios):
    return plan.plan(scenarios, "hpcc,dctcp,bbr", seeds="1-2")


@pytest.fixture(scope="module")
def held(planned, tmp_path_factory):
    """An arena in a directory, and what was found."""
    where = tmp_path_factory.mktemp("held")
    return where, scenario_runs.run(planned, where, Execution(), page=arena_page.page)


def rows(where, name="cells"):
    with (where / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def place(command):
    (command.directory / "long.toml").write_text(LONG, encoding="utf-8")
    (command.directory / "short.toml").write_text(SHORT, encoding="utf-8")


def views(where):
    return {name: (where / name).read_bytes() for name in VIEWS}


@pytest.mark.long
def test_every_algorithm_is_in_every_scenario():
    whole = plan.plan(arena_names(), seeds="1")
    assert whole.algorithms == [entry["name"] for entry in catalogue.algorithms()]
    for scenario_plan in whole.scenario_plans:
        names = [entry.algorithm for entry in scenario_plan.variants] + [
            entry.algorithm for entry in scenario_plan.refusals
        ]
        assert sorted(names) == sorted(whole.algorithms), scenario_plan.name
        assert len(scenario_plan.variants) > len(scenario_plan.refusals), scenario_plan.name
        assert scenario_plan.facts["title"]
        assert scenario_plan.facts["source"]
        assert all(entry.because and "expected" not in entry.because for entry in scenario_plan.refusals)


@pytest.mark.parametrize("name", arena_names())
def test_the_full_scale_is_longer(name):
    quick, full = (
        plan.plan([name], "dctcp", seeds="1", full=f).scenario_plans[0].facts["duration"] for f in (False, True)
    )
    assert farloop.units.seconds(full) > 2 * farloop.units.seconds(quick)
    assert Scenario.load(ARENA / f"{name}.toml").resolved["title"]


def test_what_cannot_run_says_why_in_the_simulators_words(planned, scenarios):
    long, short = planned.scenario_plans
    assert {(r.algorithm, r.seed) for r in long.refusals} == {("bbr", 1), ("bbr", 2)}
    assert {r.algorithm for r in short.refusals} == {"hpcc", "bbr"}
    because = next(r.because for r in short.refusals if r.algorithm == "hpcc")
    with pytest.raises(farloop.ScenarioError) as raised:
        farloop.run(scenarios[1], algorithm="hpcc")
    assert raised.value.problem == because
    assert because in str(raised.value)
    # What the case "full" is checked for as well is the scenario's own business.
    assert "in case" not in next(r.because for r in long.refusals)


def test_what_only_the_built_network_refuses_is_told_before_anything_runs(tmp_path):
    """More stamping switches than a packet has room for are found with the paths, whatever the algorithm."""
    far = tmp_path / "far.toml"
    nodes = "".join(f'[[node]]\nname = "x{i}"\nkind = "switch"\ndatacenter = 0\n' for i in range(20))
    nodes += "".join(f'[[node]]\nname = "{h}"\ndatacenter = 0\n' for h in "ab")
    chain = ["a", *(f"x{i}" for i in range(20)), "b"]
    links = "".join(f'[[link]]\na = "{a}"\nb = "{b}"\n' for a, b in itertools.pairwise(chain))
    far.write_text(
        f'[run]\nduration = "1ms"\n[network]\ntopology = "links"\n{nodes}{links}[algorithm]\nname = "dctcp"\n'
        '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\n',
        encoding="utf-8",
    )
    assert Scenario.load(far).resolved
    with pytest.raises(farloop.ScenarioError, match=r"far\.toml:\d+: flow\.f: .* at most 16 fit"):
        plan.plan([str(far)], "dctcp,hpcc", seeds="1")


def test_the_table_has_a_row_for_every_cell_and_says_what_its_columns_are(held):
    where, _ = held
    cells = rows(where)
    assert [(r["scenario"], r["algorithm"], r["seed"]) for r in cells] == [
        (s, a, n) for s in ("long", "short") for a in ("hpcc", "dctcp", "bbr") for n in ("1", "2")
    ]
    for row in cells:
        assert bool(row["because"]) != bool(row["score"]), row
    for name, declared in fields.ARENA.items():
        read = pq.read_table(where / f"{name}.parquet")
        assert read.column_names == [f.name for f in declared] == list(rows(where, name)[0])
        assert all(read.schema.field(f.name).metadata[b"unit"].decode() == f.unit for f in declared)
        assert all("null" in f.meaning or "Null" in f.meaning for f in declared if f.optional)
        assert all(f.optional or read[f.name].null_count == 0 for f in declared)
        assert read.num_rows == len(rows(where, name))


def test_measurements_are_those_of_the_runs(held):
    where, _ = held
    kept = farloop.load(where / "long")
    assert kept.seeds == (1, 2)
    assert [run.label for run in kept] == ["hpcc, seed 1", "hpcc, seed 2", "dctcp, seed 1", "dctcp, seed 2"]
    run = kept["dctcp, seed 2"]
    (row,) = [r for r in rows(where) if (r["scenario"], r["algorithm"], r["seed"]) == ("long", "dctcp", "2")]
    intra, cross = (run.summary["mean_throughput"][kind] for kind in ("intra", "cross"))
    assert float(row["intra_throughput_bps"]) == intra
    assert float(row["cross_throughput_bps"]) == cross
    jain = float(row["jain_endless"])
    assert float(row["jain"]) == run.summary["jain"]
    assert float(row["score"]) == pytest.approx(1 / math.sqrt((intra + cross) * jain))
    assert jain == pytest.approx((intra + cross) ** 2 / (2 * (intra**2 + cross**2)))
    delivered = dict(zip(run.flows["name"].to_pylist(), run.flows["delivered_bytes"].to_pylist(), strict=True))
    assert float(row["cross_share"]) == pytest.approx(delivered["cross"] / sum(delivered.values()))
    assert row["queue_port"] == "left->right"
    assert float(row["p99_queue_bytes"]) == np.percentile(run.samples.get("port/left->right", "queue")[1], 99)
    assert int(row["paused_ps"]) == sum(run.ports["paused_ps"].to_pylist())
    assert row["intra_small_slowdown_p50"] == "", "an endless flow has none"


def test_slowdowns_are_by_kind_and_size(held):
    where, _ = held
    run = farloop.load(where / "short")["dctcp, seed 1"]
    (row,) = [r for r in rows(where) if (r["scenario"], r["algorithm"], r["seed"]) == ("short", "dctcp", "1")]
    assert row["traffic"] == "finite"
    assert row["unfinished"] == "0"
    tails = []
    for kind, cross in (("intra", 0), ("cross", 1)):
        chosen = run.flows["cross_datacenter"].to_numpy() == cross
        values = farloop.results.flow_completion.slowdowns(run.flows)[chosen]
        assert int(row[f"{kind}_small_flows"]) == values.size > 3
        assert float(row[f"{kind}_small_slowdown_p99"]) == np.percentile(values, 99)
        assert row[f"{kind}_medium_flows"] == row[f"{kind}_large_flows"] == "0"
        tails.append(np.percentile(values, 99))
    assert float(row["score"]) == pytest.approx(math.sqrt(tails[0] * tails[1]))


def test_a_flow_that_has_not_finished_counts_with_its_age(scenarios):
    cut = farloop.run(
        scenarios[1], algorithm="dctcp", set=["run.duration=5ms", "workload.load=1.0", "workload.stop=none"]
    )
    whole = measuring.measure_run(cut, "short")
    done = farloop.results.flow_completion.slowdowns(cut.flows)
    assert whole.values["unfinished"] == int(np.isnan(done).sum()) > 0
    counted = sum(whole.values[f"{kind}_{size}_flows"] for kind in ("intra", "cross") for size in measuring.SIZES.names)
    assert counted == cut.flows.num_rows
    flow = next(f for f in cut.flows.to_pylist() if f["received_ps"] is None)
    age = max(1.0, (5 * 10**9 - flow["start_ps"]) / flow["ideal_fct_ps"])
    assert age in farloop.results.flow_completion.age_slowdowns(cut)


def test_the_page_is_whole_and_loads_nothing(held):
    where, results = held
    page = (where / "report.html").read_text("utf-8")
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "url(" not in page
    assert "@import" not in page
    anchors = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= anchors
    assert page.count('class="sorts marked"') == 3, "the overview and one table for each scenario"
    assert results[1].explain_refusal("hpcc").startswith('the algorithm "hpcc" needs in-band telemetry')
    assert "cannot run here, because it needs in-band telemetry" in page
    assert "Transport: RDMA" in page
    assert page.count("<svg") > 15
    assert "ranked by the geometric mean" in page.lower()
    assert "First of all these must hold" in page
    # How long anything took is in the manifests of the runs alone.
    assert "computing" not in page


def test_pictures_are_drawn_within_their_box():
    scale = svg.Scale([1.0, 100.0], logarithmic=True)
    assert [scale.locate_value(v) for v in (0.0, 1.0, 10.0, 100.0, 1e9)] == [2.0, 2.0, 42.0, 82.0, 82.0]
    assert svg.Scale([5.0, 5.0]).locate_value(5.0) == 42.0
    drawn = svg.curves({"intra": np.array([0.0, 1.0, 5.0])}, 1.0, 'a "b" & c')
    assert 'points="2.0,18.0 42.0,2.0 82.0,2.0"' in drawn
    assert "a &quot;b&quot; &amp; c" in drawn
    assert svg.curves({"intra": np.empty(0)}, 1.0, "") == svg.area(np.empty(0), 1.0, "") == ""


@pytest.mark.long
def test_the_command_says_where_and_who_is_first(command):
    place(command)
    done = command("arena", *CHOSEN, "--out", "a", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    before = views(command.directory / "a")
    again = command("arena", *CHOSEN, "--out", "a", "--no-report")
    assert again.returncode == 0
    assert again.stderr.count("kept from before") == 6, again.stderr
    assert "started" not in again.stderr
    assert "group of" in again.stdout
    assert not (command.directory / "a" / "report.html").exists()
    drawn = command("report", "a")
    assert drawn.returncode == 0, drawn.stderr
    assert views(command.directory / "a") == before, "measured anew from the tables"
    more = command("arena", *CHOSEN, "--algorithms", "hpcc,dctcp,bbr,swift", "--out", "a", "--no-report")
    assert more.stderr.count("kept from before") == 6
    assert more.stderr.count("swift, seed 1: started") == 2
    done = command("run", "long.toml", "--out", "a", "--no-report")
    assert done.returncode == 0, "an arena is an output like any other"


@pytest.mark.long
def test_scores_of_variations_by_other_definitions_are_left_out(command):
    place(command)
    done = command(
        "arena",
        "--scenario",
        "short.toml",
        "--algorithms",
        "dctcp,bbr",
        "--seeds",
        "1-2",
        *CHOSEN[-4:],
        "--out",
        "a",
        "-q",
    )
    assert done.returncode == 0, done.stderr
    path = command.directory / "a" / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["definitions"] == measures.VERSION
    scenario = manifest["scenarios"][0]
    del scenario["perturbed"]
    # "shaken" is the name of the version before.
    for key, version, is_fragile in (
        ("perturbed", measures.VERSION, "1"),
        ("shaken", measures.VERSION, "1"),
        ("perturbed", measures.VERSION - 1, ""),
    ):
        scenarios = [scenario | {key: {"dctcp": [1e9]}}]
        path.write_text(json.dumps(manifest | {"definitions": version, "scenarios": scenarios}))
        assert command("report", "a").returncode == 0
        ranked = {row["algorithm"]: row["is_fragile"] for row in rows(command.directory / "a", "ranking")}
        assert ranked == {"dctcp": is_fragile}


@pytest.mark.long
def test_every_scenario_is_held_a_second_time_with_one_start_for_all(scenarios, tmp_path, command):
    planned = plan.plan(scenarios, "hpcc,dctcp,bbr", seeds="1-2", same_start="bdp")
    assert [scenario_plan.name for scenario_plan in planned.scenario_plans] == [
        "long",
        "short",
        "long-same-start",
        "short-same-start",
    ]
    assert [scenario_plan.facts["start"] for scenario_plan in planned.scenario_plans] == ["own", "own", "bdp", "bdp"]
    results = scenario_runs.run(planned, tmp_path, Execution(), page=arena_page.page)
    assert [len(result.standings) for result in results] == [2, 2, 2, 2] or all(result.standings for result in results)
    kept = rows(tmp_path)
    assert {row["start"] for row in kept} == {"own", "bdp"}
    alike = [row for row in kept if row["start"] == "bdp" and row["score"]]
    for scenario in ("long-same-start", "short-same-start"):
        first = {row["cross_first_rtt_bytes"] for row in alike if row["scenario"] == scenario}
        assert max(map(float, first)) - min(map(float, first)) <= 1460
    ranked = rows(tmp_path, "ranking")
    assert {row["start"] for row in ranked if row["scenario"] == "short-same-start"} == {"bdp"}
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "All flows start alike, with one BDP of their path" in page
    assert "start across" in page
    place(command)
    small = ("--scenario", "short.toml", "--algorithms", "dctcp", "--seeds", "1", "--out", "b", "--no-report")
    assert command("arena", *small).returncode == 0
    again = command("arena", *small)
    assert again.stderr.count("kept from before") == 2
    assert "short-same-start" in again.stdout
    refused = command("arena", *small, "--same-start", "fast")
    assert (refused.returncode, "expected line-rate, bdp" in refused.stderr) == (2, True)


def test_flows_with_starts_of_their_own_are_not_held_a_second_time(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(LONG + '[transport]\nkind = "tcp"\ninitial_cwnd = 4\n', encoding="utf-8")
    planned = plan.plan([str(own)], "dctcp", seeds="1", same_start="bdp")
    assert [scenario_plan.name for scenario_plan in planned.scenario_plans] == ["own"]


def test_an_arena_tells_what_to_load(held):
    where, _ = held
    with pytest.raises(farloop.FarloopError, match=r"load one of the scenarios in it, such as .*long"):
        farloop.load(where)


@pytest.mark.dear
def test_killed_three_times_it_ends_with_the_same_bytes(command):
    place(command)
    slow = [*CHOSEN, "--set", "run.duration=1500ms", "--threads", "1", "--no-report"]
    assert command("arena", *slow, "--out", "undisturbed").returncode == 0
    kept = []
    for _ in range(3):
        process = command.start("arena", *slow, "--out", "killed")
        done = 0
        for line in process.stderr:
            done += ": done in " in line
            # One more run than before is finished, the next one has begun.
            if done and ": started" in line:
                time.sleep(0.02)
                os.kill(process.pid, signal.SIGKILL)
                break
        else:
            pytest.fail("it ended before it was killed")
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (command.directory / "killed").exists()
        kept.append(len(list(command.directory.glob(".killed.partial-*/runs/[0-9a-f]*/run.json"))))
    assert kept == [1, 2, 3]
    last = command("arena", *slow, "--out", "killed")
    assert last.returncode == 0, last.stderr
    assert last.stderr.count("kept from before") == 3
    assert last.stderr.count(": done in") == 3
    for where in ("undisturbed", "killed"):
        assert command("report", where).returncode == 0
    assert views(command.directory / "undisturbed") == views(command.directory / "killed")
    assert not list(command.directory.glob(".killed*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scenario", "gear-botleneck"], "gear-botleneck: no such scenario; did you mean gear-bottleneck?"),
        (["--algorithms", "hpc"], "hpc: no such algorithm; did you mean hpcc?"),
        (["--algorithms", ","], "no algorithm for the arena"),
        (["--algorithms", "hpcc,hpcc"], "compared with itself: hpcc"),
        (["--seeds", "x"], "seeds: x: expected whole numbers"),
        (["--seeds", "3-1"], "seeds: 3-1: expected whole numbers"),
        (["--set", "run.duration"], "expected key=value"),
        (["--set", "run.duraton=1ms"], 'did you mean "duration"'),
        (["--set", "run.duration=5"], "expected a time with its unit"),
        (["--set", "run.seed=5"], "choose with --seeds"),
        (["--set", "algorithm.name=hpcc"], "choose with --algorithms"),
        (["--scenario", "long.toml"], "two scenarios are called long"),
        (["--threads", "0"], "expected a whole number from 1 on"),
        (["--must", "paused < often"], "expected a share, such as"),
        (["--must", "pausd <= 1 %"], "pausd: no such quantity; did you mean paused?"),
        (["--must", "goodput >= 90 %", "--must", "goodput <= 80 %"], "nothing can hold both"),
        (["--over", "run.duration"], "expected a key and two values or more"),
        (["--over", "run.seed=1,2"], "choose with --seeds"),
        (["--over", "run.duration=1ms,1ms"], "a value stands there twice"),
        (["--over", "run.duration=1ms,fast"], "expected a time with its unit"),
    ],
)
def test_bad_input_is_told_before_anything_is_made(arguments, message, command):
    place(command)
    done = command("arena", "--scenario", "long.toml", *arguments, "--out", "a/b")
    assert done.returncode == 2
    assert re.sub(r"\s+", " ", message) in re.sub(r"[\s│]+", " ", done.stderr)
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in command.directory.iterdir()) == ["long.toml", "short.toml"]


def test_a_setting_may_take_something_away(scenarios):
    (scenario_plan,) = plan.plan([scenarios[0]], "hpcc,dctcp", seeds="1", set={"switch.int": False}).scenario_plans
    assert [refusal.algorithm for refusal in scenario_plan.refusals] == ["hpcc"]
    (scenario_plan,) = plan.plan([scenarios[0]], "hpcc", seeds="1", set={"switch.int": False}).scenario_plans
    assert scenario_plan.variants == [], "nothing runs, but other algorithms would"


def test_a_scenario_need_not_suit_the_default_algorithm(scenarios, tmp_path):
    plain = tmp_path / "plain.toml"
    plain.write_text(SHORT.replace('[algorithm]\nname = "dctcp"\n', ""), encoding="utf-8")
    with pytest.raises(farloop.ScenarioError, match='"gear" needs in-band telemetry'):
        assert Scenario.load(plain).resolved
    (scenario_plan,) = plan.plan([str(plain)], "gear,swift", seeds="1").scenario_plans
    assert [variant.algorithm for variant in scenario_plan.variants] == ["swift"]


def test_where_nothing_can_run_the_page_still_says_why(scenarios, tmp_path):
    planned = plan.plan([scenarios[0]], "bbr", seeds="1")
    scenario_runs.run(planned, tmp_path, Execution(), page=arena_page.page)
    assert "cannot run here, because" in (tmp_path / "report.html").read_text("utf-8")
    assert rows(tmp_path)[0]["because"]
    assert rows(tmp_path, "ranking") == []


def test_a_scenario_without_a_source_has_none_on_the_page(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text(LONG.replace('source = "A test"\n', ""), encoding="utf-8")
    planned = plan.plan([str(mine)], "bbr", seeds="1")
    scenario_runs.run(planned, tmp_path, Execution(), page=arena_page.page)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "40 ms simulated. " in page
    assert not re.search(r"simulated\.\s+\.", page)


def test_lists_and_completion_know_the_arena(command):
    assert [entry["name"] for entry in catalogue.entries("arena")] == arena_names()
    listed = command("list", "arena")
    assert all(name in listed.stdout for name in arena_names())
    assert "arena" in command("--help").stdout
    words = "farloop arena --scenario mlcc-"
    offered = command(_FARLOOP_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD="3")
    assert offered.stdout.split() == [name for name in arena_names() if name.startswith("mlcc-")]


def test_the_manifest_says_what_it_was_made_from(held):
    where, _ = held
    kept = json.loads((where / "manifest.json").read_text("utf-8"))
    assert (kept["kind"], kept["scale"], kept["seeds"]) == ("arena", "quick", [1, 2])
    assert [scenario["name"] for scenario in kept["scenarios"]] == ["long", "short"]
    assert set(VIEWS) <= set(kept["files"])
    assert table.cells([], [], []).column_names == [f.name for f in fields.CELLS]


def test_the_page_of_the_arena_shows_a_table_of_known_scenarios(held, scripts):
    module = scripts("arena_table")
    where, _ = held
    page = module.table(*(pq.read_table(where / f"{name}.parquet").to_pylist() for name in ("cells", "ranking")))
    lines = page.splitlines()
    assert lines[0] == "| group of | long | short |"
    assert lines[-1] == "| `bbr` | – | – |"
    assert any("**1**" in line for line in lines[2:])
    # What was not measured again stays.
    added = module.joined("| group of | far |\n| --- | ---: |\n| `old` | 3 |\n| `bbr` | 4 |", page).splitlines()
    assert added[0] == "| group of | far | long | short |"
    assert "| `old` | 3 |  |  |" in added
    assert "| `bbr` | 4 | – | – |" in added
    begin, end = scripts("page_tables").markers("arena", module.SCRIPT)
    shown = (ROOT / "docs" / "arena.md").read_text("utf-8").partition(begin)[2].partition(end)[0]
    heading = re.findall(r"^\| group of \| (.*) \|$", shown, re.MULTILINE)
    assert [name.split(" | ") for name in heading] == [arena_names()]
    assert set(re.findall(r"^\| `([^`]+)` \|", shown, re.MULTILINE)) <= {
        entry["name"] for entry in catalogue.algorithms()
    }

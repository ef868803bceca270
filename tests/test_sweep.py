"""Studies: which points there are, runs that no kill can spoil and nobody makes twice, one dataset, a report."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import SMALL
from typer.testing import CliRunner

import farloop
from farloop import memory
from farloop.cli import app
from farloop.errors import FarloopError
from farloop.output.store import Store, address, simulator
from farloop.progress import CountLines
from farloop.sweep import definition, expressions, multiples, points, pool, tasks
from farloop.sweep.points import Range

BASE = """\
title = "Short flows"
[run]
duration = "20ms"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 2
rate = "1Gbps"
link_delay = "5us"
wan_delay = "1ms"
[algorithm]
name = "dctcp"
[workload]
sizes = "50kB"
load = 0.3
stop = "5ms"
[record]
flows = []
ports = ["left->right"]
interval = "100us"
"""

STUDY = """\
title = "Load and algorithm"
base = "base.toml"
collect = ["p99_slowdown", "throughput", "max port/left->right queue"]

[grid]
algorithm = ["dctcp", "hpcc"]
workload.load = [0.2, 0.4]
seed = "1-3"
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "base.toml").write_text(BASE, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    where = tmp_path_factory.mktemp("swept")
    (where / "base.toml").write_text(BASE, encoding="utf-8")
    (where / "study.toml").write_text(STUDY, encoding="utf-8")
    return farloop.study(where / "study.toml", out=where / "out" / "s", workers=2)


def test_a_run_is_built_once_where_it_is_planned_and_once_where_it_is_made(place, on_scenario):
    asked, loads = on_scenario(), [0.2, 0.4]
    base = place / "base.toml"
    study = farloop.study(base=base, grid={"workload.load": loads}, out=place / "s", workers=1)
    assert study.counts.made == len(loads)
    built = Counter()
    for one in asked:
        built[dict(one.arguments[2]).get("workload.load")] += one.builds
    assert {load: built[str(load)] for load in loads} == dict.fromkeys(loads, 1)
    # What a worker does, in this process.
    scenario = farloop.Scenario.load(base).override({"workload.load": 0.3})
    task = tasks.Task.of(address(scenario), "one", scenario, place / "run-store", 1)
    asked.clear()
    assert tasks.make(task).status == tasks.MADE
    assert [one.builds for one in asked] == [1]


def journal(store, what):
    """How often each run was begun, or finished."""
    lines = (store / tasks.JOURNAL).read_text("utf-8").splitlines()
    return Counter(line["run"] for line in map(json.loads, lines) if line["what"] == what)


def read(place, text):
    (place / "study.toml").write_text(text, encoding="utf-8")
    return definition.from_file(place / "study.toml")


def test_a_grid_is_every_combination_and_the_last_key_changes_fastest(place):
    found = definition.from_file(place / "study.toml")
    assert len(found.points) == 12
    assert found.points[0] == {"algorithm": "dctcp", "workload.load": 0.2, "seed": 1}
    assert found.points[1] == {"algorithm": "dctcp", "workload.load": 0.2, "seed": 2}
    assert found.varied == ("algorithm", "workload.load", "seed")
    scenario = found.scenario(found.points[-1])
    resolved = scenario.resolved
    assert (resolved["algorithm"]["name"], resolved["run"]["seed"]) == ("hpcc", 3)
    assert (
        resolved["workload"][0]["load"]
        if isinstance(resolved["workload"], list)
        else resolved["workload"]["load"] == 0.4
    )


def test_lists_and_samples_are_combined_with_the_grid(place):
    text = """\
base = "base.toml"
[set]
run.duration = "5ms"
[grid]
algorithm = ["dctcp", "timely"]
[[list]]
switch.pfc = true
network.wan_delay = "1ms"
[[list]]
switch.pfc = false
[random]
samples = 3
seed = 7
workload.load = { from = 0.1, to = 0.9 }
switch.buffer = { from = "100kB", to = "10MB", scale = "log" }
network.intra_pairs = { from = 2, to = 4 }
"network.rate" = ["1Gbps", "10Gbps"]
"""
    found = read(place, text)
    assert len(found.points) == 2 * 2 * 3
    assert "network.wan_delay" not in found.points[3]
    drawn = [
        tuple(p[key] for key in ("workload.load", "switch.buffer", "network.intra_pairs", "network.rate"))
        for p in found.points
    ]
    assert len(set(drawn)) == 3
    assert drawn == [
        tuple(p[k] for k in ("workload.load", "switch.buffer", "network.intra_pairs", "network.rate"))
        for p in read(place, text).points
    ]
    for load, buffer, pairs, rate in drawn:
        assert 0.1 <= load < 0.9
        assert 100e3 <= farloop.units.size(buffer) <= 10e6
        assert pairs in (2, 3, 4)
        assert rate in ("1Gbps", "10Gbps")
    assert all(found.scenario(point).resolved["run"]["duration"] == "5ms" for point in found.points[:2])
    other = read(place, text.replace("seed = 7", "seed = 8"))
    assert [p["workload.load"] for p in other.points] != [p["workload.load"] for p in found.points]


def test_random_values_fill_their_range():
    shares = np.linspace(0, 1, 1001)[:-1]
    whole = Counter(Range.read(2, 4).at(s) for s in shares)
    assert set(whole) == {2, 3, 4}
    assert max(whole.values()) - min(whole.values()) <= 2
    log = [farloop.units.seconds(Range.read("1ms", "100ms", "log").at(s)) for s in shares]
    assert sum(value < 10e-3 for value in log) == pytest.approx(500, abs=1)
    assert Range.read(0.0, 1.0).at(0.25) == 0.25
    assert Range.read("1Gbps", "3Gbps").at(0.5) == "2000000000bps"


def test_constraints_leave_points_out(place):
    text = STUDY.replace(
        "[grid]",
        "where = \"algorithm == 'dctcp' or workload.load < 0.3\"\n[[constraint]]\nwhere = \"network.wan_delay == '1000us'\"\n[grid]",
    )
    found = read(place, text)
    assert len(found.points) == 9
    assert found.excluded == 3


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a < b", True),
        ("a * 2 == '10ms'", True),
        ("a + b > 10 * '1ms'", True),
        ("not a < b", False),
        ("'1Gbps' <= rate < '10Gbps'", True),
        ("name in ('x', 'y') and on", True),
        ("name not in ['x']", False),
        ("max(a, b, 0.001) / min(a, b) // 1 == 4", True),
        ("key('link.a->b.rate') == '1Mbps'", True),
        ("abs(-2) % 2 == 0 or boom", True),
    ],
)
def test_expressions_know_quantities(text, holds):
    values = {"a": "5ms", "b": "20ms", "rate": "1Gbps", "name": "x", "on": True, "link.a->b.rate": "1000kbps"}
    assert expressions.Expression.read(text).holds(values.__getitem__) is holds


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "a.b()",
        "(lambda: 1)()",
        "[x for x in (1,)]",
        "a ** 9",
        "a if b else c",
        "a := 1",
        "f'{a}'",
        "a[0]",
        "a is b",
        "a << 2",
        "max()",
        "max(*a)",
        "b'x'",
        "",
        "1 +",
        "a" * 3000,
        "(" * 500,
        5,
    ],
)
def test_expressions_evaluate_nothing_else(text):
    with pytest.raises(FarloopError, match="expected"):
        expressions.Expression.read(text)


@pytest.mark.parametrize(
    "text", ["'x' * 1000000000 == a", "'%999999999d' % 1 == a", "a < 5", "1 / zero > 1", "a + on > 1"]
)
def test_what_cannot_be_worked_out_says_so(text):
    with pytest.raises(FarloopError, match="cannot be worked out for"):
        expressions.Expression.read(text).holds({"a": "word", "zero": 0, "on": True}.__getitem__)


ERRORS = {
    # what: (text to replace, replacement, what the message must say)
    "unknown key": ("[grid]", "basis = 1\n[grid]", ["study.toml:5: basis: unknown key; did you mean base?"]),
    "no base": ('base = "base.toml"\n', "", ["study.toml:1: base: missing", "expected the name of a scenario file"]),
    "absent base": ("base.toml", "bas.toml", ["study.toml:2: base: bas.toml: no such file", "did you mean base.toml?"]),
    "a wrong metric": ("p99_slowdown", "p99_slowdwn", ["study.toml:3: collect: p99_slowdwn", "did you mean p99_slowdown?"]),
    "a wrong recorded metric": ("right queue", "right queu", ["study.toml:3: collect: queu: a port has no such", "mean queue?"]),
    "a wrong statistic": ("max port", "p98 port", ["study.toml:3: collect: p98: no such statistic; did you mean p99?"]),
    "a wrong algorithm": ('"hpcc"', '"hpc"', ["study.toml:6: grid.algorithm: hpc: no such algorithm; did you mean hpcc?"]),
    "a wrong scenario key": ("workload.load", "workload.lod", ["study.toml:7: workload.lod: unknown key", 'did you mean "load"?']),
    "out of range": ("0.4]", "-0.4]", ["study.toml:7: workload.load:", "-0.4"]),
    "a wrong unit": ("workload.load = [0.2, 0.4]", 'network.wan_delay = ["5"]', ["study.toml:7: network.wan_delay:", "expected a time"]),
    "a value twice": ("0.4]", "0.2]", ["study.toml:7: grid.workload.load: 0.2 is there twice"]),
    "a wrong value": ("0.4]", "1979-05-27]", ["study.toml:7: grid.workload.load: datetime.date", "expected a text, a number"]),
    "wrong seeds": ('"1-3"', '"3-1"', ["study.toml:8: grid.seed: seeds: 3-1: expected whole numbers"]),
    "too many": ('"1-3"', '"1-10000"\nrun.duration = ["1ms", "2ms", "3ms"]', ["study.toml:5: grid: 120000 points; expected"]),
    "a key twice": ("[grid]", '[grid]\nrun.seed = "4"', ["study.toml:9: grid.seed: seed is there already"]),
    "a wrong expression": ("[grid]", 'where = "a ** 2"\n[grid]', ["study.toml:5: where: a ** 2: is no", "expected keys"]),
    "a constraint's wrong key": ("[grid]", 'where = "workload.lod < 1"\n[grid]', ["toml:5: where: workload.lod: is", "mean workload"]),
    "no point left": ("[grid]", 'where = "workload.load > 1"\n[grid]', ["study.toml:5: where: no point of 12 is left"]),
    "a constraint without where": ("[grid]", '[[constraint]]\nwhen = "a"\n[grid]', ["study.toml:6: constraint.1.when: unknown key"]),
    "samples": ("[grid]", "[random]\nsamples = 0\n[grid]", ["study.toml:6: random.samples: 0: expected a whole"]),
    "a range the wrong way round": (
        "[grid]", "[random]\nsamples = 2\nswitch.alpha = { from = 2, to = 1 }\n[grid]",
        ["study.toml:7: random.switch.alpha: from 2 to 1: expected the smaller one first"],
    ),
    "a range of two kinds": (
        "[grid]", '[random]\nsamples = 2\nswitch.buffer = { from = "1MB", to = "1ms" }\n[grid]',
        ["study.toml:7: random.switch.buffer:", "not of one kind"],
    ),
    "a range's key": (
        "[grid]", '[random]\nsamples = 2\nswitch.alpha = { from = 1, to = 2, scal = "log" }\n[grid]',
        ["study.toml:7: random.switch.alpha: scal: unknown key; did you mean scale?"],
    ),
    "log of nothing": (
        "[grid]", '[random]\nsamples = 2\nswitch.alpha = { from = 0, to = 2, scale = "log" }\n[grid]',
        ["study.toml:7:", "needs more than 0"],
    ),
    "a precision": ("[grid]", 'until = "p99 slowdown"\n[grid]', ["study.toml:5: until:", "such as \"p99 slowdown ± 5 %\""]),
    "a precision's metric": ("[grid]", 'until = "p99 slowdwn ± 5 %"\n[grid]', ["study.toml:5: until:", "did you mean p99_slowdown?"]),
    "seeds' limit": ("[grid]", "most_seeds = 3\n[grid]", ["study.toml:5: most_seeds: 3: expected a whole number from 10 on"]),
    "warm-up": ("[grid]", 'warmup = "mser"\n[grid]', ["study.toml:5: warmup:", '"mser-5"']),
    "warm-up before the beginning": ("[grid]", 'warmup = "-1us"\n[grid]', ["study.toml:5: warmup: '-1us': expected", "from 0"]),
    "warm-up without an end": ("[grid]", 'warmup = "1e999s"\n[grid]', ["study.toml:5: warmup: '1e999s': expected", "from 0"]),
    "Pareto": ("[grid]", 'pareto = ["throughput", "jain"]\n[grid]', ["study.toml:5: pareto: jain: expected two metrics"]),
    "not TOML": ("[grid]", "[grid", ["study.toml:5: is not valid TOML"]),
}  # fmt: skip


@pytest.mark.parametrize("what", ERRORS)
def test_wrong_studies_are_told_with_file_line_and_key(what, place, monkeypatch):
    monkeypatch.chdir(place)
    old, new, said = ERRORS[what]
    assert STUDY.count(old) >= 1
    (place / "study.toml").write_text(STUDY.replace(old, new, 1), encoding="utf-8")
    done = CliRunner().invoke(app, ["sweep", "study.toml", "--out", "s"])
    assert done.exit_code == 2, done.output
    for text in said:
        assert text in done.stderr, done.stderr
    assert not (place / "s").exists()


def test_what_is_no_study_is_told(place, monkeypatch):
    monkeypatch.chdir(place)
    for arguments, said in (
        (["absent.toml"], "absent.toml: no such file; expected a study (TOML)"),
        (["."], "is a directory"),
        (["study.toml", "--until", "p98 slowdown ± 5 %"], "--until: p98 slowdown: no such metric"),
    ):
        done = CliRunner().invoke(app, ["sweep", *arguments])
        assert done.exit_code == 2
        assert said in done.stderr, done.stderr


def test_lines_are_known_whatever_the_value_looks_like(place):
    text = (
        'base = "base.toml"\n\n# [grid]\ncollect = [\n  "p99_slowdown", # one\n  "throughput",\n]\n[grid]\n'
        'title = """\n[grid]\nx = 1\n"""\n"a.b" = [\n[1,\n2],\n]\n[[list]]\nq = 1\n[[list]]\nr.s = { t = 1 }\n'
    )
    document = definition.Document.from_text(text, "s.toml")
    assert [document.line(*key) for key in (("collect",), ("grid",), ("grid", "title"), ("grid", "a.b"))] == [
        4,
        8,
        9,
        13,
    ]
    assert [document.line("list", 0, "q"), document.line("list", 1), document.line("list", 1, "r", "s", "t")] == [
        18,
        19,
        20,
    ]


def test_a_base_scenario_may_stand_in_the_study(place):
    inside = (
        BASE.replace('title = "Short flows"\n', "")
        .replace("[", "[base.")
        .replace("flows = [base.]", "flows = []")
        .replace("ports = [base.", "ports = [")
    )
    text = inside + '[grid]\nalgorithm = ["dctcp"]\nseed = [1, 2]\n'
    found = read(place, text)
    outside = farloop.Scenario.from_text(BASE, str(place / "x.toml")).override(algorithm="dctcp", seed=2)
    assert found.scenario(found.points[1]).resolved == outside.resolved | {"title": ""}
    with pytest.raises(farloop.ScenarioError, match=r"study\.toml:4: network\.topolgy: unknown key"):
        farloop.study(_written(place, text.replace("topology", "topolgy")), out=place / "s")
    with pytest.raises(FarloopError, match=r"study\.toml:1: base: expected the name of a scenario file, or tables"):
        read(place, 'base = { run = { duration = "1ms" } }\n')


def _written(place, text):
    (place / "study.toml").write_text(text, encoding="utf-8")
    return place / "study.toml"


def test_the_dataset_has_parameters_metrics_and_the_way_to_each_run(swept):
    table = pq.read_table(swept.directory / "runs.parquet")
    assert table.equals(swept.runs)
    assert table.num_rows == 12
    assert table["status"].to_pylist() == ["done"] * 12
    assert table["seed"].to_pylist() == [1, 2, 3] * 4
    assert [table.schema.field(n).metadata[b"unit"] for n in ("workload.load", "throughput")] == [b"1", b"bit/s"]
    assert all(table.schema.field(name).metadata[b"meaning"] for name in table.column_names)
    for row in table.to_pylist():
        run = swept.run(row["run"])
        assert run.address == row["address"]
        assert run.algorithm == row["algorithm"]
        assert row["p99_slowdown"] == np.percentile(run.slowdown, 99)
        assert row["throughput"] == run.summary["throughput"]
        assert row["max port/left->right queue"] == run.samples.get("port/left->right", "queue")[1].max()
    again = farloop.run(swept.directory.parents[1] / "base.toml", algorithm="hpcc", seed=3, set={"workload.load": 0.4})
    assert again.flows.equals(swept.run(12).flows), "a study's run is the run that `run` makes"


def test_other_programs_read_the_dataset(swept):
    path = str(swept.directory / "runs.parquet")
    wanted = swept.runs["throughput"].to_pylist()
    for module, found in (
        ("pandas", lambda m: m.read_parquet(path)["throughput"].tolist()),
        ("polars", lambda m: m.read_parquet(path)["throughput"].to_list()),
        ("duckdb", lambda m: [v for (v,) in m.sql(f"select throughput from '{path}' order by run").fetchall()]),
    ):
        try:
            loaded = __import__(module)
        except ImportError:
            continue
        assert found(loaded) == wanted, module


def test_points_are_means_over_seeds_with_intervals(swept):
    runs = swept.runs.to_pylist()
    for row in swept.points.to_pylist():
        same = [r["throughput"] for r in runs if r["point"] == row["point"]]
        mean = farloop.statistics.mean(same, floor=0.0)
        assert (row["seeds"], row["throughput"]) == (3, pytest.approx(mean.estimate))
        assert (row["throughput low"], row["throughput high"]) == (pytest.approx(mean.low), pytest.approx(mean.high))
        assert row["throughput ci95"] == pytest.approx(mean.half_width), "to the farther end"
        pooled = np.concatenate([swept.run(r["run"]).slowdown for r in runs if r["point"] == row["point"]])
        assert row["p99_slowdown"] == np.percentile(pooled, 99)


def test_a_second_study_makes_nothing_again(swept):
    before = (swept.directory / "runs.parquet").read_bytes(), (swept.directory / "report.html").read_bytes()
    store = swept.directory.parent / "run-store"
    study = swept.directory.parents[1] / "study.toml"
    again = farloop.study(study, out=swept.directory)
    assert (again.counts.made, again.counts.kept) == (0, 12)
    assert ((swept.directory / "runs.parquet").read_bytes(), (swept.directory / "report.html").read_bytes()) == before
    more = farloop.study(
        base=swept.directory.parents[1] / "base.toml",
        grid={"workload.load": np.array([0.2, 0.3]), "algorithm": ["dctcp"], "seed": range(1, 4)},
        collect=[how_many, "jain", {"twice": lambda run: 2 * how_many(run)}],
        out=swept.directory.parent / "other",
        report=False,
    )
    assert (more.counts.made, more.counts.kept) == (3, 3), "another study's runs count as well"
    assert all(count == 1 for count in journal(store, "finished").values())
    assert more.runs["how_many"].to_pylist() == [float(more.run(i).flows.num_rows) for i in range(1, 7)]
    assert more.runs["twice"].to_pylist() == [2 * number for number in more.runs["how_many"].to_pylist()]
    assert not (more.directory / "report.html").exists()


def how_many(run):
    return run.flows.num_rows


def test_an_output_is_enough_where_the_store_is_gone(place):
    first = farloop.study(place / "study.toml", out=place / "s", report=False)
    assert first.counts.made == 12
    for path in sorted((place / "run-store").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    again = farloop.study(place / "study.toml", out=place / "s", report=False)
    assert (again.counts.made, again.counts.kept) == (0, 12)
    assert again.runs.equals(first.runs)


def test_the_report_is_drawn_anew_from_the_tables(swept, command):
    names = sorted(path.name for path in (swept.directory / "figures").iterdir())
    assert names == ["max-port-left--right-queue.png", "p99_slowdown.png", "pareto.png", "throughput.png"]
    before = (swept.directory / "report.html").read_bytes()
    assert command("report", str(swept.directory), "-q").returncode == 0
    assert (swept.directory / "report.html").read_bytes() == before
    text = before.decode()
    assert 'src="http' not in text
    for told in ("Best and worst", "Pareto front", "All points", "dctcp, workload.load 0.2", " ["):
        assert told in text
    with pytest.raises(FarloopError, match=r"load one of the runs in it, such as .*runs"):
        farloop.load(swept.directory)


def test_small_multiples_have_the_study_s_numbers(swept):
    found = multiples.multiples(swept.points, ["algorithm", "workload.load"], "throughput")
    assert list(found.panels) == [""]
    assert [(line.name, line.x.tolist()) for line in found.panels[""]] == [("dctcp", [0.2, 0.4]), ("hpcc", [0.2, 0.4])]
    first = found.panels[""][0]
    assert (first.y * 1e6).tolist() == pytest.approx(
        swept.points["throughput"].to_pylist()[:2]
    ) or found.up.title.endswith("(Gbps)")
    assert (first.low <= first.y).all() and (first.y <= first.high).all()
    assert first.bands() == [slice(0, 2)]


def test_pareto_front_by_hand():
    import pyarrow as pa

    rows = pa.table({"a": [1.0, 2.0, 3.0, 2.0, None], "b": [5.0, 7.0, 6.0, 4.0, 9.0], "name": list("pqrst")})
    front = multiples.pareto_front(rows, ("a", "less"), ("b", "more"))
    assert [row["name"] for row in front] == ["p", "q"]
    front = multiples.pareto_front(rows, ("a", "less"), ("b", "less"))
    assert [row["name"] for row in front] == ["p", "s"]
    front = multiples.pareto_front(rows, ("a", "more"), ("b", "more"))
    assert [row["name"] for row in front] == ["r", "q"]


def workers_of(process):
    """The processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process.pid and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


KILLED = STUDY.replace('seed = "1-3"', 'seed = "1-9"')
RUNS = 36

MORE = int(os.environ.get("FARLOOP_SWEEP_SEEDS", "9"))
"""Seeds of four points each of which the workers are killed: 50 for two hundred runs, whose numbers `pytest -s` shows."""


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
def test_workers_killed_at_random_cost_nothing_but_time(command, place):
    runs, kills = 4 * MORE, max(10, MORE)
    (place / "study.toml").write_text(KILLED.replace("1-9", f"1-{MORE}"), encoding="utf-8")
    choose = random.Random(5)
    began = time.monotonic()
    process = command.start("sweep", "study.toml", "--out", "s", "--workers", "2", "--no-report")
    store, killed, wanted = place / "run-store", 0, 1
    while process.poll() is None:
        if killed < kills and len(list(store.glob("[0-9a-f]*/run.json"))) >= wanted:
            there = workers_of(process)
            if there:
                os.kill(choose.choice(there), signal.SIGKILL)
                killed += 1
                wanted = len(list(store.glob("[0-9a-f]*/run.json"))) + choose.randint(1, 4)
        time.sleep(choose.uniform(0.001, 0.02))
    _, err = process.communicate()
    assert process.returncode == 0, err
    took = time.monotonic() - began
    assert killed >= 6
    table = pq.read_table(place / "s" / "runs.parquet")
    assert table["status"].to_pylist() == ["done"] * runs
    assert len(set(table["address"].to_pylist())) == runs
    # Between a run and its line in the journal somebody may have been killed: then there is no line.
    assert set(journal(store, "finished").values()) == {1}
    assert len(journal(store, "finished")) >= runs - killed
    assert runs <= sum(journal(store, "began").values()) <= runs + killed, "only what was killed is made again"
    done = set()
    for line in map(json.loads, (store / tasks.JOURNAL).read_text("utf-8").splitlines()):
        assert line["run"] not in done, "what is made is not begun again"
        done |= {line["run"]} if line["what"] == "finished" else set()
    before = (store / tasks.JOURNAL).read_bytes()
    assert not [p.name for p in store.iterdir() if p.name.startswith(".")], "nothing half-written is left"
    began = time.monotonic()
    again = command("sweep", "study.toml", "--out", "s", "--no-report")
    assert again.returncode == 0, again.stderr
    assert f"no run to make, {runs} kept from before" in again.stderr
    second = time.monotonic() - began
    assert second < 60
    assert (store / tasks.JOURNAL).read_bytes() == before
    assert pq.read_table(place / "s" / "runs.parquet").equals(table)
    made = sum(journal(store, "began").values())
    print(f"{runs} runs, {killed} workers killed, {made} begun, {took:.0f} s; the same again {second:.1f} s")  # noqa: T201


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
def test_a_sweep_that_is_killed_goes_on_and_leaves_no_worker(command, place):
    (place / "study.toml").write_text(KILLED, encoding="utf-8")
    arguments = ["sweep", "study.toml", "--out", "s", "--workers", "2", "--no-report"]
    process = command.start(*arguments)
    store = place / "run-store"
    while len(list(store.glob("[0-9a-f]*/run.json"))) < 5:
        time.sleep(0.01)
    orphans = workers_of(process)
    process.kill()
    process.communicate()
    assert not (place / "s").exists()
    for _ in range(200):
        if not any(Path(f"/proc/{pid}/cmdline").exists() for pid in orphans):
            break
        time.sleep(0.05)
    else:
        pytest.fail("a worker outlives who started it")
    again = command(*arguments)
    assert again.returncode == 0, again.stderr
    assert max(journal(store, "finished").values()) == 1
    assert pq.read_table(place / "s" / "runs.parquet")["status"].to_pylist() == ["done"] * RUNS


def test_two_sweeps_at_once_share_the_work(command, place):
    several = [
        command.start("sweep", "study.toml", "--out", f"s{i}", "--workers", "1", "--no-report") for i in range(2)
    ]
    for process in several:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert set(journal(place / "run-store", "finished").values()) == {1}
    assert len(journal(place / "run-store", "finished")) == 12


def chain(switches):
    """A path with so many switches; telemetry has room for 16."""
    nodes = "".join(f'[[node]]\nname = "x{i}"\nkind = "switch"\ndatacenter = 0\n' for i in range(switches))
    nodes += "".join(f'[[node]]\nname = "{h}"\ndatacenter = 0\n' for h in "ab")
    way = ["a", *(f"x{i}" for i in range(switches)), "b"]
    links = "".join(f'[[link]]\na = "{a}"\nb = "{b}"\n' for a, b in itertools.pairwise(way))
    flow = '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\nsize = "10kB"\n'
    return f'[run]\nduration = "1ms"\n[network]\ntopology = "links"\n{nodes}{links}[algorithm]\nname = "dctcp"\n{flow}'


def test_failures_are_listed_and_tried_again_only_when_asked(command, place):
    (place / "far.toml").write_text(chain(20), encoding="utf-8")
    text = 'base = "far.toml"\ncollect = "p99_slowdown"\n[grid]\nalgorithm = ["dctcp", "bbr"]\nswitch.int = [false, true]\n'
    (place / "study.toml").write_text(text, encoding="utf-8")
    first = command("sweep", "study.toml", "--out", "s")
    assert first.returncode == 1, first.stderr
    assert "dctcp, switch.int true: failed: far.toml:" in first.stderr
    assert "at most 16 fit" in first.stderr
    assert "bbr, switch.int false and 1 other run: refused: the algorithm" in first.stderr
    table = pq.read_table(place / "s" / "runs.parquet").to_pylist()
    assert [row["status"] for row in table] == ["done", "failed", "refused", "refused"]
    assert "at most 16 fit" in table[1]["because"]
    assert [row["path"] is None for row in table] == [False, True, True, True]
    assert "at most 16 fit" in (place / "s" / "report.html").read_text("utf-8")
    began = journal(place / "run-store", "began")
    again = command("sweep", "study.toml", "--out", "s")
    assert again.returncode == 1
    assert journal(place / "run-store", "began") == began, "known to fail"
    assert "at most 16 fit" in again.stderr
    retried = command("sweep", "study.toml", "--out", "s", "--retry")
    assert retried.returncode == 1
    assert sum(journal(place / "run-store", "began").values()) == sum(began.values()) + 1


def test_a_study_of_which_nothing_can_run_is_an_error(place):
    with pytest.raises(farloop.ScenarioError, match="needs the delivery rate"):
        farloop.study(base=place / "base.toml", grid={"algorithm": ["bbr"]}, out=place / "s")
    with pytest.raises(FarloopError, match=r"^workload\.lod: unknown key"):
        farloop.study(base=place / "base.toml", grid={"workload.lod": [1]}, out=place / "s")
    with pytest.raises(FarloopError, match="file and base: expected one of them"):
        farloop.study()
    assert not (place / "s").exists()


def task(place, key, memory, store=None):
    return tasks.Task(
        key,
        key,
        SMALL,
        str(place / "small.toml"),
        (("run.duration", "1ms"), ("run.seed", key)),
        str(store or place),
        memory,
        1,
        simulator(),
    )


def test_only_as_many_run_side_by_side_as_fit(place):
    seen = []

    class Watched(pool.LocalPool):
        def _answers(self):
            seen.append(sum(w.task is not None for w in self._started))
            return super()._answers()

    gigabyte = 1 << 30
    for room, most in ((gigabyte, 1), (3 * gigabyte, 2)):
        seen.clear()
        # A worker of a busy machine may be done before the other one has begun: then once more.
        for attempt in range(10):
            found = list(Watched(2, room).outcomes(task(place, f"{room}{attempt}{i}", gigabyte) for i in range(4)))
            assert [outcome.status for _, outcome in found] == ["made"] * 4
            if max(seen) == most:
                break
        assert max(seen) == most
    found = list(Watched(2, 1).outcomes([task(place, "7", gigabyte)]))
    assert [outcome.status for _, outcome in found] == ["made"], "one always runs"


def test_the_estimate_is_more_than_what_runs_take(place):
    (place / "large.toml").write_text(
        BASE.replace('"1Gbps"', '"100Gbps"').replace('wan_delay = "1ms"', 'wan_delay = "10ms"'), encoding="utf-8"
    )
    scenario = farloop.Scenario.load(place / "large.toml").override({"workload.stop": "none", "workload.sizes": "10MB"})
    wanted = tasks.Task.of("1", "large", scenario, place, 1)
    ((_, outcome),) = pool.LocalPool(1).outcomes([wanted])
    assert outcome.status == "made"
    assert memory.PROCESS // 2 < outcome.peak < wanted.memory < 20 * outcome.peak


def test_a_worker_of_another_build_makes_nothing(place):
    other = tasks.Task.from_json(task(place, "1", 1).as_json().replace(simulator(), "0" * 64))
    assert "another build" in tasks.make(other).because
    assert "no such directory" in tasks.make(task(place, "1", 1, place / "absent")).because
    assert list(place.glob("1")) == []


def test_what_is_claimed_is_made_by_nobody_else(place):
    wanted = task(place, "12", 1)
    with Store(place).claimed("12") as mine:
        assert mine
        assert tasks.make(wanted).status == tasks.BUSY
    assert tasks.make(wanted).status == tasks.MADE
    assert tasks.make(wanted).status == tasks.KEPT
    (place / "12" / "flows.parquet").write_bytes(b"damaged")
    assert tasks.make(wanted).status == tasks.MADE, "what is damaged is none"
    assert "12" in Store(place)


def test_progress_says_how_long_it_takes(capsys):
    shown = CountLines()
    shown.begin(3, 2, 1)
    shown._printed -= 100
    shown.done("a")
    shown.done("b", "no luck")
    shown.done("c")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "3 runs to make, 2 kept from before, 1 side by side"
    assert lines[1].startswith("1 of 3 runs done, ")
    assert lines[1].endswith(" s left")
    assert lines[2] == "b: failed: no luck"
    assert lines[3].startswith("3 of 3 runs done, 1 failed, in ")


def test_help_and_python_agree():
    shown = subprocess.run(
        [sys.executable, "-m", "farloop", "sweep", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for option in ("--until", "--workers", "--retry", "--store", "--most-seeds"):
        assert option in shown
    assert points.NAMES == {"algorithm": "algorithm.name", "seed": "run.seed"}


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
    assert (first.counts.made, first.told) == (4, [])
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
    found = farloop.study(base=own / "base.toml", grid=grid, **options)
    assert found.runs["algorithm"].to_pylist() == ["dctcp", "mine"]
    assert found.failures == []

    class Local(mine):
        """In no file that says the same."""

    for one, said in ((Local, "is in no file that other processes could load"), (int, "expected a class derived from")):
        with pytest.raises(FarloopError, match=said):
            farloop.study(base=own / "base.toml", grid={"algorithm": [one]}, **options)


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
    found = definition.from_file(own / "study.toml")
    scenario = found.scenario(found.points[-1])
    (own / "store").mkdir()
    task = tasks.Task.of("0" * 64, "mine", scenario, own / "store", 1, found.algorithm_files)
    (own / "mine.py").write_text(MINE + "\n", encoding="utf-8")
    outcome = tasks.make(tasks.Task.from_json(task.as_json()))
    assert outcome.status == tasks.BROKEN
    assert "mine has changed since the study began" in outcome.because


def test_the_address_of_an_algorithm_in_python_is_the_same_in_every_process(own):
    script = "from farloop import algorithm; print(algorithm.digest(algorithm.load('mine.py')[0]))"
    (own / "mine.py").write_text(MINE.replace("{1, 2}", "{'a', 'b', 'c', 'd', 'e'}"), encoding="utf-8")
    found = {
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
    assert len(found) == 1

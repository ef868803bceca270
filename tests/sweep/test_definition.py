"""What a study says: which points there are, what constraints leave out, and how mistakes are told."""

from collections import Counter

import numpy as np
import pytest
from support import studies
from support.studies import BASE, STUDY, read
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app
from farloop.errors import FarloopError
from farloop.studies.sweep import definition, expressions
from farloop.studies.sweep.points import Range


@pytest.fixture
def place(tmp_path):
    return studies.written(tmp_path)


def test_a_grid_is_every_combination_and_the_last_key_changes_fastest(place):
    study = definition.from_file(place / "study.toml")
    assert len(study.points) == 12
    assert study.points[0] == {"algorithm": "dctcp", "workload.load": 0.2, "seed": 1}
    assert study.points[1] == {"algorithm": "dctcp", "workload.load": 0.2, "seed": 2}
    assert study.varied == ("algorithm", "workload.load", "seed")
    scenario = study.scenario(study.points[-1])
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
    study = read(place, text)
    assert len(study.points) == 2 * 2 * 3
    assert "network.wan_delay" not in study.points[3]
    drawn = [
        tuple(p[key] for key in ("workload.load", "switch.buffer", "network.intra_pairs", "network.rate"))
        for p in study.points
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
    assert all(study.scenario(point).resolved["run"]["duration"] == "5ms" for point in study.points[:2])
    other = read(place, text.replace("seed = 7", "seed = 8"))
    assert [p["workload.load"] for p in other.points] != [p["workload.load"] for p in study.points]


def test_random_values_fill_their_range():
    shares = np.linspace(0, 1, 1001)[:-1]
    whole = Counter(Range.read(2, 4).interpolate(s) for s in shares)
    assert set(whole) == {2, 3, 4}
    assert max(whole.values()) - min(whole.values()) <= 2
    log = [farloop.units.seconds(Range.read("1ms", "100ms", "log").interpolate(s)) for s in shares]
    assert sum(value < 10e-3 for value in log) == pytest.approx(500, abs=1)
    assert Range.read(0.0, 1.0).interpolate(0.25) == 0.25
    assert Range.read("1Gbps", "3Gbps").interpolate(0.5) == "2000000000bps"


def test_constraints_leave_points_out(place):
    text = STUDY.replace(
        "[grid]",
        "where = \"algorithm == 'dctcp' or workload.load < 0.3\"\n[[constraint]]\nwhere = \"network.wan_delay == '1000us'\"\n[grid]",
    )
    study = read(place, text)
    assert len(study.points) == 9
    assert study.excluded == 3


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
    "a metric twice": ('"p99_slowdown"', '"p99_slowdown", "p99_slowdown"', ["study.toml:3: collect:", "twice; expected each metric once"]),
    "a reason that is no text": (
        "[grid]", '[[constraint]]\nwhere = "seed > 0"\nbecause = 3\n[grid]',
        ["study.toml:7: constraint.1.because: 3: expected a text"],
    ),
    "a name that turns the line": ("[grid]", '"a\\u202e" = 1\n[grid]', ["study.toml:5: a\\u202e: unknown key; accepted keys:"]),
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
    "small without classes": (
        "p99_slowdown", "cross_small_p99_slowdown",
        ['study.toml:3: collect: cross_small_p99_slowdown: small meant "at most the median size of all flows of the run"; '
         'state sizes = "median" to keep that, or sizes = "gemini" for up to 100 kB\n'],
    ),
    "large without classes": (
        "p99_slowdown", "large mean fct",
        ["study.toml:3: collect: large mean fct: large meant \"more than the median", 'or sizes = "gemini" for more than 10 MB\n'],
    ),
    "medium without classes": (
        "p99_slowdown", "medium_p99_slowdown",
        ['study.toml:3: collect: medium_p99_slowdown: state sizes = "gemini" for this class'],
    ),
    "a precision of small flows without classes": (
        "[grid]", 'until = "small p99 slowdown ± 5 %"\n[grid]', ["study.toml:5: until: small p99 slowdown: small meant"],
    ),
    "a class of other classes": (
        "[grid]", 'sizes = "median"\nuntil = "medium p99 slowdown ± 5 %"\n[grid]',
        ["study.toml:6: until: medium p99 slowdown: no such metric", "[at_most_median_|above_median_]"],
    ),
    "no classes": ("[grid]", 'sizes = "tiny"\n[grid]', ["study.toml:5: sizes: tiny: expected gemini, median, or up to 8 sizes"]),
    "classes that are no text": ("[grid]", "sizes = 3\n[grid]", ["study.toml:5: sizes: 3: expected gemini, median"]),
    "not TOML": ("[grid]", "[grid", ["study.toml:5: is not valid TOML"]),
    "a table twice": ("[grid]", "[grid]\nx = [1]\n[grid]", ["study.toml:7: is not valid TOML: duplicate key; expected each key once"]),
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
    study = read(place, text)
    outside = farloop.Scenario.from_text(BASE, str(place / "x.toml")).override(algorithm="dctcp", seed=2)
    assert study.scenario(study.points[1]).resolved == outside.resolved | {"title": ""}
    with pytest.raises(farloop.ScenarioError, match=r"study\.toml:4: network\.topolgy: unknown key"):
        farloop.study(_written(place, text.replace("topology", "topolgy")), out=place / "s")
    with pytest.raises(FarloopError, match=r"study\.toml:1: base: expected the name of a scenario file, or tables"):
        read(place, 'base = { run = { duration = "1ms" } }\n')


def _written(place, text):
    (place / "study.toml").write_text(text, encoding="utf-8")
    return place / "study.toml"

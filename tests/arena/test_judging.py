"""How an arena judges: constraints first, then groups that the seeds tell apart."""

import math

import numpy as np
import pytest

import farloop
from farloop import catalogue
from farloop.experiments.execution import Execution
from farloop.studies.arena import constraints, plan, quantities, ranking, requirements, scenario_runs
from farloop.studies.arena.measuring import Measured
from farloop.studies.arena.table import Result
from farloop.views import arena_page, order_changes

SITES = """\
[run]
duration = "20ms"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 2
rate = "1Gbps"
link_delay = "5us"
wan_delay = "500us"
[algorithm]
name = "dctcp"
[workload]
sizes = "50kB"
load = 0.2
stop = "10ms"
"""


def measured(algorithm, seed, score, **values):
    usual = {"paused_share": 0.0, "longest_rtt_s": 0.01}
    return Measured("s", algorithm, seed, "finite", {"p99 small inside": score}, usual | values)


@pytest.mark.parametrize("text", [*constraints.ARENA, "no pfc across", "goodput >= 3.3Gbps", "queue delay < 200us"])
def test_a_constraint_is_read_back_as_it_was_written(text):
    constraint = constraints.parse(text)
    assert constraints.parse(constraint.written) == constraint
    assert str(constraint)


def test_bounds_of_rates_and_times_may_be_relative():
    goodput, delay = constraints.parse("goodput >= 90 %"), constraints.parse("queue delay <= 50 %")
    values = {"goodput_bps": 8e9, "queue_delay_s": 0.006, "longest_rtt_s": 0.01}
    best = constraints.bests([values, {"goodput_bps": 1e10}], [goodput])
    assert goodput.limit(values, best) == pytest.approx(9e9)
    assert goodput.excess(values, best) == pytest.approx(math.log(9 / 8))
    assert goodput.excess(values | {"goodput_bps": 9.5e9}, best) == 0
    assert delay.excess(values, best) == pytest.approx(math.log(0.006 / 0.005))
    assert constraints.parse("fairness >= 0.9").excess({"jain_endless": None}, {}) == 0, (
        "what a run has not cannot be broken"
    )
    assert constraints.parse("fairness >= 0.9").excess({"jain_endless": None, "jain_relative": 0.5}, {}) > 0
    assert constraints.parse("fairness >= 0.9").excess({"jain_endless": 1.0, "jain_relative": 0.5}, {}) == 0
    assert constraints.parse("no drops").excess({"dropped_share": 1e-9}, {}) > 10


def test_a_constraint_replaces_the_usual_one_of_its_quantity():
    usual = constraints.read([], constraints.ARENA)
    assert next(c.written for c in constraints.read(["paused <= 20 %"], constraints.ARENA)) == "paused <= 20.0 %"
    assert len(constraints.read(["paused <= 20 %"], constraints.ARENA)) == len(usual)
    assert constraints.read(["none"], constraints.ARENA) == ()
    assert len(constraints.read(["none", "no drops"], constraints.ARENA)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no goodput", "goodput is what there should be"),
        ("paused", "no constraint"),
        ("paused <= 3ms", "expected a share"),
        ("paused <= 300 %", "a share up to 100 %"),
        ("queue delay <= 5", "expected a time"),
        ("lossless drops <= 5 %", "expected a number"),
        ("p98 slowdown <= 3", "did you mean p99 slowdown"),
        ("goodput >= -1Gbps", "no less than 0"),
        ("goodput >= nan", "expected a rate"),
    ],
)
def test_what_is_no_constraint_is_told(text, message):
    with pytest.raises(farloop.FarloopError, match=message):
        constraints.parse(text)


def test_quantities_have_the_names_that_people_use():
    assert quantities.quantity("p99 slowdown of small flows across").key == "cross_small_slowdown_p99"
    assert quantities.quantity("mean slowdown").key == "all_all_slowdown_mean"
    with pytest.raises(farloop.FarloopError, match="Jain: no such quantity any more; expected fairness"):
        quantities.quantity("Jain")
    for name in quantities.names():
        assert quantities.quantity(name).name == name


def test_what_breaks_a_constraint_has_no_group():
    runs = [measured("fast", seed, 1.0, paused_share=0.2 if seed == 2 else 0.01) for seed in (1, 2, 3)]
    runs += [measured("slow", seed, 3.0) for seed in (1, 2, 3)]
    runs += [measured("fixed", seed, 0.5) for seed in (1, 2, 3)]
    must = (constraints.parse("paused <= 5 %"),)
    slow, fast, fixed = ranking.standings(runs, constraints=must, references=["fixed"])
    assert [(s.algorithm, s.state, s.group) for s in (slow, fast, fixed)] == [
        ("slow", "ranked", 1), ("fast", "fails", None), ("fixed", "reference", None),
    ]  # fmt: skip
    (broken,) = fast.broken
    assert (str(broken), broken.seeds) == ("paused 7.33 %", 1), "the mean over seeds counts"
    assert fast.against_best.estimate == pytest.approx(1 / 3)
    assert slow.ranks == {1: 1, 2: 1, 3: 1}
    assert [s.group for s in ranking.standings(runs, references=["fixed"])] == [1, 2, None]


def test_where_nothing_holds_the_nearest_stands_first():
    runs = [measured(name, 1, 1.0, paused_share=share) for name, share in (("a", 0.5), ("b", 0.06), ("c", 0.3))]
    standings = ranking.standings(runs, constraints=[constraints.parse("paused <= 5 %")])
    assert [s.algorithm for s in standings] == ["b", "c", "a"]
    assert all(s.against_best.estimate is None for s in standings)


def test_of_two_within_five_percent_the_one_without_pauses_stands_first():
    runs = [measured("pauses", seed, 1.0, paused_share=0.03) for seed in (1, 2, 3)]
    runs += [measured("calm", seed, 1.04) for seed in (1, 2, 3)] + [measured("far", seed, 1.2) for seed in (1, 2, 3)]
    standings = ranking.standings(runs)
    assert [(s.algorithm, s.group) for s in standings] == [("calm", 1), ("pauses", 1), ("far", 2)]


def test_groups_hold_what_the_seeds_cannot_tell_apart():
    draw = np.random.default_rng(3)
    means = {"a": 1.0, "b": 1.1, "c": 4.0, "d": 4.3}
    runs = [
        measured(name, seed, mean * math.exp(0.2 * draw.normal()))
        for seed in range(1, 11)
        for name, mean in means.items()
    ]
    groups = {s.algorithm: s.group for s in ranking.standings(runs)}
    assert groups == {"a": 1, "b": 1, "c": 2, "d": 2}
    few = ranking.standings([run for run in runs if run.seed == 1])
    assert [s.group for s in few] == list(range(1, len(few) + 1)) or few[0].is_apart is None


def test_multiples_are_of_the_best_of_each_measure_under_each_seed():
    runs = [
        Measured("s", name, seed, "endless", {"goodput": goodput * seed, "fairness": fairness}, {"paused_share": 0.0})
        for seed in (1, 2)
        for name, goodput, fairness in (("a", 1.0, 2.0), ("b", 2.0, 1.0))
    ]
    a, b = ranking.standings(runs)
    assert a.multiples == pytest.approx({"goodput": 1.0, "fairness": 2.0})
    assert b.multiples == pytest.approx({"goodput": 2.0, "fairness": 1.0})


def test_nothing_delivered_is_the_worst_score():
    runs = [Measured("s", "dead", 1, "endless", {"goodput": math.inf}, {}), measured("a", 1, 2.0)]
    standings = ranking.standings(runs)
    assert [s.algorithm for s in standings] == ["a", "dead"]
    assert standings[1].score.estimate == math.inf


def test_references_are_named_by_a_rule():
    names = [entry["name"] for entry in catalogue.algorithms()]
    references = [name for name in names if requirements.is_reference(name)]
    assert {"fixed", "gear-literal", "gear-without-intra", "mlcc-printed", "icc-printed"} <= set(references)
    assert not {"gear", "hpcc", "dctcp", "gemini", "mlcc", "icc"} & set(references)
    assert requirements.list_requirements("mlcc") == ("int", "dci", "symmetric")
    assert requirements.list_requirements("rccc") == ("credit",)
    assert requirements.in_words("rccc") == "receivers' credit"
    assert requirements.in_words("swift") == "nothing"
    assert all(requirements.in_words(name) for name in names)


def test_a_scenario_over_a_key_shows_where_the_order_changes(tmp_path):
    (tmp_path / "sites.toml").write_text(SITES, encoding="utf-8")
    planned = plan.plan(
        [str(tmp_path / "sites.toml")], "dctcp,swift", seeds="1-2", over="workload.load=0.4,0.1,0.2", must=["none"]
    )
    assert [scenario_plan.name for scenario_plan in planned.scenario_plans] == [
        "sites-load-0.4",
        "sites-load-0.1",
        "sites-load-0.2",
    ]
    (tmp_path / "out").mkdir()
    results = scenario_runs.run(planned, tmp_path / "out", Execution(), page=arena_page.page)
    (curve,) = order_changes.curves(results)
    assert (curve.of, curve.key, curve.values) == ("sites", "workload.load", ("0.1", "0.2", "0.4"))
    assert set(curve.multiples()) == {"dctcp", "swift"}
    assert all(min(v for v in at if v is not None) == 1 for at in zip(*curve.multiples().values(), strict=True))
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Where does the order change?" in page
    assert 'class="curve"' in page
    assert "No constraint is asked for" in page


def test_keys_that_move_together_make_one_curve():
    results = [
        Result(f"s{delay}{buffer}", {"start": "own"}, [], [], part_of="s", point={"delay": delay, "duration": long, "buffer": buffer})
        for delay, long in (("1ms", "10ms"), ("5ms", "50ms"), ("10us", "1ms"))
        for buffer in ("1MB", "8MB")
    ]  # fmt: skip
    curves = [(curve.key, curve.fixed, curve.values) for curve in order_changes.curves(results)]
    assert ("delay", "buffer 1MB", ("10us", "1ms", "5ms")) in curves
    assert ("buffer", "delay 5ms, duration 50ms", ("1MB", "8MB")) in curves
    assert len(curves) == 5

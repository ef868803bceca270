"""The answer of a comparison and the numbers that it is made of: who leads, by how much, told apart or not, and at what cost."""

import dataclasses
import re

import pytest

import farloop
from farloop.judging.claim_readings import APART
from farloop.results import effects, measures
from farloop.results.cautions import Caution, by_weight
from farloop.results.effects import ALL, Effect, slowdown_text
from farloop.results.headline import _cost_sentence, answer_reproduction, headline
from farloop.results.run import FigureVerdicts
from farloop.statistics import Interval

NETWORK = """
run.duration = "20ms"
record = { flows = [], ports = [] }
switch.int = true
"""

FINITE = f"""{NETWORK}
network = {{ topology = "spine-leaf", spines = 2, leaves = 2, hosts_per_leaf = 4, rate = "10Gbps" }}
workload = {{ sizes = "websearch", load = 0.5, stop = "10ms" }}
"""

ENDLESS = f"""{NETWORK}
network = {{ topology = "dumbbell", rate = "1Gbps", wan_delay = "200us" }}
flow = [{{ from = "s1", to = "d1" }}, {{ from = "s2", to = "r1" }}]
"""


@pytest.fixture(scope="module")
def compare(tmp_path_factory):
    """Comparisons of a scenario's text."""

    def run(text, algorithms, **options):
        file = tmp_path_factory.mktemp("scenario") / "s.toml"
        file.write_text(text, encoding="utf-8")
        return farloop.compare(file, algorithms, **options)

    return run


def effect(values, *, better=measures.LESS, bounded=(), apart=None):
    """An effect of these numbers; `apart` says whether seeds tell a group from the leader."""
    reach = {None: (None, None), True: (1.5, 2.0), False: (0.9, 1.2)}[apart]
    return Effect(
        "fct_slowdown/p99/cross/begun",
        "p99 FCT slowdown",
        "cross",
        better,
        slowdown_text,
        {label: Interval(value, None, None, 1) for label, value in values.items()},
        frozenset(bounded),
        lambda own, other, confidence: Interval(1.0, *reach, 10),
    )


@pytest.mark.parametrize(("apart", "words"), [(True, "a pays for it: "), (False, "a is behind elsewhere: ")])
def test_nobody_pays_for_a_lead_that_seeds_do_not_tell(apart, words):
    lead = effect({"a": 1.0, "b": 1.25}, apart=apart)
    queue = dataclasses.replace(
        effect({"b": 100.0, "a": 200.0}, apart=True), identifier="queue/max/worst_port", name="longest queue", scope=ALL
    )
    (sentence,) = _cost_sentence([lead], [lead, queue])
    assert sentence.startswith(words)


def test_the_best_comes_first_in_either_direction():
    assert effect({"a": 2.0, "b": 1.0, "c": None}).ranking == ["b", "a"]
    assert effect({"a": 2.0, "b": 1.0}, better=measures.MORE).ranking == ["a", "b"]
    assert effect({"a": 2.0, "b": 1.0}).times_worse("a", "b") == 2
    assert effect({"a": 2.0, "b": 1.0}, better=measures.MORE).times_worse("b", "a") == 2


def test_every_effect_is_a_declared_measure(compare):
    known = measures.declared_measures()
    made = effects.effects(compare(FINITE, "dctcp,hpcc"))
    assert {"fct_slowdown/p99/intra/begun", "queue/max/worst_port", "jain"} <= {effect.identifier for effect in made}
    for one_effect in made:
        measure = known[one_effect.identifier]
        assert measure.better in (one_effect.better, ""), one_effect.identifier


def test_the_numbers_are_those_of_the_summary(compare):
    comparison = compare(FINITE, "dctcp,hpcc")
    made = {effect.identifier: effect for effect in effects.effects(comparison)}
    for label, runs in comparison.groups.items():
        summary = runs[0].summary
        distribution = summary["slowdown_at_least"]["intra"] or summary["slowdown"]["intra"]
        assert made["fct_slowdown/p99/intra/begun"].estimate(label) == pytest.approx(distribution["p99"])
        assert made["fct_slowdown/mean/intra/begun"].estimate(label) == pytest.approx(distribution["mean"])
        assert made["jain"].estimate(label) == pytest.approx(summary["jain"])
        assert made["goodput"].estimate(label) == pytest.approx(summary["throughput"])


def test_a_comparison_names_the_leader_the_others_and_the_number_of_seeds(compare):
    answer = headline(compare(FINITE, "dctcp,hpcc,timely"))
    made = {effect.identifier: effect for effect in answer.effects}["fct_slowdown/p99/intra/begun"]
    assert answer.effect is made
    assert made.value_text(made.ranking[0]) in answer.sentences[0]
    assert all(label in answer.text for label in ("dctcp", "hpcc", "timely"))
    assert "--seeds" in answer.text
    assert len(answer.key_numbers) == 3
    few = headline(compare(FINITE, "dctcp,hpcc", seeds="1-3"))
    assert "3 seeds are too few to tell these numbers apart: --seeds 1-10 does." in few.text
    many = headline(compare(FINITE, "dctcp,hpcc", seeds="1-10"))
    assert "--seeds" not in many.text


@pytest.mark.parametrize(
    ("values", "apart", "seeds", "words"),
    [
        ({"a": 1.0, "b": 1.01}, None, 1, "Across, a and b are level: p99 FCT slowdown 1.00 and 1.01."),
        ({"a": 1.0, "b": 3.0}, None, 1, "Across, a leads: p99 FCT slowdown 1.00; b has 3.00 (3 times)."),
        ({"a": 1.0, "b": 1.25}, True, 10, "Across, a leads: p99 FCT slowdown 1.00; b has 1.25 (25 % more)."),
        (
            {"a": 1.0, "b": 3.0},
            False,
            10,
            "Across, 10 seeds do not tell a and b apart: p99 FCT slowdown 1.00 and 3.00.",
        ),
    ],
)
def test_what_is_not_told_apart_is_not_called_ahead(values, apart, seeds, words):
    from farloop.results.headline import _lead_sentence

    assert _lead_sentence(effect(values, apart=apart), seeds) == words


def test_many_algorithms_make_a_short_sentence():
    from farloop.results.headline import _lead_sentence

    values = {f"a{i}": 1.0 + i for i in range(16)}
    text = _lead_sentence(effect(values), 1)
    assert "a0 leads" in text
    assert "a15, the last of 16, has 16.0" in text
    assert len(text) < 160
    alike = _lead_sentence(effect(values, apart=False), 10)
    assert "15 others" in alike
    assert len(alike) < 160


def test_a_lower_bound_is_said_to_be_one():
    assert effect({"a": 8.82}, bounded=["a"]).value_text("a") == "at least 8.82"


def test_endless_flows_are_judged_by_their_shares(compare):
    answer = headline(compare(ENDLESS, "hpcc,dctcp"))
    assert "Jain's index" in answer.sentences[0]
    assert answer.effect.identifier == "jain"


def test_the_limit_of_the_leader_is_a_sentence(compare):
    answer = headline(compare(FINITE, "dctcp,hpcc"))
    assert re.fullmatch(rf"Under {answer.effect.ranking[0]}, flows inside .* for \d+ % of their time\.", answer.limit)
    alone = headline(compare(ENDLESS, "hpcc"))
    assert re.fullmatch(
        r"Flows inside .* for \d+ % of their time and flows across .* for \d+ % of their time\.", alone.limit
    )


def test_a_run_says_how_its_flows_fared_and_where_it_queued(compare):
    answer = headline(compare(FINITE, "dctcp"))
    assert re.search(r"Inside, (all )?[\d,]+( of [\d,]+)? flows finished: p99 FCT slowdown", answer.text)
    assert re.search(r"The longest queue, [\d.]+ kB, was at \S+; ", answer.text)
    assert answer.effect is None
    assert not answer.effects


def test_the_statements_of_a_figure_come_first():
    claims = [
        {"verdict": "reproduced", "statements": [{"holds": True}, {"holds": None}]},
        {"verdict": "differs", "statements": [{"holds": False}, {"holds": True}]},
    ]
    answer = answer_reproduction([FigureVerdicts("a/b", "t", claims, []), FigureVerdicts("a/c", "t", [], [])])
    assert answer == "2 figures: 1 reproduced, 1 differs; 2 of 3 statements hold."
    claims.append({"verdict": "reproduced", "statements": [{"holds": True, "reading": APART}]})
    answer = answer_reproduction([FigureVerdicts("a/b", "t", claims, [])])
    assert answer == "1 figure: 2 reproduced, 1 differs; 2 of 3 statements hold, and 1 by construction."


def test_the_cautions_that_decide_come_first_and_each_code_once():
    texts = [
        ("short-flows", 1), ("short-flows", 2), ("starts", 3), ("overload", 4), ("unfinished", 5), ("unfinished", 6),
    ]  # fmt: skip
    ranked = by_weight([Caution(code, str(number)) for code, number in texts])
    assert [caution.text for caution in ranked] == ["4", "5", "3", "1", "6", "2"]


def test_the_terminal_prints_the_answer_first_and_two_cautions(command):
    (command.directory / "s.toml").write_text(FINITE, encoding="utf-8")
    done = command("compare", "s.toml", "--algorithms", "cubic,dctcp,hpcc", "--no-report", "--quiet")
    assert done.returncode == 0
    assert done.stdout == ""
    done = command("compare", "s.toml", "--algorithms", "dctcp,hpcc", "--no-report", "--force")
    first, *others = done.stdout.splitlines()
    assert first.startswith("Inside, ")
    assert sum(line.startswith("caution: ") for line in others) <= 2


@pytest.mark.parametrize(
    ("identifier", "bounds"),
    [
        ("jain", (0.0, 1.0)),
        ("jain/endless", (0.0, 1.0)),
        ("paused_share/border", (0.0, 1.0)),
        ("flow_throughput/least_share/endless", (0.0, 1.0)),
        ("fct_slowdown/p99/cross/begun", (1.0, None)),
        ("iteration_slowdown/mean", (1.0, None)),
        ("goodput", (0.0, None)),
        ("flow_throughput/ratio", (0.0, None)),
    ],
)
def test_measures_say_what_they_cannot_be(identifier, bounds):
    assert identifier in measures.declared_measures()
    assert measures.limits(identifier) == bounds


def test_no_interval_of_an_index_of_fairness_leaves_what_it_can_be(compare):
    comparison = compare(FINITE, "dctcp,cubic", seeds="1-2")
    made = {effect.identifier: effect for effect in effects.effects(comparison)}["jain"]
    assert all(0 <= value.low <= value.estimate <= value.high <= 1 for value in made.values.values())


def test_a_ratio_that_could_be_anything_is_called_unsure():
    assert Interval(0.512, 0.124, 155.0, 10).ratio_text("{:.3g}".format) == "0.512 (unsure)"
    assert Interval(0.512, 0.124, 6.1, 10).ratio_text("{:.3g}".format) == "0.512 [0.124, 6.1]"

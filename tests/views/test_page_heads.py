"""The heads of the pages of studies: the answer, three numbers, the effects, and what they say where nothing holds."""

import pyarrow as pa

from farloop.results.ecn_sharing import sentence_of_candidates
from farloop.studies.advice.advice_headline import headline_advice
from farloop.studies.sweep.study_headline import headline_study
from farloop.studies.validation.checks import FidelityCheck
from farloop.studies.validation.validation_headline import headline_validation, validation_cautions


def interval(estimate, low=None, high=None):
    return {"estimate": estimate, "low": low, "high": high, "n": 3}


def candidate(name, state, slowdown, ratio, because=""):
    return {
        "name": name,
        "state": state,
        "because": because,
        "against_best": interval(*ratio) if ratio else interval(None),
        "quantities": {"p99 slowdown": slowdown},
    }


def condition(text, first, groups):
    standings = [{"name": n, "group": g, "against_best": 1.0, "times_today": 1.2} for n, g in groups.items()]
    return {"text": text, "because": "", "first": first, "best": first, "standings": standings, "seeds": 1}


def advice(**more):
    content = {
        "answer": "Run a.",
        "question": {"goal": "p99 slowdown"},
        "advised": ["a"],
        "leaders": ["a"],
        "candidates": [
            candidate("a", "leads", 2.0, (1.0,)),
            candidate("b", "left", 3.0, (1.5, 1.2, 1.9)),
            candidate("c", "fails", 9.0, None, "unfinished 5 %, not <= 1 %"),
        ],
        "conditions": [condition("RTT × 2", ["a"], {"a": 1, "b": 2}), condition("load × 2", ["b"], {"a": 2, "b": 1})],
        "flips": ["load × 2"],
        "runs": [{"candidate": n, "seed": s, "p99 slowdown": v} for n, v in (("a", 2.0), ("b", 3.0)) for s in (1, 2)],
        "limit": "Under a, flows wait.",
    }
    return headline_advice(content | more)


def test_advice_says_by_how_much_against_what_and_when_it_ends():
    answer = advice()
    assert answer.sentences == (
        "Run a.",
        "a has p99 slowdown 2, b has 3, 1.5 times [1.2, 1.9] the cost; 1 candidate of 3 breaks a constraint "
        "(c: unfinished 5 %, not <= 1 %).",
        "The choice changes with: load × 2.",
    )
    assert [number.value for number in answer.key_numbers] == ["2", "1.5 ×", "1 of 2 conditions"]
    assert (answer.effect.name, answer.effect.ranking) == ("p99 slowdown", ["a", "b"])
    assert {effect.scope for effect in answer.effects} == {"today", "RTT × 2", "load × 2"}


def test_where_nothing_holds_the_conditions_are_about_the_nearest():
    rows = [candidate("c", "fails", 9.0, None, "unfinished 5 %, not <= 1 %")]
    nothing = {"advised": [], "leaders": [], "nearest": "c", "flips": [], "candidates": rows, "runs": []}
    answer = advice(answer="Nothing holds.", conditions=[condition("load × 0.5", ["c"], {"c": 1})], **nothing)
    assert answer.sentences == ("Nothing holds.", "c holds all constraints with: load × 0.5.")
    assert [number.value for number in answer.key_numbers] == ["unfinished 5 %", "1 of 1 condition", "1 of 1 candidate"]
    answer = advice(answer="Nothing holds.", conditions=[condition("load × 0.5", [], {"c": None})], **nothing)
    assert answer.sentences[1] == "c holds them not under the one other condition."


def test_validation_says_how_many_hold_and_names_the_worst():
    def check(reference, own, limit=0.1):
        return FidelityCheck(reference, "case", "cubic", "fct_p50", (own,), (1.0,), limit)

    answer = headline_validation([check("ns3", 1.05), check("htsim", 1.3)])
    assert answer.sentences == (
        "1 of 2 references hold: 1 of 2 numbers are within their limits.",
        "The worst is cubic, fct p50 in htsim/case: +30 % from the reference, 3 times its limit, which has no known cause.",
    )
    assert answer.key_numbers[0].note == "not: htsim"
    assert [effect.scope for effect in answer.effects] == ["", "ns3", "htsim"]
    assert validation_cautions([check("htsim", 1.3)])[0] == (
        "1 number outside without a known cause, such as cubic, fct p50 in htsim/case."
    )


def test_a_study_compares_algorithms_at_each_setting():
    values = {"point": [1, 2, 3, 4], "algorithm": ["a", "b", "a", "b"], "workload.load": [0.3, 0.3, 0.6, 0.6]}
    numbers = {"p99_slowdown": [2.0, 4.0, 3.0, 9.0], "seeds": [1] * 4}
    numbers |= {f"p99_slowdown {end}": pa.nulls(4, pa.float64()) for end in ("ci95", "low", "high")}
    points = pa.table({**values, **numbers})
    runs = points.select(["point", "p99_slowdown"]).append_column("seed", pa.array([1] * 4))
    runs = runs.append_column("status", pa.array(["done"] * 4))
    metric = [{"name": "p99_slowdown", "unit": "1", "better": "less"}]
    answer = headline_study(metric, runs, points, ["algorithm", "workload.load"])
    assert [(e.scope, e.ranking) for e in answer.effects] == [
        ("workload.load 0.3", ["a", "b"]),
        ("workload.load 0.6", ["a", "b"]),
    ]
    assert answer.effect.scope == "workload.load 0.6", "where the algorithms differ most"
    assert answer.key_numbers[0].name == "lowest p99 FCT slowdown"
    assert "p99_slowdown" not in answer.text


def test_candidates_of_both_kinds_say_what_switches_do_with_those_that_cannot_be_marked():
    switch = {"ecn": True, "ecn_drops_others": False}
    scenario = {"transport": {"kind": "tcp"}, "switch": switch, "wan_switch": {}}
    text = sentence_of_candidates(["dctcp/bbr", "cubic"], scenario)
    assert text.startswith("dctcp is ECN-capable, bbr and cubic are not: ") and "ecn_drops_others = false" in text
    dropping = scenario | {"switch": switch | {"ecn_drops_others": True}}
    assert "they drop the latter's packets" in sentence_of_candidates(["dctcp", "cubic"], dropping)
    assert sentence_of_candidates(["bbr", "cubic"], scenario) is None
    assert sentence_of_candidates(["dctcp", "cubic"], scenario | {"transport": {"kind": "rdma"}}) is None

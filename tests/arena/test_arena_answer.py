"""The answer of an arena and of a study in a sentence."""

import pyarrow as pa

from farloop.statistics import Interval
from farloop.studies.arena.arena_answer import answer_arena
from farloop.studies.arena.constraints import parse
from farloop.studies.arena.ranking import FAILS, RANKED, Broken, Standing
from farloop.studies.sweep.study_answer import answer_study

UNFINISHED = parse("unfinished <= 1 %")


class Outcome:
    """A scenario's result as the answer sees it."""

    def __init__(self, name, **groups):
        self.name = name
        self.standings = [
            Standing(
                algorithm,
                RANKED if group else FAILS,
                group or None,
                Interval(1.0, None, None, 1),
                {1: 1.0},
                against_best=Interval(float(group or 1), None, None, 1),
                broken=()
                if group
                else (Broken(UNFINISHED, 0.1 if algorithm == "a" else 0.2, 1, 0.1 if algorithm == "a" else 0.2),),
            )
            for algorithm, group in groups.items()
        ]


def test_an_arena_says_who_leads_where_and_where_nothing_holds():
    results = [Outcome("one", a=1, b=2), Outcome("two", a=1, b=1), Outcome("three", a=0, b=0)]
    assert answer_arena(results, 3) == (
        "Of 3 scenarios a is in the first group of 2, b of 1. One algorithm alone leads in 1 of them; elsewhere 3 seeds do not tell the "
        "first apart. Nothing holds all constraints in three."
    )
    assert answer_arena([Outcome("one", a=1, b=3, c=0)], 1) == (
        "a leads in one; b is last with 3 times the best score. 1 algorithm of 3 break a constraint."
    )
    assert answer_arena([Outcome("one", b=0), Outcome("two", a=0)], 1) == (
        "In no scenario does an algorithm hold all constraints. Nearest is a in two: unfinished 10 %, not <= 1 %."
    )


def study(values, algorithms, loads):
    """Tables of a study with a point for each value."""
    numbers = list(range(1, len(values) + 1))
    points = pa.table(
        {
            "point": numbers, "algorithm": algorithms, "workload.load": loads, "seeds": [1] * len(values), "p99": values,
            "p99 ci95": pa.nulls(len(values), pa.float64()),
        }
    )  # fmt: skip
    runs = pa.table({"point": numbers, "seed": [1] * len(values), "status": ["done"] * len(values), "p99": values})
    return runs, points


def test_a_study_names_the_best_point_the_worst_and_the_best_algorithm():
    runs, points = study([2.0, 4.0, 3.0, 9.0], ["a", "b", "a", "b"], [0.3, 0.3, 0.6, 0.6])
    metric = [{"name": "p99", "unit": "1", "better": "less"}]
    text = " ".join(answer_study(metric, runs, points, ["algorithm", "workload.load"]))
    assert text.startswith(
        "a has the lowest p99 at 2 of 2 settings. Lowest p99: 2 at a, workload.load 0.3; highest: 9 at b"
    )
    assert "(4.5 times)" in text
    more = " ".join(answer_study([metric[0] | {"better": "more"}], runs, points, ["algorithm", "workload.load"]))
    assert "Highest p99: 9 at b, workload.load 0.6" in more


def test_a_study_without_points_says_so():
    runs, points = study([], [], [])
    assert answer_study([{"name": "p99", "unit": "1", "better": "less"}], runs, points, []) == ["No point is done."]


def of_network(key, values, slowdowns, algorithms):
    """Tables of a study of jobs that varies a key of the network."""
    numbers = list(range(1, len(values) + 1))
    points = pa.table(
        {
            "point": numbers, "algorithm": algorithms, key: values, "seeds": [1] * len(values),
            "iteration_slowdown": slowdowns, "iteration_slowdown ci95": pa.nulls(len(values), pa.float64()),
        }
    )  # fmt: skip
    if key.endswith("delay"):
        points = points.set_column(2, pa.field(key, pa.float64(), metadata={"unit": "s"}), [values])
    runs = pa.table(
        {"point": numbers, "seed": [1] * len(values), "status": ["done"] * len(values), "iteration_slowdown": slowdowns}
    )
    return runs, points


def first_sentences(key, values, slowdowns, algorithms):
    metric = [{"name": "iteration_slowdown", "unit": "1", "better": "less"}]
    return " ".join(answer_study(metric, *of_network(key, values, slowdowns, algorithms), ["algorithm", key]))


def test_a_study_of_jobs_says_from_which_network_on_it_is_enough():
    # A value above the bound counts against those below it.
    text = first_sentences("network.wan_links", [1, 8, 2, 4], [1.05, 1.01, 1.2, 1.04], ["a"] * 4)
    assert text.startswith(
        "Iterations take less than 10 % longer than on an ideal network from network.wan_links 4 on."
    )
    text = first_sentences("network.wan_links", [1, 2], [1.4, 1.3], ["a"] * 2)
    assert text.startswith(
        "Iterations take 10 % longer than on an ideal network, or more, at network.wan_links 2 already."
    )


def test_a_study_of_jobs_says_up_to_which_distance_a_transport_is_enough():
    delays = [0.001, 0.01, 0.001, 0.01, 0.001, 0.01]
    # Of c the slowdown falls with the distance, as that on an ideal network does: that is no advice to go farther away.
    text = first_sentences(
        "network.wan_delay", delays, [1.02, None, 1.03, 1.04, 1.3, 1.05], ["a", "a", "b", "b", "c", "c"]
    )
    bound = "iterations take less than 10 % longer than on an ideal network"
    assert f"a: {bound} up to network.wan_delay 1 ms." in text
    assert f"b: {bound} from network.wan_delay 1 ms to network.wan_delay 10 ms." in text
    assert (
        "c: iterations take 10 % longer than on an ideal network, or more, at network.wan_delay 1 ms already." in text
    )


def test_words_of_a_network_have_no_order():
    text = first_sentences("network.fabric", ["fat-tree", "spine-leaf"], [1.0, 1.2], ["a", "a"])
    assert "ideal network" not in text

"""Runs say where flows without ECN share a network with flows that are marked, and switches drop the former where they are told to."""

import pytest

import farloop
from farloop.scenario import Scenario

SHARED = """\
run.duration = "2ms"
network = {{ topology = "dumbbell", intra_pairs = 2, cross_pairs = 0, rate = "10Gbps" }}
transport = {{ kind = "tcp" }}
switch = {{ pfc = false, kmin = "60kB", kmax = "60kB"{switch} }}
algorithm.name = "dctcp"
flow = [
    {{ name = "marked", from = "s1", to = "d1" }},
    {{ name = "other", from = "s2", to = "d1", algorithm = "{other}" }},
]
"""


def shared(other: str = "cubic", switch: str = "") -> farloop.Run:
    return farloop.run(Scenario.from_text(SHARED.format(other=other, switch=switch), "shared.toml"))


def texts(run: farloop.Run) -> list[str]:
    return [caution.text for caution in farloop.results.cautions.of_run(run) if caution.code == "ecn"]


def test_run_names_both_algorithms_and_the_key():
    (text,) = texts(shared())
    assert " dctcp; cubic is not ECN-capable" in text
    assert "--set switch.ecn_drops_others=true" in text


@pytest.mark.parametrize(("other", "switch"), [("dctcp", ""), ("cubic", ", ecn_drops_others = true")])
def test_no_word_where_all_are_capable_or_the_others_are_dropped(other, switch):
    assert texts(shared(other, switch)) == []


def test_the_marked_flow_gets_more_where_the_others_are_dropped():
    def rate_of_marked(run: farloop.Run) -> float:
        rows = {row["name"]: row for row in run.flows.to_pylist()}
        return rows["marked"]["delivered_bytes"] / sum(row["delivered_bytes"] for row in rows.values())

    spared, dropped = shared(), shared(switch=", ecn_drops_others = true")
    assert rate_of_marked(dropped) > 1.5 * rate_of_marked(spared)
    assert dropped.info["totals"]["dropped_not_ect"] > 0 == spared.info["totals"]["dropped_not_ect"]
    assert sum(dropped.ports["dropped_not_ect"].to_pylist()) == dropped.info["totals"]["dropped_not_ect"]

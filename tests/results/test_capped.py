"""Flows that the receive window keeps below the rates of their paths are named by `run` and `explain`."""

import pytest

import farloop
from farloop import catalogue
from farloop.results import capped
from farloop.scenario import Scenario

LONG = """\
run.duration = "20ms"
network = {{ topology = "dumbbell", intra_pairs = {intra}, cross_pairs = 2, rate = "10Gbps", wan_delay = "20ms" }}
transport = {{ kind = "tcp", preset = "linux-6"{transport} }}
algorithm.name = "cubic"
flow = [{flows}]
"""
BULK = '{ name = "bulk", from = "s1", to = "r1" }'


def long_path(transport: str = "", flows: str = BULK, intra: int = 0) -> Scenario:
    return Scenario.from_text(LONG.format(transport=transport, flows=flows, intra=intra), "long.toml")


def of_run(scenario: Scenario) -> list[str]:
    run = farloop.run(scenario)
    return [caution.text for caution in farloop.results.cautions.of_run(run) if caution.code == "receive-window"]


def test_run_and_explain_name_flow_rate_and_key():
    scenario = long_path()
    (text,) = of_run(scenario)
    assert text.startswith("bulk gets 62") and " Mbps at most, and its path carries 9.49 Gbps: " in text
    assert "transport.receive_window is 3.15 MB, one window for each base RTT of 40" in text
    assert scenario.forecast["cautions"] == [text]


@pytest.mark.parametrize(
    ("transport", "flows"),
    [
        (', receive_window = "1GB"', BULK),
        ("", '{ name = "short", from = "s1", to = "r1", size = "3MB" }'),
    ],
)
def test_no_word_where_the_window_is_large_or_the_flow_fits_into_it(transport, flows):
    scenario = long_path(transport, flows)
    assert of_run(scenario) == scenario.forecast["cautions"] == []


def test_near_flows_and_short_ones_do_not_count():
    flows = ", ".join(
        [
            BULK,
            '{ name = "more", from = "s1", to = "r2", size = "1GB", count = 3 }',
            '{ name = "short", from = "s2", to = "r1", size = "1MB" }',
        ]
    )
    (text,) = of_run(long_path(flows=flows))
    assert text.startswith("4 flows across datacenters, such as bulk, get ")


def test_of_several_runs_the_lowest_rate_counts():
    entry = {"kind": "cross", "flow": "a", "flows": 1, "window_bytes": 3_145_728, "base_rtt_s": [0.04, 0.04]}
    slow, fast = ({**entry, "rate_bps": [rate, rate], "path_bps": [1e9, 1e9]} for rate in (6e8, 7e8))
    assert capped.sentences([[fast], [slow], []]) == capped.sentences([[slow]])
    assert capped.sentences([[], []]) == []


def test_the_public_example_is_one_line_of_explain(tmp_path):
    file = tmp_path / "long.toml"
    file.write_text(LONG.format(transport="", flows=BULK, intra=0), encoding="utf-8")
    facts = catalogue.scenario(str(file))
    assert sum("transport.receive_window" in text for text in facts["forecast"]["cautions"]) == 1

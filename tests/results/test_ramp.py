"""Flows that could not reach their steady rate are said to have not, and those that could are not."""

import math

import pytest

import farloop
from farloop.results import cautions

LONG = """
[run]
duration = "60ms"
[network]
topology = "dumbbell"
intra_pairs = 1
cross_pairs = 1
rate = "10Gbps"
wan_delay = "10ms"
[transport]
kind = "tcp"
initial_cwnd = 10
[algorithm]
name = "cubic"
[[flow]]
name = "far"
from = "s2"
to = "r1"
"""


def of_run(**settings):
    run = farloop.run(farloop.Scenario.from_text(LONG).override(settings))
    return run, [caution.text for caution in cautions.of_run(run) if caution.code == "slow-start"]


def test_a_flow_that_ends_in_slow_start_is_said_to():
    run, (text,) = of_run()
    (start,) = [entry for entry in run.info["starts"] if entry["kind"] == "cross"]
    needed = math.log2(1 / start["first_rtt_bdps"][1])
    assert needed > 60 / 20
    assert text.startswith("cubic: no flow across datacenters reached its steady rate: the longest lived ")
    assert text.endswith(f"a window that doubles takes {needed:.3g}")
    assert "from 10 packets" in text


def test_a_longer_run_and_a_start_at_full_rate_are_not():
    assert of_run(**{"run.duration": "400ms"})[1] == []
    assert of_run(**{"transport.initial_cwnd": "none", "transport.start": "bdp"})[1] == []


def test_a_flow_that_finishes_in_slow_start_needs_no_steady_rate():
    assert of_run(**{"flow.far.size": "20kB"})[1] == []


def test_a_receive_window_is_the_goal_where_it_is_smaller():
    assert of_run(**{"transport.receive_window": "40kB"})[1] == [], "two round trips are enough for that"


@pytest.mark.parametrize("seeds", ["1-2"])
def test_several_seeds_say_it_once(seeds):
    compared = farloop.compare(farloop.Scenario.from_text(LONG), algorithms="cubic", seeds=seeds)
    assert [caution.code for caution in cautions.comparison_cautions(compared)].count("slow-start") == 1

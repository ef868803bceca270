"""Training jobs by rates: the tables of packets, iterations near those of packets, and what is refused."""

from pathlib import Path

import pytest

import farloop
from farloop.results import fields

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "jobs" / "sites.toml"

NEAR = {"network.wan_delay": "50us"}
"""Ten kilometres: what an algorithm does in a round trip is little of an iteration."""


def run(algorithm: str, gear: str, **settings: str) -> farloop.Run:
    changed = (
        NEAR | {"run.fluid_error": gear == "fluid"} | {key.replace("__", "."): value for key, value in settings.items()}
    )
    return farloop.run(EXAMPLE, algorithm=algorithm, gear=gear, set=changed)


def time_of_iteration(result: farloop.Run) -> float:
    (time,) = result.iterations["time_ps"].to_pylist()
    return float(time)


def test_tables_of_jobs_are_those_of_packets():
    packets, rates = run("hpcc", "packets"), run("hpcc", "fluid")
    for name in ("iterations", "ranks"):
        assert rates.tables[name].column_names == fields.columns(name)
        assert rates.tables[name].num_rows == packets.tables[name].num_rows
    for column in ("job", "rank", "host", "iteration", "computing_ps"):
        assert rates.ranks[column].to_pylist() == packets.ranks[column].to_pylist(), column
    assert rates.iterations["ideal_ps"].to_pylist() == packets.iterations["ideal_ps"].to_pylist()
    (of_rates,), (of_packets,) = rates.summary["jobs"], packets.summary["jobs"]
    assert of_rates == of_packets, "all bytes are carried"


@pytest.mark.parametrize("algorithm", ["hpcc", "swift", "dctcp"])
def test_iterations_take_as_long_as_with_packets(algorithm: str):
    packets, rates = run(algorithm, "packets"), run(algorithm, "fluid")
    error = abs(time_of_iteration(rates) / time_of_iteration(packets) - 1)
    assert error <= 0.05
    bound = rates.summary["error"]["iteration_time"]
    assert bound["flows"] == 1 and error <= bound["bound"]
    assert "the time of an iteration against packets" in str(rates)


def test_far_sites_take_longer_by_rates_too():
    """Half a millisecond one way instead of fifty microseconds, with an algorithm that packets show to suffer."""
    far = {"network__wan_delay": "500us"}
    packets, rates = run("dctcp", "packets", **far), run("dctcp", "fluid", **far)
    assert time_of_iteration(packets) > 1.2 * time_of_iteration(run("dctcp", "packets"))
    assert time_of_iteration(rates) > 1.2 * time_of_iteration(run("dctcp", "fluid"))


def test_runs_of_an_error_end_where_queue_pairs_wait_behind_pauses():
    """DCQCN fills the switches' buffers: once a queue pair had its ACKs at the time of its look, and its run went on for ever."""
    packets, rates = (run("dcqcn", gear, network__wan_delay="500us") for gear in ("packets", "fluid"))
    error = abs(time_of_iteration(rates) / time_of_iteration(packets) - 1)
    assert error <= rates.summary["error"]["iteration_time"]["bound"]


def test_max_min_rates_carry_no_jobs():
    with pytest.raises(
        farloop.ScenarioError, match=r'sites\.toml:\d+: job: with gear = "max-min", .* no messages of jobs; expected'
    ):
        run("hpcc", "max-min")

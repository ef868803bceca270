"""What moves packets moves rates as much: thresholds, algorithms' parameters, and round-trip times."""

from typing import Any

import numpy as np
import pytest

import farloop
from farloop.results.flow_completion import column

LONG = [{"name": f"long{n}", "from": f"h{n}", "to": "h1", "size": "12MB"} for n in (2, 3)]
SHORT = [
    {"name": f"short{n}", "from": "h4", "to": "h1", "size": "2kB", "start": f"{300 + 40 * n}us"} for n in range(30)
]


def star(algorithm: str, flows: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    return {
        "title": "Flows to one host",
        "run": {"duration": "20ms"},
        "network": {
            "topology": "spine-leaf",
            "spines": 1,
            "leaves": 1,
            "hosts_per_leaf": 4,
            "rate": "100Gbps",
            "link_delay": "2us",
        },
        "switch": {"kmin": "100kB", "kmax": "100kB", "buffer": "64MB"},
        "algorithm": {"name": algorithm},
        "flow": flows,
        "record": {"ports": "none"},
    } | more


def mean_time(scenario: dict[str, Any], gear: str, names: str, **settings: Any) -> float:
    run = farloop.run(scenario, gear=gear, set=settings | {"run.fluid_error": False})
    chosen = np.array([name.startswith(names) for name in run.flows["name"].to_pylist()])
    times = column(run.flows, "received_ps") - column(run.flows, "start_ps")
    assert np.isfinite(times[chosen]).all()
    return float(np.mean(times[chosen]))


@pytest.mark.parametrize(
    ("algorithm", "of", "before", "after"),
    [
        ("dctcp", "short", {}, {"switch.kmin": "400kB", "switch.kmax": "400kB"}),
        ("hpcc", "long", {"algorithm.hpcc.eta": 0.95}, {"algorithm.hpcc.eta": 0.7}),
    ],
)
def test_a_setting_moves_both_gears_as_much(algorithm: str, of: str, before: dict[str, Any], after: dict[str, Any]):
    scenario = star(algorithm, LONG + SHORT)
    packets, rates = (
        mean_time(scenario, gear, of, **after) / mean_time(scenario, gear, of, **before)
        for gear in ("packets", "fluid")
    )
    assert packets > 1.15, "the setting has to matter"
    assert rates == pytest.approx(packets, rel=0.12)


def test_two_round_trip_times_are_as_unequal_under_hpcc():
    scenario = {
        "title": "Two round-trip times",
        "run": {"duration": "10ms"},
        "network": {
            "topology": "dumbbell",
            "intra_pairs": 1,
            "cross_pairs": 1,
            "rate": "100Gbps",
            "wan_delay": "100us",
        },
        "algorithm": {"name": "hpcc"},
        "flow": [{"name": "near", "from": "s1", "to": "d1"}, {"name": "far", "from": "s2", "to": "r1"}],
        "record": {"ports": "none"},
    }
    shares = {}
    for gear in ("packets", "fluid"):
        run = farloop.run(scenario, gear=gear, set={"run.fluid_error": False})
        near, far = column(run.flows, "delivered_bytes")
        shares[gear] = near / (near + far)
    assert shares["fluid"] == pytest.approx(shares["packets"], abs=0.05)

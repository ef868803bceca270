"""Windows per network that scale with the rate, at a bottleneck: `window_cap`, `window_cap_bytes`, `window_cap_scaling`."""

import numpy as np
import pytest

import farloop

FLOWS = 4
WINDOW = 30_000
"""Bytes; 10 Gbps times 24 us."""
PAYLOAD, WIRE = 1_000, 1_048


def bottleneck(algorithm, parameters, marks_from="20kB"):
    """Four hosts send to one over 10 Gbps for 5 ms; base round-trip time 6 us."""
    senders = [f"a{n}" for n in range(FLOWS)]
    return farloop.run(
        {
            "run": {"duration": "5ms"},
            "algorithm": {"name": algorithm, algorithm: parameters},
            "transport": {"mtu": "1040B", "framing": "8B", "ack": "52B"},
            "switch": {"pfc": False, "buffer": "100MB", "ecn_at": "departure"}
            | {"kmin": marks_from, "kmax": marks_from},
            "network": {"topology": "links"},
            "record": {"interval": "20us", "ports": ["s->b"]},
            "node": [{"name": "s", "kind": "switch", "datacenter": 0}]
            + [{"name": name, "kind": "host", "datacenter": 0} for name in [*senders, "b"]],
            "link": [{"a": name, "b": "s", "rate": "10Gbps", "delay": "1us"} for name in [*senders, "b"]],
            "flow": [{"name": f"f{n}", "from": name, "to": "b"} for n, name in enumerate(senders)],
        }
    )


def longest_queue(run):
    return next(row["max_queue_bytes"] for row in run.ports.to_pylist() if (row["node"], row["peer"]) == ("s", "b"))


def series(run, metric):
    """Of all flows, one after the other."""
    return np.concatenate([run.samples.get(f"flow/f{n}", metric)[1] for n in range(FLOWS)])


@pytest.mark.parametrize("algorithm", ["dcqcn", "timely"])
def test_one_window_for_all_bounds_the_queue(algorithm):
    """Without marks DCQCN never slows down, and TIMELY below T_low does not: the queue is what the windows hold beyond the path."""
    parameters = {"t_low": "10ms", "t_high": "11ms"} if algorithm == "timely" else {}
    capped = parameters | {"window_cap": True, "window_cap_bytes": f"{WINDOW}B"}
    queue = longest_queue(bottleneck(algorithm, capped, marks_from="50MB"))
    # Less than the window in flight lets a packet go: a packet more than the window at most. The path holds 10 Gbps times 6 us.
    windows = FLOWS * (WINDOW / PAYLOAD) * WIRE
    assert windows - 2 * 7_500 - FLOWS * WIRE < queue <= windows + FLOWS * WIRE
    assert longest_queue(bottleneck(algorithm, parameters, marks_from="50MB")) > 10 * queue


@pytest.mark.parametrize("algorithm", ["dcqcn", "dctcp"])
def test_a_window_that_scales_is_the_rates_share_of_it(algorithm):
    parameters = {"window_cap": True, "window_cap_bytes": f"{WINDOW}B", "window_cap_scaling": "rate"}
    if algorithm == "dctcp":
        parameters["control"] = "rate"
    run = bottleneck(algorithm, parameters)
    cwnd, rate = series(run, "cwnd"), series(run, "pacing")
    assert rate.max() > 1.5 * rate.min()
    np.testing.assert_array_equal(cwnd, np.floor(WINDOW * rate / 10e9))
    fixed = bottleneck(algorithm, parameters | {"window_cap_scaling": "fixed"})
    assert set(series(fixed, "cwnd")) == {WINDOW}

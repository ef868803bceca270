"""The kernel's arithmetic of GEMINI as an algorithm of the simulator: flow by flow what farloop's own does."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

import farloop
from farloop import algorithm

FILE = Path(__file__).parents[2] / "linux" / "gemini" / "gemini_linux.py"

SCENARIO = """
[run]
duration = "{duration}"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 2
rate = "10Gbps"
wan_delay = "{delay}"
[switch]
ecn = true
kmin = "15kB"
kmax = "15kB"
pfc = {pfc}
buffer = "{buffer}"
[algorithm]
name = "gemini"
[workload]
sizes = "websearch"
load = 0.6
[record]
interval = "none"
"""

TCP = """
[transport]
kind = "tcp"
preset = "linux-6"
"""


@pytest.fixture(scope="module")
def gemini_linux():
    """The class; skipped without a C compiler."""
    words = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(words[0]) is None:
        pytest.skip(f"no C compiler: {words[0]} is not there")
    return algorithm.load(FILE)[0]


def flows(scenario, name, **settings):
    table = farloop.run(farloop.Scenario.from_text(scenario), algorithm=name, set=settings).flows
    # What limits a sender of a class counts no slow start, since a class does not tell its threshold.
    return table.drop_columns(["algorithm", "first_limit"])


@pytest.mark.parametrize(
    ("transport", "delay", "buffer", "settings"),
    [
        ("", "100us", "10MB", {}),
        ("", "2ms", "10MB", {"delay_threshold": "50us", "skip_after_cut": True, "beta": 0.4, "g": 0.5, "h_min": 2.0}),
        (TCP, "200us", "60kB", {"slow_start": True, "capacity": "9Gbps", "ecn_threshold": "30kB"}),
    ],
    ids=["no losses", "a WAN with queues", "TCP with losses"],
)
def test_the_kernels_arithmetic_gives_the_same_flows(gemini_linux, transport, delay, buffer, settings):
    text = SCENARIO.format(duration="4ms", delay=delay, buffer=buffer, pfc=str(not transport).lower()) + transport
    own = flows(text, "gemini", **{f"algorithm.gemini.{k}": v for k, v in settings.items()})
    kernel = flows(text, gemini_linux, **{f"algorithm.gemini-linux.{k}": v for k, v in settings.items()})
    assert own.num_rows > 10 and own.equals(kernel)
    assert sum(own["marked"].to_pylist()) > 100
    if transport:
        assert sum(own["retransmitted"].to_pylist()) > 0


def test_a_changed_parameter_is_not_the_same(gemini_linux):
    text = SCENARIO.format(duration="4ms", delay="100us", buffer="10MB", pfc="true")
    kernel = flows(text, gemini_linux, **{"algorithm.gemini-linux.initial_alpha": 0.1})
    assert not flows(text, "gemini").equals(kernel)


def test_random_signals_in_any_order(gemini_linux):
    algorithm.torture(gemini_linux, sequences=20)


def test_without_a_compiler_it_says_so(gemini_linux, monkeypatch):
    (fresh,) = algorithm.load(FILE)
    monkeypatch.setenv("CC", "there-is-no-such-compiler")
    with pytest.raises(farloop.FarloopError, match="no C compiler: there-is-no-such-compiler cannot be run"):
        flows(SCENARIO.format(duration="1ms", delay="100us", buffer="10MB", pfc="true"), fresh)

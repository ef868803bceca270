"""Large networks: built in moments, and building them can be watched and interrupted."""

import signal
import time

import pytest

import farloop
from farloop import _native

HOSTS = 40_960
LARGE = """\
[run]
duration = "1us"
[network]
topology = "fat-tree"
pods = 32
tors_per_pod = 16
aggs_per_pod = 16
cores = 256
hosts_per_tor = 80
[algorithm]
name = "fixed"
[record]
ports = "none"
"""
FEW = '[[flow]]\nfrom = "h1"\nto = "h40960"\nsize = "1kB"\n'
MANY = '[workload]\npattern = "permutation"\nsizes = "1kB"\ninterval = "20ns"\n'


def test_a_network_of_forty_thousand_hosts_is_built_in_moments(tmp_path):
    path = tmp_path / "large.toml"
    path.write_text(LARGE + FEW, encoding="utf-8")
    began = time.process_time()
    (flow,) = farloop.run(path).summary["flows"]
    # Two thirds of a second of processor time where nothing else runs; it was 16 s when it grew with hosts times switches.
    assert time.process_time() - began < 8
    assert flow["base_rtt"] > 0


def test_building_can_be_stopped():
    calls = []

    def progress(simulated, end, packet_hops):
        calls.append((simulated, packet_hops))
        return False

    with pytest.raises(_native.Cancelled):
        _native.Scenario(LARGE + MANY, "large.toml").run(progress)
    assert calls == [(0.0, 0)]


def test_an_interrupt_ends_the_checks():
    def interrupt(_number, _frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        began = time.process_time()
        with pytest.raises(KeyboardInterrupt):
            _native.Scenario(LARGE + MANY, "large.toml").resolved()
        assert time.process_time() - began < 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""`farloop netem`: its lines are held to iproute2's grammar, and their limits to what a link holds."""

from pathlib import Path

import pytest
from support import tc_grammar

from farloop.emulation import long_links, netem
from farloop.scenario import Scenario

EXAMPLE = Path(__file__).parents[2] / "examples" / "emulate.toml"
PLAIN = ["wan_switch.ecn=false"]


def planned(*settings):
    return long_links.read_plan(Scenario.load(EXAMPLE).override(list(settings)), 100e-6)


def commands(*settings, added=None):
    lines = netem.tc_lines(planned(*settings), added or long_links.Impairments(), ["eth1", "eth2"])
    return [tc_grammar.parse(line) for line in lines if line and not line.startswith("#")]


def comments(*settings, added=None):
    return "\n".join(
        line for line in netem.tc_lines(planned(*settings), added or long_links.Impairments()) if line.startswith("#")
    )


def test_the_limit_holds_what_is_on_the_way_and_the_queue():
    settings = [*PLAIN, "link.west->east.delay=100ms", "wan_switch.queue_limit_packets=500"]
    there, back = commands(*settings)
    # 1 Gbps x 100 ms / 1500 B, rounded up, and the queue.
    assert netem.on_the_way(planned(*settings), planned(*settings).links[0], long_links.Impairments()) == 8334
    assert there[:5] == ("replace", "eth1", "root", "1:", "netem") and back[1] == "eth2"
    options = there[5]
    assert (options["limit"], options["delay"], options["rate"], options["overhead"]) == (
        8834,
        pytest.approx(0.1),
        1e9,
        24,
    )


def test_a_queue_in_bytes_counts_packets_on_the_wire():
    # 2 MB of 1538 B are 1300.4.
    assert commands(*PLAIN)[0][5]["limit"] == 834 + 1301


def test_marks_take_a_shaper_and_red_behind_the_way():
    root, tbf, red = commands()[:3]
    assert root[5]["limit"] == 834 + 1301 and "rate" not in root[5]
    assert (tbf[2], tbf[4], red[2], red[4]) == ("1:1", "tbf", "10:1", "red")
    assert (tbf[5]["rate"], tbf[5]["burst"], tbf[5]["overhead"]) == (1e9, 62_500, 24)
    assert red[5]["ecn"] and red[5]["min"] == 250_000 and red[5]["probability"] == 1.0
    assert red[5]["max"] <= red[5]["limit"] <= 2_000_000
    assert "RED marks by an average" in comments()


@pytest.mark.parametrize(
    "settings",
    [
        ["link.west->east.rate=1Mbps", "link.west->east.delay=10s"],
        ["link.west->east.rate=10Gbps", "wan_switch.kmin=0B", "wan_switch.kmax=0B"],
        ["wan_switch.kmin=1500B", "wan_switch.kmax=1MB", "wan_switch.pmax=0.01", "wan_switch.queue_limit=2kB"],
        ["wan_switch.kmin=2MB", "wan_switch.kmax=3MB", "transport.mtu=9000B"],
        ["link.west->east.rate=333333bps", *PLAIN],
    ],
)
def test_any_link_makes_lines_that_tc_takes(settings):
    assert commands(*settings)


def test_losses_and_jitter_are_netems():
    added = long_links.read_impairments("200us", "0.001,0.1", None)
    options = commands(*PLAIN, added=added)[0][5]
    # Both sides of the mean, where farloop's is from 0 on.
    assert options["delay"] == pytest.approx(0.0101) and options["jitter"] == pytest.approx(0.0001)
    assert options["gemodel"] == pytest.approx((0.001, 0.1, 1, 0))
    lossy = commands(*PLAIN, "link.west->east.loss=1e-7", "link.west->east.corruption=0.5")[0][5]
    assert lossy["loss"] == pytest.approx(1e-7) and lossy["corrupt"] == 0.5
    assert "lets packets overtake" in comments(*PLAIN, added=added)


def test_what_netem_does_not_do_is_said():
    added = long_links.read_impairments(None, "0.001,0.1", "0.01,2ms")
    text = comments(*PLAIN, "link.west->east.loss=0.1", "link.west->east.corruption=0.1", added=added)
    for said in ("share one limit", "beside those in bursts", "come 2 ms late (1 %)", "flips a bit", "ethtool -K"):
        assert said in text, said


@pytest.mark.parametrize(
    "line",
    [
        "tc qdisc add dev eth0 root netem limit many",
        "tc qdisc add dev eth0 root netem delay 10parsec",
        "tc qdisc add dev eth0 root netem loss 101%",
        "tc qdisc add dev eth0 root netem loss gemodel 1% 1% 1% 1% 1%",
        "tc qdisc add dev eth0 root netem mark 5",
        "tc qdisc add dev eth0 root tbf rate 1mbit limit 10k",
        "tc qdisc add dev eth0 root tbf rate 1Gbps2 burst 10k limit 10k",
        "tc qdisc add dev eth0 root red limit 10000 min 2000 max 2000 avpkt 1000 burst 5",
        "tc qdisc add dev eth0 root red limit 100000 min 20000 max 30000 avpkt 1000 burst 5",
        "tc qdisc add dev an-interface-too-long root netem",
        "tc qdisc add dev eth0 parent x netem",
        "tc qdisc add dev eth0 root cake",
    ],
)
def test_the_grammar_refuses_what_tc_does(line):
    with pytest.raises(tc_grammar.RefusedError):
        tc_grammar.parse(line)


def test_the_command_prints_them(command):
    done = command("netem", str(EXAMPLE), "--devices", "eth1,eth2")
    assert done.returncode == 0 and "dev eth2 root handle 1: netem limit 2135" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--devices", "eth1"], "--devices: there are 1 interfaces; expected 2"),
        (["--devices", "eth1,a;b"], '--devices: "a;b" is no name of an interface'),
        (["--jitter", "fast"], "--jitter: 'fast' is no duration"),
        (["--jitter", "20s"], "--jitter: 20s is out of range; expected 0 to 10s"),
        (["--burst-loss", "0.1"], "expected 2 to 4 probabilities"),
        (["--burst-loss", "0.1,2"], '"2" is no probability; expected 0 to 1'),
        (["--reorder", "0.1"], "expected a probability and a time"),
        (["--longer-than", "1s"], "network: no link takes 1s or longer"),
        (["--set", "link.west->east.delay=9s", "--set", "link.west->east.rate=100Gbps"], "expected at most 4GB"),
    ],
)
def test_what_it_cannot_read_is_refused(command, words, said):
    done = command("netem", str(EXAMPLE), *words)
    assert done.returncode == 2 and said in done.stderr and not done.stdout, done.stderr

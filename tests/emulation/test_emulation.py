"""The files, refusals and output of `farloop emulate`. Without a kernel: test_emulation_live.py has one."""

import dataclasses
from pathlib import Path

import pytest

from farloop import _native
from farloop.emulation import calibration, long_links, session
from farloop.errors import FarloopError, InvariantError
from farloop.scenario import Scenario
from farloop.views import emulated_links as view

EXAMPLE = Path(__file__).parents[2] / "examples" / "emulate.toml"
FAILURE = '[[event]]\nat = "{at}"\nlink = "{link}"\n{change}\n'


@pytest.fixture(scope="module")
def example():
    return Scenario.load(EXAMPLE)


def test_the_plan_is_the_scenarios_long_links(example):
    planned = long_links.read_plan(example, 100e-6)
    (link,) = planned.links
    assert (link.name, link.ends, link.rate, link.delay_ns) == ("west->east", ("west", "east"), 10**9, 10_000_000)
    assert link.ports[0] == long_links.SendingPort(2_000_000, None, (250_000, 250_000, 1.0))
    assert (planned.mtu, planned.framing, planned.short_links, planned.short_changes) == (1500, 24, 2, 0)
    everything = long_links.read_plan(example, 0.0)
    assert len(everything.links) == 3 and everything.links[0].ports[0] == long_links.SendingPort(
        long_links.HOST_QUEUE, None, None
    )
    spec = planned.spec([("a", "b")], long_links.Impairments(jitter=1e-4, reordering=(0.1, 2e-3)))
    there = spec["links"][0]["directions"][0]
    assert (there["jitter"], there["reordering"], there["longest"], spec["longest"]) == (
        100_000,
        [0.1, 2_000_000],
        1514,
        1522,
    )


def test_events_are_changes_of_their_direction():
    text = EXAMPLE.read_text()
    text += FAILURE.format(at="1s", link="west<->east", change='state = "down"')
    text += FAILURE.format(at="2s", link="west<->east", change='state = "up"')
    text += FAILURE.format(
        at="3s", link="east->west", change='rate = "100Mbps"\ndelay = "1ms"\nloss = 0.5\ncorruption = 0.1'
    )
    text += FAILURE.format(
        at="4s", link="west->east", change='lose_data = "2"\nlose_acks = "1-/2"\nlate_data = "3"\nlate_by = "1ms"'
    )
    text += FAILURE.format(at="5s", link="west-host->west", change="loss = 0.5")
    planned = long_links.read_plan(Scenario.from_text(text, "mine.toml"), 100e-6)
    there, back = planned.links[0].changes

    def short(changes):
        return [(c["at"] // 10**9, c["setting"], c["value"], c["late_by"]) for c in changes]

    both = [(1, "down", None, None), (2, "up", None, None)]
    assert short(there) == [
        *both,
        (4, "lose_data", "2", None),
        (4, "lose_acks", "1-/2", None),
        (4, "late_data", "3", 1_000_000),
    ]
    slow = [
        (3, "rate", 100_000_000, None),
        (3, "delay", 1_000_000, None),
        (3, "loss", 0.5, None),
        (3, "corruption", 0.1, None),
    ]
    assert short(back) == both + slow
    assert planned.short_changes == 1 and "2 shorter links with 1 change" in view.describe_omissions(planned)


@pytest.mark.parametrize(
    ("setting", "where", "said"),
    [
        ("wan_switch.pfc=true", "wan_switch.pfc:", "expected pfc = false"),
        ("wan_switch.discipline=drr", "wan_switch.discipline:", 'discipline = "fifo"'),
        ("wan_switch.ecn_at=departure", "wan_switch.ecn_at:", 'ecn_at = "arrival"'),
        ("wan_switch.ecn_drops_others=true", "wan_switch.ecn_drops_others:", "ecn_drops_others = false"),
        ("transport.mtu=100B", "transport.mtu:", "expected 576B to 9kB"),
        ("transport.framing=10B", "transport.framing:", "14B or more"),
        ("link.west->east.delay=10us", "network:", "no link takes 100us or longer"),
        (
            "link.west->east.rate=10000Gbps",
            "link.west->east.rate:",
            "on the way in both directions; expected at most 4GB",
        ),
    ],
)
def test_what_no_emulated_link_does_is_refused_by_its_key(example, setting, where, said):
    with pytest.raises(_native.ScenarioError) as refused:
        long_links.read_plan(example.override([setting]), 100e-6)
    message = str(refused.value)
    assert where in message and said in message, message


def test_a_written_key_is_refused_with_its_line():
    text = EXAMPLE.read_text().replace("ecn = true", 'ecn = true\necn_at = "departure"')
    line = text.splitlines().index('ecn_at = "departure"') + 1
    with pytest.raises(_native.ScenarioError, match=rf"^mine.toml:{line}: wan_switch.ecn_at: .*expected ecn_at"):
        long_links.read_plan(Scenario.from_text(text, "mine.toml"), 100e-6)


def test_impairments_have_their_defaults():
    assert long_links.read_impairments(None, None, None) == long_links.Impairments()
    added = long_links.read_impairments("200us", "0.001, 0.1, 0.5", "0.01,2ms")
    assert added == long_links.Impairments(
        pytest.approx(2e-4), long_links.BurstLoss(0.001, 0.1, 0.5, 0.0), (0.01, 0.002)
    )


def test_parallel_links_keep_their_number(example):
    planned = long_links.read_plan(example.override(["link.west->east.links=2"]), 100e-6)
    names = [[long_links.direction_name(link, end) for end in (0, 1)] for link in planned.links]
    assert names == [["west->east", "east->west"], ["west->east#2", "east->west#2"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--run", "moon=true"], '--run: no long link ends at "moon"; expected one of west, east'),
        (["--run", "west"], "expected NODE=COMMAND"),
        (["--run", "west='"], '--run: "west=\'": No closing quotation'),
        (["--between", "a,b", "--run", "west=true"], "expected it without --between"),
        (["--between", "a,b", "--segmentation-offload"], "expected it without --between"),
        (["--priority", "high"], '--priority: there is no priority "high"; expected fifo or normal'),
        (["--duration", "soon"], "--duration: 'soon' is no duration"),
    ],
)
def test_options_that_cannot_be_are_refused(command, words, said):
    done = command("emulate", str(EXAMPLE), *words)
    assert done.returncode == 2 and said in done.stderr and not done.stdout, done.stderr


GOOD = calibration.Calibration(wanted=160_000, sent=159_000, carried=158_000, lost=0, p99=50e-6, worst=1e-3, rate=1.9e9)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"lost": 7}, "it lost 7"),
        ({"carried": 150_000}, "95% of them are needed"),
        ({"p99": 2e-3}, "99 % within 1 ms are needed"),
    ],
)
def test_what_a_host_does_not_carry_is_refused_with_the_number(changed, why):
    GOOD.refuse()
    with pytest.raises(FarloopError, match=r"^this host carried 1\d\d,000 of 160,000 packets") as refused:
        dataclasses.replace(GOOD, **changed).refuse()
    assert why in str(refused.value) and "--no-calibration" in str(refused.value)


def counts(**changed):
    keys = [
        *session.LOSSES,
        "came",
        "left",
        "inside",
        "marked",
        "late",
        "overruns",
        "refused",
        "bytes",
        "longest",
        "joined",
        "queue",
    ]
    late = {f"lateness_{key}": 1000 for key in ("p50", "p99", "worst")}
    return dict.fromkeys(keys, 0) | late | {"samples": []} | changed


def test_packets_are_accounted_for():
    good = session.DirectionReport("west->east", counts(came=10, left=6, inside=1, lost_burst=2, dropped_queue=1), 0.0)
    good.check()
    bad = dataclasses.replace(good, counts=good.counts | {"left": 7})
    with pytest.raises(InvariantError, match="west->east: of 10 packets 7 left, 1 are inside and 3 are gone"):
        bad.check()


def test_what_is_said_has_losses_by_cause_and_those_of_the_host():
    lossy = counts(
        came=2000, left=1990, bytes=3_000_000, lost_random=6, dropped_queue=4, marked=30, longest=16_000, joined=9_000
    )
    directions = (
        session.DirectionReport("west->east", lossy, 128e-6),
        session.DirectionReport("east->west", counts(overruns=3), 0.0),
    )
    text = "\n".join(view.lines(session.Emulation(10.0, True, GOOD, directions, ())))
    for said in (
        "6 lost at random",
        "4 dropped, queue full",
        "30 marked",
        "late: p50 1 µs",
        "(128 µs at the link's rate), packets that left together joined to at most 9 kB",
    ):
        assert said in text, said
    assert "pace the senders" not in text
    late = (session.DirectionReport("west->east", counts(lateness_p99=600_000), 0.0),)
    assert "pace the senders" in "\n".join(view.lines(session.Emulation(10.0, True, GOOD, late, ())))
    assert "this host was too slow: it lost 3 packets" in text and "3 lost by this host: ring full" in text
    assert session.Emulation(1.0, True, None, directions, ()).as_json()["directions"][0]["lateness_p99_s"] == 1e-6

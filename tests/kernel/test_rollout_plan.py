"""Plans of rollouts: what is read, and what is refused with file, line, key and what is accepted."""

import pytest
from typer.testing import CliRunner

from farloop.commands.app import app
from farloop.kernel.rollout.rollout_plan import PlanError, read_plan

GOOD = """\
[plan]
name = "far-gemini"
algorithm = "gemini"
version = 2

[parameters]
capacity = "10Gbps"

[select]
to = ["10.2.0.0/16", "fd00:2::/64"]
ports = [443, "8000-8002"]

[receiver]
ready = true

[steps]
shares = [0.05, 0.5, 1]
hold = "30s"

[limits]
retransmissions = 0.02
rtt = "1.5x"
delivery = "50Mbps"
"""


@pytest.fixture
def write(tmp_path):
    """Writes a plan; returns its path."""

    def write_text(text):
        path = tmp_path / "plan.toml"
        path.write_text(text)
        return path

    return write_text


def test_a_plan_is_read_with_its_defaults(write):
    plan = read_plan(write(GOOD))
    assert (plan.name, plan.control, plan.needs_ecn, plan.role) == ("far-gemini", "gemini.2", True, "connect")
    assert plan.ports == (443, 8000, 8001, 8002)
    assert [str(prefix) for prefix in plan.prefixes] == ["10.2.0.0/16", "fd00:2::/64"]
    assert plan.shares == (0.05, 0.5, 1.0) and (plan.hold, plan.baseline, plan.take_back) == (30, 10, 10)
    assert [(limit.key, limit.bound, limit.relative) for limit in plan.limits] == [
        ("retransmissions", 0.02, False),
        ("rtt", 1.5, True),
        ("delivery", 50e6, False),
    ]
    assert (plan.namespaces, plan.finish, plan.blocks, plan.live, plan.existing) == (("all",), "wait", 0, False, False)
    assert plan.parameters["capacity"] == "10Gbps"


def test_the_class_has_connections_by_address_and_port(write):
    plan = read_plan(write(GOOD))
    assert plan.has_connection("192.0.2.1:40000", "10.2.3.4:443")
    assert plan.has_connection("[fd00:1::1]:40000", "[fd00:2::9]:8001")
    assert not plan.has_connection("192.0.2.1:40000", "10.3.3.4:443")
    assert not plan.has_connection("192.0.2.1:443", "10.2.3.4:40000")
    accepts = read_plan(write(GOOD.replace('ports = [443, "8000-8002"]', 'ports = [443]\nrole = "accept"')))
    assert accepts.has_connection("192.0.2.1:443", "10.2.3.4:40000")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('name = "far-gemini"', 'name = "Far"', "2: plan.name: Far; expected up to 31 of a-z, 0-9 and -"),
        ('algorithm = "gemini"', 'algorithm = "bbr"', "3: plan.algorithm: bbr: there is gemini, cubic"),
        ("version = 2", "version = 0", "4: plan.version: 0; expected a whole number from 1 to 999"),
        ("version = 2", "version = true", "4: plan.version: True; expected a whole number"),
        (
            'algorithm = "gemini"\nversion = 2\n\n[parameters]\ncapacity = "10Gbps"',
            'algorithm = "cubic"\nversion = 10',
            "4: plan.version: farloop_cubic.10 has 16 characters; expected at most 15",
        ),
        ('capacity = "10Gbps"', "", "6: parameters: C is not known"),
        ('capacity = "10Gbps"', 'capacity = "10"', "7: parameters: capacity"),
        ('capacity = "10Gbps"', 'capacity = ["10Gbps"]', "7: parameters.capacity: expected a number, a text"),
        ('to = ["10.2.0.0/16", "fd00:2::/64"]', "", "9: select.to: expected prefixes of the other side"),
        ('to = ["10.2.0.0/16", "fd00:2::/64"]', 'to = ["10.2.0.1/16"]', "10: select.to: 10.2.0.1/16 has host bits set"),
        ('ports = [443, "8000-8002"]', "ports = [0]", "11: select.ports: 0; expected ports and ranges"),
        ('ports = [443, "8000-8002"]', 'ports = ["9-8"]', "11: select.ports: 9-8; expected ports and ranges"),
        ('ports = [443, "8000-8002"]', 'ports = ["1-65535"]', "11: select.ports: 65535 ports; expected at most 1024"),
        ('ports = [443, "8000-8002"]', 'role = "listen"', "11: select.role: listen: there is connect, accept, both"),
        ('ports = [443, "8000-8002"]', "port = 443", "11: select.port: no such key; did you mean ports?"),
        ("ready = true", 'ready = "yes"', "14: receiver.ready: expected true or false"),
        (
            "shares = [0.05, 0.5, 1]",
            "shares = [0.5, 0.05]",
            "17: steps.shares: [0.5, 0.05]; expected shares from above 0",
        ),
        ("shares = [0.05, 0.5, 1]", "shares = [5]", "17: steps.shares: [5]; expected shares from above 0 to 1"),
        ('hold = "30s"', "hold = 30", "18: steps.hold: 30; expected a duration from 1s to 86400s"),
        (
            'hold = "30s"',
            'hold = "30s"\nbaseline = "0s"',
            "19: steps.baseline: limits with an x compare with the time before",
        ),
        ("retransmissions = 0.02", "retransmissions = 2", "21: limits.retransmissions: 2; expected a share"),
        (
            'rtt = "1.5x"',
            'rtt = "1.5"',
            '22: limits.rtt: 1.5; expected a duration, such as "20ms", or a multiple such as "1.5x"',
        ),
        ('rtt = "1.5x"', 'rtt = "0x"', "22: limits.rtt: 0x; expected a duration"),
        (
            'rtt = "1.5x"',
            "completions = 10",
            "22: limits.completions: completions come from a FIFO; expected limits.fifo",
        ),
        ('rtt = "1.5x"', "fifo = 3", "22: limits.fifo: expected the path of a FIFO"),
        (
            "[limits]",
            "[switchback]\nblocks = 3\n[limits]",
            "21: switchback.blocks: 3; expected 0 for none, or an even number",
        ),
        (
            "[limits]",
            '[metrics]\nlisten = "0.0.0.0:9470"\n[limits]',
            "21: metrics.listen: 0.0.0.0:9470; expected an address of the loopback",
        ),
        ("[limits]", '[predict]\nscenario = "none.toml"\n[limits]', "21: predict.scenario: none.toml: no such file"),
        ("[limits]", "[limit]", "20: limit: no such table; did you mean limits?"),
        ("[receiver]\nready = true", "receiver = 1", "1: receiver: expected a table, [receiver]"),
    ],
)
def test_what_is_refused(write, before, after, message):
    assert before in GOOD
    text = GOOD.replace(before, after)
    if after == "receiver = 1":
        text = after + "\n" + GOOD.replace(before, "")
    path = write(text)
    with pytest.raises(PlanError) as error:
        read_plan(path)
    assert f"{path}:{message}" in str(error.value)


def test_gear_needs_both_ends(write):
    text = GOOD.replace('"gemini"', '"gear"').replace('capacity = "10Gbps"', 'capacity = "10Gbps"\nirtt = "50us"')
    assert read_plan(write(text)).control == "gear.2"
    with pytest.raises(PlanError, match=r"plan.toml:15: receiver.ready: gear needs its other half at receivers"):
        read_plan(write(text.replace("ready = true", "ready = false")))


def test_a_dry_run_prints_the_steps_and_changes_nothing(write):
    path = write(GOOD)
    done = CliRunner().invoke(app, ["kernel", "rollout", "check", str(path)])
    assert done.exit_code == 0, done.output
    assert "far-gemini: gemini.2 with capacity 10Gbps" in done.output
    assert "2. 0.05 of them, for 30 s" in done.output and "5. wait for `commit` or `undo`" in done.output
    assert "stops and takes back at: retransmissions 0.02, rtt 1.5x, delivery 50Mbps" in done.output
    assert [p.name for p in path.parent.iterdir()] == ["plan.toml"]


@pytest.mark.parametrize("words", [["check"], ["run"], ["predict"], []])
def test_a_wrong_plan_ends_with_a_line(write, words):
    path = write("[plan]\nname = 3\n")
    done = CliRunner().invoke(app, ["kernel", "rollout", *words, str(path)])
    assert done.exit_code == 2
    assert "plan.toml:" in done.stderr and "Traceback" not in done.output + done.stderr


def test_what_is_no_plan_at_all(write, tmp_path):
    for path in (write("[plan"), tmp_path / "nothing.toml", tmp_path):
        with pytest.raises(PlanError, match="expected a plan"):
            read_plan(path)

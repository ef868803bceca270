"""The script that deploys an advice, between two hosts of this kernel: routes choose the algorithm, and undoing leaves no trace."""

import os
import re
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from support import live

from farloop.scenario import Scenario
from farloop.studies.advice.deployment import HostAlgorithm, script
from farloop.testbed.namespaces import Namespace

pytestmark = pytest.mark.live

TOOLS = ("ip", "tc", "ss", "sysctl")

ADDRESSES = {"inside": ("10.1.0.1", "10.1.0.2"), "across": ("10.3.0.1", "10.2.0.1")}
"""The addresses of both hosts on connections of either scope."""


ECN = 8
"""Of the options of a connection in TCP_INFO: both ends agreed on ECN."""


def output(space, *words, check=True):
    with space.enter_namespace():
        return subprocess.run(words, capture_output=True, text=True, check=check).stdout


def state(space):
    """All that the script may change."""
    routes = [output(space, "ip", family, "-d", "route", "show", "table", "all") for family in ("-4", "-6")]
    # Memory and entropy of the whole machine move by themselves.
    settings = [line for line in output(space, "sysctl", "-a").splitlines() if line.startswith("net.")]
    return routes, settings, output(space, "tc", "qdisc", "show")


@pytest.fixture
def hosts():
    """Two hosts with a link between them; each has a second address, which stands for another site."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("not root on Linux")
    live.needs_programs([tool for tool in TOOLS if shutil.which(tool) is None])
    first, second = Namespace(), Namespace()
    try:
        first.batch("ip", [f"link add v0 type veth peer name v1 netns {second.path}"])
        for space, device, own, far, gateway, other in (
            (first, "v0", "10.1.0.1", "10.3.0.1", "10.1.0.2", "10.2.0.0/24"),
            (second, "v1", "10.1.0.2", "10.2.0.1", "10.1.0.1", "10.3.0.0/24"),
        ):
            lines = ["link set lo up", f"address add {far}/32 dev lo", f"address add {own}/24 dev {device}"]
            space.settings({"ipv4/tcp_rmem": "4096 131072 6291456", "ipv4/tcp_wmem": "4096 16384 4194304"})
            # A default that neither scope has.
            space.settings({"ipv4/tcp_congestion_control": "reno"})
            # No router advertisement and no duplicate address may change a route while the test compares.
            space.settings({f"ipv6/conf/{device}/disable_ipv6": "1"})
            route = f"route add {other} via {gateway} dev {device} src {far} metric 7"
            space.batch("ip", [*lines, f"link set {device} up", route])
        yield first, second
    finally:
        first.close()
        second.close()


@pytest.fixture
def algorithms():
    """An algorithm inside and one across: dctcp, else cubic, and bbr."""
    have = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if shutil.which("modprobe"):
        for name in ("dctcp", "bbr"):
            if subprocess.run(["modprobe", f"tcp_{name}"], capture_output=True, check=False).returncode == 0:
                have.append(name)
    if not {"bbr", "cubic"} <= set(have):
        pytest.skip("the kernel lacks bbr or cubic")
    inside, across = "dctcp" if "dctcp" in have else "cubic", "bbr"
    return inside, across


def deployed(tmp_path, inside, across):
    scenario = Scenario.load("examples/my-network.toml")
    file = tmp_path / "deploy.sh"
    text = script(HostAlgorithm.from_algorithm(inside), HostAlgorithm.from_algorithm(across), scenario, file.name)
    file.write_text(text, encoding="utf-8")
    return file


def run(space, file, number, *words, programs=""):
    undo = file.with_suffix(f".undo{number}")
    with space.enter_namespace():
        return subprocess.run(
            ["sh", str(file), *words],
            env=os.environ | {"FARLOOP_UNDO": str(undo), "PATH": f"{programs}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )


def connection(stack, hosts, scope):
    """A connection from the first host to the second: the socket of the first."""
    here, there = ADDRESSES[scope]
    with hosts[1].enter_namespace():
        listener = stack.enter_context(socket.create_server((there, 0)))
    with hosts[0].enter_namespace():
        opened = stack.enter_context(socket.create_connection(listener.getsockname(), source_address=(here, 0)))
    stack.enter_context(listener.accept()[0])
    return opened


def controls(space):
    """The algorithm of each connection, by the address at the other end."""
    text = output(space, "ss", "-Htin", "state", "established")
    lines = text.splitlines()
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return {
        head.split()[3].rsplit(":", 1)[0].removeprefix("[::ffff:").rstrip("]"): tail.split()[0] for head, tail in pairs
    }


ARGUMENTS = (
    ("inside", "10.1.0.0/24", "-", "v0", "across", "10.2.0.0/24", "10.1.0.2", "v0"),
    ("inside", "10.1.0.0/24", "-", "v1", "across", "10.3.0.0/24", "10.1.0.1", "v1"),
)


def test_routes_choose_the_algorithm_at_both_ends_and_undo_leaves_no_trace(hosts, algorithms, tmp_path):
    file = deployed(tmp_path, *algorithms)
    before = [state(space) for space in hosts]
    for number, space in enumerate(hosts):
        done = run(space, file, number, *ARGUMENTS[number])
        assert done.returncode == 0, done.stderr
        again = run(space, file, number, *ARGUMENTS[number])
        assert again.returncode == 2
        assert "--undo first" in again.stderr
    inside, across = (HostAlgorithm.from_algorithm(name).name for name in algorithms)
    with ExitStack() as stack:
        connection(stack, hosts, "inside")
        connection(stack, hosts, "across")
        assert controls(hosts[0]) == {"10.1.0.2": inside, "10.2.0.1": across}
        assert controls(hosts[1]) == {"10.1.0.1": inside, "10.3.0.1": across}
    for space, (_, settings, _) in zip(hosts, before, strict=True):
        assert int(output(space, "sysctl", "-n", "net.ipv4.tcp_rmem").split()[2]) == 20160660
        changed = set(output(space, "sysctl", "-a").splitlines()) - set(settings)
        assert {line.split(" = ")[0] for line in changed if line.startswith("net.")} <= {
            "net.ipv4.tcp_rmem",
            "net.ipv4.tcp_wmem",
        }, "neither the default algorithm nor ECN of the host changes"
    for number, space in enumerate(hosts):
        done = run(space, file, number, "--undo")
        assert done.returncode == 0, done.stderr
        assert state(space) == before[number]
        assert run(space, file, number, "--undo").returncode == 2, "there is nothing left to undo"


def test_a_route_asks_for_ecn_and_the_host_does_not(hosts, algorithms, tmp_path):
    file = deployed(tmp_path, "cubic-ecn", algorithms[1])
    for number, space in enumerate(hosts):
        assert run(space, file, number, *ARGUMENTS[number]).returncode == 0
    with ExitStack() as stack:
        opened = {scope: connection(stack, hosts, scope) for scope in ADDRESSES}
        options = {s: own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)[5] for s, own in opened.items()}
    assert {scope: bool(each & ECN) for scope, each in options.items()} == {"inside": True, "across": False}
    assert output(hosts[0], "sysctl", "-n", "net.ipv4.tcp_ecn").strip() == "2"


QUEUES = """\
qdisc mq 0: root
qdisc fq_codel 0: parent :b limit 10240p
qdisc fq_codel 0: parent :1 limit 10240p
"""
OF_SOMEBODY = "qdisc htb 1: root refcnt 9 r2q 10\n"


@pytest.mark.parametrize(
    ("shown", "made", "undone"),
    [
        (QUEUES, ["replace dev v0 root handle fa10: mq", "parent fa10:b fq", "parent fa10:1 fq"], True),
        ("qdisc pfifo_fast 0: root refcnt 2 bands 3\n", ["replace dev v0 root fq"], True),
        ("qdisc fq 8001: root refcnt 2 limit 10000p\n", [], False),
        (OF_SOMEBODY, [], False),
    ],
)
def test_fq_paces_where_nobody_has_set_up_another_qdisc(shown, made, undone, hosts, tmp_path):
    file = deployed(tmp_path, "bbr", "bbr")
    programs, log = tmp_path / "programs", tmp_path / "log"
    programs.mkdir()
    (tmp_path / "shown").write_text(shown, encoding="utf-8")
    stub = f'#!/bin/sh\nif [ "$2" = show ]; then cat {tmp_path}/shown; else echo "$*" >>{log}; fi\n'
    (programs / "tc").write_text(stub, encoding="utf-8")
    (programs / "tc").chmod(0o755)
    done = run(hosts[0], file, 0, "across", "10.2.0.0/24", "10.1.0.2", "v0", programs=programs)
    assert done.returncode == 0, done.stderr
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    assert len(lines) == len(made)
    assert all(line.endswith(end) for line, end in zip(lines, made, strict=True)), lines
    assert ("somebody has set up" in done.stderr) == (shown == OF_SOMEBODY)
    assert run(hosts[0], file, 0, "--undo", programs=programs).returncode == 0
    assert ("qdisc del dev v0 root" in (log.read_text("utf-8") if log.exists() else "")) == undone


def test_a_new_route_is_taken_away_and_a_failure_leaves_nothing_half_done(hosts, algorithms, tmp_path):
    file = deployed(tmp_path, *algorithms)
    space = hosts[0]
    before = state(space)
    done = run(space, file, 0, "across", "10.9.0.0/16", "10.1.0.2", "v0")
    assert done.returncode == 0, done.stderr
    assert re.search(r"10\.9\.0\.0/16 via 10\.1\.0\.2 dev v0 .*congctl lock", output(space, "ip", "-d", "route"))
    assert run(space, file, 0, "--undo").returncode == 0
    assert state(space) == before
    done = run(space, file, 0, *ARGUMENTS[0], "across", "10.4.0.0/16", "10.77.0.1", "v0")
    assert done.returncode != 0, "no such gateway"
    assert state(space) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("inside", "10.1.0.0/24", "-", "eth9"), "eth9: no such device"),
        (("inside", "10.1.0.0/24; reboot", "-", "v0"), "expected a prefix"),
        (("inside", "10.1.0.0/24", "$(x)", "v0"), "expected the address of a gateway"),
        (("outside", "10.1.0.0/24", "-", "v0"), "expected inside PREFIX GATEWAY DEVICE"),
        (("inside", "10.1.0.0/24", "v0"), "expected inside PREFIX GATEWAY DEVICE"),
        (("across", "10.2.0.0/24", "10.1.0.9", "v0"), "does not go by 10.1.0.9"),
    ],
)
def test_wrong_arguments_are_a_line_and_change_nothing(words, message, hosts, algorithms, tmp_path):
    file = deployed(tmp_path, *algorithms)
    before = state(hosts[0])
    done = run(hosts[0], file, 0, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert state(hosts[0]) == before

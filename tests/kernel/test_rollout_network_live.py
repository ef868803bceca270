"""Rollouts between hosts of the small testbed, over IPv6, and in namespaces that nobody shows. As root; otherwise skipped."""

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import live
from support.live_network import live_network, missing_tools
from support.rollout_host import rollout_host, settled_state, steady_state

from farloop.kernel import doctor, libbpf, telemetry
from farloop.kernel.rollout import control, reach
from farloop.kernel.rollout.rollout_plan import read_plan
from farloop.kernel.rollout.sockets import Watch
from farloop.testbed.namespaces import Namespace

pytestmark = pytest.mark.live

SINK = """
import socket, threading
server = socket.create_server(("0.0.0.0", 5201))
def drain(c):
    while c.recv(1 << 20):
        pass
while True:
    threading.Thread(target=drain, args=(server.accept()[0],), daemon=True).start()
"""
SENDER = """
import socket, sys
with socket.create_connection((sys.argv[1], 5201)) as s:
    while True:
        s.sendall(bytes(1 << 14))
"""
ECHO = """
import ctypes, os, socket, subprocess, sys, threading, time
# With "hidden" the sockets are in a namespace that no process is in and no file shows.
if "hidden" in sys.argv:
    back = os.open("/proc/self/ns/net", os.O_RDONLY)
    assert ctypes.CDLL(None).unshare(0x40000000) == 0
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
addresses = [a for a in sys.argv[1:] if a != "hidden"]
pairs = []
for address in addresses:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.create_server((address, 7), family=family)
    client = socket.create_connection((address, 7))
    pairs.append((client, server.accept()[0]))
if "hidden" in sys.argv:
    assert ctypes.CDLL(None).setns(back, 0x40000000) == 0
print("ready", flush=True)
while True:
    for client, accepted in pairs:
        client.sendall(b"x" * 100)
        accepted.sendall(accepted.recv(100))
        client.recv(100)
    time.sleep(0.02)
"""


@pytest.fixture
def host(kernel_objects, monkeypatch, tmp_path):
    """A host whose plans have a cgroup; it is afterwards as it was."""
    live.needs_programs(missing_tools())
    monkeypatch.setattr(doctor, "OBJECTS", kernel_objects)
    before = steady_state()
    with rollout_host(tmp_path) as made:
        yield made
    assert settled_state(before) == before


def group_of(host):
    """The cgroup of the plans, as this process sees it."""
    return Path(f"/proc/{host.holder}/root{host.cgroup}")


@contextlib.contextmanager
def started(host, space, code, *words):
    """A program of a namespace in the cgroup of the plans, at ordinary priority, until the block ends."""
    join = f'echo $$ > {group_of(host)}/cgroup.procs && exec "$@"'
    words = ["sh", "-c", join, "sh", sys.executable, "-c", code, *words]
    with contextlib.nullcontext() if space is None else space.enter_namespace():
        program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield program
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


def plan_of(host, text, name="wan", **keys):
    """A plan: its algorithm and tables, and keys of `[steps]`."""
    steps = {"shares": "[1.0]", "hold": '"4s"', "baseline": '"3s"', "finish": '"undo"'} | keys
    path = host.folder / f"{name}.toml"
    head = f'[plan]\nname = "{name}"\ncgroup = "{host.cgroup}"\n'
    path.write_text(head + text + "[steps]\n" + "".join(f"{key} = {value}\n" for key, value in steps.items()))
    return read_plan(path)


def event(host, plan, name):
    """The first line of the log with an event."""
    return next(line for line in host.log(plan) if line["event"] == name)


def await_state(host, plan, state):
    """Waits until the plan has come to a state."""
    end = time.monotonic() + 30
    while not any(line.get("state") == state for line in host.log(plan)):
        assert time.monotonic() < end, host.log(plan)
        time.sleep(0.1)


@contextlib.contextmanager
def bulk_traffic(host, made):
    """A connection without end from each sender to the receiver."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(started(host, made.receiver, SINK))
        time.sleep(0.5)
        senders = [
            stack.enter_context(started(host, sender, SENDER, made.receiver_address)) for sender in made.hosts[:-1]
        ]
        yield senders


def echoes_of(process):
    """How many entries of telemetry came back to the socket of a sender: its storage, read through its descriptor."""
    (number,) = (m.id for m in libbpf.maps() if (m.kind, m.name) == (libbpf.SK_STORAGE, telemetry.STORAGE))
    storage = libbpf.library().bpf_map_get_fd_by_id(number)
    value = ctypes.create_string_buffer(telemetry._PATH.size)
    try:
        for link in Path(f"/proc/{process}/fd").iterdir():
            if str(link.readlink()).startswith("socket:"):
                with reach._take_descriptor(process, int(link.name)) as taken:
                    key = ctypes.c_int(taken.fileno())
                    assert libbpf.library().bpf_map_lookup_elem(storage, ctypes.byref(key), value) == 0
                return dict(zip(telemetry._COUNTERS, telemetry._PATH.unpack(value.raw), strict=False))["echoed"]
    finally:
        os.close(storage)
    raise AssertionError("the sender has no socket")


@pytest.mark.long
def test_gemini_with_marks_at_a_shared_port(host):
    """Reno fills the queue of 400 kB (32 ms); with marks at 45 kB GEMINI keeps it short. Both ends are of the plan, and echo marks."""
    text = """algorithm = "gemini"
[parameters]
capacity = "100Mbps"
ecn_threshold = "45kB"
[select]
to = ["10.213.0.0/16"]
role = "both"
[receiver]
ready = true
[limits]
retransmissions = 0.05
"""
    with live_network(rate_mbps=100, delays_us=(5000,) * 4, control="reno", threshold=45_000) as made:
        # Long enough for programs that start while it runs, also on a busy host.
        plan = plan_of(host, text, baseline='"7s"')
        process = host.start(plan)
        # Connections that ask for ECN have to begin under the plan; those of the baseline begin before it moves any.
        with bulk_traffic(host, made):
            while not any(line.get("state") == "step" for line in host.log(plan)):
                time.sleep(0.1)
        with bulk_traffic(host, made):
            assert host.wait(process) == 0, json.dumps(host.log(plan)[-3:])
    baseline, passed = event(host, plan, "baseline")["rates"], event(host, plan, "passed")
    ecn, rates = passed["ecn"], passed["rates"]
    # Those that send data; of the receivers' ends nothing is delivered.
    assert ecn == {"moved": 4, "agreed": 4, "with_marks": 4}, passed
    # An algorithm that begins with its SYN and not with its connection misses its round trips, and lets 98 % be marked.
    assert baseline["marks"] == 0 and 0.001 < rates["marks"] < 0.5, (baseline, rates)
    assert rates["rtt"] < 0.8 * baseline["rtt"], (baseline, rates)
    assert rates["delivery"] > 0.6 * baseline["delivery"], (baseline, rates)
    assert event(host, plan, "end")["result"] == "undone"


@pytest.mark.long
def test_gear_has_telemetry_from_both_ends(host, tmp_path):
    """Reno fills the queue (16 ms); Gear holds its rate by what the port writes and the receiver echoes. Without that echo it could not."""
    text = """algorithm = "gear"
[parameters]
capacity = "200Mbps"
irtt = "1ms"
cross_factor = 5
max_stage = 0
w_ai_fraction = 0.025
[select]
to = ["10.213.0.0/16"]
live = true
[receiver]
ready = true
"""
    group = group_of(host)
    telemetry.attach(group)
    try:
        with live_network(rate_mbps=200, delays_us=(500, 5000), control="reno", limit=400_000) as made:
            made.write_telemetry(tmp_path, made.senders, 200, 1)
            plan = plan_of(host, text, baseline='"5s"')
            process = host.start(plan)
            await_state(host, plan, "baseline")
            with bulk_traffic(host, made) as senders:
                await_state(host, plan, "step")
                time.sleep(2)
                echoes = [echoes_of(sender.pid) for sender in senders]
                assert host.wait(process) == 0, json.dumps(host.log(plan)[-3:])
    finally:
        telemetry.detach(group)
    baseline, passed = event(host, plan, "baseline")["rates"], event(host, plan, "passed")
    assert passed["counts"]["moved"] == 2, passed
    # Each sender had echoes of what the port wrote.
    assert min(echoes) > 20, echoes
    assert passed["rates"]["rtt"] < 0.75 * baseline["rtt"], (baseline, passed)
    assert passed["rates"]["delivery"] > 0.6 * baseline["delivery"], (baseline, passed)


def controls(space):
    """The congestion control of each connection of a namespace that somebody connected, by its other end."""
    watch = Watch()
    with contextlib.closing(watch):
        watch.follow_namespaces({0: Path(space.path)})
        return {s.destination: s.control for s in watch.living().values() if s.destination.endswith(":7")}


def test_prefixes_of_ipv6_choose_connections(host):
    """Of three connections of a namespace the one whose address is of the prefix is moved, and taken back."""
    space = Namespace()
    try:
        addresses = ("fd00:52:1::1", "fd00:52:2::1", "10.52.0.1")
        space.batch("ip", ["link set lo up", *(f"addr add {address} dev lo" for address in addresses)])
        space.settings({"ipv4/tcp_congestion_control": "reno"})
        plan = plan_of(
            host,
            f'algorithm = "cubic"\n[select]\nto = ["fd00:52:1::/48"]\nnamespaces = ["{space.path}"]\n',
            hold='"5s"',
            baseline='"0s"',
        )
        process = host.start(plan)
        await_state(host, plan, "step")
        with started(host, space, ECHO, *addresses) as program:
            assert program.stdout.readline() == "ready\n"
            seen = controls(space)
            assert host.wait(process) == 0, json.dumps(host.log(plan)[-3:])
            time.sleep(0.3)
            after = controls(space)
    finally:
        space.close()
    assert seen == {"[fd00:52:1::1]:7": "farloop_cubic.1", "[fd00:52:2::1]:7": "reno", "10.52.0.1:7": "reno"}
    assert set(after.values()) == {"reno"} and len(after) == 3
    counts = event(host, plan, "passed")["counts"]
    assert (counts["seen"], counts["moved"]) == (1, 1)


def test_completions_of_the_application_stop_a_plan(host):
    """They come through a FIFO, first fast, then slow."""
    fifo = host.folder / "completions"
    os.mkfifo(fifo)
    text = f"""algorithm = "cubic"
[select]
to = ["127.0.0.0/8"]
ports = [{host.port}]
[limits]
fifo = "completions"
completion_time = "3x"
completions = 1
"""
    plan = plan_of(host, text, hold='"60s"')
    process = host.start(plan)
    with os.fdopen(os.open(fifo, os.O_RDWR), "w", buffering=1) as stream:
        slow_since = None
        while not host.log(plan) or host.log(plan)[-1]["event"] != "end":
            is_step = any(line.get("state") == "step" for line in host.log(plan))
            slow_since = slow_since or (time.monotonic() + 3 if is_step else None)
            is_slow = slow_since is not None and time.monotonic() > slow_since
            stream.write(json.dumps({"seconds": 0.2 if is_slow else 0.01}) + "\n")
            time.sleep(0.05)
    assert host.wait(process) == 3
    baseline = event(host, plan, "baseline")["rates"]
    assert baseline["completion_time"] == 0.01 and baseline["completions"] > 5
    breach = event(host, plan, "breach")
    assert (breach["key"], breach["value"], breach["bound"]) == ("completion_time", 0.2, pytest.approx(0.03))
    # It was within its limit for three seconds, and was ended within seconds of leaving it.
    assert slow_since is not None and time.monotonic() - slow_since < 5
    assert event(host, plan, "end")["result"] == "undone"


def test_a_namespace_that_nobody_shows_is_named(host):
    """The program sees its connections; no process and no file leads there, so the metrics say that something was not seen."""
    plan = plan_of(
        host, 'algorithm = "cubic"\n[select]\nto = ["127.0.0.0/8"]\nports = [7]\n', hold='"60s"', baseline='"0s"'
    )
    process = host.start(plan)
    await_state(host, plan, "step")
    assert "namespaces_unseen" in control.ask("wan", "GET", "/metrics")
    before = json.loads(control.ask("wan", "GET", "/status"))
    with started(host, None, ECHO, "hidden", "127.0.0.1") as program:
        assert program.stdout.readline() == "ready\n"
        time.sleep(1.5)
        after = json.loads(control.ask("wan", "GET", "/status"))
        metrics = control.ask("wan", "GET", "/metrics")
        control.ask("wan", "POST", "/undo")
        assert host.wait(process) == 3
    new = {key: why for key, why in after["unseen"].items() if key not in before["unseen"]}
    assert list(new.values()) == ["no process shows it"] and next(iter(new)).startswith("cookie ")
    assert f'farloop_rollout_namespaces_unseen{{plan="wan"}} {len(after["unseen"])}' in metrics
    # It is moved all the same, and taken back: that takes no look into the namespace.
    assert after["counts"]["moved"] == 1
    assert host.log(plan)[-1]["counts"]["taken_back"] == 1

"""GEMINI in the kernel that runs the tests. As root, and where nothing is missing; otherwise skipped, with the reason."""

import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from support import live
from support.gemini_vectors import Gemini, states
from support.live_network import bulk_flows, end, live_network, missing_tools, start

from farloop.errors import FarloopError
from farloop.kernel import doctor, gemini, libbpf, recording
from farloop.kernel.baselines import CUBIC, DCTCP, VEGAS
from farloop.testbed.namespaces import Namespace
from farloop.testbed.network import Network

ROOT = Path(__file__).parents[2]
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
pytestmark = pytest.mark.live
BASELINES = (CUBIC, DCTCP, VEGAS)
TWO = ["-P", 2]
"""Two flows from the sender."""

NOTHING: tuple[list[object], bool] = ([], False)


@pytest.fixture
def host(kernel_objects, monkeypatch):
    """A host on which GEMINI is not loaded, and is not afterwards."""
    monkeypatch.setattr(doctor, "OBJECTS", kernel_objects)
    for program in (gemini.GEMINI, *BASELINES):
        if program.is_loaded():
            pytest.skip(f"{program.name} is loaded on this host already")
    mounts = bpf_mounts()
    yield
    for program in (gemini.GEMINI, *BASELINES):
        if program.is_loaded():
            program.unload()
    assert bpf_mounts() == mounts, "a test has mounted bpffs"


def bpf_mounts():
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if "/sys/fs/bpf" in line]


def left(deadline=10.0):
    """What there is of ours, once the kernel has tidied up."""
    latest = time.monotonic() + deadline
    while True:
        maps = [m for m in libbpf.maps() if m.name in ("gemini", "gemini_flows")]
        rest = (maps, gemini.is_loaded())
        if rest == NOTHING or time.monotonic() > latest:
            return rest
        time.sleep(0.1)


def test_twenty_loads_and_unloads_leave_nothing(host):
    before = (AVAILABLE.read_text(), {m.id for m in libbpf.maps()})
    for _ in range(20):
        gemini.load(["capacity=1Gbps"])
        assert gemini.is_loaded()
        with pytest.raises(FarloopError, match="loaded already"):
            gemini.load(["capacity=1Gbps"])
        # What the load before had goes when the kernel finds time for it: also between being listed and being read.
        assert gemini.status() == {"loaded": True, "connections": []}
        gemini.unload()
        assert not gemini.is_loaded()
    with pytest.raises(FarloopError, match="gemini is not loaded"):
        gemini.unload()
    gone = max((m.id for m in libbpf.maps()), default=0) + 1000
    assert libbpf.read_storage(doctor.object_file("flows").read_bytes(), "flows", gone) == b""
    libbpf.unregister(gone)
    assert left() == NOTHING
    assert AVAILABLE.read_text() == before[0]
    assert {m.id for m in libbpf.maps()} <= before[1]


def test_two_flows_fill_the_bottleneck_and_keep_the_queue_short(host, tmp_path):
    live.needs_programs(missing_tools())
    rate_mbps, threshold = 200, 15_380  # 50 packets of 1538 B per Gbps
    gemini.load([f"capacity={rate_mbps}Mbps", f"ecn_threshold={threshold}B"])
    ideal = rate_mbps * 1448 / 1514  # a segment's payload and its Ethernet frame
    with live_network(rate_mbps=rate_mbps, threshold=threshold, control="gemini") as made:
        # A host that is busy with other things can only take throughput away and add delay: what it does in one of three runs it can do.
        for _ in range(3):
            seen = []
            look = lambda into=seen: into.extend(gemini.status()["connections"])  # noqa: E731
            _, (report,) = bulk_flows(made, 4, options=TWO, during=look)
            goodput = report["end"]["sum_received"]["bits_per_second"] / 1e6
            bulk = [c for c in seen if c["acks"] > 1000]
            base = max((c["base_rtt_ms"] for c in bulk), default=0)
            delay = statistics.median(s["rtt"] / 1e3 for i in report["intervals"] for s in i["streams"])
            most = base + threshold / (rate_mbps * 125) + 1
            if goodput >= 0.93 * ideal and delay <= most:
                break
    gemini.unload()
    assert goodput >= 0.93 * ideal
    assert delay <= most
    assert len(bulk) == 2, seen
    for c in bulk:
        assert c["ecn_cuts"] > 10, c
        # An echoed mark cuts at most once per round trip, not with each ACK that brings it.
        assert c["ecn_cuts"] < c["marked_acks"], c
        assert c["samples"] > 0.9 * c["acks"], c
        assert 0 < c["alpha"] < 0.5, c
        # 4K/(C·RTT + K)
        pipe = rate_mbps / 8 * 1e3 * c["base_rtt_ms"]
        assert c["f"] == pytest.approx(4 * threshold / (pipe + threshold), rel=0.01), c
    assert left() == NOTHING


def test_counted_marks_are_those_of_the_port(host):
    """Accurate ECN: the marked packets that GEMINI hears of are those that the port marked, whatever ACKs cover."""
    live.needs_programs(missing_tools())
    gemini.load(["capacity=200Mbps", "ecn_threshold=15380B"])
    with contextlib.ExitStack() as stack:
        try:
            settings = {"ipv4/tcp_ecn": "3"}
            made = stack.enter_context(
                live_network(rate_mbps=200, threshold=15_380, control="gemini", settings=settings)
            )
        except FarloopError as error:
            pytest.skip(f"{error}: Linux 7.0 is the first with Accurate ECN")
        before = packets_marked(made)
        seen = []
        _, (report,) = bulk_flows(made, 4, during=lambda: seen.extend(gemini.status()["connections"]))
        delivered = report["end"]["sum_received"]["bytes"] / 1448
        marked = packets_marked(made) - before
    gemini.unload()
    (connection,) = [c for c in seen if c["acks"] > 1000]
    # α follows the share of marked packets, which an echo of an ACK for several would overstate.
    assert connection["alpha"] == pytest.approx(marked / delivered, rel=0.5, abs=0.02)


def packets_marked(made):
    """Packets that the shared port has marked."""
    return made.network.ports.read(Network.port(made.senders, 0)).marked


def test_connections_outlive_unloading(host, tmp_path):
    live.needs_programs(missing_tools())
    gemini.load(["capacity=200Mbps", "ecn_threshold=30kB"])
    with live_network(rate_mbps=200, threshold=30_000, control="gemini") as made:
        _, (report,) = bulk_flows(made, 2, options=TWO, during=gemini.unload)
        assert not gemini.is_loaded()
        second = report["intervals"][len(report["intervals"]) * 3 // 4 :]
        assert statistics.median(i["sum"]["bits_per_second"] for i in second) > 20e6
    assert left() == NOTHING


def test_the_baselines_carry_traffic_and_tell_of_it(host, tmp_path):
    live.needs_programs(missing_tools())
    connections = {}
    for program in BASELINES:
        program.load()
    # The receiving side echoes each mark.
    with live_network(rate_mbps=200, threshold=60_000, control=DCTCP.control) as made:
        for program in BASELINES:
            # A host that is busy with other things takes throughput away; what a program does in one of three runs it can do.
            for _ in range(3):
                seen = connections[program.name] = []
                look = lambda p=program, into=seen: into.extend(p.status()["connections"])  # noqa: E731
                _, (report,) = bulk_flows(made, 2, options=["-C", program.control], during=look)
                goodput = report["end"]["sum_received"]["bits_per_second"]
                if goodput > 50e6:
                    break
            assert goodput > 50e6, program.name
    for program in BASELINES:
        program.unload()
    # A connection of a run before may not have ended yet.
    cubic, vegas = (max(connections[n], key=lambda c: c["acks"]) for n in ("cubic", "vegas"))
    dctcp = max((c for c in connections["dctcp"] if c["destination"].endswith(":5201")), key=lambda c: c["acks"])
    assert min(c["acks"] for c in (cubic, vegas, dctcp)) > 200
    # Slow start fills the queue, beyond the mark at the least.
    assert cubic["reductions"] + cubic["fast_retransmits"] + cubic["timeouts"] > 0 and cubic["w_max"] > 2, cubic
    assert dctcp["reductions"] > 0 and 0 < dctcp["alpha"] < 1, dctcp
    assert 0 < vegas["base_rtt_ms"] <= vegas["srtt_ms"], vegas
    maps = {p.control for p in BASELINES} | {p.flows for p in BASELINES}
    latest = time.monotonic() + 10
    while (rest := [m for m in libbpf.maps() if m.name in maps]) and time.monotonic() < latest:
        time.sleep(0.1)
    assert not rest and not any(p.is_loaded() for p in BASELINES)


CHUNKS = """
import socket, sys, time
server = socket.create_server(("", 7000)) if sys.argv[1] == "receive" else None
if server:
    print("ready", flush=True)
    peer = server.accept()[0]
    while peer.recv(1 << 20): pass
else:
    to = socket.create_connection((sys.argv[1], 7000))
    for _ in range(4):
        to.sendall(bytes(20 * 1448))
        time.sleep(0.5)
"""


def losses_of_four_chunks(dropped):
    """Four bursts of twenty segments, of which one is dropped: what GEMINI is told of losses."""
    with (
        recording.record_gemini(["capacity=200Mbps", "ecn_threshold=300kB"]) as (recorded, poll),
        live_network(rate_mbps=200, threshold=300_000, control="gemini") as made,
    ):
        made.lose(dropped)
        python = [sys.executable, "-c", CHUNKS]
        receiver = start(made.receiver, *python, "receive")
        try:
            assert receiver.stdout.readline() == "ready\n"
            sender = start(made.hosts[0], *python, made.receiver_address)
            try:
                assert sender.wait(30) == 0
            finally:
                end(sender)
        finally:
            end(receiver)
        while poll(200):
            pass
    events = [json.loads(line) for line in recorded.lines()[1:]]
    return [e for e in events if e["event"] in ("fast_retransmit", "timeout", "undo")]


@pytest.mark.parametrize(
    ("dropped", "kinds"),
    [(0, []), (25, ["fast_retransmit"]), (20, ["fast_retransmit"])],
    ids=["nothing", "in the middle of a chunk", "at its end, where a tail loss probe repairs it"],
)
def test_a_lost_packet_is_answered_once(host, tmp_path, dropped, kinds):
    live.needs_programs(missing_tools())
    # A busy host delays packets until TCP takes them for lost, and undoes that later: what it does in one of three runs it can do.
    for _ in range(3):
        losses = losses_of_four_chunks(dropped)
        if [e["event"] for e in losses] == kinds:
            break
    assert [e["event"] for e in losses] == kinds
    for loss in losses:
        assert loss["in_flight"] > 0, loss


def test_the_default_of_a_namespace_is_not_taken_away(host):
    """A namespace of its own for the command, so that nobody's default changes."""
    gemini.load(["capacity=1Gbps"])
    namespace = Namespace()
    try:
        namespace.settings({"ipv4/tcp_congestion_control": "gemini"})
        words = [sys.executable, "-m", "farloop", "kernel", "unload", "gemini"]
        with namespace.enter_namespace():
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (2, "")
            assert "choose another first" in done.stderr
            assert gemini.is_loaded()
            namespace.settings({"ipv4/tcp_congestion_control": "reno"})
            subprocess.run(words, capture_output=True, check=True)
        assert not gemini.is_loaded()
    finally:
        namespace.close()


@pytest.mark.long
def test_what_the_kernel_decides_is_what_the_simulators_core_decides(host, tmp_path):
    """One arithmetic: every event of real connections, replayed by the cores in C, in Rust and in Python."""
    live.needs_programs(missing_tools())
    settings = ["capacity=200Mbps", "ecn_threshold=30kB"]
    with (
        recording.record_gemini(settings) as (recorded, poll),
        live_network(rate_mbps=200, threshold=30_000, control="gemini") as made,
    ):
        bulk_flows(made, 2, options=TWO)
        while poll(200):
            pass
    assert not gemini.is_loaded()
    assert not recorded.lost and recorded.connections >= 4 and recorded.events > 3000
    file = tmp_path / "live.jsonl"
    file.write_text("".join(f"{line}\n" for line in recorded.lines()))
    events = [json.loads(line) for line in recorded.lines()[1:]]
    kinds = Counter(event["event"] for event in events)
    assert kinds["start"] == recorded.connections and kinds["ack"] > 2000 and kinds["idle"] > 0, kinds
    assert sum(event.get("ecn_echo", False) for event in events) > 20
    flow = None
    for number, event in enumerate(events, start=2):
        flow = Gemini(event) if flow is None or event["event"] == "start" else flow
        flow.play(event)
        assert flow.state() == {key: event[key] for key in flow.state()}, f"line {number}: {event}"
    if compiler := shutil.which("cc"):
        subprocess.run([compiler, "-O2", "-o", tmp_path / "replay", ROOT / "linux/gemini/replay.c"], check=True)
        done = subprocess.run([tmp_path / "replay"], input=file.read_text(), check=True, capture_output=True, text=True)
        assert done.stdout.splitlines() == states(events)
    if cargo := shutil.which("cargo"):
        workspace = ["--workspace", "--exclude", "farloop-py"]
        words = [cargo, "test", "-q", *workspace, "--test", "gemini_vectors", "recorded"]
        done = subprocess.run(words, cwd=ROOT, env={**os.environ, "FARLOOP_GEMINI_VECTORS": str(file)}, check=False)
        assert done.returncode == 0


def killed_halfway(words, rng):
    """A command killed at a random moment."""
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rng.uniform(0.2, 1.2))
    running.kill()
    running.wait()


def test_a_command_that_is_killed_leaves_nothing_that_unload_does_not_take_away(host, tmp_path):
    rng = random.Random(time.time_ns())
    command = live.farloop(doctor.OBJECTS, "kernel")
    file = tmp_path / "live.jsonl"
    record = [*command, "record", "gemini", str(file), "--set", "capacity=1Gbps", "--duration", "20s"]
    load = [*command, "load", "gemini", "--set", "capacity=1Gbps"]
    for words in (load, record, load, record, [*command, "load", "cubic"]):
        killed_halfway(words, rng)
        for program in (gemini.GEMINI, CUBIC):
            if program.is_loaded():
                program.unload()
            assert not program.is_loaded()
        assert left() == NOTHING
        assert not list(tmp_path.iterdir())
    # What was in the way of loading is gone.
    gemini.load(["capacity=1Gbps"])
    gemini.unload()

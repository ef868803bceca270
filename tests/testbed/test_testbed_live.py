"""A testbed on the kernel that runs the tests. As root, and where nothing is missing; otherwise skipped, with the reason."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import live

from farloop import api
from farloop.kernel import doctor, libbpf
from farloop.scenario import Scenario
from farloop.testbed import repetitions
from farloop.testbed.measured import MEASURED

pytestmark = pytest.mark.live
EXAMPLE = Path(__file__).parents[2] / "examples" / "testbed.toml"
SYSCTLS = ("tcp_congestion_control", "tcp_ecn", "ip_forward", "tcp_rmem", "conf/all/rp_filter")


@pytest.fixture
def host(kernel_objects, monkeypatch):
    monkeypatch.setattr(doctor, "OBJECTS", kernel_objects)
    live.needs_host(repetitions.missing_requirements())
    before = state()
    yield
    assert left() == []
    assert state() == before


def state():
    """What a testbed has no business with."""
    settings = [Path("/proc/sys/net/ipv4", name).read_text() for name in SYSCTLS]
    names = {path.name for where in ("/sys/class/net", "/run/netns") for path in Path(where).glob("*")}
    pinned = [line for line in Path("/proc/self/mounts").read_text().splitlines() if " bpf " in line]
    return settings, names, pinned, os.sched_getscheduler(0)


def left(deadline=20.0):
    """Maps of the ports' program, which go when the last namespace with an interface of theirs goes; link emulators; GEMINI."""
    end = time.monotonic() + deadline
    while True:
        interfaces = [
            m.name
            for m in libbpf.maps()
            if m.name.startswith("farloop_") and m.name.endswith(("set", "ports", "drops"))
        ]
        lines = [
            p.parent.name for p in Path("/proc").glob("[0-9]*/cmdline") if b"farloop.testbed.link_emulator" in read(p)
        ]
        if not interfaces + lines or time.monotonic() > end:
            return interfaces + lines
        time.sleep(0.1)


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.long
def test_flows_get_through_and_nothing_is_left(host, tmp_path):
    """What noise cannot break: packets take no less time than the links, and what arrives was sent."""
    settings = ["run.duration=2500ms", "flow.far.size=200kB", "algorithm.cubic.ecn=false"]
    words = ["testbed", "run", str(EXAMPLE), "--out", str(tmp_path / "out"), "--no-report"]
    words += [word for setting in settings for word in ("--set", setting)]
    command = live.farloop(doctor.OBJECTS, *words)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run = api.load(tmp_path / "out").runs[0]
    measured = run.info[MEASURED]
    assert measured["least_rtt_s"]["near"] >= 0.010 and measured["least_rtt_s"]["far"] >= 0.030
    near, far = run.flows.to_pylist()
    assert far["outcome"] == "finished" and far["delivered_bytes"] == 200_000
    # The bottleneck carries no more than its rate, but for TBF's burst.
    port = next(p for p in run.ports.to_pylist() if (p["node"], p["peer"]) == ("leaf", "receiver"))
    assert near["delivered_bytes"] + far["delivered_bytes"] < port["tx_bytes"] < 1e8 / 8 * (run.duration + 0.1)
    assert 0 < port["mean_queue_bytes"] <= port["max_queue_bytes"] <= 100 * 1538
    assert near["delivered_bytes"] > 1_000_000
    assert [line["delay_s"] for line in measured["delay_lines"]] == [0.005, 0.015]
    assert len(run.samples.get("flow/near", "rtt")[1]) > 10


def test_gemini_is_there_for_as_long_as_it_runs(host):
    live.needs_host(repetitions.missing_requirements(["gemini"]))
    from farloop.kernel import gemini

    if gemini.is_loaded():
        pytest.skip("gemini is loaded on this host already")
    settings = ["run.duration=2s", "algorithm.gemini.ecn_threshold=30kB"]
    result = repetitions.measure(Scenario.load(EXAMPLE).override(settings, algorithm="gemini"))
    assert not gemini.is_loaded()
    (run,) = result.runs
    # Marks come back: ECN is negotiated, and the leaf marks.
    assert sum(row["marked"] for row in run.flows.to_pylist()) > 0
    assert run.info[MEASURED]["parameters"]["gemini"]["ecn_threshold"] == "30kB"


@pytest.mark.long
def test_nothing_is_left_of_a_run_that_was_killed(host, tmp_path):
    run = ["testbed", "run", str(EXAMPLE), "--out", str(tmp_path / "out")]
    words = live.farloop(doctor.OBJECTS, *run)
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        assert "of 10 s" in process.stderr.readline()
        assert left(0)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
    cleaned = subprocess.run(
        [sys.executable, "-m", "farloop", "testbed", "clean"], capture_output=True, text=True, check=True
    )
    assert cleaned.stdout.endswith(("of killed testbeds ended\n", "nothing was left behind\n"))
    assert left() == []


def test_without_rights_it_says_so(kernel_objects, tmp_path):
    words = [sys.executable, "-m", "farloop", "testbed", "run", str(EXAMPLE), "--out", str(tmp_path / "out")]
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
    try:
        done = subprocess.run([*drop, *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        live.lacks_program("setpriv is missing")
    assert (done.returncode, done.stdout) == (2, "")
    assert "capabilities: " in done.stderr and len(done.stderr.splitlines()) == 1

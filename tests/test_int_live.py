"""Telemetry in TCP options and Gear on it, in the kernel that runs the tests. As root, and where nothing is missing; otherwise skipped."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import int_bed
import live
import pytest

from farloop.errors import FarloopError
from farloop.kernel import doctor, telemetry
from farloop.kernel.gear import GEAR

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.live
SETTINGS = ["capacity=200Mbps", "irtt=1ms", "cross_factor=5", "max_stage=0", "w_ai_fraction=0.025"]


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """The compiled programs of this checkout."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("not root on Linux")
    live.needs_host(doctor.missing(objects=False))
    if not doctor.checks_to_build():
        live.lacks_program("clang or libbpf-dev is missing")
    live.needs_programs(int_bed.missing_tools())
    folder = tmp_path_factory.mktemp("objects")
    targets = [f"{folder}/{name}.bpf.o" for name in ("gear", "options", "rows")]
    subprocess.run(["make", "-s", f"KERNEL_OBJECTS={folder}", *targets], cwd=ROOT, check=True)
    return folder


@pytest.fixture
def host(objects, monkeypatch):
    """A host without Gear and without our cgroup, before and after."""
    monkeypatch.setattr(doctor, "OBJECTS", objects)
    if GEAR.loaded():
        pytest.skip("gear is loaded on this host already")
    int_bed.remove()
    if (top := int_bed.hierarchy()) is None:
        pytest.skip("cgroup v2 is not mounted")
    group = top / f"{int_bed.PREFIX}test"
    try:
        group.mkdir()
        group.rmdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error.strerror}")
    yield group
    int_bed.remove()
    if GEAR.loaded():
        GEAR.unload()


def left(deadline=10.0):
    """What there is of ours, once the kernel has tidied up."""
    end = time.monotonic() + deadline
    while (found := int_bed.leftovers()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def test_loading_and_attaching_leave_nothing(host):
    for gear_first in (True, False, True):
        host.mkdir()
        if gear_first:
            GEAR.load(SETTINGS)
            telemetry.attach(host)
        else:
            telemetry.attach(host)
            GEAR.load(SETTINGS)
        # Whoever comes second uses the first one's socket storage.
        assert int_bed.leftovers().count(telemetry.STORAGE) == 1
        with pytest.raises(FarloopError, match="has telemetry already"):
            telemetry.attach(host)
        with pytest.raises(FarloopError, match="loaded already"):
            GEAR.load(SETTINGS)
        assert telemetry.attached(host)
        assert GEAR.status() == {"loaded": True, "connections": []}
        telemetry.detach(host)
        assert not telemetry.attached(host)
        with pytest.raises(FarloopError, match="has no telemetry"):
            telemetry.detach(host)
        GEAR.unload()
        host.rmdir()
    with pytest.raises(FarloopError, match="gear is not loaded"):
        GEAR.unload()
    assert left() == []


def test_what_is_no_cgroup_is_refused(host, tmp_path):
    for where in (tmp_path, tmp_path / "nothing", Path("/proc")):
        with pytest.raises(FarloopError, match="cgroup"):
            telemetry.attach(where)
    assert left() == []


def test_two_flows_of_1_and_30_ms_share_a_port(host, tmp_path):
    GEAR.load(SETTINGS)
    given = {"rate_mbps": 200, "delays_us": (1000, 30_000), "control": "gear"}
    with int_bed.bed(tmp_path, **given) as bed:
        # A busy host adds to the round trip of 1 ms: what it does in one of three runs it can do.
        for _ in range(3):
            seen = []
            reports, _ = int_bed.flows(bed, 3, during=lambda into=seen: into.extend(GEAR.status()["connections"]))
            intra, cross = (statistics.mean(int_bed.throughputs(report)[15:30]) for report in reports)
            if 0.4 < intra / cross < 2.5 and intra + cross > 120:
                break
        errors = [int_bed.checksum_errors(side) for side in "ab"]
    GEAR.unload()
    flows = int_bed.gear_connections(seen)
    assert sorted(flows) == ["cross", "intra"], seen
    for flow in flows.values():
        assert flow["acks_with_telemetry"] >= 0.95 * flow["acks"], flow
        assert flow["samples"] >= 0.9 * flow["acks"], flow
        assert flow["load"] > 0, flow
        # With timestamps two of three entries fit.
        assert flow["telemetry"]["entry_bytes"] == 24, flow
    assert flows["intra"]["updates"] > 3 * flows["cross"]["updates"] > 30, flows
    assert flows["cross"]["base_rtt_ms"] == pytest.approx(30, abs=2)
    assert not any(sum(side.values()) for side in errors), errors
    assert 0.1 < intra / cross < 10, (intra, cross)
    assert left() == []


@pytest.mark.parametrize(("timestamps", "room"), [(True, 24), (False, 36)])
def test_the_sender_lives_with_gaps_where_sack_takes_the_room(host, tmp_path, timestamps, room):
    """Reno into a short queue behind two ports that write: losses, and with them SACK blocks."""
    given = {"rate_mbps": 50, "delays_us": (1000, 20_000), "control": "reno", "limit": 30_000, "two_hops": True}
    with int_bed.bed(tmp_path, timestamps=timestamps, **given) as bed:
        seen = []
        int_bed.flows(bed, 2 if timestamps else 1, during=lambda: seen.extend(telemetry.connections()))
        errors = [int_bed.checksum_errors(side) for side in "ab"]
    senders = [c for c in seen if c["source"].startswith("10.214.1.") and c["probes"] > 50]
    receivers = [c for c in seen if c["probed"] > 50]
    assert len(senders) == len(receivers) == 2, seen
    for c in senders:
        assert c["entry_bytes"] == room and c["echoed"] > 20 and c["unstamped"] == 0, c
    for c in receivers:
        assert c["unstamped"] == 0 and c["echoes"] > 20, c
    # Of two entries one fits beside a SACK block and timestamps.
    if timestamps:
        assert sum(c["partial"] for c in receivers) > 0, receivers
    assert not any(sum(side.values()) for side in errors), errors
    assert left() == []

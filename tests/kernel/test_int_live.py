"""Telemetry in TCP options and Gear on it, in the kernel that runs the tests. As root, and where nothing is missing; otherwise skipped."""

import contextlib
import statistics
import time
from pathlib import Path

import pytest
from support import live
from support.live_network import ACCESS, bulk_flows, checksum_errors, live_network, missing_tools, throughputs

from farloop.errors import FarloopError
from farloop.kernel import doctor, libbpf, telemetry
from farloop.kernel.gear import GEAR

pytestmark = pytest.mark.live
SETTINGS = ["capacity=200Mbps", "irtt=1ms", "cross_factor=5", "max_stage=0", "w_ai_fraction=0.025"]
SMALL_WRITES = ["-l", "16K"]


@pytest.fixture
def host(kernel_objects, monkeypatch):
    """A cgroup to be, of a host without Gear; neither is there afterwards."""
    live.needs_programs(missing_tools())
    monkeypatch.setattr(doctor, "OBJECTS", kernel_objects)
    if GEAR.is_loaded():
        pytest.skip("gear is loaded on this host already")
    if (top := cgroups()) is None:
        pytest.skip("cgroup v2 is not mounted")
    group = top / "farloop-int-test"
    remove(group)
    try:
        group.mkdir()
        group.rmdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error.strerror}")
    yield group
    remove(group)
    if GEAR.is_loaded():
        GEAR.unload()


def cgroups():
    """Where cgroup v2 is mounted, or None."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where)
    return None


def remove(group, deadline=5.0):
    """Takes a cgroup away once the last process in it has ended."""
    latest = time.monotonic() + deadline
    while group.is_dir():
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > latest:
                raise
            time.sleep(0.1)


@contextlib.contextmanager
def telemetry_at(group):
    """The cgroup with telemetry at its sockets."""
    group.mkdir()
    telemetry.attach(group)
    try:
        yield
    finally:
        telemetry.detach(group)
        remove(group)


def leftovers(group):
    """What there is of ours: maps, the cgroup."""
    names = (GEAR.control, GEAR.flows, telemetry.STORAGE)
    return [m.name for m in libbpf.maps() if m.name in names] + ([str(group)] if group.exists() else [])


def left(group, deadline=10.0):
    """What there is of ours, once the kernel has tidied up."""
    latest = time.monotonic() + deadline
    while (rest := leftovers(group)) and time.monotonic() < latest:
        time.sleep(0.1)
    return rest


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
        assert leftovers(host).count(telemetry.STORAGE) == 1
        with pytest.raises(FarloopError, match="has telemetry already"):
            telemetry.attach(host)
        with pytest.raises(FarloopError, match="loaded already"):
            GEAR.load(SETTINGS)
        assert telemetry.is_attached(host)
        assert GEAR.status() == {"loaded": True, "connections": []}
        telemetry.detach(host)
        assert not telemetry.is_attached(host)
        with pytest.raises(FarloopError, match="has no telemetry"):
            telemetry.detach(host)
        GEAR.unload()
        host.rmdir()
    with pytest.raises(FarloopError, match="gear is not loaded"):
        GEAR.unload()
    assert left(host) == []


def test_what_is_no_cgroup_is_refused(host, tmp_path):
    for where in (tmp_path, tmp_path / "nothing", Path("/proc")):
        with pytest.raises(FarloopError, match="cgroup"):
            telemetry.attach(where)
    assert left(host) == []


def test_two_flows_of_1_and_30_ms_share_a_port(host, tmp_path):
    GEAR.load(SETTINGS)
    with telemetry_at(host), live_network(rate_mbps=200, delays_us=(500, 15_000), control="gear") as made:
        made.write_telemetry(tmp_path, made.senders, 200, 1)
        # A busy host adds to the round trip of 1 ms: what it does in one of three runs it can do.
        for _ in range(3):
            seen = []
            look = lambda into=seen: into.extend(GEAR.status()["connections"])  # noqa: E731
            reports, _ = bulk_flows(made, 3, options=SMALL_WRITES, cgroup=host, during=look)
            intra, cross = (statistics.mean(throughputs(report)[15:30]) for report in reports)
            if 0.4 < intra / cross < 2.5 and intra + cross > 120:
                break
        errors = [checksum_errors(node) for node in made.hosts]
    GEAR.unload()
    flows = {c["kind"]: c for c in seen if c["acks"] > 500}
    assert sorted(flows) == ["cross", "intra"], seen
    for flow in flows.values():
        assert flow["acks_with_telemetry"] >= 0.95 * flow["acks"], flow
        assert flow["samples"] >= 0.9 * flow["acks"], flow
        assert flow["load"] > 0, flow
        # With timestamps two of three entries fit.
        assert flow["telemetry"]["entry_bytes"] == 24, flow
    assert flows["intra"]["updates"] > 3 * flows["cross"]["updates"] > 30, flows
    assert flows["cross"]["base_rtt_ms"] == pytest.approx(30, abs=2)
    assert not any(errors), errors
    assert 0.1 < intra / cross < 10, (intra, cross)
    assert left(host) == []


@pytest.mark.long
@pytest.mark.parametrize(("timestamps", "room"), [(True, 24), (False, 36)])
def test_the_sender_lives_with_gaps_where_sack_takes_the_room(host, tmp_path, timestamps, room):
    """Reno into a short queue behind two ports that write: losses, and with them SACK blocks."""
    given = {"rate_mbps": 50, "delays_us": (500, 10_000), "control": "reno", "limit": 30_000}
    settings = {"ipv4/tcp_timestamps": str(int(timestamps))}
    with telemetry_at(host), live_network(**given, settings=settings) as made:
        for number in range(made.senders):
            made.write_telemetry(tmp_path, number, ACCESS, 2)
        made.write_telemetry(tmp_path, made.senders, 50, 1)
        sources = tuple(f"{made.sender_address(i)}:" for i in range(made.senders))
        seen = []
        look = lambda: seen.extend(telemetry.connections())  # noqa: E731
        bulk_flows(made, 2, options=SMALL_WRITES, cgroup=host, during=look)
        errors = [checksum_errors(node) for node in made.hosts]
    senders = [c for c in seen if c["source"].startswith(sources) and c["probes"] > 50]
    receivers = [c for c in seen if c["probed"] > 50]
    assert len(senders) == len(receivers) == 2, seen
    for c in senders:
        assert c["entry_bytes"] == room and c["echoed"] > 20 and c["unstamped"] == 0, c
    for c in receivers:
        assert c["unstamped"] == 0 and c["echoes"] > 20, c
    # Of two entries one fits beside a SACK block and timestamps.
    if timestamps:
        assert sum(c["partial"] for c in receivers) > 0, receivers
    assert not any(errors), errors
    assert left(host) == []

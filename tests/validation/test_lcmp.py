"""`farloop validate lcmp`: the program's paths and ideals, links of 1 to 10 ms beside closed forms, and what a checkout has to be."""

import hashlib
import json

import numpy as np
import pytest

import farloop
from farloop.errors import FarloopError
from farloop.studies.validation.lcmp import artifact, flow_by_flow, kept
from farloop.studies.validation.lcmp.artifact import TrafficFlow
from farloop.studies.validation.lcmp.rules import buffer_bytes, scenario
from farloop.studies.validation.lcmp.sites import SiteNetwork, address, hash_words

US, MS = 1_000, 1_000_000

SITES = (
    [(host, 8 + host // 2, 100, US) for host in range(8)]
    + [(8, 12, 400, US), (9, 13, 400, US), (10, 14, 400, US), (11, 15, 400, US)]
    + [(12, 13, 200, MS), (12, 14, 100, 5 * MS), (13, 15, 40, MS), (14, 15, 200, 10 * MS)]
)
"""Four sites of two hosts behind a switch each, in a ring of links of 1, 5, 1 and 10 ms: two ways across, by 40 and by 100 Gbps."""


@pytest.fixture
def network():
    return SiteNetwork(SITES, range(8, 12), range(12, 16))


def test_the_hash_is_murmur3():
    # Vectors of MurmurHash3_x86_32 for "test" and "aaaa", as words of a little-endian machine.
    assert hash_words([0x74736574], 0) == 0xBA6BD213
    assert hash_words([0x61616161], 0x9747B28C) == 0x5A97808A
    assert [hex(address(node)) for node in (0, 207, 298)] == ["0xb000001", "0xb00cf01", "0xb012a01"]


def test_next_hops_come_in_the_order_of_the_search(network):
    assert network.next_hops(6)[12] == [14, 13]
    assert network.datacenters == {node: node // 2 for node in range(8)} | {8 + site: site for site in range(4)} | {
        12 + site: site for site in range(4)
    }
    ways = {tuple(network.path(0, 6, (port, 100))) for port in range(10_000, 10_050)}
    assert ways == {(0, 8, 12, 13, 15, 11, 6), (0, 8, 12, 14, 15, 11, 6)}
    assert network.path(0, 6, (10_000, 100), fastest=True) == [0, 8, 12, 13, 15, 11, 6]


def test_ideals_are_numbers(network):
    # Across by way of the two links of 1 ms: 2 * 2.004 ms, transmission of 1000 B at 100, 400, 200, 40, 400 and 100 Gbps, 1048 B at 40.
    assert network.base_rtt_ns(0, 6) == 4_008_000 + 80 + 20 + 40 + 200 + 20 + 80
    assert network.ideal_ns(0, 6, 1000) == 4_008_440 + 209
    # A megabyte: 1000 packets of 1048 B.
    assert network.ideal_ns(0, 6, 1_000_000) == 4_008_440 + 209_600
    assert network.ideal_ns(0, 2, 1_000_001) == 2 * 1_004_000 + 80 + 20 + 40 + 20 + 80 + 83_843


def test_reserves_wrap_in_32_bits(network):
    # 3 * (5 kB * 10 + 25 MB * 10 + ...): ports of 400 Gbps and 1 us, 100 Gbps and 5 ms, 200 Gbps and 10 ms.
    reserve = 3 * (50_000 + 62_500_000 + 250_000_000) + 3 * 4096
    headroom = 2 * (50_000 + 62_500_000 + 250_000_000) + 3 * (3 * 1048 + 169)
    assert buffer_bytes(network, 14) == 128 * 2**20 - reserve + 2**32 + headroom
    # Two ports: 1 us at 100 Gbps twice, at 400 Gbps once; nothing wraps.
    assert buffer_bytes(network, 8) == 32 * 2**20 - 3 * 75_000 - 3 * 4096 + 2 * 75_000 + 3 * (3 * 1048 + 169)


@pytest.mark.parametrize(
    ("source", "target", "data", "ack"),
    [
        # Until the last byte is there: propagation, the first packet of 1048 B at each hop, the other 999 at the slowest link. Then an
        # ACK of 60 B comes back.
        (0, 2, 1_004_000 + 83.84 + 20.96 + 41.92 + 20.96 + 83.84 + 999 * 83.84, 1_004_000 + 14.4),
        (0, 4, 5_004_000 + 83.84 + 20.96 + 83.84 + 20.96 + 83.84 + 999 * 83.84, 5_004_000 + 16.8),
        (2, 6, 1_004_000 + 83.84 + 20.96 + 209.6 + 20.96 + 83.84 + 999 * 209.6, 1_004_000 + 24.0),
        (4, 6, 10_004_000 + 83.84 + 20.96 + 41.92 + 20.96 + 83.84 + 999 * 83.84, 10_004_000 + 14.4),
    ],
)
def test_a_flow_alone_over_each_link_takes_its_closed_form(network, source, target, data, ack):
    flow = TrafficFlow(source, target, 10_000, 100, 1_000_000, 0)
    flows = farloop.run(scenario(network, [flow], [flow_by_flow.paths_of(network, flow, fastest=False)], "alone")).flows
    received, finished = (flows[name][0].as_py() / 1e3 for name in ("received_ps", "finish_ps"))
    assert (received, finished - received) == (pytest.approx(data, abs=0.01), pytest.approx(ack, abs=0.01))


def test_outer_switches_choose_where_lcmp_does(network):
    """Across the ring and back: by 1 and 1 ms, or by 5 and 10 ms. The fastest links lead there by the first way, and back by the second."""
    flows = [TrafficFlow(0, 6, 10_000 + i, 100, 1000, i * MS) for i in range(20)]
    by_chooser = {}
    for chooser in artifact.CHOOSERS:
        case = flow_by_flow.LcmpCase("0.3", chooser)
        made = flow_by_flow._scenario(network, case, flows, flow_by_flow.HASHES)
        assert {row.get("ecmp") for row in made["switch_override"]} == {None} | (
            set() if chooser == artifact.ECMP else {chooser.lower()}
        )
        assert not any("path" in flow for flow in made["flow"])
        by_chooser[chooser] = flow_by_flow._times_ns(farloop.run(made))
    assert ((by_chooser[artifact.UCMP] > 17 * MS) & (by_chooser[artifact.UCMP] < 17.1 * MS)).all()
    for chooser in (artifact.ECMP, artifact.LCMP):
        times = by_chooser[chooser]
        assert (times < 4.1 * MS).any() and (times > 30 * MS).any() and not np.isnan(times).any()
    pinned = flow_by_flow._scenario(network, flow_by_flow.LcmpCase("0.3", artifact.LCMP), flows, flow_by_flow.PLAIN)
    assert not any("path" in flow for flow in pinned["flow"])


def poisson(network, count, seed):
    """Flows between sites that come at random."""
    random = np.random.default_rng(seed)
    starts = np.cumsum(random.exponential(2_000, count)).astype(int)
    sizes = np.maximum(1, random.exponential(100_000, count)).astype(int)
    flows, ports = [], {}
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        source = int(random.integers(8))
        target = (source + int(random.integers(2, 7))) % 8
        target = target if target // 2 != source // 2 else (target + 2) % 8
        ports[source, target] = ports.get((source, target), 9_999) + 1
        flows.append(TrafficFlow(source, target, ports[source, target], 100, size, start))
    return flows


@pytest.fixture(scope="module")
def own_times():
    """Flows between the four sites, and how long they take here, in nanoseconds."""
    network = SiteNetwork(SITES, range(8, 12), range(12, 16))
    flows = poisson(network, 200, 1)
    paths = [flow_by_flow.paths_of(network, flow, fastest=False) for flow in flows]
    return flows, flow_by_flow._times_ns(farloop.run(scenario(network, flows, paths, "own")))


@pytest.fixture
def checkout(network, own_times, tmp_path, monkeypatch):
    """A checkout whose program is farloop itself, for load 0.3 under ECMP: 200 flows between the four sites."""
    flows, took = own_times
    lines = [
        f"{address(flow.source):08x} {address(flow.target):08x} {flow.source_port} 100 {flow.size} {flow.start_ns + artifact.ORIGIN_NS} "
        f"{time:.0f} {network.ideal_ns(flow.source, flow.target, flow.size)}"
        for flow, time in zip(flows, took, strict=True)
    ]
    files = {
        artifact.TOPOLOGY: f"# a ring\n16 4 4 {len(SITES)}\n8 9 10 11\n12 13 14 15\n"
        + "".join(f"{a} {b} {rate}Gbps {delay // 1000}us 0\n" for a, b, rate, delay in SITES),
        artifact.traffic_file("0.3"): f"# flows\n{len(flows)}\n"
        + "".join(
            f"{f.source} {f.target} 3 100 {f.size} {(f.start_ns + artifact.ORIGIN_NS) / 1e9:.9f}\n" for f in flows
        ),
        artifact.times_file("0.3", artifact.ECMP): "\n".join(lines[::-1]) + "\n",
    }
    hashes = {}
    for place, text in files.items():
        path = tmp_path / "LCMP" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        hashes[place] = hashlib.sha256(text.encode()).hexdigest()
    monkeypatch.setattr(artifact, "HASHES", artifact.HASHES | hashes)
    return tmp_path / "LCMP"


def test_poisson_traffic_between_the_sites_is_never_faster_than_alone(network, own_times):
    flows, took = own_times
    # The program's ideal takes the payload at each hop, and a base round-trip time without ACKs; nothing here is a microsecond faster.
    ideals = np.array([network.ideal_ns(flow.source, flow.target, flow.size) for flow in flows])
    assert not np.isnan(took).any() and (took > ideals - 1_000).all()
    assert np.median(took / ideals) < 1.5


def change_times(checkout, monkeypatch, factor):
    """The program takes so many times as long."""
    path = checkout / artifact.times_file("0.3", artifact.ECMP)
    rows = [line.split() for line in path.read_text("utf-8").splitlines()]
    text = "".join(" ".join([*row[:6], str(round(int(row[6]) * factor)), row[7]]) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    monkeypatch.setitem(artifact.HASHES, artifact.times_file("0.3", artifact.ECMP), digest)


def test_flows_are_compared_one_by_one(checkout, command, tmp_path, monkeypatch):
    out = tmp_path / "out"
    done = command("validate", "lcmp", "--from", str(checkout), "--out", str(out))
    assert done.returncode == 0 and "1 of 1 cases agree with LCMP's ns-3, 200 flows in all" in done.stdout
    (case,) = json.loads((out / "lcmp.json").read_text("utf-8"))["cases"]
    read = flow_by_flow.read(case)
    assert (read.flows, read.exact_ideals, read.farloop_unfinished, read.verdict) == (200, 200, 0, "agrees")
    assert read.flow_by_flow["p50"] == pytest.approx(1) and read.flow_by_flow["within 5 %"] == 1
    assert all(abs(number.difference) < 1e-4 for number in read.numbers)
    change_times(checkout, monkeypatch, 1.2)
    done = command("validate", "lcmp", "--from", str(checkout), "--out", str(out), "--force")
    assert done.returncode == 1 and "0 of 1 cases agree" in done.stdout and "-16.7" in done.stdout


def test_without_a_checkout_it_shows_what_is_kept(command):
    done = command("validate", "lcmp")
    assert done.returncode == 0 and "No checkout: `git clone https://github.com/dyyuCS/LCMP`" in done.stdout
    assert all(case.exact_ideals == case.flows for case in kept.read_recorded())


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["lcmp/ecmp-0.4"], "lcmp/ecmp-0.4: no such case; did you mean lcmp/ecmp-0.8? there is lcmp/ecmp-0.3"),
        (["lcmp", "htsim"], "lcmp beside other names: expected it alone"),
        (["htsim", "--from", "."], "--from: only lcmp takes files of others"),
        (["lcmp", "--from", "nowhere"], "topology_LeafSpine_MultiDC13.txt: cannot be read"),
    ],
)
def test_what_it_refuses(names, message, command):
    done = command("validate", *names)
    assert done.returncode == 2 and message in " ".join(done.stderr.split())


def test_another_file_is_refused(checkout):
    path = checkout / artifact.TOPOLOGY
    path.write_text(path.read_text("utf-8") + "\n", encoding="utf-8")
    with pytest.raises(FarloopError, match="is another file than at commit a7854d9"):
        artifact.read_network(checkout)


def test_times_of_other_flows_are_refused(network, checkout):
    flows = artifact.read_traffic(checkout, "0.3")
    times = artifact.read_times(checkout, "0.3", artifact.ECMP)
    with pytest.raises(FarloopError, match="are not those of the flows"):
        flow_by_flow.compare(flow_by_flow.CASES[0], network, flows[1:], times, {})

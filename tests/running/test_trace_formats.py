"""A trace made by hand (crates/trace/examples/sample.rs), as other programs read it.

Perfetto's trace processor is a program that its Python package fetches when it is first used, which a test must not
do. The package's own definitions of the format parse the file instead, and the tests check what the viewer relies on:
that every event has a track that was described before, and that slices end after they began.
"""

import os
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import CounterDescriptor, TrackEvent
from scapy.contrib.mac_control import MACControlClassBasedFlowControl
from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgReader
from support.trace_reading import events, known, notes, perfetto_file, tracks

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sample")
    cargo = os.environ.get("CARGO", "cargo")
    # Of the workspace as its tests are built: with `-p` other features of dependencies are chosen, and they are compiled once more.
    workspace = ["--workspace", "--exclude", "farloop-py"]
    command = [cargo, "build", "--quiet", "--profile", "test", *workspace, "--example", "sample"]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    program = REPOSITORY / os.environ.get("CARGO_TARGET_DIR", "target") / "debug" / "examples" / "sample"
    subprocess.run([program, str(directory)], cwd=REPOSITORY, check=True)
    return directory


@pytest.fixture(scope="module")
def perfetto(sample):
    return perfetto_file(sample / "sample.perfetto-trace")


@pytest.fixture(scope="module")
def packets(sample):
    with PcapNgReader(str(sample / "sample.pcapng")) as reader:
        return list(reader)


def test_perfetto_knows_every_field(perfetto):
    assert len(perfetto.packet) > 30
    assert known(perfetto)
    assert {packet.trusted_packet_sequence_id for packet in perfetto.packet} == {1}
    assert [packet.sequence_flags for packet in perfetto.packet if packet.sequence_flags] == [1]


def test_perfetto_tracks(perfetto):
    assert set(tracks(perfetto).values()) == {
        ("farloop",),
        ("farloop", "ports"),
        ("farloop", "flows"),
        ("farloop", "hosts"),
        ("farloop", "ports", "s1:tor"),
        ("farloop", "ports", "s1:tor", "queue"),
        ("farloop", "ports", "tor:r1"),
        ("farloop", "ports", "tor:r1", "queue"),
        ("farloop", "ports", "tor:r1", "pauses of priority 0"),
        ("farloop", "flows", "storage"),
        ("farloop", "flows", "storage", "cwnd"),
        ("farloop", "flows", "storage", "pacing rate"),
        ("farloop", "flows", "storage", "RTT"),
        ("farloop", "flows", "backup"),
        # Not paced: no rate.
        ("farloop", "flows", "backup", "cwnd"),
        ("farloop", "flows", "backup", "RTT"),
    }
    units = {
        packet.track_descriptor.name: packet.track_descriptor.counter
        for packet in perfetto.packet
        if packet.track_descriptor.HasField("counter")
    }
    assert units["queue"].unit == units["cwnd"].unit == CounterDescriptor.UNIT_SIZE_BYTES
    assert units["RTT"].unit == CounterDescriptor.UNIT_TIME_NS
    assert units["pacing rate"].unit_name == "bit/s"


def test_perfetto_ports(perfetto):
    at = events(perfetto, "ports", "tor:r1")
    assert [(time, event.name) for time, event in at] == [
        (2000, "enqueue"),
        (2000, "mark"),
        (2500, "enqueue"),
        (3000, "drop: buffer full"),
        (4000, "dequeue"),
        (4100, "dequeue"),
    ]
    assert {event.type for _, event in at} == {TrackEvent.TYPE_INSTANT}
    assert notes(at[1][1]) == {
        "time_ps": 2_000_000,
        "packet": "data",
        "sequence": 1000,
        "wire_bytes": 1078,
        "class": 2,
        "ecn": "marked",
        "flow": "storage",
    }
    queue = [(time, event.counter_value) for time, event in events(perfetto, "ports", "tor:r1", "queue")]
    assert queue == [(2000, 1078), (2500, 2616), (3000, 2616), (4000, 1538), (4100, 0)]
    pauses = events(perfetto, "ports", "tor:r1", "pauses of priority 0")
    assert [(time, event.type) for time, event in pauses] == [
        (2000, TrackEvent.TYPE_SLICE_BEGIN),
        (4000, TrackEvent.TYPE_SLICE_END),
    ]


def test_perfetto_flows(perfetto):
    assert [(time, event.name) for time, event in events(perfetto, "flows", "storage")] == [
        (1000, "start"),
        (5000, "ACK"),
        (7000, "finish"),
    ]
    assert [(time, event.name) for time, event in events(perfetto, "flows", "backup")] == [
        (3000, "loss: buffer full"),
        (5100, "ACK"),
        (6000, "timer: retransmission"),
        (6000, "change"),
    ]
    assert notes(events(perfetto, "flows", "backup")[0][1])["at"] == "tor:r1"
    assert [event.counter_value for _, event in events(perfetto, "flows", "backup", "cwnd")] == [125_000, 1_460]
    assert [event.counter_value for _, event in events(perfetto, "flows", "storage", "pacing rate")] == [50_000_000_000]
    assert [event.double_counter_value for _, event in events(perfetto, "flows", "storage", "RTT")] == [3999.5]


def test_perfetto_says_what_is_missing(perfetto):
    assert [event.name for _, event in events(perfetto)] == ["17 records; 1 older ones left out"]


def test_pcapng_times_lengths_interfaces_and_comments(packets):
    ns = Decimal("1e-9")
    seen = [(Decimal(str(p.time)) / ns, p.wirelen, p.sniffed_on, p.direction, p.comments[0].decode()) for p in packets]
    assert seen == [
        (1001, 1078, "s1:tor", 2, "sent, queue 0 B; flow storage, data 1000; at 1001000 ps"),
        (2000, 84, "tor:r1", 1, "pauses priority 0; at 2000001 ps"),
        (3000, 1538, "tor:r1", 2, "dropped: buffer full, queue 2616 B; flow backup, data 5000001460; at 3000000 ps"),
        (4000, 84, "tor:r1", 1, "resumes priority 0; at 4000000 ps"),
        (4000, 1078, "tor:r1", 2, "sent, queue 1538 B; flow storage, data 1000; at 4000000 ps"),
        (4100, 1538, "tor:r1", 2, "sent, queue 0 B; flow backup, data 5000000000; at 4100000 ps"),
        (5000, 102, "s1:tor", 1, "arrived; flow storage, ACK 2000; at 5000000 ps"),
        (5100, 102, "s1:tor", 1, "arrived; flow backup, ACK 5000001460; at 5100000 ps"),
    ]


def checksum_holds(packet):
    again = IP(bytes(packet[IP]))
    stated = again.chksum
    del again.chksum
    return IP(bytes(again)).chksum == stated


def test_pcapng_rdma(packets):
    data, answer = packets[0], packets[6]
    assert (data[IP].src, data[IP].dst, data[IP].tos >> 2, data[IP].tos & 3) == ("10.0.0.0", "10.0.0.1", 16, 2)
    assert packets[4][IP].tos & 3 == 3
    # IP, UDP, base transport header, payload, invariant CRC.
    assert data[IP].len == 20 + 8 + 12 + 1000 + 4
    # Wireshark calls RoCEv2 malformed where the payload that UDP states was not captured.
    assert data[UDP].len == len(data[IP]) - 20 == 8 + 12 + 4
    assert data[UDP].dport == 4791
    assert (data[BTH].opcode, data[BTH].dqpn, data[BTH].psn) == (0x07, 2, 1000)
    assert (answer[IP].src, answer[IP].dst) == ("10.0.0.1", "10.0.0.0")
    assert (answer[BTH].opcode, answer[BTH].psn) == (0x11, 2000)
    assert answer[AETH].syndrome == 0x1F
    assert all(checksum_holds(packet) for packet in packets if IP in packet)


def test_pcapng_tcp(packets):
    data, answer = packets[5], packets[7]
    assert data[IP].len == 20 + 20 + 1460
    assert (data[TCP].sport, data[TCP].dport, str(data[TCP].flags)) == (1025, 5000, "A")
    # Cut to 32 bits; the SYN had number 0.
    assert (data[TCP].seq, data[TCP].ack) == ((5_000_000_000 + 1) % 2**32, 1)
    assert (answer[TCP].sport, answer[TCP].dport, str(answer[TCP].flags)) == (5000, 1025, "AE")
    assert (answer[TCP].seq, answer[TCP].ack) == (1, (5_000_001_460 + 1) % 2**32)


def test_pcapng_pauses(packets):
    for packet, time in [(packets[1], 0xFFFF), (packets[3], 0)]:
        assert (packet[Ether].dst, packet[Ether].type, len(packet)) == ("01:80:c2:00:00:01", 0x8808, 60)
        frame = packet[MACControlClassBasedFlowControl]
        assert (frame.c0_enabled, frame.c0_pause_time) == (1, time)
        assert not any(getattr(frame, f"c{priority}_enabled") for priority in range(1, 8))


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark (Wireshark) is not installed")
def test_wireshark_finds_nothing_malformed(sample):
    command = ["tshark", "-r", str(sample / "sample.pcapng")]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert len(shown.splitlines()) == 8
    assert "Malformed" not in shown
    fields = [*command, "-T", "fields", "-e", "frame.protocols"]
    rdma, tcp, pause = "eth:ethertype:ip:udp:infiniband", "eth:ethertype:ip:tcp", "eth:ethertype:macc"
    protocols = subprocess.run(fields, capture_output=True, text=True, check=True).stdout.split()
    assert protocols == [rdma, pause, tcp, pause, rdma, tcp, rdma, tcp]

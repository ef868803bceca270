"""Traces of real runs: opened by other programs' readers, and told what the tables tell."""

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
from conftest import SMALL
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, TCP
from scapy.utils import PcapNgReader
from support.trace_reading import events, known, notes, perfetto_file, tracks

import farloop

FILES = ["trace.pcapng", "trace.perfetto-trace"]
LOSSY = {"run.duration": "8ms", "network.wan_loss": "0.01"}


def packets_of(directory):
    with PcapNgReader(str(directory / "trace.pcapng")) as reader:
        return list(reader)


def manifest_of(directory):
    return json.loads((directory / "manifest.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    path = tmp_path_factory.mktemp("scenario") / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["rdma", "tcp"])
def traced(request, scenario, tmp_path_factory):
    """A run with loss and everything traced, and where it was saved."""
    algorithm = {"rdma": "hpcc", "tcp": "dctcp"}[request.param]
    settings = LOSSY | {"transport.kind": request.param}
    run = farloop.run(scenario, algorithm=algorithm, set=settings, trace="all")
    return run, run.save(tmp_path_factory.mktemp(request.param) / "r", report=False)


def test_a_trace_changes_no_table(traced, scenario):
    run, _ = traced
    plain = farloop.run(scenario, set=dict(run.overrides))
    assert plain.trace is None
    assert run.tables == plain.tables
    assert run.address == plain.address


def test_perfetto_opens_a_run(traced):
    run, directory = traced
    trace = perfetto_file(directory / "trace.perfetto-trace")
    assert known(trace)
    paths = set(tracks(trace).values())
    assert {("farloop", "flows", name, "cwnd") for name in ("intra", "cross", "cross-short")} <= paths
    assert ("farloop", "ports", "s1:tor") in paths or any(path[2:] and path[2].startswith("s1:") for path in paths)
    totals = run.info["totals"]
    at_ports = [path for path in paths if path[1:2] == ("ports",) and len(path) == 3]
    seen = Counter(event.name for path in at_ports for _, event in events(trace, *path[1:]))
    assert seen["arrive"] == totals["packet_hops"]
    assert seen["drop: lost on the link"] == totals["lost"] > 0
    assert seen["dequeue"] == sum(run.ports["packets"].to_pylist())
    marked, rows = run.ports["marked"].to_pylist(), run.flows.to_pylist()
    assert seen["mark"] == sum(marked)
    for row in rows:
        own = Counter(event.name for _, event in events(trace, "flows", row["name"]))
        assert own["start"] == 1
        assert own["finish"] == (row["outcome"] == "finished")
        assert own["loss: lost on the link"] >= row["dropped"]
        echoed = [notes(event)["marked"] for _, event in events(trace, "flows", row["name"]) if event.name == "ACK"]
        assert echoed.count("true") == row["marked"]


def test_scapy_opens_a_run(traced):
    run, directory = traced
    packets = packets_of(directory)
    sent = [packet for packet in packets if packet.comments[0].startswith(b"sent")]
    arrived = [packet for packet in packets if packet.comments[0].startswith(b"arrived")]
    assert len(sent) == sum(run.ports["packets"].to_pylist())
    assert len(arrived) == run.info["totals"]["packet_hops"]
    assert len(sent) + len(arrived) == len(packets)
    assert all(packet[IP].src.startswith("10.") for packet in packets)
    is_tcp = run.scenario["transport"]["kind"] == "tcp"
    assert all((TCP in packet) == is_tcp and (BTH in packet) != is_tcp for packet in packets)
    sources = dict(zip(run.flows["name"].to_pylist(), run.flows["source"].to_pylist(), strict=True))
    for name, packet_count in zip(sources, run.flows["packets"].to_pylist(), strict=True):
        begin = f"flow {name}, data ".encode()
        left = [p for p in sent if p.sniffed_on.startswith(f"{sources[name]}:") and begin in p.comments[0]]
        # A SYN and the last ACK of a handshake are no data.
        bare = [p for p in left if is_tcp and p[IP].len == 40]
        assert len(left) - len(bare) == packet_count
    times = [float(packet.time) for packet in packets]
    assert times == sorted(times)
    assert times[-1] <= 0.008


def test_a_saved_trace_is_listed_loaded_and_copied(traced, tmp_path):
    run, directory = traced
    manifest = manifest_of(directory)
    assert set(FILES) <= set(manifest["files"])
    assert manifest["trace"] == {"items": ["all"], "records": run.trace.records, "left_out": 0}
    again = farloop.load(directory).runs[0]
    copy = again.save(tmp_path / "copy", report=False)
    for name in FILES:
        assert (copy / name).read_bytes() == (directory / name).read_bytes()
    assert manifest_of(copy)["trace"] == manifest["trace"]


def test_the_command_writes_a_trace_and_says_where(command, small):
    flags = ["--set", "run.duration=3ms", "--out", "r"]
    # A finished run in the same place has no trace, and does not answer.
    assert command("run", str(small), *flags, "--no-report").returncode == 0
    first = (command.directory / "r" / "flows.parquet").read_bytes()
    filters = ["--trace", "flows=intra", "--trace", "ports=s1:*", "--trace", "window=1ms..2ms", "--trace", "limit=30"]
    done = command("run", str(small), *flags, *filters)
    assert done.returncode == 0, done.stderr
    assert "trace: r/trace.perfetto-trace" in done.stdout
    assert "30 records; " in done.stdout
    result = command.directory / "r"
    assert (result / "flows.parquet").read_bytes() == first
    assert manifest_of(result)["trace"]["items"] == filters[1::2]
    packets = packets_of(result)
    assert {packet.sniffed_on.partition(":")[0] for packet in packets} == {"s1"}
    assert all(b"flow intra, " in packet.comments[0] for packet in packets)
    assert all(0.001 <= float(packet.time) < 0.002 for packet in packets)
    # Drawn again, the trace stays; run again without one, it goes.
    assert command("report", "r").returncode == 0
    assert set(FILES) <= set(manifest_of(result)["files"])
    assert command("run", str(small), *flags, "--no-report").returncode == 0
    assert not any((result / name).exists() for name in FILES)
    assert "trace" not in manifest_of(result)
    assert pq.read_table(result / "flows.parquet").num_rows == 3


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("flows=intro", 'trace filter "flows=intro": there is no such flow; accepted: '),
        ("ports=s1", 'trace filter "ports=s1": "s1" is no port; accepted: '),
        ("ports=s1:s2", 'trace filter "ports=s1:s2": there is no such port; accepted: '),
        ("window=2ms..1ms", "the window is empty"),
        ("limit=0", "no such number of records"),
        ("everything", "not KEY=VALUE; accepted: flows="),
        ("", "not KEY=VALUE; accepted: flows="),
    ],
)
def test_a_bad_item_is_refused(command, small, item, message):
    done = command("run", str(small), "--trace", item, "--out", "r")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (command.directory / "r").exists()


def test_traces_are_of_one_run(command, small):
    done = command("run", str(small), "--trace", "all", "--seeds", "1-3")
    assert done.returncode == 2
    assert "--trace and --seeds: expected one of them" in done.stderr
    for arguments in (["compare", str(small), "--algorithms", "hpcc,dctcp"], ["reproduce", "gear/fig12"]):
        done = command(*arguments, "--trace", "all")
        assert done.returncode == 2
        assert "--trace" in done.stderr
    assert not (command.directory / "out").exists()


def test_bad_items_in_python(small):
    for trace, message in (
        ([], "there is no item"),
        ([7], "expected texts"),
        (7, "expected texts"),
        ("flows=intro", "no such flow"),
    ):
        with pytest.raises((farloop.FarloopError, farloop.ScenarioError), match=message):
            farloop.run(small, trace=trace)
    with pytest.raises(farloop.FarloopError, match="trace and seeds"):
        farloop.run(small, trace="all", seeds="1-2")


def test_the_files_of_a_trace_come_together_or_not_at_all(small, tmp_path):
    run = farloop.run(small, set={"run.duration": "1ms"}, trace="all")
    (tmp_path / "t" / "trace.pcapng").mkdir(parents=True)
    with pytest.raises(farloop.FarloopError, match=r"trace\.pcapng: cannot be written: it is a folder"):
        run.trace.write(tmp_path / "t")
    (tmp_path / "t" / "trace.pcapng").rmdir()
    assert not list((tmp_path / "t").iterdir())
    (tmp_path / "t" / "trace.pcapng").symlink_to("elsewhere")
    run.trace.write(tmp_path / "t")
    names = {path.name for path in (tmp_path / "t").iterdir()}
    assert names == {"elsewhere", "trace.pcapng", "trace.perfetto-trace"}
    assert (tmp_path / "t" / "trace.pcapng").is_symlink()

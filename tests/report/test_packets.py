"""The report's player for traces: what it is given to play."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL
from support.pages import parsed
from support.trace_reading import notes, perfetto_file, tracks

import farloop
from farloop.formats.perfetto import EVENTS, KINDS, NO_FLOW, port_records
from farloop.views.report import packets
from farloop.views.report import page as report

REPOSITORY = Path(__file__).parents[2]
EVERYTHING = 10**9


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """A run with losses and marks, everything traced, and where it was saved."""
    file = tmp_path_factory.mktemp("scenario") / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    settings = {"run.duration": "6ms", "network.wan_loss": "0.01", "switch.kmin": "20kB", "switch.kmax": "20kB"}
    run = farloop.run(file, algorithm="dctcp", set=settings, trace="all")
    return run, run.save(tmp_path_factory.mktemp("traced") / "out")


def records_of(run, directory, most=EVERYTHING):
    flows = {name: i for i, name in enumerate(run.flows["name"].to_pylist())}
    return port_records(directory / "trace.perfetto-trace", flows, most)


def data_of(html):
    text = re.search('<script type="application/json" id="packets-data">(.*?)</script>', html, re.DOTALL)[1]
    data = json.loads(text)
    types = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f64": "<f8"}
    columns = {
        name: np.frombuffer(base64.b64decode(packed), dtype=types[kind])
        for name, (kind, packed) in data["columns"].items()
    }
    return data, columns


def test_records_are_those_that_perfetto_reads(traced):
    run, directory = traced
    records = records_of(run, directory)
    trace = perfetto_file(directory / "trace.perfetto-trace")
    paths = tracks(trace)
    ports = {
        f"{node}:{peer}": i
        for i, (node, peer) in enumerate(zip(*(run.ports[c].to_pylist() for c in ("node", "peer")), strict=True))
    }
    flows = run.flows["name"].to_pylist()
    waiting, expected = {}, []
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event, path = packet.track_event, paths[packet.track_event.track_uuid]
        if path[1] != "ports":
            continue
        if path[-1] == "queue":
            waiting[path[2]] = event.counter_value
            # The counter of a packet's port follows the packet.
            if expected and expected[-1][1] == ports[path[2]]:
                expected[-1] = (*expected[-1][:-1], event.counter_value)
            continue
        what = {"dequeue": "leave", "mark": "mark"}.get(event.name, "drop" if event.name.startswith("drop: ") else None)
        if what is None:
            continue
        said = notes(event)
        kind = {"data": "data", "ACK": "ack", "NACK": "ack"}.get(said["packet"], "signal")
        row = (
            said["time_ps"],
            ports[path[2]],
            flows.index(said["flow"]),
            what,
            kind,
            said["ecn"] == "marked",
            said["wire_bytes"],
        )
        expected.append((*row, waiting.get(path[2], 0)))
    columns = (
        records.time_ps,
        records.port,
        records.flow,
        records.event,
        records.kind,
        records.marked,
        records.wire_bytes,
        records.queue_bytes,
    )
    rows = [(t, p, f, EVENTS[e], KINDS[k], bool(m), w, q) for t, p, f, e, k, m, w, q in zip(*columns, strict=True)]
    assert records.complete
    assert len(rows) > 1000
    assert rows == expected
    # And what the tables tell: losses and marks are among them.
    assert list(records.event).count(EVENTS.index("leave")) == sum(run.ports["packets"].to_pylist())
    assert list(records.event).count(EVENTS.index("drop")) == run.info["totals"]["lost"] > 0
    assert list(records.event).count(EVENTS.index("mark")) == sum(run.ports["marked"].to_pylist()) > 0


def test_pauses_are_those_of_the_table(tmp_path):
    file = REPOSITORY / "crates" / "web" / "page" / "presets" / "incast.toml"
    run = farloop.run(file, algorithm="dcqcn", set={"run.duration": "3ms"}, trace="all")
    run.trace.write(tmp_path)
    records = records_of(run, tmp_path)
    pause = EVENTS.index("pause")
    counts = np.bincount(
        [p for p, e in zip(records.port, records.event, strict=True) if e == pause], minlength=run.ports.num_rows
    )
    assert counts.tolist() == run.ports["pauses"].to_pylist()
    assert counts.sum() > 0
    assert {f for f, e in zip(records.flow, records.event, strict=True) if e == pause} == {NO_FLOW}
    assert all(a <= b for a, b in zip(records.time_ps, records.time_ps[1:], strict=False))


def test_of_a_long_trace_the_first_records_are_kept(traced, monkeypatch):
    run, directory = traced
    everything, first = records_of(run, directory), records_of(run, directory, 100)
    assert not first.complete
    assert len(first) == 100
    assert first.time_ps == everything.time_ps[:100]
    assert first.port == everything.port[:100]
    assert "These are the first" not in packets.section(run.alone)
    monkeypatch.setattr(packets, "MAX_RECORDS", 100)
    section = packets.section(run.alone)
    assert "These are the first 100 records" in section
    assert f"the trace has {run.trace.records:,} records in all" in re.sub(r"\s+", " ", section)
    assert len(data_of(section)[1]["time"]) == 100


def test_the_page_has_a_player_and_loads_nothing(traced):
    run, directory = traced
    html = (directory / "report.html").read_text("utf-8")
    page = parsed(html)
    assert page.found == []
    assert {"packets", "packets-map", "packets-play", "packets-time", "packets-speed"} <= page.ids
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    data, columns = data_of(html)
    records = records_of(run, directory)
    for name, values in {
        "port": records.port,
        "flow": records.flow,
        "event": records.event,
        "wire": records.wire_bytes,
    }.items():
        assert columns[name].tolist() == list(values), name
    assert columns["queue"].tolist() == list(records.queue_bytes)
    assert np.allclose(columns["time"], np.array(records.time_ps) * 1e-12, rtol=1e-12, atol=0)
    assert [(p["node"], p["peer"]) for p in data["ports"]] == list(
        zip(run.ports["node"].to_pylist(), run.ports["peer"].to_pylist(), strict=True)
    )
    assert {(f["source"], f["destination"]) for f in data["flows"]} == set(
        zip(run.flows["source"].to_pylist(), run.flows["destination"].to_pylist(), strict=True)
    )


def test_it_is_drawn_again_from_the_files(traced, tmp_path):
    run, directory = traced
    section = packets.section(run.alone)
    assert packets.section(farloop.load(directory)) == section
    # A run that nobody has saved has no files yet.
    again = farloop.run(run.file, algorithm="dctcp", set=dict(run.overrides), trace="all")
    assert packets.section(again.alone) == section


def test_without_a_trace_there_is_no_player(comparison):
    assert "packets-player" not in report.page(comparison)


@pytest.mark.parametrize("name", ["<!--<script>", "</script><b>"])
def test_no_name_ends_the_data(name, traced):
    run, directory = traced
    drawn = packets.drawing(run, records_of(run, directory, 10))
    drawn["ports"][0]["node"] = name
    assert not re.search("[<>\u2028]", packets.script_json(drawn, is_data=True))


def test_a_network_of_many_ports_is_cut_to_those_used(traced, monkeypatch):
    run, directory = traced
    monkeypatch.setattr(packets, "MAX_PORTS", 3)
    records = records_of(run, directory, 5)
    drawn = packets.drawing(run, records)
    _, columns = data_of(f'<script type="application/json" id="packets-data">{json.dumps(drawn)}</script>')
    assert len(drawn["ports"]) < run.ports.num_rows
    node, peer = (run.ports[c].to_pylist() for c in ("node", "peer"))
    shown = [(drawn["ports"][p]["node"], drawn["ports"][p]["peer"]) for p in columns["port"]]
    assert shown == [(node[p], peer[p]) for p in records.port]
    ends = {(p["node"], p["peer"]) for p in drawn["ports"]}
    assert {(b, a) for a, b in ends} == ends


def test_what_cannot_be_read_is_said(traced, tmp_path):
    run, directory = traced
    whole = (directory / "trace.perfetto-trace").read_bytes()
    broken = tmp_path / "trace.perfetto-trace"
    flows = {}
    for content, why in ((whole[:-3], "ends within a packet"), (b"no trace at all", "no trace of farloop's")):
        broken.write_bytes(content)
        with pytest.raises(ValueError, match=why):
            port_records(broken, flows, EVERYTHING)
    saved = run.save(tmp_path / "out", report=False)
    loaded = farloop.load(saved)
    (saved / "trace.perfetto-trace").unlink()
    assert "The trace cannot be shown: " in packets.section(loaded)


def test_a_trace_without_packets_is_said(traced):
    run, _ = traced
    # The only flow that is traced begins at 5 ms.
    empty = farloop.run(run.file, algorithm="dctcp", set={"run.duration": "2ms"}, trace="flows=cross-short")
    assert "no packets at ports" in packets.section(empty.alone)

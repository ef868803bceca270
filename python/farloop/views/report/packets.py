"""The report's player for traces: packets that move on a map of the network, from records that stand in the page."""

from __future__ import annotations

import base64
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop.formats.perfetto import EVENTS, KINDS, NO_FLOW, PortRecords, port_records
from farloop.views.html import render
from farloop.views.report.inline import script_json

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison, Run

MAX_RECORDS = 25_000
"""Records of ports in a page, the first of the trace: at most 900 kB, and 15 s at medium speed."""

MAX_PORTS = 4_000
"""Of a network with more ports the page has those at which something happened, and the other ends of their links."""

MAX_FLOWS = 8
"""Flows that the legend names: as many as there are colours."""

SCRIPTS = ("colours.js", "layout.js", "replay.js", "packets.js")
"""All but the last are the playground's as well (scripts/build_playground.py)."""


def has_trace(comparison: Comparison) -> bool:
    """Returns true if one of the runs was traced."""
    return any(run.trace is not None for run in comparison.runs)


def section(comparison: Comparison) -> Markup:
    """The section's HTML: what is shown, the map, its controls, the records, and the script that plays them."""
    run = next(run for run in comparison.runs if run.trace is not None)
    try:
        records = _records(run)
    except (FileNotFoundError, ValueError) as error:
        return render("packets.html.j2", problem=f"The trace cannot be shown: {error}.")
    if not len(records):
        problem = "The trace has no packets at ports: --trace chose none, or nothing happened at that time."
        return render("packets.html.j2", problem=problem)
    names = run.flows["name"].to_pylist()
    sources = [files("farloop.views.report").joinpath(name).read_text("utf-8") for name in SCRIPTS]
    return render(
        "packets.html.j2",
        problem="",
        about=_describe_records(run, records, several=len(comparison.runs) > 1),
        # Of more flows than there are colours the legend names none, since two would have the same.
        flows=[(flow, names[flow]) for flow in sorted({flow for flow in records.flow if flow != NO_FLOW})],
        max_flows=MAX_FLOWS,
        data=script_json(drawing(run, records), is_data=True),
        script="(() => {\n" + "\n".join(sources) + "\n})();",
    )


def drawing(run: Run, records: PortRecords) -> dict[str, Any]:
    """Returns the script's data; columns of numbers as little-endian base64."""
    port = np.asarray(records.port, dtype=np.int64)
    names = ("node", "peer", "link", "kind", "datacenter", "rate_bps", "delay_ps")
    columns = [run.ports[name].to_pylist() for name in names]
    rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    if len(rows) > MAX_PORTS:
        used = {int(p) for p in np.unique(port)}
        ends = {frozenset((rows[p]["node"], rows[p]["peer"])) for p in used}
        kept = [i for i, row in enumerate(rows) if frozenset((row["node"], row["peer"])) in ends]
        port = np.searchsorted(kept, port)
        rows = [rows[i] for i in kept]
    pairs = dict.fromkeys(zip(run.flows["source"].to_pylist(), run.flows["destination"].to_pylist(), strict=True))
    return {
        "events": EVENTS,
        "kinds": KINDS,
        "ports": rows,
        "flows": [{"source": source, "destination": destination} for source, destination in pairs],
        "columns": {
            "time": ["f64", _base64(np.asarray(records.time_ps, dtype="<f8") * 1e-12)],
            "port": _pack(port),
            "flow": ["u32", _base64(np.asarray(records.flow, dtype="<u4"))],
            "event": _pack(records.event),
            "kind": _pack(records.kind),
            "marked": _pack(records.marked),
            "wire": _pack(records.wire_bytes),
            "queue": _pack(records.queue_bytes),
        },
    }


def _records(run: Run) -> PortRecords:
    """The records that the page shows."""
    assert run.trace is not None
    flows = {name: i for i, name in enumerate(run.flows["name"].to_pylist())}
    with run.trace.perfetto() as path:
        return port_records(path, flows, MAX_RECORDS)


def _describe_records(run: Run, records: PortRecords, *, several: bool) -> str:
    assert run.trace is not None
    begin, end = (f"{records.time_ps[i] / 1e9:.4f} ms" for i in (0, -1))
    of = f" of {run.label}" if several else ""
    about = f"What the trace{of} recorded at ports from {begin} to {end}, slowed down."
    if not records.complete:
        about += (
            f" These are the first {len(records):,} records of what left, was dropped, marked or paused there; the trace has "
            f"{run.trace.records:,} records in all, which Perfetto and Wireshark show. --trace window=BEGIN..END chooses another time."
        )
    if run.trace.left_out:
        about += f" {run.trace.left_out:,} older records did not fit the trace's limit."
    return about


def _pack(values: Any) -> list[str]:
    """Whole numbers in as few bytes as the largest needs."""
    numbers = np.asarray(values, dtype=np.int64)
    most = int(numbers.max(initial=0))
    for kind, of in (("u8", "<u1"), ("u16", "<u2"), ("u32", "<u4")):
        if most <= np.iinfo(of).max:
            return [kind, _base64(numbers.astype(of))]
    return ["f64", _base64(numbers.astype("<f8"))]


def _base64(numbers: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(numbers.tobytes()).decode()

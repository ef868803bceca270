"""The report's map of the network: drawn by a script of its own from data that stand in the page."""

from __future__ import annotations

import base64
import json
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop.network_map import MAP_METRICS, NetworkMap, map_of
from farloop.palette import HEAT, IDLE
from farloop.report.inline import script_json
from farloop.tables import Floats
from farloop.units import rate_text, time_text

if TYPE_CHECKING:
    from farloop.results import Comparison, Run

MOST_FRAMES = 200
"""Steps of the slider."""

MOST_NUMBERS = 1_000_000
"""Of all frames of a page together; with more ports and runs there are fewer steps."""

LEAST_FRAMES = 20


def section(comparison: Comparison) -> str:
    """The section's HTML: controls, an empty drawing, the data, and the script that draws."""
    data = script_json(drawing(comparison), is_data=True)
    script = files("farloop.report").joinpath("network_map.js").read_text("utf-8")
    return (
        '<h2 id="network">Network</h2><p class="soft">Every link with its two directions, each beside the node that sends. Point at links '
        "and nodes for names and figures. Longest queue, time paused and drops are those of the port that sends; of the links of several "
        "hosts drawn as one, the mean load, the worst queue and pause, and the sum of drops.</p>"
        f'<div class="card map" id="map"><div class="controls"></div><div class="scroll"><svg role="img" '
        f'aria-label="{escape("Map of the network")}"></svg></div><div class="legend soft"></div><div class="tip" hidden></div></div>'
        f'<script type="application/json" id="map-data">{data}</script><script>{script}</script>'
    )


def drawing(comparison: Comparison) -> dict[str, Any]:
    """What the script needs; each distinct network once."""
    maps: dict[str, tuple[int, NetworkMap]] = {}
    networks: list[dict[str, Any]] = []
    runs: list[tuple[Run, int, NetworkMap]] = []
    for run in comparison.runs:
        key = _key(run)
        if key not in maps:
            maps[key] = (len(networks), map_of(run.ports))
            networks.append(_network(maps[key][1]))
        runs.append((run, *maps[key]))
    recorded = sum(len(run.samples.objects("port")) for run in comparison.runs)
    most = min(MOST_FRAMES, max(LEAST_FRAMES, MOST_NUMBERS // max(1, recorded * len(MAP_METRICS))))
    return {
        "metrics": [{"key": m.key, "title": m.title, "unit": m.unit} for m in MAP_METRICS],
        "colours": HEAT,
        "idle": IDLE,
        "networks": networks,
        "runs": [_run(run, index, drawn, most) for run, index, drawn in runs],
    }


def _key(run: Run) -> str:
    columns = [run.ports[name].to_pylist() for name in ("node", "peer", "rate_bps", "delay_ps")]
    return json.dumps(columns)


def _network(drawn: NetworkMap) -> dict[str, Any]:
    return {
        "width": round(drawn.width, 3),
        "height": round(drawn.height, 3),
        "places": [
            [p.name, p.kind, p.datacenter, round(p.x, 3), round(p.y, 3), p.hosts]
            for p in drawn.places
        ],
        "edges": [
            [e.a, e.b, rate_text(e.rate), time_text(e.delay), len(e.there), round(drawn.bend(e), 3)]
            for e in drawn.edges
        ],
    }  # fmt: skip


def _run(run: Run, network: int, drawn: NetworkMap, most: int) -> dict[str, Any]:
    known, times, frames = drawn.frames(run, most)
    return {
        "label": run.label,
        "network": network,
        "totals": {key: [float(f"{v:.4g}") for v in values] for key, values in drawn.totals(run).items()},
        "recorded": known,
        "times": [float(f"{t:.6g}") for t in times],
        "frames": {key: _packed(values) for key, values in frames.items()},
    }


def _packed(values: Floats) -> str:
    """Single-precision numbers, row by row, in base64."""
    return base64.b64encode(values.astype("<f4", copy=False).tobytes()).decode("ascii") if np.size(values) else ""

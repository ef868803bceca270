"""The report's map of the network: drawn by a script of its own from data that stand in the page."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop.palette import FAILED, HEAT, IDLE
from farloop.results.map_facts import failures, frames_over_seeds, metrics_over_seeds
from farloop.results.network_map import MAP_METRICS, NetworkMap, build_map
from farloop.results.replicas import Replicas, replicas
from farloop.results.tables import Floats
from farloop.units import rate_text, time_text
from farloop.views.html import render
from farloop.views.report.inline import script_json

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison, Run

MAX_FRAMES = 200
"""Steps of the slider."""

MAX_NUMBERS = 1_000_000
"""Of all frames of a page together; with more ports and runs there are fewer steps."""

MIN_FRAMES = 20


def section(comparison: Comparison) -> Markup:
    """The section's HTML: controls, an empty drawing, the data, and the script that draws."""
    events = [event for run in comparison.runs for event in run.info.get("events", [])]
    return render(
        "network_map.html.j2",
        data=script_json(drawing(comparison), is_data=True),
        script=files("farloop.views.report").joinpath("network_map.js").read_text("utf-8"),
        has_seeds=any(of.n > 1 for of in replicas(comparison.runs)),
        has_failures=any("down" in event["what"].split(", ") for event in events),
    )


def drawing(comparison: Comparison) -> dict[str, Any]:
    """Returns the script's data; each distinct network once, several seeds of one case as one run."""
    maps: dict[str, tuple[int, NetworkMap]] = {}
    networks: list[dict[str, Any]] = []
    cases: list[tuple[Replicas, int, NetworkMap]] = []
    for of in _on_one_network(replicas(comparison.runs)):
        run = of.runs[0]
        key = _key(run)
        if key not in maps:
            maps[key] = (len(networks), build_map(run.ports))
            networks.append(_network(maps[key][1]))
        cases.append((of, *maps[key]))
    recorded = sum(len(run.samples.objects("port")) for run in comparison.runs)
    most = min(MAX_FRAMES, max(MIN_FRAMES, MAX_NUMBERS // max(1, recorded * len(MAP_METRICS))))
    shown = [_run_data(of, index, drawn, most) for of, index, drawn in cases]
    # What the gear of no run has is no choice.
    known = [m for m in MAP_METRICS if not shown or any(_has_values(run["totals"][m.key]) for run in shown)]
    return {
        "metrics": [{"key": m.key, "title": m.title, "unit": m.unit} for m in known],
        "colours": HEAT,
        "idle": IDLE,
        "failed": FAILED,
        "networks": networks,
        "runs": shown,
    }


def _on_one_network(cases: list[Replicas]) -> list[Replicas]:
    """The cases; one whose seeds have different networks is taken apart."""
    separated = []
    for of in cases:
        same = len({_key(run) for run in of.runs}) == 1
        separated += [of] if same else [Replicas(run.label, [run]) for run in of.runs]
    return separated


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
            [e.a, e.b, _range(rate_text, e.rates), _range(time_text, e.delays), len(e.there), round(drawn.bend(e), 3)]
            for e in drawn.edges
        ],
    }  # fmt: skip


def _range(text: Callable[[float], str], ends: tuple[float, float]) -> str:
    """Values of the links of an edge, all of them, or from the least to the largest."""
    low, high = map(text, ends)
    return low if low == high else f"{low} to {high}"


def _run_data(of: Replicas, network: int, drawn: NetworkMap, most: int) -> dict[str, Any]:
    known, times, frames = frames_over_seeds(drawn, of.runs, most)
    totals = metrics_over_seeds(drawn, of.runs)
    spread = (
        {key: [_round_values(each.low), _round_values(each.high)] for key, each in totals.items()} if of.n > 1 else None
    )
    down = failures(drawn, of.runs[0])
    return {
        "label": of.caption,
        "network": network,
        "totals": {key: _round_values(each.mean) for key, each in totals.items()},
        "spread": spread,
        "failed": [[edge, [[float(f"{t:.6g}") for t in span] for span in spans]] for edge, spans in down.items()],
        "recorded": known,
        "times": [float(f"{t:.6g}") for t in times],
        "frames": {key: _pack(values) for key, values in frames.items()},
    }


def _has_values(values: Sequence[float | None]) -> bool:
    return not values or any(value is not None for value in values)


def _round_values(values: Floats) -> list[float | None]:
    """Numbers with the digits that are shown; `None` where there is none."""
    return [None if np.isnan(v) else float(f"{v:.4g}") for v in values]


def _pack(values: Floats) -> str:
    """Single-precision numbers, row by row, in base64."""
    return base64.b64encode(values.astype("<f4", copy=False).tobytes()).decode("ascii") if np.size(values) else ""

#!/usr/bin/env python3
"""What `make demo` shows: one flow inside a datacenter and one across share a port, under eight algorithms.

    scripts/demo.py [--keep-picture]

Ends with a table, what it shows in a sentence, where the report is, and what to type next. With --keep-picture the table's throughputs are
drawn as the README's picture, with the table in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from farloop import api
from farloop.errors import FarloopError
from farloop.output import saving
from farloop.output.directories import directory
from farloop.results.run import Comparison
from farloop.running.progress import reporter
from farloop.units import rate
from farloop.views import terminal
from farloop.views.report.tables import run_rows

ROOT = Path(__file__).resolve().parent.parent
FIGURE = "gear/fig09"
ALGORITHMS = ("gear", "gear-literal", "hpcc", "dctcp", "gemini", "timely", "dcqcn", "annulus")
OUT = Path("out") / "demo"
PICTURE = OUT / "figures" / "fig09.png"
KEPT = ROOT / "docs" / "images" / "gear-fig09.svg"
"""The README's picture; its <metadata> is the table of the runs that it shows, as JSON."""

STYLE = """
text { font: 16px system-ui, sans-serif; fill: #1a2230 } .number { font-size: 15px }
.inside { fill: #0060a8 } .across { fill: #b84400 } .axis { stroke: #8a97a8 }
@media (prefers-color-scheme: dark) {
  text { fill: #e8ecf2 } .inside { fill: #5cb3ff } .across { fill: #ff9a52 } .axis { stroke: #66748a }
}
"""
"""The picture has no ground of its own, and ink for light and for dark pages."""

RATE = "100Gbps"
"""The rate of the port that both flows share."""

EVEN = (0.8, 1.25)
"""Ratios of throughput that count as equal shares."""

COLUMNS = 80

FIRST_WORDS = """\
One flow inside a datacenter (round trip 32 us) and one to another datacenter
(50 ms) share a port of 100 Gbps, for two seconds, under one algorithm after the
other. On two idle cores this takes half a minute.
"""

CALIBRATED = "gear's parameters were chosen by this very figure, so its even shares confirm nothing; gear-literal is what the paper prints."

NEXT = (
    ('export PATH="$PWD/.venv/bin:$PATH"', "farloop is a command from now on"),
    ("farloop compare examples/my-network.toml --algorithms cubic,bbr,gemini", "two sites: make the file yours"),
    ("farloop explain gear", "what an algorithm does and needs"),
    (f"farloop reproduce {FIGURE}", "this figure, with a verdict on the paper's claim"),
)
"""What to type next, and why."""


def numbers(comparison: Comparison) -> list[dict[str, Any]]:
    """A row for each algorithm, in words: both throughputs, their ratio, Jain's index, the longest queue, how long PFC paused."""
    header, rows = run_rows(comparison)
    names = {
        "run": "algorithm",
        "a flow inside": "inside",
        "a flow across": "across",
        "inside/across": "ratio",
        "Jain": "Jain",
    }
    names |= {"longest queue": "max queue", "paused": "paused"}
    return [{names[key]: cell for key, cell in zip(header, row, strict=True) if key in names} for row in rows]


def sentence(ratios: Sequence[tuple[str, float]]) -> str:
    """What the runs show; `ratios` are throughput inside over across, by algorithm."""
    even = [name for name, ratio in ratios if EVEN[0] <= ratio <= EVEN[1]]
    parts = [f"{len(even)} of {len(ratios)} algorithms share the port evenly ({', '.join(even) or 'none'})"]
    for flow, uneven in (
        ("across", [(1 / ratio, name) for name, ratio in ratios if ratio < EVEN[0]]),
        ("inside", [(ratio, name) for name, ratio in ratios if ratio > EVEN[1]]),
    ):
        if uneven:
            (first, name), *others = sorted(uneven)
            more = "".join(f", {_times(times)} under {other}" for times, other in others)
            parts.append(f"the flow {flow} gets {_times(first)} times as much under {name}{more}")
    return "; ".join(parts) + "."


def picture(rows: Sequence[dict[str, Any]]) -> str:
    """The throughputs of the table as an SVG: a pair of bars for each algorithm. At 350 px of width its text is 11 px high or more."""
    left, full, row, top = 112, 268, 44, 40
    height = top + row * len(rows) + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="560" height="{560 * height // 460}" viewBox="0 0 460 {height}" role="img">',
        "<title>Throughput of a flow inside a datacenter and one across, by algorithm</title>",
        f"<metadata>{json.dumps(rows)}</metadata>",
        f"<style>{STYLE}</style>",
        f'<rect class="inside" x="{left}" y="9" width="14" height="14"/><text x="{left + 20}" y="22">inside</text>',
        f'<rect class="across" x="{left + 92}" y="9" width="14" height="14"/><text x="{left + 112}" y="22">across, 50 ms</text>',
    ]
    for at, cells in enumerate(rows):
        y = top + row * at
        parts.append(f'<text x="{left - 8}" y="{y + 22}" text-anchor="end">{cells["algorithm"]}</text>')
        for flow, lower in (("inside", 0), ("across", 17)):
            width = max(1.0, full * rate(cells[flow].replace(" ", "")) / rate(RATE))
            parts.append(f'<rect class="{flow}" x="{left}" y="{y + lower}" width="{width:.1f}" height="15"/>')
            parts.append(f'<text class="number" x="{left + width + 5:.1f}" y="{y + lower + 12.5}">{cells[flow]}</text>')
    parts.append(f'<path class="axis" d="M{left} {top - 4}V{height - 4}"/>')
    return "\n".join([*parts, "</svg>", ""])


def _times(factor: float) -> str:
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.1f}"


def main() -> int:
    """Runs the demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep-picture", action="store_true", help="replace the README's picture by the one made here")
    options = parser.parse_args()
    print(FIRST_WORDS)  # noqa: T201
    try:
        with directory(OUT) as aside:
            with reporter(quiet=not sys.stderr.isatty()) as progress:
                comparison = api.compare(FIGURE, ALGORITHMS, progress=progress, store=aside.store)
            saving.fill_comparison(comparison, aside.path, aside.store, report=True)
    except FarloopError as error:
        print(f"demo: {error}", file=sys.stderr)  # noqa: T201
        return 2
    rows = numbers(comparison)
    terminal.entries(rows)
    lines = [
        "\n" + textwrap.fill(sentence([(run.algorithm, run.summary["ratio"]) for run in comparison]), COLUMNS),
        "\n" + textwrap.fill(CALIBRATED, COLUMNS) + "\n",
        f"report:   {OUT / 'report.html'}",
        f"picture:  {PICTURE}",
        "\nnext:",
        *(f"  {command}\n      {why}" for command, why in NEXT),
    ]
    print("\n".join(lines))  # noqa: T201
    if options.keep_picture:
        KEPT.write_text(picture(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

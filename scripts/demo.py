#!/usr/bin/env python3
"""What `make demo` shows: one flow inside a datacenter and one across share a port, under eight algorithms.

    scripts/demo.py [--keep-picture]

Ends with a table, what it shows in a sentence, where the report is, and what to type next. With --keep-picture the picture, with the
table's numbers in it, replaces the README's.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from farloop import api
from farloop.errors import FarloopError
from farloop.output import saving
from farloop.output.directories import directory
from farloop.results.run import Comparison
from farloop.running.progress import reporter
from farloop.views import terminal
from farloop.views.report.tables import run_rows

ROOT = Path(__file__).resolve().parent.parent
FIGURE = "gear/fig09"
ALGORITHMS = ("gear", "gear-literal", "hpcc", "dctcp", "gemini", "timely", "dcqcn", "annulus")
OUT = Path("out") / "demo"
PICTURE = OUT / "figures" / "fig09.png"
KEPT = ROOT / "docs" / "images" / "gear-fig09.png"
"""The README's picture."""

TABLE = "farloop demo"
"""The text in the README's picture that holds the numbers of the runs that it shows, as JSON."""

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
        info = PngInfo()
        info.add_text(TABLE, json.dumps(rows))
        with Image.open(PICTURE) as picture:
            # As many colours as lines need: a third of the size.
            picture.convert("RGB").quantize(128).save(KEPT, pnginfo=info, optimize=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

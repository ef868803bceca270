#!/usr/bin/env python3
"""Writes the tables of docs/findings/training-distance.md and draws its picture, from the outputs of examples/training-distance.

scripts/training_distance.py OUT      OUT/STUDY is the output of `farloop sweep STUDY.toml`, for each study in examples/training-distance
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from marked import placed

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "findings" / "training-distance.md"
PICTURE = ROOT / "docs" / "images" / "training-distance.png"

M_PER_S = 2e8
"""Light in fibre."""

STUDIES = ("one-path", "many-paths")

WAYS = {"all-reduce": "all-reduce across", "pipeline": "pipeline across", "diloco": "DiLoCo"}
"""Three ways to train over two sites."""

Row = Mapping[str, Any]


def points(out: Path) -> list[Row]:
    """The points of all studies that ran."""
    return [row for study in STUDIES for row in pq.read_table(out / study / "points.parquet").to_pylist()]


def way(row: Row) -> str:
    """How the model is trained."""
    if row.get("job.train.inner_steps"):
        return "diloco"
    return "pipeline" if row["job.train.outermost"] == "pipeline" else "all-reduce"


def kilometres(row: Row) -> float:
    """How far apart the sites are."""
    return round(float(row["network.wan_delay"]) * M_PER_S / 1e3, 6)


def time(row: Row) -> float:
    """Seconds of a training step, of which DiLoCo has several in an iteration; NaN where it did not end."""
    steps = row.get("job.train.inner_steps") or 1
    return float("nan") if row["unfinished_iterations"] else float(row["iteration_time"]) / float(steps)


def slowdown(row: Row) -> float:
    """How many times the ideal network's that is."""
    return float("nan") if row["unfinished_iterations"] else float(row["iteration_slowdown"])


def ideals(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Kilometres, and seconds of a training step on the ideal network."""
    return sorted({kilometres(row): time(row) / slowdown(row) for row in rows}.items())


def widest(rows: Sequence[Row]) -> str:
    """The widest 95 % interval of a point over its seeds, as a part of its mean, and which point it is of."""
    row = max(rows, key=lambda row: float(row["iteration_time ci95"]) / float(row["iteration_time"]))
    part = float(row["iteration_time ci95"]) / float(row["iteration_time"])
    return f"± {part:.1%} ({way(row)}, {row['algorithm']}, {kilometres(row):,.0f} km)"


def table(rows: Sequence[Row]) -> list[str]:
    """Algorithms down, distances across: seconds, and in brackets how many times the ideal network's; means over seeds."""
    columns = sorted({kilometres(row) for row in rows})
    by = {(row["algorithm"], kilometres(row)): row for row in rows}

    def cell(algorithm: str, km: float) -> str:
        row = by.get((algorithm, km))
        if row is None:
            return ""
        if row["unfinished_iterations"]:
            return "unfinished"
        return f"{time(row):.2f} ({slowdown(row):.2f}){'*' if row['dropped'] else ''}"

    lines = [
        f"| seconds (times ideal) | {' | '.join(f'{km:,.0f} km' for km in columns)} |",
        f"| --- |{' ---: |' * len(columns)}",
    ]
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        lines.append(f"| `{algorithm}` | {' | '.join(cell(algorithm, km) for km in columns)} |")
    cells = (f"{seconds:.2f}" for _, seconds in ideals(rows))
    return [*lines, f"| ideal network | {' | '.join(cells)} |"]


def draw(rows: Sequence[Row]) -> None:
    """The picture: time of an iteration and slowdown over distance, an algorithm in one colour everywhere."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator, StrMethodFormatter

    figure, axes = plt.subplots(2, len(WAYS), figsize=(11, 6.5), sharex=True, sharey="row", layout="constrained")
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    for column, (name, title) in enumerate(WAYS.items()):
        part = [row for row in rows if way(row) == name]
        above, below = axes[0][column], axes[1][column]
        for number, algorithm in enumerate(algorithms):
            own = sorted((row for row in part if row["algorithm"] == algorithm), key=kilometres)
            x = [kilometres(row) for row in own]
            look = {"marker": "o", "markersize": 3, "label": algorithm, "color": f"C{number}"}
            above.plot(x, [time(row) for row in own], **look)
            below.plot(x, [slowdown(row) for row in own], **look)
        above.plot(*zip(*ideals(part), strict=True), "k--", linewidth=1, label="ideal network")
        above.set(title=title)
        below.set(xscale="log", xlabel="distance of the sites (km)")
        below.set_xticks([km for km, _ in ideals(part)])
        below.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        below.xaxis.set_minor_locator(NullLocator())
        below.tick_params(axis="x", labelsize=7)
        for axis in (above, below):
            axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("seconds per training step")
    axes[1][0].set_ylabel("times the ideal network's")
    axes[0][0].legend(fontsize=8, ncols=2)
    figure.savefig(PICTURE, dpi=110)


def main() -> int:
    """Writes all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="where the studies' outputs are")
    rows = points(parser.parse_args().out)
    text = PAGE.read_text("utf-8")
    for name in WAYS:
        content = "\n".join(table([row for row in rows if way(row) == name]))
        text = placed(text, name, "training_distance.py", content)
    PAGE.write_text(text, encoding="utf-8")
    draw(rows)
    print("widest interval:", widest(rows))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())

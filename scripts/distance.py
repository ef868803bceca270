#!/usr/bin/env python3
"""Writes the tables of docs/findings/distance.md and draws its picture, from the outputs of the studies in examples/distance.

scripts/distance.py OUT               OUT/STUDY is the output of `farloop sweep STUDY.toml`, for studies in examples/distance; the tables
                                      of studies that OUT does not have stay
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from marked import placed

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "findings" / "distance.md"
PICTURE = ROOT / "docs" / "images" / "distance.png"

M_PER_S = 2e8
"""Light in fibre."""

Row = Mapping[str, Any]


def points(out: Path, study: str) -> list[Row]:
    """The points of a study that ran."""
    rows: list[Row] = pq.read_table(out / study / "points.parquet").to_pylist()
    return rows


def kilometres(row: Row) -> float:
    """How far apart the sites are."""
    return round(float(row["network.wan_delay"]) * M_PER_S / 1e3, 6)


def cell(row: Row | None, metric: str) -> str:
    """A mean over seeds; where flows did not finish their number, and a star where packets were dropped."""
    if row is None:
        return ""
    if row["unfinished"]:
        return f"{row['unfinished']:.2g} unfinished"
    return f"{row[metric]:.3g}{'*' if row['dropped'] else ''}"


def table(
    rows: Sequence[Row], across: Callable[[Row], Any], head: str, metric: str, text: Callable[[Any], str]
) -> list[str]:
    """Algorithms down, something across."""
    columns = sorted({across(row) for row in rows})
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    by = {(row["algorithm"], across(row)): row for row in rows}
    lines = [f"| {head} | {' | '.join(text(column) for column in columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    for algorithm in algorithms:
        cells = (cell(by.get((algorithm, column)), metric) for column in columns)
        lines.append(f"| `{algorithm}` | {' | '.join(cells)} |")
    return lines


def sections(out: Path) -> dict[str, list[str]]:
    """The tables by the names of their places in the page."""

    def km(value: float) -> str:
        return f"{value:,.0f} km"

    made: dict[str, list[str]] = {}
    given = {folder.name for folder in out.iterdir()}
    for study, is_trimmed in (("one-path", None), ("many-paths", True), ("many-paths", False)):
        if study not in given:
            continue
        rows = points(out, study)
        if is_trimmed is not None:
            rows = [row for row in rows if (row["switch.trim"] != "none") == is_trimmed]
        name = study + {None: "", True: " trimmed", False: " paused"}[is_trimmed]
        for pattern in ("permutation", "incast"):
            for buffer, size in ((8e6, "shallow"), (256e6, "deep")):
                part = [row for row in rows if row["workload.pattern"] == pattern and row["switch.buffer"] == buffer]
                made[f"{name}, {pattern}, {size}"] = table(part, kilometres, "mean slowdown", "mean_slowdown", km)
    for study in sorted({"all-reduce-one-path", "all-reduce-many-paths"} & given, reverse=True):
        rows = [row for row in points(out, study) if row["switch.buffer"] == 8e6 and row.get("switch.trim") != "none"]
        made[study] = table(rows, kilometres, "mean slowdown across", "cross_mean_slowdown", km)
    for study in sorted({"loss-one-path", "loss-many-paths"} & given, reverse=True):
        for distance in (10, 1_000, 10_000):
            rows = [row for row in points(out, study) if kilometres(row) == distance]
            made[f"{study}, {distance} km"] = table(
                rows, lambda row: float(row["network.wan_loss"]), "mean slowdown", "mean_slowdown", lambda p: f"{p:g}"
            )
    return made


def curves(text: str, name: str) -> dict[str, list[tuple[float, float]]]:
    """Kilometres and mean slowdown of each algorithm, from a table of the page.

    NaN where flows did not finish: a mean of those that did would look like a success.
    """
    rows = [
        line.strip("| ").split(" | ")
        for line in text.split(f"<!-- {name}: ")[1].split("<!-- end of")[0].splitlines()
        if "|" in line
    ]
    distances = [float(head.removesuffix(" km").replace(",", "")) for head in rows[0][1:]]

    def slowdown(cell: str) -> float:
        return float("nan") if "unfinished" in cell else float(cell.rstrip("*"))

    return {row[0].strip("`"): list(zip(distances, map(slowdown, row[1:]), strict=True)) for row in rows[2:]}


def draw(text: str) -> None:
    """The picture of the page's tables: mean slowdown over distance, an algorithm in one colour everywhere."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    colours: dict[str, str] = {}
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharex=True, layout="constrained")
    panels = (("one-path", "one path, PFC"), ("many-paths trimmed", "many paths, trimming"))
    for column, (study, title) in enumerate(panels):
        for line, pattern in enumerate(("permutation", "incast")):
            ax = axes[line][column]
            for algorithm, own in curves(text, f"{study}, {pattern}, shallow").items():
                colour = colours.setdefault(algorithm, f"C{len(colours)}" if len(colours) < 10 else "black")
                ax.plot(*zip(*own, strict=True), marker="o", markersize=3, label=algorithm, color=colour)
            ax.set(xscale="log", yscale="log", title=f"{pattern}: {title}")
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_minor_formatter(NullFormatter())
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            ax.grid(alpha=0.3)
            ax.legend(fontsize=8, ncols=2)
            if column == 0:
                ax.set_ylabel("mean FCT slowdown")
            if line == 1:
                ax.set_xlabel("distance of the sites (km)")
    figure.savefig(PICTURE, dpi=110)


def main() -> int:
    """Writes all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="where the studies' outputs are")
    out: Path = parser.parse_args().out
    text = PAGE.read_text("utf-8")
    for name, lines in sections(out).items():
        # Not every table is on the page.
        if f"<!-- {name}: " in text:
            text = placed(text, name, "distance.py", "\n".join(lines))
    PAGE.write_text(text, encoding="utf-8")
    draw(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes the tables of studies into a page and draws its picture.

    scripts/study_tables.py examples/distance/tables.toml out/distance

TABLES.toml names the page, the tables and the picture. OUT/STUDY is the output of `farloop sweep STUDY.toml`. Tables of studies that OUT
does not have stay unchanged. The keys:

    page                the page, from the checkout's root
    [picture]           file, heads of the axes, and panels: the titles and tables that are drawn, line by line
    [defaults]          keys of all tables
    [[table]]           name (the page's marker), study (one or several), where, rows (a key, or "study"), columns and cell

Conditions and values are expressions over the columns of points.parquet, as in a study's `where`. A missing value counts as 0.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import page_tables
import pyarrow.parquet as pq

from farloop.studies.sweep.expressions import Expression

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = "study_tables.py"

Row = Mapping[str, Any]


def evaluate(expression: str, row: Row) -> Any:
    """Returns the value of an expression for a point."""
    return Expression.read(expression).evaluate(lambda key: 0 if row.get(key) is None else row[key])


def points(out: Path, studies: Sequence[str]) -> list[Row]:
    """Returns the points of studies that ran, each with the name of its study; none if an output is missing."""
    files = {study: out / study / "points.parquet" for study in studies}
    if not all(file.is_file() for file in files.values()):
        return []
    return [{**row, "study": study} for study, file in files.items() for row in pq.read_table(file).to_pylist()]


def cell(keys: Mapping[str, Any], row: Row | None) -> str:
    """Returns a cell: the text of the first condition of `instead` that holds, otherwise that of `cell`, marked if `star` holds."""
    if row is None:
        return ""
    values = {name: evaluate(expression, row) for name, expression in keys.get("values", {}).items()}
    for condition, text in keys.get("instead", []):
        if evaluate(condition, row):
            return str(text).format(**row, **values)
    star = "*" if evaluate(keys.get("star", "0"), row) else ""
    return str(keys["cell"]).format(**row, **values) + star


def content(keys: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """Returns a table in Markdown: `rows` down, `columns` across, and `last`, a row of what all algorithms share."""
    columns = sorted({evaluate(keys["columns"], row) for row in rows})
    by = {(row[keys["rows"]], evaluate(keys["columns"], row)): row for row in rows}
    lines = [
        [f"`{name}`", *(cell(keys, by.get((name, column))) for column in columns)]
        for name in dict.fromkeys(row[keys["rows"]] for row in rows)
    ]
    if "last" in keys:
        shared = {evaluate(keys["columns"], row): row for row in rows}
        own = {"cell": keys["last"]["cell"], "values": keys.get("values", {})}
        lines.append([keys["last"]["name"], *(cell(own, shared[column]) for column in columns)])
    return page_tables.table([keys["head"], *(keys["column"].format(column) for column in columns)], lines)


def widest(keys: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """Returns the widest 95 % interval of a metric over the seeds, as a part of its mean, and the algorithm it belongs to."""
    metric = keys["interval"]
    part, algorithm = max((row[f"{metric} ci95"] / row[metric], row["algorithm"]) for row in rows)
    return f"widest 95 % interval ± {part:.1%} ({algorithm})"


def curves(text: str, name: str, number: int) -> dict[str, tuple[list[float], list[float]]]:
    """Returns the curve of each row of a table of a page: the heads as numbers, and the `number`-th number of each cell.

    NaN where runs did not finish: a mean of those that did would look like a success.
    """
    heads, *rows = page_tables.read(text, name)
    x = [float(head.split()[0].replace(",", "")) for head in heads[1:]]

    def value(text: str) -> float:
        words = text.replace("(", " ").replace(")", " ").rstrip("*").split()
        return float("nan") if not words or "unfinished" in words else float(words[min(number, len(words) - 1)])

    return {row[0].strip("`"): (x, [value(text) for text in row[1:]]) for row in rows}


def draw(picture: Mapping[str, Any], text: str) -> None:
    """Draws tables of a page over their columns, each algorithm in one colour."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    panels: list[list[Sequence[str]]] = picture["panels"]
    shape = (len(panels), len(panels[0]))
    figure, axes = plt.subplots(
        *shape, figsize=picture["inches"], sharex=True, sharey=picture["share_y"], layout="constrained", squeeze=False
    )
    colours: dict[str, str] = {}
    for line, row in enumerate(panels):
        for column, (title, name) in enumerate(row):
            ax = axes[line][column]
            for label, (x, y) in curves(text, name, picture["numbers"][line]).items():
                if label == picture.get("ideal"):
                    if not picture["numbers"][line]:
                        ax.plot(x, y, "k--", linewidth=1, label=label)
                    continue
                colour = colours.setdefault(label, f"C{len(colours)}" if len(colours) < 10 else "black")
                ax.plot(x, y, marker="o", markersize=3, label=label, color=colour)
            ax.set(xscale="log", yscale=picture["y_scale"], title=title)
            if picture["y_scale"] == "log":
                ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                ax.yaxis.set_minor_formatter(NullFormatter())
                ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
            if "ticks" in picture:
                ax.set_xticks(picture["ticks"])
            ax.grid(alpha=0.3)
            if column == 0:
                ax.set_ylabel(picture["y"][line])
            if line == len(panels) - 1:
                ax.set_xlabel(picture["x"])
            if picture["legends"] == "all" or (line, column) == (0, 0):
                ax.legend(fontsize=8, ncols=2)
    figure.savefig(ROOT / picture["file"], dpi=110)


def main() -> int:
    """Writes tables and picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path, help="the tables of a page, as TOML")
    parser.add_argument("out", type=Path, help="the directory with the outputs of the studies")
    arguments = parser.parse_args()
    settings = tomllib.loads(arguments.tables.read_text("utf-8"))
    page = ROOT / settings["page"]
    text = page.read_text("utf-8")
    for own in settings["table"]:
        keys = settings["defaults"] | own
        studies = [keys["study"]] if isinstance(keys["study"], str) else keys["study"]
        rows = [row for row in points(arguments.out, studies) if evaluate(keys.get("where", "1"), row)]
        if not rows:
            continue
        text = page_tables.place(text, keys["name"], SCRIPT, content(keys, rows))
        if "interval" in keys:
            print(f"{keys['name']}: {widest(keys, rows)}")  # noqa: T201
    page.write_text(text, encoding="utf-8")
    draw(settings["picture"], text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

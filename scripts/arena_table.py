#!/usr/bin/env python3
"""Writes the table of an arena into docs/arena.md, between its markers: the group of every algorithm in every scenario.

    scripts/arena_table.py out/arena

The directory is what `farloop arena --out out/arena` wrote. Scenarios and algorithms that it does not have keep what the page has of them;
where neither has anything the cell is empty.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import page_tables
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = "arena_table.py"


def table(cells: Sequence[Mapping[str, Any]], ranking: Sequence[Mapping[str, Any]]) -> str:
    """A row per algorithm, a column per scenario: the group, else the worst of what it breaks; "–" if it cannot run."""
    # Of those in which all algorithms start alike the arena's page tells.
    scenarios = list(dict.fromkeys(row["scenario"] for row in cells if row["start"] == "own"))
    algorithms = list(dict.fromkeys(row["algorithm"] for row in cells))
    standings = {(row["scenario"], row["algorithm"]): row for row in ranking}
    rows = [[f"`{a}`", *(_standing(standings.get((name, a))) for name in scenarios)] for a in algorithms]
    return page_tables.table(["group of", *scenarios], rows)


def joined(old: str, new: str) -> str:
    """The new table, and what the old one has of scenarios and algorithms that the new one lacks; scenarios by name."""
    cells: dict[tuple[str, str], str] = {}
    scenarios: set[str] = set()
    algorithms: list[str] = []
    for text in (old, new):
        rows = [[word.strip() for word in line.strip("|").split(" | ")] for line in text.strip().splitlines()]
        if not rows:
            continue
        names = rows[0][1:]
        scenarios |= set(names)
        for algorithm, *own in rows[2:]:
            if algorithm not in algorithms:
                algorithms.append(algorithm)
            cells |= {(algorithm, name): word for name, word in zip(names, own, strict=True)}
    columns = sorted(scenarios)
    rows = [[a, *(cells.get((a, name), "") for name in columns)] for a in algorithms]
    return page_tables.table(["group of", *columns], rows)


def _standing(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "–"
    if row["group"] is None:
        return str(row["breaks"]).partition(";")[0] if row["state"] == "fails" else "reference"
    return f"**{row['group']}**" if row["group"] == 1 else str(row["group"])


def main() -> int:
    """Reads an arena and writes its page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arena", type=Path, help="what `farloop arena` wrote")
    arguments = parser.parse_args()
    try:
        tables = [pq.read_table(arguments.arena / f"{name}.parquet").to_pylist() for name in ("cells", "ranking")]
        page = ROOT / "docs" / "arena.md"
        text = page.read_text("utf-8")
        begin, end = page_tables.markers("arena", SCRIPT)
        own = text.partition(begin)[2].partition(end)[0]
        page.write_text(page_tables.place(text, "arena", SCRIPT, joined(own, table(*tables))), encoding="utf-8")
    except (OSError, ValueError) as error:
        print(f"arena_table: {error}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

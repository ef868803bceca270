#!/usr/bin/env python3
"""Writes the table of an arena into docs/arena.md, between its markers: the group of every algorithm in every scenario.

    scripts/arena_table.py out/arena

The directory is what `farloop arena --out out/arena` wrote. Scenarios and algorithms that it does not have keep what the page has of them;
where neither has anything the cell is empty.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- arena: written by scripts/arena_table.py -->", "<!-- end of arena -->"


def table(cells: Sequence[Mapping[str, Any]], ranking: Sequence[Mapping[str, Any]]) -> str:
    """A row per algorithm, a column per scenario: the group, else the worst of what it breaks; "–" if it cannot run."""
    # Of those in which all algorithms start alike the arena's page tells.
    scenarios = list(dict.fromkeys(row["scenario"] for row in cells if row["start"] == "own"))
    algorithms = list(dict.fromkeys(row["algorithm"] for row in cells))
    standings = {(row["scenario"], row["algorithm"]): row for row in ranking}
    lines = [f"| group of | {' | '.join(scenarios)} |", f"| --- |{' ---: |' * len(scenarios)}"]
    for algorithm in algorithms:
        row = [_standing(standings.get((scenario, algorithm))) for scenario in scenarios]
        lines.append(f"| `{algorithm}` | {' | '.join(row)} |")
    return "\n".join(lines)


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
    lines = [f"| group of | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    lines += [f"| {a} | {' | '.join(cells.get((a, name), '') for name in columns)} |" for a in algorithms]
    return "\n".join(lines)


def between(text: str, content: str) -> str:
    """The text with the content between the markers.

    Raises:
        ValueError: a marker is missing.
    """
    pattern = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"there is no {BEGIN} … {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{content}\n\n{END}", text, count=1)


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
        own = text.partition(BEGIN)[2].partition(END)[0]
        page.write_text(between(text, joined(own, table(*tables))), encoding="utf-8")
    except (OSError, ValueError) as error:
        print(f"arena_table: {error}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A result as it shows itself: text for `print` and the terminal, HTML for notebooks."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from farloop.messages import printable

if TYPE_CHECKING:
    from farloop.report.tables import Cell
    from farloop.results.run import Comparison

PIPE_WIDTH = 200
"""Columns when nobody's terminal sets a limit."""


def as_text(result: Comparison) -> str:
    """The tables of a comparison as text: what `print` shows."""
    from farloop.report.tables import paired_rows, run_rows, slowdown_rows

    text = io.StringIO()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    console = Console(file=text, width=width, color_system=None)
    tables = [table(*run_rows(result), title=result.title)]
    header, rows = slowdown_rows(result)
    tables += [table(header, rows)] if rows else []
    tables += [paired_table] if (paired_table := ratios(*paired_rows(result))) else []
    for part in tables:
        console.print(part)
    for line in [*result.deadlocks, *result.cautions]:
        console.print(line, markup=False, highlight=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def as_html(result: Comparison) -> str:
    """The tables of a comparison as a fragment of HTML: what notebooks show."""
    from farloop.report.page import fragment

    return fragment(result)


def ratios(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table | None:
    """Algorithms against the first one: a line for each number, as there are many numbers and few algorithms."""
    if not rows:
        return None
    turned = [[name, *(row[i] for row in rows)] for i, name in enumerate(header[1:], 1)]
    return table(["ratio, seed by seed", *(str(row[0]) for row in rows)], turned)


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]], title: str = "") -> Table:
    """A table for the terminal; numbers are on the right."""
    made = Table(
        title=Text(printable(title)) if title else None, title_justify="left", header_style="bold", show_lines=False
    )
    for i, name in enumerate(header):
        numeric = i > 0 and all(r[i] is None or str(r[i])[:1].isdigit() for r in rows)
        made.add_column(printable(str(name)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text("–" if cell is None else printable(str(cell))) for cell in row))
    return made

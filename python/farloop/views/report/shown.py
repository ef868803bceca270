"""A result as it shows itself: text for `print` and the terminal, HTML for notebooks."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from farloop.views.tabular import Table

if TYPE_CHECKING:
    from rich.console import Group as RichGroup

    from farloop.results.run import Comparison
    from farloop.views.report.tables import Cell

PIPE_WIDTH = 200
"""Columns where no terminal sets a limit."""


def as_text(result: Comparison) -> str:
    """The tables of a comparison as text: what `print` shows."""
    from farloop.results.headline import headline
    from farloop.views.report.tables import paired_rows, run_rows, size_note, size_rows, slowdown_rows

    text = io.StringIO()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    console = Console(file=text, width=width, color_system=None)
    tables: list[RichGroup | str] = [headline(result).text, table(*run_rows(result), title=result.title, width=width)]
    tables += [table(*content, width=width) for content in (slowdown_rows(result), size_rows(result)) if content[1]]
    tables += [note] if (note := size_note(result)) else []
    tables += [paired_table] if (paired_table := ratios(*paired_rows(result), width=width)) else []
    for part in tables:
        console.print(part, markup=False, highlight=False)
    for line in [*result.deadlocks, *result.cautions]:
        console.print(line, markup=False, highlight=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def as_html(result: Comparison) -> str:
    """The tables of a comparison as a fragment of HTML: what notebooks show."""
    from farloop.views.report.page import fragment

    return fragment(result)


def ratios(header: Sequence[str], rows: Sequence[Sequence[Cell]], width: int | None = None) -> RichGroup | None:
    """Algorithms against the first one: a line for each number, as there are many numbers and few algorithms."""
    if not rows:
        return None
    turned = [[name, *(row[i] for row in rows)] for i, name in enumerate(header[1:], 1)]
    return table(["ratio, seed by seed", *(str(row[0]) for row in rows)], turned, width=width)


def table(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], title: str = "", width: int | None = None
) -> RichGroup:
    """A table for a terminal of this width; numbers are on the right."""
    from rich.console import Group

    return Group(*Table.from_rows(header, rows, title=title).terminal(width))

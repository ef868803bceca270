"""One table for every reader: page, terminal and Markdown. Machines read numbers, not texts: `machine.py` and the files have these."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from farloop.results.size_classes import NO_FLOWS
from farloop.units import INTERVAL_TEXT

if TYPE_CHECKING:
    import rich.table
    from markupsafe import Markup

NOTHING = "–"
"""Stands where there is no value."""


@dataclass(frozen=True)
class Head:
    """The head of a column.

    Attributes:
        text: Its text.
        is_text: True if its cells are words, which stand left; numbers stand right.
        hint: Text that a page shows where one points at it.
        link: Where it leads to on a page; empty where it leads nowhere.
    """

    text: str
    is_text: bool = False
    hint: str = ""
    link: str = ""


@dataclass(frozen=True)
class StyledCell:
    """A cell that a page shows otherwise than as its text.

    Attributes:
        text: The text for every other reader.
        html: Its HTML; its text where there is none.
        style: Classes of the page's style, such as "no".
        sort: The number that it is sorted by.
        span: Columns that it takes.
    """

    text: str
    html: Markup | None = None
    style: str = ""
    sort: float | None = None
    span: int = 1


Cell = str | None
"""Content of a table; `None` where there is no value."""

AnyCell = Cell | StyledCell


@dataclass(frozen=True)
class Table:
    """Heads and rows.

    Attributes:
        heads: A head for each column.
        rows: Cells in the order of the heads.
        title: Title of the table; empty where the page has it elsewhere.
        style: Classes of the page's style.
        row_styles: Classes of each row; empty where no row has any.
        in_card: True if a page frames it; false where the frame holds something else as well.
    """

    heads: Sequence[Head]
    rows: Sequence[Sequence[AnyCell]]
    title: str = ""
    style: str = ""
    row_styles: Sequence[str] = ()
    in_card: bool = True

    @classmethod
    def from_rows(
        cls, header: Iterable[str], rows: Sequence[Sequence[AnyCell]], *, title: str = "", style: str = ""
    ) -> Table:
        """A table whose heads are plain words."""
        return cls([Head(text) for text in header], rows, title, style)

    def html(self) -> Markup:
        """For a page; nothing for no rows."""
        from farloop.views.html import render

        return render("table.html.j2", table=self, nothing=NOTHING)

    def terminal(self, width: int | None = None) -> list[rich.table.Table]:
        """For a terminal: columns of numbers stand right, but for the first one, which names the row.

        Args:
            width: Columns of the terminal. In a table that is wider intervals stand below their numbers; where that is not enough, it is
                several tables, each with the columns that name the rows. So no number is broken. `None`: one table, however wide.
        """
        rows = list(self._texts())
        heads = [head.text for head in self.heads]
        if width is not None and _width(heads, rows) > width:
            rows = [[INTERVAL_TEXT.sub(r"\n\1", cell) for cell in row] for row in rows]
        if width is None:
            return [self._draw_columns(heads, rows, range(len(heads)), self.title)]
        names = list(range(self._count_names(rows)))
        groups = _fit(heads, rows, len(names), width)
        return [
            self._draw_columns(heads, rows, [*names, *group], self.title if group is groups[0] else "")
            for group in groups
        ]

    def _count_names(self, rows: Sequence[Sequence[str]]) -> int:
        """The leading columns of words that tell the rows apart: where a run has several rows, the column behind it is needed as well."""
        words = list(itertools.takewhile(lambda number: not self._stands_right(number, rows), range(len(self.heads))))
        different = [len({tuple(row[:count]) for row in rows}) for count in range(1, len(words) + 1)]
        return different.index(max(different)) + 1 if different else 1

    def _draw_columns(
        self, heads: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[int], title: str
    ) -> rich.table.Table:
        """Some of the columns."""
        from rich.table import Table as RichTable
        from rich.text import Text

        from farloop.messages import printable

        shown = Text(printable(title)) if title else None
        drawn = RichTable(title=shown, title_justify="left", header_style="bold", show_lines=False)
        for number in columns:
            is_right = self._stands_right(number, rows)
            drawn.add_column(printable(heads[number]), justify="right" if is_right else "left", overflow="fold")
        for row in rows:
            drawn.add_row(*(Text("\n".join(map(printable, row[number].split("\n")))) for number in columns))
        return drawn

    def markdown(self) -> str:
        """For a page of the documentation; a bar in a cell does not end it."""

        def line(cells: Iterable[str]) -> str:
            return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

        rows = list(self._texts())
        rule = ("---:" if self._stands_right(number, rows) else "---" for number in range(len(self.heads)))
        return "\n".join([line(head.text for head in self.heads), f"| {' | '.join(rule)} |", *map(line, rows)]) + "\n"

    def _stands_right(self, number: int, rows: Sequence[Sequence[str]]) -> bool:
        """Returns true if a column has numbers. The first one names the row."""
        return number > 0 and not self.heads[number].is_text and all(_is_number(row[number]) for row in rows)

    def _texts(self) -> Iterable[list[str]]:
        """The cells' texts, row by row; those that a wide cell covers are empty."""
        for row in self.rows:
            texts: list[str] = []
            for cell in row:
                if isinstance(cell, StyledCell):
                    texts += [cell.text, *[""] * (cell.span - 1)]
                else:
                    # Rows of others, such as those of a kernel's connections, have plain numbers.
                    texts.append(NOTHING if cell is None else str(cell))
            yield texts


_FRAME = 3
"""Columns of a terminal that the frame of a table's column takes."""

_MAX_WORDS = 24
"""Columns of a terminal for words, which may go on in the next line; numbers may not."""


def _needed_width(head: str, cells: Iterable[str]) -> int:
    """Columns of a terminal that a table's column needs, so that no number and no word of its head is broken."""
    lines = [line for cell in cells for line in cell.split("\n")]
    widest = max(
        (len(line) if line[:1].isdigit() or line[:1] == "[" else min(len(line), _MAX_WORDS) for line in lines),
        default=0,
    )
    return max(widest, *map(len, head.split() or [""])) + _FRAME


def _width(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    return sum(_needed_width(head, (row[number] for row in rows)) for number, head in enumerate(heads)) + 1


def _fit(heads: Sequence[str], rows: Sequence[Sequence[str]], names: int, width: int) -> list[list[int]]:
    """The columns behind those that name a row, in as few groups as fit beside them."""
    needed = [_needed_width(head, (row[number] for row in rows)) for number, head in enumerate(heads)]
    room = width - sum(needed[:names]) - 1
    groups: list[list[int]] = [[]]
    left = room
    for number, own in enumerate(needed[names:], names):
        if own > left and groups[-1]:
            groups.append([])
            left = room
        groups[-1].append(number)
        left -= own
    return groups


def _is_number(text: str) -> bool:
    """Returns true if a cell may stand in a column of numbers; so may the words for an empty class of flows, and an empty cell."""
    return text in ("", NOTHING, NO_FLOWS) or text[:1].isdigit()

"""Views drawn from an output's tables: pictures and the report."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from farloop.output.manifest import FIGURES, REPORT

if TYPE_CHECKING:
    from farloop.results.run import Comparison
    from farloop.views.report.page import Section


def write(comparison: Comparison, into: Path, *more: Section) -> list[str]:
    """Writes pictures and report, with `more` sections, into an existing directory; notes on what could not be drawn."""
    from farloop.views.figures import draw
    from farloop.views.report import page

    pictures = into / FIGURES
    pictures.mkdir(exist_ok=True)
    notes: list[str] = []
    attempt("the pictures could not be drawn", lambda: draw.draw(comparison, pictures), notes)
    made: list[str] = []
    noted = replace(comparison, notes=[*comparison.notes, *notes])
    attempt("the report could not be drawn", lambda: made.append(page.page(noted, *more)), notes)
    text = made[0] if made else _bare_page(noted.title, [*comparison.notes, *notes])
    (into / REPORT).write_text(text, encoding="utf-8", errors="replace")
    return notes


def attempt(what: str, make: Callable[[], object], notes: list[str]) -> None:
    """Makes a view; where that fails, whatever the reason, there is a note instead: the results are on disk."""
    try:
        make()
    except OSError:
        raise
    except Exception as error:
        notes.append(f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")


def _bare_page(title: str, notes: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f'<!doctype html><meta charset="utf-8"><title>{html.escape(title)}</title><h1>{html.escape(title)}</h1><ul>{items}</ul>\n'

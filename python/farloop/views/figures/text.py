"""Texts of users in pictures: titles, names of flows and runs."""

from __future__ import annotations

import textwrap


def escape_text(text: str, columns: float | None = None) -> str:
    """A text that is drawn as it stands, broken into lines of at most `columns` characters.

    A dollar sign would begin a formula (matplotlib's mathtext), and a faulty one would stop the drawing; a label that begins with an
    underscore would vanish from the legend.
    """
    broken = "\n".join(textwrap.wrap(text, max(8, int(columns)))) if columns else text
    escaped = broken.replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped

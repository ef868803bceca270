"""The page of a figure that was run in two worlds: every statement with what each says of it, and the way to each one's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from farloop.views.html import document, render

HOLDS = {True: "holds", False: "does not hold", None: "undecided"}
"""Verdicts on a statement, in words."""

_STYLES = {True: "reproduced", False: "differs", None: "partial"}


def page(title: str, claims: Sequence[Mapping[str, Any]], parts: Sequence[str], notes: Sequence[str]) -> str:
    """An HTML document that loads nothing from anywhere.

    Args:
        title: Of the figure.
        claims: Each with its row of either part, under the part's name, or `None`.
        parts: The names of the parts, which are their directories.
        notes: Notes for the reader.
    """
    content = render(
        "verdict_pairs.html.j2",
        title=title,
        claims=[(claim, statements(claim, parts)) for claim in claims],
        parts=parts,
        remarks=notes,
        holds=HOLDS,
        styles=_STYLES,
    )
    return document(title, content)


def statements(claim: Mapping[str, Any], parts: Sequence[str]) -> dict[str, list[Mapping[str, Any] | None]]:
    """The statements of a claim by their text: the row of each part, `None` where it has none."""
    by_text: dict[str, list[Mapping[str, Any] | None]] = {}
    for number, part in enumerate(parts):
        for row in (claim[part] or {}).get("statements", []):
            by_text.setdefault(row["text"], [None] * len(parts))[number] = row
    return by_text

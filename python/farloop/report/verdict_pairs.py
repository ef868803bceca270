"""The page of a figure that was run in two worlds: every statement with what each says of it, and the way to each one's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from farloop.report.page import document, noted, verdict_class

HOLDS = {True: "holds", False: "does not hold", None: "undecided"}
"""What is said of a statement."""

_STYLES = {True: "reproduced", False: "differs", None: "partial"}


def page(title: str, claims: Sequence[Mapping[str, Any]], parts: Sequence[str], notes: Sequence[str]) -> str:
    """An HTML document that loads nothing from anywhere.

    Args:
        title: Of the figure.
        claims: Each with its row of either part, under the part's name, or `None`.
        parts: The names of the parts, which are their directories.
        notes: What the reader must know.
    """
    links = ", ".join(f'<a href="{escape(part)}/report.html">{escape(part)}</a>' for part in parts)
    header = f"<header><h1>{escape(title)}</h1><p>reports: {links}</p></header>"
    return document(title, header + noted(notes) + "".join(_card(claim, parts) for claim in claims))


def statements(claim: Mapping[str, Any], parts: Sequence[str]) -> dict[str, list[Mapping[str, Any] | None]]:
    """The statements of a claim by their text: the row of each part, `None` where it has none."""
    by_text: dict[str, list[Mapping[str, Any] | None]] = {}
    for number, part in enumerate(parts):
        for row in (claim[part] or {}).get("statements", []):
            by_text.setdefault(row["text"], [None] * len(parts))[number] = row
    return by_text


def _card(claim: Mapping[str, Any], parts: Sequence[str]) -> str:
    head = "".join(f'<th class="text">{escape(part)}<br>{_verdict(claim[part])}</th>' for part in parts)
    rows = "".join(
        f'<tr><td class="wrap">{escape(text)}</td>{"".join(map(_cell, cells))}</tr>'
        for text, cells in statements(claim, parts).items()
    )
    return (
        f'<div class="card scroll"><h3>{escape(claim["id"])} ({escape(claim["scale"])} scale)</h3><p>{escape(claim["what"])}</p>'
        f'<table class="verdicts"><thead><tr><th>statement</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _verdict(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "–"
    return f'<span class="verdict {verdict_class(row["verdict"])}">{escape(row.get("told", row["verdict"]))}</span>'


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "<td>–</td>"
    holds = f'<span class="verdict {_STYLES[row["holds"]]}">{HOLDS[row["holds"]]}</span>'
    return f'<td class="wrap">{holds} <span class="soft">{escape(row["evidence"])}</span></td>'

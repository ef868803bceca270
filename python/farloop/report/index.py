"""The page of a reproduction: every claim with its verdict, and the way to each figure's own report."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from farloop import _native
from farloop.judging.claims import VERDICTS
from farloop.report.page import document, noted, verdict_class
from farloop.report.pfc import alert

if TYPE_CHECKING:
    from farloop.results.run import FigureVerdicts


LONG = 200
"""Characters of a note; a longer one is folded."""


def index_page(figures: list[FigureVerdicts], scale: str) -> str:
    """An HTML document that loads nothing from anywhere; it links to the reports that stand beside it."""
    verdicts = Counter(claim["verdict"] for figure in figures for claim in figure.claims)
    counted = ", ".join(f"{verdicts[v]} {v}" for v in VERDICTS if verdicts[v])
    rows = []
    for figure in figures:
        link = f'<a href="{escape(figure.figure)}/report.html">{escape(figure.figure)}</a>'
        if not figure.claims:
            rows.append(f'<tr><td>{link}</td><td>–</td><td class="wrap">{escape(figure.title)}</td></tr>')
        for claim in figure.claims:
            style, verdict = verdict_class(claim["verdict"]), escape(claim.get("told", claim["verdict"]))
            note = f'<div class="soft">{escape(claim["note"])}</div>' if claim["note"] else ""
            if len(claim["note"]) > LONG:
                note = f"<details><summary>statement by statement</summary>{note}</details>"
            own = "" if claim["id"] == figure.figure else f'<br><span class="soft">{escape(claim["id"])}</span>'
            rows.append(
                f'<tr><td>{link}{own}</td><td class="text"><span class="verdict {style}">{verdict}</span></td>'
                f'<td class="wrap">{escape(claim["what"])}{note}</td></tr>'
            )
    header = (
        "<header><h1>Papers, reproduced claim by claim</h1>"
        f"<p>{escape(counted or 'no claims')} at {scale} scale, farloop {_native.version()}</p></header>"
    )
    table = (
        '<div class="card scroll"><table class="verdicts"><thead>'
        '<tr><th>figure</th><th class="text">verdict</th><th class="text">claim</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    alerts = "".join(alert(figure.deadlocks) for figure in figures)
    alerts += noted([f"{figure.figure}: {note}" for figure in figures for note in figure.notes])
    return document("farloop: papers, reproduced claim by claim", header + alerts + table)

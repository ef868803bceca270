"""The page of a reproduction: every claim with its verdict, and the way to each figure's own report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from farloop import _native
from farloop.judging.claims import VERDICTS
from farloop.results.headline import answer_reproduction
from farloop.views.html import document, render

if TYPE_CHECKING:
    from farloop.results.run import FigureVerdicts


LONG = 200
"""Characters of a note; a longer one is folded."""


def index_page(figures: list[FigureVerdicts], scale: str) -> str:
    """An HTML document that loads nothing from anywhere; it links to the reports that stand beside it."""
    verdicts = Counter(claim["verdict"] for figure in figures for claim in figure.claims)
    counted = ", ".join(f"{verdicts[v]} {v}" for v in VERDICTS if verdicts[v])
    content = render(
        "index.html.j2",
        answer=answer_reproduction(figures),
        figures=figures,
        counted=counted,
        scale=scale,
        version=_native.version(),
        long=LONG,
    )
    return document("farloop: papers, reproduced claim by claim", content)

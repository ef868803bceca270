#!/usr/bin/env python3
"""Writes the verdicts of a reproduction into README.md and docs/findings/README.md, between their markers.

    scripts/tally.py out/papers/claims.json

The file is what `farloop reproduce --full --out out/papers` wrote. Everything between the markers is replaced; nothing else is touched.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- verdicts: written by scripts/tally.py -->", "<!-- end of verdicts -->"
VERDICTS = ("reproduced", "direction", "differs", "partial", "not judged")
FINDINGS = ROOT / "docs" / "findings"

Claims = Sequence[dict[str, Any]]


def tally(claims: Claims) -> str:
    """The README's table: a row per paper, a column per verdict that occurs; calibrated claims apart."""
    papers = list(dict.fromkeys(c["id"].partition("/")[0] for c in claims))
    columns = [v for v in VERDICTS if any(c["verdict"] == v for c in claims)]
    lines = [
        f"| paper | claims | {' | '.join(columns)} | of these calibrated |",
        f"| --- | ---: |{' ---: |' * (len(columns) + 1)}",
    ]
    for paper in papers:
        own = [c for c in claims if c["id"].startswith(f"{paper}/")]
        counted = Counter(c["verdict"] for c in own)
        calibrated = sum(c["calibrated"] and c["verdict"] in VERDICTS[:3] for c in own)
        row = [paper, len(own), *(counted[v] for v in columns), calibrated]
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def table(claims: Claims) -> str:
    """The findings' table: a row per claim with its verdict, the published numbers beside ours, and its page."""
    lines = ["| claim | verdict | paper, measured | page |", "| --- | --- | --- | --- |"]
    for claim in sorted(claims, key=lambda c: c["id"].partition("/")[0]):
        numbers = [
            f"{name} {value:.3g}, {_number(claim['measured'].get(name))}" for name, value in claim["paper"].items()
        ]
        pages = ", ".join(f"[{p}]({p})" for p in _pages(claim["id"]))
        lines.append(f"| {claim['id']} | {claim['told']} | {'; '.join(numbers)} | {pages} |")
    return "\n".join(lines)


def between(text: str, content: str) -> str:
    """The text with the content between the markers.

    Raises:
        ValueError: a marker is missing.
    """
    pattern = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no markers: expected {BEGIN} and {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{content}\n\n{END}", text)


def inside(text: str) -> str:
    """What stands between the markers."""
    return text.partition(BEGIN)[2].partition(END)[0].strip()


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float)) else "–"


def _pages(claim: str) -> list[str]:
    """The pages that name the claim."""
    pattern = re.compile(rf"`{re.escape(claim)}`|\b{re.escape(claim)}\b(?!\d)")
    pages = sorted(p for p in FINDINGS.glob("*.md") if p.name != "README.md")
    return [p.name for p in pages if pattern.search(p.read_text("utf-8"))]


def main(arguments: Sequence[str]) -> int:
    """Rewrites both files; the exit status."""
    if len(arguments) != 1:
        sys.stderr.write(__doc__ or "")
        return 2
    claims = json.loads(Path(arguments[0]).read_text("utf-8"))
    if any(c["scale"] != "full" for c in claims):
        sys.stderr.write(f"{arguments[0]}: not at full scale; expected what `farloop reproduce --full` wrote\n")
        return 1
    for path, content in ((ROOT / "README.md", tally(claims)), (FINDINGS / "README.md", table(claims))):
        path.write_text(between(path.read_text("utf-8"), content), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Writes the verdicts of a reproduction into README.md and docs/findings/README.md, between their markers.

    scripts/tally.py out/quick/claims.json out/full/claims.json

The files are what `farloop reproduce --out out/quick` and `farloop reproduce ... --full --out out/full` wrote. Of a claim
that several of them have, the last one counts; a claim that none of them has stands as not judged. Everything
between the markers is replaced; nothing else is touched.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from farloop import catalogue

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- verdicts: written by scripts/tally.py -->", "<!-- end of verdicts -->"
VERDICTS = ("reproduced", "direction", "differs", "partial", "not judged")
FINDINGS = ROOT / "docs" / "findings"

Claims = Sequence[dict[str, Any]]


def tally(claims: Claims) -> str:
    """The README's table: a row per paper and scale, a column per verdict that occurs; calibrated claims apart."""
    rows = sorted({(c["id"].partition("/")[0], c["scale"]) for c in claims})
    columns = [v for v in VERDICTS if any(c["verdict"] == v for c in claims)]
    lines = [
        f"| paper | scale | claims | {' | '.join(columns)} | of these calibrated |",
        f"| --- | --- | ---: |{' ---: |' * (len(columns) + 1)}",
    ]
    for paper, scale in rows:
        own = [c for c in claims if c["id"].startswith(f"{paper}/") and c["scale"] == scale]
        counted = Counter(c["verdict"] for c in own)
        calibrated = sum(c["calibrated"] and c["verdict"] in VERDICTS[:3] for c in own)
        row = [paper, scale, len(own), *(counted[v] for v in columns), calibrated]
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def table(claims: Claims) -> str:
    """The findings' table: a row per claim with its verdict, the published numbers beside ours, and its page."""
    lines = ["| claim | scale | verdict | paper, measured | page |", "| --- | --- | --- | --- | --- |"]
    for claim in sorted(claims, key=lambda c: c["id"].partition("/")[0]):
        numbers = [
            f"{name} {value:.3g}, {_number(claim['measured'].get(name))}" for name, value in claim["paper"].items()
        ]
        pages = ", ".join(f"[{p}]({p})" for p in _pages(claim["id"]))
        lines.append(f"| {claim['id']} | {claim['scale']} | {claim['told']} | {'; '.join(numbers)} | {pages} |")
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


def merged(files: Sequence[Claims], known: Sequence[str]) -> list[dict[str, Any]]:
    """One entry for each known claim: the last one that the files have."""
    found = {c["id"]: c for claims in files for c in claims}
    missing = {"verdict": "not judged", "told": "not judged: not run", "scale": "–", "calibrated": False}
    return [found.get(name, missing | {"id": name, "paper": {}, "measured": {}}) for name in known]


def main(arguments: Sequence[str]) -> int:
    """Rewrites both files; the exit status."""
    if not arguments:
        sys.stderr.write(__doc__ or "")
        return 2
    known = [row["id"] for row in catalogue.entries("claims")]
    claims = merged([json.loads(Path(a).read_text("utf-8")) for a in arguments], known)
    for path, content in ((ROOT / "README.md", tally(claims)), (FINDINGS / "README.md", table(claims))):
        path.write_text(between(path.read_text("utf-8"), content), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

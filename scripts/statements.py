#!/usr/bin/env python3
"""Makes docs/findings/statements.md: every statement that does not hold, with its cause and the commands that show it.

`scripts/tally.py` calls it with the record of verdicts and writes the page; the causes are those of `causes.toml` in each paper's
directory.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from farloop.judging import causes
from farloop.judging.claim_readings import APART, READING_CLASSES
from farloop.judging.kinds import KINDS

Claims = Sequence[Mapping[str, Any]]

HOLDS = {
    "untouched": "hold, untouched",
    "text or other figures": "hold, reading by text or other figures",
    "this figure": "hold only by its own reading (not counted)",
    "by construction": "hold by construction (not judged)",
}
"""Heads of the columns, by the class of reading that a statement rests on."""

WITHOUT = "no cause named"
"""The kind of a failing statement that has no cause in any file."""

MAX_READINGS = 2
"""Of a cause that the page shows; of one that is too close to tell twenty seeds. The file of causes has all, three at least."""

INTRODUCTION = """# Every statement that does not hold, and why

A claim of a paper is several statements, each of which holds or not. This page has those that do not, by claim, with their kind of cause
([what the kinds are](README.md)) and what two readings of the paper give. All readings, their commands and the time that each takes are
in `causes.toml` of each paper, in the same order and words. *Calibrated*: its outcome chose the reading, so that it confirms nothing.
*Turns*: with it the statement holds. *Keeps*: with it no other statement is lost. *Better* and *worse* say on which side of the published
number ours is. Brackets are 95 % intervals of the mean; *fails* is what the command calls "does not hold". `make accept` writes this
page; `make statements` runs the commands that take less than ten seconds."""


def failing(claims: Claims) -> Iterator[dict[str, Any]]:
    """Every statement that does not hold, with its claim, its scale, and what is known of its cause."""
    for claim in claims:
        for statement in claim.get("statements", []):
            if statement["holds"] is not False:
                continue
            cause = causes.find_cause(claim["id"], statement["text"])
            yield {
                "claim": claim["id"],
                "scale": claim["scale"],
                "statement": statement["text"],
                "evidence": statement["evidence"],
                "side": statement["side"],
                "kind": cause.kind if cause else WITHOUT,
                "why": cause.why if cause else "",
                "details": cause.details.describe() if cause else "",
                "page": cause.page if cause else "",
                "readings": [vars(reading) for reading in cause.readings] if cause else [],
            }


def count_classes(claims: Claims) -> Counter[str]:
    """The numbers of statements that hold, by the class of the reading that they rest on."""
    of_claims = (statement for claim in claims for statement in claim.get("statements", []))
    return Counter(statement["reading"] for statement in of_claims if statement["holds"])


def count_judged(claims: Claims) -> tuple[int, int]:
    """The numbers of statements that are decided by measurement, and of those that follow from their setting alone."""
    apart = [s["reading"] == APART for c in claims for s in c.get("statements", []) if s["holds"] is not None]
    return sum(c.get("judged", 0) for c in claims) - sum(apart), sum(apart)


def tally(claims: Claims) -> str:
    """The table of statements: a row for each paper and scale, with what holds by class of reading and what fails by kind of cause."""
    failed = list(failing(claims))
    kinds = [*KINDS, *([WITHOUT] if any(statement["kind"] == WITHOUT for statement in failed) else [])]
    heads = [*(HOLDS[name] for name in READING_CLASSES), *(f"fail: {kind}" for kind in kinds)]
    lines = [
        f"| paper | scale | judged | {' | '.join(heads)} |",
        f"| --- | --- |{' ---: |' * (1 + len(heads))}",
    ]
    rows = sorted({(c["id"].partition("/")[0], c["scale"]) for c in claims})
    for paper, scale in rows:
        own = [c for c in claims if c["id"].startswith(f"{paper}/") and c["scale"] == scale]
        lines.append(_row(paper, scale, own, [f for f in failed if _of(f, paper, scale)], kinds))
    if len(rows) > 1:
        lines.append(_row("all", "", claims, failed, kinds))
    return "\n".join(lines)


def _of(statement: Mapping[str, Any], paper: str, scale: str) -> bool:
    return str(statement["claim"]).startswith(f"{paper}/") and statement["scale"] == scale


def _row(paper: str, scale: str, claims: Claims, failed: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> str:
    causes_of = Counter(statement["kind"] for statement in failed)
    classes = count_classes(claims)
    judged, _ = count_judged(claims)
    cells = [paper, scale, judged, *(classes[name] for name in READING_CLASSES), *(causes_of[kind] for kind in kinds)]
    return f"| {' | '.join(map(str, cells))} |"


def page(claims: Claims) -> str:
    """The page for readers."""
    failed = list(failing(claims))
    parts = [INTRODUCTION]
    paper = ""
    for claim in claims:
        own = [statement for statement in failed if statement["claim"] == claim["id"]]
        if not own:
            continue
        if (now := claim["id"].partition("/")[0]) != paper:
            paper = now
            page = f"[the paper's page]({paper}.md), " if _pages(failed, paper) == {f"{paper}.md"} else ""
            parts.append(f"## {paper} ({page}[commands](../../python/farloop/papers/{paper}/{causes.FILE}))")
        parts.append(f"### {claim['id']}: {claim['held']} of {claim['judged']} hold ({claim['scale']} scale)")
        shared = len(_pages(failed, paper)) == 1
        parts.append("\n".join(_entry(statement, shared=shared) for statement in _grouped(own)))
    return "\n\n".join(parts) + "\n"


def _grouped(failed: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Statements of one claim that share a cause, together."""
    groups: dict[object, list[Mapping[str, Any]]] = {}
    for statement in failed:
        groups.setdefault(
            (statement["kind"], statement["why"]) if statement["why"] else statement["statement"], []
        ).append(statement)
    return list(groups.values())


def _pages(failed: Sequence[Mapping[str, Any]], paper: str) -> set[str]:
    """The pages that tell a paper's causes at length."""
    return {s["page"] for s in failed if s["claim"].startswith(f"{paper}/") and s["page"]}


def _entry(together: Sequence[Mapping[str, Any]], *, shared: bool) -> str:
    """Statements with their cause; with the page that tells it, unless all of the paper share one."""
    lines = []
    for statement in together:
        side = f"; *{statement['side']}*" if statement["side"] else ""
        lines.append(f"- **{_plain(statement['statement'])}** ({_plain(statement['evidence'])}{side}).")
    first = together[0]
    page = f" ([{first['page']}]({first['page']}))" if first["page"] and not shared else ""
    parts = [f"*{first['kind']}*{': ' + first['why'] if first['why'] else ''}{page}"]
    parts += [_plain(first["details"])] if first["details"] else []
    texts = [statement["statement"] for statement in together]
    most = 1 if first["kind"] == "too close to tell" else MAX_READINGS
    shown, rest = first["readings"][:most], len(first["readings"][most:])
    parts += [_reading(reading, texts) for reading in shown]
    parts += [f"{rest} more."] if rest else []
    return "\n".join(map(_wrapped, [*lines, *(f"    - {part}" for part in parts)]))


def _reading(reading: Mapping[str, Any], texts: Sequence[str]) -> str:
    """A reading in few words: without its command, which is in the file of causes, and without the texts of statements that are above."""
    gives = reading["gives"].replace("does not hold: ", "fails: ")
    for text in texts:
        gives = gives.replace(text, "…")
    words = [
        *([reading["role"]] if reading["role"] != "shows" else []),
        *(["calibrated"] if reading["calibrated"] else []),
    ]
    label = f" ({', '.join(words)})" if words else ""
    return f'{reading["what"]}{label}: "{_plain(gives)}".'


def _wrapped(item: str) -> str:
    """An item of a list on lines of bearable length; commands stay whole."""
    indent = " " * (item.index("- ") + 2)
    whole = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), item)
    lines = textwrap.fill(whole, 140, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\0", " ")


def _plain(text: str) -> str:
    """A text in which Markdown finds nothing to do; its brackets are 95 % intervals."""
    text = re.sub(r"\(95 %, (\d+ seeds)\)", r"(\1)", text)
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;").replace("|", "\\|")

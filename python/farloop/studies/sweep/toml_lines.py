"""Where the statements of a TOML text begin and end, and what no study needs: values that do not end, or that are nested without end.

Python's parser recurses into values, and takes quadratic time for a long dotted key. So a text is looked over first, in one pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEEPEST = 40
"""Brackets around a value, parts of a dotted key. A study has four."""

_TOKEN = re.compile(
    r"""
      (?P<whole> \"\"\"(?:[^\\"]++|\\.|"(?!""))*+"{3,5} | '''(?:[^']++|'(?!''))*+'{3,5}
               | "(?:[^"\\\n]++|\\.)*+" | '[^'\n]*+' | \#[^\n]*+ )
    | (?P<digits> \d[\d_]{4299,} )
    | (?P<mark> [\[\]{}=,.\n"'] )
    """,
    re.VERBOSE | re.DOTALL,
)
"""Strings and comments as a whole; a quotation mark that is left begins a string that does not end."""


@dataclass(frozen=True)
class Trouble:
    """An error in a text.

    Attributes:
        line: Where, from 1.
        problem: The error, and what would be accepted.
    """

    line: int
    problem: str


def spans(text: str) -> list[tuple[int, int]] | Trouble:
    """The first and the last line, from 0, of every statement of a text; of one that is TOML, a heading, or a key with its value."""
    statements: list[tuple[int, int]] = []
    begin, line, depth, parts = 0, 0, 0, 0
    for token in _TOKEN.finditer(text):
        mark = token["mark"]
        if mark is None:
            if token["digits"]:
                return Trouble(
                    line + 1, f"is not valid TOML: a number of {len(token['digits'])} digits; expected one of 64 bits"
                )
            line += token[0].count("\n")
            continue
        if mark in "\"'":
            return Trouble(
                line + 1, "is not valid TOML: the text that begins here does not end; expected a quotation mark"
            )
        parts = parts + 1 if mark == "." else 0
        depth += (mark in "[{") - (mark in "]}")
        if max(depth, parts) > DEEPEST:
            what = "brackets in one another" if depth > DEEPEST else "parts of one key"
            return Trouble(line + 1, f"more than {DEEPEST} {what}; expected fewer")
        if mark != "\n":
            continue
        line += 1
        if depth <= 0:
            statements.append((begin, line - 1))
            begin, depth = line, 0
    if depth > 0:
        return Trouble(begin + 1, 'is not valid TOML: what begins here does not end; expected a "]" or a "}"')
    statements.append((begin, line))
    lines = text.split("\n")
    return [(first, last) for first, last in statements if not _is_bare(lines[first])]


def _is_bare(line: str) -> bool:
    line = line.strip()
    return not line or line.startswith("#")

"""Why statements of claims do not hold: `causes.toml` of each paper, entry by entry, with the commands that show it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, clip_text
from farloop.formats.toml_table import TomlTable
from farloop.judging.kinds import KEYS, Kind, Shown, read_kind
from farloop.scenario import PAPERS

FILE = "causes.toml"
"""Its name in a paper's directory."""

MIN_READINGS = 3
"""The least number of commands of an entry."""


class CauseError(FarloopError):
    """A file of causes is not valid; the text names file, entry and key, and what would be accepted."""


@dataclass(frozen=True)
class Cause:
    """Why some statements of a claim do not hold.

    Attributes:
        claim: The claim's identifier, such as "gear/fig10".
        statements: The texts of the statements.
        details: Its kind, with what only that kind says.
        why: The argument, in one to three sentences.
        page: The page under docs/findings/ that tells it at length; empty if none does.
        readings: The commands that show it.
    """

    claim: str
    statements: tuple[str, ...]
    details: Kind
    why: str
    page: str
    readings: tuple[Shown, ...]

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return self.details.NAME

    def row(self) -> dict[str, Any]:
        """As an entry of claims.json has it."""
        return {"kind": self.kind, "why": self.why, "page": self.page}


@functools.cache
def read_causes(paper: str) -> tuple[Cause, ...]:
    """The causes of a paper's statements, in the order of its file; none where it has no file.

    Raises:
        CauseError: the file is not valid.
    """
    path = PAPERS / paper / FILE
    return read(path) if path.is_file() else ()


def find_cause(claim: str, text: str) -> Cause | None:
    """The cause that is known for a statement of a claim.

    Raises:
        CauseError: the paper's file is not valid.
    """
    causes = read_causes(claim.partition("/")[0])
    return next((cause for cause in causes if cause.claim == claim and text in cause.statements), None)


def read(path: Path) -> tuple[Cause, ...]:
    """The causes that a file holds.

    Raises:
        CauseError: it is not valid.
    """
    document = TomlTable.of_file(path, "a TOML file with [[cause]] entries", CauseError)
    document.only("cause")
    causes = []
    seen: set[tuple[str, str]] = set()
    for entry in document.tables("cause"):
        cause = _cause(entry)
        for text in cause.statements:
            if (cause.claim, text) in seen:
                raise entry.refused(
                    "statements", f"{clip_text(text)} of {cause.claim} has a cause already; expected one"
                )
            seen.add((cause.claim, text))
        causes.append(cause)
    return tuple(causes)


def _cause(entry: TomlTable) -> Cause:
    entry.only("claim", "statements", "kind", "why", "page", "reading", *KEYS)
    statements = entry.texts("statements", "the texts of one or more statements")
    readings = tuple(Shown.read(table) for table in entry.tables("reading"))
    details = read_kind(entry, readings)
    if len(readings) < MIN_READINGS:
        raise entry.refused("reading", f"has {len(readings)}; expected {MIN_READINGS} or more")
    page = entry.optional_text("page", "the name of a page under docs/findings")
    return Cause(entry.text("claim"), statements, details, entry.text("why"), page, readings)

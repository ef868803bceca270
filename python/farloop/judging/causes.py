"""Why statements of claims do not hold: `causes.toml` of each paper, entry by entry, with the commands that show it."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, nearest, shown
from farloop.scenario import PAPERS

FILE = "causes.toml"
"""Its name in a paper's directory."""

NOT_PUBLISHED, CANNOT_FOLLOW, OPEN = "setting not published", "cannot follow from the text", "open"

LEAST = {NOT_PUBLISHED: 1, CANNOT_FOLLOW: 1, OPEN: 3}
"""The kinds of causes, each with the least number of commands that it needs: the setting that gives the paper's number, the experiment
behind the argument, readings that were tried."""

KINDS = tuple(LEAST)

PROGRAMS = ("farloop ", ".venv/bin/python scripts/")
"""What a command begins with."""


class CauseError(FarloopError):
    """A file of causes is not valid; the text names file, entry and key, and what would be accepted."""


@dataclass(frozen=True)
class Shown:
    """A command that shows something about a cause.

    Attributes:
        what: What it runs, in words.
        command: The command line, to be run in a checkout.
        gives: What it prints, literally.
        seconds: Roughly the processor time that it takes on one core.
        calibrated: The reading was chosen by what it gives, so that it confirms nothing.
    """

    what: str
    command: str
    gives: str
    seconds: float
    calibrated: bool = False


@dataclass(frozen=True)
class Cause:
    """Why some statements of a claim do not hold.

    Attributes:
        claim: The claim's identifier, such as "gear/fig10".
        statements: The texts of the statements.
        kind: One of `KINDS`.
        why: The argument, in one to three sentences.
        page: The page under docs/findings/ that tells it at length; empty if none does.
        readings: The commands that show it.
    """

    claim: str
    statements: tuple[str, ...]
    kind: str
    why: str
    page: str
    readings: tuple[Shown, ...]

    def row(self) -> dict[str, Any]:
        """As an entry of claims.json has it."""
        return {"kind": self.kind, "why": self.why, "page": self.page}


@functools.cache
def of_paper(paper: str) -> tuple[Cause, ...]:
    """The causes of a paper's statements, in the order of its file; none where it has no file.

    Raises:
        CauseError: the file is not valid.
    """
    path = PAPERS / paper / FILE
    return read(path) if path.is_file() else ()


def of_statement(claim: str, text: str) -> Cause | None:
    """The cause that is known for a statement of a claim.

    Raises:
        CauseError: the paper's file is not valid.
    """
    found = of_paper(claim.partition("/")[0])
    return next((cause for cause in found if cause.claim == claim and text in cause.statements), None)


def read(path: Path) -> tuple[Cause, ...]:
    """The causes that a file holds.

    Raises:
        CauseError: it is not valid.
    """
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CauseError(f"{path}: {error}; expected a TOML file with [[cause]] entries") from None
    _known(document, ("cause",), str(path))
    causes = []
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(_tables(document, "cause", str(path)), 1):
        where = f"{path}: [[cause]] {number}"
        cause = _cause(entry, where)
        for text in cause.statements:
            if (cause.claim, text) in seen:
                raise CauseError(
                    f"{where}: statements: {shown(text)} of {cause.claim} has a cause already; expected one"
                )
            seen.add((cause.claim, text))
        causes.append(cause)
    return tuple(causes)


def _cause(entry: Mapping[str, Any], where: str) -> Cause:
    _known(entry, ("claim", "statements", "kind", "why", "page", "reading"), where)
    kind = _text(entry, "kind", where)
    if kind not in LEAST:
        raise CauseError(f"{where}: kind: {shown(kind)}: {nearest(kind, KINDS)}")
    statements = entry.get("statements")
    if not isinstance(statements, list) or not statements or not all(isinstance(s, str) and s for s in statements):
        raise CauseError(f"{where}: statements: expected the texts of one or more statements")
    readings = tuple(
        _shown(one, f"{where}, [[cause.reading]] {number}")
        for number, one in enumerate(_tables(entry, "reading", where), 1)
    )
    if len(readings) < LEAST[kind]:
        raise CauseError(f"{where}: reading: has {len(readings)}; expected {LEAST[kind]} or more for {shown(kind)}")
    page = entry.get("page", "")
    if not isinstance(page, str):
        raise CauseError(f"{where}: page: expected the name of a page under docs/findings")
    return Cause(_text(entry, "claim", where), tuple(statements), kind, _text(entry, "why", where), page, readings)


def _shown(entry: Mapping[str, Any], where: str) -> Shown:
    _known(entry, ("what", "command", "gives", "seconds", "calibrated"), where)
    command = _text(entry, "command", where)
    if not command.startswith(PROGRAMS):
        raise CauseError(f"{where}: command: {shown(command)}: expected it to begin with {' or '.join(PROGRAMS)}")
    seconds, calibrated = entry.get("seconds"), entry.get("calibrated", False)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise CauseError(f"{where}: seconds: expected the processor time that the command takes, above 0")
    if not isinstance(calibrated, bool):
        raise CauseError(f"{where}: calibrated: expected true or false")
    return Shown(_text(entry, "what", where), command, _text(entry, "gives", where), float(seconds), calibrated)


def _known(table: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise CauseError(f"{where}: {shown(key)}: no such key; {nearest(key, keys)}")


def _tables(table: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise CauseError(f"{where}: {key}: expected entries under [[{key}]]")
    return found


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise CauseError(f"{where}: {key}: expected a text that is not empty")
    return value

"""Readings of a claim: the parameters of its runs that the paper does not give, and the evidence that chose each. Loads no tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

ReadingClass = Literal["untouched", "text or other figures", "this figure", "by construction"]
"""The evidence behind the unpublished parameters that a statement rests on; "by construction" if it follows from the setting alone."""

READING_CLASSES: tuple[ReadingClass, ...] = ("untouched", "text or other figures", "this figure", "by construction")
"""All of them, best first. By the last two agreement confirms nothing."""

APART: ReadingClass = "by construction"
"""The class of statements that count neither as judged nor as holding."""


@dataclass(frozen=True)
class ClaimReading:
    """A parameter of a claim's runs that the paper does not give.

    Attributes:
        what: The parameter and its value.
        by: What chose it: "text" (its words, or those of a work that it cites), "other figures" or "this figure".
        source: Section, citation or figure.
        statements: Texts of the statements that rest on it; empty for all of the claim's.
    """

    what: str
    by: str
    source: str
    statements: tuple[str, ...] = ()

    @property
    def reading_class(self) -> ReadingClass:
        """Its class."""
        return "this figure" if self.by == "this figure" else "text or other figures"


def worst_class(readings: Iterable[ClaimReading]) -> ReadingClass:
    """The worst class of some readings."""
    return max((reading.reading_class for reading in readings), key=READING_CLASSES.index, default="untouched")


def read_readings(claim: Mapping[str, Any]) -> tuple[ClaimReading, ...]:
    """The readings of a `[[claim]]`, as written or resolved."""

    def read(table: Mapping[str, Any]) -> ClaimReading:
        statements = table.get("statements", "none")
        of_statements = () if statements == "none" else tuple(map(str, statements))
        return ClaimReading(str(table["what"]), str(table["by"]), str(table["source"]), of_statements)

    return tuple(read(table) for table in claim.get("reading", []))

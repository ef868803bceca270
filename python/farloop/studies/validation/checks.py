"""A number of farloop's beside a reference's, and what to say of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

AGREES, EXPLAINED, OPEN, DIFFERS = "agrees", "explained", "open", "differs"

VERDICTS = (DIFFERS, OPEN, EXPLAINED, AGREES)
"""Verdicts, the worst first."""

COUNTS = ("retransmitted", "timeouts", "spurious")
"""Columns that count what happens a few times: held to a range they may be 1 beyond it."""


@dataclass(frozen=True)
class FidelityCheck:
    """A number of farloop's beside a reference's.

    Attributes:
        reference: The reference's name.
        case: Its case.
        algorithm: farloop's algorithm.
        metric: Name of the number; see `farloop.studies.validation.compared_numbers`.
        own: farloop's values, one per repetition.
        theirs: The reference's.
        limit: The largest difference, relative to the reference; absolute where that is 0.
        expected: The difference that an experiment explains; 0 where nothing has to be explained.
        why: That explanation; empty without one.
        settled: True if the experiment removes the difference.
        ranged: The number agrees where it is in the range of the reference's repetitions or no further beyond it than the limit.
        measure: Its identifier among the declared measures; empty for a cell or a series by its name.
    """

    reference: str
    case: str
    algorithm: str
    metric: str
    own: tuple[float, ...]
    theirs: tuple[float, ...]
    limit: float
    expected: float = 0.0
    why: str = ""
    settled: bool = True
    ranged: bool = False
    measure: str = ""

    @property
    def mean(self) -> float:
        """The simulator's number."""
        return float(np.mean(self.own))

    @property
    def reference_mean(self) -> float:
        """The reference's number."""
        return float(np.mean(self.theirs))

    @property
    def difference(self) -> float:
        """By how much farloop's is larger, relative to the reference's; the plain difference where that is 0."""
        apart = self.mean - self.reference_mean
        return apart / self.reference_mean if self.reference_mean else apart

    @property
    def slack(self) -> float:
        """Limit of the distance between farloop's number and the reference, in the number's unit."""
        by_limit = self.limit * (abs(self.reference_mean) or 1.0)
        return max(by_limit, 1.0) if self.ranged and self.metric.rpartition(":")[2] in COUNTS else by_limit

    @property
    def beyond(self) -> float:
        """Distance of farloop's number from the reference's mean, or from the range of its repetitions, in slacks."""
        low, high = (min(self.theirs), max(self.theirs)) if self.ranged else (self.reference_mean, self.reference_mean)
        return max(low - self.mean, self.mean - high, 0.0) / self.slack

    @property
    def distance(self) -> float:
        """Distance of farloop's number from the place where it has to be, in limits; infinite where it is no number."""
        distance = self.beyond if self.ranged else abs(self.difference - self.expected) / self.limit
        return math.inf if math.isnan(self.difference) else distance

    @property
    def spread(self) -> float:
        """Half of what the reference's repetitions are apart, relative to their mean."""
        half = (max(self.theirs) - min(self.theirs)) / 2
        return half / abs(self.reference_mean) if self.reference_mean else half

    @property
    def verdict(self) -> str:
        """`AGREES`, `EXPLAINED`, `OPEN` (as known, for no settled cause) or `DIFFERS`."""
        if math.isnan(self.difference):
            return DIFFERS
        if self.ranged and self.beyond <= 1:
            return AGREES
        if abs(self.difference - self.expected) > self.slack / (abs(self.reference_mean) or 1.0):
            return DIFFERS
        if abs(self.difference) <= self.limit:
            return AGREES
        return EXPLAINED if self.settled else OPEN

    def row(self) -> dict[str, Any]:
        """As validation.json has it."""
        return {
            "reference": self.reference,
            "case": self.case,
            "algorithm": self.algorithm,
            "metric": self.metric,
            "measure": self.measure,
            "own": [_finite_or_none(value) for value in self.own],
            "theirs": list(self.theirs),
            "farloop": _finite_or_none(self.mean),
            "reference_value": self.reference_mean,
            "difference": _finite_or_none(self.difference),
            "spread": self.spread,
            "limit": self.limit,
            "expected": self.expected,
            "why": self.why,
            "settled": self.settled,
            "ranged": self.ranged,
            "verdict": self.verdict,
        }


def read(row: Mapping[str, Any]) -> FidelityCheck:
    """A check from a row of validation.json."""
    return FidelityCheck(
        str(row["reference"]),
        str(row["case"]),
        str(row["algorithm"]),
        str(row["metric"]),
        tuple(math.nan if value is None else float(value) for value in row["own"]),
        tuple(float(value) for value in row["theirs"]),
        float(row["limit"]),
        float(row["expected"]),
        str(row["why"]),
        bool(row["settled"]),
        bool(row.get("ranged", False)),
        str(row.get("measure", "")),
    )


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def worst(checks: Sequence[FidelityCheck]) -> str:
    """The worst verdict of some checks, at least one."""
    verdicts = {check.verdict for check in checks}
    return next(verdict for verdict in VERDICTS if verdict in verdicts)

"""Numbers over seeds: mean and confidence interval of each number of the runs' summaries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import Any

CONFIDENCE = 0.95

_QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t, two-sided 95 %, for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2)."""


@dataclass(frozen=True)
class Estimate:
    """A number over seeds.

    Attributes:
        mean: The mean over the runs in which it exists.
        half_width: Half the width of the 95 % confidence interval of the mean; `None` for fewer than two runs.
        n: How many runs those are.
    """

    mean: float
    half_width: float | None
    n: int

    def row(self) -> dict[str, Any]:
        """As summary.json has it."""
        return {"mean": self.mean, "ci95": self.half_width, "n": self.n}


def estimate(values: Sequence[float]) -> Estimate:
    """The mean with its 95 % confidence interval by Student's t: of independent runs, as seeds make them, whose numbers are about normal.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("no value to estimate a mean from")
    n = len(values)
    mean = fmean(values)
    return Estimate(mean, student_t(n - 1) * stdev(values, mean) / math.sqrt(n) if n > 1 else None, n)


def student_t(freedom: int) -> float:
    """The quantile of Student's t that leaves 2.5 % above it.

    Beyond the table by the expansion of Abramowitz and Stegun, 26.7.5, which is exact to five digits there.
    """
    if freedom <= len(_QUANTILES):
        return _QUANTILES[freedom - 1]
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(z + sum(term / freedom ** (i + 1) for i, term in enumerate(terms)))


def statistics(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summaries of the same shape as one: each number is an `Estimate.row` over those that have it, `None` where none has.

    Texts stay where they are the same in all. Lists, such as that of flows, are taken element by element where all have the same names, and
    left out otherwise.
    """
    combined = _combined(list(summaries))
    return combined if isinstance(combined, dict) else {}


def _combined(values: list[Any]) -> Any:
    present = [v for v in values if v is not None]
    if not present:
        return None
    if all(isinstance(v, Mapping) for v in present):
        keys = dict.fromkeys(key for v in present for key in v)
        found = {key: _combined([v.get(key) for v in present]) for key in keys}
        return {key: value for key, value in found.items() if value is not _DIFFERENT}
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        return estimate([float(v) for v in present]).row()
    if all(isinstance(v, list) for v in present):
        names = [[e.get("name") if isinstance(e, Mapping) else None for e in v] for v in present]
        if names[0] != names[-1] or any(n != names[0] for n in names) or None in names[0]:
            return _DIFFERENT
        return [_combined(list(elements)) for elements in zip(*present, strict=True)]
    return present[0] if all(v == present[0] for v in present) else _DIFFERENT


_DIFFERENT = object()
"""What differs between runs and is no number."""

"""What was recorded of the cases of `farloop validate fluid`: a row becomes worse only with a cause.

Recorded errors are what the next run is held to, so that a record of worse errors would hide what made them worse. A row keeps the smallest
errors that were ever recorded of it (`best`), whatever is recorded since, and has to say why it is worse than these (`cause`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from farloop.errors import FarloopError

MARGIN, POINTS = 0.25, 0.003
"""An error is worse than another where it is larger by more than a quarter and 0.3 points: flows that meet differ by chance."""

BEST, CAUSE = "best", "cause"
"""Keys of a row: by statistic the smallest error, without sign; and why the row is worse."""


class UnexplainedError(FarloopError):
    """A row has become worse, and nothing says why; the text names its statistics."""


def is_worse(error: float, known: float) -> bool:
    """True if an error is worse than a known one; both count without sign."""
    return not abs(error) <= abs(known) * (1 + MARGIN) + POINTS


def find_worse(row: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """By statistic that is worse than it once was: the smallest recorded error, and the row's."""
    errors, best = row["errors"]["fluid"], row.get(BEST, {})
    worse = {name: (best[name], errors.get(name, math.nan)) for name in best}
    return {name: (before, now) for name, (before, now) in worse.items() if is_worse(now, before)}


def find_unexplained(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Case, algorithm and statistic of recorded errors that are worse than they once were, and do not say why."""
    for case, algorithms in document.items():
        for algorithm, classes in algorithms.items():
            row = classes["all"]
            if not row.get(CAUSE):
                yield from ((case, algorithm, statistic) for statistic in find_worse(row))


def succeed(known: Mapping[str, Any] | None, row: Mapping[str, Any], cause: str = "") -> dict[str, Any]:
    """The row of a run that follows a known one.

    Args:
        known: What is recorded of all flows of an algorithm in a case; None for nothing.
        row: What was measured now.
        cause: Why it is worse. A cause that is known is kept as long as the row is no worse than with it.

    Raises:
        UnexplainedError: it is worse, and has no cause.
    """
    errors: Mapping[str, float] = row["errors"]["fluid"]
    before = {} if known is None else known.get(BEST) or known["errors"]["fluid"]
    best = {name: min(abs(before.get(name, math.inf)), abs(error)) for name, error in errors.items()}
    best |= {name: abs(error) for name, error in before.items() if name not in errors}
    following = dict(row) | {BEST: best}
    worse = find_worse(following)
    if not worse:
        return following
    kept = known or {}
    if not cause and kept.get(CAUSE) and not any(is_worse(errors[s], kept["errors"]["fluid"][s]) for s in worse):
        cause = kept[CAUSE]
    if not cause.strip():
        apart = ", ".join(f"{name} {100 * now:.2f} % after {100 * old:.2f} %" for name, (old, now) in worse.items())
        raise UnexplainedError(f"worse than recorded: {apart}; expected a cause")
    return following | {CAUSE: cause.strip()}

"""One verdict of several seeds: each is judged on its own, then they are taken together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from farloop import statistics as intervals
from farloop.judging.claims import Finding, Statement

if TYPE_CHECKING:
    from farloop.results.run import Comparison


def judge_by_seed(comparison: Comparison, judge: Callable[[Comparison], list[Finding]]) -> list[Finding]:
    """Judges the runs; of several seeds, judges each seed alone and then combines the findings."""
    if len(comparison.seeds) < 2:
        return judge(comparison)
    each = [judge(comparison.of_seed(seed)) for seed in comparison.seeds]
    return [_combine_findings(list(findings)) for findings in zip(*each, strict=True)]


def mean_text(values: Sequence[float]) -> str:
    """A mean with its interval, in words."""
    return f"{intervals.mean(values).format('{:.3g}'.format)} (95 %, {len(values)} seeds)"


def _combine_findings(findings: list[Finding]) -> Finding:
    """One finding of one per seed."""
    statements = [_statement(list(s)) for s in zip(*(f.statements for f in findings), strict=True)]
    notes = list(dict.fromkeys(f.note for f in findings if f.note))
    note = "; ".join(
        [f"{len(findings)} seeds", *notes[:1], *(["notes differ between seeds"] if len(notes) > 1 else [])]
    )
    measured = _average_numbers([f.measured for f in findings])
    return replace(findings[0], statements=statements, measured=measured, note=note, unjudged="")


def _statement(each: list[Statement]) -> Statement:
    """A number holds if its mean over the seeds does; an order if it does in more than half of the seeds."""
    first = each[0]
    decided = [s for s in each if s.holds is not None]
    if len(decided) < len(each):
        missing = next(s for s in each if s.holds is None)
        return replace(missing, evidence=f"undecided in {len(each) - len(decided)} seeds: {missing.evidence}")
    if first.accepted is not None:
        values = [s.value if s.value is not None else math.nan for s in each]
        mean = intervals.mean(values).estimate
        low, high = first.accepted
        range_text = f"{mean_text(values)}, accepted {low:.3g} to {high:.3g}"
        return replace(first, holds=mean is not None and low <= mean <= high, evidence=range_text, value=mean)
    holding = [s for s in each if s.holds]
    holds = 2 * len(holding) > len(each)
    example = next(s.evidence for s in each if s.holds == holds)
    valued = [s.value for s in each if s.value is not None]
    number = f"{mean_text(valued)}; " if len(valued) == len(each) else ""
    return replace(first, holds=holds, evidence=f"in {len(holding)} of {len(each)} seeds; {number}such as {example}")


def _average_numbers(each: list[dict[str, Any]]) -> dict[str, Any]:
    """Means of the numbers, each with the ends of its interval; other entries as the first seed has them."""
    together: dict[str, Any] = {}
    for name in dict.fromkeys(k for measured in each for k in measured):
        values = [m[name] for m in each if name in m]
        if all(isinstance(v, (int, float)) for v in values) and len(values) > 1:
            interval = intervals.mean([float(v) for v in values])
            together |= {name: interval.estimate, f"{name}, 95 %": [interval.low, interval.high]}
        else:
            together[name] = values[0]
    return together

"""Rows of the comparison with LCMP's program, for terminal and page."""

from __future__ import annotations

from collections.abc import Sequence

from farloop.studies.validation.lcmp.flow_by_flow import (
    ALL,
    HASHES,
    METRICS,
    PLAIN,
    TIES,
    LcmpComparison,
    SlowdownNumber,
)
from farloop.views.report.tables import Cell

HEADER = [
    "case",
    "flows",
    "of size",
    *(f"{metric}: program / farloop" for metric in METRICS),
    "own spread",
    "flow by flow",
    "verdict",
]


def rows(compared: Sequence[LcmpComparison]) -> list[list[Cell]]:
    """A row for each case and class of sizes; what is judged stands in the first of a case."""
    made: list[list[Cell]] = []
    for own in compared:
        by_class: dict[str, list[SlowdownNumber]] = {}
        for number in own.numbers:
            by_class.setdefault(number.size_class, []).append(number)
        for size_class, numbers in by_class.items():
            first = size_class == ALL
            made.append(
                [
                    own.case if first else "",
                    str(own.flows) if first else "",
                    size_class,
                    *(_pair_text(number) for number in numbers),
                    _spread(numbers) if first else "",
                    f"{own.flow_by_flow['p50'] - 1:+.1%}; {own.flow_by_flow['within 5 %']:.0%} within 5 %"
                    if first
                    else "",
                    own.verdict if first else "",
                ]
            )
    return made


def sentences(compared: Sequence[LcmpComparison]) -> list[str]:
    """The answer: which cases agree, and what is not over."""
    if not compared:
        return ["Nothing is kept of these cases."]
    agree = sum(own.verdict == "agrees" for own in compared)
    flows = sum(own.flows for own in compared)
    exact = sum(own.exact_ideals for own in compared)
    said = [
        f"{agree} of {len(compared)} cases agree with LCMP's ns-3, {flows} flows in all.",
        f"The closed form gives {exact} of {flows} ideal completion times to the nanosecond.",
    ]
    for own in compared:
        if own.program_unfinished or own.farloop_unfinished:
            said.append(
                f"{own.case}: {own.program_unfinished} flows are not over in the program, and {own.farloop_unfinished} of the others not "
                "in farloop."
            )
    return said


def _pair_text(number: SlowdownNumber) -> str:
    return f"{number.program:.4g} / {number.farloop[PLAIN]:.4g} ({number.difference:+.1%})"


def _spread(numbers: Sequence[SlowdownNumber]) -> str:
    """How far the variations are from the compared run, where they were made: of each the largest difference."""
    parts = []
    for name in (TIES, HASHES):
        if all(name in number.farloop for number in numbers):
            most = max((number.farloop[name] / number.farloop[PLAIN] - 1 for number in numbers), key=abs)
            parts.append(f"{name} {most:+.1%}")
    return ", ".join(parts) or "–"

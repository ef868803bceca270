"""What a user may believe wrongly of a run or a comparison, in words.

The terminal shows cautions after the tables, a report shows them at its head, and `summary.json` lists them under "cautions". Each has a
code, so that programs can tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from farloop import steadiness

if TYPE_CHECKING:
    from farloop.results import Comparison, Run

CODES = {
    "network": "the simulated network is most likely not the one that was meant",
    "not-steady": "flows that begin later are slowed otherwise than earlier ones: a longer run would have other means and percentiles",
    "warm-up": "a long part of the flows began before the network was as loaded as later",
}
"""The codes that there are, and what each is about."""


@dataclass(frozen=True)
class Caution:
    """One caution.

    Attributes:
        code: One of `CODES`.
        text: What is wrong, with the numbers that show it, as one sentence.
    """

    code: str
    text: str

    def row(self) -> dict[str, str]:
        """As summary.json has it."""
        return {"code": self.code, "text": self.text}


def of_run(run: Run) -> list[Caution]:
    """The cautions of one run."""
    found = [Caution("network", note) for note in run.info.get("notes", [])]
    return found + [Caution(code, text) for code, text in steadiness.warnings(run)]


def of_comparison(comparison: Comparison) -> list[Caution]:
    """The cautions of all runs, each once, then those of the comparison itself; what has other numbers in each run is told of one."""
    each = [caution for run in comparison.runs for caution in of_run(run)]
    found = [caution for caution in each if caution.code not in steadiness.CODES]
    found += [Caution(code, text) for code, text in steadiness.warnings_together(comparison.runs)]
    return list(dict.fromkeys(found))

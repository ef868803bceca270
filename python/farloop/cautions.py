"""What a user may believe wrongly of a run or a comparison, in words.

The terminal shows cautions after the tables, a report shows them at its head, and `summary.json` lists them under "cautions". Each has a
code, so that programs can tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from farloop import jitter

if TYPE_CHECKING:
    from farloop.results import Comparison, Run

CODES = {
    "fragile": "numbers that ties decide: they move under another order of simultaneous events (`farloop.jitter`)",
    "network": "the simulated network is most likely not the one that was meant",
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
    return [Caution("network", note) for note in run.info.get("notes", [])]


def of_comparison(comparison: Comparison) -> list[Caution]:
    """The cautions of all runs, each once, then those of the comparison itself."""
    found = [caution for run in comparison.runs for caution in of_run(run)]
    found += [Caution("fragile", text) for _, text in jitter.told(comparison)]
    return list(dict.fromkeys(found))

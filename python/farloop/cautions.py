"""What a user may believe wrongly of a run or a comparison, in words.

The terminal shows cautions after the tables, a report shows them at its head, and `summary.json` lists them under "cautions". Each has a
code, so that programs can tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from farloop import offered, starts

if TYPE_CHECKING:
    from farloop.results import Comparison, Run

CODES = {
    "network": "the simulated network is most likely not the one that was meant",
    "overload": "the traffic asks for more than a layer of the network carries",
    "short-flows": "most small flows may end before their first ACK: no algorithm had acted on them",
    "starts": "the compared algorithms start differently",
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
    return [
        *(Caution("network", note) for note in run.info.get("notes", [])),
        *(Caution("overload", text) for text in _overloads(run)),
        *(
            Caution("short-flows", f"{run.algorithm}: {text}")
            for text in starts.unacted_text(run.numbers["before_first_ack"] or {})
        ),
    ]


def of_comparison(comparison: Comparison) -> list[Caution]:
    """The cautions of all runs, each once, then those of the comparison itself."""
    of_runs = [caution for run in comparison.runs for caution in of_run(run)]
    return list(dict.fromkeys([*of_runs, *between(comparison)]))


def between(comparison: Comparison) -> list[Caution]:
    """Those that no run has by itself."""
    cases: dict[str, list[Run]] = {}
    for run in comparison.runs:
        cases.setdefault(run.case, []).append(run)
    return [
        Caution("starts", text)
        for text in dict.fromkeys(t for runs in cases.values() for t in starts.differences(runs))
    ]


def _overloads(run: Run) -> list[str]:
    begin, until = run.numbers["network"]["arrivals"]
    return offered.overloads(run.numbers["network"]["layers"], until - begin)

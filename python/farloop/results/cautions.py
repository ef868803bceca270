"""Cautions: what a user may believe wrongly of a run or a comparison, in words.

The terminal shows cautions after the tables, a report shows them at its head, and `summary.json` lists them under "cautions". Each has a
code, so that programs can tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from farloop.results import capped, ecn_sharing, flow_completion, gears, jitter, offered, ramp, starts, steadiness
from farloop.results.protocols import RunNumbers

CODES = {
    "ecn": "packets that cannot be marked wait in queues that mark others, and are not dropped there as by RED and WRED",
    "few-flows": "a 99th percentile is over few flows, or there are none (of studies; tables mark it)",
    "fragile": "numbers that ties decide: they move under another order of simultaneous events (`farloop.results.jitter`)",
    "gear": "runs that are not packet by packet: their numbers have the error of rates, more so beside packets (docs/fluid.md)",
    "network": "the simulated network is most likely not the one that was meant",
    "overload": "the traffic asks for more than a layer of the network carries",
    "receive-window": "the receive window keeps flows below the rates of their paths",
    "short-flows": "most flows of at most the median size may end before their first ACK: no algorithm had acted on them",
    "slow-start": "no flow of a kind of path lived long enough to reach its steady rate",
    "unfinished": "one flow in a hundred or more did not finish: percentiles of finished flows leave out the slowest",
    "starts": "the compared algorithms start differently",
    "not-steady": "flows that begin later are slowed otherwise than earlier ones: a longer run would have other means and percentiles",
    "warm-up": "a long part of the flows began before the network was as loaded as later",
}
"""The codes that there are, and what each is about."""

_BY_WEIGHT = (
    "gear", "network", "overload", "unfinished", "receive-window", "not-steady", "fragile", "starts", "short-flows", "few-flows", "warm-up",
)  # fmt: skip
"""Codes, those first that put most of the other numbers into doubt."""

MAX_DECISIVE = 2
"""Cautions that stand beside an answer; the others are below the tables, or in the report."""


class RunToCaution(RunNumbers, steadiness.SteadyRun, Protocol):
    """A run with its numbers and what is known of its steadiness."""


class ComparisonToCaution(jitter.Varied, Protocol):
    """Such runs side by side, perhaps with variations."""

    @property
    def runs(self) -> Sequence[RunToCaution]:
        """The runs, in the requested order."""


@dataclass(frozen=True)
class Caution:
    """One caution.

    Attributes:
        code: One of `CODES`.
        text: The caution with the numbers that show it, as one sentence.
    """

    code: str
    text: str

    def row(self) -> dict[str, str]:
        """As summary.json has it."""
        return {"code": self.code, "text": self.text}


def of_run(run: RunToCaution) -> list[Caution]:
    """The cautions of one run."""
    return [*_gear_cautions([run]), *_network_cautions([run]), *_joint_cautions([run])]


def comparison_cautions(comparison: ComparisonToCaution) -> list[Caution]:
    """The cautions of all runs, each once and those of several runs as one, then those of the comparison itself."""
    moved = [Caution("fragile", text) for _, text in jitter.warnings(comparison)]
    return list(
        dict.fromkeys(
            [
                *_gear_cautions(comparison.runs),
                *_network_cautions(comparison.runs),
                *_joint_cautions(comparison.runs),
                *compare_runs(comparison),
                *moved,
            ]
        )
    )


def by_weight(cautions: Sequence[Caution]) -> list[Caution]:
    """The cautions with those first that put most numbers into doubt; of each code one first, then the others in their order."""
    seen: dict[str, int] = {}
    ranked = []
    for caution in cautions:
        turn = seen[caution.code] = seen.get(caution.code, -1) + 1
        weight = _BY_WEIGHT.index(caution.code) if caution.code in _BY_WEIGHT else -1
        ranked.append((turn, weight, caution))
    return [caution for _, _, caution in sorted(ranked, key=lambda row: row[:2])]


def compare_runs(comparison: ComparisonToCaution) -> list[Caution]:
    """Those that no run has by itself."""
    cases: dict[str, list[RunToCaution]] = {}
    for run in comparison.runs:
        cases.setdefault(run.case, []).append(run)
    return [
        Caution("starts", text)
        for text in dict.fromkeys(difference for runs in cases.values() for difference in starts.differences(runs))
    ]


def _gear_cautions(runs: Sequence[RunToCaution]) -> list[Caution]:
    """Says how the runs were simulated, where not all were packet by packet."""
    bounds = gears.error_sentence(runs[0].info.get("error")) if len(runs) == 1 else ""
    return [
        Caution("gear", f"{text}; {bounds}" if bounds else text)
        for text in gears.sentences(run.scenario for run in runs)
    ]


def _network_cautions(runs: Sequence[RunToCaution]) -> list[Caution]:
    return [Caution("network", note) for run in runs for note in run.info.get("notes", [])]


def _joint_cautions(runs: Sequence[RunToCaution]) -> list[Caution]:
    """Returns cautions that differ between seeds and cases in numbers only, each once."""
    cautions = [Caution("overload", text) for text in offered.worst_overload([run.numbers["network"] for run in runs])]
    windows = capped.sentences([run.info.get("capped", []) for run in runs])
    cautions += [Caution("receive-window", text) for text in windows]
    cautions += [Caution("slow-start", text) for text in ramp.sentences(runs)]
    shared = [text for run in runs if (text := ecn_sharing.sentence(run)) is not None]
    cautions += [Caution("ecn", text) for text in shared[:1]]
    by_algorithm: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        by_algorithm.setdefault(run.algorithm, []).append(run.numbers)
    for algorithm, each in by_algorithm.items():
        cautions += [Caution("unfinished", f"{algorithm}: {text}") for text in flow_completion.omission_sentences(each)]
        counts = [numbers["before_first_ack"] or {} for numbers in each]
        cautions += [Caution("short-flows", f"{algorithm}: {text}") for text in starts.unacted_text(counts)]
    return cautions + [Caution(code, text) for code, text in steadiness.warnings_together(runs)]

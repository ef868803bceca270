"""Remarks of a study on its runs: the start of flows, and cautions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from farloop.results import cautions, starts
from farloop.results.size_classes import MIN_TAIL_FLOWS, NO_FLOWS
from farloop.units import count_text

if TYPE_CHECKING:
    from farloop.results.run import Run
    from farloop.results.tables import Floats
    from farloop.studies.sweep.dataset import Row
    from farloop.studies.sweep.measures import Measure

TAIL = 99.0
"""From this percentile on a number of few flows is one of the largest among them."""


@dataclass
class Remarks:
    """Gathered run by run, so that no run has to stay in memory."""

    _starts: dict[str, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)
    _cautions: dict[str, dict[str, int]] = field(default_factory=dict)
    _flows: dict[str, list[int]] = field(default_factory=dict)
    """By metric: how many flows it is over at each point, if it is a percentile of flows from the 99th on."""

    def note(self, row: Row, run: Run) -> None:
        """Takes in a run."""
        point = ", ".join(f"{key}={value}" for key, value in row.settings.items() if key != "algorithm")
        self._starts.setdefault(point, {}).setdefault(str(row.algorithm), starts.entries(run))
        for caution in cautions.of_run(run):
            texts = self._cautions.setdefault(caution.code, {})
            texts[caution.text] = texts.get(caution.text, 0) + 1

    def note_sizes(self, metrics: Sequence[Measure], samples: Mapping[str, Sequence[Floats]]) -> None:
        """Takes in how many flows the metrics of a point are over; `samples` has the values of each seed's flows by metric."""
        for metric in metrics:
            if metric.is_of_flows and (metric.percent or 0.0) >= TAIL:
                flows = sum(int(values.size) for values in samples[metric.name])
                self._flows.setdefault(metric.name, []).append(flows)

    def content(self) -> dict[str, Any]:
        """For the manifest: the rows of the table of starts, and the cautions, of each code the first with the number of its runs."""
        each = [entries for algorithms in self._starts.values() for entries in algorithms.values()]
        warnings = [
            {"code": code, "text": _count_repeats(next(iter(texts)), sum(texts.values()), "runs")}
            for code, texts in self._cautions.items()
        ]
        texts_of_sizes = [_few_flows(name, flows) for name, flows in self._flows.items()]
        warnings += [{"code": "few-flows", "text": text} for text in texts_of_sizes if text]
        differences = [
            (point, starts.differences_of(list(algorithms.values()))) for point, algorithms in self._starts.items()
        ]
        differing = [(point, texts) for point, texts in differences if texts]
        if differing:
            point, texts = differing[0]
            where = f"{point}: " if point else ""
            warnings += [
                {"code": "starts", "text": where + _count_repeats(text, len(differing), "points")} for text in texts
            ]
        return {"starts": starts.rows_of(each), "cautions": warnings}


def _few_flows(name: str, flows: Sequence[int]) -> str:
    """Returns the caution about a percentile over few flows or none at some points, in words."""
    few = [count for count in flows if 0 < count < MIN_TAIL_FLOWS]
    parts = []
    if few:
        least = f"{min(few)}" if min(few) == max(few) else f"{min(few)} to {max(few)}"
        parts.append(
            f"over {least} flows at {len(few)} of {count_text(len(flows), 'point')}: below {MIN_TAIL_FLOWS} such a percentile is hardly "
            "more than their largest value"
        )
    if empty := flows.count(0):
        parts.append(f"{NO_FLOWS} at {empty} of {count_text(len(flows), 'point')}")
    return f"{name}: {'; '.join(parts)}" if parts else ""


def _count_repeats(text: str, count: int, what: str) -> str:
    return text if count == 1 else f"{text}; in {count} {what} something like it"

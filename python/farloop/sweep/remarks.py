"""What a study says of its runs besides numbers: how flows began, and what a user may believe wrongly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from farloop.results import cautions, starts

if TYPE_CHECKING:
    from farloop.results.run import Run
    from farloop.sweep.dataset import Row


@dataclass
class Remarks:
    """Gathered run by run, so that no run has to stay in memory."""

    _starts: dict[str, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)
    _cautions: dict[str, dict[str, int]] = field(default_factory=dict)

    def note(self, row: Row, run: Run) -> None:
        """Takes in a run."""
        point = ", ".join(f"{key}={value}" for key, value in row.settings.items() if key != "algorithm")
        self._starts.setdefault(point, {}).setdefault(str(row.algorithm), starts.entries(run))
        for caution in cautions.of_run(run):
            texts = self._cautions.setdefault(caution.code, {})
            texts[caution.text] = texts.get(caution.text, 0) + 1

    def content(self) -> dict[str, Any]:
        """For the manifest: the rows of the table of starts, and the cautions, of each code the first with how many runs it is said of."""
        each = [entries for algorithms in self._starts.values() for entries in algorithms.values()]
        warnings = [
            {"code": code, "text": _counted(next(iter(texts)), sum(texts.values()), "runs")}
            for code, texts in self._cautions.items()
        ]
        differences = [
            (point, starts.differences_of(list(algorithms.values()))) for point, algorithms in self._starts.items()
        ]
        differing = [(point, texts) for point, texts in differences if texts]
        if differing:
            point, texts = differing[0]
            where = f"{point}: " if point else ""
            warnings += [{"code": "starts", "text": where + _counted(text, len(differing), "points")} for text in texts]
        return {"starts": starts.rows_of(each), "cautions": warnings}


def _counted(text: str, count: int, what: str) -> str:
    return text if count == 1 else f"{text}; in {count} {what} something like it"

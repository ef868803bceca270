"""Claims of the papers, what the runs say about them, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from farloop.judging.claim_readings import APART, ClaimReading, ReadingClass, read_readings, worst_class
from farloop.judging.schedule import Need
from farloop.results.summary import replace_infinite

if TYPE_CHECKING:
    from farloop.results.run import Comparison, Run

Verdict = Literal["reproduced", "direction", "differs", "partial", "not judged"]
"""The last two are no verdicts: some statements are not decided; the runs are not the figure's."""

VERDICTS: tuple[Verdict, ...] = ("reproduced", "direction", "differs", "partial", "not judged")
"""All of them, best first."""


Better = Literal["lower", "higher"]
"""The direction in which a number gets better."""


class UndecidedError(Exception):
    """The runs at hand cannot decide a statement; the text says why."""


@dataclass(frozen=True)
class Claim:
    """A published claim.

    Attributes:
        id: Such as "gear/fig09".
        what: The claim in words.
        paper: Published numbers by name.
        tolerance: Relative tolerance of each number: 0.1 accepts 0.9 to 1.1 times the published one. Of a published 0 it is absolute.
        readings: What its runs rest on that is not published. Without any it is untouched: all is published, or a default of cited work.
        by_construction: Its statements follow from the setting alone.
    """

    id: str
    what: str
    paper: dict[str, float]
    tolerance: dict[str, float]
    readings: tuple[ClaimReading, ...] = ()
    by_construction: bool = False

    @property
    def calibrated(self) -> str:
        """The parameters that this figure's numbers chose, so that agreement is no confirmation; empty if there are none."""
        return "; ".join(reading.what for reading in self.readings if reading.reading_class == "this figure")

    def classify_reading(self, statement: str) -> ReadingClass:
        """The worst class of the readings that a statement rests on; that of all statements by construction."""
        if self.by_construction:
            return APART
        return worst_class(r for r in self.readings if not r.statements or statement in r.statements)

    def range(self, name: str) -> tuple[float, float]:
        """The accepted values of a published number."""
        value, part = self.paper[name], self.tolerance[name]
        return (value * (1 - part), value * (1 + part)) if value else (-part, part)


@dataclass(frozen=True)
class Statement:
    """One part of a claim.

    Attributes:
        text: The statement.
        holds: True if the runs support it; `None` if the runs at hand cannot decide it.
        evidence: The measured numbers behind that, or what is missing.
        number: It is about a published number; otherwise about an order or a direction.
        needs: The runs that decide it.
        value: The measured number, where there is one.
        accepted: The values of it that count as the published one.
        better: The direction of better values than the published one, where there is one: "lower" or "higher".
    """

    text: str
    holds: bool | None
    evidence: str
    number: bool = False
    needs: tuple[Need, ...] = ()
    value: float | None = None
    accepted: tuple[float, float] | None = None
    better: Better | None = None

    @property
    def side(self) -> str:
        """Of a number that is not the published one: "better" or "worse" than that; empty of anything else."""
        if self.holds is not False or self.value is None or self.accepted is None or self.better is None:
            return ""
        return "better" if (self.value < self.accepted[0]) == (self.better == "lower") else "worse"

    def row(self) -> dict[str, Any]:
        """Its entry in claims.json."""
        return {
            "text": self.text,
            "holds": self.holds,
            "evidence": self.evidence,
            "number": self.number,
            "side": self.side,
        }


@dataclass(frozen=True)
class Finding:
    """The verdict of the runs on one claim.

    Attributes:
        id: The claim's.
        statements: Its parts, all of them: those that the runs cannot decide, too.
        measured: Our numbers, under the names that the paper's have in the claim, and others worth keeping.
        unit: The unit of the numbers; empty for ratios.
        note: Remarks for the reader, such as the reading of the paper or what is left out.
        unjudged: Why nothing is judged, such as "changed keys run.duration"; empty if it is.
    """

    id: str
    statements: list[Statement]
    measured: dict[str, Any] = field(default_factory=dict)
    unit: str = ""
    note: str = ""
    unjudged: str = ""

    @property
    def verdict(self) -> Verdict:
        """Reproduced if every statement holds; direction if all do that are not about numbers; differs otherwise.

        Partial as long as a statement is not decided: what is missing could decide otherwise.
        """
        if self.unjudged:
            return "not judged"
        if not self.statements:
            return "differs"
        if any(s.holds is None for s in self.statements):
            return "partial"
        if all(s.holds for s in self.statements):
            return "reproduced"
        orders = [s for s in self.statements if not s.number]
        return "direction" if orders and all(s.holds for s in orders) else "differs"

    def verdict_text(self, claim: Claim) -> str:
        """The verdict with what belongs beside it."""
        verdict = self.verdict
        if verdict == "not judged":
            return f"not judged: {self.unjudged}"
        if verdict == "partial":
            decided = sum(s.holds is not None for s in self.statements)
            return f"partial: {decided} of {len(self.statements)} statements"
        return f"{verdict} (calibrated: {claim.calibrated})" if claim.calibrated else verdict

    def row(self, claim: Claim, scale: str) -> dict[str, Any]:
        """The claim's entry in claims.json."""
        judged = [s for s in self.statements if s.holds is not None]
        objections = [] if self.unjudged else _objections([s.row() for s in self.statements])
        row: dict[str, Any] = replace_infinite(
            {
                "id": self.id,
                "verdict": self.verdict,
                "verdict_text": self.verdict_text(claim),
                "calibrated": bool(claim.calibrated),
                "calibrated_by": claim.calibrated,
                "held": sum(bool(s.holds) for s in judged),
                "judged": len(judged),
                "paper": claim.paper,
                "measured": self.measured,
                "unit": self.unit,
                "note": "; ".join([*objections, *([self.note] if self.note else [])]),
                "scale": scale,
                "what": claim.what,
                "statements": [s.row() for s in self.statements],
            }
        )
        return row


def _objections(statements: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the statements that fail, then the undecided ones, with the evidence."""
    words = {False: "does not hold", None: "not decided"}

    def objection(statement: Mapping[str, Any], word: str) -> str:
        beyond = f", {side} than published" if (side := statement.get("side")) else ""
        return f"{word}{beyond}: {statement['text']} ({statement['evidence']})"

    return [objection(s, word) for holds, word in words.items() for s in statements if s["holds"] is holds]


def add_readings(row: Mapping[str, Any], claim: Claim) -> dict[str, Any]:
    """The entry of a claim with the class of the reading that each statement rests on, and a verdict that says "by construction"."""
    statements = [s | {"reading": claim.classify_reading(s["text"])} for s in row["statements"]]
    addition = " (by construction)" if claim.by_construction and row["verdict"] in VERDICTS[:3] else ""
    return {**row, "verdict_text": row["verdict_text"].removesuffix(addition) + addition, "statements": statements}


def remark(row: Mapping[str, Any]) -> str:
    """The note of an entry of claims.json without what its statements say already."""
    return str(row["note"]).removeprefix("; ".join(_objections(row["statements"]))).removeprefix("; ")


class Judging:
    """Gathers what the runs of a comparison say about one claim.

    Every statement of the claim is made once, with the runs that it needs; one whose runs are absent, or whose numbers these runs do not
    have, stands there undecided. So the number of statements does not depend on the runs at hand.

    Attributes:
        claim: The claim.
        comparison: The runs.
        statements: The statements so far.
        measured: Our numbers.
        notes: Remarks.
    """

    def __init__(self, comparison: Comparison, claim: Claim) -> None:
        self.claim = claim
        self.comparison = comparison
        self.statements: list[Statement] = []
        self.measured: dict[str, Any] = {}
        self.notes: list[str] = []
        self._runs: dict[Need, Run] = {}
        for run in comparison.runs:
            self._runs.setdefault(Need(run.case, run.algorithm), run)

    def order(
        self, text: str, needs: Sequence[Need], decide: Callable[..., tuple[bool, str]], *, number: bool = False
    ) -> None:
        """States an order or a direction (or, with `number`, a bound that the paper gives as a number).

        `decide` gets the needed runs, in the order of `needs`, and tells whether it holds, and the evidence.
        """
        decision = self._decide(needs, decide)
        if isinstance(decision, str):
            self.statements.append(Statement(text, None, decision, number, tuple(needs)))
        else:
            self.statements.append(Statement(text, bool(decision[0]), decision[1], number, tuple(needs)))

    def near(
        self,
        name: str,
        text: str,
        needs: Sequence[Need],
        measure: Callable[..., float | tuple[float, str]],
        *,
        better: Better | None = None,
    ) -> None:
        """States that a number is within the tolerance of the published one of that name, and keeps the number.

        `measure` gets the needed runs, in the order of `needs`, and gives the number, with further evidence if there is any. With `better`
        a number outside of the tolerance is classified as better or worse than the published one.
        """
        measurement = self._decide(needs, measure)
        if isinstance(measurement, str):
            self.statements.append(Statement(text, None, measurement, True, tuple(needs)))
            return
        value, evidence = measurement if isinstance(measurement, tuple) else (measurement, "")
        self.measured[name] = value
        stated = near(self.claim, name, value, text, evidence, needs=tuple(needs))
        self.statements.append(replace(stated, better=better))

    def measure(self, numbers: Callable[..., Mapping[str, Any]], *of: Any) -> None:
        """Keeps the numbers that a function gives of its arguments; where these runs do not have them, a note says so."""
        try:
            self.measured |= numbers(*of)
        except Exception as error:  # a number that cannot be had costs nothing else
            self.notes.append(f"not measured: {error_text(error)}")

    def find(self, need: Need) -> Run | None:
        """A run, if it is there."""
        return self._runs.get(need)

    def have(self, needs: Sequence[Need]) -> list[Run]:
        """Those of the runs that are there."""
        return [self._runs[n] for n in needs if n in self._runs]

    def finding(self, *, unit: str = "", note: str = "") -> Finding:
        """Everything that was stated."""
        notes = "; ".join([*self.notes, *([note] if note else [])])
        return Finding(self.claim.id, self.statements, self.measured, unit, notes)

    def _decide(self, needs: Sequence[Need], decide: Callable[..., Any]) -> Any:
        """Returns the decision; a text instead if the runs cannot decide."""
        if not needs:
            return "the figure schedules no such run"
        missing = [str(n) for n in needs if n not in self._runs]
        if missing:
            return f"needs {', '.join(missing)}"
        try:
            return decide(*self.have(needs))
        except Exception as error:  # whatever a run lacks, the statement is undecided and the others are not
            return f"cannot be measured: {error_text(error)}"


def near(
    claim: Claim, name: str, value: float, text: str, evidence: str = "", *, needs: tuple[Need, ...] = ()
) -> Statement:
    """The statement that a measured number is within the tolerance of the published one; undecided where there is no number (NaN)."""
    low, high = claim.range(name)
    range_text = f"{value:.3g}, accepted {low:.3g} to {high:.3g}"
    return Statement(
        text,
        None if math.isnan(value) else low <= value <= high,
        f"{range_text}; {evidence}" if evidence else range_text,
        number=True,
        needs=needs,
        value=value,
        accepted=(low, high),
    )


def error_text(error: Exception) -> str:
    """An error as a short text."""
    if isinstance(error, UndecidedError):
        return str(error)
    if isinstance(error, KeyError):
        key = error.args[0] if error.args else ""
        return f"not recorded: {' '.join(map(str, key)) if isinstance(key, tuple) else key}"
    return f"{type(error).__name__}: {error}"


def read_claims(document: Mapping[str, Any]) -> list[Claim]:
    """The claims of a scenario file."""
    return [
        Claim(
            id=str(c["id"]),
            what=str(c["what"]),
            paper=_numbers(c.get("paper", {})),
            tolerance=_numbers(c.get("tolerance", {})),
            readings=read_readings(c),
            by_construction=bool(c.get("by_construction", False)),
        )
        for c in document.get("claim", [])
    ]


def _numbers(table: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a table that may hold texts and lists, too."""
    return {k: float(v) for k, v in table.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}

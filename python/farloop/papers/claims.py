"""Claims of the papers, what the runs say about them, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from farloop.summary import finite

Verdict = Literal["reproduced", "direction", "differs"]


@dataclass(frozen=True)
class Claim:
    """A published claim.

    Attributes:
        id: Such as "gear/fig09".
        what: The claim in words.
        paper: Published numbers by name.
        tolerance: Relative tolerance of each number: 0.1 accepts 0.9 to 1.1 times the published one.
    """

    id: str
    what: str
    paper: dict[str, float]
    tolerance: dict[str, float]

    def range(self, name: str) -> tuple[float, float]:
        """The accepted values of a published number."""
        value, part = self.paper[name], self.tolerance[name]
        return value * (1 - part), value * (1 + part)


@dataclass(frozen=True)
class Statement:
    """One part of a claim, decided by the runs.

    Attributes:
        text: The statement.
        holds: Whether it does.
        evidence: The measured numbers behind that.
        number: It is about a published number; otherwise about an order or a direction.
    """

    text: str
    holds: bool
    evidence: str
    number: bool = False


@dataclass(frozen=True)
class Finding:
    """What the runs say about one claim.

    Attributes:
        id: The claim's.
        statements: Its parts.
        measured: Our numbers, under the names that the paper's have in the claim, and others worth keeping.
        unit: The unit of the numbers; empty for ratios.
        note: What a reader should know besides: which reading, what is left out.
    """

    id: str
    statements: list[Statement]
    measured: dict[str, Any] = field(default_factory=dict)
    unit: str = ""
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Reproduced if every statement holds; direction if all do that are not about numbers; differs otherwise."""
        if self.statements and all(s.holds for s in self.statements):
            return "reproduced"
        orders = [s for s in self.statements if not s.number]
        return "direction" if orders and all(s.holds for s in orders) else "differs"

    def row(self, claim: Claim, scale: str) -> dict[str, Any]:
        """The claim's entry in claims.json."""
        failed = [f"does not hold: {s.text} ({s.evidence})" for s in self.statements if not s.holds]
        row: dict[str, Any] = finite(
            {
                "id": self.id,
                "verdict": self.verdict,
                "paper": claim.paper,
                "measured": self.measured,
                "unit": self.unit,
                "note": "; ".join([*failed, *([self.note] if self.note else [])]),
                "scale": scale,
                "what": claim.what,
                "statements": [
                    {"text": s.text, "holds": s.holds, "evidence": s.evidence, "number": s.number}
                    for s in self.statements
                ],
            }
        )
        return row


def near(claim: Claim, name: str, value: float, text: str, evidence: str = "") -> Statement:
    """The statement that a measured number is within the tolerance of the published one."""
    low, high = claim.range(name)
    said = f"{value:.3g}, accepted {low:.3g} to {high:.3g}"
    return Statement(
        text, math.isfinite(value) and low <= value <= high, f"{said}; {evidence}" if evidence else said, number=True
    )


def read_claims(document: Mapping[str, Any]) -> list[Claim]:
    """The claims of a scenario file."""
    return [
        Claim(
            id=str(c["id"]),
            what=str(c["what"]),
            paper={k: float(v) for k, v in c.get("paper", {}).items()},
            tolerance={k: float(v) for k, v in c.get("tolerance", {}).items()},
        )
        for c in document.get("claim", [])
    ]

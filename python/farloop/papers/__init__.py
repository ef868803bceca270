"""The papers' figures: one module each, which judges the published claims and draws the picture.

A module for the figure `paper/figure` is called `paper_figure` and has

- `judge(comparison, claims) -> list[Finding]`: one finding per claim that the runs at hand can decide,
- `draw(comparison) -> dict[str, Figure]`: pictures in the paper's arrangement, by name.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from farloop.papers.claims import Claim, Finding, Statement, read_claims
from farloop.results import Comparison
from farloop.scenario import Scenario

__all__ = ["Claim", "Finding", "Statement", "judged", "module", "read_claims"]


def module(figure: str) -> ModuleType | None:
    """The module of a figure such as "gear/fig09"; `None` for a scenario that is no paper's figure."""
    name = figure.replace("/", "_").replace("-", "_")
    if not name.isidentifier() or importlib.util.find_spec(f"{__name__}.{name}") is None:
        return None
    return importlib.import_module(f"{__name__}.{name}")


def judged(comparison: Comparison, scenario: Scenario, scale: str = "custom") -> Comparison:
    """The comparison with the verdicts on the claims of its scenario, as far as its runs can decide them."""
    described = scenario.resolved.get("figure", {})
    figure = str(described.get("id", "")) if isinstance(described, Mapping) else ""
    judge = module(figure) if figure else None
    claims = read_claims(scenario.resolved)
    rows: list[dict[str, Any]] = []
    if judge is not None and claims:
        by_id = {c.id: c for c in claims}
        rows = [finding.row(by_id[finding.id], scale) for finding in judge.judge(comparison, by_id)]
    return dataclasses.replace(comparison, figure=figure, claims=rows, scale=scale)

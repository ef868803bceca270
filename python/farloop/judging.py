"""Verdicts that cannot cost results: a judge that fails is a note."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from farloop.results import Comparison
from farloop.scenario import PAPERS, Scenario, figure_names


def judged(comparison: Comparison, scenario: Scenario, scale: str = "custom") -> Comparison:
    """The comparison with the verdicts on its scenario's claims; with a note instead where they cannot be judged, whatever the reason."""
    from farloop import papers

    try:
        found = papers.judged(comparison, scenario, scale)
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        described = scenario.resolved.get("figure")
        figure = str(described.get("id", "")) if isinstance(described, dict) else ""
        note = f"the claims of {figure or scenario.file} could not be judged: {why}"
        found = replace(comparison, figure=figure, claims=[], scale=scale, notes=[*comparison.notes, note])
    return replace(found, base=scenario)


def judged_anew(comparison: Comparison) -> Comparison:
    """A comparison that was read from disk with the verdicts of today's judges on its tables.

    The claims are those of the paper's figure as this version has them, where the comparison was made from that figure's scenario.
    """
    base = comparison.base
    if base is None or not comparison.figure:
        return comparison
    if comparison.figure in figure_names() and Path(base.file).as_posix().endswith(f"{comparison.figure}.toml"):
        path = PAPERS / f"{comparison.figure}.toml"
        base = Scenario(path.read_text("utf-8"), str(path), base.overrides)
    found = judged(replace(comparison, claims=[], notes=[]), base, comparison.scale)
    # What was run is what the output goes on saying.
    return replace(found, base=comparison.base)

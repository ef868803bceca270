"""The papers' figures: one module each, which judges the published claims and draws the picture.

A module for the figure `paper/figure` is called `paper_figure` and has

- `judge(comparison, claims) -> list[Finding]`: one finding for each claim, with all its statements; what the runs at hand cannot decide is
  undecided ([Judging][farloop.papers.claims.Judging]),
- `draw(comparison) -> dict[str, Figure]`: pictures in the paper's arrangement, by name.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Mapping
from types import ModuleType

from farloop.papers.claims import VERDICTS, Claim, Finding, Statement, UndecidedError, Verdict, read_claims, reason
from farloop.papers.replication import replicated
from farloop.papers.schedule import Need, own_scenario, placed, told
from farloop.results import Comparison
from farloop.scenario import Scenario, figure_names

__all__ = [
    "VERDICTS",
    "Claim",
    "Finding",
    "Need",
    "Statement",
    "Verdict",
    "judged",
    "module",
    "needs",
    "read_claims",
]


def module(figure: str) -> ModuleType | None:
    """The module of a figure such as "gear/fig09"; `None` for a scenario that is no paper's figure."""
    if figure not in figure_names():
        return None
    name = f"{__name__}.{figure.replace('/', '_').replace('-', '_')}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def judged(comparison: Comparison, scenario: Scenario, scale: str = "custom") -> Comparison:
    """The comparison with what its runs say about each claim of its scenario.

    A verdict is about the paper's figure: runs whose network, traffic, duration or parameters are not the figure's are not judged.
    Nothing that a judge stumbles over is raised: the claim says so.
    """
    figure = _figure(scenario)
    comparison = dataclasses.replace(comparison, figure=figure, scale=scale)
    claims = read_claims(scenario.resolved)
    findings = _findings(comparison, claims)
    rows = [findings[claim.id].row(claim, scale) for claim in claims]
    return dataclasses.replace(comparison, claims=rows)


def needs(figure: str, scale: str = "full") -> dict[str, list[Need]]:
    """What each claim of a paper's figure needs: cases and algorithms, as its judge declares them."""
    own, judge = own_scenario(figure), module(figure)
    if own is None or judge is None:
        return {}
    found = judge.judge(
        Comparison(figure, [], figure=figure, scale=scale), {c.id: c for c in read_claims(own.resolved)}
    )
    return {f.id: list(dict.fromkeys(n for s in f.statements for n in s.needs)) for f in found}


def _findings(comparison: Comparison, claims: list[Claim]) -> dict[str, Finding]:
    """What the runs say, by claim; for every claim."""

    def nothing(why: str) -> dict[str, Finding]:
        return {c.id: Finding(c.id, [], unjudged=why) for c in claims}

    own, judge = own_scenario(comparison.figure), module(comparison.figure)
    if own is None or judge is None:
        return nothing("no figure of a paper that farloop carries")
    if claims != read_claims(own.resolved):
        return nothing("the claims are not the paper's")
    try:
        at_cases, changed = placed(comparison)
        found = replicated(at_cases, lambda runs: judge.judge(runs, {c.id: c for c in claims}))
    except UndecidedError as error:
        return nothing(str(error))
    except Exception as error:  # results stand, whatever is wrong with a judge
        return nothing(f"the judge failed: {reason(error)}")
    findings = {f.id: f for f in found}
    return nothing("the judge says nothing about it") | {
        f.id: _as_the_figure(f, changed) for f in findings.values() if f.id in {c.id for c in claims}
    }


def _as_the_figure(finding: Finding, changed: Mapping[Need, list[str]]) -> Finding:
    """The finding, if it is about the figure's runs; otherwise its numbers without a verdict."""
    needed = {n for s in finding.statements for n in s.needs}
    keys = list(dict.fromkeys(k for n, found in changed.items() if n in needed or not needed for k in found))
    if not keys:
        return finding
    statements = [dataclasses.replace(s, holds=None) for s in finding.statements]
    return dataclasses.replace(finding, statements=statements, unjudged=told(keys))


def _figure(scenario: Scenario) -> str:
    described = scenario.resolved.get("figure", {})
    return str(described.get("id", "")) if isinstance(described, Mapping) else ""

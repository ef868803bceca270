"""Verdicts on the claims of a scenario. They cannot cost results: a judge that fails is a note."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from farloop.judging import paper_modules
from farloop.judging.causes import CauseError, find_cause
from farloop.judging.claims import Claim, Finding, UndecidedError, add_readings, error_text, read_claims
from farloop.judging.over_seeds import judge_by_seed
from farloop.judging.schedule import READING, Need, assign_cases, changed_keys_text, own_scenario
from farloop.results import jitter, steadiness
from farloop.results.run import Comparison
from farloop.scenario import PAPERS, Scenario, is_figure


def judge_comparison(comparison: Comparison, scenario: Scenario, scale: str = "custom") -> Comparison:
    """The comparison with the verdicts on its scenario's claims; with a note instead where they cannot be judged, whatever the reason."""
    try:
        comparison_with_verdicts = add_verdicts(comparison, scenario, scale)
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        figure = _figure_name(scenario)
        note = f"the claims of {figure or scenario.file} could not be judged: {why}"
        comparison_with_verdicts = replace(
            comparison, figure=figure, claims=[], scale=scale, notes=[*comparison.notes, note]
        )
    return replace(comparison_with_verdicts, base=scenario)


def judge_again(comparison: Comparison) -> Comparison:
    """A comparison that was read from disk with the verdicts of today's judges on its tables.

    The claims are those of the paper's figure as this version has them, where the comparison was made from that figure's scenario.
    """
    base = comparison.base
    if base is None or not comparison.figure:
        return comparison
    if is_figure(comparison.figure) and Path(base.file).as_posix().endswith(f"{comparison.figure}.toml"):
        path = PAPERS / f"{comparison.figure}.toml"
        base = Scenario(path.read_text("utf-8"), str(path), base.overrides)
    anew = judge_comparison(replace(comparison, claims=[], notes=[]), base, comparison.scale)
    # What was run is what the output goes on saying.
    return replace(anew, base=comparison.base, claims=jitter.of_claims(anew.claims, comparison.jitter))


def add_verdicts(comparison: Comparison, scenario: Scenario, scale: str = "custom") -> Comparison:
    """The comparison with what its runs say about each claim of its scenario.

    A verdict is about the paper's figure: runs whose network, traffic, duration or parameters are not the figure's are not judged.
    Nothing that a judge stumbles over is raised: the claim says so.
    """
    figure = _figure_name(scenario)
    comparison = replace(comparison, figure=figure, scale=scale)
    claims = read_claims(scenario.parsed)
    findings = _findings(comparison, claims)
    # Judges of few, endless flows look at times of their own; of many flows they take means and percentiles.
    drifts = steadiness.note(comparison.runs)
    findings = {name: _add_note(finding, drifts) for name, finding in findings.items()}
    rows = [add_readings(findings[claim.id].row(claim, scale), claim) for claim in claims]
    try:
        return replace(comparison, claims=[_add_causes(row) for row in rows])
    except CauseError as error:  # verdicts stand without causes
        return replace(comparison, claims=rows, notes=[*comparison.notes, str(error)])


def needs(figure: str, scale: str = "full") -> dict[str, list[Need]]:
    """Returns the runs that each claim of a paper's figure needs: cases and algorithms, as its judge declares them."""
    return {
        f.id: list(dict.fromkeys(n for s in f.statements for n in s.needs))
        for f in _findings_without_runs(figure, scale)
    }


def statements(figure: str, scale: str = "full") -> dict[str, list[str]]:
    """The statements of each claim of a paper's figure, as its judge makes them of runs at a scale."""
    return {f.id: [s.text for s in f.statements] for f in _findings_without_runs(figure, scale)}


def _findings_without_runs(figure: str, scale: str) -> list[Finding]:
    """Returns the findings of a figure's judge without any run."""
    own, judge = own_scenario(figure), paper_modules.paper_module(figure)
    if own is None or judge is None:
        return []
    claims = {c.id: c for c in read_claims(own.parsed)}
    findings: list[Finding] = judge.judge(Comparison(figure, [], figure=figure, scale=scale), claims)
    return findings


def _findings(comparison: Comparison, claims: list[Claim]) -> dict[str, Finding]:
    """Returns the finding of the runs for every claim."""

    def no_findings(why: str) -> dict[str, Finding]:
        return {c.id: Finding(c.id, [], unjudged=why) for c in claims}

    own, judge = own_scenario(comparison.figure), paper_modules.paper_module(comparison.figure)
    if own is None or judge is None:
        return no_findings("no figure of a paper that farloop carries")
    if claims != read_claims(own.parsed):
        return no_findings("the claims are not the paper's")
    try:
        at_cases, changed = assign_cases(comparison)
        by_seed = judge_by_seed(at_cases, lambda runs: judge.judge(runs, {c.id: c for c in claims}))
    except UndecidedError as error:
        return no_findings(str(error))
    except Exception as error:  # results stand, whatever is wrong with a judge
        return no_findings(f"the judge failed: {error_text(error)}")
    findings = {f.id: f for f in by_seed}
    return no_findings("this figure's judge has no finding for this claim") | {
        f.id: _require_figure_runs(f, changed, reading=comparison.scale == READING)
        for f in findings.values()
        if f.id in {c.id for c in claims}
    }


def _add_note(finding: Finding, note: str) -> Finding:
    """The finding with one more remark, where something is judged."""
    if not note or finding.unjudged or not finding.statements:
        return finding
    return replace(finding, note="; ".join(part for part in (finding.note, note) if part))


def _add_causes(row: dict[str, Any]) -> dict[str, Any]:
    """The entry of a claim with the known cause of every statement that does not hold; of a reading as it is."""
    if row["scale"] == READING:
        return row
    statements = []
    for statement in row["statements"]:
        cause = find_cause(row["id"], statement["text"]) if statement["holds"] is False else None
        statements.append(statement if cause is None else statement | {"cause": cause.row()})
    return row | {"statements": statements}


def _require_figure_runs(finding: Finding, changed: Mapping[Need, list[str]], *, reading: bool) -> Finding:
    """The finding, if it is about the figure's runs; otherwise its numbers without a verdict.

    A reading keeps what its statements say: that is what it was run for.
    """
    needed = {n for s in finding.statements for n in s.needs}
    keys = list(
        dict.fromkeys(k for n, keys_of_run in changed.items() if n in needed or not needed for k in keys_of_run)
    )
    if reading:
        return replace(
            finding, unjudged=f"a reading, with {changed_keys_text(keys)}" if keys else "a reading of some of its runs"
        )
    if not keys:
        return finding
    statements = [replace(s, holds=None) for s in finding.statements]
    return replace(finding, statements=statements, unjudged=changed_keys_text(keys))


def _figure_name(scenario: Scenario) -> str:
    described = scenario.parsed.get("figure", {})
    return str(described.get("id", "")) if isinstance(described, Mapping) else ""

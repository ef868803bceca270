"""Page and picture of a validation: every number beside its reference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from farloop import _native
from farloop.output import manifest
from farloop.palette import CROSS, INTRA
from farloop.safe_files import names
from farloop.studies.validation import fluid_errors, references, relations
from farloop.studies.validation.checks import EXPLAINED, FidelityCheck
from farloop.studies.validation.checks import read as read_check
from farloop.studies.validation.fluid_errors import FluidError
from farloop.studies.validation.record import NUMBERS
from farloop.studies.validation.references import THEORY, Reference
from farloop.studies.validation.relations import RelationOutcome
from farloop.studies.validation.validation_headline import headline_validation, validation_cautions
from farloop.views import validation_tables
from farloop.views.html import render, sections_page
from farloop.views.report import plots
from farloop.views.report.verdict import EffectChart, head
from farloop.views.tabular import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE = "differences.png"

QUESTIONS = {
    "overview": "Where does it differ, by algorithm?",
    "metamorphic": "Does anything matter that must not?",
    "fluid": "How far are rates from packets?",
    "references": "What does each reference say?",
}
"""The sections of the page by their anchors."""

MAX_DRAWN = 0.3
"""Differences beyond this are drawn at the edge of the picture."""


def write(
    checks: Sequence[FidelityCheck], outcomes: Sequence[RelationOutcome], errors: Sequence[FluidError], into: Path
) -> None:
    """Writes page and picture into an existing directory."""
    from farloop.views.figures.draw import write_png

    if checks:
        (into / manifest.FIGURES).mkdir(exist_ok=True)
        write_png(picture(checks), into / manifest.FIGURES / PICTURE)
    (into / manifest.REPORT).write_text(page(checks, outcomes, errors), encoding="utf-8")


def rewrite(source: Path, aside: Path) -> None:
    """Draws page and picture of a validation on disk anew, into a directory of `rewriting`."""
    with names.open_regular(source / NUMBERS) as file:
        kept = json.loads(file.read().decode("utf-8"))
    errors = [fluid_errors.read(row) for row in kept.get("fluid", ())]
    write(
        [read_check(row) for row in kept["checks"]], [relations.read(row) for row in kept["relations"]], errors, aside
    )


def page(
    checks: Sequence[FidelityCheck], outcomes: Sequence[RelationOutcome] = (), errors: Sequence[FluidError] = ()
) -> str:
    """A complete HTML document that loads nothing from anywhere."""
    used = [references.load(name) for name in dict.fromkeys(check.reference for check in checks)]
    by_reference = []
    for reference in used:
        own = [check for check in checks if check.reference == reference.name]
        by_reference.append(
            {
                "of": reference,
                "provenance": _provenance(reference),
                "numbers": Table.from_rows(validation_tables.NUMBERS, validation_tables.numbers(own), style="sorts"),
                "explanations": _explanations(own),
            }
        )
    values = {
        "overview": Table.from_rows(validation_tables.OVERVIEW, validation_tables.overview(checks), style="sorts"),
        "relations": Table.from_rows(validation_tables.RELATIONS, validation_tables.relations(outcomes), style="sorts"),
        "fluid": Table.from_rows(validation_tables.FLUID, validation_tables.fluid(errors), style="sorts"),
        "fluid_by_size": Table.from_rows(
            validation_tables.FLUID, validation_tables.fluid(errors, by_size=True), style="sorts"
        ),
        "has_errors": bool(errors),
        "references": by_reference,
    }
    drawn = [(anchor, name, render("validation.html.j2", part=anchor, **values)) for anchor, name in QUESTIONS.items()]
    answer = headline_validation(checks, outcomes, errors)
    scopes = {effect.scope: effect.scope or "all references" for effect in answer.effects}
    algorithms = list(dict.fromkeys(check.algorithm for check in checks))
    note = "The nearest on top; 1 is the limit. Lines: from the nearest to the farthest number of each algorithm."
    return sections_page(
        "farloop beside its references",
        "farloop beside its references",
        head(answer, EffectChart(algorithms, scopes, ("number", "of"), note), validation_cautions(checks)),
        [part for part in drawn if part[2].strip()],
        subtitle=f"{validation_tables.summary(checks, outcomes, errors)}; farloop {_native.version()}",
        scripts=plots.scripts(has_charts=False),
    )


def picture(checks: Sequence[FidelityCheck]) -> Figure:
    """A row per algorithm: the difference of each number from its reference, in the reference's colour."""
    from matplotlib.figure import Figure

    algorithms = sorted({check.algorithm for check in checks}, reverse=True)
    sources = list(dict.fromkeys(check.reference for check in checks))
    colours = dict(zip(sources, [*CROSS[:2], *INTRA[:3], *CROSS[2:], *INTRA[3:]], strict=False))
    figure = Figure(figsize=(8.0, 1.4 + 0.24 * len(algorithms)), layout="constrained")
    axis = figure.add_subplot()
    for name in sources:
        own = [check for check in checks if check.reference == name and check.difference == check.difference]
        offset = (sources.index(name) - (len(sources) - 1) / 2) * 0.6 / max(1, len(sources))
        axis.plot(
            [100 * max(-MAX_DRAWN, min(MAX_DRAWN, check.difference)) for check in own],
            [algorithms.index(check.algorithm) + offset for check in own],
            linestyle="none", marker="o", markersize=3.5, alpha=0.75, color=colours.get(name, "0.5"),
            label=references.load(name).program,
        )  # fmt: skip
    axis.axvspan(-10, 10, color="0.5", alpha=0.08)
    axis.axvline(0, color="0.4", linewidth=0.8)
    axis.set_yticks(range(len(algorithms)), algorithms, fontsize=8)
    axis.set_ylim(-0.6, len(algorithms) - 0.4)
    axis.set_xlim(-105 * MAX_DRAWN, 105 * MAX_DRAWN)
    axis.grid(visible=True, axis="y", alpha=0.25)
    axis.set_xlabel(f"difference from the reference (%); beyond ± {100 * MAX_DRAWN:g} % at the edge", fontsize=8)
    axis.tick_params(axis="x", labelsize=8)
    figure.suptitle("Every number beside its reference", fontsize=11)
    figure.legend(loc="outside lower center", ncols=max(1, min(6, len(sources))), fontsize=8)
    return figure


def _provenance(reference: Reference) -> dict[str, str]:
    """Returns the origin of a reference, text by heading."""
    kind = reference.kind if reference.independent or reference.kind == THEORY else f"{reference.kind}, not independent"
    rows = {
        "What it is": kind,
        "From": f"{reference.source} ({reference.licence})",
        "Made": f"{reference.date.isoformat()} by {reference.made_by}",
        "Notes": reference.notes,
    }
    return {key: " ".join(text.split()) for key, text in rows.items()}


def _explanations(checks: Sequence[FidelityCheck]) -> dict[str, list[str]]:
    """The places that each known cause explains."""
    places: dict[str, list[str]] = {}
    for check in checks:
        if check.why:
            where = f"{check.algorithm}, {check.case}, {check.metric}"
            text = where if check.verdict == EXPLAINED else f"{where} ({check.verdict})"
            places.setdefault(check.why, []).append(text)
    return places

"""What `farloop validate` writes: a page, a picture, and all numbers as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from farloop import _native
from farloop.output import manifest
from farloop.results.measures import VERSION
from farloop.safe_files import names
from farloop.validation import check_tables, references, relations
from farloop.validation.checks import EXPLAINED, FidelityCheck
from farloop.validation.checks import read as read_check
from farloop.validation.references import THEORY, Reference
from farloop.validation.relations import RelationOutcome
from farloop.views.tabular import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERS, PICTURE = "validation.json", "differences.png"

WIDEST = 0.3
"""Differences beyond this are drawn at the edge of the picture."""


def write(
    checks: Sequence[FidelityCheck],
    into: Path,
    *,
    scale: str,
    outcomes: Sequence[RelationOutcome] = (),
    report: bool = True,
) -> None:
    """Writes page, picture, numbers and manifest into an existing directory."""
    content = {"checks": [check.row() for check in checks], "relations": [outcome.row() for outcome in outcomes]}
    manifest.write_json(into / NUMBERS, content)
    if report:
        from farloop.figures.draw import write_png

        if checks:
            (into / manifest.FIGURES).mkdir()
            write_png(picture(checks), into / manifest.FIGURES / PICTURE)
        (into / manifest.REPORT).write_text(page(checks, outcomes), encoding="utf-8")
    about = {"farloop": _native.version(), "kind": "validation", "definitions": VERSION, "scale": scale}
    manifest.write_json(into / manifest.MANIFEST, about | {"files": manifest.files(into)})


def rewrite(source: Path, aside: Path) -> None:
    """Draws page and picture of a validation on disk anew, into a directory of `rewriting`."""
    from farloop.figures.draw import write_png

    with names.open_regular(source / NUMBERS) as file:
        kept = json.loads(file.read().decode("utf-8"))
    checks = [read_check(row) for row in kept["checks"]]
    if checks:
        (aside / manifest.FIGURES).mkdir(exist_ok=True)
        write_png(picture(checks), aside / manifest.FIGURES / PICTURE)
    text = page(checks, [relations.read(row) for row in kept["relations"]])
    (aside / manifest.REPORT).write_text(text, encoding="utf-8")


def page(checks: Sequence[FidelityCheck], outcomes: Sequence[RelationOutcome] = ()) -> str:
    """A complete HTML document that loads nothing from anywhere."""
    from farloop.figures.draw import embedded
    from farloop.views.html import document, render

    used = [references.load(name) for name in dict.fromkeys(check.reference for check in checks)]
    by_reference = []
    for reference in used:
        own = [check for check in checks if check.reference == reference.name]
        by_reference.append(
            {
                "of": reference,
                "provenance": _provenance(reference),
                "numbers": Table.of(check_tables.NUMBERS, check_tables.numbers(own)),
                "explanations": _explanations(own),
            }
        )
    title = "farloop beside its references"
    content = render(
        "validation.html.j2",
        title=title,
        summary=check_tables.summary(checks, outcomes),
        picture=embedded(picture(checks)) if checks else "",
        overview=Table.of(check_tables.OVERVIEW, check_tables.overview(checks)),
        relations=Table.of(check_tables.RELATIONS, check_tables.relations(outcomes)),
        references=by_reference,
    )
    return document(title, content)


def picture(checks: Sequence[FidelityCheck]) -> Figure:
    """A row per algorithm: the difference of each number from its reference, in the reference's colour."""
    from matplotlib.figure import Figure

    from farloop.palette import CROSS, INTRA

    algorithms = sorted({check.algorithm for check in checks}, reverse=True)
    sources = list(dict.fromkeys(check.reference for check in checks))
    colours = dict(zip(sources, [*CROSS[:2], *INTRA[:3], *CROSS[2:], *INTRA[3:]], strict=False))
    figure = Figure(figsize=(8.0, 1.4 + 0.24 * len(algorithms)), layout="constrained")
    axis = figure.add_subplot()
    for name in sources:
        own = [check for check in checks if check.reference == name and check.difference == check.difference]
        offset = (sources.index(name) - (len(sources) - 1) / 2) * 0.6 / max(1, len(sources))
        axis.plot(
            [100 * max(-WIDEST, min(WIDEST, check.difference)) for check in own],
            [algorithms.index(check.algorithm) + offset for check in own],
            linestyle="none", marker="o", markersize=3.5, alpha=0.75, color=colours.get(name, "0.5"),
            label=references.load(name).program,
        )  # fmt: skip
    axis.axvspan(-10, 10, color="0.5", alpha=0.08)
    axis.axvline(0, color="0.4", linewidth=0.8)
    axis.set_yticks(range(len(algorithms)), algorithms, fontsize=8)
    axis.set_ylim(-0.6, len(algorithms) - 0.4)
    axis.set_xlim(-105 * WIDEST, 105 * WIDEST)
    axis.grid(visible=True, axis="y", alpha=0.25)
    axis.set_xlabel(f"difference from the reference (%); beyond ± {100 * WIDEST:g} % at the edge", fontsize=8)
    axis.tick_params(axis="x", labelsize=8)
    figure.suptitle("Every number beside its reference", fontsize=11)
    figure.legend(loc="outside lower center", ncols=max(1, min(6, len(sources))), fontsize=8)
    return figure


def _provenance(reference: Reference) -> dict[str, str]:
    """Where a reference is from, by what is said of it."""
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

"""Verdicts of a simulated and a measured figure on the same claims: the files above both, and the same again from disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from farloop import _native
from farloop.output import manifest
from farloop.results.run import FigureVerdicts
from farloop.safe_files import names
from farloop.testbed import PARTS

KIND = "testbed-figure"
"""Kind of such an output in the manifest."""

Page = Callable[[str, Sequence[Mapping[str, Any]], Sequence[str], Sequence[str]], str]
"""Makes the page of a title, rows of claims, the names of the parts, and notes."""


def write(parts: Sequence[FigureVerdicts], facts: Mapping[str, Any], into: Path, page: Page | None = None) -> None:
    """Writes the claims with both verdicts, the page that leads to both reports, and the manifest.

    Args:
        parts: The two, simulated first, under the names of their directories.
        facts: Further entries of the manifest, "figure", "title", "scale" and "notes" among them.
        into: The directory, with the two in it.
        page: Makes the page.
    """
    _write_views(parts, facts, into, page)
    content = {"farloop": _native.version(), "kind": KIND, **facts, "parts": list(PARTS)}
    manifest.write_json(into / manifest.MANIFEST, content | {"files": manifest.files(into)})


def rewrite(source: Path, kept: Mapping[str, Any], aside: Path, page: Page) -> None:
    """Judges both parts of an output on disk anew, and writes reports and page anew, into a directory of `rewriting`.

    Args:
        source: The output.
        kept: Its manifest.
        aside: The directory.
        page: Makes the page.

    Raises:
        FarloopError: a part is no complete output, or could not be judged or drawn.
    """
    from farloop.judging.verdicts import judge_again
    from farloop.output.reading import load
    from farloop.output.saving import rewrite_views

    verdicts = []
    for name in PARTS:
        comparison = judge_again(load(names.resolve_within(source, name)))
        rewrite_views(comparison, aside / name, "comparison")
        verdicts.append(FigureVerdicts.from_comparison(name, comparison, []))
        del comparison
    _write_views(verdicts, kept, aside, page)


def claims(parts: Sequence[FigureVerdicts]) -> list[dict[str, Any]]:
    """Each claim with the row that it has in claims.json of either part."""
    rows = [{claim["id"]: claim for claim in part.claims} for part in parts]
    ids = dict.fromkeys(id_ for part in rows for id_ in part)
    entries = []
    for id_ in ids:
        own: dict[str, Any] = {name: part.get(id_) for name, part in zip(PARTS, rows, strict=True)}
        known = next(row for row in own.values() if row)
        entries.append({"id": id_, "what": known["what"], "scale": known["scale"], **own})
    return entries


def _write_views(parts: Sequence[FigureVerdicts], facts: Mapping[str, Any], into: Path, page: Page | None) -> None:
    rows = claims(parts)
    manifest.write_json(into / manifest.CLAIMS, rows)
    if page is not None:
        notes = [*facts["notes"], *(f"{part.figure}: {note}" for part in parts for note in part.notes)]
        text = page(str(facts["title"]), rows, PARTS, list(dict.fromkeys(notes)))
        (into / manifest.REPORT).write_text(text, encoding="utf-8")

"""The files that `farloop validate` writes: all numbers as JSON, the manifest, and the views that a caller draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from farloop import _native
from farloop.output import manifest
from farloop.results.measures import VERSION
from farloop.studies.validation.checks import FidelityCheck
from farloop.studies.validation.fluid_errors import FluidError
from farloop.studies.validation.relations import RelationOutcome

NUMBERS = "validation.json"

Draw = Callable[[Sequence[FidelityCheck], Sequence[RelationOutcome], Sequence[FluidError], Path], None]
"""Draws the views of a validation into a directory."""


def write(
    checks: Sequence[FidelityCheck],
    into: Path,
    *,
    scale: str,
    outcomes: Sequence[RelationOutcome] = (),
    errors: Sequence[FluidError] = (),
    draw: Draw | None = None,
) -> None:
    """Writes numbers and manifest into an existing directory, with the views that `draw` writes there."""
    content = {
        "checks": [check.row() for check in checks],
        "relations": [outcome.row() for outcome in outcomes],
        "fluid": [error.row() for error in errors],
    }
    manifest.write_json(into / NUMBERS, content)
    if draw is not None:
        draw(checks, outcomes, errors, into)
    about = {"farloop": _native.version(), "kind": "validation", "definitions": VERSION, "scale": scale}
    manifest.write_json(into / manifest.MANIFEST, about | {"files": manifest.files(into)})

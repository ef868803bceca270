"""What the repository keeps of comparisons with LCMP's program, and the files that `farloop validate lcmp` writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from farloop import _native
from farloop.output import manifest
from farloop.results.measures import VERSION
from farloop.studies.validation.lcmp.artifact import COMMIT, REPOSITORY
from farloop.studies.validation.lcmp.flow_by_flow import NAME, LcmpCase, LcmpComparison, read

RESULTS = Path(__file__).parent / "results.json"
NUMBERS = "lcmp.json"


def read_recorded(cases: Sequence[LcmpCase] | None = None) -> list[LcmpComparison]:
    """What the repository keeps: all cases, or those of these that it has."""
    kept = [read(row) for row in json.loads(RESULTS.read_text("utf-8"))["cases"]]
    names = {case.name for case in cases or ()}
    return [own for own in kept if cases is None or own.case in names]


def write(compared: Sequence[LcmpComparison], into: Path, *, scale: str) -> None:
    """Writes numbers and manifest into an existing directory."""
    content = {"source": REPOSITORY, "commit": COMMIT, "cases": [own.row() for own in compared]}
    manifest.write_json(into / NUMBERS, content)
    about = {"farloop": _native.version(), "kind": NAME, "definitions": VERSION, "scale": scale}
    manifest.write_json(into / manifest.MANIFEST, about | {"files": manifest.files(into)})

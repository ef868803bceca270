"""Writes outputs: the files first, then the views, which cannot cost results."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from farloop.errors import FarloopError, clip_text
from farloop.output import report_files
from farloop.output.directories import directory
from farloop.output.manifest import CLAIMS, MANIFEST, SUMMARY, circumstances, files, write_json
from farloop.output.writing import about_summary, overall, write_run, write_runs, write_summaries

if TYPE_CHECKING:
    from farloop.output.store import Store
    from farloop.results.run import Comparison, Run
    from farloop.views.report.page import Section


def save_run(run: Run, target: Path, *, force: bool = False, report: bool = True) -> Path:
    """Writes one run. A report or picture that cannot be made is a warning.

    Raises:
        FarloopError: the directory cannot be written, or holds something else.
    """
    with directory(target, force=force) as out:
        notes = fill_run(run, out.path, report=report)
    _warn(notes)
    return target


def save_comparison(comparison: Comparison, target: Path, *, force: bool = False, report: bool = True) -> Path:
    """Writes several runs, each with its tables and manifest under runs/, and what they have in common; warns likewise.

    Raises:
        FarloopError: the directory cannot be written, or holds something else.
    """
    with directory(target, force=force) as out:
        notes = fill_comparison(comparison, out.path, report=report)
    _warn(notes)
    return target


def fill_run(run: Run, into: Path, *, report: bool = True) -> list[str]:
    """Writes one run into an existing directory, the tables first; notes on what could not be drawn.

    Args:
        run: The run.
        into: The directory.
        report: With report and pictures.
    """
    content = write_run(run, into)
    notes = report_files.write(run.alone, into) if report else []
    write_json(into / MANIFEST, content | circumstances() | {"notes": notes, "files": files(into)})
    return notes


def fill_comparison(comparison: Comparison, into: Path, kept: Store | None = None, *, report: bool = True) -> list[str]:
    """Writes several runs into an existing directory, the tables first; notes on what could not be judged or drawn.

    Args:
        comparison: The runs.
        into: The directory.
        kept: Where their tables are already, perhaps.
        report: With report and pictures.
    """
    content = write_runs(comparison, into, kept)
    if comparison.claims:
        write_json(into / CLAIMS, comparison.claims)
    notes = [*comparison.notes, *(report_files.write(comparison, into) if report else [])]
    write_json(into / MANIFEST, content | circumstances() | {"notes": notes, "files": files(into)})
    return notes


def rewrite_views(comparison: Comparison, into: Path, kind: str, *more: Section) -> None:
    """Writes summary, claims, report and pictures of an output on disk anew, into a directory of `rewriting`.

    Args:
        comparison: The output.
        into: The directory.
        kind: Its kind in the output's manifest: "run" or "comparison".
        more: Further sections of the report.

    Raises:
        FarloopError: something could not be judged or drawn.
    """
    into.mkdir(parents=True, exist_ok=True)
    about: dict[str, object] = {"sizes": comparison.sizes.name}
    if kind == "run":
        write_json(into / SUMMARY, comparison.runs[0].summary)
        about = about_summary(comparison.runs[0])
    else:
        write_json(into / SUMMARY, overall(comparison))
        write_summaries(comparison, into)
    if comparison.claims:
        write_json(into / CLAIMS, comparison.claims)
    notes = [*comparison.notes, *report_files.write(comparison, into, *more)]
    if notes:
        raise FarloopError(f"{clip_text(comparison.title)}: {'; '.join(notes)}; the old report stays")
    write_json(into / MANIFEST, {**about, "notes": []})


def _warn(notes: Sequence[str]) -> None:
    for note in notes:
        warnings.warn(note, RuntimeWarning, stacklevel=4)

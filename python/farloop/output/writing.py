"""Writes the files of runs: tables, summary, manifest."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farloop import _native
from farloop.output import store
from farloop.output.manifest import MANIFEST, RUNS, SUMMARY, files, slug, write_json
from farloop.results import cautions, fields, gears, jitter, measures
from farloop.results.cautions import Caution
from farloop.results.summary import replace_infinite

if TYPE_CHECKING:
    from farloop.output.store import Store
    from farloop.results.run import Comparison, Run


def write_run(run: Run, into: Path, kept: Store | None = None) -> dict[str, Any]:
    """Writes a run's tables, summary and trace into an existing directory; gives its manifest, which is to be written last.

    If the store has an explanation of where the time of its slow flow went, that is written as well.

    Args:
        run: The run.
        into: The directory.
        kept: Where its tables are already, perhaps.
    """
    hashes = _write_tables(run, into, kept)
    write_json(into / SUMMARY, run.summary)
    if run.trace is not None:
        run.trace.save(into)
    if kept is not None and run.address and (explanation := kept.explanation(run.address)):
        write_json(into / store.EXPLANATION, explanation.as_json)
    return manifest(run, hashes)


def write_runs(comparison: Comparison, into: Path, kept: Store | None = None) -> dict[str, Any]:
    """Writes each run into a directory of its own, and the summary of all; gives the manifest of all, which is to be written last."""
    names = run_names(comparison)
    for run, name in zip(comparison.runs, names, strict=True):
        where = into / RUNS / name
        where.mkdir(parents=True)
        content = write_run(run, where, kept)
        write_json(where / MANIFEST, content | {"files": files(where)})
    write_json(into / SUMMARY, overall(comparison))
    base = comparison.base
    return {
        "farloop": _native.version(),
        "kind": "comparison",
        "title": comparison.title,
        "figure": comparison.figure,
        "scale": comparison.scale,
        "seeds": list(comparison.seeds),
        "sizes": comparison.sizes.name,
        "runs": names,
        "jitter": None if comparison.jitter is None else comparison.jitter.row(),
        "base": None if base is None else {"file": base.display_name, "overrides": base.overrides, "text": base.text},
    }


def write_summaries(comparison: Comparison, into: Path) -> None:
    """Writes the summary of each run anew, below `into`, at the place where `write_runs` puts it, and what its manifest says of it."""
    for run, name in zip(comparison.runs, run_names(comparison), strict=True):
        where = into / RUNS / name
        where.mkdir(parents=True)
        write_json(where / SUMMARY, run.summary)
        write_json(where / MANIFEST, about_summary(run))


def about_summary(run: Run) -> dict[str, Any]:
    """Returns the facts of a summary for a run's manifest: the classes of flow sizes, and the measure of each number."""
    return {"sizes": run.sizes.name, "measures": measures.identifiers_of_summary(run.summary)}


def run_names(comparison: Comparison) -> list[str]:
    """The names of the runs' directories: their labels, with a number where two would be the same."""
    names: list[str] = []
    for run in comparison.runs:
        wanted, count = slug(run.label), 1
        name = wanted
        while name.lower() in (n.lower() for n in names):
            count += 1
            name = f"{wanted}-{count}"
        names.append(name)
    return names


def overall(comparison: Comparison) -> dict[str, Any]:
    """Returns the content of summary.json for several runs: the summary of each, or means and confidence intervals over seeds."""
    numbers = comparison.statistics if comparison.seeds else comparison.summary
    own = [caution.row() for caution in cautions.compare_runs(comparison)]
    moved = {label: [Caution("fragile", text).row()] for label, text in jitter.warnings(comparison)}
    document = {
        label: numbers[label] | {"cautions": [*_cautions(runs), *own, *moved.get(label, [])]}
        for label, runs in comparison.groups.items()
        if label in numbers
    }
    if comparison.jitter is None:
        return document
    return {label: summary | {"jitter": comparison.jitter.numbers.get(label)} for label, summary in document.items()}


def _cautions(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Those of a run, or of its seeds, each once."""
    return [caution.row() for caution in dict.fromkeys(c for run in runs for c in cautions.of_run(run))]


def manifest(run: Run, hashes: dict[str, str]) -> dict[str, Any]:
    """Returns a run's manifest: what it was made from, and how it went, with the hashes of its tables' files."""
    content: dict[str, Any] = replace_infinite(
        {
            "farloop": run.info["version"],
            "kind": "run",
            "label": run.label,
            "case": run.case,
            "algorithm": run.algorithm,
            "file": run.file,
            "overrides": dict(run.overrides),
            "seed": run.seed,
            **({} if run.gear == gears.PACKETS else {"gear": run.gear}),
            "packet_hops": run.info["totals"]["packet_hops"],
            "address": run.address,
            "inputs": dict(run.inputs),
            "algorithm_files": [text.row() for text in run.algorithm_texts],
            "tables": hashes,
            **({} if run.trace is None else {"trace": run.trace.manifest_entry}),
            **store.info(run.info),
            **about_summary(run),
            "scenario": run.scenario,
        }
    )
    return content


def _write_tables(run: Run, into: Path, kept: Store | None) -> dict[str, str]:
    """Writes a run's tables, or links those that are on disk already, and its summary; the hashes of the tables' files."""
    where = kept.find(run.address) if kept is not None and run.address else None
    if where is None:
        hashes = store.write_tables(run.tables, into)
    else:
        hashes = {}
        for name in fields.TABLES:
            file = f"{name}.parquet"
            try:
                os.link(where / file, into / file)
            except OSError:
                shutil.copyfile(where / file, into / file)
            hashes[file] = store.digest(into / file)
    return hashes

"""Result directories. They are written aside and renamed, so a killed run never looks complete."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from farloop import _native
from farloop.errors import FarloopError
from farloop.results import Comparison, Run
from farloop.summary import finite

MANIFEST = "manifest.json"
"""Written last: a directory without it is no result."""

TABLES = {
    "flows": "name source destination algorithm cross_datacenter start_ps stop_ps finish_ps received_ps delivered_bytes size_bytes "
    "ideal_fct_ps base_rtt_ps retransmitted timeouts marked packets victim_packets dropped spurious outcome",
    "series": "time_ps object metric value",
    "ports": "node peer kind datacenter rate_bps delay_ps tx_bytes offered_bytes packets dropped_buffer dropped_limit dropped_agent lost "
    "corrupted marked pauses paused_ps max_queue_bytes mean_queue_bytes headroom_bytes max_headroom_bytes",
    "pauses": "node peer cause_node cause_peer root_node root_peer depth pauses paused_ps",
}
"""The tables of a run with their columns, as this version of farloop writes and reads them."""


@contextmanager
def directory(target: Path) -> Iterator[Path]:
    """A fresh directory that becomes `target` when the block ends well, and vanishes when it does not.

    Whether the target can be written is known at once, before anything is simulated.

    Raises:
        FarloopError: the target is no directory, holds something that farloop did not write, or cannot be written.
    """
    target = target.absolute()
    check_replaceable(target)
    aside = target.with_name(f".{target.name}.partial-{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        aside.mkdir()
    except OSError as error:
        raise FarloopError(
            f"{target}: cannot be written: {error.strerror}; choose another directory with --out"
        ) from None
    try:
        yield aside
        _replace(target, aside)
    except OSError as error:
        raise FarloopError(
            f"{target}: cannot be written: {error.strerror}; choose another directory with --out"
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def check_replaceable(target: Path) -> None:
    """Whether an output may go to `target`.

    Raises:
        FarloopError: it is a file, or a directory with something else in it.
    """
    if target.is_dir():
        if not (target / MANIFEST).is_file() and any(target.iterdir()):
            raise FarloopError(f"{target}: holds files that farloop did not write; choose another directory with --out")
    elif target.exists() or target.is_symlink():
        raise FarloopError(f"{target}: is a file; choose a directory with --out")


def _replace(target: Path, aside: Path) -> None:
    old = target.with_name(f".{target.name}.replaced-{os.getpid()}")
    if target.exists():
        target.rename(old)
    aside.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _sweep(target: Path) -> None:
    """Removes what killed processes left beside `target`."""
    for left in target.parent.glob(f".{target.name}.partial-*"):
        pid = left.name.rpartition("-")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc").is_dir():
            shutil.rmtree(left, ignore_errors=True)


def write_run(run: Run, target: Path) -> Path:
    """Writes one run: tables, summary, report, pictures, manifest."""
    with directory(target) as aside:
        fill_run(run, aside)
    return target


def fill_run(run: Run, into: Path) -> None:
    """Writes one run into an existing directory."""
    comparison = Comparison(title=str(run.summary["title"] or run.label), runs=[run])
    _write_tables(run, into)
    _write_views(comparison, into)
    write_json(into / MANIFEST, manifest(run))


def write_comparison(comparison: Comparison, target: Path) -> Path:
    """Writes several runs, each with its tables and manifest under runs/, and what they have in common."""
    with directory(target) as aside:
        fill_comparison(comparison, aside)
    return target


def fill_comparison(comparison: Comparison, into: Path) -> None:
    """Writes several runs into an existing directory."""
    names = []
    for run in comparison.runs:
        name = slug(run.label)
        names.append(name)
        where = into / "runs" / name
        where.mkdir(parents=True)
        _write_tables(run, where)
        write_json(where / MANIFEST, manifest(run))
    if comparison.claims:
        write_json(into / "claims.json", comparison.claims)
    _write_views(comparison, into)
    write_json(
        into / MANIFEST,
        {
            "farloop": _native.version(),
            "kind": "comparison",
            "title": comparison.title,
            "figure": comparison.figure,
            "scale": comparison.scale,
            "runs": names,
        },
    )


def load(source: Path) -> Comparison:
    """Reads an output again; a single run becomes a comparison of one.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    kept = read_manifest(source)
    try:
        if kept["kind"] == "run":
            run = _load_run(source, kept)
            return Comparison(title=str(run.summary["title"] or run.label), runs=[run])
        if kept["kind"] == "comparison":
            runs = [_load_run(source / "runs" / n, read_manifest(source / "runs" / n)) for n in kept["runs"]]
            claims_file = source / "claims.json"
            claims = json.loads(claims_file.read_text("utf-8")) if claims_file.is_file() else []
            return Comparison(kept["title"], runs, figure=kept["figure"], claims=claims, scale=kept["scale"])
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        if isinstance(error, FarloopError):
            raise
        raise FarloopError(f"{source}: is a damaged farloop output: {error}") from None
    raise FarloopError(f"{source}: has no runs of its own; report one of the directories in it")


def rewrite_views(comparison: Comparison, target: Path) -> Path:
    """Writes summary, report and pictures of an output anew; the report's path."""
    try:
        _write_views(comparison, target)
    except OSError as error:
        raise FarloopError(f"{target}: cannot be written: {error.strerror}") from None
    return target / "report.html"


def manifest(run: Run) -> dict[str, Any]:
    """What a run was made from, and how it went."""
    content: dict[str, Any] = finite(
        {
            "farloop": run.info["version"],
            "kind": "run",
            "label": run.label,
            "case": run.case,
            "algorithm": run.algorithm,
            "file": run.file,
            "overrides": dict(run.overrides),
            "seed": run.scenario.get("run", {}).get("seed"),
            "packet_hops": run.info["totals"]["packet_hops"],
            "wall_s": run.info["wall_s"],
            "totals": run.info["totals"],
            "invariants": run.info["invariants"],
            "deadlocks": run.info["deadlocks"],
            "scenario": run.scenario,
        }
    )
    return content


def write_json(path: Path, content: Any) -> None:
    """Writes JSON for people and programs."""
    path.write_text(json.dumps(finite(content), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def slug(label: str) -> str:
    """A label as a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-") or "run"


def _write_tables(run: Run, into: Path) -> None:
    for name in TABLES:
        pq.write_table(getattr(run, name), into / f"{name}.parquet", compression="zstd")
    write_json(into / "summary.json", run.summary)


def _write_views(comparison: Comparison, into: Path) -> None:
    from farloop import figures, report

    if len(comparison.runs) > 1:
        write_json(into / "summary.json", comparison.summary)
    (into / "report.html").write_text(report.page(comparison), encoding="utf-8")
    pictures = into / "figures"
    pictures.mkdir(exist_ok=True)
    figures.draw(comparison, pictures)


def read_manifest(source: Path) -> dict[str, Any]:
    """The manifest of an output.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    try:
        content = json.loads((source / MANIFEST).read_text("utf-8"))
    except NotADirectoryError:
        raise FarloopError(f"{source}: is a file; expected a directory that farloop wrote") from None
    except OSError:
        what = "is no farloop output (it has no manifest.json)" if source.is_dir() else "no such directory"
        raise FarloopError(f"{source}: {what}; expected a directory that `farloop run --out` wrote") from None
    except ValueError:
        raise FarloopError(f"{source / MANIFEST}: is not JSON; the output is damaged, run it again") from None
    if not isinstance(content, dict) or "farloop" not in content or "kind" not in content:
        raise FarloopError(f"{source / MANIFEST}: was not written by farloop")
    return content


def _load_run(source: Path, kept: dict[str, Any]) -> Run:
    tables = {name: pq.read_table(source / f"{name}.parquet") for name in TABLES}
    for name, columns in TABLES.items():
        missing = [column for column in columns.split() if column not in tables[name].column_names]
        if missing:
            raise FarloopError(
                f"{source / name}.parquet: has no column {', '.join(missing)}; another version of farloop wrote this output "
                f"({kept['farloop']}; this is {_native.version()}): run it again"
            )
    return Run(
        label=kept["label"],
        case=kept["case"],
        algorithm=kept["algorithm"],
        flows=tables["flows"],
        series=tables["series"],
        ports=tables["ports"],
        pauses=tables["pauses"],
        info={k: kept[k] for k in ("totals", "invariants", "deadlocks", "wall_s")} | {"version": kept["farloop"]},
        scenario=kept["scenario"],
        file=kept["file"],
        overrides=tuple(kept["overrides"].items()),
    )

"""Reads outputs again."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa

from farloop import _native
from farloop.deprecation import rename_keys
from farloop.errors import FarloopError, clip_text
from farloop.output import store
from farloop.output.manifest import CLAIMS, MANIFEST, damaged_error, read_manifest
from farloop.results import fields, tables, trace
from farloop.results.algorithm_text import read_texts
from farloop.results.jitter import TieSensitivity
from farloop.results.run import ClaimRow, Comparison, Run
from farloop.results.size_classes import GEMINI, SizeClasses, parse
from farloop.safe_files import names
from farloop.scenario import Scenario


def load(source: str | os.PathLike[str]) -> Comparison:
    """Reads an output again; a single run becomes a comparison of one.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    source = Path(source)
    kept = read_manifest(source)
    try:
        if kept["kind"] == "run":
            return _load_run(source, kept).by_sizes(_sizes(source, kept)).alone
        if kept["kind"] == "comparison":
            directories = [names.resolve_within(source, f"runs/{name}") for name in kept["runs"]]
            runs = [_load_run(where, read_manifest(where)) for where in directories]
            claims_file = source / CLAIMS
            claims = json.loads(claims_file.read_text("utf-8")) if claims_file.is_file() else []
            claims = [rename_keys(row, ClaimRow.RENAMED, CLAIMS) for row in claims]
            base = kept["base"]
            if base is not None:
                base = Scenario(base["text"], base["file"], tuple((str(k), str(v)) for k, v in base["overrides"]))
            seeds = tuple(int(seed) for seed in kept["seeds"])
            return Comparison(
                str(kept["title"]),
                runs,
                figure=str(kept["figure"]),
                claims=claims,
                scale=str(kept["scale"]),
                seeds=seeds,
                base=base,
                jitter=TieSensitivity.read(kept.get("jitter")),
            ).by_sizes(_sizes(source, kept))
    except FarloopError:
        raise
    except Exception as error:
        raise damaged_error(source, error) from None
    if kept["kind"] == "reproduction":
        raise FarloopError(
            f"{source}: has no runs of its own; load one of the figures in it, such as {clip_text(_first_figure(source, kept), 300)}"
        )
    if kept["kind"] == "testbed-figure":
        raise FarloopError(f"{source}: has no runs of its own; load {source / 'simulated'} or {source / 'measured'}")
    if kept["kind"] == "arena":
        raise FarloopError(
            f"{source}: has no runs of its own; load one of the scenarios in it, such as {clip_text(_first_scenario(source, kept), 300)}"
        )
    if kept["kind"] == "study":
        raise FarloopError(
            f"{source}: has no runs of its own; load one of the runs in it, such as {_first_run(source)}; its numbers are in runs.parquet"
        )
    if kept["kind"] == "advice":
        raise FarloopError(f"{source}: has no runs; its numbers are in answer.json and runs.csv")
    if kept["kind"] == "plan":
        raise FarloopError(f"{source}: has no runs; its numbers are in answer.json")
    if kept["kind"] == "validation":
        raise FarloopError(f"{source}: has no runs; its numbers are in validation.json")
    raise FarloopError(f"{source / MANIFEST}: was not written by farloop")


def _sizes(source: Path, kept: dict[str, Any]) -> SizeClasses:
    """The classes of flow sizes of an output; GEMINI's for outputs that name none."""
    try:
        return parse(kept.get("sizes", GEMINI.name))
    except FarloopError as error:
        raise damaged_error(source, error) from None


def _first_run(source: Path) -> str:
    manifests = sorted((source / "runs").glob(f"*/{MANIFEST}"))
    return str(manifests[0].parent) if manifests else f"{source}/runs/ADDRESS"


def _first_figure(source: Path, kept: dict[str, Any]) -> str:
    figures = kept.get("figures")
    return str(source / str(figures[0])) if isinstance(figures, list) and figures else f"{source}/PAPER/FIGURE"


def _first_scenario(source: Path, kept: dict[str, Any]) -> str:
    scenarios = kept.get("scenarios")
    first = scenarios[0] if isinstance(scenarios, list) and scenarios else None
    return str(source / str(first["name"])) if isinstance(first, dict) and "name" in first else f"{source}/SCENARIO"


def _older(kept: dict[str, Any]) -> str:
    """Returns advice on an output that lacks what this version writes."""
    words = kept.get("command")
    command = f" (`{clip_text(shlex.join(map(str, words)), 500)}`)" if isinstance(words, list) and words else ""
    again = f"make it again{command}"
    if (version := str(kept["farloop"])) == _native.version():
        return f"an older build of farloop {version} wrote this output; {again}, or read it with that build"
    other = clip_text(version)
    return (
        f"farloop {other} wrote this output, and this is {_native.version()}; {again}, or read it with farloop {other}"
    )


def _load_run(source: Path, kept: dict[str, Any]) -> Run:
    read: dict[str, pa.Table] = {}
    for name in fields.TABLES:
        path = source / f"{name}.parquet"
        read[name] = tables.read(name, path)
        missing = [column for column in fields.columns(name) if column not in read[name].column_names]
        if missing:
            raise FarloopError(f"{clip_text(path, 4096)}: has no column {', '.join(missing)}: {_older(kept)}")
    return Run(
        label=str(kept["label"]),
        case=str(kept["case"]),
        algorithm=str(kept["algorithm"]),
        **read,
        info=store.read_info(kept),
        scenario=dict(kept["scenario"]),
        file=str(kept["file"]),
        overrides=tuple((str(k), str(v)) for k, v in kept["overrides"].items()),
        address=str(kept["address"]),
        trace=trace.read_trace(kept.get("trace"), source),
        algorithm_texts=read_texts(kept.get("algorithm_files")),
        inputs={str(name): str(digest) for name, digest in (kept.get("inputs") or {}).items()},
    )

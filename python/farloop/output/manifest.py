"""Names of an output's files, and its manifest, which lists them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, clip_text
from farloop.output.command_line import command_words
from farloop.output.sources import read_sources
from farloop.results.summary import replace_infinite
from farloop.safe_files import names

MANIFEST = "manifest.json"
"""Written last: a directory without it is no result."""

REPORT = "report.html"
FIGURES = "figures"
SUMMARY = "summary.json"
CLAIMS = "claims.json"
RUNS = "runs"
"""Of a comparison: the directory with its runs' directories."""


def read_manifest(source: Path) -> dict[str, Any]:
    """The manifest of an output.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    try:
        with names.open_regular(source / MANIFEST) as file:
            content = json.loads(file.read().decode("utf-8"))
    except NotADirectoryError:
        raise FarloopError(f"{_path_text(source)}: is a file; expected a directory that farloop wrote") from None
    except OSError as error:
        what = "is no farloop output (it has no manifest.json)" if os.path.isdir(source) else "no such directory"  # noqa: PTH112, never raises
        if not isinstance(error, FileNotFoundError) and os.path.isdir(source):  # noqa: PTH112
            what = f"manifest.json cannot be read: {error.strerror}"
        raise FarloopError(
            f"{_path_text(source)}: {what}; expected a directory that `farloop run --out` wrote"
        ) from None
    except (ValueError, RecursionError) as error:
        if "null byte" in str(error):
            raise FarloopError(f"{str(source)!r}: no such directory") from None
        raise FarloopError(
            f"{_path_text(source / MANIFEST)}: is not JSON; the output is damaged, run it again"
        ) from None
    if not isinstance(content, dict) or "farloop" not in content or "kind" not in content:
        raise FarloopError(f"{_path_text(source / MANIFEST)}: was not written by farloop")
    _check_names(content, source / MANIFEST)
    return content


def _path_text(path: Path) -> str:
    """A path for a message; parts of it may come from a manifest."""
    return clip_text(path, 4096)


def _check_names(content: dict[str, Any], manifest: Path) -> None:
    """Refuses names of files and directories that are not in the output.

    Raises:
        FarloopError: there is one.
    """
    names.check_names(content.get("files"), manifest)
    if content["kind"] == "comparison":
        names.check_names(content.get("runs"), manifest)
    elif content["kind"] == "reproduction":
        names.check_names(content.get("figures"), manifest)
    elif content["kind"] == "arena" and isinstance(content.get("scenarios"), list):
        scenarios = content["scenarios"]
        names.check_names([scenario.get("name") for scenario in scenarios if isinstance(scenario, dict)], manifest)


def check_all_names(target: Path) -> None:
    """Says of an output that a manifest in it names what is not in it.

    Raises:
        FarloopError: one does.
    """
    for below, content in _manifests(target):
        _check_names(content, target / below / MANIFEST)


def _content(directory_: Path) -> dict[str, Any] | None:
    """Returns the content of a manifest, its names unchecked; `None` if it is no manifest."""
    try:
        with names.open_regular(directory_ / MANIFEST) as file:
            content = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and "farloop" in content and "kind" in content else None


def list_files(directory_: Path, prefix: str) -> set[str]:
    """Returns the files that an output's manifest lists, with those of the outputs in it; none beyond a link or a mount point."""
    own: set[str] = set()
    for below, kept in _manifests(directory_):
        try:
            _check_names(kept, directory_ / below / MANIFEST)
        except FarloopError:
            continue
        given = kept.get("files")
        if isinstance(given, list):
            inside = f"{below.as_posix()}/" if below.parts else ""
            own |= {f"{inside}{name}" for name in (MANIFEST, *given) if isinstance(name, str)}
    above = {name.rpartition("/")[0] for name in own}
    barred = {below for below in above if below and names.barrier(directory_, below.split("/"))}
    return {f"{prefix}{name}" for name in own if name.rpartition("/")[0] not in barred}


def _manifests(directory_: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The manifests of an output, with their directories' paths in it: its own, and those that one above lists, unless beyond a link."""
    waiting, seen = [Path()], {Path()}
    while waiting:
        below = waiting.pop()
        content = _content(directory_ / below)
        if content is None:
            continue
        yield below, content
        given = content.get("files")
        for name in given if isinstance(given, list) else []:
            if not isinstance(name, str) or not names.is_proper(name) or not name.endswith(f"/{MANIFEST}"):
                continue
            deeper = below / Path(name).parent
            if deeper not in seen and not names.barrier(directory_, deeper.parts):
                seen.add(deeper)
                waiting.append(deeper)


def find_foreign(target: Path) -> list[str]:
    """The files in a directory that no manifest of farloop's in it lists, by relative path."""
    known = list_files(target, "")
    others_there = []
    for where, directories, others in os.walk(target):
        here = Path(where)
        links = [name for name in directories if (here / name).is_symlink()]
        others_there += [(here / name).relative_to(target).as_posix() for name in (*others, *links)]
    return sorted(name for name in others_there if name not in known)


def files(directory_: Path) -> list[str]:
    """The files in a directory and below, by relative path."""
    return sorted(path.relative_to(directory_).as_posix() for path in directory_.rglob("*") if not path.is_dir())


def circumstances() -> dict[str, Any]:
    """Returns what an output was made by: the command line, where there is one, and the packages that decide about the bytes of tables."""
    import platform

    import numpy as np
    import pyarrow as pa

    packages = {"python": platform.python_version(), "numpy": np.__version__, "pyarrow": pa.__version__}
    return {"command": command_words(), "packages": packages}


def circumstances_of_study() -> dict[str, Any]:
    """The same of a command that reads several files: with their texts, since its output has them nowhere else."""
    return circumstances() | {"sources": [source.row() for source in read_sources(command_words())]}


def write_json(path: Path, content: Any) -> None:
    """Writes JSON for people and programs."""
    path.write_text(
        json.dumps(replace_infinite(content), indent=2, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace"
    )


def slug(label: str) -> str:
    """A label as a file name of at most 100 characters."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")[:100] or "run"


def damaged_error(source: Path, error: Exception) -> FarloopError:
    """Returns the error for an output that cannot be read."""
    return FarloopError(
        f"{source}: is a damaged farloop output: {type(error).__name__}: {clip_text(error, 300)}; run it again"
    )

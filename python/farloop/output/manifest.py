"""What an output's files are called, and its manifest, which lists them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.summary import finite

MANIFEST = "manifest.json"
"""Written last: a directory without it is no result."""

REPORT = "report.html"
FIGURES = "figures"
SUMMARY = "summary.json"
CLAIMS = "claims.json"


def read_manifest(source: Path) -> dict[str, Any]:
    """The manifest of an output.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    try:
        content = json.loads((source / MANIFEST).read_text("utf-8"))
    except NotADirectoryError:
        raise FarloopError(f"{source}: is a file; expected a directory that farloop wrote") from None
    except OSError as error:
        what = "is no farloop output (it has no manifest.json)" if os.path.isdir(source) else "no such directory"  # noqa: PTH112, never raises
        if not isinstance(error, FileNotFoundError) and os.path.isdir(source):  # noqa: PTH112
            what = f"manifest.json cannot be read: {error.strerror}"
        raise FarloopError(f"{source}: {what}; expected a directory that `farloop run --out` wrote") from None
    except (ValueError, RecursionError) as error:
        if "null byte" in str(error):
            raise FarloopError(f"{str(source)!r}: no such directory") from None
        raise FarloopError(f"{source / MANIFEST}: is not JSON; the output is damaged, run it again") from None
    if not isinstance(content, dict) or "farloop" not in content or "kind" not in content:
        raise FarloopError(f"{source / MANIFEST}: was not written by farloop")
    return content


def listed(directory_: Path, prefix: str) -> set[str]:
    """What an output's manifest lists, with those of the outputs in it."""
    try:
        kept = read_manifest(directory_)
    except FarloopError:
        return set()
    names = kept.get("files")
    if not isinstance(names, list):
        return set()
    found = {f"{prefix}{MANIFEST}"}
    for name in names:
        if isinstance(name, str):
            found.add(f"{prefix}{name}")
            below, _, last = name.rpartition("/")
            if last == MANIFEST and below and ".." not in below.split("/"):
                found |= listed(directory_ / below, f"{prefix}{below}/")
    return found


def foreign(target: Path) -> list[str]:
    """The files in a directory that no manifest of farloop's in it lists, by relative path."""
    known = listed(target, "")
    found = []
    for where, directories, names in os.walk(target):
        here = Path(where)
        links = [name for name in directories if (here / name).is_symlink()]
        found += [(here / name).relative_to(target).as_posix() for name in (*names, *links)]
    return sorted(name for name in found if name not in known)


def files(directory_: Path) -> list[str]:
    """The files in a directory and below, by relative path."""
    return sorted(path.relative_to(directory_).as_posix() for path in directory_.rglob("*") if not path.is_dir())


def write_json(path: Path, content: Any) -> None:
    """Writes JSON for people and programs."""
    path.write_text(
        json.dumps(finite(content), indent=2, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace"
    )


def slug(label: str) -> str:
    """A label as a file name of at most 100 characters."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")[:100] or "run"


def damaged(source: Path, error: Exception) -> FarloopError:
    """What to say of an output that cannot be read."""
    return FarloopError(f"{source}: is a damaged farloop output: {type(error).__name__}: {error}; run it again")

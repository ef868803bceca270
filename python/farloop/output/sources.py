"""The files that a command read: those that its words name, and those that studies and questions among them name in turn."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MAX_TEXT = 1 << 20
"""Bytes of a file whose text is remembered; a longer one is known by its hash alone."""

_NAMING = ("base", "scenario", "algorithm_file")
"""Keys of studies and questions that name other files, which lie beside them."""


@dataclass(frozen=True)
class SourceFile:
    """A file that a command read.

    Attributes:
        name: Its name as written, in the command or in the file that names it.
        named_in: The name of that file; empty for the command itself.
        file: Its path, from where the command ran.
        sha256: The hash of its bytes.
        text: Its text; empty where it is too long, or no UTF-8.
    """

    name: str
    named_in: str
    file: str
    sha256: str
    text: str

    def row(self) -> dict[str, Any]:
        """As manifests have it."""
        return asdict(self)


def read_sources(words: Sequence[str]) -> list[SourceFile]:
    """The files of TOML and Python that the words of a command name, each with those that it names."""
    sources: dict[str, SourceFile] = {}
    for word in words:
        name = word.partition("=")[2] if word.startswith("--") and "=" in word else word
        for source in _follow_names(name, "", Path(name)):
            sources.setdefault(source.file, source)
    return list(sources.values())


def from_rows(rows: object) -> list[SourceFile]:
    """Returns the files that `row` wrote; rows that it did not write are left out: anybody may have written a manifest."""
    keys = ("name", "named_in", "file", "sha256", "text")
    dictionaries = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [
        SourceFile(*(row[key] for key in keys))
        for row in dictionaries
        if all(isinstance(row.get(key), str) for key in keys)
    ]


def _follow_names(name: str, named_in: str, path: Path) -> Iterator[SourceFile]:
    if path.suffix not in (".toml", ".py"):
        return
    try:
        content = path.read_bytes()
    except (OSError, ValueError):
        return
    text = _text(content)
    yield SourceFile(name, named_in, _path_text(path), hashlib.sha256(content).hexdigest(), text)
    if path.suffix == ".toml" and not named_in:
        for other in _find_names(text):
            yield from _follow_names(other, name, path.parent / other)


def _find_names(text: str) -> Iterator[str]:
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    for key in _NAMING:
        value = content.get(key)
        yield from [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]


def _path_text(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8") if len(content) <= MAX_TEXT else ""
    except UnicodeDecodeError:
        return ""

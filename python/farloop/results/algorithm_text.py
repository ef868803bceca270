"""Files of algorithms in Python as outputs remember them, and how they become classes again: a text from an output is never executed."""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop import algorithm
from farloop.algorithm import Algorithm
from farloop.errors import FarloopError, clip_text

MAX_TEXT = 1 << 20
"""Bytes of a file that is remembered; a longer one is known by its hash alone."""

OPTION = "--algorithm-file"


@dataclass(frozen=True)
class AlgorithmText:
    """A file of algorithms that a run knew.

    Attributes:
        file: The file's path, as the user named it.
        sha256: The hash of its bytes.
        algorithms: The algorithms in it that the run knew, by name.
        text: Its content; empty where it is too long, or no UTF-8.
    """

    file: str
    sha256: str
    algorithms: tuple[str, ...]
    text: str

    def row(self) -> dict[str, Any]:
        """As manifests have it."""
        return {"file": self.file, "sha256": self.sha256, "algorithms": list(self.algorithms), "text": self.text}

    @property
    def is_unchanged(self) -> bool:
        """True if the file is on disk with the same bytes, and is one of algorithms at all: somebody else may have written its path."""
        try:
            content = Path(self.file).read_bytes()
            if hashlib.sha256(content).hexdigest() != self.sha256:
                return False
            nodes = list(ast.walk(ast.parse(content)))
        except (OSError, SyntaxError, ValueError, RecursionError):
            return False
        modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        return any(name.partition(".")[0] == "farloop" for name in modules)


def texts_of(classes: Iterable[type[Algorithm]]) -> tuple[AlgorithmText, ...]:
    """The files of classes; those that were written at a prompt, in a notebook or in the script that runs have none."""
    by_file: dict[str, list[str]] = {}
    contents: dict[str, bytes] = {}
    for class_ in classes:
        path = algorithm.source_of(class_)
        if path is None:
            continue
        known = getattr(sys.modules.get(class_.__module__), algorithm.CONTENT, None)
        try:
            contents[str(path)] = known if isinstance(known, bytes) else path.read_bytes()
        except OSError:
            continue
        by_file.setdefault(str(path), []).append(algorithm.name_of(class_))
    return tuple(
        AlgorithmText(
            os.fsencode(file).decode("utf-8", "backslashreplace"),
            hashlib.sha256(contents[file]).hexdigest(),
            tuple(known_names),
            _text(contents[file]),
        )
        for file, known_names in by_file.items()
    )


def read_texts(rows: object) -> tuple[AlgorithmText, ...]:
    """Returns the texts that `row` wrote; rows that it did not write are left out: anybody may have written a manifest."""
    texts = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        file, sha256, known, text = (row.get(key) for key in ("file", "sha256", "algorithms", "text"))
        if isinstance(file, str) and isinstance(sha256, str) and isinstance(text, str) and isinstance(known, list):
            texts.append(AlgorithmText(file, sha256, tuple(map(str, known)), text))
    return tuple(texts)


def load_again(texts: Sequence[AlgorithmText], files: Sequence[Path]) -> list[type[Algorithm]]:
    """The classes of a run: of the files that the user names, and else of those on disk that have not changed.

    Args:
        texts: The files that the run remembers.
        files: The files that the user names.

    Raises:
        FarloopError: a file is not there, or has changed, and the user names none.
        AlgorithmError: a file cannot be run.
    """
    if files:
        return [class_ for file in files for class_ in algorithm.load(file)]
    classes: list[type[Algorithm]] = []
    for remembered in texts:
        if not remembered.is_unchanged:
            what = "has changed since the run" if os.path.isfile(remembered.file) else "is not there any more"  # noqa: PTH113
            known = ", ".join(map(clip_text, remembered.algorithms))
            raise FarloopError(
                f"{clip_text(remembered.file, 300)}: {what}; "
                f"name the file with {known} by {OPTION} (the output's manifest.json has its text)"
            )
        classes += algorithm.load(Path(remembered.file))
    return classes


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8") if len(content) <= MAX_TEXT else ""
    except UnicodeDecodeError:
        return ""

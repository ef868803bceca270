"""TOML whose keys know their lines, so that a message about a study names the place, as those about scenarios do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farloop import _native
from farloop._native import ScenarioError
from farloop.errors import FarloopError, clip_text, nearest
from farloop.scenario import nearest_file, read_text

Key = tuple[str | int, ...]
"""The way to a value: names of tables and keys, numbers of elements from 0."""


class NotTomlError(FarloopError):
    """A file is not TOML."""


@dataclass(frozen=True)
class Document:
    """A TOML file.

    Attributes:
        file: Its name.
        content: The parsed content.
    """

    file: str
    content: dict[str, Any]
    _toml: _native.TomlFile = field(repr=False)

    @classmethod
    def load(cls, path: str | Path) -> Document:
        """Reads a file.

        Raises:
            ScenarioError: it cannot be read.
            FarloopError: it is not TOML.
        """
        try:
            return cls.from_text(read_text(Path(path), str(path)), str(path))
        except ScenarioError as error:
            # Who asks for a study is not helped by the papers' scenarios.
            near = nearest_file(Path(path)) if ": no such file" in str(error) else None
            hint = f"did you mean {clip_text(near)}? " if near else ""
            raise FarloopError(f"{str(error).partition('; ')[0]}; {hint}expected a study (TOML)") from None

    @classmethod
    def from_text(cls, text: str, file: str) -> Document:
        """A document from its text.

        Raises:
            NotTomlError: it is not TOML.
            FarloopError: a value does not end, a number is none of 64 bits, or tables are in one another without end.
        """
        try:
            toml = _native.TomlFile(text, "a study (TOML)")
        except _native.InvalidTomlError as error:
            line, problem, is_syntax = error.args
            raise (NotTomlError if is_syntax else FarloopError)(f"{file}:{line}: {problem}") from None
        return cls(file, toml.content(), toml)

    def line(self, *key: str | int) -> int:
        """The line, from 1, on which a key or its nearest table stands; 1 where there is none."""
        return self._toml.line(key)

    def error(self, key: Sequence[str | int], problem: str, name: str = "") -> FarloopError:
        """An error about a key; `name` is what the message calls it."""
        called = name or clip_text(".".join(str(part + 1) if isinstance(part, int) else part for part in key))
        return FarloopError(f"{self.file}:{self.line(*key)}: {called}: {problem}")

    def refuse_others(self, table: Mapping[str, Any], known: Sequence[str], at: Key = ()) -> None:
        """Refuses keys of a table that are not known.

        Raises:
            FarloopError: there is one.
        """
        for key in table:
            if key not in known:
                hint = nearest(key, known).replace("there is", "accepted keys:")
                raise self.error((*at, key), f"unknown key; {hint}")

    def part(self, table: str) -> str:
        """The text with one of its tables as the whole: `[base.run]` becomes `[run]`, and all else empty lines.

        Lines keep their numbers, so that messages about what is left name the right ones.

        Raises:
            FarloopError: a part of the table cannot stand alone.
        """
        try:
            return self._toml.part(table)
        except _native.InvalidTomlError as error:
            raise FarloopError(f"{self.file}:{error.args[0]}: {error.args[1]}") from None

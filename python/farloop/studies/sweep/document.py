"""TOML whose keys know their lines, so that a message about a study names the place, as those about scenarios do."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from farloop._native import ScenarioError
from farloop.errors import FarloopError, clip_text, nearest
from farloop.scenario import nearest_file, read_text
from farloop.studies.sweep import points, toml_lines

_DEEPEST = 100
"""Tables and lists in one another, whether by headings, dotted keys or brackets."""

Key = tuple[str | int, ...]
"""The way to a value: names of tables and keys, numbers of elements from 0."""


@dataclass(frozen=True)
class Assignment:
    """A heading, or a key with its value.

    Attributes:
        first: Its first line, from 0.
        last: Its last line.
        at: The table that it stands in, or, of a heading, that it begins.
        key: Key that it sets there; empty for a heading.
        content: Its values, as nested tables.
    """

    first: int
    last: int
    at: Key
    key: Key
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Document:
    """A TOML file.

    Attributes:
        text: Its text.
        file: Its name.
        content: The parsed content.
        statements: Its headings and keys in their order.
    """

    text: str
    file: str
    content: dict[str, Any]
    statements: list[Assignment] = field(repr=False)

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
            FarloopError: it is not TOML.
        """
        spans = toml_lines.spans(text)
        if isinstance(spans, toml_lines.Trouble):
            raise FarloopError(f"{file}:{spans.line}: {spans.problem}")
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            # Its place stands in the text alone.
            place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
            problem = str(error)[: place.start()] if place else str(error)
            last = text.rstrip().count("\n") + 1
            line = int(place[1] or last) if place else last
            # Python's words for a key given twice name neither the key nor the cause.
            is_repeated = problem.startswith(("Cannot overwrite", "Cannot declare", "Duplicate"))
            problem, expected = ("duplicate key", "each key once") if is_repeated else (problem, "a study (TOML)")
            raise FarloopError(f"{file}:{line}: is not valid TOML: {clip_text(problem)}; expected {expected}") from None
        document = cls(text, file, content, list(_statements(text, spans)))
        document._check_values()
        return document

    def line(self, *key: str | int) -> int:
        """The line, from 1, on which a key or its nearest table stands; 1 where there is none."""
        for length in range(len(key), 0, -1):
            if key[:length] in self._lines:
                return self._lines[key[:length]]
        return 1

    def error(self, key: Sequence[str | int], problem: str, name: str = "") -> FarloopError:
        """An error about a key; `name` is what the message calls it."""
        called = name or clip_text(".".join(str(part + 1) if isinstance(part, int) else part for part in key))
        return FarloopError(f"{self.file}:{self.line(*key)}: {called}: {problem}")

    def _check_values(self) -> None:
        """Refuses what TOML does not have, or nobody needs.

        Raises:
            FarloopError: a number is none of 64 bits, or tables are in one another without end.
        """
        waiting: list[tuple[Key, Any]] = [((), self.content)]
        while waiting:
            way, value = waiting.pop()
            if len(way) > _DEEPEST:
                raise self.error(way[:1], f"more than {_DEEPEST} tables and lists in one another; expected fewer")
            if isinstance(value, int) and not points.is_of_64_bits(value):
                raise self.error(way, points.BEYOND)
            waiting += [((*way, *key), inner) for key, inner in _children(value)]

    def refuse_others(self, table: Mapping[str, Any], known: Sequence[str], at: Key = ()) -> None:
        """Refuses keys of a table that are not known.

        Raises:
            FarloopError: there is one.
        """
        for key in table:
            if key not in known:
                hint = nearest(key, known).replace("there is", "accepted keys:")
                raise self.error((*at, key), f"unknown key; {hint}")

    @cached_property
    def _lines(self) -> dict[Key, int]:
        lines: dict[Key, int] = {}
        for statement in self.statements:
            for length in range(1, len(statement.at) + 1):
                lines.setdefault(statement.at[:length], statement.first + 1)
            for key in _keys(statement.content):
                lines.setdefault((*statement.at, *key), statement.first + 1)
        return lines


def _children(content: Any) -> Iterable[tuple[Key, Any]]:
    """Returns the items of a table or a list, with their keys or numbers."""
    pairs = content.items() if isinstance(content, Mapping) else enumerate(content) if isinstance(content, list) else ()
    return [((key,), value) for key, value in pairs]


def _keys(content: Any) -> Iterator[Key]:
    """All keys in a value."""
    for key, value in _children(content):
        yield key
        for below in _keys(value):
            yield (*key, *below)


def _statements(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[Assignment]:
    """The statements of a text that is valid TOML, which stand on these lines."""
    lines = text.split("\n")
    at: Key = ()
    counts: dict[Key, int] = {}
    for first, last in spans:
        content = tomllib.loads("\n".join(lines[first : last + 1]).replace("\r", ""))
        line = lines[first].strip()
        if line.startswith("["):
            at = _heading(content, counts, is_element=line.startswith("[["))
            yield Assignment(first, last, at, (), {})
        else:
            yield Assignment(first, last, at, _single(content), content)


def _heading(content: Mapping[str, Any], counts: dict[Key, int], *, is_element: bool) -> Key:
    """The table that a heading begins; elements of an array of tables are counted."""
    at: Key = ()
    names = _single(content)
    for i, name in enumerate(names):
        at = (*at, str(name))
        if is_element and i == len(names) - 1:
            counts[at] = counts.get(at, -1) + 1
        if at in counts:
            at = (*at, counts[at])
    return at


def _single(content: Any) -> Key:
    """The names of nested tables of which each has one key."""
    names: Key = ()
    while isinstance(content, Mapping) and len(content) == 1:
        ((name, content),) = content.items()
        names = (*names, name)
    return names


def blanked(document: Document, table: str) -> str:
    """The text of a document with one of its tables as the whole: `[base.run]` becomes `[run]`, and all else empty lines.

    Lines keep their numbers, so that messages about what is left name the right ones.

    Raises:
        FarloopError: a part of the table cannot stand alone.
    """
    lines = document.text.split("\n")
    kept = [""] * len(lines)
    for statement in document.statements:
        if statement.at[:1] != (table,):
            if statement.key[:1] == (table,) and not statement.at:
                raise document.error((table,), f"expected the name of a scenario file, or tables such as [{table}.run]")
            continue
        if statement.key:
            kept[statement.first : statement.last + 1] = lines[statement.first : statement.last + 1]
        elif len(statement.at) > 1:
            bare = lines[statement.first].replace(table, "", 1)
            opening, _, rest = bare.partition(".")
            if opening.strip(" \t[\"'"):
                raise document.error(statement.at, f"expected a heading such as [{table}.run]")
            kept[statement.first] = "[" * opening.count("[") + rest
    return "\n".join(kept)

"""Reading TOML files of the package with errors that name file, entry and key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, clip_text, nearest


@dataclass(frozen=True)
class TomlTable:
    """A table of a file, whose keys are taken one by one.

    Attributes:
        values: Its keys and values.
        where: File and entry, for errors.
        error: Exception that is raised where something is not as expected.
        path: Its key in the file, dotted; empty for the file.
    """

    values: Mapping[str, Any]
    where: str
    error: type[FarloopError]
    path: str = ""

    @classmethod
    def of_file(cls, path: Path, expected: str, error: type[FarloopError]) -> TomlTable:
        """The whole file.

        Raises:
            FarloopError: it cannot be read, or is no TOML.
        """
        try:
            return cls(tomllib.loads(path.read_text("utf-8")), str(path), error)
        except (OSError, ValueError) as problem:
            raise error(f"{path}: {problem}; expected {expected}") from None

    def refused(self, key: str, expected: str) -> FarloopError:
        """The error for a key."""
        return self.error(f"{self.where}: {key}: {expected}")

    def only(self, *keys: str) -> None:
        """Refuses all other keys."""
        for key in self.values:
            if key not in keys:
                raise self.error(f"{self.where}: {clip_text(key)}: no such key; {nearest(key, keys)}")

    def text(self, key: str) -> str:
        """A text that is not empty."""
        value = self.values.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.refused(key, "expected a text that is not empty")
        return value

    def optional_text(self, key: str, expected: str) -> str:
        """A text, empty if it is not there."""
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self.refused(key, f"expected {expected}")
        return value

    def texts(self, key: str, expected: str) -> tuple[str, ...]:
        """One text or more."""
        values = self.values.get(key)
        if not isinstance(values, list) or not values or not all(isinstance(text, str) and text for text in values):
            raise self.refused(key, f"expected {expected}")
        return tuple(values)

    def one_of(self, key: str, choices: Sequence[str]) -> str:
        """One of some texts."""
        value = self.text(key)
        if value not in choices:
            raise self.refused(key, f"{clip_text(value)}: {nearest(value, choices)}")
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.refused(key, "expected true or false")
        return value

    def number(self, key: str, expected: str, *, above: float = -math.inf) -> float:
        """A finite number above a bound."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < math.inf:
            raise self.refused(key, f"expected {expected}")
        return float(value)

    def pair(self, key: str, expected: str) -> tuple[float, float]:
        """Two finite numbers, of which the second is not the smaller one."""
        values = self.values.get(key)
        numbers = (
            [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
            if isinstance(values, list)
            else []
        )
        if len(numbers) != 2 or numbers != values or not -math.inf < numbers[0] <= numbers[1] < math.inf:
            raise self.refused(key, f"expected {expected}")
        return float(numbers[0]), float(numbers[1])

    def table(self, key: str, expected: str) -> TomlTable:
        """A table in it, empty if it is not there."""
        value = self.values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.refused(key, f"expected {expected}")
        return TomlTable(value, f"{self.where}: {key}", self.error)

    def tables(self, key: str) -> list[TomlTable]:
        """The entries of an array of tables, none if it is not there."""
        path = f"{self.path}.{key}" if self.path else key
        entries = self.values.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
            raise self.refused(key, f"expected entries under [[{path}]]")
        separator = ", " if self.path else ": "
        return [
            TomlTable(entry, f"{self.where}{separator}[[{path}]] {number}", self.error, path)
            for number, entry in enumerate(entries, 1)
        ]

"""The text of scenarios: tables of Python as TOML, and messages about it in its author's words."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, product
from os import PathLike, fspath
from typing import Any

from farloop._native import ScenarioError
from farloop.errors import clip_text

TABLES = "scenario (tables)"
"""Name of a scenario from tables in place of a file's name."""

DEEPEST = 32
"""Most tables and lists one in another."""

OF_STUDIES = ("base", "grid", "collect", "random", "constraint", "pareto")
"""Keys at the top of a study's file that no scenario has."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def from_tables(tables: Mapping[str, Any]) -> str:
    """A scenario's tables as TOML.

    Args:
        tables: Content of a scenario file: sections as mappings, `[[flow]]` and the like as lists of mappings; values are text, numbers and
            booleans, as in the file. A path is text.

    Raises:
        ScenarioError: a key or a value is nothing that a scenario can have; the text names its path.
    """
    plain, sections = [], []
    for key, value in _items(tables, ""):
        if isinstance(value, Mapping):
            sections.append("\n".join([f"\n[{_key(key)}]", *_lines(value, key)]))
        elif isinstance(value, list | tuple) and value and all(isinstance(table, Mapping) for table in value):
            sections += [
                "\n".join([f"\n[[{_key(key)}]]", *_lines(table, f"{key}.{number}")])
                for number, table in enumerate(value, 1)
            ]
        else:
            plain.append(f"{_key(key)} = {_value(value, key, 1)}")
    return "\n".join([*plain, *sections]).lstrip("\n") + "\n"


@dataclass(frozen=True)
class CaseSettings:
    """A `[[case]]`, for messages about its settings.

    Attributes:
        name: Its name.
        keys: The keys that it sets.
        line: Where it is written, from 1.
    """

    name: str
    keys: frozenset[str]
    line: int

    @classmethod
    def from_text(cls, case: Mapping[str, Any], text: str) -> CaseSettings:
        """A case of a scenario's text, as the simulator has read it."""
        name = str(case["name"])
        begins = [match.start() for match in re.finditer(r"(?m)^[ \t]*\[\[[ \t]*case[ \t]*\]\]", text)]
        own = next((at for at, end in pairwise([*begins, len(text)]) if _names(text[at:end], name)), 0)
        return cls(name, frozenset(case["set"]), text.count("\n", 0, own) + 1)


def _names(table: str, name: str) -> bool:
    """Returns true if the text from one `[[case]]` to the next makes a case of this name."""
    try:
        case = tomllib.loads(table)["case"][0]
    except (tomllib.TOMLDecodeError, RecursionError):  # its lines were not all of it
        return False
    if "name" in case:
        return bool(case["name"] == name)
    extends = case.get("extends", [])
    places = [
        each if isinstance(each, list) else [each] for each in ([extends] if isinstance(extends, str) else extends)
    ]
    return any(", ".join(chosen) == name for chosen in product(*places))


@contextmanager
def worded_for_python(text: str, file: str, case: CaseSettings | None = None) -> Iterator[None]:
    """Has errors about a scenario say what a user of Python wrote: "set" for settings, the key alone for tables.

    The command line puts the dashes of `--set` before it (`farloop.commands.command`). A study that is taken for a scenario is
    recognised here. The place of a case's settings is the case.
    """
    try:
        yield
    except ScenarioError as error:
        error.args = (_reword(str(error), text, file, case),)
        raise


def _reword(message: str, text: str, file: str, case: CaseSettings | None) -> str:
    if message.startswith("--set: "):
        key = message.removeprefix("--set: ").partition(": ")[0]
        if case is not None and key in case.keys:
            return f'{file}:{case.line}: {message.removeprefix("--set: ")} (in case "{clip_text(case.name)}")'
        return message.removeprefix("--")
    if file == TABLES:
        return re.sub(rf"^{re.escape(TABLES)}:\d+: ", "", message)
    if ": unknown key" in message and is_study(text):
        return (
            f"{file}: is a study, not a scenario; `farloop sweep {file}` runs it, and in Python farloop.study({file!r})"
        )
    return message


def is_study(text: str) -> bool:
    """Returns true if a TOML text has the keys of a study."""
    try:
        top = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return False
    return "base" in top or sum(key in top for key in OF_STUDIES) > 1


def _lines(table: Mapping[str, Any], path: str) -> list[str]:
    return [f"{_key(key)} = {_value(value, f'{path}.{key}', 2)}" for key, value in _items(table, path)]


def _items(table: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if not isinstance(key, str):
            where = f"{path}: " if path else ""
            raise ScenarioError(f"{where}{clip_text(repr(key))}: expected a key of text, such as 'duration'")
        yield key, value


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quote(key)


def _value(value: Any, path: str, depth: int) -> str:
    if depth > DEEPEST:
        raise ScenarioError(f"{clip_text(path)}: more than {DEEPEST} tables and lists one in another")
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()  # a number of numpy's
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str | PathLike) and isinstance(fspath(value), str):
        return _quote(fspath(value))
    if isinstance(value, Mapping):
        inner = (f"{_key(key)} = {_value(item, f'{path}.{key}', depth + 1)}" for key, item in _items(value, path))
        return f"{{ {', '.join(inner)} }}"
    if isinstance(value, Sequence | range) and not isinstance(value, bytes | bytearray):
        return f"[{', '.join(_value(item, f'{path}.{n}', depth + 1) for n, item in enumerate(value, 1))}]"
    expected = "expected text, a number, a boolean, a list or a table"
    hint = "; leave the key out for its default" if value is None else ""
    raise ScenarioError(f"{clip_text(path)}: {clip_text(repr(value))}: {expected}{hint}")


def _quote(text: str) -> str:
    escaped = "".join(
        f"\\{c}" if c in '"\\' else c if c.isprintable() or c == " " else f"\\U{ord(c):08X}" for c in text
    )
    return f'"{escaped}"'

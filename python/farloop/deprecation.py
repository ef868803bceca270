"""Old names of keys, attributes and functions: they stay for one version, and each use gives a `DeprecationWarning` with the new name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warns that a name has become another one; `stacklevel` leads to the code that has to change."""
    warnings.warn(
        f"{old} is called {new} now; the old name goes with the next version", DeprecationWarning, stacklevel=stacklevel
    )


def forward_method(owner: str, old: str, new: str) -> Callable[..., Any]:
    """Returns a method that warns and calls the one of the new name, for a class whose users know the old one."""

    def call(self: object, *arguments: Any, **named: Any) -> Any:
        warn_renamed(f"{owner}.{old}", f"{owner}.{new}")
        return getattr(self, new)(*arguments, **named)

    return call


class RenamedKeys(dict[str, Any]):
    """Values by name, in which old keys still find the values of the new ones."""

    RENAMED: ClassVar[Mapping[str, str]] = {}
    """New keys by old ones."""

    def __missing__(self, key: str) -> Any:
        name = self._rename_key(key)
        if name is None:
            raise KeyError(key)
        return self[name]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or of the key that it is called now; the default for others."""
        name = key if key in self else self._rename_key(key)
        return default if name is None else self[name]

    def _rename_key(self, key: str) -> str | None:
        name = self.RENAMED.get(key)
        if name is None or name not in self:
            return None
        warnings.warn(self.explain_rename(key, name), DeprecationWarning, stacklevel=3)
        return name

    def explain_rename(self, old: str, new: str) -> str:
        """Returns the text of the warning."""
        return f'"{old}" is called "{new}" now; the old name goes with the next version'


def rename_keys(row: Mapping[str, Any], renamed: Mapping[str, str], file: str) -> dict[str, Any]:
    """Returns a row of a file under today's keys, in their order; warns where an older version wrote it.

    Args:
        row: The row.
        renamed: New keys by old ones.
        file: Name of the file, for the warning.
    """
    for old in renamed.keys() & row.keys():
        warn_renamed(f'"{old}" in {file}', f'"{renamed[old]}"', 4)
    return {renamed.get(key, key): value for key, value in row.items()}


def find_renamed(module: str, renamed: Mapping[str, str], name: str, values: Mapping[str, Any]) -> Any:
    """Returns what a module's attribute of an old name is called now, for its `__getattr__`.

    Args:
        module: The module's name.
        renamed: New names by old ones.
        name: The attribute that was asked for.
        values: The module's `globals()`.

    Raises:
        AttributeError: it never had that name.
    """
    if name not in renamed:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warn_renamed(f"{module}.{name}", f"{module}.{renamed[name]}", 4)
    return values[renamed[name]]

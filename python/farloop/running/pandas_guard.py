"""Keeps pandas out of the `farloop` command: Arrow loads it where it is installed, with what it changes, costs or breaks.

Whoever else imports it, such as an algorithm in Python, gets it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

NAME = "pandas"
_ON_THE_WAY = ("importlib", "pyarrow")
"""Modules between the import and whoever is behind it; Arrow's compiled part has no frames."""


class _Finder:
    """Says that there is no pandas, to farloop's own modules alone."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == NAME and _find_importer().partition(".")[0] == "farloop":
            raise ModuleNotFoundError(f"No module named {NAME!r}", name=NAME)


def hide_pandas() -> None:
    """Hides pandas from Arrow for as long as the process lives."""
    sys.meta_path.insert(0, _Finder())


def _find_importer() -> str:
    """The module that imports something at present, behind those of `_ON_THE_WAY`."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in _ON_THE_WAY and not name.startswith("_frozen_importlib"):
            return name
        frame = frame.f_back
    return ""

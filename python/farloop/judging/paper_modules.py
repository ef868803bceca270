"""Finds the module that judges and draws a paper's figure, by the figure's name."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from farloop.scenario import is_figure


def paper_module(figure: str) -> ModuleType | None:
    """The module of a figure such as "gear/fig09"; `None` for a scenario that is no paper's figure."""
    if not is_figure(figure):
        return None
    name = f"farloop.papers.{figure.replace('/', '.')}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None

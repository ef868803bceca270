"""What there is: algorithms, scenarios, workloads, claims."""

from __future__ import annotations

import difflib
from importlib.resources import files
from pathlib import Path
from typing import Any

from farloop.api import algorithms, workloads
from farloop.errors import FarloopError
from farloop.papers import read_claims
from farloop.scenario import Scenario, figure_names

KINDS = ("algorithms", "scenarios", "workloads", "claims")


def entries(what: str) -> list[dict[str, Any]]:
    """The rows of a list.

    Raises:
        FarloopError: there is no such list.
    """
    if what == "algorithms":
        return [{k: a[k] for k in ("name", "summary", "source")} | {"preset_of": a["preset_of"]} for a in algorithms()]
    if what == "scenarios":
        return [{"name": name, "title": _title(Scenario.load(name))} for name in figure_names()]
    if what == "workloads":
        return workloads()
    if what == "claims":
        return [
            {"id": c.id, "scenario": name, "paper": c.paper, "what": c.what}
            for name in figure_names()
            for c in read_claims(Scenario.load(name).resolved)
        ]
    close = difflib.get_close_matches(what, KINDS, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise FarloopError(f"list {what}: no such list; {hint}there are {', '.join(KINDS)}")


def algorithm(name: str) -> dict[str, Any]:
    """What is known of one algorithm or preset.

    Raises:
        FarloopError: there is no such algorithm.
    """
    known = {a["name"]: a for a in algorithms()}
    if name not in known:
        close = difflib.get_close_matches(name.lower(), list(known), n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise FarloopError(f"{name}: no such algorithm; {hint}known are {', '.join(known)}")
    return known[name]


def page(name: str) -> Path | None:
    """The page that specifies an algorithm, in the checkout or in the installed package; a preset's is that of its algorithm.

    `None` where there is none, as for `fixed`.

    Raises:
        FarloopError: there is no such algorithm.
    """
    entry = algorithm(name)
    of = entry["preset_of"] or name
    for candidate in dict.fromkeys((name, of, of.rpartition("-")[2])):
        found = Path(str(files("farloop"))) / "spec" / f"{candidate}.md"
        if found.is_file():
            return found
    return None


def _title(scenario: Scenario) -> str:
    return str(scenario.resolved.get("title", ""))

"""Lists of what farloop carries: algorithms, choosers of paths, scenarios of the papers and of the arena, workloads, claims."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from typing import Any

from farloop import _native
from farloop.algorithm import describe_class, load
from farloop.errors import FarloopError, clip_text, nearest
from farloop.judging.claim_readings import APART, read_readings, worst_class
from farloop.scenario import ARENA, Scenario, Settings, arena_names, figure_names, is_figure

KINDS = ("algorithms", "paths", "agents", "scenarios", "arena", "workloads", "claims")


def algorithms() -> list[dict[str, Any]]:
    """Every algorithm and preset: name, preset_of, summary, source, needs, shipped, and parameters with kind, default and range.

    `shipped` says which hosts have it without somebody writing it: "linux" as a module, "cards" for RDMA, "program" where
    `farloop kernel load` puts it; None for the others.
    """
    known: list[dict[str, Any]] = json.loads(_native.algorithms())
    return known


def path_choosers() -> list[dict[str, Any]]:
    """Returns the path choosers of multipath flows: name, summary, source, and parameters with kind, default and range."""
    known: list[dict[str, Any]] = json.loads(_native.path_choosers())
    return known


def switch_agents() -> list[dict[str, Any]]:
    """Returns the agents that a network can have at its switches: name, summary, source, and parameters with kind, default and range."""
    known: list[dict[str, Any]] = json.loads(_native.switch_agents())
    return known


def workloads() -> list[dict[str, Any]]:
    """Every flow-size distribution: name, mean in bytes, source."""
    known: list[dict[str, Any]] = json.loads(_native.workloads())
    return known


def entries(what: str) -> list[dict[str, Any]]:
    """The rows of a list.

    Raises:
        FarloopError: there is no such list.
    """
    if what == "algorithms":
        return [{k: a[k] for k in ("name", "summary", "source", "preset_of")} for a in algorithms()]
    if what in ("paths", "agents"):
        return [
            {k: entry[k] for k in ("name", "summary", "source")}
            | {"parameters": {p["name"]: p["default"] for p in entry["params"]}}
            for entry in (path_choosers() if what == "paths" else switch_agents())
        ]
    if what == "scenarios":
        return [{"name": name, "title": str(_tables(name).get("title", ""))} for name in figure_names()]
    if what == "arena":
        arena_scenarios = [(name, Scenario.load(ARENA / f"{name}.toml")) for name in arena_names()]
        return [
            {"name": name, "title": _title(loaded), "source": loaded.parsed.get("source", "")}
            for name, loaded in arena_scenarios
        ]
    if what == "workloads":
        return workloads()
    if what == "claims":
        return [
            {"id": claim["id"], "scenario": name, "paper": claim.get("paper", {}), "what": claim["what"]}
            | {"reading": APART if claim.get("by_construction") else worst_class(read_readings(claim))}
            for name in figure_names()
            for claim in _tables(name).get("claim", [])
        ]
    raise FarloopError(f"list {clip_text(what)}: no such list; {nearest(what, KINDS)}")


def _tables(name: str) -> dict[str, Any]:
    """Returns the tables in the file of a paper's figure, unchecked: the simulator, which checks all of it, takes longer."""
    return tomllib.loads(Scenario.load(name).text)


def algorithm(name: str) -> dict[str, Any]:
    """Returns all facts about an algorithm or preset.

    Raises:
        FarloopError: there is no such algorithm.
    """
    known = {a["name"]: a for a in algorithms()}
    if name not in known:
        raise FarloopError(f"{clip_text(name)}: no such algorithm; {nearest(name.lower(), known)}")
    return known[name]


def check_algorithm(name: str, classes: Collection[str] = ()) -> None:
    """Refuses a name that stands neither for an algorithm nor for a pair of them, of which `classes` are known besides.

    Raises:
        FarloopError: it stands for none.
    """
    sides = name.split("/")
    if len(sides) > 2 or (len(sides) == 2 and "" in sides):
        raise FarloopError(
            f"{clip_text(name)}: expected an algorithm, or those of flows inside a datacenter and across, such as dctcp/bbr"
        )
    for side in sides:
        if side not in classes:
            algorithm(side)


def is_algorithm(name: str) -> bool:
    """Returns true if there is an algorithm or a preset of this name."""
    return any(a["name"] == name for a in algorithms())


def is_scenario(name: str) -> bool:
    """Returns true if a name means a scenario: a file, or a paper's figure."""
    return not is_algorithm(name) and (name.endswith(".toml") or is_figure(name) or os.path.isfile(name))  # noqa: PTH113, it never raises


def scenario(name: str, settings: Settings | None = None) -> dict[str, Any]:
    """Returns the facts of a scenario, as it stands and in each of its cases.

    Raises:
        ScenarioError: there is no such scenario, or it or a setting is not valid.
    """
    base = Scenario.load(name).override(settings)
    cases = [(str(case["name"]), base.of_case(case)) for case in base.parsed.get("case", [])]
    explained = [{"case": case, **of_case.explained} for case, of_case in cases if of_case.overrides != base.overrides]
    return {"file": base.file, "title": _title(base), **base.explained, "cases": explained, "forecast": _forecast(base)}


def _forecast(scenario: Scenario) -> dict[str, Any] | None:
    """Returns the facts known without a run; `None` where a run would refuse the scenario, such as one whose algorithm its cases choose."""
    try:
        return scenario.forecast
    except _native.ScenarioError:
        return None


def describe_file(path: Path) -> list[dict[str, Any]]:
    """Returns all facts about the algorithms that a file of Python defines.

    Raises:
        FarloopError: it defines none.
    """
    classes = [describe_class(class_) for class_ in load(path)]
    names = set(_native.class_names(classes))
    return [entry for entry in json.loads(_native.algorithms(classes)) if entry["name"] in names]


def specification(name: str) -> Path | None:
    """The page that specifies an algorithm, in the checkout or in the installed package; a preset's is that of its algorithm.

    `None` where there is none, as for `fixed`.

    Raises:
        FarloopError: there is no such algorithm.
    """
    entry = algorithm(name)
    of = entry["preset_of"] or name
    for candidate in dict.fromkeys((name, of, of.rpartition("-")[2])):
        page = Path(str(files("farloop"))) / "spec" / f"{candidate}.md"
        if page.is_file():
            return page
    return None


def _title(scenario: Scenario) -> str:
    return str(scenario.parsed.get("title", ""))

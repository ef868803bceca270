"""Which Rust crates may rest on which: simulators share the crate of networks, and none rests on another."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRATES = ROOT / "crates"

APART: Mapping[str, frozenset[str]] = {
    # What all simulators share knows none of them, nor what is built of them.
    "farloop-network": frozenset({"farloop-net", "farloop-fluid", "farloop-scenario"}),
    # The simulators: of packets, and of rates.
    "farloop-net": frozenset({"farloop-fluid", "farloop-scenario"}),
    "farloop-fluid": frozenset({"farloop-net", "farloop-scenario"}),
}
"""By crate: those that it must not rest on, by way of others or not."""


def dependencies(manifest: str) -> set[str]:
    """The crates that a manifest names, but for those of its tests."""
    document = tomllib.loads(manifest)
    tables = [document, *document.get("target", {}).values()]
    named = [table.get(kind, {}) for table in tables for kind in ("dependencies", "build-dependencies")]
    return {
        entry.get("package", name) if isinstance(entry, dict) else name
        for part in named
        for name, entry in part.items()
    }


def reached(name: str, graph: Mapping[str, Iterable[str]]) -> set[str]:
    """All crates that one rests on, by way of others or not."""
    names: set[str] = set()
    left = [name]
    while left:
        new = set(graph.get(left.pop(), ())) - names
        names |= new
        left += new
    return names


def offences(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """The crates that rest on what they must not, and on what."""
    pairs = [(name, sorted(reached(name, graph) & apart)) for name, apart in APART.items()]
    return [f"{name} rests on {', '.join(wrong)}" for name, wrong in pairs if wrong]


def workspace() -> dict[str, set[str]]:
    """The crates of the workspace, each with its dependencies."""
    texts = [path.read_text("utf-8") for path in sorted(CRATES.glob("*/Cargo.toml"))]
    return {tomllib.loads(text)["package"]["name"]: dependencies(text) for text in texts}


def test_simulators_rest_on_the_network_and_not_on_each_other():
    graph = workspace()
    assert "farloop-network" in reached("farloop-scenario", graph)
    assert {"farloop-net", "farloop-network"} <= graph.keys()
    assert not offences(graph)


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ({"farloop-net": ["farloop-network"], "farloop-fluid": ["farloop-network", "farloop-cc"]}, []),
        ({"farloop-network": ["farloop-net"]}, ["farloop-network rests on farloop-net"]),
        ({"farloop-fluid": ["farloop-net"]}, ["farloop-fluid rests on farloop-net"]),
        ({"farloop-fluid": ["helper"], "helper": ["farloop-net"]}, ["farloop-fluid rests on farloop-net"]),
        (
            {"farloop-network": ["farloop-cc"], "farloop-cc": ["farloop-network", "farloop-fluid"]},
            ["farloop-network rests on farloop-fluid"],
        ),
    ],
)
def test_a_crate_that_rests_on_another_simulator_is_found(edges, expected):
    assert offences(edges) == expected


def test_dependencies_of_all_kinds_count_but_those_of_tests():
    manifest = """
        [dependencies]
        a.workspace = true
        b = "1"
        renamed = { package = "c", version = "1" }
        [build-dependencies]
        d = "1"
        [target.'cfg(unix)'.dependencies]
        e = "1"
        [dev-dependencies]
        f = "1"
    """
    assert dependencies(manifest) == {"a", "b", "c", "d", "e"}


def test_the_architecture_has_a_row_for_each_crate():
    rows = [
        line.split("|")[1]
        for line in (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()
        if line.startswith("|")
    ]
    named = " ".join(rows)
    assert not [path.parent.name for path in CRATES.glob("*/Cargo.toml") if f"`crates/{path.parent.name}`" not in named]

"""Requirements of an algorithm on hosts and switches, in words; and the rows of an arena that are references, not candidates."""

from __future__ import annotations

import re
from typing import Any

from farloop import catalogue
from farloop.algorithm import by_scope

_REFERENCES = re.compile(r"fixed|.*-(?:printed|literal)|.*-without-.*")
"""An algorithm that ignores congestion, readings of a paper by its letter, ablations: they show what something costs; nobody runs them."""

OWN = "its file of Python"
"""Requirement on hosts of an algorithm that does not come with farloop."""

CAPABILITIES = {
    "ecn": "switches that mark (ECN)",
    "int": "switches that write telemetry into packets (INT)",
    "switch agents": "switches that run a part of the algorithm",
    "dci": "switches at the datacenter's border that run a part of the algorithm, with a queue per flow",
    "symmetric": "ACKs that take their data's links back",
    "credit": "hosts that grant senders credit (multipath endpoints)",
    "kernel": "hosts whose transport can be changed: a kernel module, what `farloop kernel load` puts there, a card's firmware",
}
"""Capabilities that a network may offer, by the words of `can`."""


def is_reference(algorithm: str) -> bool:
    """Returns true if an algorithm is measured and not ranked."""
    return any(_REFERENCES.fullmatch(side) is not None for side in by_scope(algorithm))


def list_requirements(algorithm: str) -> tuple[str, ...]:
    """Returns the capabilities that an algorithm or a pair needs, by the words of `can`; for algorithms in Python none are known."""
    sides = by_scope(algorithm)
    if len(sides) > 1:
        both = [need for side in sides for need in list_requirements(side)]
        return tuple(need for need in CAPABILITIES if need in both)
    if not catalogue.is_algorithm(algorithm):
        return ()
    needs: dict[str, Any] = catalogue.algorithm(algorithm)["needs"]
    words: list[str] = []
    if needs["ecn"]:
        words.append("ecn")
    if needs["int"]:
        words.append("int")
    if needs["border_agent"]:
        words.append("dci")
    elif needs["port_agent"]:
        words.append("switch agents")
    if needs["symmetric"]:
        words.append("symmetric")
    if needs["credit"]:
        words.append("credit")
    return tuple(words)


def on_linux(algorithm: str) -> str:
    """Returns the source of the algorithm on Linux: "in Linux", "farloop kernel", or "" without one; of a pair the harder of the two."""
    ways = [on_linux(side) for side in by_scope(algorithm)] if "/" in algorithm else []
    if ways:
        return next((way for way in ("", "farloop kernel") if way in ways), "in Linux")
    return {"linux": "in Linux", "program": "farloop kernel"}.get(_shipping_hosts(algorithm), "")


def is_shipped(algorithm: str) -> bool:
    """Returns true if hosts have the algorithm as they are bought: in Linux, or in network cards."""
    return all(_shipping_hosts(side) in {"linux", "cards"} for side in by_scope(algorithm))


def _shipping_hosts(algorithm: str) -> str:
    """Returns the word of the algorithm's declaration for the hosts that have it, or ""."""
    return catalogue.algorithm(algorithm)["shipped"] or "" if catalogue.is_algorithm(algorithm) else ""


def in_words(algorithm: str) -> str:
    """Returns the needs of an algorithm in a few words; "nothing" for plain hosts and switches."""
    words = {
        "ecn": "ECN",
        "int": "INT",
        "dci": "DCI agents",
        "switch agents": "switch agents",
        "symmetric": "symmetric paths",
        "credit": "receivers' credit",
    }
    known = [words[need] for need in list_requirements(algorithm)]
    if not all(map(catalogue.is_algorithm, by_scope(algorithm))):
        known.append(OWN)
    return ", ".join(known) or "nothing"

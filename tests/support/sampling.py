"""Tests that run in part: a quarter of many cases of one kind and of long tests, another one after each commit; and dear ones that wait for
a full run."""

import os
import subprocess
import zlib
from collections import defaultdict
from pathlib import Path

import pytest

from support.cases import VARIABLE

TURNS = 4


def is_full() -> bool:
    """Returns true if all cases are to run."""
    return os.environ.get(VARIABLE) == "full"


def turn() -> int:
    """The quarter whose turn it is: the number of commits, so that four commits try all cases, and one tries the same everywhere."""
    root = Path(__file__).parents[2]
    counted = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=root, capture_output=True, text=True, check=False
    )
    return int(counted.stdout) % TURNS if counted.returncode == 0 else 0


def select(items: list[pytest.Item], now: int) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests that run, and those that are left out.

    Dear ones are left out, long ones whose turn it is not, and of sampled ones all but a quarter and at least one.

    Args:
        items: All tests, in their order.
        now: The quarter whose turn it is, from 0.
    """
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            groups[item.nodeid.partition("[")[0]].append(item)
    chosen = {
        id(item)
        for group in groups.values()
        for place, item in enumerate(group)
        if place % TURNS == now % min(TURNS, len(group))
    }
    kept, left = [], []
    for item in items:
        is_left = (
            item.get_closest_marker("dear")
            or (item.get_closest_marker("sampled") and id(item) not in chosen)
            or (item.get_closest_marker("long") and turn_of(item) != now % TURNS)
        )
        (left if is_left else kept).append(item)
    return kept, left


def turn_of(item: pytest.Item) -> int:
    """The quarter in which a long test runs: it goes by the name alone, so that no test moves where another one is added."""
    return zlib.crc32(item.nodeid.encode()) % TURNS


def is_named(arguments: list[str]) -> bool:
    """Returns true if somebody asks for a test by its name, who then wants all of its cases."""
    return any("::" in argument for argument in arguments)

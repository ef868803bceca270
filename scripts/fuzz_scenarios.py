#!/usr/bin/env python3
"""Random scenarios in the module that Python imports: part of `make fuzz-scenarios`.

    scripts/fuzz_scenarios.py target/fuzz-digests

The directory has scenarios that ran in a build with every check on (`crates/scenario/tests/fuzz`), as SEED.toml, and what came out as
digests, SEED.txt. The module has no checks of overflow or of bounds, and must give the same: alone, and while a trace of all follows it,
which takes the general path. It also gives the same answer about where the time of the first flow went.
"""

import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python")]

from farloop import _native  # noqa: E402
from farloop.messages import say  # noqa: E402


class DifferenceError(Exception):
    """The module gives something else; the text names the scenario and what differs."""


def digest(values: bytes) -> str:
    """The CRC-32 of some bytes, as `crates/scenario/tests/column_digests.rs` writes it."""
    return format(zlib.crc32(values), "08x")


def column_digests(tables: Mapping[str, Any]) -> dict[str, str]:
    """The digest of each column of the module's tables, by table and column."""
    return {
        f"{table}.{name}": digest(values + b"".join(word.encode() + b"\0" for word in words or ()))
        for table, columns in tables.items()
        for name, (_, values, words) in columns.items()
    }


def results(text: str, *, explained: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """The digests of a scenario's runs, each with how it ran."""
    of = _native.Scenario(text, "random.toml")
    why = {"why": digest(of.why("0").encode())} if explained else {}
    yield "alone", column_digests(of.run().take_tables()) | why
    yield "traced", column_digests(of.run(trace=["all", "limit=1"]).take_tables()) | why


def compare(scenario: Path) -> None:
    """Runs a scenario and compares with the digests beside it.

    Raises:
        DifferenceError: something differs.
    """
    stored = dict(line.split() for line in scenario.with_suffix(".txt").read_text("utf-8").splitlines())
    text = scenario.read_text("utf-8")
    for how, digests in results(text, explained="why" in stored):
        differing = [name for name in sorted(stored | digests) if stored.get(name) != digests.get(name)]
        if differing:
            names = ", ".join(differing)
            raise DifferenceError(
                f"{scenario}: the module, {how}, differs from the build with checks in {names}:\n{text}"
            )


def main() -> int:
    """The exit status."""
    if len(sys.argv) != 2:
        say("usage: fuzz_scenarios.py DIRECTORY")
        return 2
    scenarios = sorted(Path(sys.argv[1]).glob("*.toml"))
    if not scenarios:
        say(f"{sys.argv[1]}: expected scenarios that FARLOOP_FUZZ_DIGESTS has kept")
        return 2
    for scenario in scenarios:
        try:
            compare(scenario)
        except DifferenceError as error:
            say(str(error))
            return 1
    say(f"{len(scenarios)} scenarios: the module gives what the build with checks gives")
    return 0


if __name__ == "__main__":
    sys.exit(main())

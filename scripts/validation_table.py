#!/usr/bin/env python3
"""Writes what `farloop validate` found into docs/validation.md and README.md, between their markers.

farloop validate --full --out out/validation && scripts/validation_table.py out/validation
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from farloop.validation import references

ROOT = Path(__file__).resolve().parent.parent
PAGE, README = ROOT / "docs" / "validation.md", ROOT / "README.md"
BEGIN, END = "<!-- agreement: written by scripts/validation_table.py -->", "<!-- end of agreement -->"

QUANTILES = {"mean": "fct_mean", "p50": "fct_p50", "p90": "fct_p90", "p99": "fct_p99"}

Row = Mapping[str, Any]


def main() -> int:
    """Reads validation.json and writes both pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("output", type=Path, help="What `farloop validate` wrote.")
    found = json.loads((parser.parse_args().output / "validation.json").read_text("utf-8"))
    written = {PAGE: f"\n{whole(found['checks'], found['relations'])}\n", README: sentence(found["checks"])}
    for page, text in written.items():
        before, _, rest = page.read_text("utf-8").partition(BEGIN)
        page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


def sentence(checks: Sequence[Row]) -> str:
    """For the README: how many numbers of how many algorithms are within their limits, by reference, on one line."""
    parts = []
    for name in dict.fromkeys(row["reference"] for row in checks):
        reference = references.load(name)
        own = [row for row in checks if row["reference"] == name]
        if reference.independent:
            within = sum(row["verdict"] == "agrees" for row in own)
            algorithms = {row["algorithm"] for row in own}
            parts.append(f"{within} of {len(own)} beside {reference.program} ({len(algorithms)} algorithms)")
    return f"Numbers within their limits (mostly 5 or 10 %): {', '.join(parts)}."


def short(checks: Sequence[Row]) -> str:
    """A row per reference."""
    lines = [
        "| beside | algorithms | numbers | within their limits | explained | open | differ |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in dict.fromkeys(row["reference"] for row in checks):
        reference = references.load(name)
        own = [row for row in checks if row["reference"] == name]
        kinds = [
            sum(row["verdict"] == verdict for row in own) for verdict in ("agrees", "explained", "open", "differs")
        ]
        algorithms = len({row["algorithm"] for row in own})
        told = reference.told if reference.independent else f"{reference.told} (not independent)"
        lines.append(f"| {told} | {algorithms} | {len(own)} | {kinds[0]} | {kinds[1]} | {kinds[2]} | {kinds[3]} |")
    return "\n".join(lines)


def whole(checks: Sequence[Row], relations: Sequence[Row]) -> str:
    """For the page: by reference, by algorithm and case, what is explained or differs, then the changes that must not matter."""
    return "\n\n".join([short(checks), by_algorithm(checks), explanations(checks), changes(relations)])


def by_algorithm(checks: Sequence[Row]) -> str:
    """Differences of completion times, and the largest other one, for each algorithm and case."""
    lines = [
        f"| algorithm | reference, case | {' | '.join(f'FCT {name}' for name in QUANTILES)} | other, largest against its limit | verdict |",
        f"| --- | --- | {'---: | ' * len(QUANTILES)}--- | --- |",
    ]
    keys = sorted({(row["algorithm"], row["reference"], row["case"]) for row in checks})
    for algorithm, reference, case in keys:
        own = {
            r["metric"]: r
            for r in checks
            if (r["algorithm"], r["reference"], r["case"]) == (algorithm, reference, case)
        }
        cells = [told(own[m]) if m in own else "–" for m in QUANTILES.values()]
        others = [row for metric, row in own.items() if metric not in QUANTILES.values()]
        most = max(others, key=lambda r: abs((r["difference"] or 0) - r["expected"]) / r["limit"], default=None)
        last = f"{told(most)} `{most['metric']}`" if most else "–"
        verdicts = [row["verdict"] for row in own.values()]
        worst = next(v for v in ("differs", "open", "explained", "agrees") if v in verdicts)
        lines.append(f"| {algorithm} | {reference}, {case} | {' | '.join(cells)} | {last} | {worst} |")
    return "\n".join(lines)


def explanations(checks: Sequence[Row]) -> str:
    """What is outside of its limit, with the reason."""
    found: dict[str, list[str]] = {}
    for row in checks:
        if row["verdict"] != "agrees":
            where = f"{row['algorithm']} beside {row['reference']}, {row['case']}, `{row['metric']}` ({told(row)})"
            found.setdefault(row["why"] or "No cause is known.", []).append(where)
    if not found:
        return "No number is outside of its limit."
    return "Outside of their limits:\n\n" + "\n".join(f"- {'; '.join(where)}. {why}" for why, where in found.items())


def changes(relations: Sequence[Row]) -> str:
    """The changes that must not matter."""
    lines = [
        "| change, and what has to come of it | networks | exact to the picosecond | largest difference |",
        "| --- | ---: | ---: | --- |",
    ]
    for row in relations:
        largest = f"{100 * row['largest']:.2g} % ({row['where']})" if row["largest"] else "none"
        lines.append(f"| {row['what']} | {row['worlds']} | {row['exact']} | {largest} |")
    return "\n".join(lines)


def told(row: Row) -> str:
    """A difference in per cent."""
    part = row["difference"]
    return "none" if part is None else f"{100 * part:+.2g} %" if abs(part) < 0.1 else f"{100 * part:+.3g} %"


if __name__ == "__main__":
    sys.exit(main())

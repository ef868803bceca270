#!/usr/bin/env python3
"""Keeps the record of verdicts, docs/findings/verdicts.json, and writes from it what pages show of it.

Its tables stand in README.md and docs/findings/README.md, the statements that do not hold on a page of their own (scripts/statements.py).

    scripts/tally.py out/quick/claims.json out/full/claims.json

The files are what `farloop reproduce --out out/quick` and `farloop reproduce gear/fig09 --full --out out/full` wrote. What they have
replaces the record's entry of the same claim and scale; everything else in the record stays, so a reproduction of one figure is enough to
bring that one up to date. An entry carries digests of the scenarios and of the judge that its verdict rests on (scripts/provenance.py); it
is stale as soon as today's are others, and a test fails. The script refuses results of other scenarios or of another judge than today's.

    scripts/tally.py --unchanged "the judge reads its rates from a table" --of gear/fig09

marks stale entries as still valid, with the reason: for code that was only rewritten.

The tables show a claim at full scale where that has run, and at quick scale otherwise; one that never ran stands as not judged. Between
the markers of the two pages everything is replaced; nothing else is touched. Without files only the pages are written.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import provenance
import statements

import farloop
from farloop import catalogue
from farloop.deprecation import rename_keys
from farloop.errors import FarloopError
from farloop.judging import verdicts
from farloop.judging.claims import Claim, add_readings, read_claims
from farloop.judging.schedule import own_scenario
from farloop.results.run import ClaimRow
from farloop.scenario import figure_names

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- verdicts: written by scripts/tally.py -->", "<!-- end of verdicts -->"
VERDICTS = ("reproduced", "direction", "differs", "partial", "not judged")
SCALES = ("quick", "full")
"""Of an entry; the later one stands in the tables."""

STATED = ("text", "holds", "evidence", "number", "side")
"""What is kept of a statement. Its cause is not: that is in the paper's `causes.toml`, and can become known later. Nor is the class of its
reading: that is in the figure's file."""

MAX_NUMBERS = 3
"""Of a claim that its row on the page shows; the record has all."""

MAX_COLUMNS = 100
"""Of a list in the record that stands on one line."""

FINDINGS = ROOT / "docs" / "findings"
RECORD = FINDINGS / "verdicts.json"

Claims = Sequence[Mapping[str, Any]]


class RefusedError(Exception):
    """A file that has no verdicts for the record; the text says which, and why."""


def tally(claims: Claims) -> str:
    """The README's table: a row per paper, with its scales, its statements, and a column per verdict that occurs; calibrated claims apart.

    Statements that hold only by a reading that their figure chose do not count as holding. Those that follow from their setting alone
    count neither as judged nor as holding.
    """
    columns = [v for v in VERDICTS if any(c["verdict"] == v for c in claims)]
    lines = [
        f"| paper | scale | statements that hold, of judged | claims | {' | '.join(columns)} | of these calibrated "
        "| by construction, apart |",
        f"| --- | --- | ---: | ---: |{' ---: |' * (len(columns) + 2)}",
    ]
    for paper in sorted({c["id"].partition("/")[0] for c in claims}):
        own = [c for c in claims if c["id"].startswith(f"{paper}/")]
        scales = ", ".join(sorted({c["scale"] for c in own}))
        counted = Counter(c["verdict"] for c in own)
        calibrated = sum(c["calibrated"] and c["verdict"] in VERDICTS[:3] for c in own)
        counted_classes = statements.count_classes(own)
        held = counted_classes["untouched"] + counted_classes["text or other figures"]
        judged, apart = statements.count_judged(own)
        row = [paper, scales, f"{held} of {judged}", len(own), *(counted[v] for v in columns), calibrated, apart]
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def table(claims: Claims) -> str:
    """The findings' table: a row per claim with its verdict, the published numbers beside ours, and its page."""
    lines = [
        "| claim | scale | verdict | statements that hold | paper, measured | page |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for claim in sorted(claims, key=lambda c: c["id"].partition("/")[0]):
        numbers = [
            f"{name} {value:.3g}, {_number(claim['measured'].get(name))}" for name, value in claim["paper"].items()
        ]
        if len(numbers) > MAX_NUMBERS:
            numbers[MAX_NUMBERS:] = [f"and {len(numbers) - MAX_NUMBERS} more"]
        own = ", ".join(f"[{p}]({p})" for p in pages(claim["id"]))
        held = f"{claim['held']} of {claim['judged']}" if claim.get("judged") else "–"
        numbers_text = "; ".join(numbers)
        lines.append(
            f"| {claim['id']} | {claim['scale']} | {claim['verdict_text']} | {held} | {numbers_text} | {own} |"
        )
    return "\n".join(lines)


def led(claims: Claims) -> str:
    """What stands in the findings: the statements by paper and cause, then claim by claim."""
    return f"{statements.tally(claims)}\n\n{table(claims)}"


def between(text: str, content: str) -> str:
    """The text with the content between the markers.

    Raises:
        ValueError: a marker is missing.
    """
    pattern = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no markers: expected {BEGIN} and {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{content}\n\n{END}", text)


def inside(text: str) -> str:
    """What stands between the markers."""
    return text.partition(BEGIN)[2].partition(END)[0].strip()


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float)) else "–"


def pages(claim: str) -> list[str]:
    """The page of the claim's paper, then others that name the claim."""
    paper = f"{claim.partition('/')[0]}.md"
    pattern = re.compile(rf"`{re.escape(claim)}`|\b{re.escape(claim)}\b(?!\d)")
    others = (p for p in sorted(FINDINGS.glob("*.md")) if p.name not in ("README.md", "statements.md", paper))
    return [
        *([paper] if (FINDINGS / paper).exists() else []),
        *(p.name for p in others if pattern.search(p.read_text("utf-8"))),
    ]


def entries(path: Path, known: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The record's entries of a reproduction, without what they rest on.

    Args:
        path: Its claims.json.
        known: Every claim of the papers, by its identifier.

    Raises:
        RefusedError: it is no such file, or no reproduction of the papers' claims.
    """
    try:
        content = [rename_keys(claim, ClaimRow.RENAMED, path.name) for claim in json.loads(path.read_text("utf-8"))]
        version = json.loads((path.parent / "manifest.json").read_text("utf-8"))["farloop"]
        date = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC).date().isoformat()
        rows = [_entry(claim) | {"date": date, "version": version} for claim in content]
    except OSError as error:
        raise RefusedError(
            f"{error.filename or path}: {error.strerror}; expected claims.json of `farloop reproduce`"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RefusedError(
            f"{path}: {type(error).__name__}: {error}; expected claims.json of `farloop reproduce`"
        ) from None
    for entry in rows:
        if entry["id"] not in known:
            raise RefusedError(f"{path}: {entry['id']}: no claim of a paper; `farloop list claims` shows them")
        if entry["scale"] not in SCALES or entry["verdict"] not in VERDICTS:
            raise RefusedError(
                f"{path}: {entry['id']}: {entry['verdict']} at {entry['scale']} scale; expected a verdict of `farloop reproduce`, "
                "at quick or full scale"
            )
    return rows


def _entry(claim: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": claim["id"],
        "scale": claim["scale"],
        "verdict": claim["verdict"],
        "verdict_text": claim["verdict_text"],
        "calibrated": claim["calibrated"],
        # Numbers that stand beside the paper's; all others are in claims.json.
        "measured": {name: claim["measured"].get(name) for name in claim["paper"]},
        "held": claim["held"],
        "judged": claim["judged"],
        "statements": [{key: s[key] for key in STATED} for s in claim["statements"]],
    }


def add_digests(
    rows: Claims, path: Path, known: Mapping[str, Mapping[str, Any]], keys: provenance.KnownKeys
) -> list[dict[str, Any]]:
    """The entries of a reproduction with the digests of what they rest on; adds keys of scenarios that are new.

    Raises:
        RefusedError: it ran other scenarios than today's figures, or today's judges find something else in its tables.
    """
    figures = list(dict.fromkeys(known[entry["id"]]["scenario"] for entry in rows))
    scale = rows[0]["scale"] if rows else ""
    scenarios = {figure: _scenarios(path.parent, figure, scale) for figure in figures}
    for entry in rows:
        again = _judged_today(path.parent / known[entry["id"]]["scenario"]).get(entry["id"])
        if again != {key: entry[key] for key in again or ()}:
            raise RefusedError(
                f"{path}: {entry['id']}: today's judge finds something else in these tables; `farloop report {path.parent}` judges them "
                "anew"
            )
    keys.add(key for figure in figures for key in provenance.keys_of(scenarios[figure]))
    digests = [_digests(entry, known, keys, keys.newest, scenarios) for entry in rows]
    return [{**entry, **digest} for entry, digest in zip(rows, digests, strict=True)]


def _scenarios(reproduction: Path, figure: str, scale: str) -> provenance.Scenarios:
    """The scenarios of a figure in a reproduction, which must be those of today."""
    try:
        ran = provenance.output_scenarios(reproduction / figure)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RefusedError(
            f"{reproduction / figure}: {type(error).__name__}: {error}; expected what `farloop reproduce --out` wrote"
        ) from None
    today = provenance.figure_scenarios(figure, scale)
    for run in dict.fromkeys([*today, *ran]):
        if run not in ran or run not in today or not provenance.are_same(ran[run], today[run]):
            raise RefusedError(
                f"{reproduction}: {figure}: {', '.join(run)}: ran with another scenario or other seeds than today's figure; expected "
                f"what `farloop reproduce {figure}` writes"
            )
    return today


@functools.cache
def _judged_today(output: Path) -> dict[str, dict[str, Any]]:
    """The entries that today's judge makes of a figure's output, by claim."""
    try:
        comparison = farloop.load(output)
    except FarloopError as error:
        raise RefusedError(str(error)) from None
    return {claim["id"]: _entry(claim) for claim in verdicts.judge_again(comparison).claims}


def _digests(
    entry: Mapping[str, Any],
    known: Mapping[str, Mapping[str, Any]],
    keys: provenance.KnownKeys,
    generation: int,
    scenarios: Mapping[str, provenance.Scenarios] | None = None,
) -> dict[str, str]:
    """The digests of what an entry rests on: of today's scenarios, or of those that are given by figure."""
    claim, scale, figure = entry["id"], entry["scale"], known[entry["id"]]["scenario"]
    every = provenance.figure_scenarios(figure, scale) if scenarios is None else scenarios[figure]
    own = provenance.claim_scenarios(figure, claim, scale, every)
    return {
        "scenarios": provenance.scenario_digest(own, keys, generation),
        "judge": provenance.judge_digest(figure, claim),
    }


def stale(
    record: Claims, known: Mapping[str, Mapping[str, Any]], keys: provenance.KnownKeys
) -> dict[tuple[str, str], dict[str, str]]:
    """The entries that rest on other scenarios or another judge than today's, by claim and scale: today's digests in place of theirs.

    Entries from before there were digests name a commit in place of the judge's.
    """
    outdated = {}
    for entry in record:
        today = _digests(entry, known, keys, int(entry["scenarios"].partition(":")[0]))
        if changed := {name: digest for name, digest in today.items() if entry.get(name, digest) != digest}:
            outdated[entry["id"], entry["scale"]] = changed
    return outdated


def keep_unchanged(
    record: Claims, outdated: Mapping[tuple[str, str], Mapping[str, str]], reason: str, prefix: str
) -> list[dict[str, Any]]:
    """The record with today's digests in stale entries of claims that begin with a prefix, and the reason why these still hold."""
    return [
        {**entry, **outdated[key], "unchanged": list(dict.fromkeys([*entry.get("unchanged", []), reason]))}
        if (key := (entry["id"], entry["scale"])) in outdated and entry["id"].startswith(prefix)
        else dict(entry)
        for entry in record
    ]


def updated(record: Claims, entries: Claims, known: Iterable[str]) -> list[dict[str, Any]]:
    """The record with what was found in place of the same claims at the same scale; in the order of the known claims, without others."""
    together = {(e["id"], e["scale"]): dict(e) for e in [*record, *entries]}
    return [together[name, scale] for name in known for scale in SCALES if (name, scale) in together]


def shown(
    record: Claims,
    known: Mapping[str, Mapping[str, Any]],
    stated: Mapping[tuple[str, str], Sequence[str]],
    published: Mapping[str, Claim],
) -> list[dict[str, Any]]:
    """One entry for each known claim, with the paper's numbers: at full scale where that has run under the judge of today.

    Args:
        record: The record.
        known: Every claim, by its identifier.
        stated: The statements that today's judges make, by claim and scale.
        published: The claims as today's files have them: they say which readings statements rest on.
    """
    best: dict[str, Mapping[str, Any]] = {}
    for entry in sorted(record, key=lambda e: (is_current(e, stated), SCALES.index(e["scale"]))):
        best[entry["id"]] = entry
    missing = {
        "verdict": "not judged",
        "verdict_text": "not judged: not run",
        "scale": "–",
        "calibrated": False,
        "measured": {},
    }
    numbers = {
        name: {k: v for k, v in claim["paper"].items() if isinstance(v, (int, float)) and not isinstance(v, bool)}
        for name, claim in known.items()
    }
    rows = [
        {**_with_readings(best.get(name, missing), published[name]), "id": name}
        | {"paper": numbers[name] if name in best else {}}
        for name in known
    ]
    return [
        entry | {"verdict_text": f"{entry['verdict_text']}, by an earlier judge"}
        if entry["id"] in best and not is_current(entry, stated)
        else entry
        for entry in rows
    ]


def _with_readings(entry: Mapping[str, Any], claim: Claim) -> dict[str, Any]:
    """An entry of the record with the readings of today."""
    row = {**entry, "calibrated": bool(claim.calibrated)}
    if entry["verdict"] in VERDICTS[:3]:
        row["verdict_text"] = entry["verdict"] + (f" (calibrated: {claim.calibrated})" if claim.calibrated else "")
    return add_readings(row, claim) if "statements" in entry else row


def is_current(entry: Mapping[str, Any], stated: Mapping[tuple[str, str], Sequence[str]]) -> bool:
    """Whether an entry of the record has the statements that the judge of today makes."""
    return [s["text"] for s in entry.get("statements", [])] == list(stated.get((entry["id"], entry["scale"]), ()))


def stated_today(known: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """The statements that today's judges make, by claim and scale."""
    figures = dict.fromkeys(claim["scenario"] for claim in known.values())
    return {
        (name, scale): texts
        for figure in figures
        for scale in SCALES
        for name, texts in verdicts.statements(figure, scale).items()
    }


def shown_today() -> list[dict[str, Any]]:
    """The entries that pages show: one for each claim, marked where an earlier judge made it."""
    known = known_claims()
    return shown(read_record(), known, stated_today(known), published_claims())


def read_record() -> list[dict[str, Any]]:
    """The entries of the record as it stands."""
    record: list[dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["claims"]
    return record


def read_keys() -> provenance.KnownKeys:
    """The keys of scenarios that the record's digests know."""
    return provenance.KnownKeys(json.loads(RECORD.read_text("utf-8"))["keys"])


def write_record(record: Claims, keys: provenance.KnownKeys) -> None:
    """Writes the record."""
    RECORD.write_text(lines({"keys": keys.generations, "claims": record}) + "\n", encoding="utf-8")


def lines(value: Any, depth: int = 0) -> str:
    """A value as JSON, where an object of plain values is one line, and a list of such that is short."""
    inner = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    nested = any(isinstance(part, list | Mapping) and part for part in inner)
    line = json.dumps(value, ensure_ascii=False)
    if not nested and not (isinstance(value, list) and len(line) > MAX_COLUMNS):
        return line
    indent = " " * (depth + 1)
    if isinstance(value, Mapping):
        parts = [f"{json.dumps(key)}: {lines(part, depth + 1)}" for key, part in value.items()]
    else:
        parts = [lines(part, depth + 1) for part in value]
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    return f"{opening}\n{indent}" + f",\n{indent}".join(parts) + f"\n{' ' * depth}{closing}"


def known_claims() -> dict[str, dict[str, Any]]:
    """Every claim of the papers, in the order of `farloop list claims`."""
    return {row["id"]: row for row in catalogue.entries("claims")}


def published_claims() -> dict[str, Claim]:
    """Every claim of the papers as today's files have it, by its identifier."""
    documents = (own.parsed for name in figure_names() if (own := own_scenario(name)) is not None)
    return {claim.id: claim for document in documents for claim in read_claims(document)}


def main(arguments: Sequence[str]) -> int:
    """Brings the record up to date and rewrites both pages; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", type=Path, help="claims.json of a reproduction")
    parser.add_argument(
        "--unchanged", metavar="REASON", help="take stale entries over: why what they rest on was only rewritten"
    )
    parser.add_argument(
        "--of", metavar="CLAIM", default="", help="with --unchanged: only claims that begin so, such as gear/fig09"
    )
    options = parser.parse_args(arguments)
    known, keys = known_claims(), read_keys()
    try:
        judged = [entry for path in options.claims for entry in add_digests(entries(path, known), path, known, keys)]
    except RefusedError as error:
        sys.stderr.write(f"tally.py: {error}\n")
        return 2
    record = updated(read_record(), judged, known)
    if options.unchanged:
        record = keep_unchanged(record, stale(record, known, keys), options.unchanged, options.of)
    write_record(record, keys)
    claims = shown(record, known, stated_today(known), published_claims())
    for path, content in ((ROOT / "README.md", tally(claims)), (FINDINGS / "README.md", led(claims))):
        path.write_text(between(path.read_text("utf-8"), content), encoding="utf-8")
    (FINDINGS / "statements.md").write_text(statements.page(claims), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

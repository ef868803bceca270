"""The page of an answer: what to run first, why, when that changes, what to watch, what to type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from farloop.arena.constraints import parse
from farloop.arena.quantities import SHARE, TIME, quantity
from farloop.report.page import document
from farloop.results.measures import MORE
from farloop.units import count_text

STATES = {
    "leads": "leads",
    "open": "behind, not told apart",
    "left": "told apart",
    "fails": "breaks a constraint",
    "failed": "could not be simulated",
}

HOSTS = {"in Linux": "; Linux has it", "farloop kernel": "; Linux hosts get it from farloop kernel"}
"""How hosts get an algorithm, for people."""

NOTICED = {SHARE: 0.005, TIME: 1e-6}
"""Changes of shares and times that are smaller than this are not called a price."""

TOO_WIDE = 100
"""Where an interval's ends are further apart than this many times, its numbers say no more than "unsure"."""


def page(content: Mapping[str, Any]) -> str:
    """A complete HTML document that loads nothing from anywhere."""
    sections = [
        _head(content),
        _question(content),
        _candidates(content),
        _tuned(content),
        _conditions(content),
        _watch(content),
        _deploy(content),
        _others(content),
        _how(content),
    ]
    return document(
        f"farloop: what should run: {content['title']}", f'<div class="arena advice">{"".join(sections)}</div>'
    )


def _head(content: Mapping[str, Any]) -> str:
    return (
        f"<header><h1>What should run: {escape(content['title'])}</h1></header>"
        f'<div class="card"><p class="answer">{escape(content["answer"])}</p>{_three(content)}</div>'
    )


def _three(content: Mapping[str, Any]) -> str:
    """What each of the advised needs, in a line."""
    rows = {row["name"]: row for row in content["candidates"]}
    items = []
    for name in content["advised"]:
        row = rows[name]
        own = next((t for t in content["tuned"] if t["name"] == name and t["is_advised"]), None)
        tuned = f" Tuned: {_gain(own)}{_price(own, row['quantities'])}." if own else ""
        needs = "needs nothing of switches" if row["needs"] == "nothing" else f"needs {row['needs']}"
        hosts = HOSTS.get(row["linux"]) or ("" if row["is_shipped"] else "; hosts need a transport that has it")
        items.append(f"<li><b>{escape(name)}</b> {escape(needs + hosts)}.{escape(tuned)}</li>")
    return f'<ul class="statements">{"".join(items)}</ul>' if items else ""


def _price(tuned: Mapping[str, Any], usual: Mapping[str, float]) -> str:
    """What tuned parameters make worse by more than a tenth."""
    worse = []
    for name, value in tuned["quantities"].items():
        before, what = usual.get(name), quantity(name)
        if before is None:
            continue
        over, under = (before, value) if what.better == MORE else (value, before)
        if over > 1.1 * under and over - under > NOTICED.get(what.kind, 0.0):
            worse.append(f"{name} {what.text(before)} → {what.text(value)}")
    return f", at the price of {'; '.join(worse)}" if worse else ""


def _question(content: Mapping[str, Any]) -> str:
    asked = content["question"]
    must = "".join(f"<li>{escape(str(parse(text)))}</li>" for text in asked["must"]) or "<li>nothing</li>"
    can = (
        "all that the scenario's network offers"
        if asked["can"] is None
        else ", ".join(asked["can"]) or "nothing special"
    )
    overrides = "".join(f" --set {key}={value}" for key, value in asked["overrides"])
    return (
        f'<h2>The question</h2><div class="card"><p><b>Scenario</b>: {escape(asked["scenario"] + overrides)}. <b>Goal</b>: '
        f"{escape(asked['goal'])}. <b>Hosts and switches can</b>: {escape(can)}.</p><p><b>Must hold</b>, on average over the seeds:</p>"
        f'<ul class="statements">{must}</ul></div>'
    )


def _candidates(content: Mapping[str, Any]) -> str:
    ran = [row for row in content["candidates"] if row["state"] in ("leads", "open", "left")]
    if not ran:
        ran = [row for row in content["candidates"] if row["state"] == "fails"][:8]
    named = dict.fromkeys(name for row in ran for name in row["quantities"])
    texts = {name: {_text(name, row["quantities"].get(name)) for row in ran} for name in named}
    # What all have alike takes no column: the others fit the page then.
    alike = [f"{name} {next(iter(each))}" for name, each in texts.items() if len(each) == 1 and len(ran) > 1]
    names = [name for name, each in texts.items() if len(each) > 1 or len(ran) == 1]
    heads = ["candidate", "", "times the best", *names, "seeds", "needs"]
    rows = []
    for row in ran:
        ratio = row["against_best"]
        cells = [
            f'<td class="text"><b>{escape(row["name"])}</b></td>'
            if row["state"] == "leads"
            else f'<td class="text">{escape(row["name"])}</td>',
            f'<td class="text soft">{escape(row["because"] or STATES[row["state"]])}</td>',
            f"<td>{_ratio(ratio)}</td>",
            *(f"<td>{_text(name, row['quantities'].get(name))}</td>" for name in names),
            f"<td>{row['seeds']}</td>",
            f'<td class="text soft">{escape(_needs(row))}</td>',
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    note = (
        f"The goal's multiple of the best one's, with an interval that holds together with those of all others, and what else was "
        f"measured, "
        f"means over the seeds. Candidates that lead are not told apart by {count_text(content['seeds'], 'seed')}."
    )
    if alike:
        note += f" All have {', '.join(alike)}."
    return f'<h2>The candidates</h2><p class="soft">{note}</p>{_table(heads, rows)}{_seeds(content)}'


def _seeds(content: Mapping[str, Any]) -> str:
    """The runs of the leading candidates, for whoever wants to see them."""
    rows = [row for row in content["runs"] if row["candidate"] in content["leaders"]]
    if not rows:
        return ""
    names = [name for name in rows[0] if name not in ("candidate", "seed")]
    body = [
        f'<tr><td class="text">{escape(row["candidate"])}</td><td>{row["seed"]}</td>'
        + "".join(f"<td>{_text(name, row.get(name))}</td>" for name in names)
        + "</tr>"
        for row in rows
    ]
    table = _table(["candidate", "seed", *names], body)
    return f"<details><summary>Every run of those that lead (all runs: runs.csv)</summary>{table}</details>"


def _tuned(content: Mapping[str, Any]) -> str:
    if not content["tuned"]:
        return ""
    parts = [
        '<h2>Parameters</h2><p class="soft">What a search found, judged under seeds that it has not seen. A gain that these do not tell '
        "from none is not advised.</p>"
    ]
    usual = {row["name"]: row["quantities"] for row in content["candidates"]}
    for tuned in content["tuned"]:
        if tuned["because"]:
            parts.append(f"<p><b>{escape(tuned['name'])}</b>: {escape(tuned['because'])}; keep the defaults.</p>")
            continue
        trials = count_text(tuned["trials"], "trial")
        parts.append(
            f"<h3>{escape(tuned['name'])}: {escape(_verdict(tuned))}; {escape(_gain(tuned))} after {trials}</h3>"
        )
        settings = [
            f'<tr><td class="text">{escape(name)}</td><td>{escape(tuned["defaults"][name])}</td><td>{escape(value)}</td></tr>'
            for name, value in tuned["settings"].items()
        ]
        before = usual[tuned["name"]]
        beside = [
            f'<tr><td class="text">{escape(name)}</td><td>{_text(name, before.get(name))}</td><td>{_text(name, value)}</td></tr>'
            for name, value in tuned["quantities"].items()
        ]
        tables = _table(["parameter", "default", "found"], settings) + _table(["measured", "default", "found"], beside)
        parts.append(f'<div class="columns">{tables}</div>')
    return "".join(parts)


def _verdict(tuned: Mapping[str, Any]) -> str:
    if tuned["is_advised"]:
        return "advised"
    return (
        f"not advised: it breaks {tuned['breaks']}"
        if tuned["breaks"]
        else "not advised: no gain that seeds tell from none"
    )


def _gain(tuned: Mapping[str, Any]) -> str:
    gain = tuned["gain"]
    if gain["estimate"] is None:
        return "no gain"
    reach = f" [{gain['low']:.3g}, {gain['high']:.3g}]" if gain["low"] is not None else ""
    return f"{gain['estimate']:.3g} times the defaults' goal{reach}"


def _conditions(content: Mapping[str, Any]) -> str:
    outcomes = content["conditions"]
    if not outcomes:
        return ""
    names = list(dict.fromkeys(s["name"] for outcome in outcomes for s in outcome["standings"]))
    first = content["advised"][0] if content["advised"] else ""
    rows = []
    for outcome in outcomes:
        text = f'<td class="text">{escape(outcome["text"])}</td>'
        if outcome["because"]:
            rows.append(f'<tr>{text}<td class="no" colspan="{len(names) + 1}">{escape(outcome["because"])}</td></tr>')
            continue
        known = {s["name"]: s for s in outcome["standings"]}
        holds = first in outcome["first"]
        cells = "".join(f"<td>{_cell(known.get(name))}</td>" for name in names)
        word = "holds" if holds else "changes" if outcome["first"] else "nothing holds"
        style = "" if holds else ' class="fails"'
        rows.append(f"<tr>{text}<td{style}>{word}</td>{cells}</tr>")
    flips = ", ".join(content["flips"])
    sentence = (
        f"The choice changes with: {flips}." if flips else f"{first} stays in the first group under all of these."
    )
    note = "Three seeds each: the group, and times the best; a constraint that breaks is named."
    table = _table(["condition", "the choice", *names], rows)
    return f'<h2>When the choice changes</h2><p>{escape(sentence)}</p><p class="soft">{note}</p>{table}'


def _cell(standing: Mapping[str, Any] | None) -> str:
    if standing is None:
        return "–"
    ratio = "" if standing["against_best"] is None else f'<span class="soft">{standing["against_best"]:.3g} ×</span>'
    if standing["group"] is None:
        return f'<span class="fails">{escape(standing["breaks"])}</span> {ratio}'
    return f"<b>{standing['group']}</b> {ratio}"


def _watch(content: Mapping[str, Any]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in content["watch"])
    return f'<h2>What to watch</h2><ul class="statements">{items}</ul>' if items else ""


def _deploy(content: Mapping[str, Any]) -> str:
    parts = []
    for name, files in content["deploy"].items():
        commands = "\n".join(files["commands"])
        typed = f"<pre>{escape(commands)}</pre>" if commands else ""
        parts.append(f"<h3>{escape(name)}</h3><pre>{escape(files['scenario'])}</pre>{typed}")
    if not parts:
        return ""
    note = "The scenario's keys (deploy/NAME.toml), and commands for Linux hosts."
    return f'<h2>What to write and type</h2><p class="soft">{note}</p>{"".join(parts)}'


def _others(content: Mapping[str, Any]) -> str:
    failing = [row for row in content["candidates"] if row["state"] in ("fails", "failed")]
    each = [(row["name"], row["because"]) for row in failing]
    each += [(refusal["algorithm"], f"cannot run there: {refusal['because']}") for refusal in content["excluded"]]
    if not each:
        return ""
    rows = [f'<tr><td class="text">{escape(name)}</td><td class="no">{escape(why)}</td></tr>' for name, why in each]
    return f"<h2>What is not advised, and why</h2>{_table(['algorithm', 'because'], rows)}"


def _how(content: Mapping[str, Any]) -> str:
    asked = content["question"]
    decided = "the race was decided" if content["is_decided"] else "the race ended with its budget"
    items = [
        f"All candidates ran under the same seeds from {asked['seed']} on; every round doubled the seeds of those that were left. "
        f"After {count_text(content['rounds'], 'round')} {decided}.",
        "A candidate leaves where it breaks a constraint, or where the seeds tell it from the best one by more than 5 %, with 95 % "
        "confidence for all candidates and rounds together (docs/advise.md).",
        f"Simulations took {content['spent_s'] / 60:.3g} of {asked['budget_s'] / 60:g} min, at five million packet-hops per second of "
        "one processor.",
        *content["notes"],
    ]
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<h2>How it was judged</h2><ul class="statements">{listed}</ul>'


def _needs(row: Mapping[str, Any]) -> str:
    return f"{row['needs']}{HOSTS.get(row['linux'], '')}"


def _ratio(ratio: Mapping[str, Any]) -> str:
    if ratio["estimate"] is None:
        return "–"
    if ratio["low"] is None or ratio["low"] == ratio["high"]:
        reach = ""
    elif ratio["high"] > TOO_WIDE * ratio["low"]:
        reach = f' <span class="soft">(unsure after {count_text(ratio["n"], "seed")})</span>'
    else:
        reach = f' <span class="soft">[{ratio["low"]:.3g}, {ratio["high"]:.3g}]</span>'
    return f"{ratio['estimate']:.3g} ×{reach}"


def _text(name: str, value: float | None) -> str:
    return "–" if value is None else escape(quantity(name).text(value))


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    # Heads stand as their columns do: the first row says which are text.
    kinds = re.findall(r'<td(?: class="(\w+)[^"]*")?', rows[0]) if rows else []
    texts = [kind in ("text", "no") for kind in kinds] + [False] * len(heads)
    titles = "".join(
        f'<th class="text">{escape(head)}</th>' if is_text else f"<th>{escape(head)}</th>"
        for head, is_text in zip(heads, texts, strict=False)
    )
    return (
        f'<div class="card scroll"><table><thead><tr>{titles}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )

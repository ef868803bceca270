"""The page of an answer: what to run first, why, when that changes, what to watch, what to type."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from farloop.output.manifest import REPORT
from farloop.results.measures import MORE
from farloop.results.size_classes import MARK_NOTE, MIN_TAIL_FLOWS, add_mark
from farloop.studies.advice.advice_headline import cautions_of, headline_advice, range_text, stays_text, subject
from farloop.studies.advice.asking import ANSWER
from farloop.studies.arena.constraints import parse
from farloop.studies.arena.quantities import SHARE, TIME, quantity
from farloop.units import count_text
from farloop.views.html import render, sections_page
from farloop.views.report import plots
from farloop.views.report.verdict import EffectChart, head
from farloop.views.tabular import NOTHING, AnyCell, Head, StyledCell, Table

STATES = {
    "leads": "leads",
    "open": "behind, not told apart",
    "left": "told apart",
    "fails": "breaks a constraint",
    "failed": "could not be simulated",
}

HOSTS = {"in Linux": "; Linux has it", "farloop kernel": "; Linux hosts get it from farloop kernel"}
"""Ways in which hosts get an algorithm, for people."""

NOTICED = {SHARE: 0.005, TIME: 1e-6}
"""Changes of shares and times that are smaller than this are not called a price."""

QUESTIONS = {
    "change": "What if things change?",
    "type": "What do you write and type?",
    "candidates": "How good are the candidates?",
    "watch": "What should you watch?",
    "parameters": "Do other parameters help?",
    "others": "Why not the others?",
    "judged": "What was asked, and how was it judged?",
}
"""The sections of the page by their anchors."""


def page(content: Mapping[str, Any]) -> str:
    """A complete HTML document that loads nothing from anywhere."""
    values = {
        "content": content,
        "advised": _advised_rows(content),
        "constraints": [str(parse(text)) for text in content["question"]["must"]],
        "candidates": _candidates(content),
        "seeds": _seeds(content),
        "tuned": _tuning_results(content),
        "conditions": _conditions(content, subject(content)),
        "outlook": outlook_table(content),
        "stays": stays_text(content),
        "others": _other_algorithms(content),
        "mark_note": f"{MARK_NOTE} of a seed." if content["few_flows"] else "",
        "rounds": count_text(content["rounds"], "round"),
        "seed_count": count_text(content["seeds"], "seed"),
    }
    drawn = [
        (anchor, question, render("answer.html.j2", part=anchor, **values)) for anchor, question in QUESTIONS.items()
    ]
    answer = headline_advice(content)
    names = [row["name"] for row in content["candidates"]]
    scopes = {effect.scope: effect.scope for effect in answer.effects}
    note = (
        "The best on top. Lines: 95 % confidence intervals over the seeds; those of times the best candidate's cost hold together. "
        "A multiple under another condition has few seeds, and no interval."
    )
    return sections_page(
        f"farloop: what should run: {content['title']}",
        f"What should run: {content['title']}",
        head(answer, EffectChart(names, scopes, ("number", "under"), note), cautions_of(content)),
        [part for part in drawn if part[2].strip()],
        subtitle=f"{count_text(len(names), 'candidate')}, {count_text(content['seeds'], 'seed')}, farloop {content['farloop']}",
        style="arena advice",
        scripts=plots.scripts(has_charts=False),
    )


def rewrite(source: Path, aside: Path) -> None:
    """Draws the page of an answer on disk anew, into a directory of `rewriting`.

    Raises:
        OSError: the answer cannot be read.
        ValueError: it is none.
    """
    content = json.loads((source / ANSWER).read_text("utf-8"))
    (aside / REPORT).write_text(page(content), encoding="utf-8")


def _advised_rows(content: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Of each of the advised: its name, what it needs, and what tuning gains."""
    rows = {row["name"]: row for row in content["candidates"]}
    items = []
    for name in content["advised"]:
        row = rows[name]
        own = next((t for t in content["tuned"] if t["name"] == name and t["is_advised"]), None)
        tuned = f" Tuned: {_gain(own)}{_price(own, row['quantities'])}." if own else ""
        needs = "needs nothing of switches" if row["needs"] == "nothing" else f"needs {row['needs']}"
        hosts = HOSTS.get(row["linux"]) or ("" if row["is_shipped"] else "; hosts need a transport that has it")
        items.append((name, needs + hosts, tuned))
    return items


def _price(tuned: Mapping[str, Any], usual: Mapping[str, float]) -> str:
    """Returns the quantities that tuned parameters make worse by more than a tenth."""
    worse = []
    for name, value in tuned["quantities"].items():
        before, what = usual.get(name), quantity(name)
        if before is None:
            continue
        over, under = (before, value) if what.better == MORE else (value, before)
        if over > 1.1 * under and over - under > NOTICED.get(what.kind, 0.0):
            worse.append(f"{name} {what.text(before)} → {what.text(value)}")
    return f", at the price of {'; '.join(worse)}" if worse else ""


def _candidates(content: Mapping[str, Any]) -> dict[str, Any]:
    """The table of the candidates, and what all of them have alike, which takes no column: the others fit the page then."""
    ran = [row for row in content["candidates"] if row["state"] in ("leads", "open", "left")]
    if not ran:
        ran = [row for row in content["candidates"] if row["state"] == "fails"][:8]
    named = dict.fromkeys(name for row in ran for name in row["quantities"])
    texts = {name: {_text(name, row["quantities"].get(name)) for row in ran} for name in named}
    alike = [
        f"{_quantity_name(name, content)} {next(iter(each))}"
        for name, each in texts.items()
        if len(each) == 1 and len(ran) > 1
    ]
    names = [name for name, each in texts.items() if len(each) > 1 or len(ran) == 1]
    heads = [
        Head("candidate", is_text=True),
        Head("", is_text=True),
        Head("times the best"),
        *_heads(names, content),
        Head("seeds"),
        Head("needs", is_text=True),
    ]
    rows: list[list[AnyCell]] = []
    for row in ran:
        bold = Markup("<b>{}</b>").format(row["name"]) if row["state"] == "leads" else None
        rows.append(
            [
                StyledCell(row["name"], bold, "text"),
                StyledCell(row["because"] or STATES[row["state"]], style="text soft"),
                _ratio(row["against_best"]),
                *(_text(name, row["quantities"].get(name)) for name in names),
                str(row["seeds"]),
                StyledCell(f"{row['needs']}{HOSTS.get(row['linux'], '')}", style="text soft"),
            ]
        )
    return {"table": Table(heads, rows, style="sorts"), "alike": alike}


def _quantity_name(name: str, content: Mapping[str, Any]) -> str:
    """The name of a quantity, with a mark where it is a percentile over few flows."""
    return add_mark(name, content["few_flows"].get(name, MIN_TAIL_FLOWS))


def _heads(names: Iterable[str], content: Mapping[str, Any]) -> list[Head]:
    return [Head(_quantity_name(name, content)) for name in names]


def _seeds(content: Mapping[str, Any]) -> Table:
    """The runs of the leading candidates, for readers who want to see them."""
    rows = [row for row in content["runs"] if row["candidate"] in content["leaders"]]
    names = [name for name in rows[0] if name not in ("candidate", "seed")] if rows else []
    body: list[list[AnyCell]] = [
        [StyledCell(row["candidate"], style="text"), str(row["seed"]), *(_text(name, row.get(name)) for name in names)]
        for row in rows
    ]
    return Table([Head("candidate", is_text=True), Head("seed"), *_heads(names, content)], body, style="sorts")


def _tuning_results(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the results of the search for parameters, for each algorithm that was tuned."""
    usual = {row["name"]: row["quantities"] for row in content["candidates"]}
    parts: list[dict[str, Any]] = []
    for tuned in content["tuned"]:
        part = {"name": tuned["name"], "because": tuned["because"]}
        if not tuned["because"]:
            before = usual[tuned["name"]]
            part |= {
                "verdict": f"{_verdict(tuned)}; {_gain(tuned)} after {count_text(tuned['trials'], 'trial')}",
                "settings": Table(
                    [Head("parameter", is_text=True), Head("default"), Head("found")],
                    [
                        [StyledCell(name, style="text"), str(tuned["defaults"][name]), str(value)]
                        for name, value in tuned["settings"].items()
                    ],
                ),
                "measured": Table(
                    [Head("measured", is_text=True), Head("default"), Head("found")],
                    [
                        [
                            StyledCell(_quantity_name(name, content), style="text"),
                            _text(name, before.get(name)),
                            _text(name, value),
                        ]
                        for name, value in tuned["quantities"].items()
                    ],
                ),
            }
        parts.append(part)
    return parts


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


def _conditions(content: Mapping[str, Any], first: str) -> Table:
    """A row for each condition: whether the choice holds, and how each candidate stands."""
    outcomes = content["conditions"]
    names = list(dict.fromkeys(s["name"] for outcome in outcomes for s in outcome["standings"]))
    rows = []
    for outcome in outcomes:
        text = StyledCell(outcome["text"], style="text")
        if outcome["because"]:
            why = f"not simulated: {outcome['because']}"
            rows.append([text, StyledCell(why, style="no", span=len(names) + 2)])
            continue
        known = {s["name"]: s for s in outcome["standings"]}
        holds = first in outcome["first"]
        word = "holds" if holds else "changes" if outcome["first"] else "nothing holds"
        word = f"{first} holds" if holds and not content["advised"] else word
        rows.append(
            [
                text,
                StyledCell(word, style="" if holds else "fails"),
                *(_cell(known.get(name)) for name in names),
                StyledCell(str(outcome.get("seeds", ""))),
            ]
        )
    return Table(
        [Head("condition", is_text=True), Head("the choice"), *map(Head, names), Head("seeds")], rows, style="sorts"
    )


def _cell(standing: Mapping[str, Any] | None) -> StyledCell:
    if standing is None:
        return StyledCell(NOTHING)
    times = "" if standing["against_best"] is None else f"{standing['against_best']:.3g} ×"
    ratio = Markup('<span class="soft">{}</span>').format(times) if times else ""
    if standing["group"] is None:
        html = Markup('<span class="fails">{}</span> {}').format(standing["breaks"], ratio)
        return StyledCell(f"{standing['breaks']} {times}".rstrip(), html)
    return StyledCell(f"{standing['group']} {times}".rstrip(), Markup("<b>{}</b> {}").format(standing["group"], ratio))


def outlook_table(content: Mapping[str, Any]) -> Table:
    """Today and the changes that operators ask about first: who is best, and how bad it gets for the advised candidate."""
    rows = content.get("outlook", [])
    heads = [Head("", is_text=True), Head("best", is_text=True), Head("not told apart", is_text=True)]
    if not rows:
        return Table(heads, [])
    advised, goal = subject(content), content["question"]["goal"]
    has_goal = any(row["goal"] is not None for row in rows)
    heads += [Head(f"{advised}: {goal}, today → then")] if has_goal else []
    heads += [Head(f"{advised}: times today's cost"), Head("seeds"), Head("breaks", is_text=True)]
    body: list[list[AnyCell]] = []
    for row in rows:
        cells: list[AnyCell] = [StyledCell(row["text"], style="text")]
        if row["because"]:
            why = f"not simulated: {row['because']}"
            body.append([*cells, StyledCell(why, style="no", span=len(heads) - 1)])
            continue
        style = "text" if advised in row["first"] else "text fails"
        others = [name for name in row["first"] if name not in row["best"]]
        cells += [
            StyledCell(", ".join(row["best"]) or "nothing holds", style=style),
            StyledCell(", ".join(others), style="text"),
        ]
        if has_goal:
            before = "" if row["goal_today"] is None else f"{_text(goal, row['goal_today'])} → "
            cells.append(f"{before}{_text(goal, row['goal'])}")
        times = NOTHING if row["times_today"] is None else f"{row['times_today']:.3g} ×"
        body.append([*cells, times, str(row["seeds"]), StyledCell(row["breaks"], style="text soft")])
    return Table(heads, body)


def _other_algorithms(content: Mapping[str, Any]) -> Table:
    """The algorithms that are not advised, and why."""
    failing = [row for row in content["candidates"] if row["state"] in ("fails", "failed")]
    each = [(row["name"], row["because"]) for row in failing]
    each += [(refusal["algorithm"], f"cannot run there: {refusal['because']}") for refusal in content["excluded"]]
    rows = [[StyledCell(name, style="text"), StyledCell(why, style="no")] for name, why in each]
    return Table([Head("algorithm", is_text=True), Head("because", is_text=True)], rows)


def _ratio(ratio: Mapping[str, Any]) -> StyledCell:
    if ratio["estimate"] is None:
        return StyledCell(NOTHING)
    reach = range_text(ratio)
    text = f"{ratio['estimate']:.3g} ×"
    html = Markup('{} <span class="soft">{}</span>').format(text, reach) if reach else None
    return StyledCell(f"{text} {reach}".rstrip(), html)


def _text(name: str, value: float | None) -> str:
    return NOTHING if value is None else quantity(name).text(value)

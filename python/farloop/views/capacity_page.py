"""The page of a plan: what is enough, how the requirement changes with what is varied, every point, and what was not tried."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from farloop.output.manifest import REPORT
from farloop.palette import look
from farloop.studies.arena.quantities import quantity
from farloop.studies.capacity.capacity_answer import ANSWER, headline_plan, value_text
from farloop.units import count_text
from farloop.views.html import render, sections_page
from farloop.views.report import plots
from farloop.views.report.verdict import EffectChart, head
from farloop.views.svg import element, join_elements
from farloop.views.tabular import NOTHING, AnyCell, Head, StyledCell, Table

QUESTIONS = {
    "curve": "How does it change?",
    "points": "What holds at each point, and why?",
    "untried": "What was not tried?",
    "judged": "What was asked, and how was it judged?",
}
"""The sections of the page by their anchors."""

WIDTH, HEIGHT = 760.0, 300.0
"""Pixels of the curve."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 150.0, 14.0, 44.0

MAX_LINES = 9
"""Conditions that a curve tells apart."""


def page(content: Mapping[str, Any]) -> str:
    """A complete HTML document that loads nothing from anywhere."""
    names = list(content["question"]["bounds"])
    values = {
        "content": content,
        "curves": [(name, curve(content, name)) for name in names],
        "points": [
            (condition["text"], points_table(content, condition), condition["notes"])
            for condition in content["conditions"]
        ],
        "seed_count": count_text(content["question"]["seeds"], "seed"),
    }
    drawn = [
        (anchor, question, render("plan.html.j2", part=anchor, **values)) for anchor, question in QUESTIONS.items()
    ]
    undecided = [c["text"] or "the scenario" for c in content["conditions"] if not c["is_decided"]]
    cautions = (
        [f"The budget ended before packets had decided: {', '.join(undecided)}. Repeat with a larger --budget."]
        if undecided
        else []
    )
    cautions += [
        note[:1].upper() + note[1:] + "." for condition in content["conditions"] for note in condition["notes"]
    ]
    return sections_page(
        f"farloop: what is enough: {content['title']}",
        f"What is enough: {content['title']}",
        head(headline_plan(content), EffectChart([], {}), cautions),
        [part for part in drawn if part[2].strip()],
        subtitle=f"{count_text(len(content['options']), 'option')}, {count_text(content['simulations'], 'simulation')}, "
        f"farloop {content['farloop']}",
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


def answers_table(content: Mapping[str, Any]) -> Table:
    """A row for each condition: what is enough, its values, and why less is not."""
    names = _names_of_values(content)
    heads = [
        Head("", is_text=True),
        Head("enough", is_text=True),
        *map(Head, names),
        Head("less is not, because", is_text=True),
    ]
    rows: list[list[AnyCell]] = []
    for condition in content["conditions"]:
        place = condition["answer"]
        text = StyledCell(condition["text"] or "the scenario", style="text")
        if place is None:
            why = "not decided" if not condition["is_decided"] else "nothing holds"
            rows.append(
                [
                    text,
                    StyledCell(why, style="text fails"),
                    *[NOTHING] * len(names),
                    StyledCell(_neighbour_text(content, condition), style="text soft"),
                ]
            )
            continue
        row = condition["by_packets"][str(place)]
        cells = [_range_text(name, row["values"].get(name)) for name in names]
        enough = StyledCell(
            content["options"][place]["text"], Markup("<b>{}</b>").format(content["options"][place]["text"]), "text"
        )
        rows.append([text, enough, *cells, StyledCell(_neighbour_text(content, condition), style="text soft")])
    return Table(heads, rows)


def _names_of_values(content: Mapping[str, Any]) -> list[str]:
    rows = [row for condition in content["conditions"] for row in condition["by_packets"].values()]
    return list(dict.fromkeys(name for row in rows for name in row["values"]))


def _neighbour_text(content: Mapping[str, Any], condition: Mapping[str, Any]) -> str:
    """Why the dearest option below the answer, or the dearest of all, does not hold."""
    place = condition["answer"]
    below = [int(i) for i in condition["by_packets"] if place is None or int(i) < place]
    if below:
        near = max(below)
        row = condition["by_packets"][str(near)]
        return f"{content['options'][near]['text']}: {row['because'] or '; '.join(row['broken']) or row['state']}"
    return "nothing cheaper was asked about" if place == 0 else ""


def points_table(content: Mapping[str, Any], condition: Mapping[str, Any]) -> Table:
    """A row for each option under a condition: by rates, packet by packet, and the limit of the flows."""
    names = list(content["question"]["bounds"])
    packets = _names_of_values(content)
    has_cost = content["question"]["cost"] is not None
    heads = [
        Head("option", is_text=True),
        *([Head("cost")] if has_cost else []),
        *(
            Head(f"{name}, by rates", hint="with the ends within which packets are, by the error bound")
            for name in names
        ),
        *(
            Head(f"{name}, by packets", hint="mean over the seeds, with the smallest and the largest")
            for name in packets
        ),
        Head("packets say", is_text=True),
        Head("the flows wait for", is_text=True),
    ]
    rows: list[list[AnyCell]] = []
    for place, option in enumerate(content["options"]):
        rates = condition["by_rates"][place] if condition["by_rates"] else None
        row = condition["by_packets"].get(str(place))
        is_answer = place == condition["answer"]
        cells: list[AnyCell] = [
            StyledCell(option["text"], Markup("<b>{}</b>").format(option["text"]) if is_answer else None, "text")
        ]
        cells += [f"{option['price']:,.6g}"] if has_cost else []
        cells += [_rates_text(name, rates["values"].get(name) if rates else None) for name in names]
        cells += [_range_text(name, row["values"].get(name)) if row else NOTHING for name in packets]
        cells += [_verdict(rates, row), StyledCell(row["limit"] if row else "", style="text soft")]
        rows.append(cells)
    return Table(heads, rows, style="sorts")


def _verdict(rates: Mapping[str, Any] | None, row: Mapping[str, Any] | None) -> StyledCell:
    if row is not None:
        style = "text" if row["state"] == "holds" else "text fails"
        return StyledCell(f"{row['state']}{': ' + row['because'] if row['because'] else ''}", style=style)
    if rates is not None and rates["state"] == "fails":
        return StyledCell("not asked: rates are sure that it fails", style="text soft")
    return StyledCell("not asked", style="text soft")


def _rates_text(name: str, value: Mapping[str, Any] | None) -> str:
    if value is None:
        return NOTHING
    text = value_text(name, value["value"])
    if value["low"] is None:
        return text
    high = "∞" if value["high"] is None else value_text(name, value["high"])
    return f"{text} [{value_text(name, value['low'])}, {high}]"


def _range_text(name: str, value: Mapping[str, Any] | None) -> str:
    if value is None:
        return NOTHING
    if value["low"] == value["high"]:
        return value_text(name, value["mean"])
    return f"{value_text(name, value['mean'])} [{value_text(name, value['low'])}, {value_text(name, value['high'])}]"


def curve(content: Mapping[str, Any], name: str) -> Markup:
    """A picture of a required quantity over the options, a line for each condition: rates with their bounds, packets with their seeds."""
    conditions, options = content["conditions"][:MAX_LINES], content["options"]
    bound = content["question"]["bounds"][name]
    known = [value for c in conditions for value in _known_values(c, name)] + ([bound] if bound else [])
    known = [value for value in known if value > 0]
    if not known:
        return Markup("")
    low, high = math.log10(min(known)), math.log10(max(known))
    span = max(high - low, 0.05)
    low, high = low - 0.06 * span, high + 0.06 * span
    step = (WIDTH - _LEFT - _RIGHT) / max(len(options) - 1, 1)

    def locate_option(place: int) -> float:
        return _LEFT + (place * step if len(options) > 1 else (WIDTH - _LEFT - _RIGHT) / 2)

    def locate_value(value: float) -> float:
        part = (math.log10(max(value, 10**low)) - low) / (high - low)
        return HEIGHT - _BOTTOM - min(max(part, 0.0), 1.0) * (HEIGHT - _TOP - _BOTTOM)

    shapes = [_axes(options, name, locate_option, locate_value, 10**low, 10**high)]
    if bound:
        shapes.append(
            element(
                "path",
                d=f"M{_LEFT:.0f},{locate_value(bound):.1f}H{WIDTH - _RIGHT:.0f}",
                stroke="#C1272D",
                stroke_dasharray="5 4",
            )
        )
        shapes.append(
            _words(WIDTH - _RIGHT + 6, locate_value(bound) + 4, f"asked: {value_text(name, bound)}", colour="#C1272D")
        )
    for number, condition in enumerate(conditions):
        colour = look(number, is_cross=number % 2 == 1).colour
        shapes += _rates_shapes(condition, name, locate_option, locate_value, colour)
        shapes += _packets_shapes(condition, name, locate_option, locate_value, colour)
        if condition["text"]:
            y = _TOP + 12 + 15 * number
            shapes.append(element("circle", cx=f"{WIDTH - _RIGHT + 12:.0f}", cy=f"{y - 4:.0f}", r="4", fill=colour))
            shapes.append(_words(WIDTH - _RIGHT + 22, y, condition["text"]))
    words = f"{name} over {', '.join(content['question']['vary'])}, by rates and by packets"
    look_ = {"class_": "curve", "viewBox": f"0 0 {WIDTH:g} {HEIGHT:g}", "role": "img", "aria_label": words}
    return element("svg", join_elements(shapes), **look_)


def _known_values(condition: Mapping[str, Any], name: str) -> list[float]:
    values = [row["values"].get(name) for row in condition["by_rates"]]
    values += [row["values"].get(name) for row in condition["by_packets"].values()]
    ends = [value[end] for value in values if value for end in ("low", "high", "value", "mean") if end in value]
    return [end for end in ends if end is not None]


def _axes(
    options: Sequence[Mapping[str, Any]], name: str, locate_option: Any, locate_value: Any, low: float, high: float
) -> Markup:
    shapes = [element("path", d=f"M{_LEFT:.0f},{_TOP:.0f}V{HEIGHT - _BOTTOM:.0f}H{WIDTH - _RIGHT:.0f}", class_="axis")]
    every = math.ceil(len(options) / 8)
    for place in range(0, len(options), every):
        shapes.append(_words(locate_option(place), HEIGHT - _BOTTOM + 16, options[place]["text"], anchor="middle"))
    for value in _ticks(low, high):
        shapes.append(
            element(
                "path",
                d=f"M{_LEFT:.0f},{locate_value(value):.1f}H{WIDTH - _RIGHT:.0f}",
                class_="axis",
                stroke_opacity="0.5",
            )
        )
        shapes.append(_words(_LEFT - 6, locate_value(value) + 4, value_text(name, value), anchor="end"))
    shapes.append(_words(_LEFT, HEIGHT - 8, f"{name}; {quantity(name).better} is better"))
    return join_elements(shapes)


def _ticks(low: float, high: float) -> list[float]:
    """Values at 1, 2 and 5 times powers of ten; ends and middle where there are fewer than two of them."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    made = [digit * 10.0**power for power in powers for digit in (1, 2, 5) if low <= digit * 10.0**power <= high]
    return made[:: max(1, math.ceil(len(made) / 7))] if len(made) > 1 else [low, math.sqrt(low * high), high]


def _words(x: float, y: float, text: str, anchor: str = "start", colour: str = "") -> Markup:
    look_ = {"fill": colour} if colour else {}
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, **look_)


def _rates_shapes(
    condition: Mapping[str, Any], name: str, locate_option: Any, locate_value: Any, colour: str
) -> list[Markup]:
    """A line by rates, and the band within which packets are."""
    known = [(place, row["values"][name]) for place, row in enumerate(condition["by_rates"]) if name in row["values"]]
    if not known:
        return []
    shapes = []
    banded = [(place, value) for place, value in known if value["low"] is not None and value["high"] is not None]
    if len(banded) > 1:
        tops = " ".join(f"{locate_option(place):.1f},{locate_value(value['high']):.1f}" for place, value in banded)
        lows = " ".join(
            f"{locate_option(place):.1f},{locate_value(value['low']):.1f}" for place, value in reversed(banded)
        )
        shapes.append(element("polygon", points=f"{tops} {lows}", fill=colour, fill_opacity="0.13"))
    line = " ".join(
        f"{locate_option(place):.1f},{locate_value(value['value']):.1f}"
        for place, value in known
        if value["value"] is not None
    )
    shapes.append(element("polyline", points=line, fill="none", stroke=colour, stroke_width="1.3"))
    return shapes


def _packets_shapes(
    condition: Mapping[str, Any], name: str, locate_option: Any, locate_value: Any, colour: str
) -> list[Markup]:
    """A dot at the mean by packets and a line over its seeds; hollow where it does not hold."""
    shapes = []
    for place, row in condition["by_packets"].items():
        value = row["values"].get(name)
        if value is None or value["mean"] is None:
            continue
        x = locate_option(int(place))
        shapes.append(
            element(
                "path",
                d=f"M{x:.1f},{locate_value(value['low']):.1f}V{locate_value(value['high']):.1f}",
                stroke=colour,
                stroke_width="1.6",
            )
        )
        fill = colour if row["state"] == "holds" else "var(--card)"
        shapes.append(
            element(
                "circle",
                cx=f"{x:.1f}",
                cy=f"{locate_value(value['mean']):.1f}",
                r="4.5",
                fill=fill,
                stroke=colour,
                stroke_width="1.6",
            )
        )
    return shapes

"""Pictures of where a time went (`farloop why`): what each moment of it went into, stacked; of a job also its path over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from farloop.palette import CROSS, IDLE, INTRA
from farloop.results.why import Explanation
from farloop.results.why_chosen import WhyAnswer
from farloop.results.why_job import JobExplanation
from farloop.units import time_text
from farloop.views import svg
from farloop.views.html import document, render
from farloop.views.tabular import Table

COLOURS = [colour for pair in zip(INTRA, CROSS, strict=True) for colour in pair]
"""Of the bands, largest first: cool and warm in turn, so that neighbours differ clearly."""
Band = tuple[str, str, float]
"""Label, colour, share in percent."""

OTHER = "everything else"
WIDTH, HEIGHT, LEFT, BELOW = 920, 260, 46, 24
MAX_ROWS = 40
"""Ranks beyond which a row has no name of its own."""
MAX_STEPS = 20_000
"""Steps of a path beyond which it is not drawn."""


def picture(explanation: Explanation | JobExplanation) -> str:
    """The stacked picture with its legend, as a file of its own."""
    bands = _bands([explanation])
    rows = (len(bands) + 1) // 2
    height = HEIGHT + BELOW + 16 + 20 * rows
    shapes = [svg.element("rect", width=WIDTH, height=height, fill="#ffffff"), _stack(explanation, bands)]
    for at, (label, colour, share) in enumerate(bands):
        x, y = LEFT + (at % 2) * (WIDTH - LEFT) / 2, HEIGHT + BELOW + 20 + 20 * (at // 2)
        shapes.append(svg.element("rect", x=f"{x:.0f}", y=y, width=12, height=12, fill=colour))
        shapes.append(svg.element("text", f"{label} {share:.1f} %", x=f"{x + 18:.0f}", y=y + 11))
    drawn = svg.element(
        "svg",
        svg.join_elements(shapes),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
        font_family="system-ui, sans-serif",
        font_size=13,
        fill="#1c2126",
    )
    return f"{drawn}\n"


def page(explanation: Explanation | JobExplanation) -> str:
    """A page with the pictures and all rows of the table; it loads nothing from anywhere."""
    title = f"Where the time of {explanation.title} went"
    chain = [explanation] if isinstance(explanation, JobExplanation) else explanation.chain
    parts = [_part(own) for own in chain]
    return document(title, render("why_page.html.j2", title=title, answer=explanation.answer, parts=parts))


@dataclass(frozen=True)
class ExplainedPart:
    """The pictures and the table of one flow or iteration.

    Attributes:
        title: The flow or iteration that it explains.
        answer: In a sentence, what took most of the time.
        bands: The bands of the picture.
        with_shares: True if the legend has their shares; false where bands are those of several.
        stack: The stacked picture.
        path: The picture of an iteration's path over ranks; empty where there is none.
        path_bands: The phases in it.
        table: All parts of the time.
        paths: Lines on the paths of its last packet and of those that were sent again.
    """

    title: str
    answer: str
    bands: Sequence[Band]
    with_shares: bool
    stack: Markup
    path: Markup
    path_bands: Sequence[Band]
    table: Table
    paths: Sequence[str]


def _part(explanation: Explanation | JobExplanation, bands: Sequence[Band] | None = None) -> ExplainedPart:
    """One flow or iteration; `bands` are those of several, for the same colours."""
    own = bands or _bands([explanation])
    header = ["cause", "limit", "where", "by", "time", "share"]
    path, phases = Markup(""), list[Band]()
    if isinstance(explanation, JobExplanation):
        header[2:2] = ["phase", "ranks"]
        path, phases = _path(explanation), _phases(explanation)
    return ExplainedPart(
        explanation.title,
        explanation.answer,
        own,
        bands is None,
        _inline(_stack(explanation, own), HEIGHT + BELOW, f"{explanation.title}: what its time went into"),
        path,
        phases,
        Table.from_rows(header, [list(row) for row in explanation.rows]),
        [] if isinstance(explanation, JobExplanation) else explanation.paths,
    )


def runs_section(explained: Sequence[WhyAnswer], *, several: bool) -> tuple[str, str, str]:
    """The section of a report: anchor, title, and HTML with a bar for each iteration and flow, stacked of the causes of its time.

    Args:
        explained: Explanations of the runs.
        several: True if the runs are several, which are named then.
    """
    title = "Where the time went"
    groups = []
    for kind, head in ((JobExplanation, "Iterations of jobs"), (Explanation, "Flows")):
        chosen = [of for of in explained if isinstance(of.explanation, kind)]
        if chosen:
            bands = _bands([of.explanation for of in chosen if of.explanation])
            groups.append({"head": head, "bands": bands, "bars": [_bar(of, bands, several=several) for of in chosen]})
    lines = {_no_bar_text(of, several=several): None for of in explained if of.explanation is None}
    return "why", title, render("why_section.html.j2", title=title, groups=groups, unexplained=lines)


def _bar(of: WhyAnswer, bands: Sequence[Band], *, several: bool) -> dict[str, Any]:
    """A stacked bar that opens the pictures and the table."""
    explanation, chosen = of.explanation, of.chosen
    assert explanation is not None
    assert chosen is not None
    shares = _shares(explanation)
    shown = {label: share for label, share in shares.items() if label in [name for name, _, _ in bands]}
    shown[OTHER] = sum(shares.values()) - sum(shown.values())
    slowdown = "" if chosen.slowdown is None else f", slowdown {chosen.slowdown:.3g}"
    head = f"{f'{of.label}: ' if several else ''}{chosen.role}: {explanation.title}, {time_text(explanation.time_ps / 1e12)}{slowdown}"
    return {
        "head": head,
        "answer": explanation.answer,
        "shares": [(label, colour, shown[label]) for label, colour, _ in bands if shown.get(label, 0) > 0],
        "part": _part(explanation, bands),
    }


def _no_bar_text(of: WhyAnswer, *, several: bool) -> str:
    """Why there is no bar; the same line for all flows of a run that have the same reason."""
    return f"{f'{of.label}: ' if several else ''}not explained: {of.because}"


def _label(part: dict[str, Any]) -> str:
    cause = str(part["cause"])
    if cause == "computing":
        return f"computing: {part['phase']}"
    return f"{cause} ({part['limit']})" if part["limit"] else cause


def _bands(each: Sequence[Explanation | JobExplanation]) -> list[Band]:
    """The bands, the largest first; of several flows or iterations together each counts the same."""
    totals: dict[str, float] = {}
    for explanation in each:
        for label, share in _shares(explanation).items():
            totals[label] = totals.get(label, 0.0) + share / len(each)
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    few = len(COLOURS) - 2
    bands = [(label, COLOURS[at], share) for at, (label, share) in enumerate(ordered[:few])]
    if rest := sum(share for _, share in ordered[few:]):
        bands.append((OTHER, IDLE, rest))
    return bands


def _shares(explanation: Explanation | JobExplanation) -> dict[str, float]:
    """The parts of the time by their labels, in percent."""
    totals: dict[str, int] = {}
    for part in explanation.parts:
        totals[_label(part)] = totals.get(_label(part), 0) + int(part["time_ps"])
    return {label: 100 * time / max(explanation.time_ps, 1) for label, time in totals.items()}


def _stack(explanation: Explanation | JobExplanation, bands: Sequence[Band]) -> Markup:
    """A column for each slice of the time, of its parts; below it the time."""
    order = {label: at for at, (label, _, _) in enumerate(bands)}
    labels = [order.get(_label(part), len(bands) - 1) for part in explanation.parts]
    count = max(len(explanation.slices), 1)
    wide, tall = (WIDTH - LEFT) / count, HEIGHT - 8
    shapes = []
    for at, pairs in enumerate(explanation.slices):
        total = sum(time for _, time in pairs)
        heights = [0] * len(bands)
        for place, time in pairs:
            heights[labels[place]] += time
        below = 0
        for band, time in enumerate(heights):
            if time:
                # A little wider than its slice, so that no seam shows.
                shapes.append(
                    svg.element(
                        "rect",
                        x=f"{LEFT + at * wide:.2f}",
                        y=f"{HEIGHT - tall * (below + time) / total:.2f}",
                        width=f"{wide + 0.3:.2f}",
                        height=f"{tall * time / total + 0.3:.2f}",
                        fill=bands[band][1],
                    )
                )
                below += time
    shapes += [
        svg.element("text", f"{share} %", x=LEFT - 6, y=f"{HEIGHT - tall * share / 100 + 4:.0f}", text_anchor="end")
        for share in (0, 50, 100)
    ]
    return svg.join_elements([*shapes, _times(explanation.time_ps, HEIGHT)])


def _times(time_ps: int, y: float) -> Markup:
    anchors = ("start", "middle", "middle", "middle", "end")
    return svg.join_elements(
        svg.element(
            "text",
            time_text(time_ps * quarter / 4e12),
            x=f"{LEFT + (WIDTH - LEFT) * quarter / 4:.0f}",
            y=f"{y + 18:.0f}",
            text_anchor=anchor,
        )
        for quarter, anchor in enumerate(anchors)
    )


def _inline(shapes: Markup, height: float, label: str) -> Markup:
    return svg.inline(shapes, WIDTH, height, label)


def _phases(explanation: JobExplanation) -> list[Band]:
    """The phases of an iteration with their colours and shares."""
    whole = max(explanation.time_ps, 1)
    return [
        (phase, COLOURS[at % len(COLOURS)], 100 * time / whole)
        for at, (phase, time) in enumerate(explanation.total_ps("phase").items())
    ]


def _path(explanation: JobExplanation) -> Markup:
    """The path of an iteration: a row for each rank on it, a bar for each computation, a line for each message."""
    if not explanation.steps or len(explanation.steps) > MAX_STEPS:
        return Markup("")
    ranks = sorted(
        {step["rank"] for step in explanation.steps}
        | {step["to"] for step in explanation.steps if step["to"] is not None}
    )
    tall = max(3.0, min(22.0, 440 / len(ranks)))
    height = tall * len(ranks)
    middle = {rank: (at + 0.5) * tall for at, rank in enumerate(ranks)}
    whole = max(explanation.time_ps, 1)

    def x(time: int) -> float:
        return LEFT + (WIDTH - LEFT) * (time - explanation.start_ps) / whole

    shapes = []
    if len(ranks) <= MAX_ROWS:
        shapes += [
            svg.element("text", str(rank), x=LEFT - 6, y=f"{middle[rank] + 4:.1f}", text_anchor="end") for rank in ranks
        ]
    phases = list(explanation.total_ps("phase"))
    for step in explanation.steps:
        begin, end = x(step["start_ps"]), x(step["end_ps"])
        colour = COLOURS[phases.index(step["phase"]) % len(COLOURS)]
        y = middle[step["rank"]]
        what = (
            f"{step['cause']}: {step['phase']}"
            if step["to"] is None
            else f"{step['cause']} from {step['rank']} to {step['to']}"
        )
        title = svg.element("title", f"{what}, {time_text((step['end_ps'] - step['start_ps']) / 1e12)}")
        if step["to"] is None:
            bar, wide = 0.7 * tall, f"{max(end - begin, 0.6):.2f}"
            place = {"x": f"{begin:.2f}", "y": f"{y - bar / 2:.2f}", "width": wide, "height": f"{bar:.2f}"}
            shapes.append(svg.element("rect", title, **place, fill=colour))
        else:
            ends = {"x1": f"{begin:.2f}", "y1": f"{y:.2f}", "x2": f"{end:.2f}", "y2": f"{middle[step['to']]:.2f}"}
            shapes.append(svg.element("line", title, **ends, stroke=colour, stroke_width="1.6"))
    drawn = svg.join_elements([*shapes, _times(explanation.time_ps, height)])
    return _inline(drawn, height + BELOW, f"{explanation.title}: its path over ranks")

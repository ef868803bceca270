"""Pictures of where a time went (`farloop why`): what each moment of it went into, stacked; of a job also its path over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from farloop.palette import CROSS, IDLE, INTRA
from farloop.report.page import document, table
from farloop.results.why import Explanation
from farloop.results.why_chosen import WhyAnswer
from farloop.results.why_job import JobExplanation
from farloop.units import time_text

COLOURS = [colour for pair in zip(INTRA, CROSS, strict=True) for colour in pair]
"""Of the bands, largest first: cool and warm in turn, so that neighbours are told apart."""
Band = tuple[str, str, float]
"""Label, colour, share in percent."""

OTHER = "everything else"
WIDTH, HEIGHT, LEFT, BELOW = 920, 260, 46, 24
MOST_ROWS = 40
"""Ranks beyond which a row has no name of its own."""
MOST_STEPS = 20_000
"""Steps of a path beyond which it is not drawn."""


def svg(asked: Explanation | JobExplanation) -> str:
    """The stacked picture with its legend, as a file of its own."""
    bands = _bands([asked])
    rows = (len(bands) + 1) // 2
    height = HEIGHT + BELOW + 16 + 20 * rows
    legend = []
    for at, (label, colour, share) in enumerate(bands):
        x, y = LEFT + (at % 2) * (WIDTH - LEFT) / 2, HEIGHT + BELOW + 20 + 20 * (at // 2)
        legend.append(
            f'<rect x="{x:.0f}" y="{y}" width="12" height="12" fill="{colour}"/>'
            f'<text x="{x + 18:.0f}" y="{y + 11}">{escape(label)} {share:.1f} %</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#1c2126">'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>{_stack(asked, bands)}{"".join(legend)}</svg>\n'
    )


def page(asked: Explanation | JobExplanation) -> str:
    """A page with the pictures and all rows of the table; it loads nothing from anywhere."""
    title = f"Where the time of {asked.title} went"
    content = [f"<header><h1>{escape(title)}</h1><p>{escape(asked.answer)}</p></header>"]
    chain = [asked] if isinstance(asked, JobExplanation) else asked.chain
    for own in chain:
        if len(chain) > 1:
            content.append(f"<h2>{escape(own.title)}</h2><p>{escape(own.answer)}</p>")
        content.append(section(own))
    return document(title, "\n".join(content))


def section(asked: Explanation | JobExplanation, bands: Sequence[Band] | None = None) -> str:
    """The pictures and the table of one flow or iteration; `bands` are those of several, for the same colours."""
    shared, bands = bands is not None, bands or _bands([asked])
    header = ["cause", "limit", "where", "by", "time", "share"]
    if isinstance(asked, JobExplanation):
        header[2:2] = ["phase", "ranks"]
    content = [
        f'<div class="card where">{_inline(_stack(asked, bands), HEIGHT + BELOW, f"{asked.title}: what its time went into")}'
        f"{_legend(bands, with_shares=not shared)}</div>"
    ]
    if isinstance(asked, JobExplanation):
        content.append(_path(asked))
    content.append(table(header, [list(row) for row in asked.rows]))
    return "\n".join(content)


def of_runs(explained: Sequence[WhyAnswer], *, several: bool) -> tuple[str, str, str]:
    """The section of a report: anchor, title, and HTML with a bar for each iteration and flow, stacked of the causes of its time.

    Args:
        explained: What was asked of the runs.
        several: Whether they are several, which are named then.
    """
    title = "Where the time went"
    content = [
        f'<h2 id="why">{title}</h2><p class="soft">The slowest iteration of each job, and the flows with the largest, the 99th percentile '
        "and the median of the FCT slowdown (of several seeds those of the first), as <code>farloop why</code> explains them. The parts of "
        "a bar are shares of its time. A bar opens what each moment of the time went into.</p>"
    ]
    for kind, head in ((JobExplanation, "Iterations of jobs"), (Explanation, "Flows")):
        chosen = [of for of in explained if isinstance(of.explanation, kind)]
        if chosen:
            bands = _bands([of.explanation for of in chosen if of.explanation])
            bars = "".join(_bar(of, bands, several=several) for of in chosen)
            content.append(f'<h3>{head}</h3><div class="where bars">{_legend(bands, with_shares=False)}{bars}</div>')
    lines = {_without(of, several=several): None for of in explained if of.explanation is None}
    content += [f'<p class="soft">{escape(line)}</p>' for line in lines]
    return "why", title, "".join(content)


def _bar(of: WhyAnswer, bands: Sequence[Band], *, several: bool) -> str:
    """A stacked bar that opens the pictures and the table."""
    asked, chosen = of.explanation, of.chosen
    assert asked is not None
    assert chosen is not None
    shares = _shares(asked)
    shown = {label: share for label, share in shares.items() if label in [name for name, _, _ in bands]}
    shown[OTHER] = sum(shares.values()) - sum(shown.values())
    parts = "".join(
        f'<span style="width:{shown[label]:.2f}%;background:{colour}" title="{escape(label, quote=True)} {shown[label]:.1f} %"></span>'
        for label, colour, _ in bands
        if shown.get(label, 0) > 0
    )
    slowdown = "" if chosen.slowdown is None else f", slowdown {chosen.slowdown:.3g}"
    head = (
        f"{f'{of.label}: ' if several else ''}{chosen.role}: {asked.title}, {time_text(asked.time_ps / 1e12)}{slowdown}"
    )
    return (
        f'<details><summary>{escape(head)}<span class="bar" role="img" aria-label="{escape(asked.answer, quote=True)}">{parts}</span>'
        f"</summary><p>{escape(asked.answer)}</p>{section(asked, bands)}</details>"
    )


def _without(of: WhyAnswer, *, several: bool) -> str:
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
    for asked in each:
        for label, share in _shares(asked).items():
            totals[label] = totals.get(label, 0.0) + share / len(each)
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    few = len(COLOURS) - 2
    bands = [(label, COLOURS[at], share) for at, (label, share) in enumerate(ordered[:few])]
    if rest := sum(share for _, share in ordered[few:]):
        bands.append((OTHER, IDLE, rest))
    return bands


def _shares(asked: Explanation | JobExplanation) -> dict[str, float]:
    """The parts of the time by their labels, in percent."""
    totals: dict[str, int] = {}
    for part in asked.parts:
        totals[_label(part)] = totals.get(_label(part), 0) + int(part["time_ps"])
    return {label: 100 * time / max(asked.time_ps, 1) for label, time in totals.items()}


def _stack(asked: Explanation | JobExplanation, bands: Sequence[Band]) -> str:
    """A column for each slice of the time, of its parts; below it the time."""
    order = {label: at for at, (label, _, _) in enumerate(bands)}
    labels = [order.get(_label(part), len(bands) - 1) for part in asked.parts]
    count = max(len(asked.slices), 1)
    wide, tall = (WIDTH - LEFT) / count, HEIGHT - 8
    shapes = []
    for at, pairs in enumerate(asked.slices):
        total = sum(time for _, time in pairs)
        heights = [0] * len(bands)
        for place, time in pairs:
            heights[labels[place]] += time
        below = 0
        for band, time in enumerate(heights):
            if time:
                y = HEIGHT - tall * (below + time) / total
                # A little wider than its slice, so that no seam shows.
                shapes.append(
                    f'<rect x="{LEFT + at * wide:.2f}" y="{y:.2f}" width="{wide + 0.3:.2f}" height="{tall * time / total + 0.3:.2f}" '
                    f'fill="{bands[band][1]}"/>'
                )
                below += time
    scale = "".join(
        f'<text x="{LEFT - 6}" y="{HEIGHT - tall * share / 100 + 4:.0f}" text-anchor="end">{share} %</text>'
        for share in (0, 50, 100)
    )
    return "".join(shapes) + scale + _times(asked.time_ps, HEIGHT)


def _times(time_ps: int, y: float) -> str:
    texts = []
    for quarter, anchor in ((0, "start"), (1, "middle"), (2, "middle"), (3, "middle"), (4, "end")):
        x = LEFT + (WIDTH - LEFT) * quarter / 4
        texts.append(
            f'<text x="{x:.0f}" y="{y + 18:.0f}" text-anchor="{anchor}">{time_text(time_ps * quarter / 4e12)}</text>'
        )
    return "".join(texts)


def _legend(bands: Sequence[Band], *, with_shares: bool = True) -> str:
    items = "".join(
        f'<li><span style="background:{colour}"></span>{escape(label)}{f" {share:.1f} %" if with_shares else ""}</li>'
        for label, colour, share in bands
    )
    return f'<ul class="legend">{items}</ul>'


def _inline(shapes: str, height: float, label: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(label, quote=True)}">{shapes}</svg>'


def _path(asked: JobExplanation) -> str:
    """The path of an iteration: a row for each rank on it, a bar for each computation, a line for each message."""
    if not asked.steps or len(asked.steps) > MOST_STEPS:
        return ""
    ranks = sorted(
        {step["rank"] for step in asked.steps} | {step["to"] for step in asked.steps if step["to"] is not None}
    )
    tall = max(3.0, min(22.0, 440 / len(ranks)))
    height = tall * len(ranks)
    middle = {rank: (at + 0.5) * tall for at, rank in enumerate(ranks)}
    whole = max(asked.time_ps, 1)

    def x(time: int) -> float:
        return LEFT + (WIDTH - LEFT) * (time - asked.start_ps) / whole

    shapes = []
    if len(ranks) <= MOST_ROWS:
        shapes += [f'<text x="{LEFT - 6}" y="{middle[rank] + 4:.1f}" text-anchor="end">{rank}</text>' for rank in ranks]
    phases = list(asked.total_ps("phase"))
    for step in asked.steps:
        begin, end = x(step["start_ps"]), x(step["end_ps"])
        colour = COLOURS[phases.index(step["phase"]) % len(COLOURS)]
        y = middle[step["rank"]]
        what = (
            f"{step['cause']}: {step['phase']}"
            if step["to"] is None
            else f"{step['cause']} from {step['rank']} to {step['to']}"
        )
        title = f"<title>{escape(what)}, {time_text((step['end_ps'] - step['start_ps']) / 1e12)}</title>"
        if step["to"] is None:
            bar = 0.7 * tall
            shapes.append(
                f'<rect x="{begin:.2f}" y="{y - bar / 2:.2f}" width="{max(end - begin, 0.6):.2f}" height="{bar:.2f}" fill="{colour}">'
                f"{title}</rect>"
            )
        else:
            shapes.append(
                f'<line x1="{begin:.2f}" y1="{y:.2f}" x2="{end:.2f}" y2="{middle[step["to"]]:.2f}" stroke="{colour}" stroke-width="1.6">'
                f"{title}</line>"
            )
    bands = [
        (phase, COLOURS[at % len(COLOURS)], 100 * time / whole)
        for at, (phase, time) in enumerate(asked.total_ps("phase").items())
    ]
    drawn = _inline(
        "".join(shapes) + _times(asked.time_ps, height), height + BELOW, f"{asked.title}: its path over ranks"
    )
    return (
        '<h2>Critical path</h2><p class="soft">A row for each rank on the path; bars are computations, lines are messages, colours are '
        f'phases.</p><div class="card where">{drawn}{_legend(bands)}</div>'
    )

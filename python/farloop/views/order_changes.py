"""Where the order flips: scores over one key of a scenario that was held at several of its values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from farloop import palette
from farloop.results.starts import OWN
from farloop.studies.arena.ranking import RANKED
from farloop.studies.arena.table import Result
from farloop.units import rate, seconds, size
from farloop.views import svg
from farloop.views.html import render
from farloop.views.tabular import AnyCell, Head, StyledCell, Table

MIN_POINTS = 2
"""Points that make a curve."""

MAX_CURVES = 8
"""Algorithms that a picture shows; the table beside it has those as well."""

WIDTH, HEIGHT, PAD = 560.0, 260.0, 44.0


@dataclass(frozen=True)
class OrderCurve:
    """One scenario over one key.

    Attributes:
        of: The scenario.
        key: The key.
        fixed: The other settings of these points, for people.
        results: A result for each value, in the order of the values.
        values: The values as written.
    """

    of: str
    key: str
    fixed: str
    results: tuple[Result, ...]
    values: tuple[str, ...]

    def multiples(self) -> dict[str, list[float | None]]:
        """For each algorithm how many times the best score it has at each value; `None` where it is not ranked."""
        names = dict.fromkeys(s.algorithm for result in self.results for s in result.standings if s.state == RANKED)
        rows: dict[str, list[float | None]] = {name: [] for name in names}
        for result in self.results:
            ratios = {s.algorithm: s.against_best.estimate for s in result.standings if s.state == RANKED}
            for name, row in rows.items():
                row.append(ratios.get(name))
        return rows

    def list_firsts(self) -> list[list[str]]:
        """The first group at each value."""
        return [[s.algorithm for s in result.standings if s.group == 1] for result in self.results]


def curves(results: Sequence[Result]) -> list[OrderCurve]:
    """Every key over which a scenario was held at several values, all else equal, with own starts."""
    drawn: list[OrderCurve] = []
    by_scenario: dict[str, list[Result]] = {}
    for result in results:
        if result.point and result.start == OWN:
            by_scenario.setdefault(result.part_of, []).append(result)
    for of, each in by_scenario.items():
        keys = list(dict.fromkeys(key for result in each for key in result.point))
        varying = [key for key in keys if len({result.point.get(key) for result in each}) > 1]
        for key in _independent(varying, each):
            together = _dependent_keys(key, varying, each)
            groups: dict[tuple[tuple[str, str | None], ...], list[Result]] = {}
            for result in each:
                if key in result.point:
                    rest = tuple((k, result.point.get(k)) for k in varying if k != key and k not in together)
                    groups.setdefault(rest, []).append(result)
            for rest, members in groups.items():
                if len({m.point[key] for m in members}) >= MIN_POINTS and len({m.point[key] for m in members}) == len(
                    members
                ):
                    ordered = sorted(members, key=lambda m: _number(m.point[key]))
                    fixed = ", ".join(f"{k} {v}" for k, v in rest if v is not None)
                    drawn.append(OrderCurve(of, key, fixed, tuple(ordered), tuple(m.point[key] for m in ordered)))
    return drawn


def _independent(varying: Sequence[str], each: Sequence[Result]) -> list[str]:
    """Of keys that always change together the first one."""
    seen: set[tuple[str | None, ...]] = set()
    kept = []
    for key in varying:
        values = [result.point.get(key) for result in each]
        numbers = {value: i for i, value in enumerate(dict.fromkeys(values))}
        pattern = tuple(str(numbers[value]) for value in values)
        if pattern not in seen:
            seen.add(pattern)
            kept.append(key)
    return kept


def _dependent_keys(key: str, varying: Sequence[str], each: Sequence[Result]) -> set[str]:
    """The keys that a value of this one settles, such as a run's duration by the distance."""
    settled = set()
    for other in varying:
        pairs = {(result.point.get(key), result.point.get(other)) for result in each}
        if other != key and len(pairs) == len({value for value, _ in pairs}):
            settled.add(other)
    return settled


def _number(value: str) -> float:
    for read in (float, seconds, rate, size):
        try:
            return float(read(value))
        except ValueError:
            continue
    return math.inf


def section(results: Sequence[Result]) -> Markup:
    """The curves of an arena as a part of its page; empty where nothing was held at several values."""
    drawn = [_draw_curve(curve) for curve in curves(results)]
    return render("order_changes.html.j2", curves=drawn) if drawn else Markup("")


def _draw_curve(curve: OrderCurve) -> dict[str, Any]:
    """A curve's title, picture and table."""
    rows = curve.multiples()
    known = {name: [v for v in row if v is not None] for name, row in rows.items()}
    shown = sorted((name for name in rows if known[name]), key=lambda name: min(known[name]))[:MAX_CURVES]
    cells: list[list[AnyCell]] = [
        [StyledCell(name, style="text"), *(None if v is None else f"{v:.3g} ×" for v in rows[name])] for name in shown
    ]
    firsts = [StyledCell(", ".join(names) or "nothing holds", style="text") for names in curve.list_firsts()]
    return {
        "title": f"{curve.of}: {curve.key}" + (f" ({curve.fixed})" if curve.fixed else ""),
        "picture": picture(
            {name: rows[name] for name in shown}, curve.values, f"multiples of the best score over {curve.key}"
        ),
        "table": Table(
            [Head(curve.key), *map(Head, curve.values)],
            [*cells, [StyledCell("first group", style="text"), *firsts]],
            in_card=False,
        ),
    }


def picture(rows: Mapping[str, Sequence[float | None]], values: Sequence[str], words: str) -> Markup:
    """Lines over values that stand at equal distances, on a logarithmic axis that begins at 1."""
    top = max((v for row in rows.values() for v in row if v is not None), default=1.0)
    high = math.log(max(top, 1.5))
    step = (WIDTH - 3 * PAD) / max(1, len(values) - 1)

    def locate_point(index: int, value: float) -> tuple[float, float]:
        return PAD + index * step, HEIGHT - PAD - math.log(max(value, 1.0)) / high * (HEIGHT - 2 * PAD)

    shapes = [svg.element("title", words)]
    for level in (1.0, math.exp(high / 2), math.exp(high)):
        y = locate_point(0, level)[1]
        shapes.append(svg.element("path", d=f"M{PAD},{y:.1f}H{WIDTH - 2 * PAD:.1f}", class_="axis"))
        shapes.append(svg.element("text", f"{level:.3g} ×", x=4, y=f"{y + 4:.1f}"))
    for index, value in enumerate(values):
        place = {"x": f"{PAD + index * step:.1f}", "y": f"{HEIGHT - PAD / 3:.1f}"}
        shapes.append(svg.element("text", value, **place, text_anchor="middle"))
    ends: list[float] = []
    for (name, row), look in zip(rows.items(), palette.port_looks(list(rows)).values(), strict=True):
        colour, points = look.colour, [locate_point(i, v) for i, v in enumerate(row) if v is not None]
        d = " ".join(f"{'M' if n == 0 else 'L'}{x:.1f},{y:.1f}" for n, (x, y) in enumerate(points))
        shapes.append(svg.element("path", d=d, fill="none", stroke=colour, stroke_width=2))
        shapes += [svg.element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, fill=colour) for x, y in points]
        y = points[-1][1]
        while any(abs(y - other) < 12 for other in ends):
            y += 12
        ends.append(y)
        shapes.append(svg.element("text", name, x=f"{WIDTH - 2 * PAD + 8:.1f}", y=f"{y + 4:.1f}", fill=colour))
    return svg.element(
        "svg",
        svg.join_elements(shapes),
        class_="curve",
        role="img",
        aria_label=words,
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        width=f"{WIDTH:g}",
        height=f"{HEIGHT:g}",
    )

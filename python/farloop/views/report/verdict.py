"""The head of a report: the answer, three numbers, a chart of the number that decides, and what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farloop.palette import run_colours
from farloop.results.cautions import MAX_DECISIVE, by_weight, comparison_cautions
from farloop.results.effects import SCOPES, Effect
from farloop.results.headline import Headline, headline
from farloop.views.html import render

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison

MAX_ROWS = 16
"""Groups of a chart: with more the first screen has no room for what stands below it."""

FAR_APART = 20.0
"""The ratio of the largest to the smallest value from which on the axis is logarithmic."""


@dataclass(frozen=True)
class EffectChart:
    """The words around the charts at the head of a page.

    Attributes:
        order: All groups in their order, which decides their colours.
        scopes: The scopes of the effects with their words.
        choices: Labels of the two choices: of the number, and of the scope.
        note: Describes dots, lines and arrows below the chart; of a comparison by default.
    """

    order: Sequence[str]
    scopes: Mapping[str, str]
    choices: tuple[str, str] = ("number", "of")
    note: str | None = None


def section(comparison: Comparison) -> Markup:
    """The head of a comparison's page."""
    cautions = [caution.text for caution in by_weight(comparison_cautions(comparison))]
    chart = EffectChart(list(comparison.groups), SCOPES)
    return head(headline(comparison), chart, cautions, deadlocks=comparison.deadlocks)


def head(answer: Headline, chart: EffectChart, cautions: Sequence[str], *, deadlocks: Sequence[str] = ()) -> Markup:
    """The head of any page.

    Args:
        answer: The answer with its numbers and effects.
        chart: The words around the effects.
        cautions: Sentences, those first that decide.
        deadlocks: Findings that stand above everything else.
    """
    charts = [
        {"name": effect.name, "scope": effect.scope, "drawn": draw(effect, chart.order, chart.scopes)}
        for effect in answer.effects
    ]
    first = answer.effect
    has_intervals = any(value.exists for effect in answer.effects for value in effect.values.values())
    is_cut = any(len(effect.ranking) > MAX_ROWS for effect in answer.effects)
    return render(
        "verdict.html.j2",
        sentences=answer.sentences,
        numbers=answer.key_numbers,
        limit=answer.limit,
        charts=charts,
        choices=chart.choices,
        names=list(dict.fromkeys(each["name"] for each in charts)),
        scopes={
            scope: words for scope, words in chart.scopes.items() if any(each["scope"] == scope for each in charts)
        },
        first=(first.name, first.scope) if first else ("", ""),
        note=_note(has_intervals=has_intervals) if chart.note is None else chart.note,
        cut=f"Of more than {MAX_ROWS} the best are drawn; the tables have all." if is_cut else "",
        deadlocks=deadlocks,
        decisive=cautions[:MAX_DECISIVE],
        others=cautions[MAX_DECISIVE:],
    )


def _note(*, has_intervals: bool) -> str:
    lines = " Lines: 95 % confidence intervals over the seeds." if has_intervals else ""
    arrow = "An arrow: some flows did not finish and count by their age, so that the number is a lower bound."
    return f"The best on top.{lines} {arrow}"


def draw(effect: Effect, order: Sequence[str], scopes: Mapping[str, str] = SCOPES) -> Markup:
    """A row for each group, the best on top: a dot at the number, a line along its 95 % interval; an arrow where it is a lower bound.

    Args:
        effect: The number.
        order: All groups in the order of the comparison, which decides their colours.
        scopes: The words of the scopes.
    """
    ranking, colours = effect.ranking[:MAX_ROWS], run_colours(order)
    ends = [
        end
        for label in ranking
        for end in (effect.values[label].low, effect.estimate(label), effect.values[label].high)
        if end is not None
    ]
    positive = [end for end in ends if end > 0]
    axis = _Axis(ends, is_logarithmic=len(positive) == len(ends) and max(ends) > FAR_APART * min(ends))
    words = ", ".join(f"{label} {effect.value_text(label)}" for label in ranking)
    return render(
        "effect.html.j2",
        words=f"{effect.name}, {scopes[effect.scope]}: {words}",
        rows=[_row(effect, label, axis) | {"colour": colours[label]} for label in ranking],
        ticks=[{"at": axis.locate_value(tick), "text": effect.text(tick)} for tick in axis.ticks],
    )


def _row(effect: Effect, label: str, axis: _Axis) -> dict[str, Any]:
    """The content of a row; places are percentages of the axis."""
    value = effect.values[label]
    interval = None
    if value.low is not None and value.high is not None:
        low, high = axis.locate_value(value.low), axis.locate_value(value.high)
        interval = {"at": low, "width": high - low}
    return {
        "label": label,
        "at": axis.locate_value(effect.estimate(label)),
        "interval": interval,
        "is_bounded": label in effect.bounded,
        "value": effect.value_text(label),
        "range": value.range(effect.text) if value.half_width else "",
    }


class _Axis:
    """The horizontal axis: from 0, or logarithmic."""

    def __init__(self, values: Sequence[float], *, is_logarithmic: bool) -> None:
        self._is_logarithmic = is_logarithmic
        if is_logarithmic:
            self.ticks = _powers(min(values), max(values))
            self._low, self._high = math.log10(min(*values, *self.ticks)), math.log10(max(*values, *self.ticks))
        else:
            self.ticks = _steps(max(values))
            self._low, self._high = 0.0, max(*values, *self.ticks)

    def locate_value(self, value: float) -> float:
        """Where a value lies, in percent of the axis."""
        place = math.log10(value) if self._is_logarithmic else value
        span = self._high - self._low
        return round(100 * (place - self._low) / span, 2) if span > 0 else 0.0


def _steps(largest: float) -> list[float]:
    """About four round numbers from 0 on."""
    if largest <= 0:
        return [0.0]
    rough = largest / 3
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return [number * step for number in range(math.ceil(largest / step) + 1)]


def _powers(smallest: float, largest: float) -> list[float]:
    """Powers of ten around the values, at most five."""
    first, last = math.floor(math.log10(smallest)), math.ceil(math.log10(largest))
    step = max(1, math.ceil((last - first) / 4))
    return [10.0**exponent for exponent in range(first, last + step, step)]

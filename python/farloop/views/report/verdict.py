"""The head of a report: the answer, three numbers, a chart of the number that decides, and what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from farloop.palette import run_colours
from farloop.results.cautions import MAX_DECISIVE, by_weight, of_comparison
from farloop.results.effects import SCOPES, Effect
from farloop.results.headline import headline
from farloop.views.html import render

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison

FAR_APART = 20.0
"""The ratio of the largest to the smallest value from which on the axis is logarithmic."""


def section(comparison: Comparison) -> Markup:
    """The head of the page."""
    answer = headline(comparison)
    cautions = [caution.text for caution in by_weight(of_comparison(comparison))]
    charts = [
        {"name": effect.name, "scope": effect.scope, "drawn": draw(effect, list(comparison.groups))}
        for effect in answer.effects
    ]
    first = answer.effect
    return render(
        "verdict.html.j2",
        sentences=answer.sentences,
        numbers=answer.key_numbers,
        limit=answer.limit,
        charts=charts,
        names=list(dict.fromkeys(chart["name"] for chart in charts)),
        scopes={scope: words for scope, words in SCOPES.items() if any(chart["scope"] == scope for chart in charts)},
        first=(first.name, first.scope) if first else ("", ""),
        has_intervals=any(value.exists for effect in answer.effects for value in effect.values.values()),
        deadlocks=comparison.deadlocks,
        decisive=cautions[:MAX_DECISIVE],
        others=cautions[MAX_DECISIVE:],
    )


def draw(effect: Effect, order: Sequence[str]) -> Markup:
    """A row for each group, the best on top: a dot at the number, a line along its 95 % interval; an arrow where it is a lower bound.

    Args:
        effect: The number.
        order: All groups in the order of the comparison, which decides their colours.
    """
    ranking, colours = effect.ranking, run_colours(order)
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
        words=f"{effect.name}, {SCOPES[effect.scope]}: {words}",
        rows=[_row(effect, label, axis) | {"colour": colours[label]} for label in ranking],
        ticks=[{"at": axis.at(tick), "text": effect.text(tick)} for tick in axis.ticks],
    )


def _row(effect: Effect, label: str, axis: _Axis) -> dict[str, Any]:
    """The content of a row; places are percentages of the axis."""
    value = effect.values[label]
    interval = None
    if value.low is not None and value.high is not None:
        low, high = axis.at(value.low), axis.at(value.high)
        interval = {"at": low, "width": high - low}
    return {
        "label": label,
        "at": axis.at(effect.estimate(label)),
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

    def at(self, value: float) -> float:
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

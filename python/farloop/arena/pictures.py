"""Small pictures for the cells of a table: SVG in the page, without a script, with words for those who do not see it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from farloop.palette import CROSS, INTRA
from farloop.results.tables import Floats

COLOURS = {"intra": INTRA[0], "cross": CROSS[0]}

WIDTH, HEIGHT = 84.0, 20.0
"""In pixels."""

_PAD = 2.0


class Scale:
    """A linear or logarithmic axis from left to right that all pictures of a column share.

    Args:
        values: What has to lie on it; only positive ones count on a logarithmic axis.
        logarithmic: Whether it is.
        from_zero: Whether it begins at 0; not if logarithmic.
    """

    def __init__(self, values: Sequence[float], *, logarithmic: bool = False, from_zero: bool = False) -> None:
        known = [v for v in values if v > 0] if logarithmic else list(values)
        self._logarithmic = logarithmic
        self._low = 0.0 if from_zero and not logarithmic else self._place(min(known, default=1.0))
        self._high = self._place(max(known, default=1.0))

    def _place(self, value: float) -> float:
        return math.log10(value) if self._logarithmic else value

    def at(self, value: float, width: float = WIDTH) -> float:
        """Where a value lies, in pixels from the left; what is not on the axis lies at its start."""
        if self._logarithmic and value <= 0:
            return _PAD
        span = self._high - self._low
        part = (self._place(value) - self._low) / span if span > 0 else 0.5
        return _PAD + min(max(part, 0.0), 1.0) * (width - 2 * _PAD)


def curves(rates: Mapping[str, Floats], top: float, words: str) -> str:
    """Curves over time, each in the colour of its kind, on one scale from 0 to `top`; nothing for no curve."""
    lines = [_line(values, top, COLOURS.get(kind, INTRA[0])) for kind, values in rates.items() if values.size > 1]
    return _svg("".join(lines), words) if lines else ""


def area(values: Floats, top: float, words: str) -> str:
    """One filled curve over time, from 0 to `top`; nothing for fewer than two points."""
    if values.size < 2:
        return ""
    points = _points(values, top)
    base = HEIGHT - _PAD
    d = f"M{_PAD:.1f},{base:.1f} L{' '.join(points)} L{WIDTH - _PAD:.1f},{base:.1f} Z"
    return _svg(f'<path d="{d}" class="queue"/>', words)


def bar(value: float, scale: Scale, words: str, colour: str = "") -> str:
    """A bar from the left to a value."""
    style = f' fill="{colour}"' if colour else ' class="plain"'
    width = scale.at(value) - _PAD
    shape = f'<rect x="{_PAD}" y="{HEIGHT / 2 - 3}" width="{max(width, 0.0):.1f}" height="6"{style}/>'
    return _svg(f'<path d="M{_PAD},{HEIGHT - 4}V4" class="axis"/>{shape}', words)


def parts(share: float, words: str) -> str:
    """A bar of two parts: inside, then across, which has the share."""
    inside = (WIDTH - 2 * _PAD) * (1 - share)
    left = f'<rect x="{_PAD}" y="6" width="{inside:.1f}" height="8" fill="{COLOURS["intra"]}"/>'
    right = (
        f'<rect x="{_PAD + inside:.1f}" y="6" width="{WIDTH - 2 * _PAD - inside:.1f}" height="8" '
        f'fill="{COLOURS["cross"]}"/>'
    )
    return _svg(left + right, words)


def reach(low: float, high: float, scale: Scale, words: str, colour: str) -> str:
    """A bar from one value to another, such as from a median to a tail, with a tick at the first."""
    a, b = scale.at(low), scale.at(high)
    shape = f'<rect x="{a:.1f}" y="8" width="{max(b - a, 0.8):.1f}" height="4" fill="{colour}" opacity="0.55"/>'
    tick = f'<path d="M{a:.1f},4V16" stroke="{colour}" stroke-width="2"/>'
    return _svg(shape + tick, words)


def dots(values: Sequence[float], mean: float, scale: Scale, words: str, width: float = WIDTH) -> str:
    """A dot for every value and a tick at their mean, on an axis."""
    line = f'<path d="M{_PAD},{HEIGHT / 2}H{width - _PAD}" class="axis"/>'
    marks = "".join(f'<circle cx="{scale.at(v, width):.1f}" cy="{HEIGHT / 2}" r="2.6"/>' for v in values)
    at = scale.at(mean, width)
    return _svg(f'{line}<g class="dots">{marks}</g><path d="M{at:.1f},3V17" class="mean"/>', words, width)


def _line(values: Floats, top: float, colour: str) -> str:
    return f'<polyline points="{" ".join(_points(values, top))}" fill="none" stroke="{colour}" stroke-width="1.3"/>'


def _points(values: Floats, top: float) -> list[str]:
    step = (WIDTH - 2 * _PAD) / (values.size - 1)
    high = HEIGHT - 2 * _PAD
    parts_ = [min(max(v / top, 0.0), 1.0) if top > 0 else 0.0 for v in values.tolist()]
    return [f"{_PAD + i * step:.1f},{HEIGHT - _PAD - part * high:.1f}" for i, part in enumerate(parts_)]


def _svg(content: str, words: str, width: float = WIDTH) -> str:
    style = "small" if width <= WIDTH else "small wide"
    return (
        f'<svg class="{style}" role="img" aria-label="{escape(words)}" width="{width:g}" height="{HEIGHT:g}" '
        f'viewBox="0 0 {width:g} {HEIGHT:g}"><title>{escape(words)}</title>{content}</svg>'
    )

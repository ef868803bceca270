"""Pictures as SVG in the page, without a script, with words for readers who do not see them.

`element` and `drawing` are what every picture is made of: they escape what they are given. The small pictures for the cells of a table
stand below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from markupsafe import Markup

from farloop.palette import CROSS, INTRA
from farloop.results.tables import Floats

COLOURS = {"intra": INTRA[0], "cross": CROSS[0]}

WIDTH, HEIGHT = 84.0, 20.0
"""In pixels."""

_PAD = 2.0


class Scale:
    """A linear or logarithmic axis from left to right that all pictures of a column share.

    Args:
        values: Values that have to lie on it; only positive ones count on a logarithmic axis.
        logarithmic: True for a logarithmic axis.
        from_zero: True if it begins at 0; ignored if logarithmic.
    """

    def __init__(self, values: Sequence[float], *, logarithmic: bool = False, from_zero: bool = False) -> None:
        known = [v for v in values if v > 0] if logarithmic else list(values)
        self._logarithmic = logarithmic
        self._low = 0.0 if from_zero and not logarithmic else self._place(min(known, default=1.0))
        self._high = self._place(max(known, default=1.0))

    def _place(self, value: float) -> float:
        return math.log10(value) if self._logarithmic else value

    def locate_value(self, value: float, width: float = WIDTH) -> float:
        """Where a value lies, in pixels from the left; what is not on the axis lies at its start."""
        if self._logarithmic and value <= 0:
            return _PAD
        span = self._high - self._low
        part = (self._place(value) - self._low) / span if span > 0 else 0.5
        return _PAD + min(max(part, 0.0), 1.0) * (width - 2 * _PAD)


def element(name: str, content: str | Markup = "", **attributes: str | float) -> Markup:
    """An element; of attributes `class_` is "class", and other underscores are hyphens: `text_anchor="end"`.

    Args:
        name: Such as "rect".
        content: Its content; text is escaped, elements are not.
        attributes: Numbers are written as they are, texts are escaped.
    """
    named = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items())
    inside = content if isinstance(content, Markup) else escape(content)
    return Markup(f"<{name}{named}>{inside}</{name}>" if inside else f"<{name}{named}/>")


def join_elements(shapes: Iterable[Markup]) -> Markup:
    """Elements one after the other."""
    return Markup("").join(shapes)


def inline(shapes: Markup, width: float, height: float, words: str) -> Markup:
    """A drawing as wide as the page lets it be."""
    return element("svg", shapes, viewBox=f"0 0 {width:g} {height:.0f}", role="img", aria_label=words)


def curves(rates: Mapping[str, Floats], top: float, words: str) -> Markup:
    """Curves over time, each in the colour of its kind, on one scale from 0 to `top`; nothing for no curve."""
    lines = [_line(values, top, COLOURS.get(kind, INTRA[0])) for kind, values in rates.items() if values.size > 1]
    return _make_small(lines, words) if lines else Markup("")


def area(values: Floats, top: float, words: str) -> Markup:
    """One filled curve over time, from 0 to `top`; nothing for fewer than two points."""
    if values.size < 2:
        return Markup("")
    base = HEIGHT - _PAD
    d = f"M{_PAD:.1f},{base:.1f} L{' '.join(_points(values, top))} L{WIDTH - _PAD:.1f},{base:.1f} Z"
    return _make_small([element("path", d=d, class_="queue")], words)


def bar(value: float, scale: Scale, words: str, colour: str = "") -> Markup:
    """A bar from the left to a value."""
    look = {"fill": colour} if colour else {"class_": "plain"}
    width = f"{max(scale.locate_value(value) - _PAD, 0.0):.1f}"
    shape = element("rect", x=_PAD, y=HEIGHT / 2 - 3, width=width, height="6", **look)
    return _make_small([element("path", d=f"M{_PAD},{HEIGHT - 4}V4", class_="axis"), shape], words)


def parts(share: float, words: str) -> Markup:
    """A bar of two parts: inside, then across, which has the share."""
    inside = (WIDTH - 2 * _PAD) * (1 - share)
    rest = WIDTH - 2 * _PAD - inside
    left = element("rect", x=_PAD, y="6", width=f"{inside:.1f}", height="8", fill=COLOURS["intra"])
    right = element("rect", x=f"{_PAD + inside:.1f}", y="6", width=f"{rest:.1f}", height="8", fill=COLOURS["cross"])
    return _make_small([left, right], words)


def reach(low: float, high: float, scale: Scale, words: str, colour: str) -> Markup:
    """A bar from one value to another, such as from a median to a tail, with a tick at the first."""
    a, b = scale.locate_value(low), scale.locate_value(high)
    wide = f"{max(b - a, 0.8):.1f}"
    shape = element("rect", x=f"{a:.1f}", y="8", width=wide, height="4", fill=colour, opacity="0.55")
    tick = element("path", d=f"M{a:.1f},4V16", stroke=colour, stroke_width="2")
    return _make_small([shape, tick], words)


def dots(values: Sequence[float], mean: float, scale: Scale, words: str, width: float = WIDTH) -> Markup:
    """A dot for every value and a tick at their mean, on an axis."""
    line = element("path", d=f"M{_PAD},{HEIGHT / 2}H{width - _PAD}", class_="axis")
    marks = join_elements(
        element("circle", cx=f"{scale.locate_value(v, width):.1f}", cy=HEIGHT / 2, r="2.6") for v in values
    )
    tick = element("path", d=f"M{scale.locate_value(mean, width):.1f},3V17", class_="mean")
    return _make_small([line, element("g", marks, class_="dots"), tick], words, width)


def _line(values: Floats, top: float, colour: str) -> Markup:
    points = " ".join(_points(values, top))
    return element("polyline", points=points, fill="none", stroke=colour, stroke_width="1.3")


def _points(values: Floats, top: float) -> list[str]:
    step = (WIDTH - 2 * _PAD) / (values.size - 1)
    high = HEIGHT - 2 * _PAD
    parts_ = [min(max(v / top, 0.0), 1.0) if top > 0 else 0.0 for v in values.tolist()]
    return [f"{_PAD + i * step:.1f},{HEIGHT - _PAD - part * high:.1f}" for i, part in enumerate(parts_)]


def _make_small(shapes: Iterable[Markup], words: str, width: float = WIDTH) -> Markup:
    style = "small" if width <= WIDTH else "small wide"
    return element(
        "svg",
        join_elements([element("title", words), *shapes]),
        class_=style,
        role="img",
        aria_label=words,
        width=f"{width:g}",
        height=f"{HEIGHT:g}",
        viewBox=f"0 0 {width:g} {HEIGHT:g}",
    )

"""Classes of flow sizes: their bounds, their names, and which flows belong to each.

Tables, summaries, studies and the arena divide flows by the same classes. Papers and references keep classes of their own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from farloop import units
from farloop.deprecation import RenamedKeys
from farloop.errors import FarloopError, clip_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MIN_TAIL_FLOWS = 20
"""A 99th percentile over fewer flows is marked: it is hardly more than their largest value."""

MARK = "*"
"""Mark of such a percentile."""

MARK_NOTE = (
    f"{MARK} a 99th percentile over fewer than {MIN_TAIL_FLOWS} flows, which is hardly more than their largest value"
)
"""Meaning of the mark, below a table."""

NO_FLOWS = "no flows"
"""Cell of a table for an empty class."""

MAX_BOUNDS = 8

EXPECTED = f"expected gemini, median, or up to {MAX_BOUNDS} sizes that grow, such as 100kB,10MB"
"""Texts that `parse` accepts."""


@dataclass(frozen=True)
class SizeClass:
    """A class of flow sizes.

    Attributes:
        name: Its name in numbers' names and in identifiers of measures, such as "small" or "up_to_100kB".
        label: Its bounds in words, such as "up to 100 kB".
        above: Flows of the class have more bytes; `None` for the median size of the run's flows.
        up_to: They have at most so many bytes; `None` likewise.
        title: Short name in tables; empty for its bounds.
        alias: A second name in studies; empty without one.
    """

    name: str
    label: str
    above: float | None
    up_to: float | None
    title: str = ""
    alias: str = ""

    @property
    def heading(self) -> str:
        """Its name in tables."""
        return self.title or self.label


@dataclass(frozen=True)
class SizeClasses:
    """Classes that together hold every flow with a size once, the smallest first.

    Attributes:
        name: The text that `parse` reads: "gemini", "median", or bounds such as "20kB,1MB".
        classes: The classes.
        source: Source of their definition; empty for bounds that a user chose.
    """

    name: str
    classes: tuple[SizeClass, ...]
    source: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the classes, the smallest first."""
        return tuple(size.name for size in self.classes)

    @property
    def note(self) -> str:
        """The bounds of the classes in a sentence."""
        if not any(size.title for size in self.classes):
            return ""
        text = "; ".join(f"{size.heading}: {size.label}" for size in self.classes)
        return f"{text[:1].upper()}{text[1:]}{f' ({self.source})' if self.source else ''}."

    def masks(self, sizes: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.bool_]]:
        """The flows of each class, by its name.

        Args:
            sizes: The size of each flow in bytes; NaN for flows without a size, which belong to no class.
        """
        import numpy as np

        sized = sizes >= 0
        median = float(np.median(sizes[sized])) if sized.any() else 0.0
        return {
            size.name: np.asarray(
                sized
                & (sizes > (median if size.above is None else size.above))
                & (sizes <= (median if size.up_to is None else size.up_to)),
                dtype=np.bool_,
            )
            for size in self.classes
        }


def _classes_from_bounds(bounds: Iterable[float], names: tuple[str, ...] = ()) -> tuple[SizeClass, ...]:
    ends = [-math.inf, *bounds, math.inf]
    classes = []
    for i, (above, up_to) in enumerate(itertools.pairwise(ends)):
        low, high = _exact_text(above), _exact_text(up_to)
        if above == -math.inf:
            name, label = f"up_to_{high}", f"up to {high}"
        elif up_to == math.inf:
            name, label = f"above_{low}", f"more than {low}"
        else:
            name, label = f"{low}_to_{high}", f"more than {low}, up to {high}"
        classes.append(
            SizeClass(names[i] if names else name.replace(" ", ""), label, above, up_to, names[i] if names else "")
        )
    return tuple(classes)


def _exact_text(size: float) -> str:
    """A size in the largest unit of which it has one, with all its digits: two bounds never look the same."""
    factor, unit = next(((f, u) for f, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if abs(size) >= f), (1.0, "B"))
    return f"{size / factor:.12g} {unit}"


GEMINI_BOUNDS = (100e3, 10e6)

GEMINI = SizeClasses(
    "gemini", _classes_from_bounds(GEMINI_BOUNDS, ("small", "medium", "large")), "GEMINI, ToN 2022, §IV-D"
)
"""The classes of Zeng et al., which farloop uses unless others are chosen."""

_MEDIAN = "the median size of all flows of the run"

MEDIAN = SizeClasses(
    "median",
    (
        SizeClass("at_most_median", f"at most {_MEDIAN}", -math.inf, None, "at most median", "small"),
        SizeClass("above_median", f"more than {_MEDIAN}", None, math.inf, "above median", "large"),
    ),
)
"""The two halves of each run's flows. The bound depends on the traffic alone, so it is the same for every algorithm."""


def parse(text: object) -> SizeClasses:
    """Classes from "gemini", "median", or bounds that grow, such as "100kB,10MB": so many bounds, and one more class.

    Raises:
        FarloopError: the text is none of these.
    """
    if text == GEMINI.name:
        return GEMINI
    if text == MEDIAN.name:
        return MEDIAN
    if not isinstance(text, str):
        raise FarloopError(f"{clip_text(repr(text))}: {EXPECTED}")
    try:
        bounds = [units.size(part) for part in text.split(",")]
    except ValueError:
        raise FarloopError(f"{clip_text(text) or 'an empty text'}: {EXPECTED}") from None
    texts = [_exact_text(bound) for bound in bounds]
    grow = all(low < high for low, high in itertools.pairwise(bounds)) and len(set(texts)) == len(texts)
    if not grow or not all(1 <= bound < math.inf for bound in bounds) or len(bounds) > MAX_BOUNDS:
        raise FarloopError(f"{clip_text(text)}: {EXPECTED}")
    if tuple(bounds) == GEMINI_BOUNDS:
        return GEMINI
    return SizeClasses(",".join(bound.replace(" ", "") for bound in texts), _classes_from_bounds(bounds))


def read_option(text: str | None) -> SizeClasses | None:
    """The classes that an option `--sizes` chooses; `None` without the option.

    Raises:
        FarloopError: it chooses none.
    """
    try:
        return None if text is None else parse(text)
    except FarloopError as error:
        raise FarloopError(f"--sizes {error}") from None


def add_mark(text: str, flows: float) -> str:
    """A 99th percentile's text, with a mark if it is over fewer than `MIN_TAIL_FLOWS` flows."""
    return text if flows >= MIN_TAIL_FLOWS else f"{text} {MARK}"


class SplitAtMedian(RenamedKeys):
    """Numbers by name, in which "small" and "large" still find the halves of a run's flows that they meant.

    Those names go with the next version: now "small" is a class of up to 100 kB, among the `classes`.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {"small": "at_most_median", "large": "above_median"}

    def explain_rename(self, old: str, new: str) -> str:
        """Returns the text of the warning."""
        label = next(size.label for size in MEDIAN.classes if size.name == new)
        return f'"{old}" meant {label}: write "{new}" for these, or ["classes"]["{old}"] for the class by bytes'

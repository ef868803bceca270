"""Style of figures for papers and screens, and their files: vector or pixels, with their fonts, the command, and no date."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from farloop import _native
from farloop.errors import FarloopError, clip_text, nearest
from farloop.palette import CROSS, INTRA

POINTS_PER_INCH = 72.0
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / POINTS_PER_INCH}
MIN_INCHES, MAX_INCHES = 1.0, 40.0

DPI = 300
"""Of PNG: what printers ask for."""

FORMATS = ("pdf", "svg", "png")

COLOURS = [INTRA[0], CROSS[0], INTRA[2], CROSS[1], INTRA[1], CROSS[2]]
DASHES: list[Any] = ["-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3))]
HATCHES = ["", "////", "....", "xxxx", "----", "\\\\\\\\"]
"""Colour, dash and hatch change together: each tells curves and bars apart without the others, as in print without colour."""

HEAT_MAP = "cividis"
"""Grows lighter steadily, so that it is read in grey, and by the colour-blind."""


@dataclass(frozen=True)
class Style:
    """Sizes of a figure.

    Attributes:
        font: Points of all text; ticks and legends have one less.
        line: Points of a curve.
        width: Inches, where the user names none.
        has_title: True if the figure carries its title; in a paper the caption does.
    """

    font: float
    line: float
    width: float
    has_title: bool


STYLES = {"paper": Style(8.0, 1.1, 3.3, has_title=False), "screen": Style(10.0, 1.5, 6.4, has_title=True)}
"""`paper` is for one column of two; its letters have the size of a caption when the figure is put in unscaled."""


def find_style(name: str) -> Style:
    """A style by its name.

    Raises:
        FarloopError: there is none of that name.
    """
    if name not in STYLES:
        raise FarloopError(f"--style {clip_text(name)}: no such style; {nearest(name, STYLES)}")
    return STYLES[name]


def read_inches(text: str, option: str = "--width") -> float:
    """A length on paper, such as "3.3in", "84mm", "8.4cm" or "240pt", in inches.

    Raises:
        FarloopError: it is no length, or one that no paper has.
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(in|cm|mm|pt)\s*", text)
    inches = float(match[1]) * _INCHES[match[2]] if match else 0.0
    if not MIN_INCHES <= inches <= MAX_INCHES:
        raise FarloopError(
            f"{option} {clip_text(text)}: expected a length from {MIN_INCHES:g}in to {MAX_INCHES:g}in, such as 3.3in, 84mm or 240pt"
        )
    return inches


class Picture(Figure):
    """A matplotlib figure that notebooks show by itself, without pyplot."""

    def _repr_png_(self) -> bytes:
        return encode(self, "png")


@contextmanager
def apply_style(style: Style) -> Iterator[None]:
    """While a figure is made: its sizes, whatever the user's matplotlibrc says."""
    own: dict[Any, Any] = {
        "font.family": "DejaVu Sans",
        "font.size": style.font,
        "axes.labelsize": style.font,
        "axes.titlesize": style.font,
        "figure.titlesize": style.font + 1,
        "xtick.labelsize": style.font - 1,
        "ytick.labelsize": style.font - 1,
        "legend.fontsize": style.font - 1,
        "lines.linewidth": style.line,
        "lines.markersize": style.line + 2,
        "axes.linewidth": 0.6,
        "hatch.linewidth": 0.5,
        "grid.linewidth": 0.4,
        "grid.alpha": 0.35,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "legend.handlelength": 2.4,
    }
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(own)
        yield


def curve_look(number: int) -> dict[str, Any]:
    """Colour and dash of a curve by its number; 36 are distinct in colour, 6 in grey."""
    count = len(COLOURS)
    return {"color": COLOURS[number % count], "linestyle": DASHES[(number + number // count) % len(DASHES)]}


def bar_look(number: int) -> dict[str, Any]:
    """Colour and hatch of a bar by its number, as `curve_look`."""
    count = len(COLOURS)
    hatch = HATCHES[(number + number // count) % len(HATCHES)]
    return {"facecolor": COLOURS[number % count], "hatch": hatch, "edgecolor": "white", "linewidth": 0.0}


def encode(figure: Figure, format: str, command: str = "", title: str = "") -> bytes:
    """A figure as the bytes of a file: the same for the same figure, whenever and wherever it is written.

    Args:
        figure: The figure.
        format: "pdf" (fonts embedded as TrueType), "svg" (text stays text) or "png" (300 dots per inch).
        command: The command line that makes it, for the file's metadata; nothing where there is none.
        title: Its title, for the same.
    """
    buffer = io.BytesIO()
    figure.set_facecolor("white")
    creator = f"farloop {_native.version()}"
    with matplotlib.rc_context(_FILES), warnings.catch_warnings():
        # Letters that the font lacks become boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        if format == "png":
            figure.set_dpi(DPI)
            about = {"Software": creator} | ({"Description": _latin(command)} if command else {})
            about |= {"Title": _latin(title)} if title else {}
            FigureCanvasAgg(figure).print_png(buffer, metadata=about)  # type: ignore[no-untyped-call]
        elif format == "svg":
            from matplotlib.backends.backend_svg import FigureCanvasSVG

            known: dict[str, Any] = {"Date": None, "Creator": creator, "Title": title or None}
            known["Description"] = command or None
            FigureCanvasSVG(figure).print_svg(buffer, metadata=known)  # type: ignore[no-untyped-call]
        else:
            from matplotlib.backends.backend_pdf import FigureCanvasPdf

            known = {"CreationDate": None, "Creator": creator, "Title": title or None, "Subject": command or None}
            FigureCanvasPdf(figure).print_pdf(buffer, metadata=known)  # type: ignore[no-untyped-call]
    return buffer.getvalue()


_FILES: dict[Any, Any] = {
    "pdf.fonttype": 42,
    "pdf.use14corefonts": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "farloop",
}


def _latin(text: str) -> str:
    """A text as PNG's chunks take it: Latin-1."""
    return text.encode("latin-1", "backslashreplace").decode("latin-1")


def label_columns(labels: Sequence[str], inches: float, font: float) -> int:
    """Columns of a legend: as many as fit beside one another."""
    # A column takes its longest name, the line before it, and the gap.
    wide = (max(map(len, labels), default=0) + 6) * 0.6 * font / POINTS_PER_INCH
    return max(1, min(len(labels), int(inches / wide)))

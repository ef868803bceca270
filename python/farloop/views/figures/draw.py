"""Pictures (PNG): each paper's figure in the paper's arrangement, and one that suits any run."""

from __future__ import annotations

import base64
import warnings
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.layout_engine import ConstrainedLayoutEngine

from farloop.judging import paper_modules
from farloop.results.network_map import build_map
from farloop.views.figures.circuit_schedule import has_schedule, schedules
from farloop.views.figures.network_map import network_maps
from farloop.views.figures.panels import has_curves, queue_panels, slowdown_panels, throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison

RESOLUTION = 150
"""Dots per inch."""

EMBEDDED_RESOLUTION = 110
"""The same in pages."""

NOTE_INCHES = 0.14
"""Height of the line that tells which of several seeds a picture shows."""

POINTS_PER_INCH = 72

COMPRESSION = 3
"""Of PNG, from 1 to 9: 6, the usual one, takes a quarter to two thirds longer, for a tenth of the bytes at best."""


def draw(comparison: Comparison, into: Path) -> list[Path]:
    """Writes the pictures of a comparison into a directory; returns their paths."""
    module = paper_modules.paper_module(comparison.figure) if comparison.figure else None
    pictures: dict[str, Figure] = _papers(module, comparison) if module else generic(comparison)
    if not module or any(build_map(run.ports).is_fabric for run in comparison.runs[:1]):
        pictures["network"] = network_maps(comparison.runs, comparison.title)
    if any(has_schedule(run) for run in comparison.runs):
        pictures["schedule"] = schedules(comparison.runs, comparison.title)
    paths = []
    for name, figure in pictures.items():
        path = into / f"{name}.png"
        with warnings.catch_warnings():
            # Letters that the font lacks become boxes; the report has them.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            write_png(figure, path)
        paths.append(path)
    return paths


def embed(figure: Figure) -> str:
    """A figure as the address of a picture that is part of a page."""
    buffer = BytesIO()
    figure.set_dpi(EMBEDDED_RESOLUTION)
    figure.set_facecolor("white")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        FigureCanvasAgg(figure).print_png(buffer, pil_kwargs={"compress_level": COMPRESSION})  # type: ignore[no-untyped-call]
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def write_png(figure: Figure, path: Path) -> None:
    """Writes a figure. `Figure.savefig` would draw it twice, once to see how large it is."""
    figure.set_dpi(RESOLUTION)
    figure.set_facecolor("white")
    FigureCanvasAgg(figure).print_png(path, pil_kwargs={"compress_level": COMPRESSION})  # type: ignore[no-untyped-call]


def _papers(module: ModuleType, comparison: Comparison) -> dict[str, Figure]:
    """A paper's figure as the paper arranges it. Of several seeds that is the first; the means over all are beside it."""
    if len(comparison.seeds) < 2:
        drawn: dict[str, Figure] = module.draw(comparison)
        return drawn
    first = comparison.seeds[0]
    pictures: dict[str, Figure] = module.draw(comparison.of_seed(first))
    for figure in pictures.values():
        note = f"seed {first}, the first of {len(comparison.seeds)}; means over all are in pictures of their own"
        _note(figure, note)
    return pictures | {f"{name}-seeds": figure for name, figure in generic(comparison).items()}


def _note(figure: Figure, text: str) -> None:
    """A line below everything, legends included, in a strip that the figure grows by. A label of the figure would lie on a legend."""
    height = figure.get_figheight() + NOTE_INCHES
    figure.set_figheight(height)
    low = NOTE_INCHES / height
    for legend in figure.legends:
        # In units of its font size. An anchor of its own would take the legend out of the layout.
        legend.borderaxespad += NOTE_INCHES * POINTS_PER_INCH / legend.prop.get_size_in_points()
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0.0, low, 1.0, 1.0 - low))
    figure.text(0.995, 0.3 * low, text, fontsize=5, ha="right", va="bottom", color="0.4")


def generic(comparison: Comparison) -> dict[str, Figure]:
    """Throughput of the recorded flows and queues of the recorded ports over time, a panel per run; the slowdown of many flows."""
    pictures = {}
    if has_curves(comparison.runs, "throughput"):
        pictures["throughput"] = throughput_panels(comparison.runs, comparison.title)
    if has_curves(comparison.runs, "max_queue"):
        pictures["queue"] = queue_panels(comparison.runs, comparison.title)
    if comparison.has_many_finished:
        pictures["slowdown"] = slowdown_panels(comparison.runs, comparison.title)
    return pictures

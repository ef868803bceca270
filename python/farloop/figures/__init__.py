"""Pictures (PNG): each paper's figure in the paper's arrangement, and one that suits any run."""

from __future__ import annotations

import warnings
from pathlib import Path

from matplotlib.figure import Figure

from farloop import papers
from farloop.figures.network import network_maps
from farloop.figures.panels import queue_panels, slowdown_panels, throughput_panels
from farloop.network import map_of
from farloop.results import Comparison

RESOLUTION = 150
"""Dots per inch."""


def draw(comparison: Comparison, into: Path) -> list[Path]:
    """Writes the pictures of a comparison into a directory; returns their paths."""
    module = papers.module(comparison.figure) if comparison.figure else None
    pictures: dict[str, Figure] = module.draw(comparison) if module else generic(comparison)
    if not module or any(map_of(run.ports).is_fabric for run in comparison.runs[:1]):
        pictures["network"] = network_maps(comparison.runs, comparison.title)
    paths = []
    for name, figure in pictures.items():
        path = into / f"{name}.png"
        with warnings.catch_warnings():
            # Letters that the font lacks become boxes; the report has them.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure.savefig(path, dpi=RESOLUTION, facecolor="white")
        paths.append(path)
    return paths


def generic(comparison: Comparison) -> dict[str, Figure]:
    """Throughput of the recorded flows and queues of the recorded ports over time, a panel per run; the slowdown of many flows."""
    pictures = {}
    if any(run.samples.objects("flow") for run in comparison):
        pictures["throughput"] = throughput_panels(comparison.runs, comparison.title)
    if any(run.samples.objects("port") for run in comparison):
        pictures["queue"] = queue_panels(comparison.runs, comparison.title)
    if comparison.has_many_finished:
        pictures["slowdown"] = slowdown_panels(comparison.runs, comparison.title)
    return pictures

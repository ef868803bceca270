"""Charts for plotly.js, as the JSON that it draws: panels with one scale, lines, bands.

plotly's Python package takes longer to build and to check the same figures than a short run to simulate; only its script is used, and
a test has the package check what is made here.
"""

from __future__ import annotations

import base64
import importlib.util
import zlib
from collections.abc import Sequence
from html import escape, unescape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from farloop.views.report.inline import script_json

GREY = "#808a94"
GRID = "rgba(128,138,148,0.22)"
CONFIG = {"displaylogo": False, "responsive": True, "scrollZoom": True}

MARGIN = {"l": 55, "r": 15, "t": 66, "b": 75}
"""In pixels. Above the headings of the panels there must be room for the tool bar, below them for the legend."""

SINGLE_HEIGHT = 320
"""Pixels of a panel that is shown alone."""


class Panels:
    """A grid of panels, numbered row by row from 0.

    Attributes:
        data: The traces.
        layout: Axes, headings, legend; for wide pages.
    """

    def __init__(
        self,
        titles: Sequence[str],
        *,
        columns: int,
        panel_height: float,
        between_rows: float,
        between_columns: float,
        per_column: bool = False,
    ) -> None:
        """Lays the panels out.

        Args:
            titles: The heading of each panel.
            columns: Number of panels side by side on a wide page.
            panel_height: Height of a panel in pixels.
            between_rows: Pixels between two rows.
            between_columns: Part of the width that is left between two columns.
            per_column: Only the panels of a column have one scale; otherwise all.
        """
        self._titles, self._columns = list(titles), columns
        self._panel_height, self._between = panel_height, (between_columns, between_rows)
        self._labels: tuple[str, str] | None = None
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {
            "margin": MARGIN,
            # Readable on light and on dark paper.
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": GREY, "size": 12},
            "legend": {
                "orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.5, "xanchor": "center",
            },
            "hoverlabel": {"bgcolor": "#22272c", "font": {"color": "#f2f4f5"}, "align": "left"},
            "hovermode": "closest",
        }  # fmt: skip
        for i in range(len(titles)):
            first = i % columns if per_column else 0
            for axis, other in (self.axes(i), self.axes(i)[::-1]):
                self.layout[f"{axis[0]}axis{axis[1:]}"] = {
                    "anchor": other,
                    "gridcolor": GRID,
                    "zerolinecolor": GRID,
                    "zerolinewidth": 2,
                    "automargin": True,
                    "title": {"standoff": 15},
                    **({"matches": f"{axis[0]}{first + 1 if first else ''}"} if i != first else {}),
                }
        self._own_scales = per_column
        self._arrange(self.layout, columns)

    @property
    def captions(self) -> list[str]:
        """The headings as text; those given are HTML."""
        return list(map(unescape, self._titles))

    @staticmethod
    def axes(panel: int) -> tuple[str, str]:
        """The names of a panel's axes, such as "x2" and "y2"."""
        number = str(panel + 1) if panel else ""
        return f"x{number}", f"y{number}"

    def add(self, panel: int, trace: dict[str, Any]) -> None:
        """Adds a trace of plotly.js's type "scatter" to a panel; arrays are of numbers."""
        x, y = self.axes(panel)
        self.data.append({**trace, "type": "scatter", "xaxis": x, "yaxis": y})

    def mark(self, panel: int, x: float) -> None:
        """A dotted line from the bottom to the top of a panel, at `x`."""
        across, up = self.axes(panel)
        line = {"color": GREY, "width": 1, "dash": "dot"}
        place = {"xref": across, "yref": f"{up} domain", "x0": x, "x1": x, "y0": 0, "y1": 1}
        self.layout.setdefault("shapes", []).append({"type": "line", "layer": "below", "line": line, **place})

    def update_x(self, settings: dict[str, Any], panel: int | None = None) -> None:
        """Settings of a panel's horizontal axis; of all."""
        self._update("x", settings, panel)

    def update_y(self, settings: dict[str, Any], panel: int | None = None) -> None:
        """Settings of a panel's vertical axis; of all."""
        self._update("y", settings, panel)

    def label(self, x: str, y: str) -> None:
        """Sets the labels below the last panel of each column, and left of the first column."""
        self._labels = (x, y)
        self._arrange(self.layout, self._columns)

    def narrow_layout(self) -> dict[str, Any]:
        """The layout for phones: every panel below the one before it."""
        layout = {key: dict(value) if "axis" in key else value for key, value in self.layout.items()}
        self._arrange(layout, 1)
        return layout

    def html(self, anchor: str) -> str:
        """The chart as a part of a page that has plotly.js."""
        chart: dict[str, Any] = {
            "id": anchor,
            "data": self.data,
            "wide": self.layout,
            "narrow": self.narrow_layout(),
            "config": CONFIG,
        }
        chart |= {"panels": self.captions, "single": SINGLE_HEIGHT + MARGIN["t"] + MARGIN["b"]}
        # Inside a script element nothing may look like its end.
        return (
            f'<div id="{escape(anchor)}" class="plotly-graph-div"></div>'
            f"<script>(globalThis.farloopCharts ??= []).push({_json(chart)})</script>"
        )

    def _arrange(self, layout: dict[str, Any], columns: int) -> None:
        """Gives the panels their places, so many side by side."""
        count = len(self._titles)
        rows = -(-count // columns)
        inside = rows * self._panel_height + (rows - 1) * self._between[1]
        layout["height"] = inside + MARGIN["t"] + MARGIN["b"]
        wide = (1 - self._between[0] * (columns - 1)) / columns
        high = self._panel_height / inside
        layout["annotations"] = []
        for i, title in enumerate(self._titles):
            row, column = divmod(i, columns)
            left = column * (wide + self._between[0])
            top = 1 - row * (self._panel_height + self._between[1]) / inside
            x, y = (f"{axis[0]}axis{axis[1:]}" for axis in self.axes(i))
            layout[x] |= {"domain": [left, min(1.0, left + wide)], "showticklabels": True}
            layout[y] |= {"domain": [max(0.0, top - high), top], "showticklabels": column == 0 or self._own_scales}
            if self._labels:
                below, beside = i + columns >= count, column == 0
                layout[x] |= {"title": {"standoff": 15, "text": self._labels[0] if below else ""}}
                layout[y] |= {"title": {"standoff": 15, "text": self._labels[1] if beside else ""}}
            heading = {"text": title, "x": left + wide / 2, "y": top, "font": {"size": 16}}
            about = {"xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom", "showarrow": False}
            layout["annotations"].append(heading | about)

    def _update(self, kind: str, settings: dict[str, Any], panel: int | None) -> None:
        for i in range(len(self._titles)) if panel is None else [panel]:
            axis = self.layout[f"{kind}axis{i + 1 if i else ''}"]
            for key, value in settings.items():
                axis[key] = {**axis[key], **value} if isinstance(value, dict) and key in axis else value


def scripts(*, has_charts: bool = True) -> Markup:
    """The end of a page: plotly.js where it has charts, compressed to half its size, and the script that unpacks it and draws them.

    Raises:
        OSError: the Python package plotly does not have its script.
    """
    packed = base64.b64encode(zlib.compress(_library(), 1)).decode("ascii") if has_charts else ""
    drawing = files("farloop.views.report").joinpath("charts.js").read_text("utf-8")
    return Markup('<script type="text/plain" id="plotly">{}</script><script>{}</script>').format(
        packed, Markup(drawing)
    )


def _library() -> bytes:
    """plotly.js, which stands in its Python package; that is not loaded for it."""
    spec = importlib.util.find_spec("plotly")
    where = spec.submodule_search_locations if spec else None
    if not where:
        raise FileNotFoundError("the Python package plotly, which has the script of the charts")
    return (Path(next(iter(where))) / "package_data" / "plotly.min.js").read_bytes()


def _json(content: Any) -> str:
    return script_json(content, default=_array)


def _array(values: Any) -> dict[str, str]:
    """An array as plotly.js reads it without parsing numbers; what is not finite is a gap."""
    numbers = np.asarray(values, dtype="<f8")
    return {"dtype": "f8", "bdata": base64.b64encode(numbers.tobytes()).decode("ascii")}

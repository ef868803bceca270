"""Charts for plotly.js, as the JSON that it draws: panels with one scale, lines, bands.

plotly's Python package takes longer to build and to check the same figures than a short run to simulate; only its script is used, and
a test has the package check what is made here.
"""

from __future__ import annotations

import base64
import importlib.util
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

GREY = "#808a94"
GRID = "rgba(128,138,148,0.22)"
CONFIG = {"displaylogo": False, "responsive": True, "scrollZoom": True}


class Panels:
    """A grid of panels, numbered row by row from 0.

    Attributes:
        data: The traces.
        layout: Axes, headings, legend.
    """

    def __init__(
        self,
        titles: Sequence[str],
        *,
        columns: int,
        height: float,
        between_rows: float,
        between_columns: float,
        per_column: bool = False,
    ) -> None:
        """Lays the panels out.

        Args:
            titles: The heading of each panel.
            columns: How many stand side by side.
            height: Of all together, in pixels.
            between_rows: Part of the height that is left between two rows.
            between_columns: Part of the width that is left between two columns.
            per_column: Only the panels of a column have one scale; otherwise all.
        """
        rows = -(-len(titles) // columns)
        self._columns, self._count = columns, len(titles)
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {
            "height": height,
            # Above the headings of the panels there must be room for the tool bar.
            "margin": {"l": 55, "r": 15, "t": 66, "b": 75},
            # Readable on light and on dark paper.
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": GREY, "size": 12},
            "legend": {
                "orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.5, "xanchor": "center",
            },
            "hoverlabel": {"bgcolor": "#22272c", "font": {"color": "#f2f4f5"}, "align": "left"},
            "hovermode": "closest",
            "annotations": [],
        }  # fmt: skip
        wide = (1 - between_columns * (columns - 1)) / columns
        high = (1 - between_rows * (rows - 1)) / rows
        for i, title in enumerate(titles):
            row, column = divmod(i, columns)
            left, bottom = column * (wide + between_columns), (rows - 1 - row) * (high + between_rows)
            first = column if per_column else 0
            x, y = self.axes(i)
            for axis, other, domain in (
                (x, y, [left, min(1.0, left + wide)]),
                (y, x, [bottom, min(1.0, bottom + high)]),
            ):
                self.layout[axis[0] + "axis" + axis[1:]] = {
                    "anchor": other,
                    "domain": domain,
                    "gridcolor": GRID,
                    "zerolinecolor": GRID,
                    "zerolinewidth": 2,
                    "automargin": True,
                    "showticklabels": axis[0] == "x" or per_column or column == 0,
                    "title": {"standoff": 15},
                    **({"matches": f"{axis[0]}{first + 1 if first else ''}"} if i != first else {}),
                }
            heading = {"text": title, "x": left + wide / 2, "y": bottom + high, "font": {"size": 16}}
            about = {"xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom", "showarrow": False}
            self.layout["annotations"].append(heading | about)

    @staticmethod
    def axes(panel: int) -> tuple[str, str]:
        """The names of a panel's axes, such as "x2" and "y2"."""
        number = str(panel + 1) if panel else ""
        return f"x{number}", f"y{number}"

    def add(self, panel: int, trace: dict[str, Any]) -> None:
        """Adds a trace of plotly.js's type "scatter" to a panel; arrays are of numbers."""
        x, y = self.axes(panel)
        self.data.append({**trace, "type": "scatter", "xaxis": x, "yaxis": y})

    def update_x(self, settings: dict[str, Any], panel: int | None = None) -> None:
        """Settings of a panel's horizontal axis; of all."""
        self._update("x", settings, panel)

    def update_y(self, settings: dict[str, Any], panel: int | None = None) -> None:
        """Settings of a panel's vertical axis; of all."""
        self._update("y", settings, panel)

    def label(self, x: str, y: str) -> None:
        """What stands below the last panel of each column, and left of the first column."""
        for i in range(self._count):
            if i + self._columns >= self._count:
                self.update_x({"title": {"text": x}}, i)
            if i % self._columns == 0:
                self.update_y({"title": {"text": y}}, i)

    def html(self, anchor: str) -> str:
        """The chart as a part of a page that has plotly.js."""
        # Inside a script element nothing may look like its end.
        content = ", ".join(_json(part) for part in (self.data, self.layout, CONFIG))
        return (
            f'<div id="{escape(anchor)}" class="plotly-graph-div" style="height:{self.layout["height"]:g}px; width:100%;"></div>'
            f"<script>Plotly.newPlot({_json(anchor)}, {content})</script>"
        )

    def _update(self, kind: str, settings: dict[str, Any], panel: int | None) -> None:
        for i in range(self._count) if panel is None else [panel]:
            axis = self.layout[f"{kind}axis{i + 1 if i else ''}"]
            for key, value in settings.items():
                axis[key] = {**axis[key], **value} if isinstance(value, dict) and key in axis else value


def script() -> str:
    """plotly.js, which stands in its Python package; that is not loaded for it.

    Raises:
        OSError: the package does not have it.
    """
    found = importlib.util.find_spec("plotly")
    where = found.submodule_search_locations if found else None
    if not where:
        raise FileNotFoundError("the Python package plotly, which has the script of the charts")
    return (Path(next(iter(where))) / "package_data" / "plotly.min.js").read_text("utf-8")


def _json(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_array)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("/", "\\u002f")


def _array(values: Any) -> dict[str, str]:
    """An array as plotly.js reads it without parsing numbers; what is not finite is a gap."""
    numbers = np.asarray(values, dtype="<f8")
    return {"dtype": "f8", "bdata": base64.b64encode(numbers.tobytes()).decode("ascii")}

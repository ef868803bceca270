"""What the axes of curves show."""

from __future__ import annotations

from farloop.views.figures.marks import AxisQuantity

_UNITS = {"rate": "bit/s", "bytes": "B", "time": "s", "share": "1", "packets": "packets"}


def quantity_of_curve(title: str, quantity: str) -> AxisQuantity:
    """What the axis of a curve of the series shows."""
    return AxisQuantity(title, _UNITS[quantity])

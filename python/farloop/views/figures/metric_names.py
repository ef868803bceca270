"""Quantities on the axes of curves."""

from __future__ import annotations

from farloop.views.figures.marks import AxisQuantity

_UNITS = {"rate": "bit/s", "bytes": "B", "time": "s", "share": "1", "packets": "packets"}


def quantity_of_curve(title: str, quantity: str) -> AxisQuantity:
    """Returns the quantity on the axis of a curve of the series."""
    return AxisQuantity(title, _UNITS[quantity])

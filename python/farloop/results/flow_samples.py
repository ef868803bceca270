"""The primitives that every definition of a completion time is made of: until when a flow counts, and the statistic of a sample.

farloop's own measures and those of papers and references differ in which flows they take, from when on and with which unfinished ones;
what they then do with a flow, and with the sample, is the same.
"""

from __future__ import annotations

import numpy as np

from farloop.results.tables import Floats


def aged_times(start: Floats, received: Floats, end: float) -> Floats:
    """The time of each flow from its start to its last byte's arrival; of an unfinished flow its age at the end of the run.

    An age is a lower bound of what the time will be. Leaving unfinished flows out would favour whatever finishes the fewest.

    Args:
        start: When each flow starts.
        received: When its last byte arrives; NaN or negative where it does not.
        end: When the run ends, in the unit of the other two.
    """
    return np.where(received >= 0, received, end) - start


def statistic(values: Floats, name: str) -> float:
    """The mean, the largest or a percentile of a sample, by linear interpolation between order statistics; NaN of an empty one.

    Args:
        values: The sample.
        name: "mean", "max", or a percentile such as "p99" and "p99.9".
    """
    if not values.size:
        return float("nan")
    if name == "mean":
        return float(values.mean())
    return float(values.max() if name == "max" else np.percentile(values, float(name.removeprefix("p"))))

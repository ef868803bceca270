"""What AccelToR's figures share: names, colours, occupancy of circuits, throughput of elephants, completion times of mice.

Rates in bit/s, times in seconds. Circuits are measured from the fourth week on, when windows and thresholds have settled. The recorded
elephants are those from the first rack to the second, whose day is the first of each week.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from farloop.figures.panels import LABEL_SIZE, TICK_SIZE
from farloop.judging.claims import UndecidedError
from farloop.judging.schedule import Need, scheduled
from farloop.palette import CROSS, INTRA
from farloop.tables import Floats
from farloop.units import seconds, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farloop.results import Comparison, Run

ACCELTOR, BLOCKING, UNBLOCKING = "AccelToR", "Blocking", "Unblocking"
SCHEDULES = (BLOCKING, UNBLOCKING, ACCELTOR)
"""The paper's names, in its order; names of cases begin with them."""

WRITTEN = "AccelToR, one uplink"
"""As the text has it."""

COLOURS = {BLOCKING: INTRA[0], UNBLOCKING: INTRA[2], ACCELTOR: CROSS[0], WRITTEN: CROSS[4]}
"""The same in all figures."""

NEWRENO = "newreno"

LONG = ", 5 s"
"""How the names of the full scale's cases end, where the quick scale has shorter ones."""

SETTLED = 3
"""Weeks that are not measured."""

LATE = 10e-3
"""Seconds before the end from which on mice are not measured: they have no time to finish."""

HELD = 0.9
"""Of the optical bandwidth: what AccelToR uses at least, in the paper."""


def schedule_of(run: Run) -> str:
    """The paper's name of how a run's switches schedule circuits."""
    told = {name.lower(): name for name in SCHEDULES}
    return told[run.scenario["circuits"]["scheduling"]]


def racks(run: Run) -> int:
    """Racks of the network."""
    return int(run.scenario["network"]["racks"])


def day(run: Run) -> float:
    """Seconds of a day."""
    return seconds(run.scenario["circuits"]["day"])


def slot(run: Run) -> float:
    """Seconds of a day and a night."""
    return day(run) + seconds(run.scenario["circuits"]["night"])


def week(run: Run) -> float:
    """Seconds of a week."""
    return (racks(run) - 1) * slot(run)


def packet(run: Run) -> float:
    """Payload of a full packet in bytes."""
    transport = run.scenario["transport"]
    return size(transport["mtu"]) - size(transport["header"])


def planned(comparison: Comparison, prefix: str) -> list[Need]:
    """What the figure schedules of the cases that begin so: the long case, where the scale has it."""
    chosen = {(n.case.removesuffix(LONG), n.algorithm): n for n in scheduled(comparison, prefix=prefix)}
    return list(chosen.values())


def alone(runs: Sequence[Run]) -> list[Run]:
    """The runs without those that have a long one of the same case."""
    long = {run.case.removesuffix(LONG) for run in runs if run.case.endswith(LONG)}
    return [run for run in runs if run.case not in long]


# ---------------------------------------------------------------- circuits


def occupancy_by_week(run: Run, source: str = "", destination: str = "") -> Floats:
    """The part of the circuits' bandwidth that was used, in each week that the run has whole; of one circuit, or of all.

    Raises:
        UndecidedError: no week has passed.
    """
    table = run.circuits
    for column, name in (("source", source), ("destination", destination)):
        if name:
            table = table.filter(pc.equal(table[column].cast(pa.string()), name))
    slots = table["slot"].to_numpy()
    days = racks(run) - 1
    whole = int((run.circuits["slot"].to_numpy().max(initial=-1) + 1) // days)
    if whole == 0:
        raise UndecidedError("no week has passed")
    kept = slots < whole * days
    used = np.bincount(slots[kept] // days, table["occupancy"].to_numpy()[kept], minlength=whole)
    return np.asarray(used / np.bincount(slots[kept] // days, minlength=whole))


def occupancy(run: Run) -> float:
    """The same over all circuits and all weeks that are measured.

    Raises:
        UndecidedError: there is none.
    """
    weeks = occupancy_by_week(run)
    if weeks.size <= SETTLED:
        raise UndecidedError(f"{weeks.size} weeks, measured from the {SETTLED + 1}th on")
    return float(weeks[SETTLED:].mean())


# ---------------------------------------------------------------- elephants


def elephants(run: Run) -> list[str]:
    """Names of the elephants with series."""
    found = [name for name in run.samples.objects("flow") if name.startswith("elephant")]
    if not found:
        raise UndecidedError("not recorded: series of flows")
    return found


def by_sample(run: Run, metric: str) -> tuple[float, Floats]:
    """The sampling interval, and a metric of the recorded elephants: a row per elephant, a column per sample."""
    rows = [run.samples.get(f"flow/{name}", metric) for name in elephants(run)]
    return float(rows[0][0][0]), np.array([values for _, values in rows])


def weeks(run: Run) -> range:
    """The weeks that are measured: settled, and whole but for what is on its way.

    Raises:
        UndecidedError: there is none.
    """
    found = range(SETTLED, int((run.duration - way(run) + 1e-9) / week(run)))
    if not found:
        raise UndecidedError(f"ran {run.duration:.3g} s, weeks are measured from the {SETTLED + 1}th on")
    return found


def way(run: Run) -> float:
    """Seconds from a day to the arrival of what was sent in it: half a round trip, in whole samples."""
    interval = seconds(run.scenario["record"]["interval"])
    return interval * round(seconds(run.scenario["network"]["circuit_rtt"]) / 2 / interval)


def weekly(run: Run) -> Floats:
    """Throughput of the recorded elephants over each week: a row per elephant, a column per week."""
    return _averaged(run, week(run))


def daily(run: Run) -> Floats:
    """The same over each day of their circuit."""
    return _averaged(run, day(run))


def _averaged(run: Run, over: float) -> Floats:
    """Throughput from the beginning of each week's first day on, over so long."""
    interval, values = by_sample(run, "throughput")
    found = []
    for number in weeks(run):
        first = round((number * week(run) + way(run)) / interval)
        inside = values[:, first : first + math.ceil(over / interval - 1e-9)]
        # Nothing of theirs arrives between the end of a day and the sample's.
        found.append(inside.sum(axis=1) * interval / over)
    return np.array(found).T


def windows(run: Run) -> tuple[Floats, Floats]:
    """Times from the beginning of the day to its end, and the recorded elephants' mean window then, in packets."""
    interval, values = by_sample(run, "cwnd")
    steps = np.arange(round(day(run) / interval) + 1)
    # A sample stands at the end of its interval.
    first = [round(number * week(run) / interval) - 1 for number in weeks(run)]
    at = np.array([values[:, start + steps] for start in first])
    return np.asarray(steps * interval), np.asarray(at.mean(axis=(0, 1)) / packet(run))


def silent(run: Run) -> float:
    """The part of the recorded elephants' days in which nothing of theirs arrives."""
    return float((daily(run) == 0).mean())


def spread(values: Floats) -> tuple[float, float, float]:
    """Mean, 10th and 90th percentile: the paper's points and error bars."""
    low, high = np.percentile(values, [10, 90])
    return float(values.mean()), float(low), float(high)


# ---------------------------------------------------------------- mice


def mice(run: Run) -> Floats:
    """Completion time of each mouse that arrives while the circuits are measured, over that of the same flow alone at the rate of its path.

    One that has not finished counts with the time that it had.

    Raises:
        UndecidedError: there is none.
    """
    start, received, ideal = (
        run.flows[c].to_numpy(zero_copy_only=False).astype(np.float64)
        for c in ("start_ps", "received_ps", "ideal_fct_ps")
    )
    named = pc.starts_with(run.flows["name"].cast(pa.string()), "mice").to_numpy()
    chosen = named & (start >= 1e12 * SETTLED * week(run)) & (start < 1e12 * (run.duration - LATE))
    if not chosen.any():
        raise UndecidedError("no mouse to measure")
    time = np.where(received >= 0, received, 1e12 * run.duration) - start
    return np.asarray(time[chosen] / ideal[chosen])


def mean_fct(run: Run) -> float:
    """Mean normalised completion time of the mice."""
    return float(mice(run).mean())


# ---------------------------------------------------------------- what judges keep, and pictures


def numbers(run: Run) -> dict[str, str | float]:
    """What is kept of every run."""
    found: dict[str, str | float] = {"occupancy": occupancy(run)}
    for name, values in (("daily", daily(run)), ("weekly", weekly(run))):
        mean, low, high = (f"{value / 1e6:.3g}" for value in spread(values))
        found[f"{name} throughput (Mbps)"] = f"{mean}, p10 {low}, p90 {high}"
    found["silent days"] = silent(run)
    found["mice, normalised FCT"] = mean_fct(run)
    return {f"{told(run)}: {name}": value for name, value in found.items()}


def told(run: Run) -> str:
    """A run's case, with its algorithm where that is not NewReno."""
    return run.case if run.algorithm == NEWRENO else f"{run.case}, {run.algorithm}"


def measured_part(runs: Sequence[Run]) -> str:
    """What of the runs is measured, in words."""
    parts = {
        racks(run): f"{racks(run)} racks: {len(weeks(run))} weeks"
        for run in runs
        if run.duration > (SETTLED + 1) * week(run)
    }
    count = ", ".join(parts[n] for n in sorted(parts))
    return f"measured from the {SETTLED + 1}th week on ({count or 'nothing'}); a mouse alone at the rate of its path takes 1"


Point = tuple[float, float, float]
"""A value, and the ends of its error bar."""


def single(value: float) -> Point:
    """A value without an error bar."""
    return value, value, value


def drawn(measure: Callable[[Run], Point], run: Run) -> Point:
    """What a picture shows of a run; nothing (NaN) where it is too short for that."""
    try:
        return measure(run)
    except UndecidedError:
        return single(float("nan"))


def logarithmic(axis: Axes) -> None:
    """Makes the vertical axis logarithmic from 1 on, where something is drawn."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    if axis.dataLim.y1 > 1:
        axis.set_yscale("log")
        axis.set_ylim(bottom=1)
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())


def grouped(
    axis: Axes, groups: Sequence[str], table: Mapping[str, Mapping[str, Point]], label: str, *, aside: bool = True
) -> None:
    """Groups of bars, one bar for each row of the table (side by side with `aside`), with error bars where a value has them."""
    width = 0.8 / max(1, len(table)) if aside else 0.7
    for i, (name, row) in enumerate(table.items()):
        there = [g for g in groups if g in row]
        at = np.array([float(groups.index(g)) for g in there])
        at += (i - (len(table) - 1) / 2) * width if aside else 0.0
        values = np.array([row[g] for g in there], dtype=float).reshape(-1, 3).T
        ends = np.abs(values[1:] - values[0])
        look: dict[str, Any] = {
            "color": COLOURS.get(name),
            "hatch": None if name in SCHEDULES else "///",
            "edgecolor": "white",
        }
        axis.bar(at, values[0], width, label=name, **look)
        if ends.any():
            axis.errorbar(at, values[0], ends, fmt="none", ecolor="0.25", elinewidth=0.8, capsize=2)
    axis.set_xticks(np.arange(len(groups)), groups)
    axis.set_ylabel(label, fontsize=LABEL_SIZE)
    axis.tick_params(labelsize=TICK_SIZE)


def cumulative(values: Floats) -> tuple[Floats, Floats]:
    """The values in order, and the share of them up to each."""
    return np.sort(values), np.arange(1, values.size + 1) / values.size

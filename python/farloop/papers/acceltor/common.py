"""Code that AccelToR's figures share: names, colours, occupancy of circuits, throughput of elephants, completion times of mice.

Rates in bit/s, times in seconds. Circuits are measured when they have settled (`settling`). The recorded elephants are those from the first
rack to the second, whose day is the first of each week.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from farloop.judging.claims import Judging, UndecidedError
from farloop.judging.schedule import Need, scheduled_runs
from farloop.palette import CROSS, INTRA
from farloop.papers.acceltor.slow_start import lone_time
from farloop.results.flow_samples import aged_times
from farloop.results.tables import Floats
from farloop.units import seconds, size
from farloop.views.figures.panels import LABEL_SIZE, TICK_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farloop.results.run import Comparison, Run

ACCELTOR, BLOCKING, UNBLOCKING = "AccelToR", "Blocking", "Unblocking"
SCHEDULES = (BLOCKING, UNBLOCKING, ACCELTOR)
"""The paper's names, in its order; names of cases begin with them."""

WRITTEN = "AccelToR, one uplink"
"""As the text has it."""

COLOURS = {BLOCKING: INTRA[0], UNBLOCKING: INTRA[2], ACCELTOR: CROSS[0], WRITTEN: CROSS[4]}
"""The same in all figures."""

NEWRENO = "newreno"

LONG = ", 5 s"
"""Suffix of the full scale's cases, where the quick scale has shorter ones."""

SETTLED_CASE = ", until settled"
"""The same where they are as long as it takes to settle."""

BASELINE = "mice one by one"
"""Prefix of the cases in which each mouse is the only flow in the packet network: the divisor of Eq. 8."""

SETTLED = 3
"""Weeks that are never measured."""

ENOUGH = 20
"""A run of so many weeks has settled: thresholds halve their way down in the first ones, and Blocking jumps as late as in the fifteenth."""

UNMEASURED = 15
"""Weeks that are not measured of such a run."""

WINDOW = 5
"""Weeks over which drift is looked at. Of a run that is too short to have settled the last so many are measured."""

DRIFT = 0.01
"""Relative change of occupancy over these weeks below which a shorter run has settled, too."""

LATE = 10e-3
"""Seconds before the end from which on mice are not measured: they have no time to finish."""

HELD = 0.9
"""Of the optical bandwidth: what AccelToR uses at least, in the paper."""


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


def strip_suffix(case: str) -> str:
    """The name of the quick scale's case that a long one stands for."""
    return case.removesuffix(LONG).removesuffix(SETTLED_CASE)


def scheduled_cases(comparison: Comparison, prefix: str) -> list[Need]:
    """Returns the runs that the figure schedules of cases with this prefix: the long case, where the scale has it."""
    chosen = {(strip_suffix(n.case), n.algorithm): n for n in scheduled_runs(comparison, prefix=prefix)}
    return list(chosen.values())


def drop_short_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs without those that have a long one of the same case."""
    long = {strip_suffix(run.case) for run in runs if strip_suffix(run.case) != run.case}
    return [run for run in runs if run.case not in long]


# ---------------------------------------------------------------- what has settled


@dataclass(frozen=True)
class Settling:
    """The measured weeks of a run, and whether it has settled.

    Attributes:
        weeks: The weeks that are measured, counted from 0.
        drift: Relative change of occupancy over the last five of them, by a straight line through them; NaN where there are fewer.
        settled: True if the run has settled.
    """

    weeks: range
    drift: float
    settled: bool

    def __str__(self) -> str:
        """In words, such as "weeks 16 to 20, drift -0.3 %"."""
        of = (
            f"week {self.weeks[0] + 1}"
            if len(self.weeks) == 1
            else f"weeks {self.weeks[0] + 1} to {self.weeks[-1] + 1}"
        )
        return of if math.isnan(self.drift) else f"{of}, drift {100 * self.drift:+.1f} %"


def judge_settling(run: Run) -> Settling:
    """Returns whether the circuits have settled: twenty weeks, or occupancy that drifts by less than 1 % over the last five.

    Of twenty weeks and more all from the sixteenth on are measured, of fewer the last five, but not the first three.

    Raises:
        UndecidedError: there is no week to measure.
    """
    count = int((run.duration - way(run) + 1e-9) / week(run))
    first = UNMEASURED if count >= ENOUGH else max(SETTLED, count - WINDOW)
    if first >= count:
        raise UndecidedError(f"ran {run.duration:.3g} s, weeks are measured from the {SETTLED + 1}th on")
    drift = math.nan
    if count - first >= WINDOW:
        last = occupancy_by_week(run)[count - WINDOW : count]
        slope = np.polyfit(np.arange(WINDOW), last, 1)[0]
        drift = float(slope * (WINDOW - 1) / last.mean()) if last.any() else 0.0
    return Settling(range(first, count), drift, count >= ENOUGH or abs(drift) < DRIFT)


def name_unsettled_runs(runs: Sequence[Run]) -> str:
    """Names the runs that have not settled; empty if all have."""
    circuits = [run for run in runs if not run.case.startswith(BASELINE)]
    unsettled = {
        f"{racks(run)} racks, {judge_settling(run)}": None for run in circuits if not judge_settling(run).settled
    }
    return f"not settled: {'; '.join(unsettled)}" if unsettled else ""


class CircuitJudging(Judging):
    """Judging whose evidence names the runs that have not settled."""

    def _decide(self, needs: Sequence[Need], decide: Callable[..., Any]) -> Any:
        decided = super()._decide(needs, decide)
        doubts = "" if isinstance(decided, str) else name_unsettled_runs(self.have(needs))
        if not doubts:
            return decided
        value, evidence = decided if isinstance(decided, tuple) else (decided, "")
        return value, f"{evidence}; {doubts}" if evidence else doubts


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
    measured = weeks(run)
    return float(occupancy_by_week(run)[measured.start : measured.stop].mean())


# ---------------------------------------------------------------- elephants


def elephants(run: Run) -> list[str]:
    """Names of the elephants with series."""
    names = [name for name in run.samples.objects("flow") if name.startswith("elephant")]
    if not names:
        raise UndecidedError("not recorded: series of flows")
    return names


def sample_rates(run: Run, metric: str) -> tuple[float, Floats]:
    """The sampling interval, and a metric of the recorded elephants: a row per elephant, a column per sample."""
    rows = [run.samples.get(f"flow/{name}", metric) for name in elephants(run)]
    return float(rows[0][0][0]), np.array([values for _, values in rows])


def weeks(run: Run) -> range:
    """The weeks that are measured.

    Raises:
        UndecidedError: there is none.
    """
    return judge_settling(run).weeks


def way(run: Run) -> float:
    """Seconds from a day to the arrival of what was sent in it: half a round trip, in whole samples."""
    interval = seconds(run.scenario["record"]["interval"])
    return interval * round(seconds(run.scenario["network"]["circuit_rtt"]) / 2 / interval)


def weekly(run: Run) -> Floats:
    """Throughput of the recorded elephants over each week: a row per elephant, a column per week."""
    return _average_samples(run, week(run))


def daily(run: Run) -> Floats:
    """The same over each day of their circuit."""
    return _average_samples(run, day(run))


def _average_samples(run: Run, over: float) -> Floats:
    """Throughput from the beginning of each week's first day on, over so long."""
    interval, values = sample_rates(run, "throughput")
    rates = []
    for number in weeks(run):
        first = round((number * week(run) + way(run)) / interval)
        inside = values[:, first : first + math.ceil(over / interval - 1e-9)]
        # Nothing of theirs arrives between the end of a day and the sample's.
        rates.append(inside.sum(axis=1) * interval / over)
    return np.array(rates).T


def windows(run: Run) -> tuple[Floats, Floats]:
    """Times from the beginning of the day to its end, and the recorded elephants' mean window then, in packets."""
    interval, values = sample_rates(run, "cwnd")
    steps = np.arange(round(day(run) / interval) + 1)
    # A sample stands at the end of its interval.
    first = [round(number * week(run) / interval) - 1 for number in weeks(run)]
    at = np.array([values[:, start + steps] for start in first])
    return np.asarray(steps * interval), np.asarray(at.mean(axis=(0, 1)) / packet(run))


def silent_share(run: Run) -> float:
    """The part of the recorded elephants' days in which nothing of theirs arrives."""
    return float((daily(run) == 0).mean())


def spread(values: Floats) -> tuple[float, float, float]:
    """Mean, 10th and 90th percentile: the paper's points and error bars."""
    low, high = np.percentile(values, [10, 90])
    return float(values.mean()), float(low), float(high)


# ---------------------------------------------------------------- mice


def mice(run: Run, baseline: Run | None = None) -> Floats:
    """Completion time of each mouse that arrives from the fourth week on, over that of the same flow alone in the packet network (Eq. 8).

    `baseline` is a run in which the same mice come one by one; without it the time alone is that of slow start on a path that keeps the
    order of packets (`time_alone`). A mouse that has not finished counts with the time that it had.

    Raises:
        UndecidedError: there is none, or the baseline lacks some of them.
    """
    start, received = _times(run)
    named = _mice(run)
    chosen = named & (start >= 1e12 * SETTLED * week(run)) & (start < 1e12 * (run.duration - LATE))
    if not chosen.any():
        raise UndecidedError("no mouse to measure")
    time = aged_times(start, received, 1e12 * run.duration)[chosen]
    if baseline is None:
        return np.asarray(time / lone_time(run)[chosen])
    begun, ended = _times(baseline)
    there = _mice(baseline)
    known = dict(zip(_names(baseline, there), (ended - begun)[there], strict=True))
    single = np.array([known.get(name, np.nan) for name in _names(run, chosen)])
    if np.isnan(single).any():
        raise UndecidedError(f"{int(np.isnan(single).sum())} mice have no time alone")
    return np.asarray(time / single)


def _times(run: Run) -> tuple[Floats, Floats]:
    """When each flow starts and when its last byte arrives, in ps; NaN where it does not."""
    start, received = (
        run.flows[c].to_numpy(zero_copy_only=False).astype(np.float64) for c in ("start_ps", "received_ps")
    )
    return start, received


def _mice(run: Run) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Returns a mask of the flows that are mice."""
    is_mouse: np.ndarray[Any, np.dtype[np.bool_]] = pc.starts_with(
        run.flows["name"].cast(pa.string()), "mice"
    ).to_numpy()
    return is_mouse


def _names(run: Run, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> list[str]:
    return list(run.flows["name"].filter(pa.array(chosen)).to_pylist())


def mean_fct(run: Run, baseline: Run | None = None) -> float:
    """Mean normalised completion time of the mice."""
    return float(mice(run, baseline).mean())


def relative_increase(own: Run, other: Run, baseline: Run | None = None) -> tuple[float, float]:
    """Returns the relative increase of mice's times over the other run, and its standard error.

    The runs have the same mice. So the error is that of a ratio of means over pairs, much smaller than that of either mean.
    """
    a, b = mice(own, baseline), mice(other, baseline)
    if a.size != b.size:
        raise UndecidedError(f"{a.size} and {b.size} mice: the runs do not have the same")
    ratio = float(a.mean() / b.mean())
    error = (a - ratio * b).std(ddof=min(1, a.size - 1)) / math.sqrt(a.size) / b.mean()
    return ratio - 1, float(error)


# ---------------------------------------------------------------- what judges keep, and pictures


def numbers(run: Run, baseline: Run | None = None) -> dict[str, str | float]:
    """Returns the recorded numbers of a run; `baseline`: see `mice`."""
    # §IV-B aggregates over all weeks of 5 s, and says nothing of settling.
    every = float(occupancy_by_week(run).mean())
    kept: dict[str, str | float] = {"occupancy": occupancy(run), "occupancy, all weeks": every}
    for name, values in (("daily", daily(run)), ("weekly", weekly(run))):
        mean, low, high = (f"{value / 1e6:.3g}" for value in spread(values))
        kept[f"{name} throughput (Mbps)"] = f"{mean}, p10 {low}, p90 {high}"
    kept["silent days"] = silent_share(run)
    kept["mice, normalised FCT"] = mean_fct(run, baseline)
    return {f"{case_name(run)}: {name}": value for name, value in kept.items()}


def case_name(run: Run) -> str:
    """A run's case, with its algorithm where that is not NewReno."""
    return run.case if run.algorithm == NEWRENO else f"{run.case}, {run.algorithm}"


def measured_part(runs: Sequence[Run]) -> str:
    """Describes the measured part of the runs: weeks and largest drift by number of racks."""
    parts: dict[int, Settling] = {}
    for run in runs:
        if run.duration > (SETTLED + 1) * week(run) + way(run):
            own = judge_settling(run)
            if not abs(own.drift) <= abs(parts.get(racks(run), own).drift):
                parts[racks(run)] = own
            parts.setdefault(racks(run), own)
    evidence = "; ".join(f"{n} racks: {parts[n]}{'' if parts[n].settled else ', not settled'}" for n in sorted(parts))
    return f"measured: {evidence or 'nothing'}; a mouse alone in the packet network takes 1 (Eq. 8)"


Point = tuple[float, float, float]
"""A value, and the ends of its error bar."""


def make_point(value: float) -> Point:
    """A value without an error bar."""
    return value, value, value


def point_or_nan(measure: Callable[[Run], Point], run: Run) -> Point:
    """Returns a run's value in a picture; NaN where the run is too short for that."""
    try:
        return measure(run)
    except UndecidedError:
        return make_point(float("nan"))


def set_logarithmic_scale(axis: Axes) -> None:
    """Makes the vertical axis logarithmic from 1 on, where something is drawn."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    if axis.dataLim.y1 > 1:
        axis.set_yscale("log")
        axis.set_ylim(bottom=1)
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())


def group_runs(
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
        if np.nan_to_num(ends).any():
            axis.errorbar(at, values[0], ends, fmt="none", ecolor="0.25", elinewidth=0.8, capsize=2)
    axis.set_xticks(np.arange(len(groups)), groups)
    axis.set_xlim(-0.6, len(groups) - 0.4)
    axis.set_ylabel(label, fontsize=LABEL_SIZE)
    axis.tick_params(labelsize=TICK_SIZE)


def cumulative(values: Floats) -> tuple[Floats, Floats]:
    """The values in order, and the share of them up to each."""
    return np.sort(values), np.arange(1, values.size + 1) / values.size

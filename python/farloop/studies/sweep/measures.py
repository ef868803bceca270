"""Measures that a study collects of each run: numbers by name, samples by object and metric, or results of a Python function."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop import metrics
from farloop.errors import FarloopError, UnknownNameError, clip_text, nearest
from farloop.results import fields, flow_completion
from farloop.results import measures as declared
from farloop.results.flow_samples import statistic
from farloop.results.measures import AGED, FINISHED, LESS, MORE
from farloop.results.size_classes import GEMINI, MEDIAN, SizeClass, SizeClasses
from farloop.results.tables import Floats

if TYPE_CHECKING:
    from farloop.results.run import Run

_PERCENTS = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}


_STATISTICS: dict[str, Callable[[Floats], float]] = {
    "mean": partial(statistic, name="mean"),
    **{name: partial(statistic, name=f"p{percent:g}") for name, percent in _PERCENTS.items()},
    "max": partial(statistic, name="max"),
}


@dataclass(frozen=True)
class Measure:
    """A number of a run.

    Attributes:
        name: Its column.
        unit: Its unit.
        meaning: Definition in words.
        better: "less", "more", or nothing where neither is.
        identifier: Its identifier among all measures; empty for what was recorded, and for what a function of the user's makes.
        sample: Gives the values that it is a statistic of, from a run and the seconds cut at its beginning; `None` for another number.
        statistic: That statistic.
        percent: The percentile, if it is one.
        is_mean: True for the mean.
        number: Any other number of a run, which is about all of it.
        counted: Gives what it counts, as `sample`; `None` for another number.
        floor: Lower bound; `None` where that is not known.
        ceiling: Upper bound.
    """

    name: str
    unit: str
    meaning: str
    better: str = ""
    identifier: str = ""
    sample: Callable[[Run, float], Floats] | None = None
    statistic: Callable[[Floats], float] | None = None
    number: Callable[[Run], float | None] | None = None
    counted: Callable[[Run, float], Floats] | None = None
    percent: float | None = None
    is_mean: bool = False
    floor: float | None = None
    ceiling: float | None = None

    @property
    def is_of_flows(self) -> bool:
        """True for statistics of flows' slowdowns or completion times."""
        return self.sample is not None and bool(self.identifier)

    def measure_run(self, run: Run, cut: float = 0.0) -> float | None:
        """The number of one run without its first `cut` seconds; `None` where it does not exist."""
        if self.sample is not None:
            return self.pool_samples([self.sample(run, cut)])
        if self.counted is not None:
            return float(self.counted(run, cut).size)
        value = self.number(run) if self.number is not None else None
        return None if value is None or not np.isfinite(value) else float(value)

    def pool_samples(self, samples: Sequence[Floats]) -> float | None:
        """The statistic of the samples of several runs together."""
        together = np.concatenate(samples) if samples else np.empty(0)
        if self.statistic is None or not together.size:
            return None
        value = self.statistic(together)
        return value if np.isfinite(value) else None


@dataclass(frozen=True)
class _Flows:
    """Flows of a run that a statistic is about.

    Attributes:
        kind: "intra", "cross", or nothing for both.
        size: The name of a class of sizes; nothing for all.
        unfinished: "finished" for finished flows alone, "aged" for flows that could finish, the unfinished ones by their age.
        sizes: The classes of sizes, if `size` is one of them.
    """

    kind: str
    size: str
    unfinished: str
    sizes: SizeClasses | None

    def slowdowns(self, run: Run, cut: float) -> Floats:
        """Their slowdowns, without flows that begin in the first `cut` seconds."""
        values = (
            flow_completion.slowdowns(run.flows) if self.unfinished == FINISHED else flow_completion.age_slowdowns(run)
        )
        chosen: Floats = values[self._choose_flows(run, cut) & ~np.isnan(values)]
        return chosen

    def times(self, run: Run, cut: float) -> Floats:
        """Their completion times likewise, in seconds."""
        flows = run.flows
        values = (flow_completion.column(flows, "received_ps") - flow_completion.column(flows, "start_ps")) / 1e12
        chosen: Floats = values[self._choose_flows(run, cut) & ~np.isnan(values)]
        return chosen

    def _choose_flows(self, run: Run, cut: float) -> flow_completion.Mask:
        flows = run.flows
        chosen = flow_completion.column(flows, "start_ps") / 1e12 >= cut
        if self.kind:
            chosen &= flow_completion.is_kind(flows, self.kind)
        if self.sizes is not None:
            chosen &= self.sizes.masks(flow_completion.column(flows, "size_bytes"))[self.size]
        return np.asarray(chosen, dtype=np.bool_)


def _of_flows(sizes: SizeClasses | None) -> Iterable[Measure]:
    """Slowdowns, completion times and numbers of flows, by kind, class of sizes, and how unfinished flows count."""
    known = declared.declared_measures(sizes)
    classes: list[SizeClass | None] = [None, *(sizes.classes if sizes else ())]
    for kind in declared.KINDS:
        for size in classes:
            name = size.name if size else ""
            for unfinished in (FINISHED, AGED):
                flows = _Flows(kind, name, unfinished, sizes if size else None)
                age = "aged" if unfinished == AGED else ""
                for start in _beginnings(kind, size, age):
                    yield from _statistics(start, "slowdown", flows, flows.slowdowns, 1.0, known)
                    if unfinished == FINISHED:
                        yield from _statistics(start, "fct", flows, flows.times, 0.0, known)
                    if start:
                        of = known[declared.count_identifier(kind, name, unfinished)]
                        yield _measure(f"{start}flows", of, counted=flows.slowdowns, floor=0.0)


def _beginnings(kind: str, size: SizeClass | None, age: str) -> list[str]:
    """Returns prefixes of the names of statistics of some flows: a class may have two names."""
    names = dict.fromkeys((size.name, size.alias or size.name)) if size else [""]
    return ["".join(f"{part}_" for part in (kind, name, age) if part) for name in names]


def _statistics(
    start: str,
    last: str,
    flows: _Flows,
    sample: Callable[[Run, float], Floats],
    floor: float,
    known: Mapping[str, declared.RunMeasure],
) -> Iterable[Measure]:
    quantity = "fct_slowdown" if last == "slowdown" else last
    for which, compute in _STATISTICS.items():
        identifier = declared.time_identifier(quantity, which, flows.kind, flows.size, flows.unfinished)
        yield _measure(
            f"{start}{which}_{last}",
            known[identifier],
            sample=sample,
            statistic=compute,
            percent=_PERCENTS.get(which),
            is_mean=which == "mean",
            floor=floor,
        )


def _measure(name: str, of: declared.RunMeasure, **how: Any) -> Measure:
    """A number under the name that studies have for it, with the unit, meaning and direction that are declared."""
    return Measure(name, of.unit, of.definition.removesuffix("."), of.better, of.identifier, **how)


def _summary(*keys: str) -> Callable[[Run], float | None]:
    def number(run: Run) -> float | None:
        value: Any = run.summary
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return None if value is None else float(value)

    return number


def _count_unfinished(run: Run) -> float:
    return float(sum(run.summary["unfinished"].values()))


def _total(column: str) -> Callable[[Run], float | None]:
    """The sum of a column of the flows; `None` where the gear of the run does not count it."""

    def number(run: Run) -> float | None:
        values = run.flows[column]
        is_counted = not len(values) or values.null_count < len(values)
        return float(flow_completion.column(run.flows, column).sum()) if is_counted else None

    return number


def _iterations(column: str, unit: float) -> Callable[[Run], float | None]:
    def number(run: Run) -> float | None:
        values = flow_completion.column(run.iterations, column)
        finished = values[~np.isnan(values)]
        return float(finished.mean()) / unit if finished.size else None

    return number


def _unfinished_iterations(run: Run) -> float:
    return float(run.iterations["time_ps"].null_count)


_NUMBERS: dict[str, Callable[[Run], float | None]] = {
    "throughput": _summary("throughput"),
    "intra_throughput": _summary("mean_throughput", "intra"),
    "cross_throughput": _summary("mean_throughput", "cross"),
    "ratio": _summary("ratio"),
    "jain": _summary("jain"),
    "mean_queue": _summary("worst", "mean_queue", "mean_queue"),
    "max_queue": _summary("worst", "max_queue", "max_queue"),
    "paused": _summary("pfc", "paused"),
    "pauses": _summary("pfc", "pauses"),
    "victims": _summary("pfc", "victims"),
    "dropped": _summary("dropped"),
    "lost": _summary("lost"),
    "retransmitted": _total("retransmitted"),
    "timeouts": _total("timeouts"),
    "marked": _total("marked"),
    "flows": lambda run: float(run.flows.num_rows),
    "unfinished": _count_unfinished,
    "gave_up": _summary("gave_up"),
    "iteration_time": _iterations("time_ps", 1e12),
    "iteration_slowdown": _iterations("slowdown", 1.0),
    "unfinished_iterations": _unfinished_iterations,
    "packet_hops": _summary("packet_hops"),
}


@functools.cache
def known_measures(sizes: SizeClasses | None = None) -> Mapping[str, Measure]:
    """Returns the measures that can be collected by name.

    Args:
        sizes: The classes of flow sizes that a study chose; without them no name has a class.
    """
    of_declared = declared.declared_measures()
    known = {of.name: of for of in _of_flows(sizes)}
    for name, number in _NUMBERS.items():
        identifier = declared.of_study(name)
        floor, ceiling = declared.limits(identifier)
        known[name] = _measure(name, of_declared[identifier], number=number, floor=floor, ceiling=ceiling)
    return known


DEFAULT = ("p99_slowdown", "mean_slowdown", "throughput", "unfinished")
"""Measures collected by default."""


def measure(name: object, sizes: SizeClasses | None = None) -> Measure:
    """Returns the measure of a name: "p99_slowdown", "p99 slowdown", or "p99 port/left->right queue" of what was recorded.

    Args:
        name: The name.
        sizes: The classes of flow sizes that a study chose.

    Raises:
        UnknownNameError: there is nothing of that name; the text has the nearest one.
        FarloopError: the name has a class of sizes, and the study chose none.
    """
    if not isinstance(name, str):
        raise UnknownNameError(f"{clip_text(repr(name))}: expected the name of a metric, such as p99_slowdown")
    words = name.split()
    joined = "_".join(words)
    known = known_measures(sizes)
    if joined in known:
        return known[joined]
    which, rest = (words[0], words[1:]) if len(words) == 3 else ("mean", words)
    if len(rest) == 2 and "/" in rest[0]:
        if which not in _STATISTICS:
            raise UnknownNameError(f"{clip_text(which)}: no such statistic; {nearest(which, _STATISTICS)}")
        return _find_recorded(which, *rest)
    if sizes is None and (text := _hint_at_classes(joined)):
        raise FarloopError(f"{clip_text(name)}: {text}")
    common = [*DEFAULT, *(other for other in _NUMBERS if other not in DEFAULT)]
    hint = nearest(joined, known).partition("there is")[0]
    classes = f"[{'|'.join(f'{size}_' for size in sizes.names)}]" if sizes else ""
    raise UnknownNameError(
        f"{clip_text(name)}: no such metric; {hint}there is {', '.join(common)}, "
        f"[intra_|cross_]{classes}[aged_]{{{'|'.join(_STATISTICS)}}}_slowdown, "
        f"[intra_|cross_]{classes}{{{'|'.join(_STATISTICS)}}}_fct, "
        'and of what is recorded texts such as "p99 port/left->right queue"'
    )


def _hint_at_classes(name: str) -> str:
    """Returns a hint for a name with a class of sizes in a study that chooses no classes; empty for any other name."""
    for size in MEDIAN.classes:
        if name in known_measures(MEDIAN) and re.match(rf"(?:intra_|cross_)?{size.alias}_", name):
            return f'{size.alias} meant "{size.label}"; state {_choices(size.alias)}'
    for sizes in (GEMINI, MEDIAN):
        if name in known_measures(sizes):
            return f'state sizes = "{sizes.name}" for this class of flow sizes'
    return ""


def _choices(name: str) -> str:
    (gemini,) = (size.label for size in GEMINI.classes if size.name == name)
    return f'sizes = "{MEDIAN.name}" to keep that, or sizes = "{GEMINI.name}" for {gemini}'


def _find_recorded(which: str, obj: str, metric: str) -> Measure:
    kind = obj.split("/", 1)[0]
    known = fields.METRICS.get(kind)
    if known is None:
        raise UnknownNameError(
            f"{clip_text(obj)}: {nearest(kind, fields.METRICS)}, as in flow/NAME and port/NODE->PEER"
        )
    field = next((field for field in known if field.name == metric), None)
    if field is None:
        raise UnknownNameError(
            f"{clip_text(metric)}: a {kind} has no such metric; {nearest(metric, [m.name for m in known])}"
        )

    def sample(run: Run, cut: float) -> Floats:
        return metrics.window(*run.samples.get(obj, metric), start=cut)

    meaning = f"{declared.STATISTICS[which]} of {field.name} of {obj} over the samples"
    better = {"throughput": MORE, "utilisation": MORE, "queue": LESS, "max_queue": LESS, "rtt": LESS, "paused": LESS}
    return Measure(
        f"{which} {obj} {metric}",
        field.unit,
        meaning,
        better.get(metric, ""),
        sample=sample,
        statistic=_STATISTICS[which],
        percent=_PERCENTS.get(which),
        is_mean=which == "mean",
        floor=0.0,
        ceiling=1.0 if metric in ("utilisation", "paused") else None,
    )


def from_function(name: str, function: Callable[[Run], Any]) -> Measure:
    """A number that a function of the user's makes of a run."""

    def number(run: Run) -> float | None:
        try:
            value = function(run)
            return None if value is None else float(value)
        except Exception as error:
            raise FarloopError(f"collect: {clip_text(name)}: {type(error).__name__}: {clip_text(error)}") from error

    return Measure(name, "", f"what the function {name} says", number=number)

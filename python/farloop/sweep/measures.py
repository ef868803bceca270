"""What a study collects of each run: numbers by name, samples by object and metric, or what a function of Python says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop import metrics
from farloop.errors import FarloopError, UnknownNameError, nearest, shown
from farloop.results import fields, flow_completion
from farloop.results import measures as declared
from farloop.results.measures import LESS, MORE
from farloop.results.tables import Floats

if TYPE_CHECKING:
    from farloop.results.run import Run

_PERCENTS = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}


def _percentile(percent: float, values: Floats) -> float:
    return float(np.percentile(values, percent))


_STATISTICS: dict[str, Callable[[Floats], float]] = {
    "mean": lambda values: float(values.mean()),
    **{name: partial(_percentile, percent) for name, percent in _PERCENTS.items()},
    "max": lambda values: float(values.max()),
}
_WORDS = {"mean": "mean", "p50": "median", "p95": "95th percentile", "p99": "99th percentile"}
_WORDS |= {"p999": "99.9th percentile", "max": "largest"}


@dataclass(frozen=True)
class Measure:
    """A number of a run.

    Attributes:
        name: Its column.
        unit: Its unit.
        meaning: What it is, in words.
        better: "less", "more", or nothing where neither is.
        sample: What it is a statistic of, from a run and the seconds at its beginning that are cut; nothing of another number.
        statistic: That statistic.
        percent: Which percentile that is, if it is one.
        is_mean: Whether it is the mean.
        number: Any other number of a run, which is about all of it.
        floor: What it cannot be below; nothing where that is not known.
        ceiling: What it cannot be above.
    """

    name: str
    unit: str
    meaning: str
    better: str = ""
    sample: Callable[[Run, float], Floats] | None = None
    statistic: Callable[[Floats], float] | None = None
    number: Callable[[Run], float | None] | None = None
    percent: float | None = None
    is_mean: bool = False
    floor: float | None = None
    ceiling: float | None = None

    @property
    def identifier(self) -> str:
        """Its identifier among all measures; empty for what was recorded, and for what a function of the user's makes."""
        return declared.of_study(self.name)

    def of(self, run: Run, cut: float = 0.0) -> float | None:
        """The number of one run without its first `cut` seconds; `None` where it does not exist."""
        if self.sample is not None:
            return self.pooled([self.sample(run, cut)])
        value = self.number(run) if self.number is not None else None
        return None if value is None or not np.isfinite(value) else float(value)

    def pooled(self, samples: Sequence[Floats]) -> float | None:
        """The statistic of the samples of several runs together."""
        together = np.concatenate(samples) if samples else np.empty(0)
        if self.statistic is None or not together.size:
            return None
        value = self.statistic(together)
        return value if np.isfinite(value) else None


def _chosen(run: Run, cut: float, kind: str, size: str) -> Any:
    flows = run.flows
    chosen = flow_completion.column(flows, "start_ps") / 1e12 >= cut
    if kind:
        chosen &= flow_completion.is_kind(flows, kind)
    if size:
        sized, small = flow_completion.column(flows, "size_bytes") >= 0, flow_completion.is_small(flows)
        chosen &= sized & (small if size == "small" else ~small)
    return chosen


def _slowdowns(kind: str, size: str, run: Run, cut: float) -> Floats:
    values = flow_completion.slowdowns(run.flows)
    chosen: Floats = values[_chosen(run, cut, kind, size) & ~np.isnan(values)]
    return chosen


def _times(kind: str, size: str, run: Run, cut: float) -> Floats:
    values = (flow_completion.column(run.flows, "received_ps") - flow_completion.column(run.flows, "start_ps")) / 1e12
    chosen: Floats = values[_chosen(run, cut, kind, size) & ~np.isnan(values)]
    return chosen


def _completion_measures() -> Iterable[Measure]:
    kinds = {"": "flows", "intra": "flows inside a datacenter", "cross": "flows across datacenters"}
    sizes = {"": "", "small": " of at most the median size", "large": " above the median size"}
    quantities = (("slowdown", "1", "FCT slowdown", _slowdowns, 1.0), ("fct", "s", "flow completion time", _times, 0.0))
    for last, unit, words, sample, floor in quantities:
        for kind, of in kinds.items():
            for size, which in sizes.items():
                for statistic, compute in _STATISTICS.items():
                    yield Measure(
                        "_".join(part for part in (kind, size, statistic, last) if part),
                        unit,
                        f"{_WORDS[statistic]} {words} of finished {of}{which}",
                        LESS,
                        sample=partial(sample, kind, size),
                        statistic=compute,
                        percent=_PERCENTS.get(statistic),
                        is_mean=statistic == "mean",
                        floor=floor,
                    )


def _summary(*keys: str) -> Callable[[Run], float | None]:
    def number(run: Run) -> float | None:
        value: Any = run.summary
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return None if value is None else float(value)

    return number


def _unfinished(run: Run) -> float:
    return float(sum(run.summary["unfinished"].values()))


def _total(column: str) -> Callable[[Run], float]:
    return lambda run: float(flow_completion.column(run.flows, column).sum())


def _iterations(column: str, unit: float) -> Callable[[Run], float | None]:
    def number(run: Run) -> float | None:
        values = flow_completion.column(run.iterations, column)
        finished = values[~np.isnan(values)]
        return float(finished.mean()) / unit if finished.size else None

    return number


def _unfinished_iterations(run: Run) -> float:
    return float(run.iterations["time_ps"].null_count)


_NUMBERS = (
    ("throughput", "bit/s", "delivered payload of all flows over the run", MORE, _summary("throughput")),
    (
        "intra_throughput",
        "bit/s",
        "mean over flows inside a datacenter of delivered payload over active time",
        MORE,
        _summary("mean_throughput", "intra"),
    ),
    (
        "cross_throughput",
        "bit/s",
        "mean over flows across of delivered payload over active time",
        MORE,
        _summary("mean_throughput", "cross"),
    ),
    ("ratio", "1", "mean throughput of flows inside datacenters over that of flows across", "", _summary("ratio")),
    ("jain", "1", "Jain's fairness index of the flows' throughputs", MORE, _summary("jain")),
    ("mean_queue", "B", "longest mean queue of any port", LESS, _summary("worst", "mean_queue", "mean_queue")),
    ("max_queue", "B", "longest queue of any port", LESS, _summary("worst", "max_queue", "max_queue")),
    ("paused", "s", "PFC: how long ports were paused, added over ports", LESS, _summary("pfc", "paused")),
    ("pauses", "frames", "PFC: pause frames", LESS, _summary("pfc", "pauses")),
    ("victims", "flows", "PFC: flows that waited for a pause whose root is not on their way", LESS, _summary("pfc", "victims")),
    ("dropped", "packets", "dropped by switches", LESS, _summary("dropped")),
    ("lost", "packets", "lost or damaged on links", LESS, _summary("lost")),
    ("retransmitted", "packets", "data packets sent again", LESS, _total("retransmitted")),
    ("timeouts", "count", "retransmission timeouts", LESS, _total("timeouts")),
    ("marked", "ACKs", "acknowledgements that echoed an ECN mark", "", _total("marked")),
    ("flows", "flows", "flows in the table of flows", "", lambda run: float(run.flows.num_rows)),
    ("unfinished", "flows", "flows with a size that had begun and not finished", LESS, _unfinished),
    ("gave_up", "flows", "flows that TCP gave up", LESS, _summary("gave_up")),
    ("iteration_time", "s", "mean time of the finished iterations of training jobs", LESS, _iterations("time_ps", 1e12)),
    ("iteration_slowdown", "1", "mean over the finished iterations of training jobs of their time over that on an ideal network",
     LESS, _iterations("slowdown", 1.0)),
    ("unfinished_iterations", "iterations", "iterations of training jobs that were not over", LESS, _unfinished_iterations),
    ("packet_hops", "count", "packets that arrived at a node", "", _summary("packet_hops")),
)  # fmt: skip

MEASURES = {metric.name: metric for metric in _completion_measures()} | {
    name: Measure(name, unit, meaning, better, number=number, floor=0.0, ceiling=1.0 if name == "jain" else None)
    for name, unit, meaning, better, number in _NUMBERS
}
"""What can be collected by name."""

DEFAULT = ("p99_slowdown", "mean_slowdown", "throughput", "unfinished")
"""What is collected where nothing is said."""


def measure(name: object) -> Measure:
    """What a name stands for: "p99_slowdown", "p99 slowdown", or "p99 port/left->right queue" of what was recorded.

    Raises:
        UnknownNameError: there is nothing of that name; the text has the nearest one.
    """
    if not isinstance(name, str):
        raise UnknownNameError(f"{shown(repr(name))}: expected the name of a metric, such as p99_slowdown")
    words = name.split()
    known = MEASURES.get("_".join(words))
    if known is not None:
        return known
    statistic, rest = (words[0], words[1:]) if len(words) == 3 else ("mean", words)
    if len(rest) == 2 and "/" in rest[0]:
        if statistic not in _STATISTICS:
            raise UnknownNameError(f"{shown(statistic)}: no such statistic; {nearest(statistic, _STATISTICS)}")
        return _recorded(statistic, *rest)
    common = [*DEFAULT, *(row[0] for row in _NUMBERS if row[0] not in DEFAULT)]
    hint = nearest("_".join(words), MEASURES).partition("there is")[0]
    raise UnknownNameError(
        f"{shown(name)}: no such metric; {hint}there is {', '.join(common)}, "
        f"[intra_|cross_][small_|large_]{{{'|'.join(_STATISTICS)}}}_{{slowdown|fct}}, "
        'and of what is recorded texts such as "p99 port/left->right queue"'
    )


def _recorded(statistic: str, obj: str, metric: str) -> Measure:
    kind = obj.split("/", 1)[0]
    known = fields.METRICS.get(kind)
    if known is None:
        raise UnknownNameError(f"{shown(obj)}: {nearest(kind, fields.METRICS)}, as in flow/NAME and port/NODE->PEER")
    field = next((field for field in known if field.name == metric), None)
    if field is None:
        raise UnknownNameError(
            f"{shown(metric)}: a {kind} has no such metric; {nearest(metric, [m.name for m in known])}"
        )

    def sample(run: Run, cut: float) -> Floats:
        return metrics.window(*run.samples.get(obj, metric), start=cut)

    meaning = f"{_WORDS[statistic]} of {field.name} of {obj} over the samples"
    better = {"throughput": MORE, "utilisation": MORE, "queue": LESS, "max_queue": LESS, "rtt": LESS, "paused": LESS}
    return Measure(
        f"{statistic} {obj} {metric}",
        field.unit,
        meaning,
        better.get(metric, ""),
        sample=sample,
        statistic=_STATISTICS[statistic],
        percent=_PERCENTS.get(statistic),
        is_mean=statistic == "mean",
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
            raise FarloopError(f"collect: {shown(name)}: {type(error).__name__}: {shown(error)}") from error

    return Measure(name, "", f"what the function {name} says", number=number)

"""Numbers that compare algorithms, each for every group of runs, with its interval over seeds and its ratio to the best group.

The verdict of a comparison and the chart at the head of its report are made of these. Each number is a declared measure
(`farloop.results.measures`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from farloop import statistics
from farloop.results import flow_completion
from farloop.results.measures import BEGUN, LESS, MORE, declared_measures, limits, time_identifier
from farloop.results.tables import Floats
from farloop.statistics import Interval
from farloop.units import bytes_text, number, rate_text, time_text

if TYPE_CHECKING:
    from farloop.results.protocols import ComparedRuns, RunNumbers

ALL = ""
"""The scope of all flows; the others are the kinds of flows, "intra" and "cross"."""

SCOPES = {ALL: "all flows", "intra": "flows inside", "cross": "flows across"}

MIN_FLOWS = 20
"""Flows of a group from which on its 99th percentile is compared; of fewer the mean is."""

LEVEL = 1.02
"""Numbers of one seed that are no further apart than this ratio are called level."""


@dataclass(frozen=True)
class Effect:
    """One number of every compared group of runs.

    Attributes:
        identifier: Its identifier among the declared measures; of a job's time followed by the job's name.
        name: Its name in sentences and charts.
        scope: The flows that it is about: "intra", "cross", or nothing for all, or for none in particular.
        better: "less" or "more".
        text: Writes a value with its unit.
        values: The number of each group by label, with its 95 % interval where seeds allow one.
        bounded: The groups whose number is a lower bound, because some of its flows did not finish.
        ratio: Makes the paired ratio of one group over another one, as the confidence says.
    """

    identifier: str
    name: str
    scope: str
    better: str
    text: Callable[[float], str] = field(repr=False)
    values: Mapping[str, Interval]
    bounded: frozenset[str] = frozenset()
    ratio: Callable[[str, str, float], Interval] = field(
        repr=False, default=lambda _own, _other, _confidence: Interval(None, None, None, 0)
    )

    @property
    def ranking(self) -> list[str]:
        """The labels of the groups that have the number, the best first; of equal ones in the order of the comparison."""
        known = {label: value.estimate for label, value in self.values.items() if value.estimate is not None}
        sign = -1 if self.better == MORE else 1
        return sorted(known, key=lambda label: sign * known[label])

    def estimate(self, label: str) -> float:
        """The number of a group that is in the ranking."""
        value = self.values[label].estimate
        assert value is not None
        return value

    def value_text(self, label: str) -> str:
        """The number of a group in words, such as "at least 8.82"."""
        return f"{'at least ' if label in self.bounded else ''}{self.text(self.estimate(label))}"

    def times_worse(self, label: str, than: str) -> float:
        """The ratio of a group's number to another one's in the worse direction, 1 or more where it is worse."""
        own, other = self.estimate(label), self.estimate(than)
        above, below = (other, own) if self.better == MORE else (own, other)
        if below == 0:
            return 1.0 if above == 0 else float("inf")
        return above / below

    def differs_significantly(self, label: str, leader: str) -> bool | None:
        """True where the seeds tell a group from the leader; `None` where there are too few seeds to say.

        As many comparisons hold together as there are groups beside the leader (`farloop.statistics`).
        """
        confidence = statistics.correct_confidence(len(self.ranking) - 1)
        return self.ratio(label, leader, confidence).leaves_out(1.0)


def effects(comparison: ComparedRuns) -> list[Effect]:
    """The numbers of a comparison that tell its groups of runs apart, those first that decide.

    Jobs' times come first, then slowdowns, then fairness and throughput, then what it costs in queues, losses and pauses.
    """
    groups = {label: list(runs) for label, runs in comparison.groups.items()}
    if not groups:
        return []
    made = [*_job_times(groups), *_exposed_shares(groups), *_slowdowns(groups), *_whole_runs(groups)]
    # Rates that are 0 under all are those of runs without flows of their own, such as jobs.
    return [
        effect
        for effect in made
        if effect.ranking and (effect.better == LESS or any(map(effect.estimate, effect.ranking)))
    ]


def slowdown_text(value: float) -> str:
    """A slowdown with three digits, or the whole number that it is: 1.40, 13.9, 256."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def share_text(value: float) -> str:
    """A part of a time in percent, with three digits."""
    return f"{100 * value:.3g} %"


def find(among: Iterable[Effect], identifier: str) -> Effect | None:
    """The effect with an identifier, if there is one."""
    return next((effect for effect in among if effect.identifier == identifier), None)


Groups = Mapping[str, Sequence["RunNumbers"]]


def _slowdowns(groups: Groups) -> list[Effect]:
    """Percentile and mean of the FCT slowdown by scope, unfinished flows by their age."""
    made = []
    for scope in ("cross", "intra", ALL):
        samples = {label: [_sample(run, scope) for run in runs] for label, runs in groups.items()}
        counts = [sum(values.size for values in each) for each in samples.values()]
        if not all(counts):
            continue
        unfinished = frozenset(
            label for label, runs in groups.items() if any(_count_unfinished(run, scope) for run in runs)
        )
        if min(counts) >= MIN_FLOWS:
            made.append(_percentile("p99", 0.99, scope, samples, unfinished))
        made.append(_mean_slowdown(scope, samples, unfinished))
        if min(counts) >= MIN_FLOWS:
            made.append(_percentile("p50", 0.5, scope, samples, unfinished))
    return made


def _percentile(
    name: str, share: float, scope: str, samples: Mapping[str, Sequence[Floats]], unfinished: frozenset[str]
) -> Effect:
    return Effect(
        time_identifier("fct_slowdown", name, scope, "", BEGUN),
        f"{name} FCT slowdown",
        scope,
        LESS,
        slowdown_text,
        {label: statistics.percentile(each, share, floor=1.0) for label, each in samples.items()},
        unfinished,
        lambda own, other, confidence: statistics.paired_percentiles(
            samples[own], samples[other], share, confidence=confidence
        ),
    )


def _mean_slowdown(scope: str, samples: Mapping[str, Sequence[Floats]], unfinished: frozenset[str]) -> Effect:
    means = {label: [float(values.mean()) for values in each if values.size] for label, each in samples.items()}
    return Effect(
        time_identifier("fct_slowdown", "mean", scope, "", BEGUN),
        "mean FCT slowdown",
        scope,
        LESS,
        slowdown_text,
        {label: statistics.mean_of_clusters(each, floor=1.0) for label, each in samples.items()},
        unfinished,
        lambda own, other, confidence: _paired_interval(means[own], means[other], confidence),
    )


def _whole_runs(groups: Groups) -> list[Effect]:
    """Numbers of whole runs, as means over seeds."""
    numbers: list[tuple[str, str, str, Callable[[float], str], Callable[[RunNumbers], float | None]]] = [
        ("jain", "Jain's index", ALL, "{:.3f}".format, lambda run: run.numbers["jain"]),
        ("flow_throughput/mean/cross", _FLOW_RATE, "cross", rate_text, _mean_throughput("cross")),
        ("flow_throughput/mean/intra", _FLOW_RATE, "intra", rate_text, _mean_throughput("intra")),
        ("goodput", "goodput", ALL, rate_text, lambda run: run.numbers["throughput"]),
        ("queue/max/worst_port", "longest queue", ALL, bytes_text, _longest_queue),
        ("unfinished", "unfinished flows", ALL, _count_text, lambda run: sum(run.numbers["unfinished"].values())),
        ("dropped", "dropped packets", ALL, _count_text, lambda run: run.numbers["dropped"]),
        ("retransmitted", "packets sent again", ALL, _count_text, _count_retransmitted),
        ("paused", "time paused by PFC", ALL, time_text, lambda run: run.numbers["pfc"]["paused"]),
    ]
    return [
        _run_effects(groups, identifier, name, scope, text, value) for identifier, name, scope, text, value in numbers
    ]


_FLOW_RATE = "mean throughput of a flow"


def _mean_throughput(kind: str) -> Callable[[RunNumbers], float | None]:
    return lambda run: run.numbers["mean_throughput"][kind]


def _run_effects(
    groups: Groups,
    identifier: str,
    name: str,
    scope: str,
    text: Callable[[float], str],
    value: Callable[[RunNumbers], float | None],
) -> Effect:
    floor, ceiling = limits(identifier)
    known = {label: [v for run in runs if (v := value(run)) is not None] for label, runs in groups.items()}
    return Effect(
        identifier,
        name,
        scope,
        declared_measures()[identifier].better,
        text,
        {label: statistics.mean(values, floor=floor, ceiling=ceiling) for label, values in known.items()},
        ratio=lambda own, other, confidence: _paired_interval(known[own], known[other], confidence),
    )


def _job_times(groups: Groups) -> list[Effect]:
    """The mean time of the finished iterations, or rounds, of each job."""
    jobs = dict.fromkeys(name for runs in groups.values() for run in runs for name in run.numbers["jobs"])
    made = []
    for job in jobs:
        times = {
            label: [float(np.mean(rounds)) for run in runs if (rounds := run.numbers["jobs"][job]["rounds_s"])]
            for label, runs in groups.items()
            if all(job in run.numbers["jobs"] for run in runs)
        }
        name = f"iteration time of {job}" if len(jobs) > 1 else "iteration time"
        made.append(_job_time(f"iteration_time/mean/{job}", name, times))
    return made


def _exposed_shares(groups: Groups) -> list[Effect]:
    """The part of the time in which the ranks of a `[[job]]` do not compute."""
    jobs = dict.fromkeys(name for runs in groups.values() for run in runs for name in run.numbers["jobs"])
    made = []
    for job in jobs:
        shares = {
            label: [share for run in runs if (share := run.numbers["jobs"][job].get("exposed_share")) is not None]
            for label, runs in groups.items()
            if all(job in run.numbers["jobs"] for run in runs)
        }
        if any(shares.values()):
            name = f"exposed communication of {job}" if len(jobs) > 1 else "exposed communication"
            made.append(_exposed_share(f"exposed_communication_share/mean/{job}", name, shares))
    return made


def _exposed_share(identifier: str, name: str, shares: Mapping[str, Sequence[float]]) -> Effect:
    return Effect(
        identifier,
        name,
        ALL,
        LESS,
        share_text,
        {label: statistics.mean(values, floor=0.0, ceiling=1.0) for label, values in shares.items()},
        ratio=lambda own, other, confidence: _paired_interval(shares[own], shares[other], confidence),
    )


def _job_time(identifier: str, name: str, times: Mapping[str, Sequence[float]]) -> Effect:
    return Effect(
        identifier,
        name,
        ALL,
        LESS,
        time_text,
        {label: statistics.mean(values, floor=0.0) for label, values in times.items()},
        ratio=lambda own, other, confidence: _paired_interval(times[own], times[other], confidence),
    )


def _paired_interval(own: Sequence[float], other: Sequence[float], confidence: float) -> Interval:
    if len(own) != len(other):
        return Interval(None, None, None, 0)
    return statistics.paired_ratio(own, other, confidence=confidence)


def _sample(run: RunNumbers, scope: str) -> Floats:
    values = flow_completion.bound_slowdowns(run.flows, run.duration)
    known = ~np.isnan(values)
    if scope:
        known &= flow_completion.is_kind(run.flows, scope)
    chosen: Floats = values[known]
    return chosen


def _count_unfinished(run: RunNumbers, scope: str) -> int:
    unfinished = run.numbers["unfinished"]
    return int(unfinished[scope]) if scope else sum(int(count) for count in unfinished.values())


def _longest_queue(run: RunNumbers) -> float | None:
    worst = run.numbers["worst"]["max_queue"]
    return None if worst is None else float(worst["max_queue"])


def _count_retransmitted(run: RunNumbers) -> float | None:
    sent_again = run.flows["retransmitted"]
    is_counted = not len(sent_again) or sent_again.null_count < len(sent_again)
    return float(np.sum(sent_again.to_numpy())) if is_counted else None


def _count_text(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else str(number(value))

"""Every number that farloop computes of a run, declared once.

A measure has an identifier, a unit and a definition: which flows it is about, until when a flow takes its time, how unfinished flows count,
which statistic it is, and how it is combined over seeds. Two numbers with the same identifier are the same number, whatever the command
that prints them calls it; two that are computed otherwise have two identifiers. Columns of `farloop sweep` and `farloop arena` have the
identifier as `measure` in the metadata of their Parquet files, numbers of `farloop validate` in validation.json.

The columns of a run's own tables are no measures of a run: [fields][farloop.results.fields] declares them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from farloop.results.size_classes import GEMINI, MEDIAN, SizeClasses

VERSION = 2
"""Of the definitions. Outputs keep it beside numbers that are read again; those of another version are not. In version 1, which no output
names, `small` and `large` of summaries and studies were split at the median size."""

LESS, MORE = "less", "more"
"""Direction in which a number is better."""

RECEIVED, ACKNOWLEDGED = "received", "acknowledged"
"""Until when a flow takes its time: its last byte has arrived, or its sender knows of that."""

FINISHED = "finished"
"""Unfinished flows are left out."""
AGED = "aged"
"""Unfinished flows count with their age, a lower bound, if they could have finished: flows that begin before the end, have a size, and are
not longer on the wire than the run."""
BEGUN = "begun"
"""Unfinished flows count with their age, if they have a size and begin before the end, however long they are."""

POOLED = "over the flows of all seeds together"
MEAN = "mean over the seeds"
EACH = "for each seed by itself"
"""Ways to combine the numbers of several seeds."""

QUANTILE = "linear interpolation between order statistics (Hyndman and Fan, type 7)"
"""The rule of all quantiles."""

STATISTICS = {
    "mean": "mean",
    "p50": "median",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
    "max": "largest",
}

KINDS = {"": "flows", "intra": "flows inside a datacenter", "cross": "flows across datacenters"}

SIZES = {
    "": "",
    **{size.name: f" of {size.label}" for classes in (GEMINI, MEDIAN) for size in classes.classes},
    "below_100kB": " below 100 kB",
    "from_1MB": " of at least 1 MB",
}
"""Classes of flow sizes in words: those of `farloop.results.size_classes`, and those that references declare."""


@dataclass(frozen=True)
class RunMeasure:
    """A number of a run.

    Attributes:
        identifier: Its name wherever it stands, such as "fct_slowdown/p99/intra/small/aged".
        unit: Its unit; "1" where there is none.
        definition: Its meaning, in a sentence.
        flows: The flows that it is about; empty where it is about ports, packets or jobs.
        until: "received" or "acknowledged"; empty where it is about no time of a flow.
        unfinished: "finished", "aged" or "begun"; empty likewise.
        quantile: The rule of its quantile, if it is one.
        seeds: Way to combine it over several seeds.
        better: "less", "more", or nothing where neither is.
        needs: Recordings or parts of a scenario that it needs, in words; empty where it needs none.
    """

    identifier: str
    unit: str
    definition: str
    flows: str = ""
    until: str = ""
    unfinished: str = ""
    quantile: str = ""
    seeds: str = MEAN
    better: str = ""
    needs: str = ""


def time_identifier(
    quantity: str, statistic: str, kind: str, size: str, unfinished: str = FINISHED, until: str = RECEIVED
) -> str:
    """The identifier of a statistic of completion times, "fct", or of slowdowns, "fct_slowdown".

    Args:
        quantity: "fct" or "fct_slowdown".
        statistic: One of `STATISTICS`.
        kind: "intra", "cross", or nothing for all flows.
        size: One of `SIZES`.
        unfinished: "finished", "aged" or "begun".
        until: "received" or "acknowledged".
    """
    return "/".join(
        part for part in (quantity, statistic, kind, size, unfinished, until if until != RECEIVED else "") if part
    )


_TIMES = {
    "fct": ("s", "flow completion time, from the start to the arrival of the last byte"),
    "fct_slowdown": ("1", "FCT slowdown (completion time over that of the same flow alone in the empty network)"),
}

_RULES = {
    FINISHED: "finished flows alone",
    AGED: "flows that could finish, the unfinished ones by their age",
    BEGUN: "begun flows with a size, the unfinished ones by their age",
}


def _time(
    quantity: str, statistic: str, kind: str, size: str, unfinished: str, until: str, size_words: str
) -> RunMeasure:
    """A statistic of completion times or slowdowns; see `time_identifier`."""
    unit, words = _TIMES[quantity]
    name, flows = STATISTICS[statistic], f"{KINDS[kind]}{size_words}"
    end = words.replace("arrival", "acknowledgement") if until == ACKNOWLEDGED else words
    return RunMeasure(
        time_identifier(quantity, statistic, kind, size, unfinished, until),
        unit,
        f"{name[:1].upper()}{name[1:]} of the {end}; {flows}, {_RULES[unfinished]}.",
        flows=flows,
        until=until,
        unfinished=unfinished,
        quantile="" if statistic in ("mean", "max") else QUANTILE,
        seeds=POOLED,
        better=LESS,
    )


def _times(sizes: Mapping[str, str]) -> Iterator[RunMeasure]:
    for quantity in _TIMES:
        for unfinished in _RULES:
            for kind in KINDS:
                for size, words in sizes.items():
                    for statistic in STATISTICS:
                        for until in (RECEIVED, ACKNOWLEDGED):
                            yield _time(quantity, statistic, kind, size, unfinished, until, words)


def count_identifier(kind: str, size: str, unfinished: str) -> str:
    """The identifier of how many flows a statistic of times is about; see `time_identifier`."""
    return "/".join(part for part in ("flows", kind, size, unfinished) if part)


def _counts(sizes: Mapping[str, str]) -> Iterator[RunMeasure]:
    rules = {FINISHED: "that finished", AGED: "that could finish", BEGUN: "with a size that had begun"}
    for unfinished, which in rules.items():
        for kind, of in KINDS.items():
            for size, class_words in sizes.items():
                flows = f"{of}{class_words}"
                identifier = count_identifier(kind, size, unfinished)
                yield RunMeasure(identifier, "flows", f"Number of {flows} {which}.", flows=flows, seeds=EACH)


def _starts() -> Iterator[RunMeasure]:
    for kind in ("intra", "cross"):
        for size in ("", "at_most_median"):
            flows = f"{KINDS[kind]}{SIZES[size]}"
            for share, unit, words in (("", "flows", "Number of"), ("share", "1", "Part of the")):
                identifier = "/".join(part for part in ("before_first_ack", kind, size, share) if part)
                definition = f"{words} begun {flows} that fit into what their first window and rate let out in a base round trip."
                yield RunMeasure(identifier, unit, definition, flows=flows, seeds=EACH)
        yield RunMeasure(
            f"unfinished/{kind}",
            "flows",
            f"Number of begun {KINDS[kind]} with a size that did not finish.",
            KINDS[kind],
        )


_THROUGHPUT = "delivered payload over the time that a flow was active"

_OTHERS = (
    # Rates and fairness.
    RunMeasure("goodput", "bit/s", "Delivered payload of all flows and jobs over the time of the run; of jobs without flows "
            "over the time in which these ran.", "all flows", better=MORE),
    *(
        RunMeasure(f"flow_throughput/mean/{kind}", "bit/s", f"Mean over {KINDS[kind]} of {_THROUGHPUT}.", KINDS[kind], better=MORE)
        for kind in ("intra", "cross")
    ),
    *(
        RunMeasure(
            f"flow_throughput/mean/{kind}/endless",
            "bit/s",
            f"Mean over the endless ones of the begun {KINDS[kind]}, over all of these where none is endless, of {_THROUGHPUT}.",
            f"begun {KINDS[kind]}",
            seeds=EACH,
            better=MORE,
        )
        for kind in ("intra", "cross")
    ),
    RunMeasure("flow_throughput", "bit/s", f"Of a flow: {_THROUGHPUT}; from `since` on where a reference says so.", "the flow"),
    RunMeasure("flow_share", "1", "Throughput of a flow over the sum of all flows' throughputs.", "the flow"),
    RunMeasure("flow_throughput/ratio", "1", "Mean throughput of flows inside datacenters over that of flows across.", "all flows"),
    RunMeasure("flow_throughput/least_share/endless", "1", "Least throughput of an endless flow over the mean of theirs.",
            "begun endless flows", seeds=EACH, better=MORE),
    RunMeasure("jain", "1", "Jain's fairness index of all flows' throughputs.", "all flows", better=MORE),
    RunMeasure("jain/since", "1", "Jain's fairness index of all flows' recorded throughputs from `since` on.", "all flows", better=MORE,
            needs="throughput of all flows recorded"),
    RunMeasure("jain/endless", "1", "Jain's fairness index of the throughputs of the endless flows that had begun.", "begun endless flows",
            seeds=EACH, better=MORE),
    RunMeasure("jain/relative", "1", "Jain's fairness index of 1 over the slowdown of flows that could finish.", "flows that could finish",
            unfinished=AGED, seeds=EACH, better=MORE),
    RunMeasure("jain/endless_or_relative", "1", "`jain/endless`; where no flow is endless, `jain/relative`.", "flows of either",
            unfinished=AGED, seeds=EACH, better=MORE),
    RunMeasure("delivered_share/cross", "1", "Part of all delivered payload that flows across got.", "all flows", seeds=EACH),
    # How flows begin and end.
    *(
        RunMeasure(f"first_rtt/{kind}/{what}", unit, f"Most that one of the {KINDS[kind]} may send in its first base round-trip time.",
                KINDS[kind], seeds=EACH)
        for kind in ("intra", "cross")
        for what, unit in (("bytes", "B"), ("bdps", "1"))
    ),
    RunMeasure("slow_start", "0 or 1", "1 where some flows begin in slow start.", "all flows", seeds=EACH),
    RunMeasure("flows", "flows", "Number of flows in the table of flows.", "all flows"),
    RunMeasure("unfinished", "flows", "Number of flows with a size that had begun and not finished.", "begun flows with a size",
            better=LESS),
    RunMeasure("unfinished/with_size", "flows", "Number of flows with a size that did not finish, begun or not.", "flows with a size",
            better=LESS),
    RunMeasure("unfinished/could_finish", "flows", "Number of flows that could finish and did not.", "flows that could finish", seeds=EACH,
            better=LESS),
    RunMeasure("unfinished/could_finish/share", "1", "Part of the flows that could finish that did not.", "flows that could finish",
            seeds=EACH, better=LESS),
    RunMeasure("gave_up", "flows", "Number of flows that TCP gave up.", "all flows", better=LESS),
    RunMeasure("is_steady", "0 or 1", "0 where flows of the second half of the arrivals are slowed otherwise than those of the first.",
            "finished flows", seeds=EACH, needs="200 finished flows"),
    RunMeasure("base_rtt/max", "s", "Longest base round-trip time of a flow.", "all flows", seeds=EACH),
    *(
        RunMeasure(f"limit_share/{kind}", "1", f"Of a limit: part of the time of the {KINDS[kind]}, each from its start until it is over, "
                "that their senders spent under it (docs/why.md).", KINDS[kind], seeds=EACH)
        for kind in ("intra", "cross")
    ),
    # Queues.
    RunMeasure("queue/mean/worst_port", "B",
            "Mean queue over the run (of jobs without flows: while these ran) of the port where it is longest.", better=LESS),
    RunMeasure("queue/max/worst_port", "B", "Longest queue of any port.", better=LESS),
    RunMeasure("queue/mean/recorded_port", "B", "Mean queue over the run of the recorded port where it is longest.", seeds=EACH,
            better=LESS),
    RunMeasure("queue/p99/recorded_port", "B", "99th percentile of the samples of the queue of that port.", quantile=QUANTILE, seeds=EACH,
            better=LESS, needs="queue of a port recorded"),
    RunMeasure("queue/max/recorded_port", "B", "Longest queue of that port.", seeds=EACH, better=LESS),
    RunMeasure("queue/p99", "B", "99th percentile of the samples of a port's queue.", quantile=QUANTILE,
            needs="queue of the port recorded"),
    RunMeasure("utilisation/port", "1", "Bytes that a port sent over what it could have sent in the time of the run; of jobs without "
            "flows in the time in which these ran."),
    RunMeasure("queue/mean", "B", "Mean queue of a port over the run; from `since` on where a reference says so.", better=LESS),
    RunMeasure("queue/max", "B", "Longest queue of a port; from `since` on where a reference says so.", better=LESS),
    RunMeasure("queue_delay/mean/worst_switch_port", "s", "Mean queue over the port's rate, of the switch port where that is longest.",
            seeds=EACH, better=LESS),
    # Pauses and losses.
    RunMeasure("paused", "s", "PFC: how long ports were paused, added over ports.", better=LESS),
    RunMeasure("paused_share", "1", "PFC: part of the time that the port with the longest pauses was paused.", seeds=EACH, better=LESS),
    RunMeasure("paused_share/border", "1", "PFC: the same of the ports of switches with a long-haul link.", seeds=EACH, better=LESS),
    RunMeasure("paused/port", "s", "PFC: how long a port was paused; each class of packets counts for itself.", better=LESS),
    RunMeasure("pause_roots", "count", "PFC: number of congested ports where the pauses of others begin.", better=LESS),
    RunMeasure("pause_depth", "count", "PFC: largest number of links from a paused port back to the root.", better=LESS),
    RunMeasure("deadlocks", "count", "PFC: number of ports in circles of pauses that do not end.", better=LESS),
    RunMeasure("pauses", "frames", "PFC: number of pause frames.", better=LESS),
    RunMeasure("victims", "flows", "PFC: number of flows that waited for a pause whose root is not on their way.", "all flows",
            better=LESS),
    RunMeasure("victims/share", "1", "PFC: these over the flows that had begun.", "begun flows", seeds=EACH, better=LESS),
    RunMeasure("dropped", "packets", "Packets that switches and hosts dropped, for any cause.", better=LESS),
    RunMeasure("dropped/port", "packets", "Packets that the queue of a port refused.", better=LESS),
    RunMeasure("dropped/share", "1", "Dropped packets over the packets that hosts sent.", seeds=EACH, better=LESS),
    RunMeasure("dropped/lossless", "packets", "Packets dropped for lack of room where PFC was to prevent it.", seeds=EACH, better=LESS),
    RunMeasure("lost", "packets", "Packets lost or damaged on links.", better=LESS),
    # Senders.
    RunMeasure("retransmitted", "packets", "Data packets that were sent again.", "all flows", better=LESS),
    RunMeasure("timeouts", "count", "Retransmission timeouts.", "all flows", better=LESS),
    RunMeasure("marked/port", "packets", "Packets that a port marked."),
    RunMeasure("marked", "ACKs", "Acknowledgements that echoed an ECN mark.", "all flows"),
    RunMeasure("rtt/mean", "s", "Mean of the recorded round-trip times of a flow while it runs.", "the flow", needs="its rtt recorded"),
    RunMeasure("cwnd/mean", "B", "Mean of the recorded windows of a flow while it runs.", "the flow", needs="its cwnd recorded"),
    RunMeasure("cwnd/period", "s", "Mean time between falls of the recorded window by more than a tenth; falls within 0.2 s are one.",
            "the flow", needs="its cwnd recorded"),
    RunMeasure("startup", "s", "How long BBR paces with the gain of STARTUP, by the recorded pacing rate.", "the flow",
            needs="its pacing recorded"),
    # Training jobs.
    RunMeasure("iteration_time/mean", "s", "Mean time of the finished iterations of training jobs.", better=LESS, needs="a training job"),
    RunMeasure("iteration_slowdown/mean", "1",
            "Mean over finished iterations of training jobs of their time over that on an ideal network.",
            better=LESS, needs="a training job"),
    RunMeasure("exposed_communication_share/mean", "1",
            "Part of the time of finished iterations of a training job in which its ranks do not compute, all ranks together.",
            better=LESS, needs="a training job"),
    RunMeasure("iterations/unfinished", "iterations", "Number of iterations of training jobs that were not over.", better=LESS,
            needs="a training job"),
    # The simulation, and the arena's judgement.
    RunMeasure("packet_hops", "count", "Packets that arrived at a node."),
    RunMeasure(
        "arena_score",
        "1",
        "Geometric mean of the costs of a scenario: p99 slowdowns of small and large flows inside and across (medium ones of a kind that "
        "has neither), unfinished flows by their age; where flows are endless, 1 / goodput in s/bit, and 1 / Jain's index of theirs.",
        unfinished=AGED,
        quantile=QUANTILE,
        seeds="geometric mean over the seeds",
        better=LESS,
    ),
    RunMeasure("arena_rank", "number", "Rank by the score among the algorithms that hold all constraints, under the same seed, from 1.",
            seeds=EACH, better=LESS),
)  # fmt: skip


def limits(identifier: str) -> tuple[float, float | None]:
    """The lower and the upper bound of a measure, as far as that is known of its kind.

    No slowdown is below 1, and no index of fairness and no share is above 1. All other numbers are at least 0.
    """
    words = identifier.replace("_", "/").split("/")
    floor = 1.0 if "slowdown" in words else 0.0
    is_part = words[0] == "jain" or "share" in words or words[0] == "utilisation"
    return floor, 1.0 if is_part else None


def has_version(kept: Mapping[str, object]) -> bool:
    """Returns true if numbers that an output keeps have the definitions of this version; `kept` is the manifest that says so."""
    return kept.get("definitions") == VERSION


@functools.cache
def declared_measures(chosen: SizeClasses | None = None) -> Mapping[str, RunMeasure]:
    """All measures, by identifier. Made on first use: a command that prints none of them starts without the 1,400.

    Args:
        chosen: Classes that a user chose, whose measures are then among them.
    """
    sizes = SIZES | {size.name: f" of {size.label}" for size in (chosen.classes if chosen else ())}
    return {measure.identifier: measure for measure in (*_times(sizes), *_counts(sizes), *_starts(), *_OTHERS)}


# Identifiers by the names of a study.
_OF_STUDIES = {
    "throughput": "goodput",
    "intra_throughput": "flow_throughput/mean/intra",
    "cross_throughput": "flow_throughput/mean/cross",
    "ratio": "flow_throughput/ratio",
    "mean_queue": "queue/mean/worst_port",
    "max_queue": "queue/max/worst_port",
    "iteration_time": "iteration_time/mean",
    "iteration_slowdown": "iteration_slowdown/mean",
    "unfinished_iterations": "iterations/unfinished",
} | {
    name: name
    for name in (
        "jain", "paused", "pauses", "victims", "dropped", "lost", "retransmitted", "timeouts", "marked", "flows", "unfinished", "gave_up",
        "packet_hops",
    )
}  # fmt: skip

# Identifiers by the columns of an arena's cells.
_OF_CELLS = {
    "score": "arena_score",
    "rank": "arena_rank",
    "slow_start": "slow_start",
    "cross_share": "delivered_share/cross",
    "jain": "jain",
    "jain_endless": "jain/endless",
    "jain_relative": "jain/relative",
    "unfinished": "unfinished/could_finish",
    "is_steady": "is_steady",
    "paused_ps": "paused",
    "pauses": "pauses",
    "victims": "victims",
    "mean_queue_bytes": "queue/mean/recorded_port",
    "p99_queue_bytes": "queue/p99/recorded_port",
    "max_queue_bytes": "queue/max/recorded_port",
    "dropped": "dropped",
    "paused_share": "paused_share",
    "border_paused_share": "paused_share/border",
    "victim_share": "victims/share",
    "lossless_dropped": "dropped/lossless",
    "dropped_share": "dropped/share",
    "unfinished_share": "unfinished/could_finish/share",
    "least_share": "flow_throughput/least_share/endless",
    "queue_delay_s": "queue_delay/mean/worst_switch_port",
    "goodput_bps": "goodput",
    "iteration_s": "iteration_time/mean",
    "iteration_slowdown": "iteration_slowdown/mean",
    "longest_rtt_s": "base_rtt/max",
} | {
    f"{kind}_{column}": identifier
    for kind in ("intra", "cross")
    for column, identifier in (
        ("first_rtt_bytes", f"first_rtt/{kind}/bytes"),
        ("first_rtt_bdps", f"first_rtt/{kind}/bdps"),
        ("throughput_bps", f"flow_throughput/mean/{kind}/endless"),
    )
}

_CELL_TIMES = rf"(intra|cross|all)_({'|'.join(GEMINI.names)}|all)_(?:slowdown_(mean|p50|p99)|(flows))"

# Identifiers by the names of `farloop validate`, without the flow or port behind a colon.
_OF_VALIDATION = {
    "unfinished": "unfinished/with_size",
    "jain": "jain",
    "throughput": "flow_throughput",
    "share": "flow_share",
    "rtt_mean": "rtt/mean",
    "cwnd_mean": "cwnd/mean",
    "startup": "startup",
    "period": "cwnd/period",
    "queue_mean": "queue/mean",
    "queue_max": "queue/max",
    "drops": "dropped/port",
}

_VALIDATION_TIMES = r"fct_(?:(small|large)_)?(mean|p50|p90|p99)"
_VALIDATION_SIZES = {None: "", "small": "below_100kB", "large": "from_1MB"}


def of_study(name: str) -> str:
    """The identifier of a number that a study collects by name; empty for what was recorded, and for what a function of the user's makes.

    Statistics of flows have names by a rule (`farloop.studies.sweep.measures`).
    """
    return _OF_STUDIES.get(name, "")


def of_cell(column: str) -> str:
    """The identifier of a column of an arena's cells; empty for a column that is no measure of a run."""
    match = re.fullmatch(_CELL_TIMES, column)
    if match is None:
        return _OF_CELLS.get(column, "")
    kind, size, statistic, is_count = match.groups()
    kind, size = ("" if part == "all" else part for part in (kind, size))
    if is_count:
        return count_identifier(kind, size, AGED)
    return time_identifier("fct_slowdown", statistic, kind, size, AGED)


def of_choice(column: str, otherwise: str) -> str:
    """The identifier of a number that is one column of an arena's cells, or another one where a run has none of the first."""
    first, second = of_cell(column), of_cell(otherwise)
    return f"{first}_or_{second.rpartition('/')[2]}"


def of_validation(name: str, until: str = RECEIVED, since: float = 0.0) -> str:
    """The identifier of a number that `farloop validate` compares; empty for a cell or a series by its name.

    Args:
        name: The number, such as "fct_small_p99" or "queue_max:left->right".
        until: Until when completion times count, "received" or "acknowledged".
        since: From when on, in seconds.
    """
    match = re.fullmatch(_VALIDATION_TIMES, name)
    if match is not None:
        return time_identifier("fct", match[2], "", _VALIDATION_SIZES[match[1]], FINISHED, until)
    if name == "jain" and since > 0:
        return "jain/since"
    return _OF_VALIDATION.get(name.partition(":")[0], "")


_OF_SUMMARY = {
    "ratio": "flow_throughput/ratio",
    "jain": "jain",
    "throughput": "goodput",
    "mean_throughput/intra": "flow_throughput/mean/intra",
    "mean_throughput/cross": "flow_throughput/mean/cross",
    "worst/mean_queue/mean_queue": "queue/mean/worst_port",
    "worst/max_queue/max_queue": "queue/max/worst_port",
    "pfc/pauses": "pauses",
    "pfc/paused": "paused",
    "pfc/victims": "victims",
    "pfc/roots": "pause_roots",
    "pfc/depth": "pause_depth",
    "pfc/deadlocks": "deadlocks",
    "unfinished/intra": "unfinished/intra",
    "unfinished/cross": "unfinished/cross",
} | {name: name for name in ("dropped", "lost", "packet_hops", "gave_up")}

_SUMMARY_SIZES = r"(?:(?:classes/([^/]+)|(at_most_median|above_median))/)?"
_SUMMARY_TIMES = rf"(slowdown|slowdown_at_least)/(intra|cross)/{_SUMMARY_SIZES}(mean|p50|p95|p99|flows)"
_SUMMARY_PORT = r"(?:bottleneck|worst/\w+)/(?:(mean|p99|max)_queue|(drops)|(paused|utilisation|marked))"
_SUMMARY_STARTS = r"before_first_ack/(intra|cross)/(?:(at_most_median)/)?(flows|ended|share)"

FACTS = ("simulated", "network", "limits", "starts", "warm_up", "steady", "jobs", "cautions", "flows")
"""Keys of a summary that hold no measures: facts of the scenario and the run, and rows of tables."""


def of_summary(path: str) -> str:
    """The identifier of a number of a run's summary; empty for a fact, and for a number that is none.

    Args:
        path: Its keys, the outermost first, with slashes between them: "slowdown/intra/classes/small/p99".
    """
    if path in _OF_SUMMARY:
        return _OF_SUMMARY[path]
    if match := re.fullmatch(_SUMMARY_TIMES, path):
        quantity, kind, chosen, half, statistic = match.groups()
        size, unfinished = chosen or half or "", FINISHED if quantity == "slowdown" else BEGUN
        if statistic == "flows":
            return count_identifier(kind, size, unfinished)
        return time_identifier("fct_slowdown", statistic, kind, size, unfinished)
    if match := re.fullmatch(_SUMMARY_PORT, path):
        queue, drops, other = match.groups()
        return f"queue/{queue}" if queue else "dropped/port" if drops else f"{other}/port"
    if match := re.fullmatch(_SUMMARY_STARTS, path):
        kind, size, what = match.groups()
        if what == "flows":
            return count_identifier(kind, size or "", BEGUN)
        return "/".join(part for part in ("before_first_ack", kind, size, "share" if what == "share" else "") if part)
    return ""


def identifiers_of_summary(summary: Mapping[str, Any]) -> dict[str, str]:
    """The identifier of each number of a run's summary, by the number's path; facts are left out, and numbers that do not exist."""
    return {path: identifier for path in _paths(summary) if (identifier := of_summary(path))}


def _paths(value: Any, path: str = "") -> Iterator[str]:
    """The paths of a summary's numbers."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if path or key not in FACTS:
                yield from _paths(item, f"{path}/{key}" if path else key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path

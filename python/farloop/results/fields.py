"""What the tables hold: every column and metric with its unit and meaning, declared once.

From here come the metadata of the Parquet files and the tables of docs/outputs.md (`python -m farloop.results.fields docs/outputs.md`
writes them anew).
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A column or a metric.

    Attributes:
        name: Its name in tables.
        unit: The unit of its values; "text", "count", "0 or 1" or "1" (a fraction) where there is none.
        meaning: What it says.
        optional: Whether it can be null; the meaning says when.
    """

    name: str
    unit: str
    meaning: str
    optional: bool = False


FLOWS = (
    Field("name", "text", "Name of the flow."),
    Field("source", "text", "Host that sends."),
    Field("destination", "text", "Host that receives."),
    Field("algorithm", "text", "Congestion control of the flow."),
    Field(
        "cross_datacenter",
        "0 or 1",
        "1 where source and destination are in different datacenters, or the source is in none.",
    ),
    Field("start_ps", "ps", "When it starts; null where what it waits for was not over at the end.", optional=True),
    Field("stop_ps", "ps", "When its application stops sending; null where it does not stop by itself.", optional=True),
    Field(
        "finish_ps",
        "ps",
        "When the acknowledgement of its last byte reached the sender; null if it did not finish.",
        optional=True,
    ),
    Field("received_ps", "ps", "When its last byte reached the receiver; null if it did not finish.", optional=True),
    Field("delivered_bytes", "B", "Payload that the receiver got in order, until the end of the run."),
    Field("size_bytes", "B", "Payload that it has to deliver; null where it sends without end.", optional=True),
    Field(
        "ideal_fct_ps",
        "ps",
        "Time from the start to the last byte's arrival of the same flow alone in the empty network; null where it has no size.",
        optional=True,
    ),
    Field(
        "base_rtt_ps",
        "ps",
        "Round-trip time of one full packet and its acknowledgement on the flow's path without queues.",
    ),
    Field("retransmitted", "packets", "Data packets sent again."),
    Field("timeouts", "count", "Retransmission timeouts."),
    Field("marked", "ACKs", "Acknowledgements that echoed an ECN mark."),
    Field("packets", "packets", "Data packets sent, repeated ones included."),
    Field(
        "victim_packets",
        "packets",
        "How often a packet waited for a PFC pause whose root is not on its way (at its own host: how often such a pause kept the flow "
        "from sending). A flow with any is a victim of congestion elsewhere.",
    ),
    Field("dropped", "packets", "Data packets that were dropped, lost or damaged on their way."),
    Field("spurious", "count", "How often TCP found out that a repair had been unnecessary."),
    Field(
        "outcome",
        "text",
        "`finished`: its last byte was acknowledged; `stopped`: its application stopped before; `unfinished`: it was going on at the end "
        "(or had not begun); `gave-up`: TCP gave up after too many timeouts in a row.",
    ),
)

SERIES = (
    Field("time_ps", "ps", "When the sample was taken."),
    Field(
        "object",
        "text",
        "What it is about: `flow/NAME`, `port/NODE->PEER` for the egress port of a node to its peer, or `queue/NODE->PEER/QUEUE` for one "
        "of its queues, by its name in queues.parquet.",
    ),
    Field("metric", "text", "Which metric: see below."),
    Field(
        "value",
        "of the metric",
        "The value, in the metric's unit; infinite where a flow has no window or no pacing rate.",
    ),
)

PORTS = (
    Field("node", "text", "Node that the port belongs to."),
    Field("peer", "text", "Node at the other end of its link."),
    Field(
        "link",
        "number",
        "Which of the links between these nodes, from 1; series and traces call the second one `NODE->PEER#2`.",
    ),
    Field(
        "kind", "text", "What the node is: `host`, `switch`, `router` (of the wide-area network) or `circuit` (switch)."
    ),
    Field("datacenter", "number", "Datacenter of the node, from 0; null where it is in none.", optional=True),
    Field("rate_bps", "bit/s", "Rate of the link."),
    Field("delay_ps", "ps", "One-way propagation delay of the link."),
    Field("tx_bytes", "B", "Bytes put on the wire, framing included."),
    Field(
        "offered_bytes",
        "B",
        "Bytes that the flows would put on the wire here by their sizes and paths, framing, acknowledgements and handshakes included, if "
        "each packet were sent once and there were time for all of them; null where a flow without a size passes.",
        optional=True,
    ),
    Field("packets", "packets", "Packets put on the wire."),
    Field("dropped_buffer", "packets", "Data packets dropped for lack of buffer on their way to this port."),
    Field("dropped_limit", "packets", "Data packets dropped because this port's queue had reached its limit."),
    Field("dropped_agent", "packets", "Data packets dropped by an agent at this port."),
    Field("dropped_blocked", "packets", "Data packets dropped because the day of their circuit was too far off."),
    Field(
        "dropped_expired",
        "packets",
        "Data packets dropped because they had not left when the day of their circuit was over.",
    ),
    Field(
        "dropped_down",
        "packets",
        "Packets dropped because the link of this port was down, when they came or when it went down.",
    ),
    Field("dropped_unrouted", "packets", "Packets that this port sent to a switch from which no path led on."),
    Field("shared_queue", "packets", "Data packets that found no queue of their flow free, and shared one."),
    Field("lost", "packets", "Packets lost on the link."),
    Field(
        "lost_circuit",
        "packets",
        "Packets that found no circuit at the other end of the link, or were cut by the end of a day.",
    ),
    Field("lost_down", "packets", "Packets that were on the link when it went down."),
    Field("corrupted", "packets", "Packets damaged on the link."),
    Field("marked", "packets", "Packets that got an ECN mark here."),
    Field("pauses", "frames", "PFC pause (Xoff) frames that reached this port: how often it was told to stop."),
    Field("paused_ps", "ps", "How long its data classes were paused, added over classes."),
    Field("max_queue_bytes", "B", "Longest data queue."),
    Field("mean_queue_bytes", "B", "Data queue averaged over the time of the run, exactly."),
    Field("headroom_bytes", "B", "PFC headroom reserved for what the neighbour sends into this port."),
    Field("max_headroom_bytes", "B", "Most headroom ever used."),
)

PAUSES = (
    Field("node", "text", "Node of the paused port."),
    Field("peer", "text", "Node at the other end of its link, which sent the pauses."),
    Field(
        "cause_node",
        "text",
        "Node of the egress port that the packets were bound for that exceeded the threshold; the pausing node.",
    ),
    Field("cause_peer", "text", "Its peer."),
    Field(
        "root_node",
        "text",
        "Node of the port where the chain of causes ends: it was congested and not held back by a pause itself.",
    ),
    Field("root_peer", "text", "Its peer."),
    Field(
        "depth", "links", "Largest number of links from the pausing node back to the root; 1 where it owns the root."
    ),
    Field("pauses", "frames", "PFC pause (Xoff) frames that reached the port for this cause and root."),
    Field("paused_ps", "ps", "How long they paused the port, each data class counted for itself."),
)

CIRCUITS = (
    Field("circuit", "text", "Circuit switch."),
    Field("source", "text", "Its neighbour that the circuit comes from."),
    Field("destination", "text", "Its neighbour that the circuit leads to."),
    Field("slot", "number", "Slot of the run, from 0: a day and the night after it."),
    Field("start_ps", "ps", "When the day began, as the circuit switch sees it."),
    Field("day_ps", "ps", "How long the day lasted."),
    Field("tx_bytes", "B", "Bytes that passed, framing included."),
    Field("occupancy", "1", "What that is of all that the link could have carried in the day."),
)

QUEUES = (
    Field("node", "text", "Switch that schedules circuits."),
    Field("peer", "text", "Switch or circuit switch at the other end of the port's link."),
    Field("link", "number", "Which of the links between these nodes, from 1."),
    Field(
        "queue",
        "text",
        "Which queue of the port: `high` or `low` priority of the packet network; `to NODE` for circuits to that rack; `day 0`, `day 1`, "
        "... of a calendar of days.",
    ),
    Field("max_bytes", "B", "Most bytes that it held."),
    Field("full", "packets", "Packets that found it full."),
    Field("expired", "packets", "Packets that were left in it when its day was over."),
)

TABLES: dict[str, tuple[Field, ...]] = {
    "flows": FLOWS,
    "series": SERIES,
    "ports": PORTS,
    "pauses": PAUSES,
    "circuits": CIRCUITS,
    "queues": QUEUES,
}
"""The tables of a run with their columns, as this version of farloop writes and reads them: one Parquet file each."""

FLOW_METRICS = (
    Field(
        "throughput",
        "bit/s",
        "Payload that the receiver got in order, averaged over the interval since the sample before.",
    ),
    Field(
        "cwnd",
        "B",
        "Congestion window: what the sender may have in flight at this instant; infinite where the algorithm sets none.",
    ),
    Field("pacing", "bit/s", "Rate limit on the wire at this instant; infinite where the algorithm sets none."),
    Field("rtt", "s", "Latest round-trip time sample of the sender; 0 before the first."),
)

PORT_METRICS = (
    Field("queue", "B", "Data queue at this instant."),
    Field("max_queue", "B", "Longest data queue since the sample before."),
    Field("utilisation", "1", "Bytes put on the wire since the sample before, over what the link could have carried."),
    Field(
        "paused",
        "1",
        "Part of the interval since the sample before for which PFC held the port, added over data classes.",
    ),
    Field(
        "dropped",
        "packets",
        "Data packets dropped on their way to this port since the sample before: for lack of buffer, at its limit, by its "
        "agent, or for want of a circuit.",
    ),
)

QUEUE_METRICS = (Field("waiting", "B", "Bytes that wait in the queue at this instant."),)

_CLASSES = {
    f"{kind}_{size}": f"flows {where} of {bytes_}"
    for kind, where in (("intra", "inside a datacenter"), ("cross", "across"))
    for size, bytes_ in (("small", "up to 100 kB"), ("medium", "100 kB to 10 MB"), ("large", "more than 10 MB"))
}

_NO_SUCH = "null where there are none"

CELLS = (
    Field("scenario", "text", "Scenario of the arena."),
    Field(
        "start", "text", "How flows begin: `own`, each as its algorithm does, or `transport.start`, the same for all."
    ),
    Field("algorithm", "text", "Congestion control of all its flows."),
    Field("seed", "number", "Seed."),
    Field(
        "because",
        "text",
        "Why the algorithm cannot run there, by the simulator's own checks; null where it ran.",
        optional=True,
    ),
    Field(
        "ranked_by",
        "text",
        "What the scenario ranks by: `throughput`, more is better, or `slowdown`, less is better; null where it did not run.",
        optional=True,
    ),
    Field(
        "score",
        "of ranked_by",
        "`throughput`: geometric mean of the throughputs of all endless flows, in bit/s. `slowdown`: geometric mean over kinds "
        "and classes of sizes of the mean slowdowns. Null where it did not run.",
        optional=True,
    ),
    Field(
        "rank",
        "number",
        "Rank among the algorithms under the same seed, from 1; equal scores have equal ranks; null where it did not run.",
        optional=True,
    ),
    *(
        Field(
            f"{kind}_first_rtt_{what}",
            unit,
            f"Most that a flow {where} may send in its first base round-trip time, {words}; {_NO_SUCH}.",
            optional=True,
        )
        for kind, where in (("intra", "inside a datacenter"), ("cross", "across"))
        for what, unit, words in (
            ("bytes", "B", "in payload"),
            ("bdps", "1", "in bandwidth-delay products of its host's link"),
        )
    ),
    Field("slow_start", "0 or 1", "1 where some flows begin in slow start; null where it did not run.", optional=True),
    Field(
        "intra_throughput_bps",
        "bit/s",
        f"Delivered payload over active time, mean over flows inside a datacenter: the endless ones, where there are any; {_NO_SUCH}.",
        optional=True,
    ),
    Field("cross_throughput_bps", "bit/s", f"The same of flows across; {_NO_SUCH}.", optional=True),
    Field(
        "cross_share",
        "1",
        "Part of all delivered payload that flows across got; null where nothing was delivered.",
        optional=True,
    ),
    Field(
        "jain",
        "1",
        "Jain's fairness index of the throughputs of the endless flows; without any, of the flows' throughputs relative to "
        f"what each gets alone; {_NO_SUCH}.",
        optional=True,
    ),
    *(
        field
        for name, words in _CLASSES.items()
        for field in (
            Field(f"{name}_flows", "flows", f"How many {words} there were; null where it did not run.", optional=True),
            Field(
                f"{name}_slowdown_mean",
                "1",
                f"Their FCT slowdown, mean; those that have not finished count with their age; {_NO_SUCH}.",
                optional=True,
            ),
            Field(f"{name}_slowdown_p50", "1", f"The same, median; {_NO_SUCH}.", optional=True),
            Field(f"{name}_slowdown_p99", "1", f"The same, 99th percentile; {_NO_SUCH}.", optional=True),
        )
    ),
    Field(
        "unfinished",
        "flows",
        "Those of them that had not finished at the end; null where it did not run.",
        optional=True,
    ),
    Field(
        "is_steady",
        "0 or 1",
        "0 where the flows of the second half of the arrivals are slowed otherwise than those of the first; null for fewer than 200 flows.",
        optional=True,
    ),
    Field(
        "paused_ps",
        "ps",
        "PFC: how long ports were paused, added over ports; null where it did not run.",
        optional=True,
    ),
    Field("pauses", "frames", "PFC: pause frames; null where it did not run.", optional=True),
    Field(
        "victims",
        "flows",
        "PFC: flows that waited for a pause whose root is not on their way; null where it did not run.",
        optional=True,
    ),
    Field(
        "queue_port",
        "text",
        "Of the recorded ports the one with the longest mean queue; null where it did not run.",
        optional=True,
    ),
    Field("mean_queue_bytes", "B", "Its queue averaged over the run; null where it did not run.", optional=True),
    Field(
        "p99_queue_bytes", "B", "Its queue, 99th percentile of the samples; null where there are none.", optional=True
    ),
    Field("max_queue_bytes", "B", "Its longest queue; null where it did not run.", optional=True),
    Field(
        "dropped",
        "packets",
        "Dropped for lack of buffer, at a queue's limit, or by an agent; null where it did not run.",
        optional=True,
    ),
)

RANKING = (
    Field("scenario", "text", "Scenario of the arena."),
    Field("start", "text", "As in cells."),
    Field("place", "number", "Place by the mean score, from 1; equal means share one."),
    Field("algorithm", "text", "Congestion control of all its flows."),
    Field("ranked_by", "text", "As in cells."),
    Field("score_mean", "of ranked_by", "Mean of the score over seeds."),
    Field(
        "score_ci95",
        "of ranked_by",
        "From the mean to the farther end of its 95 % confidence interval; null for one seed.",
        optional=True,
    ),
    Field("score_low", "of ranked_by", "Lower end of that interval; null for one seed.", optional=True),
    Field("score_high", "of ranked_by", "Upper end of that interval; null for one seed.", optional=True),
    Field("seeds", "count", "How many seeds those are."),
    Field("best_rank", "number", "Best rank under any seed."),
    Field("worst_rank", "number", "Worst rank under any seed."),
    Field(
        "is_apart",
        "0 or 1",
        "1 where the seeds, taken pairwise, tell it from the first place, with 95 % confidence for all algorithms together; "
        "null for one seed.",
        optional=True,
    ),
    Field(
        "against_best",
        "1",
        "How many times the first place's score it has: geometric mean of the ratios seed by seed; null where one is 0.",
        optional=True,
    ),
    Field(
        "against_best_low",
        "1",
        "Lower end of its interval, which holds together with those of all others; null for one seed.",
        optional=True,
    ),
    Field("against_best_high", "1", "Upper end of that interval; null for one seed.", optional=True),
    Field(
        "is_fragile",
        "0 or 1",
        "1 where variations in ties and starts move the score of the first seed by more than 5 %, and by more than score_ci95; "
        "null without variations.",
        optional=True,
    ),
)

ARENA: dict[str, tuple[Field, ...]] = {"cells": CELLS, "ranking": RANKING}
"""The tables of an arena with their columns: one CSV and one Parquet file each."""

METRICS: dict[str, tuple[Field, ...]] = {
    "flow": FLOW_METRICS,
    "port": PORT_METRICS,
    "queue": QUEUE_METRICS,
    "worst": PORT_METRICS,
}
"""The metrics of the series, by kind of object."""


def columns(table: str) -> list[str]:
    """Names of a table's columns, in order."""
    return [field.name for field in TABLES[table]]


def markdown(fields: tuple[Field, ...], what: str) -> str:
    """A Markdown table of columns or metrics."""
    rows = [f"| {what} | unit | meaning |", "| --- | --- | --- |"]
    rows += [f"| `{f.name}` | {f.unit} | {f.meaning.replace('|', chr(92) + '|')} |" for f in fields]
    return "\n".join(rows) + "\n"


def outputs_page(text: str) -> str:
    """The text of docs/outputs.md with the tables between its markers made anew."""
    blocks = {f"columns of {name}": markdown(fields, "column") for name, fields in {**TABLES, **ARENA}.items()}
    blocks |= {f"metrics of {kind}s": markdown(fields, "metric") for kind, fields in METRICS.items()}

    def fill(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n\n{blocks[match[1]]}\n<!-- end -->"

    return re.sub(r"<!-- ((?:columns|metrics) of \w+) -->.*?<!-- end -->", fill, text, flags=re.DOTALL)


if __name__ == "__main__":
    import sys
    from pathlib import Path

    for argument in sys.argv[1:]:
        Path(argument).write_text(outputs_page(Path(argument).read_text("utf-8")), encoding="utf-8")

"""Declarations of the tables: every column, metric and total with its unit and meaning, declared once.

The simulator declares its columns (`crates/scenario/src/columns`). This module declares those that Python computes: the tables of an
arena. Both give the metadata of the Parquet files, and the tables of docs/outputs.md, which `python -m farloop.results.fields
docs/outputs.md` writes.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass

from farloop import _native
from farloop.results import measures, paper_measures
from farloop.results.size_classes import GEMINI


@dataclass(frozen=True)
class Field:
    """A column or a metric.

    Attributes:
        name: Its name in tables.
        unit: The unit of its values; "text", "count", "0 or 1" or "1" (a fraction) where there is none.
        meaning: Its meaning, in a sentence.
        optional: True if it can be null; the meaning says when.
        kind: Its type in the simulator: "i64", "u32", "f64", or "dict" for texts; empty for what Python computes.
        measure: The identifier of a number of a run (`farloop.results.measures`); empty for what is none.
        not_of: The gears that do not have it; under them it is null, or not there.
    """

    name: str
    unit: str
    meaning: str
    optional: bool = False
    kind: str = ""
    measure: str = ""
    not_of: tuple[str, ...] = ()

    @property
    def nothing(self) -> int | None:
        """The value where there is nothing of it."""
        return None if self.optional else 0


def _fields(declared: list[tuple[str, str, str, str, bool, list[str]]]) -> tuple[Field, ...]:
    return tuple(
        Field(name, unit, meaning, optional, kind, not_of=tuple(gears))
        for name, unit, meaning, kind, optional, gears in declared
    )


_OUTPUTS = json.loads(_native.outputs())

TABLES: dict[str, tuple[Field, ...]] = {name: _fields(declared) for name, declared in _OUTPUTS["tables"].items()}
"""The tables of a run with their columns, as this version of farloop writes and reads them: one Parquet file each."""

METRICS: dict[str, tuple[Field, ...]] = {kind: _fields(declared) for kind, declared in _OUTPUTS["metrics"].items()}
"""The metrics of the series, by kind of object."""

TOTALS = _fields(_OUTPUTS["totals"])
"""The totals of a run, in its manifest."""

_CLASSES = {
    f"{kind}_{size.name}": f"flows {where} of {size.label}"
    for kind, where in (("intra", "inside a datacenter"), ("cross", "across"))
    for size in GEMINI.classes
}

_NO_SUCH = "null where there are none"

_CELLS = (
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
        "traffic",
        "text",
        "`endless`: with flows that no algorithm could finish, which then are what is judged; else `finite`; null where it did not run.",
        optional=True,
    ),
    Field(
        "score",
        "1",
        "Geometric mean; less is better. `finite`: of the 99th percentiles of the slowdowns of small and large flows, inside and across "
        "(medium ones of a kind that has neither). `endless`: of 1 / goodput in s/bit, and 1 / Jain's index. Null where it did not run.",
        optional=True,
    ),
    Field(
        "rank",
        "number",
        "Rank among the algorithms that hold all constraints, under the same seed, from 1; equal scores have equal ranks; null for others.",
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
        "Jain's fairness index of all flows' throughputs; null where it did not run.",
        optional=True,
    ),
    Field(
        "jain_endless",
        "1",
        f"The same of the endless flows, of which it is scored; {_NO_SUCH}.",
        optional=True,
    ),
    Field(
        "jain_relative",
        "1",
        f"The same of the throughputs of flows that could finish, relative to what each gets alone (1 over its slowdown); {_NO_SUCH}.",
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
        "Dropped by switches and hosts, for any cause; null where it did not run.",
        optional=True,
    ),
    Field(
        "paused_share",
        "1",
        "Part of the time that the port with the longest PFC pauses was paused; null where it did not run.",
        optional=True,
    ),
    Field(
        "border_paused_share",
        "1",
        "The same of the ports of switches with a long-haul link; null where there are none, or it did not run.",
        optional=True,
    ),
    Field(
        "victim_share",
        "1",
        "Part of the flows that were victims of pauses; null where it did not run.",
        optional=True,
    ),
    Field(
        "lossless_dropped",
        "packets",
        "Dropped for lack of room where PFC was to prevent it; null where it did not run.",
        optional=True,
    ),
    Field(
        "dropped_share",
        "1",
        "`dropped` over the packets that hosts sent; null where it did not run.",
        optional=True,
    ),
    Field(
        "unfinished_share",
        "1",
        "Part of the flows that could have finished and did not; null where there are none.",
        optional=True,
    ),
    Field(
        "least_share",
        "1",
        "Least throughput of an endless flow over their mean; null where there are none.",
        optional=True,
    ),
    Field(
        "queue_delay_s",
        "s",
        "Mean queue over the port's rate, of the switch port where that is longest; null where it did not run.",
        optional=True,
    ),
    Field(
        "goodput_bps",
        "bit/s",
        "Delivered payload of all flows over the time of the run; null where it did not run.",
        optional=True,
    ),
    Field(
        "longest_rtt_s",
        "s",
        "Longest base round-trip time of a flow; null where it did not run.",
        optional=True,
    ),
)

CELLS = tuple(dataclasses.replace(field, measure=measures.of_cell(field.name)) for field in _CELLS)

RANKING = (
    Field("scenario", "text", "Scenario of the arena."),
    Field("start", "text", "As in cells."),
    Field("algorithm", "text", "Congestion control of all its flows."),
    Field(
        "state",
        "text",
        "`ranked`: it holds all constraints, on average over the seeds; `fails`: it does not; `reference`: it is measured, not ranked.",
    ),
    Field(
        "group",
        "number",
        "From 1. The first group has the best score, all within 5 % of it, and all that the seeds do not separate from it; the second has "
        "the best of the others, and so on. Null where it is not ranked.",
        optional=True,
    ),
    Field("breaks", "text", "The constraints that it breaks, with the mean over seeds; empty for none."),
    Field("needs", "text", "What it takes of switches and routes."),
    Field("linux", "text", "How a Linux host gets it: `in Linux`, `farloop kernel`, or empty where it cannot."),
    Field("traffic", "text", "As in cells."),
    Field("score", "1", "Geometric mean of the score over seeds; infinite where nothing was delivered."),
    Field("score_low", "1", "Lower end of its 95 % confidence interval; null for one seed.", optional=True),
    Field("score_high", "1", "Upper end of that interval; null for one seed.", optional=True),
    Field("seeds", "count", "How many seeds those are."),
    Field("best_rank", "number", "Best rank under any seed; null where it is not ranked.", optional=True),
    Field("worst_rank", "number", "Worst rank under any seed; null where it is not ranked.", optional=True),
    Field(
        "is_apart",
        "0 or 1",
        "1 where the seeds, taken pairwise, tell it from the best score, with 95 % confidence for all algorithms together; "
        "null for one seed, and where it is not ranked.",
        optional=True,
    ),
    Field(
        "against_best",
        "1",
        "How many times the best ranked score it has: geometric mean of the ratios seed by seed; null where none is ranked.",
        optional=True,
    ),
    Field(
        "against_best_low",
        "1",
        "Lower end of its interval, which holds together with those of all others; null for one seed.",
        optional=True,
    ),
    Field("against_best_high", "1", "Upper end of that interval; null for one seed.", optional=True),
    Field("paused_share", "1", "As in cells, mean over seeds."),
    Field(
        "is_fragile",
        "0 or 1",
        "1 where variations in ties and starts move the score of the first seed by more than 5 %, and by more than half its interval; "
        "null without variations.",
        optional=True,
    ),
)

WHY = (
    Field("scenario", "text", "Scenario of the arena."),
    Field("start", "text", "As in cells."),
    Field("algorithm", "text", "Congestion control of all its flows."),
    Field("seed", "number", "The first seed."),
    Field("flow", "text", "The flow at the 99th percentile of the FCT slowdown; empty where no flow could finish."),
    Field("slowdown", "1", "Its FCT slowdown, by its age where it did not finish; null without a flow.", optional=True),
    Field("time_ps", "ps", "Its time, all of which is explained; null where it is not.", optional=True),
    Field("cause", "text", "What took most of that time; empty where it is not explained."),
    Field("share", "1", "That part of its time; null where it is not explained.", optional=True),
    Field("answer", "text", "In one line where its time went; empty where it is not explained."),
    Field("because", "text", "Why it is not explained; null where it is.", optional=True),
)

ARENA: dict[str, tuple[Field, ...]] = {"cells": CELLS, "ranking": RANKING}
"""The tables of an arena with their columns: one CSV and one Parquet file each. `WHY` is one more, with `--why`."""


def metadata(field: Field) -> dict[str, str]:
    """The metadata of a column in Parquet files."""
    described = {"unit": field.unit, "meaning": field.meaning}
    return described | {"measure": field.measure} if field.measure else described


def columns(table: str) -> list[str]:
    """Names of a table's columns, in order."""
    return [field.name for field in TABLES[table]]


def markdown(fields: tuple[Field, ...], what: str) -> str:
    """A Markdown table of columns or metrics, with the identifiers of measures where there are any."""
    has_measures = any(f.measure for f in fields)
    rows = [f"| {what} | unit | meaning |", "| --- | --- | --- |"]
    if has_measures:
        rows = [f"| {what} | unit | measure | meaning |", "| --- | --- | --- | --- |"]
    for f in fields:
        measure = f" {_code(f.measure)} |" if has_measures else ""
        rows.append(f"| `{f.name}` | {f.unit} |{measure} {_escape(f.meaning)}{_gears(f, what)} |")
    return "\n".join(rows) + "\n"


def _gears(field: Field, what: str) -> str:
    """Returns the gears without a column or metric, in words; what packets do not have says so itself."""
    if not field.not_of or "packets" in field.not_of:
        return ""
    return f" {'Not there' if what == 'metric' else 'Null'} under `{'`, `'.join(field.not_of)}`."


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def _measures() -> str:
    """A Markdown table of the measures that are no statistics of completion times, which go by a rule."""
    rows = ["| measure | unit | better | meaning |", "| --- | --- | --- | --- |"]
    rows += [
        f"| `{m.identifier}` | {m.unit} | {m.better} | {_escape(m.definition)} |"
        for m in measures.declared_measures().values()
        if not m.until and not m.identifier.startswith("flows/")
    ]
    return "\n".join(rows) + "\n"


def _paper_measures() -> str:
    """A Markdown table of the numbers that papers define otherwise."""
    rows = ["| measure | unit | meaning | source |", "| --- | --- | --- | --- |"]
    rows += [
        f"| `{m.identifier}` | {m.unit} | {_escape(f'{m.definition} {m.open_choice}'.strip())} | {_escape(m.source)} |"
        for m in paper_measures.PAPER_MEASURES
    ]
    return "\n".join(rows) + "\n"


def outputs_page(text: str) -> str:
    """The text of docs/outputs.md with the tables between its markers made anew."""
    declared = {**TABLES, **ARENA, "why": WHY}
    blocks = {f"columns of {name}": markdown(fields, "column") for name, fields in declared.items()}
    blocks |= {f"metrics of {kind}s": markdown(fields, "metric") for kind, fields in METRICS.items()}
    blocks["totals of runs"] = markdown(TOTALS, "total")
    blocks["measures of runs"] = _measures()
    blocks["measures of papers"] = _paper_measures()

    def fill(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n\n{blocks[match[1]]}\n<!-- end -->"

    return re.sub(r"<!-- ((?:columns|metrics|totals|measures) of \w+) -->.*?<!-- end -->", fill, text, flags=re.DOTALL)


if __name__ == "__main__":
    import sys
    from pathlib import Path

    from farloop.safe_files.named_files import NamedFiles

    with NamedFiles() as pages:
        for argument in sys.argv[1:]:
            pages.write(argument, outputs_page(Path(argument).read_text("utf-8")).encode())

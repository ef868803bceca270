"""An arena's numbers: a row for every scenario, algorithm and seed, and the ranking of every scenario."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from farloop.deprecation import warn_renamed
from farloop.results import fields, tables
from farloop.studies.arena import requirements
from farloop.studies.arena.constraints import Requirement
from farloop.studies.arena.measuring import Measured
from farloop.studies.arena.plan import Incompatible
from farloop.studies.arena.ranking import Standing, standings
from farloop.studies.arena.tails import Tail

_TYPES = {"text": pa.string(), "number": pa.int64(), "count": pa.int64(), "ps": pa.int64(), "0 or 1": pa.int64()}
_TYPES |= {unit: pa.int64() for unit in ("flows", "frames", "packets")}
"""Types of columns by unit; all others are floating point."""


@dataclass(frozen=True)
class Result:
    """Results of an arena in one scenario.

    Attributes:
        name: Name of the scenario.
        facts: Description of it in words: title, source, transport, switches, duration, how flows start.
        runs: The measured runs, in the order of algorithms and seeds.
        refusals: Runs that could not be made, and why.
        perturbed: By algorithm the scores of variations of the first seed's run in ties and starts; empty where there are none.
        constraints: Constraints that must hold for an algorithm to be ranked.
        part_of: The scenario that this is a point of.
        point: The settings that make it that point; empty where there is one only.
        tails: Why the tail is slow, by algorithm; empty where nobody asked.
    """

    name: str
    facts: Mapping[str, str]
    runs: list[Measured]
    refusals: list[Incompatible]
    perturbed: Mapping[str, list[float | None]] = field(default_factory=dict)

    constraints: tuple[Requirement, ...] = ()
    part_of: str = ""
    point: Mapping[str, str] = field(default_factory=dict)
    tails: Mapping[str, Tail] = field(default_factory=dict)

    @property
    def shaken(self) -> Mapping[str, list[float | None]]:
        """The old name of `perturbed`."""
        warn_renamed("Result.shaken", "Result.perturbed")
        return self.perturbed

    @cached_property
    def standings(self) -> list[Standing]:
        """The algorithms: groups in their order, then those that fail, then references."""
        references = {run.algorithm for run in self.runs if requirements.is_reference(run.algorithm)}
        return standings(self.runs, self.perturbed, constraints=self.constraints, references=references)

    @property
    def traffic(self) -> str:
        """Kind of traffic, "endless" or "finite"; empty where nothing ran."""
        return self.runs[0].traffic if self.runs else ""

    @property
    def start(self) -> str:
        """Start of flows: "own" for each as its algorithm does, else `transport.start`."""
        return self.facts.get("start", "own")

    def list_runs(self, algorithm: str) -> list[Measured]:
        """The runs of an algorithm, one per seed."""
        return [run for run in self.runs if run.algorithm == algorithm]

    def explain_refusal(self, algorithm: str) -> str:
        """Why an algorithm cannot run here; empty if it can."""
        return next((refusal.because for refusal in self.refusals if refusal.algorithm == algorithm), "")


def cells(results: Sequence[Result], algorithms: Sequence[str], seeds: Sequence[int]) -> pa.Table:
    """A row for every scenario, algorithm and seed, in this order; see [CELLS][farloop.results.fields.CELLS]."""
    rows = []
    for result in results:
        ranked = {(s.algorithm, seed): rank for s in result.standings for seed, rank in s.ranks.items()}
        runs = {(run.algorithm, run.seed): run for run in result.runs}
        refused = {(refusal.algorithm, refusal.seed): refusal.because for refusal in result.refusals}
        for algorithm in algorithms:
            for seed in seeds:
                row: dict[str, Any] = {
                    "scenario": result.name,
                    "start": result.start,
                    "algorithm": algorithm,
                    "seed": seed,
                }
                measured = runs.get((algorithm, seed))
                if measured is None:
                    row["because"] = refused[algorithm, seed]
                else:
                    row |= {
                        "traffic": measured.traffic,
                        "score": measured.score,
                        "rank": ranked.get((algorithm, seed)),
                    }
                    row |= measured.values
                rows.append(row)
    return _table(fields.CELLS, rows)


def ranking(results: Sequence[Result]) -> pa.Table:
    """A row for every scenario and algorithm that ran, the best group first; see [RANKING][farloop.results.fields.RANKING]."""
    rows = [
        {
            "scenario": result.name,
            "start": result.start,
            "algorithm": standing.algorithm,
            "state": standing.state,
            "group": standing.group,
            "breaks": "; ".join(map(str, standing.broken)),
            "needs": requirements.in_words(standing.algorithm),
            "linux": requirements.on_linux(standing.algorithm),
            "traffic": result.traffic,
            "score": standing.score.estimate,
            "score_low": standing.score.low,
            "score_high": standing.score.high,
            "seeds": standing.score.n,
            "best_rank": min(standing.ranks.values(), default=None),
            "worst_rank": max(standing.ranks.values(), default=None),
            "is_apart": None if standing.is_apart is None else int(standing.is_apart),
            "against_best": standing.against_best.estimate,
            "against_best_low": standing.against_best.low,
            "against_best_high": standing.against_best.high,
            "paused_share": standing.paused,
            "is_fragile": None if standing.is_fragile is None else int(standing.is_fragile),
        }
        for result in results
        for standing in result.standings
    ]
    return _table(fields.RANKING, rows)


def tabulate_causes(results: Sequence[Result]) -> pa.Table:
    """A row for every scenario and algorithm that ran; see [WHY][farloop.results.fields.WHY]."""
    rows = [
        {"scenario": result.name, "start": result.start, **vars(tail)} | {"because": tail.because or None}
        for result in results
        for tail in result.tails.values()
    ]
    return _table(fields.WHY, rows)


def write(table: pa.Table, into: Path, name: str) -> None:
    """Writes a table as CSV, empty where there is no value, and as Parquet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(["" if value is None else value for value in row.values()] for row in table.to_pylist())
    (into / f"{name}.csv").write_text(text.getvalue(), encoding="utf-8")
    tables.write(table, into / f"{name}.parquet")


def _table(declared: Sequence[fields.Field], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    columns = [pa.array([row.get(f.name) for row in rows], _TYPES.get(f.unit, pa.float64())) for f in declared]
    schema_fields = [
        pa.field(f.name, column.type, metadata=fields.metadata(f)) for f, column in zip(declared, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(schema_fields))

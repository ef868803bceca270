"""The output of `--json`: one document of the schema `farloop/1` for each kind of command, with every number under its identifier."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farloop import _native
from farloop.results.headline import headline
from farloop.results.measures import declared_measures, identifiers_of_summary

if TYPE_CHECKING:
    import pyarrow as pa

    from farloop.results.run import Comparison, FigureVerdicts, Run
    from farloop.studies.advice.asking import Advice
    from farloop.studies.arena.table import Result
    from farloop.studies.capacity.planning import CapacityPlan
    from farloop.studies.sweep.study import Study
    from farloop.studies.validation.checks import FidelityCheck
    from farloop.studies.validation.fluid_errors import FluidError
    from farloop.studies.validation.relations import RelationOutcome

SCHEMA = "farloop/1"
"""Grows by keys alone; a key that changes its meaning makes it `farloop/2`."""

Document = dict[str, Any]


def comparison(result: Comparison, target: Path, kind: str) -> Document:
    """Of `run` and `compare`: a group for each case and algorithm."""
    groups = [_group(label, runs) for label, runs in result.groups.items()]
    answer = headline(result)
    sentences = {"answer": list(answer.sentences), "limit": answer.limit}
    more = {**sentences, "groups": groups, "cautions": result.cautions, "deadlocks": result.deadlocks}
    return _document(kind, target, title=result.title, seeds=list(result.seeds), **more, claims=result.claims)


def study(result: Study) -> Document:
    """Of `sweep`: a row for each point."""
    from farloop.studies.sweep.dataset import OF_METRICS
    from farloop.studies.sweep.multiples import unit_of

    columns = result.points.column_names
    metrics = [name for name in columns if f"{name}{OF_METRICS[1]}" in columns]
    keys = columns[columns.index("algorithm") + 1 : columns.index("seeds")]
    points = []
    for row in result.points.to_pylist():
        numbers = []
        for name in metrics:
            low, high = (row[f"{name}{end}"] for end in OF_METRICS[1:])
            numbers.append(
                _number(name, _measure_of(result.points, name), unit_of(result.points, name), row[name], low, high)
            )
        settings = {key: row[key] for key in keys}
        own = {"point": row["point"], "algorithm": row["algorithm"], "settings": settings, "seeds": row["seeds"]}
        points.append(own | {"numbers": numbers})
    statuses = result.runs["status"].to_pylist()
    counts = {"made": result.counts.made, "kept": result.counts.kept}
    counts |= {status: statuses.count(status) for status in ("done", "failed", "refused")}
    notes = {"notes": result.notes, "cautions": result.cautions}
    return _document("study", result.directory, title=result.title, points=points, runs=counts, **notes)


def arena(results: Sequence[Result], target: Path) -> Document:
    """Of `arena`: each scenario with the standing of every algorithm."""
    scenarios = []
    for result in results:
        standings = [
            {
                "algorithm": standing.algorithm,
                "state": standing.state,
                "group": standing.group,
                "breaks": [str(broken) for broken in standing.broken],
                "is_fragile": standing.is_fragile,
                "numbers": [
                    _number(
                        "score",
                        "arena_score",
                        "1",
                        standing.score.estimate,
                        standing.score.low,
                        standing.score.high,
                        standing.score.n,
                    )
                ],
            }
            for standing in result.standings
        ]
        own = {"scenario": result.name, "start": result.start, "traffic": result.traffic, "standings": standings}
        scenarios.append(own | {"refused": [vars(refusal) for refusal in result.refusals]})
    return _document("arena", target, scenarios=scenarios)


def advice(result: Advice) -> Document:
    """Of `advise`: the answer, and every candidate with its quantities."""
    from farloop.studies.arena.quantities import quantity

    candidates = []
    for row in result.content["candidates"]:
        numbers = [
            _number(name, quantity(name).measure, "", value, n=int(row["seeds"]))
            for name, value in row["quantities"].items()
        ]
        own = {key: row[key] for key in ("name", "algorithm", "state", "because", "seeds", "against_best")}
        candidates.append(own | {"numbers": numbers})
    more = {"answer": result.sentence, "advised": list(result.advised), "leaders": list(result.leaders)}
    return _document("advice", result.directory, title=str(result.content["title"]), **more, candidates=candidates)


def plan(result: CapacityPlan) -> Document:
    """Of `plan`: each condition with what is enough, and every point by rates and by packets."""
    content = result.content
    conditions = []
    for condition in content["conditions"]:
        points = []
        for place, option in enumerate(content["options"]):
            rates: Mapping[str, Any] = (condition["by_rates"] or [{"state": "", "values": {}}] * (place + 1))[place]
            packets: Mapping[str, Any] = condition["by_packets"].get(
                str(place), {"state": "", "values": {}, "seeds": 0}
            )
            numbers = [
                _plan_number(f"{name}, by rates", name, each["value"], each) for name, each in rates["values"].items()
            ]
            numbers += [
                _plan_number(name, name.partition(", ")[0], each["mean"], each, packets["seeds"])
                for name, each in packets["values"].items()
            ]
            own = {"option": option["text"], "by_rates": rates["state"], "by_packets": packets["state"]}
            points.append(own | {"numbers": numbers})
        enough = None if condition["answer"] is None else content["options"][condition["answer"]]["text"]
        own = {"condition": condition["text"], "enough": enough, "is_decided": condition["is_decided"]}
        conditions.append(own | {"points": points})
    more = {"title": content["title"], "answer": result.sentence, "untried": content["untried"]}
    return _document("plan", result.directory, **more, conditions=conditions)


def _plan_number(name: str, quantity_name: str, value: float | None, ends: Mapping[str, Any], n: int = 1) -> Document:
    from farloop.studies.arena.quantities import quantity

    return _number(name, quantity(quantity_name).measure, "", value, ends["low"], ends["high"], n)


def reproduction(figures: Iterable[FigureVerdicts], target: Path) -> Document:
    """Of `reproduce`: each figure with its claims."""
    rows = [
        {"figure": f.figure, "title": f.title, "claims": f.claims, "deadlocks": f.deadlocks, "notes": f.notes}
        for f in figures
    ]
    return _document("reproduction", target, figures=rows)


def validation(
    checks: Sequence[FidelityCheck],
    outcomes: Sequence[RelationOutcome],
    target: Path,
    errors: Sequence[FluidError] = (),
) -> Document:
    """Of `validate`: what validation.json has."""
    rows = {
        "checks": [check.row() for check in checks],
        "relations": [outcome.row() for outcome in outcomes],
        "fluid": [error.row() for error in errors],
    }
    return _document("validation", target, **rows)


def schema() -> Document:
    """The JSON Schema of these documents."""
    text, number, whole = {"type": "string"}, {"type": ["number", "null"]}, {"type": "integer"}
    texts = {"type": "array", "items": text}
    numbers = {"type": "array", "items": {"$ref": "#/$defs/number"}}
    measured = _object(name=text, measure=text, unit=text, value=number, low=number, high=number, n=whole)
    group = _object(label=text, algorithm=text, seeds=_list(whole), numbers=numbers)
    point = _object(
        point=whole, algorithm={"type": ["string", "null"]}, settings={"type": "object"}, seeds=whole, numbers=numbers
    )
    runs = _object(made=whole, kept=whole, done=whole, failed=whole, refused=whole)
    standing = _object(
        algorithm=text,
        state={"enum": ["ranked", "fails", "reference"]},
        group={"type": ["integer", "null"]},
        breaks=texts,
        is_fragile={"type": ["boolean", "null"]},
        numbers=numbers,
    )
    refused = {"type": "array", "items": {"type": "object"}}
    scenario = _object(scenario=text, start=text, traffic=text, standings=_list(standing), refused=refused)
    candidate = _object(
        name=text, algorithm=text, state=text, because={}, seeds=whole, against_best={"type": "object"}, numbers=numbers
    )
    claims = {"type": "array", "items": {"type": "object", "required": ["id", "verdict"]}}
    figure = _object(figure=text, title=text, claims=claims, deadlocks=texts, notes=texts)
    compared = {
        "title": text,
        "seeds": _list(whole),
        "answer": texts,
        "limit": text,
        "groups": _list(group),
        "cautions": texts,
        "deadlocks": texts,
        "claims": claims,
    }
    planned = _object(option=text, by_rates=text, by_packets=text, numbers=numbers)
    condition = _object(
        condition=text, enough={"type": ["string", "null"]}, is_decided={"type": "boolean"}, points=_list(planned)
    )
    kinds: dict[str, Document] = {
        "run": compared,
        "comparison": compared,
        "study": {"title": text, "points": _list(point), "runs": runs, "notes": texts, "cautions": texts},
        "arena": {"scenarios": _list(scenario)},
        "advice": {"title": text, "answer": text, "advised": texts, "leaders": texts, "candidates": _list(candidate)},
        "plan": {"title": text, "answer": text, "untried": texts, "conditions": _list(condition)},
        "reproduction": {"figures": _list(figure)},
        "validation": {"checks": _list({"type": "object"}), "relations": _list({"type": "object"})},
    }
    head = {"schema": {"const": SCHEMA}, "farloop": text, "directory": text}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What farloop prints with --json",
        "oneOf": [_object(kind={"const": kind}, **head, **keys) for kind, keys in kinds.items()],
        "$defs": {"number": measured},
    }


def _object(**keys: Document) -> Document:
    return {"type": "object", "properties": keys, "required": list(keys)}


def _list(items: Document) -> Document:
    return {"type": "array", "items": items}


def _document(kind: str, target: Path, **content: Any) -> Document:
    head = {"schema": SCHEMA, "kind": kind, "farloop": _native.version(), "directory": str(target)}
    plain = _to_json_values(head | content)
    assert isinstance(plain, dict)
    return plain


def _group(label: str, runs: Sequence[Run]) -> Document:
    from farloop.results.seeds import statistics

    combined = statistics([run.summary for run in runs])
    paths = {path: measure for run in runs for path, measure in identifiers_of_summary(run.summary).items()}
    declared = declared_measures(runs[0].sizes)
    numbers = []
    for path, measure in paths.items():
        row: Any = combined
        for key in path.split("/"):
            row = row.get(key) if isinstance(row, Mapping) else None
        if isinstance(row, Mapping) and "mean" in row:
            unit = declared[measure].unit if measure in declared else ""
            numbers.append(_number(path, measure, unit, row["mean"], row["low"], row["high"], row["n"]))
    return {"label": label, "algorithm": runs[0].algorithm, "seeds": [run.seed for run in runs], "numbers": numbers}


def _number(
    name: str,
    measure: str,
    unit: str,
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    n: int = 0,
) -> Document:
    if not unit and measure:
        known = declared_measures().get(measure)
        unit = known.unit if known is not None else ""
    return {"name": name, "measure": measure, "unit": unit, "value": value, "low": low, "high": high, "n": n}


def _measure_of(table: pa.Table, name: str) -> str:
    return str((table.schema.field(name).metadata or {}).get(b"measure", b"").decode())


def _to_json_values(value: Any) -> Any:
    """As JSON can have it: what is no finite number is null."""
    if isinstance(value, Mapping):
        return {str(key): _to_json_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_values(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)

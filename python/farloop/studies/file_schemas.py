"""JSON Schemas of studies' and questions' files, for editors that complete and check TOML."""

from __future__ import annotations

import json
from typing import Any

from farloop import _native
from farloop.studies.advice import question
from farloop.studies.sweep import definition

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_TEXT_OR_TEXTS: Schema = {"anyOf": [_TEXT, _TEXTS]}
_WHOLE: Schema = {"type": "integer", "minimum": 0}


def study_schema() -> Schema:
    """Of a study's file ; values are checked by `farloop sweep`, which names lines."""
    scenario: Schema = json.loads(_native.schema())
    base = {key: value for key, value in scenario.items() if key not in ("$schema", "$defs", "title")}
    known: dict[str, Schema] = {
        "title": _add_description(_TEXT, "What the study is about."),
        "base": _add_description(
            {"anyOf": [_TEXT, base]}, "The scenario that every point changes: a file, or its tables."
        ),
        "algorithm_file": _add_description(_TEXT_OR_TEXTS, "Files of Python with algorithms."),
        "set": _add_description({"type": "object"}, "Settings of all points."),
        "grid": _add_description({"type": "object"}, "Keys and their values, of which all combinations are points."),
        "list": _add_description({"type": "array", "items": {"type": "object"}}, "Points, one by one."),
        "random": _add_description({"type": "object"}, "Keys and the ranges that they are drawn from."),
        "where": _add_description(_TEXT_OR_TEXTS, "What must hold of a point."),
        "constraint": _add_description({"type": "array", "items": {"type": "object"}}, "The same, each with a reason."),
        "sizes": _add_description(_TEXT, "Classes of flow sizes: gemini, median, or bounds such as 20kB,1MB."),
        "collect": _add_description({"type": ["string", "array", "object"]}, "Metrics by name."),
        "pareto": _add_description(
            {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}, "Two metrics of a front."
        ),
        "until": _add_description(_TEXT, "A precision, such as p99 slowdown ± 5 %."),
        "most_seeds": _add_description(_WHOLE, "The limit of seeds for it."),
        "warmup": _add_description({"type": ["string", "number"]}, "What is cut of each run's beginning."),
    }
    return _make_object("farloop study", known, definition.KEYS) | {"$defs": scenario.get("$defs", {})}


def question_schema() -> Schema:
    """Of a question's file for `farloop advise`."""
    known: dict[str, Schema] = {
        "scenario": _add_description(_TEXT, "A scenario file beside this one, or a paper's figure."),
        "goal": _add_description(_TEXT, "What is to be good, such as p99 slowdown of small flows."),
        "must": _add_description(_TEXTS, "What must hold, such as no pfc across."),
        "can": _add_description(_TEXTS, "What hosts and switches can be made to do."),
        "candidates": _add_description(_TEXTS, "The algorithms that are asked about."),
        "budget": _add_description(_TEXT, "Time of one processor, such as 10min."),
        "seed": _add_description(_WHOLE, "The first of the seeds."),
        "tune": _add_description({"type": "boolean"}, "Search for parameters of the best."),
        "set": _add_description({"type": "object"}, "Settings of the scenario."),
    }
    return _make_object("farloop question", known, question.KEYS) | {"required": ["scenario"]}


def _add_description(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def _make_object(title: str, known: dict[str, Schema], keys: tuple[str, ...]) -> Schema:
    """An object with these keys and no others."""
    properties = {key: known[key] for key in keys}
    return {"$schema": DRAFT, "title": title, "type": "object", "properties": properties, "additionalProperties": False}

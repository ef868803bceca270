"""One identifier, one number: what the commands compute of the same run, compared by the identifiers of their measures."""

import json
import math

import pytest
from support.two_sites import ENDLESS, NO_FLOWS, TWO_SITES

import farloop
from farloop.results import fields, measures
from farloop.results.size_classes import GEMINI, MEDIAN, parse
from farloop.studies.arena import measuring, quantities
from farloop.studies.sweep import dataset
from farloop.studies.sweep import measures as of_studies
from farloop.studies.validation import compared_numbers, references

#: Columns and keys that hold no number of a run.
NO_MEASURES = {"scenario", "start", "algorithm", "seed", "because", "traffic", "queue_port"}

UNITS = {"paused_ps": 1e12}


#: A study's classes of flow sizes; each has measures of its own besides those of all sizes.
CLASSES = (GEMINI, MEDIAN, parse("20kB,1MB"))


def collectible():
    """Everything that a study can collect by name, whatever its classes: the classes, name, metric."""
    return [(sizes, name, of) for sizes in (None, *CLASSES) for name, of in of_studies.known_measures(sizes).items()]


def is_declared(identifier):
    return any(identifier in measures.declared_measures(sizes) for sizes in CLASSES)


def numbers_by_measure(run):
    """Each number of a run that a command computes: identifier, command and name, value."""
    for sizes, name, metric in collectible():
        yield metric.identifier, f"sweep {sizes and sizes.name} {name}", metric.measure_run(run)
    values = measuring.measure_run(run, "two sites").values
    for field in fields.CELLS:
        if field.measure and field.name in values:
            value = values[field.name]
            yield field.measure, f"arena {field.name}", None if value is None else value / UNITS.get(field.name, 1.0)
    for name in ("fct_mean", "fct_p50", "fct_p99", "fct_small_p99", "fct_large_mean", "unfinished", "jain"):
        yield measures.of_validation(name), f"validate {name}", compared_numbers.measure(run, name)
    for sizes in CLASSES:
        for path, value in leaves(run.by_sizes(sizes).summary):
            if identifier := measures.of_summary(path):
                yield identifier, f"summary {sizes.name} {path}", value


def leaves(value, path=""):
    """Path and value of each number of a summary."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}/{key}" if path else key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


@pytest.fixture(scope="module", params=["unfinished", "endless", "no flows", "long"])
def run(request, tmp_path_factory):
    text = TWO_SITES
    if request.param == "endless":
        text += ENDLESS
    elif request.param == "no flows":
        text = NO_FLOWS
    elif request.param == "long":
        text = text.replace('duration = "30ms"', 'duration = "300ms"')
    path = tmp_path_factory.mktemp("measures") / "two-sites.toml"
    path.write_text(text, encoding="utf-8")
    return farloop.run(path, algorithm="cubic")


#: Of ports each number of a summary is another port's.
OF_ONE_OF_SEVERAL = (
    "queue/mean",
    "queue/p99",
    "queue/max",
    "dropped/port",
    "paused/port",
    "utilisation/port",
    "marked/port",
)


def test_numbers_with_one_identifier_are_equal_in_all_commands(run):
    seen = {}
    for identifier, name, value in numbers_by_measure(run):
        assert is_declared(identifier), name
        if identifier in OF_ONE_OF_SEVERAL:
            continue
        number = math.nan if value is None else float(value)
        first_name, first = seen.setdefault(identifier, (name, number))
        assert number == pytest.approx(first, rel=1e-12, nan_ok=True), (identifier, first_name, name)
    assert sum(1 for _ in numbers_by_measure(run)) > len(seen), "commands share numbers"


def test_numbers_that_are_computed_otherwise_have_two_identifiers():
    assert of_studies.measure("jain").identifier == "jain"
    assert measures.of_cell("jain") == "jain"
    assert measures.of_cell("jain_endless") == "jain/endless"
    assert quantities.quantity("fairness").measure == "jain/endless_or_relative"
    assert (
        of_studies.measure("intra_large_p99_slowdown", MEDIAN).identifier
        == "fct_slowdown/p99/intra/above_median/finished"
    )
    assert of_studies.measure("intra_large_p99_slowdown", GEMINI).identifier == "fct_slowdown/p99/intra/large/finished"
    assert measures.of_cell("intra_large_slowdown_p99") == "fct_slowdown/p99/intra/large/aged"
    assert of_studies.measure("intra_large_aged_p99_slowdown", GEMINI).identifier == "fct_slowdown/p99/intra/large/aged"
    assert measures.of_summary("slowdown/intra/classes/small/p99") == "fct_slowdown/p99/intra/small/finished"
    assert (
        measures.of_summary("slowdown_at_least/intra/above_median/p99") == "fct_slowdown/p99/intra/above_median/begun"
    )
    assert measures.of_validation("fct_small_p99") == "fct/p99/below_100kB/finished"
    assert (
        measures.of_validation("fct_small_p99", references.ACKNOWLEDGED) == "fct/p99/below_100kB/finished/acknowledged"
    )
    assert of_studies.measure("small_p99_fct", MEDIAN).identifier == "fct/p99/at_most_median/finished"
    assert of_studies.measure("throughput").identifier == quantities.quantity("goodput").measure == "goodput"
    assert quantities.quantity("fairness").measure != of_studies.measure("jain").identifier


def test_every_number_that_a_command_writes_has_a_declared_measure():
    assert [name for _, name, metric in collectible() if not is_declared(metric.identifier)] == []
    without = {field.name for field in fields.CELLS if not field.measure}
    assert without == NO_MEASURES
    assert {field.measure for field in fields.CELLS} - {""} <= set(measures.declared_measures())
    assert [
        name for name in quantities.names() if quantities.quantity(name).measure not in measures.declared_measures()
    ] == []
    for text in ("mean slowdown", "p99 slowdown of small flows across", "p50 slowdown inside"):
        assert quantities.quantity(text).measure in measures.declared_measures()


def test_every_number_of_a_summary_has_a_measure_or_is_a_fact(run):
    without = [
        path
        for sizes in CLASSES
        for path, _ in leaves(run.by_sizes(sizes).summary)
        if not is_declared(measures.of_summary(path)) and path.partition("/")[0] not in measures.FACTS
    ]
    assert without == []


def test_every_number_of_the_references_has_a_measure_or_is_a_cell_or_a_series():
    for name in references.names():
        reference = references.load(name)
        for case in reference.cases:
            for entry in case.entries:
                for metric in entry.numbers:
                    kind = metric.partition(":")[0]
                    identifier = measures.of_validation(metric, case.fct, case.since)
                    assert (identifier in measures.declared_measures()) != (
                        kind in ("flow", "port", "flows", "ports", "series")
                    ), metric


def test_the_columns_of_tables_name_their_measures(tmp_path):
    collect = [of_studies.measure("p99_slowdown"), of_studies.measure("mean flow/cross throughput")]
    runs = dataset.runs([], [], collect)
    assert runs.schema.field("p99_slowdown").metadata[b"measure"] == b"fct_slowdown/p99/finished"
    assert b"measure" not in runs.schema.field("mean flow/cross throughput").metadata
    assert b"measure" not in runs.schema.field("seed").metadata
    points = dataset.summaries([], [], collect)
    for column in ("p99_slowdown", "p99_slowdown low", "p99_slowdown ci95"):
        assert points.schema.field(column).metadata[b"measure"] == b"fct_slowdown/p99/finished", column


def test_a_measure_says_what_it_is():
    for identifier, measure in measures.declared_measures().items():
        assert identifier == measure.identifier
        assert measure.definition.endswith("."), identifier
        assert not measure.definition[0].islower(), identifier
        assert measure.unit, identifier
        assert measure.better in ("", measures.LESS, measures.MORE), identifier
        has_quantile = "/p" in identifier and identifier.split("/")[1].lstrip("p").isdigit()
        assert bool(measure.quantile) == (has_quantile or identifier == "arena_score"), identifier
    # A study gives a number the unit and the direction of its declaration.
    for sizes, name, metric in collectible():
        declared = measures.declared_measures(sizes)[metric.identifier]
        assert (metric.unit, metric.better) == (declared.unit, declared.better), name
        assert declared.definition == f"{metric.meaning}.", name


def test_slowdowns_by_age_of_a_study_are_those_of_an_arena(run):
    values = measuring.measure_run(run, "two sites").values
    compared = 0
    for kind in ("intra", "cross"):
        for size in GEMINI.names:
            start = f"{kind}_{size}"
            assert of_studies.measure(f"{start}_aged_flows", GEMINI).measure_run(run) == values[f"{start}_flows"]
            for statistic in ("mean", "p50", "p99"):
                ours = of_studies.measure(f"{start}_aged_{statistic}_slowdown", GEMINI)
                assert ours.identifier == measures.of_cell(f"{start}_slowdown_{statistic}")
                assert ours.measure_run(run) == values[f"{start}_slowdown_{statistic}"]
                compared += ours.measure_run(run) is not None
    assert of_studies.measure("aged_p99_slowdown").measure_run(run) == values["all_all_slowdown_p99"]
    assert compared or not run.flows.num_rows


def test_halves_of_a_study_are_those_of_a_summary(run):
    for kind in ("intra", "cross"):
        for name, half in (("small", "at_most_median"), ("large", "above_median")):
            of_summary = ((run.summary["slowdown"][kind] or {}).get(half) or {}).get("p99")
            for written in (name, half):
                assert of_studies.measure(f"{kind}_{written}_p99_slowdown", MEDIAN).measure_run(run) == of_summary


def test_a_manifest_has_the_identifiers_of_the_summary(run, tmp_path):
    run.save(tmp_path / "out", report=False)
    kept, summary = (
        json.loads((tmp_path / "out" / name).read_text("utf-8")) for name in ("manifest.json", "summary.json")
    )
    facts = {path for path, _ in leaves(summary) if path.partition("/")[0] in measures.FACTS}
    assert set(kept["measures"]) == {path for path, _ in leaves(summary)} - facts
    assert set(kept["measures"].values()) <= set(measures.declared_measures())

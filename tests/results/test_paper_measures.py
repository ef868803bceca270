"""The numbers that papers define otherwise: declared once, with a source, and computed where the declaration says."""

import importlib
import math
import re

import numpy as np
import pytest

from farloop.results import measures
from farloop.results.flow_samples import aged_times, statistic
from farloop.results.paper_measures import PAPER_MEASURES


def test_each_is_computed_by_the_function_that_it_names():
    for measure in PAPER_MEASURES:
        module, _, name = measure.function.partition(":")
        computes = importlib.import_module(module)
        for part in name.split("."):
            computes = getattr(computes, part)
        assert callable(computes), measure.identifier


def test_none_shares_an_identifier_with_a_measure_or_another():
    identifiers = [measure.identifier for measure in PAPER_MEASURES]
    assert len(set(identifiers)) == len(identifiers)
    assert set(identifiers).isdisjoint(measures.declared_measures())


@pytest.mark.parametrize("measure", PAPER_MEASURES, ids=lambda measure: measure.identifier)
def test_each_says_until_when_a_flow_counts_and_where_it_is_from(measure):
    assert re.search(r"§|Fig|Eq\.|artifact|prints", measure.source)
    if "/fct" in measure.identifier or "_fct" in measure.identifier:
        assert re.search("arrives|acknowledged", measure.definition), "from its start until when?"
    assert all(text.endswith(".") for text in (measure.definition, measure.open_choice) if text)


def test_an_unfinished_flow_counts_with_its_age():
    start, received = np.array([0.0, 1.0, 2.0]), np.array([3.0, np.nan, -1.0])
    assert aged_times(start, received, 10.0).tolist() == [3.0, 9.0, 8.0]


def test_a_statistic_interpolates_between_order_statistics():
    values = np.array([4.0, 1.0, 3.0, 2.0])
    assert statistic(values, "mean") == 2.5
    assert statistic(values, "max") == 4.0
    assert statistic(values, "p50") == 2.5
    assert statistic(values, "p99.9") == pytest.approx(3.997)
    assert math.isnan(statistic(np.empty(0), "p99"))

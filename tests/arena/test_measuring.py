"""What the arena measures of a run with endless flows and finite ones at the bounds of the classes of sizes."""

import dataclasses
import re

import numpy as np
import pytest

import farloop
from farloop import metrics
from farloop.results import flow_completion, summary
from farloop.studies.arena import measuring
from farloop.views import arena_page

MIXED = """\
[run]
duration = "20ms"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 2
rate = "10Gbps"
link_delay = "5us"
wan_delay = "100us"
[algorithm]
name = "dctcp"
[[flow]]
name = "endless-intra"
from = "s1"
to = "d1"
[[flow]]
name = "endless-cross"
from = "s3"
to = "r1"
[[flow]]
name = "small"
from = "s2"
to = "d2"
size = "100kB"
start = "2ms"
[[flow]]
name = "medium"
from = "s4"
to = "r2"
size = "10MB"
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    path = tmp_path_factory.mktemp("mixed") / "mixed.toml"
    path.write_text(MIXED, encoding="utf-8")
    return farloop.run(path)


def test_fairness_of_endless_flows_is_of_these_alone(mixed):
    whole = measuring.measure_run(mixed, "mixed")
    assert whole.traffic == measuring.ENDLESS
    rates = summary.throughputs(mixed.flows, mixed.duration)
    assert whole.values["jain_endless"] == pytest.approx(metrics.jain(rates[:2]))
    assert whole.values["jain"] == pytest.approx(metrics.jain(rates))
    assert whole.values["jain_endless"] != pytest.approx(whole.values["jain"], rel=0.01)
    assert whole.values["jain_relative"] == pytest.approx(metrics.jain(1 / flow_completion.age_slowdowns(mixed)[2:]))
    assert whole.costs == pytest.approx({"goodput": 1 / rates[:2].sum(), "fairness": 1 / whole.values["jain_endless"]})


def test_a_class_of_sizes_holds_the_flows_at_its_upper_bound(mixed):
    values = measuring.measure_run(mixed, "mixed").values
    counts = {
        f"{kind} {size}": values[f"{kind}_{size}_flows"]
        for kind in ("intra", "cross")
        for size in measuring.SIZES.names
    }
    filled = {"intra small": 1, "cross medium": 1}
    assert counts == dict.fromkeys(counts, 0) | filled
    slowdowns = flow_completion.age_slowdowns(mixed)
    assert np.isnan(slowdowns).tolist() == [True, True, False, False]
    assert values["intra_small_slowdown_p99"] == pytest.approx(slowdowns[2])


def test_a_tail_over_few_flows_is_marked_on_the_page(mixed):
    few = measuring.measure_run(mixed, "mixed")
    many = dataclasses.replace(few, values=few.values | {"intra_small_flows": 20})
    column = arena_page._slowdown([few], "intra", "inside", "small")
    cell = column.cell([few])
    assert re.fullmatch(r"[\d.]+ / [\d.]+ \*", cell.text)
    assert re.match(r"[\d.]+ / [\d.]+ \*", str(cell.html))
    assert "over fewer than 20 flows" in column.hint
    column = arena_page._slowdown([many], "intra", "inside", "small")
    assert re.fullmatch(r"[\d.]+ / [\d.]+", column.cell([many]).text)
    assert "*" not in str(column.cell([many]).html)
    assert "over fewer than" not in column.hint

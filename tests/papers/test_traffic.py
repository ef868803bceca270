import math

import numpy as np
import pytest

from farloop.judging.traffic import Flows, node_layer, slowdown_statistics
from farloop.papers.gear.common import distance
from farloop.papers.gear.fig06 import intra_share


def flows(rows, end=1.0):
    """Rows of cross, start, completion, ideal, size, delivered."""
    cross, *columns = zip(*rows, strict=True)
    return Flows(np.array(cross, bool), *(np.array(c, float) for c in columns), end)


LOADED = flows(
    [
        (False, 0.0, 0.2, 0.1, 1000, 1000),
        (False, 0.5, -1.0, 0.1, 3000, 1000),
        (True, 0.0, 0.8, 0.4, 4000, 4000),
        (True, 0.2, -1.0, 0.4, 4000, 2000),
        # Too young, of either kind.
        (True, 0.96, -1.0, 0.4, 8000, 0),
        (False, 0.96, -1.0, 0.1, 8000, 1),
    ]
)


def test_the_normalised_ratio_is_arrived_over_generated_payload():
    assert LOADED.carried_share(cross=False) == pytest.approx(2000 / 4000)
    assert LOADED.carried_share(cross=True) == pytest.approx(6000 / 8000)
    assert LOADED.normalised_ratio() == pytest.approx(0.5 / 0.75)


def test_the_flow_level_ratio_is_of_mean_rates():
    intra = (1000 / 0.2 + 1000 / 0.5) / 2
    cross = (4000 / 0.8 + 2000 / 0.8) / 2
    assert LOADED.flow_level_ratio() == pytest.approx(intra / cross / (4000 / 8000))


def test_throughput_counts_all_that_arrived():
    assert LOADED.throughput() == pytest.approx(8 * 8001)


def test_slowdowns_are_split_at_the_median_of_the_generated_sizes():
    some = flows([(False, 0.0, 0.2, 0.1, size, size) for size in (1, 2, 3, 4)] + [(True, 0.0, 0.9, 0.1, 1, 1)])
    slowdowns = some.slowdowns()
    assert [len(slowdowns[kind]) for kind in ("small", "large")] == [2, 2]
    assert slowdown_statistics(slowdowns["small"]) == pytest.approx({"avg": 2, "p95": 2, "p99": 2})
    assert LOADED.count_unfinished() == 1


def test_flows_that_have_not_finished_count_with_their_age():
    slow = flows(
        [(False, 0.0, 0.2, 0.1, 1000, 1000), (False, 0.5, -1.0, 0.1, 3000, 1000), (False, 0.5, -1.0, 0.2, 4000, 0)]
    )
    assert slow.slowdowns()["small"].tolist() == pytest.approx([2, 5])
    assert slow.slowdowns()["large"].tolist() == pytest.approx([2.5])
    assert all(math.isnan(v) for v in slowdown_statistics(np.empty(0)).values())


def test_the_backlog_is_of_all_flows():
    assert LOADED.backlog(cross=False) == pytest.approx(2000 + 7999)
    assert LOADED.backlog(cross=True) == pytest.approx(2000 + 8000)


def test_without_flows_of_a_kind_there_is_no_ratio():
    assert math.isnan(flows([(False, 0.0, 0.2, 0.1, 1000, 1000)]).normalised_ratio())


def test_distance_from_one_is_the_same_both_ways():
    assert distance(2.0) == pytest.approx(distance(0.5))
    assert distance(0.0) == distance(math.inf) == distance(math.nan) == math.inf


def test_points_are_drawn_by_their_share_of_intra_traffic():
    assert sorted(["1:9", "1:1", "9:1", "other", "3:7"], key=intra_share) == ["1:9", "3:7", "1:1", "9:1", "other"]


def test_layers_are_read_from_the_names_of_nodes():
    names = ["dc0-h12", "dc0-tor1-2", "dc0-agg3-1", "dc0-core8", "dc1-h1", "dc1-border"]
    assert [node_layer(n) for n in names] == ["host", "ToR", "aggregation", "core", "outside", "outside"]

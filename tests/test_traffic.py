import math

import numpy as np
import pytest

from farloop.papers.gear_fig06 import distance, intra_share, order
from farloop.papers.traffic import Flows, statistics


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
        # Could not have finished even alone.
        (True, 0.9, -1.0, 0.4, 8000, 0),
    ]
)


def test_the_normalised_ratio_is_arrived_over_generated_payload():
    assert LOADED.carried(cross=False) == pytest.approx(2000 / 4000)
    assert LOADED.carried(cross=True) == pytest.approx(6000 / 8000)
    assert LOADED.normalised_ratio() == pytest.approx(0.5 / 0.75)


def test_the_flow_level_ratio_is_of_mean_rates():
    intra = (1000 / 0.2 + 1000 / 0.5) / 2
    cross = (4000 / 0.8 + 2000 / 0.8) / 2
    assert LOADED.flow_level_ratio() == pytest.approx(intra / cross / (4000 / 8000))


def test_throughput_counts_all_that_arrived():
    assert LOADED.throughput() == pytest.approx(8 * 8000)


def test_slowdowns_are_split_at_the_median_of_the_generated_sizes():
    some = flows([(False, 0.0, 0.2, 0.1, size, size) for size in (1, 2, 3, 4)] + [(True, 0.0, 0.9, 0.1, 1, 1)])
    slowdowns = some.slowdowns()
    assert [len(slowdowns[kind]) for kind in ("small", "large")] == [2, 2]
    assert statistics(slowdowns["small"]) == pytest.approx({"avg": 2, "p95": 2, "p99": 2})
    assert LOADED.unfinished() == 1
    assert len(LOADED.slowdowns()["large"]) == 0
    assert all(math.isnan(v) for v in statistics(LOADED.slowdowns()["large"]).values())


def test_without_flows_of_a_kind_there_is_no_ratio():
    assert math.isnan(flows([(False, 0.0, 0.2, 0.1, 1000, 1000)]).normalised_ratio())


def test_distance_from_one_is_the_same_both_ways():
    assert distance(2.0) == pytest.approx(distance(0.5))
    assert distance(0.0) == distance(math.inf) == distance(math.nan) == math.inf


def test_the_order_of_fig06():
    row = {"gear": 0.99, "hpcc": 0.7, "dctcp": 0.8, "gemini": 0.9, "annulus": 1.2}
    assert all(s.holds for s in order({"1:1": row}, "here"))
    failed = [
        s.text for s in order({"1:1": row, "9:1": row | {"gemini": 0.995, "annulus": 0.9}}, "here") if not s.holds
    ]
    assert failed == ["Gear is nearest to 1 here", "annulus is above 1 here"]


def test_points_are_drawn_by_their_share_of_intra_traffic():
    assert sorted(["1:9", "1:1", "9:1", "other", "3:7"], key=intra_share) == ["1:9", "3:7", "1:1", "9:1", "other"]

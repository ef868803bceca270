import math

import numpy as np
import pytest

from farloop import metrics

TIMES = np.arange(1, 11) / 10  # samples at 0.1, 0.2, ... 1.0


def test_a_window_excludes_its_start_and_includes_its_end():
    values = np.arange(1.0, 11.0)
    assert metrics.window(TIMES, values, 0.3, 0.5).tolist() == [4.0, 5.0]
    assert metrics.mean(TIMES, values, 0.3, 0.5) == 4.5
    assert math.isnan(metrics.mean(TIMES, values, 2.0))


def test_percentiles_interpolate():
    assert metrics.percentile(TIMES, np.arange(1.0, 11.0), 50) == 5.5
    assert metrics.percentile(TIMES, np.arange(1.0, 11.0), 100) == 10.0
    assert math.isnan(metrics.percentile(TIMES, np.zeros(10), 50, 5.0))


def test_variation_is_the_standard_deviation_over_the_mean():
    assert metrics.variation(TIMES, np.tile([1.0, 3.0], 5)) == pytest.approx(0.5)
    assert math.isnan(metrics.variation(TIMES, np.zeros(10)))


def test_ratios_of_nothing():
    assert metrics.ratio(3, 2) == 1.5
    assert metrics.ratio(1, 0) == math.inf
    assert math.isnan(metrics.ratio(0, 0))


def test_jain_is_one_for_equal_shares_and_one_nth_for_one_taker():
    assert metrics.jain([5, 5, 5, 5]) == pytest.approx(1.0)
    assert metrics.jain([5, 0, 0, 0]) == pytest.approx(0.25)
    assert metrics.jain([1, 2]) == pytest.approx(9 / 10)
    assert math.isnan(metrics.jain([0, 0]))


def test_smoothing_averages_over_the_past():
    assert metrics.smooth_values([1.0, 2.0, 3.0, 4.0], 2).tolist() == [1.0, 1.5, 2.5, 3.5]


def test_convergence_is_the_time_from_which_the_ratio_stays():
    first = np.array([9, 9, 5, 9, 5, 5, 5, 5, 5, 5.0])
    second = 10 - first
    time = metrics.convergence_time(TIMES, first, second, low=0.8, high=1.25, over=0.1)
    assert time == pytest.approx(0.5), "balance at 0.3 does not last"
    assert metrics.convergence_time(TIMES, first, second, low=0.8, high=1.25, over=0.1, start=0.4) == pytest.approx(0.1)


def test_what_is_unbalanced_at_the_end_has_not_converged():
    first = np.array([5.0] * 9 + [9.0])
    assert metrics.convergence_time(TIMES, first, 10 - first, low=0.8, high=1.25, over=0.1) == math.inf
    assert metrics.convergence_time(TIMES[:1], first[:1], first[:1], low=0.8, high=1.25, over=0.1) == math.inf


def test_slowdown_needs_a_finished_and_limited_flow():
    slowdowns = metrics.slowdown([30, -1, 30, np.nan, 30], [10, 10, 0, 10, np.nan])
    assert slowdowns[0] == 3.0
    assert np.isnan(slowdowns[1:]).all()


def test_thinning_keeps_peaks_or_means():
    times, peaks = metrics.thin_values(TIMES, np.arange(10.0), np.max, 5)
    assert times.tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert peaks.tolist() == [1, 3, 5, 7, 9]
    assert metrics.thin_values(TIMES, np.arange(10.0), np.mean, 5)[1].tolist() == [0.5, 2.5, 4.5, 6.5, 8.5]
    assert metrics.thin_values(TIMES, np.arange(10.0), np.mean, 10)[0].size == 10

"""Delays from coordinates: known distances, and places for nodes that have none."""

import pytest

from farloop.formats.distances import (
    EARTH_RADIUS,
    FIBRE_SPEED,
    MIN_DELAY,
    Coordinates,
    delay_text,
    fibre_delay,
    fill_places,
    great_circle,
)

BERLIN, PARIS = Coordinates(52.52, 13.405), Coordinates(48.8566, 2.3522)


def test_distances_are_those_of_the_sphere():
    quarter = EARTH_RADIUS * 3.141592653589793 / 2
    assert great_circle(Coordinates(0, 0), Coordinates(0, 90)) == pytest.approx(quarter)
    assert great_circle(Coordinates(90, 17), Coordinates(-90, 100)) == pytest.approx(2 * quarter), "from pole to pole"
    assert great_circle(Coordinates(10, 179), Coordinates(10, -179)) == pytest.approx(
        great_circle(Coordinates(10, 0), Coordinates(10, 2))
    )
    # The published distance of the two cities is 878 km.
    assert great_circle(BERLIN, PARIS) == pytest.approx(878, abs=1)
    assert great_circle(BERLIN, BERLIN) == 0


def test_delays_are_distance_times_factor_over_the_speed_in_fibre():
    # 1000 km along the equator, by its definition of degrees.
    far = Coordinates(0, 1000 / EARTH_RADIUS * 180 / 3.141592653589793)
    assert (
        fibre_delay(Coordinates(0, 0), far) == pytest.approx(1000 / FIBRE_SPEED) == pytest.approx(4.8974e-3, rel=1e-4)
    )
    assert fibre_delay(Coordinates(0, 0), far, 1.5) == pytest.approx(1500 / FIBRE_SPEED)
    assert fibre_delay(BERLIN, BERLIN, 1.5) == MIN_DELAY == 1e-6
    assert [delay_text(seconds) for seconds in (1e-6, 4.8974e-3, 0.0123456789012)] == ["1us", "4897.4us", "12345.679us"]


def test_nodes_without_coordinates_are_between_their_neighbours():
    line = {"a": ["b"], "b": ["a", "c"], "c": ["b", "d"], "d": ["c"], "alone": []}
    places = fill_places({"a": Coordinates(0, 0), "d": Coordinates(3, 30)}, line)
    assert "alone" not in places, "no path leads to a known place"
    assert places["a"] == Coordinates(0, 0)
    assert places["b"] == pytest.approx((1, 10), abs=1e-5)
    assert places["c"] == pytest.approx((2, 20), abs=1e-5)
    # The order in which the file has the nodes is of no account.
    back = fill_places({"a": Coordinates(0, 0), "d": Coordinates(3, 30)}, dict(reversed(line.items())))
    assert back["b"] == pytest.approx(places["b"], abs=1e-5)


def test_the_mean_of_places_beside_the_180th_meridian_is_there():
    middle = fill_places(
        {"x": Coordinates(0, 170), "y": Coordinates(0, -170)}, {"x": ["m"], "y": ["m"], "m": ["x", "y"]}
    )["m"]
    assert abs(middle.longitude) == pytest.approx(180)

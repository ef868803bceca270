"""Where the time of a flow went, as it is shown."""

from __future__ import annotations

from typing import Any

from farloop.results.why import Explanation
from farloop.results.why_job import JobExplanation


def _part(cause: str, time_ps: int, **more: Any) -> dict[str, Any]:
    return {
        "cause": cause,
        "limit": "",
        "port": None,
        "rival": None,
        "own": False,
        "root": None,
        "time_ps": time_ps,
    } | more


def _explanation(parts: list[dict[str, Any]], **more: Any) -> Explanation:
    total = sum(part["time_ps"] for part in parts)
    given: dict[str, Any] = {"finished": True, "after": None, "slices": []} | more
    return Explanation("bulk", 0, 5, 5 + total, parts=parts, **given)


def test_rows_are_ordered_and_have_all_of_the_time() -> None:
    asked = _explanation(
        [
            _part("propagation", 100_000, port="a:b", limit="window"),
            _part("propagation", 200_000, port="b:c", limit="window"),
            _part("queue", 699_000, port="b:c", rival="other"),
            _part("pause", 600, port="a:b", root="b:c"),
            _part("pacing", 400, limit="rate"),
        ]
    )
    assert asked.rows == [
        ("queue", "", "b:c", "flow other", "699 ns", "69.9 %"),
        ("propagation", "window", "", "", "300 ns", "30.0 %"),
        ("2 smaller parts", "", "", "", "1 ns", "0.1 %"),
    ]
    assert asked.limits_ps == {"": 699_600, "window": 300_000, "rate": 400}
    assert asked.as_json["time_ps"] == 1_000_000


def test_the_answer_names_what_took_most() -> None:
    assert _explanation([_part("queue", 10, port="a:b", rival="x"), _part("pacing", 5)]).answer == (
        "bulk: 67 % of its 0.015 ns it waited at a:b behind flow x"
    )
    window = _explanation([_part("propagation", 900, limit="window"), _part("serialisation", 100, port="a:b")])
    assert window.answer == "bulk: 90 % of its 1 ns went into propagation; 90 % of the time its window was full"
    paused = _explanation([_part("pause", 1000, port="a:b", root="b:c")], finished=False)
    assert paused.answer == "bulk (it did not finish): 100 % of its 1 ns it was paused at a:b, root b:c"


def test_a_chain_has_the_flows_that_were_followed() -> None:
    first = _explanation([_part("pacing", 5)])
    second = _explanation([_part("pacing", 5)], before=first)
    assert second.chain == [second, first]
    assert second.as_json["before"]["flow"] == "bulk"


def test_small_parts_of_many_ranks_are_taken_together() -> None:
    parts = [_part("computing", 10, phase="forward", rank=rank, to=None) for rank in range(1000)]
    parts.append(_part("propagation", 5000, phase="gradients", rank=0, to=1, port="a:b"))
    total = sum(part["time_ps"] for part in parts)
    asked = JobExplanation("big", 0, 2, 3, 5, 5 + total, 7, 1, parts, [], [])
    assert asked.rows == [
        ("computing", "", "forward", "", "", "", "10 ns", "66.7 %"),
        ("propagation", "", "gradients", "", "", "", "5 ns", "33.3 %"),
    ]
    assert (
        asked.answer
        == "iteration 2 of big: of its 15 ns 67 % computing, 33 % propagation; 1 messages on the path, rank 7 is last"
    )
    few = JobExplanation("big", 0, 2, 3, 5, 5 + 5010, 7, 1, parts[-2:], [], [])
    assert few.rows[0] == ("propagation", "", "gradients", "0 to 1", "", "", "5 ns", "99.8 %")

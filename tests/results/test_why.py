"""Where the time of a flow went, as it is shown."""

from __future__ import annotations

from typing import Any

import pytest

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
        "entropy": None,
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


def _sending(plane: int, entropy: int | None, at_ps: int = 7) -> dict[str, Any]:
    return {"at_ps": at_ps, "port": f"h1:plane{plane}-leaf1", "sequence": 9000, "entropy": entropy}


def _repair(lost: str | None, state: str | None = "assumed bad") -> dict[str, Any]:
    return {"before": _sending(2, 77), "again": _sending(1, 5, 20), "lost": lost, "state": state}


def test_sprayed_packets_name_plane_entropy_value_and_its_state() -> None:
    parts = [_part("recovery", 900, port="a:b", entropy=77), _part("pacing", 100)]
    lost = [_repair("plane2-leaf1:plane2-spine3"), _repair("plane2-leaf1:plane2-spine3")]
    asked = _explanation(parts, last=_sending(3, 12), repairs=[*lost, _repair(None, "good")])
    assert asked.paths == [
        "the last packet left by h1:plane3-leaf1 with the entropy value 12",
        "2 packets were sent again after a loss, the entropy value assumed bad by then; the first one had left by h1:plane2-leaf1 with "
        "the entropy value 77, lost at plane2-leaf1:plane2-spine3",
        "1 packet was sent again after being late, the entropy value good by then; the first one had left by h1:plane2-leaf1 with the "
        "entropy value 77",
    ]
    read = Explanation.read(asked.as_json)
    assert read is not None
    assert (read.last, read.repairs, read.parts) == (asked.last, asked.repairs, parts)


@pytest.mark.parametrize(
    "change",
    [
        {"last": {"at_ps": 1}},
        {"last": _sending(1, -1)},
        {"repairs": [{}]},
        {"repairs": {}},
        {"repairs": [_repair(None, "lost")]},
        {"repairs": [{**_repair(None), "again": None}]},
    ],
)
def test_what_is_no_path_is_not_read(change: dict[str, Any]) -> None:
    asked = _explanation([_part("pacing", 100)], last=_sending(3, 12), repairs=[_repair(None)])
    assert Explanation.read(asked.as_json) is not None
    assert Explanation.read(asked.as_json | change) is None


def test_an_output_without_paths_is_read() -> None:
    content = _explanation([_part("pacing", 100)]).as_json
    old = {key: value for key, value in content.items() if key not in ("last", "repairs")}
    old["parts"] = [{key: value for key, value in part.items() if key != "entropy"} for part in content["parts"]]
    read = Explanation.read(old)
    assert read is not None
    assert (read.last, read.repairs, read.paths, read.parts[0]["entropy"]) == (None, [], [], None)


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

"""Gear's example of §III-C: what intra flows yield while the cross flow keeps its rate."""

import pytest
from support.papers_fixtures import failed, judge, made, planned, rates

AT_5 = "at 5:1 intra flows yield an additional 1.67 % of the bandwidth"
AT_9 = "at 9:1 intra flows yield an additional 1.11 % of the bandwidth"


def excess(cross_at_5, cross_at_9):
    """Runs whose link is full, and in which the cross flow has so many Gbps of it."""

    def make(case, algorithm):
        count, cross = (5, cross_at_5) if case == "5:1" else (9, cross_at_9)
        flows = {f"intra{i + 1}": (100 - cross) / count for i in range(count)}
        return made("gear/excess", case, algorithm, series=rates(cross=cross, **flows), interval=0.01)

    return make


def test_a_cross_flow_that_keeps_its_part_of_110_percent():
    claim = judge("gear/excess", planned("gear/excess", excess(110 / 6, 11.05)))["gear/excess"]
    assert claim["verdict"] == "reproduced", claim["note"]
    assert claim["measured"]["yielded_5_1"] == pytest.approx(110 / 600 - 1 / 6)


@pytest.mark.parametrize(
    ("cross", "texts"),
    [((100 / 6, 11.05), [AT_5]), ((110 / 6, 10), [AT_9]), ((110 / 6, 10.95), [AT_9]), ((22, 13), [AT_5, AT_9])],
)
def test_intra_flows_that_yield_more_or_less(cross, texts):
    assert failed(judge("gear/excess", planned("gear/excess", excess(*cross)))["gear/excess"]) == texts

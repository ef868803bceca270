"""Gear, simulated: a loss on the long haul costs a cross flow round trips, not its share; unequal shares stay unequal (spec/gear.md)."""

import pytest

import farloop
from farloop.judging.measure import ratio, throughput

WAN = {
    "run.duration": "2.75s",
    "wan_switch.buffer": "1MB",
    "link.normal->wan-rcvr.rate": "5Gbps",
    "flow.background.start": "0ps",
    "flow.intra.start": "500ms",
    "flow.cross.start": "500ms",
}
"""Case "WAN" of gear/fig16 with a buffer of 1 MB in place of the router's own."""


def test_a_cross_flow_comes_back_after_a_loss_on_the_long_haul():
    run = farloop.run("gear/fig16", set=WAN, threads=1)
    flows = {flow["name"]: flow for flow in run.flows.to_pylist()}
    assert flows["cross"]["dropped"] > 0
    # Of the 5 Gbps the background flow leaves it 3. Both flows start at line rate, which closes its window at the first sample (Eq. 9).
    assert throughput(run, "cross", 2.5) > 1e9
    # The intra flow takes what that leaves of 10 Gbps.
    assert throughput(run, "intra", 2.5) > 5e9


@pytest.mark.parametrize(("intra", "cross"), [(20, 75), (75, 20)])
def test_unequal_shares_stay_unequal(intra, cross):
    rates = {"flow.intra.initial_rate": f"{intra}Gbps", "flow.cross.initial_rate": f"{cross}Gbps"}
    run = farloop.run("gear/fig12", set={"run.duration": "0.2s", "record.interval": "10ms", **rates}, threads=1)
    # Four round trips of the cross flow; the link is full, and the ratio what it was but for a few per cent.
    assert ratio(run, 0.15) == pytest.approx(intra / cross, rel=0.1)
    assert throughput(run, "intra", 0.15) + throughput(run, "cross", 0.15) > 85e9

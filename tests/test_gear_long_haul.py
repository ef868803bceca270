"""Gear where the bottleneck is on the long haul and its buffer is shallow: a loss costs a cross flow round trips, not its share."""

import farloop
from farloop.judging.measure import throughput

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

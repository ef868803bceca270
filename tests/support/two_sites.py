"""A short scenario with flows inside and across, for tests of what is measured of a run."""

TWO_SITES = """\
[run]
duration = "30ms"

[network]
topology = "dumbbell"
intra_pairs = 3
cross_pairs = 3
rate = "1Gbps"
link_delay = "5us"
wan_delay = "500us"

[workload]
load = 0.6
sizes = "websearch"
cross_share = 0.5
stop = "20ms"

[record]
flows = []
"""

ENDLESS = """
[[flow]]
name = "endless"
from = "s1"
to = "d1"
"""

NO_FLOWS = TWO_SITES.replace('stop = "20ms"', 'stop = "1ns"')
"""The same with arrivals that stop before the first flow."""

"""A scenario of two small sites, and algorithms to choose from there."""

SITES = """\
title = "Two small sites"
[run]
duration = "30ms"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 2
rate = "1Gbps"
link_delay = "5us"
wan_delay = "1ms"
[switch]
buffer = "2MB"
kmin = "30kB"
kmax = "30kB"
[workload]
sizes = "30kB"
load = 0.5
stop = "15ms"
[record]
flows = []
"""

ALGORITHMS = "dctcp,swift,dcqcn,timely"

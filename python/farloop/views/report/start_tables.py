"""Notes of a report's tables of starts of flows and of offered load."""

STARTS = (
    "How flows began: what window and rate allowed when a flow might send its first packet, and how much of it fits into the first base "
    "round-trip time, in which no ACK can be back. BDP: the rate of the host's link times the base round-trip time. Slow start: whether "
    "the window was below its threshold."
)

LOADS = (
    "What the traffic asks of each layer of the network by the flows' sizes and paths, with framing and ACKs, while flows arrive, over "
    "what its links carry: in the most loaded datacenter, or between the most loaded pair."
)

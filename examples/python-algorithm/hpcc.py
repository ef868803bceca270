"""HPCC in Python, from its paper: the same decisions as farloop's own `hpcc`, flow for flow.

Source: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, Algorithm 1.

    farloop compare examples/python-algorithm/scenario.toml --algorithms hpcc,hpcc-python --algorithm-file examples/python-algorithm/hpcc.py
"""

from farloop.algorithm import Algorithm, parameter

BITS_PS_PER_BYTE_S = 8e12
"""Bits per byte times picoseconds per second: turns bytes per picosecond into bit/s."""


class Hpcc(Algorithm):
    """HPCC: windows from the load of each hop, reported by in-band telemetry."""

    name = "hpcc-python"
    source = "Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019"
    needs = ("int",)

    eta = parameter(0.95, "Target utilisation of the bottleneck.", low=0.5, high=1.0)
    max_stage = parameter(5, "Additive rounds before a multiplicative one.", low=0, high=1000)
    w_ai_fraction = parameter(0.0005, "W_AI as a fraction of the path's capacity.", low=0.0, high=1.0)
    min_rate = parameter("100Mbps", "Lowest sending rate.", low="1bps")

    def start(self, flow):
        """Begins at the flow's initial rate, as if the path were exactly full."""
        rtt = float(flow.base_rtt_ps)
        self.per_base_rtt = 1.0 / rtt
        self.payload_per_wire = flow.mss / flow.packet
        self.highest = flow.line_rate * rtt / BITS_PS_PER_BYTE_S
        self.lowest = min(self.min_rate * rtt / BITS_PS_PER_BYTE_S, self.highest)
        self.w_ai = self.w_ai_fraction * self.highest
        self.window = flow.initial_rate * rtt / BITS_PS_PER_BYTE_S
        self.reference = self.window
        self.load = 1.0
        self.last_update_seq = 0
        self.inc_stage = 0
        self.records = {}
        self.set_control()

    def on_ack(self, ctx, ack):
        """Algorithm 1: the reference window moves once per round trip."""
        hops = ack.hops
        load = self.measure(hops)
        if load is not None:
            self.load = load
            update = ack.ack_seq > self.last_update_seq
            self.compute_window(update, may_grow=not ack.in_recovery)
            if update:
                self.last_update_seq = ack.snd_nxt
            self.set_control()
        elif not self.records and hops:
            self.last_update_seq = ack.snd_nxt
        for hop in hops:
            self.records[hop.hop] = hop

    def measure(self, hops):
        """MeasureInflight: the smoothed load of the most loaded hop, or None."""
        largest, over = None, 0.0
        for now in hops:
            before = self.records.get(now.hop)
            if before is None:
                continue
            elapsed = float(now.elapsed_ps(before))
            capacity = elapsed * now.rate
            if elapsed == 0.0 or now.may_have_wrapped(capacity):
                continue
            held = now.sent(before) + min(now.queue, before.queue) * elapsed * self.per_base_rtt
            load = held * BITS_PS_PER_BYTE_S / capacity
            if largest is None or load > largest:
                largest, over = load, elapsed
        if largest is None:
            return None
        share = min(over * self.per_base_rtt, 1.0)
        return (1.0 - share) * self.load + share * largest

    def compute_window(self, update, may_grow):
        """ComputeWind."""
        multiplicative = self.load >= self.eta or self.inc_stage >= self.max_stage
        window = self.reference * self.eta / self.load if multiplicative else self.reference
        highest = self.highest if may_grow else self.window
        self.window = min(max(window + self.w_ai, self.lowest), highest)
        if update:
            self.inc_stage = 0 if multiplicative else self.inc_stage + 1
            self.reference = self.window

    def set_control(self):
        """W payload bytes in flight, at W/T on the wire."""
        self.cwnd = max(self.window * self.payload_per_wire, 1.0)
        self.pacing_rate = max(self.window * BITS_PS_PER_BYTE_S * self.per_base_rtt, 1.0)

"""Rates answer as packets do: to a law that nobody had in mind, and to the settings of switches and algorithms."""

import numpy as np
import pytest

import farloop
from farloop.algorithm import Algorithm
from farloop.results.flow_completion import column
from farloop.studies.validation import fluid_cases

TWO_SITES, BEHIND = (fluid_cases.DIRECTORY / f"{name}.toml" for name in ("two-sites", "pauses-behind"))
SHORT = {"workload.stop": "2ms", "run.duration": "20ms"}


class Fast(Algorithm):
    """FAST TCP's window by delay: w = (1 - g) w + g (w base/rtt + a); no algorithm of farloop is like it."""

    name = "fast-of-tests"
    source = "Jin, Wei, Low: FAST TCP: Motivation, Architecture, Algorithms, Performance, INFOCOM 2004, Eq. 2"

    def start(self, flow):
        """Begins with a full pipe."""
        self.base, self.mss, self.most = float(flow.base_rtt_ps), flow.mss, 2.0 * flow.bdp
        self.packets = 0.05 * flow.bdp
        self.cwnd = float(flow.bdp)

    def on_ack(self, ctx, ack):
        """Half of the way to its target for each window of ACKs."""
        if ack.rtt_ps is None:
            return
        target = self.cwnd * self.base / max(ack.rtt_ps, self.base) + self.packets
        self.cwnd += 0.5 * (target - self.cwnd) * min(ack.acked / self.cwnd, 1.0)
        self.cwnd = min(max(self.cwnd, self.mss), self.most)


def times(scenario, gear="packets", **more):
    changes = more.pop("set", {}) | ({} if gear == "packets" else {"run.fluid_error": False})
    flows = farloop.run(scenario, gear=gear, set=changes, threads=1, **more).flows
    return column(flows, "received_ps") - column(flows, "start_ps")


def apart(own, packets):
    known = np.isfinite(own) & np.isfinite(packets)
    assert known.sum() > 0.95 * len(known)
    return float(np.mean(np.abs(own[known] / packets[known] - 1)))


@pytest.mark.long
def test_a_law_that_nobody_had_in_mind_is_as_near_as_others():
    packets = times(TWO_SITES, algorithm=Fast, set=SHORT)
    jitter = apart(times(TWO_SITES, algorithm=Fast, set=SHORT | {"run.jitter": 1}), packets)
    fluid = apart(times(TWO_SITES, "fluid", algorithm=Fast, set=SHORT), packets)
    assert fluid <= jitter + 0.05


def effect(scenario, gear, algorithm, settings, key, values):
    """The mean completion time with the second value of a key, for one with the first."""
    before, after = (
        float(np.nanmean(times(scenario, gear, algorithm=algorithm, set=settings | {key: value}))) for value in values
    )
    return after / before


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("scenario", "algorithm", "settings", "key", "values"),
    [
        (TWO_SITES, "hpcc", SHORT, "algorithm.hpcc.eta", (0.95, 0.6)),
        (BEHIND, "fixed", {}, "switch.xoff", ("50kB", "4MB")),
        (BEHIND, "dctcp", {}, "switch.xoff", ("50kB", "400kB")),
    ],
)
def test_settings_move_the_mean_as_with_packets(scenario, algorithm, settings, key, values):
    """By as much as in packets whose starts jitter, or as far beside these as they are apart."""
    packets = [
        effect(scenario, "packets", algorithm, settings | {"run.jitter": seed}, key, values) for seed in range(4)
    ]
    least, most = min(packets), max(packets)
    assert least > 1 or most < 1, f"a setting that moves packets either way shows nothing: {packets}"
    fluid = effect(scenario, "fluid", algorithm, settings, key, values)
    assert least - (most - least) <= fluid <= most + (most - least), packets

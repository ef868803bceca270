"""AccelToR, Eq. 8: how long a flow takes that is the only one in the packet network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from farloop.results.tables import Floats
from farloop.units import rate, size

if TYPE_CHECKING:
    from farloop.results.run import Run


def lone_time(run: Run) -> Floats:
    """Completion time in ps of each flow of the run alone, its slow start included; NaN for flows without a size.

    A window grows from `initial_cwnd` to twice as much in each round trip, up to the receive window, because nothing is lost. The last
    packet leaves in round `K`, behind those of its round at the rate of the host: packets are spread over all uplinks, so that no uplink
    holds them up. Compared with the simulator it is within 2 % (a test).
    """
    transport, network = run.scenario["transport"], run.scenario["network"]
    wire = size(transport["mtu"])
    payload = wire - size(transport["header"])
    sizes, ideal, rtt = (
        run.flows[c].to_numpy(zero_copy_only=False).astype(np.float64)
        for c in ("size_bytes", "ideal_fct_ps", "base_rtt_ps")
    )
    count = np.maximum(np.ceil(sizes / payload), 1)
    limit = max(1.0, size(transport["receive_window"]) // payload)
    sent, window, rounds = 0.0, float(transport["initial_cwnd"]), np.zeros_like(count)
    before = np.zeros_like(count)
    while np.nanmax(count, initial=0) > sent + min(window, limit):
        sent += min(window, limit)
        window = min(2 * window, limit)
        later = count > sent
        rounds[later] += 1
        before[later] = sent
    # The closed form of the path has every packet behind the others at its slowest link, an uplink.
    uplink, host = 8e12 * wire / rate(network["eps_rate"]), 8e12 * wire / rate(network["rate"])
    first = ideal - (count - 1) * uplink
    return np.asarray(first + rounds * rtt + (count - before - 1) * host)

"""DCTCP in a staggered dumbbell, setting by setting, from that of HPCC's simulator to the paper's: docs/findings/rivals.md.

    .venv/bin/python scripts/studies/staggered_readings.py

Flows start one after the other at 10 Gbps, each from a host to a host of its own. Means over ten variations in ties and starts
(run.jitter); all take a minute.
"""

import sys
from typing import Any

import numpy as np

import farloop

VARIATIONS = 10
DELAY_US = 5
WIRE_BYTES = 1048
HOPS = 3
BASE_RTT_US = 2 * HOPS * DELAY_US + HOPS * WIRE_BYTES * 8 / 10_000
"""As HPCC's simulator counts it but for headers: propagation both ways, transmission of a packet at each hop."""
WINDOW_BYTES = int(BASE_RTT_US * 10_000 / 8)

SIMULATOR: dict[str, Any] = {
    "control": "rate",
    "min_rate": "1Gbps",
    "window_cap": True,
    "window_cap_bytes": f"{WINDOW_BYTES}B",
    "window_cap_scaling": "rate",
}
STEP = WINDOW_BYTES * 0.0615 / 1000
"""615 Mbps of 10 Gbps, as segments per round trip."""
READINGS: dict[str, dict[str, Any]] = {
    "as HPCC's simulator": SIMULATOR,
    "the window fixed": SIMULATOR | {"window_cap_scaling": "fixed"},
    "no window": SIMULATOR | {"window_cap": False},
    "floor 100 Mbps": SIMULATOR | {"min_rate": "100Mbps"},
    "a segment per round trip": SIMULATOR | {"increase_rate": f"{WIRE_BYTES * 8 / BASE_RTT_US:.0f}Mbps"},
    "a window, paced, capped, its step": {"pacing": True, "window_cap": True, "increase": STEP},
    "a window, paced, capped": {"pacing": True, "window_cap": True},
    "as the paper": {},
}
CASES = {"8 flows of 2 MB, one each 500 us": (8, 500, "2MB"), "16 flows of 1 MB, one each 100 us": (16, 100, "1MB")}


def scenario(dctcp: dict[str, Any], flows: int, gap_us: int, size: str) -> dict[str, Any]:
    """The dumbbell, marks from 65 kB on as DCTCP's step at 10 Gbps, without losses or timeouts."""
    pairs = [("s", "r")]
    for n in range(flows):
        pairs += [(f"a{n}", "s"), (f"b{n}", "r")]
    nodes = dict.fromkeys(name for pair in pairs for name in pair)
    kind = {True: "switch", False: "host"}
    return {
        "run": {"duration": "60ms"},
        "algorithm": {"name": "dctcp", "dctcp": dctcp},
        "transport": {"mtu": "1040B", "framing": "8B", "ack": "52B", "rto_intra": "10s"},
        "switch": {
            "buffer": "100MB",
            "pfc": False,
            "int": False,
            "ecn_at": "departure",
            "kmin": "65kB",
            "kmax": "65kB",
        },
        "network": {"topology": "links"},
        "node": [{"name": name, "kind": kind[name in "sr"], "datacenter": 0} for name in nodes],
        "link": [{"a": a, "b": b, "rate": "10Gbps", "delay": f"{DELAY_US}us"} for a, b in pairs],
        "flow": [
            {"name": f"f{n}", "from": f"a{n}", "to": f"b{n}", "start": f"{n * gap_us}us", "size": size}
            for n in range(flows)
        ],
    }


def completion_ms(dctcp: dict[str, Any], case: tuple[int, int, str]) -> np.ndarray:
    """Flow completion times in milliseconds, until the receiver has all: a row for each variation."""
    times = []
    for jitter in range(1, VARIATIONS + 1):
        table = farloop.run(scenario(dctcp, *case), set={"run.jitter": jitter}).flows
        received, start = (table[name].to_numpy(zero_copy_only=False) for name in ("received_ps", "start_ps"))
        times.append((received - start) / 1e9)
    return np.array(times)


def main() -> None:
    """Prints, case by case, mean and largest completion time of each reading beside those of HPCC's simulator."""
    for title, case in CASES.items():
        base = completion_ms(SIMULATOR, case)
        sys.stdout.write(f"{title}:\n")
        for name, dctcp in READINGS.items():
            times = completion_ms(dctcp, case)
            mean = times.mean(axis=1) / base.mean() - 1
            largest = times.max(axis=1).mean() / base.max(axis=1).mean() - 1
            error = mean.std(ddof=1) / VARIATIONS**0.5
            sys.stdout.write(
                f"  {name}: mean {times.mean():.2f} ms, {mean.mean():+.1%} (standard error {error:.1%}); "
                f"largest {largest:+.1%}\n"
            )


if __name__ == "__main__":
    main()

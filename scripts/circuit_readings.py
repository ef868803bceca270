"""Readings of AccelToR's circuits, a line each: docs/findings/acceltor.md names the commands.

    .venv/bin/python scripts/circuit_readings.py "AccelToR, as the authors ran it" --racks 16 --weeks 7
    .venv/bin/python scripts/circuit_readings.py "AccelToR, text" --set transport.timestamps=true --set circuits.day_queue=300kB

The network is that of papers/acceltor/fig09.toml. Without --mice there are none. The last five weeks are measured; throughputs are payload
over the week, also as they would be in 50 racks, where the week is so many times as long. 8 racks take 0.3 s of processor time a week,
16 racks four times that.
"""

import argparse
import contextlib
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np

import farloop
from farloop.judging.claims import UndecidedError
from farloop.papers.acceltor import common, fig16

FIGURE = Path(__file__).parents[1] / "papers" / "acceltor" / "fig09.toml"
SLOT, DAY, RTT = 260, 240, 60
"""Microseconds of a slot, its day, and a round trip of the packet network (§IV-B)."""

PAPER = 50
"""Racks of Figs. 9 to 12."""

# github.com/HPCC724/RDCNSimulate. AccelToR: scratch/scratch-FTwarmup.cc (MinRto 11960 us, queuenumber 4),
# src/ocs/helper/FatTreeHelper.cc (SetSSthresh(4)), src/ocs/model/Ipv4EpsRouting.h (sentp_thresh 25) and .cc (520 us).
# Blocking: scratch-FTalltor.cc (MinRto 12840 us, 49 queues of 40 kB). Unblocking: scratch-FTsinglequeue.cc (MinRto 1000 us,
# timestamps, a queue of 2000 kB). SACK is the default of src/internet/model/tcp-socket-base.cc.
SACK = {"transport.recovery": "sack"}
PACKETS = {"circuits.warm_up": "4", "circuits.warm_up_few": "25"}
SHARES = {"circuits.rack_queue": "40kB", "circuits.circuit_buffer": "2MB"}
AUTHORS = {"circuits.days": "4", "circuits.rescue": "520us"}

Settings = dict[str, str]


def elephants_of_one_rack(racks: int, hosts: int, per_pair: int) -> list[dict[str, object]]:
    """The elephants of the first rack alone, each from the first day of its circuit on (`LongFlowPlan` in scratch-FTwarmup.cc)."""
    flows = []
    for other in range(2, racks + 1):
        for host in range(1, hosts + 1):
            flow = {"name": f"elephant-tor1-tor{other}-{host}", "from": f"r1-h{host}", "to": f"r{other}-h{host}"}
            flows.append(flow | {"start": f"{(other - 2) * SLOT}us", "count": per_pair // hosts, "elephant": True})
    return flows


def timeout(week: Callable[[int], int]) -> Callable[[int], Settings]:
    """The smallest timeout, in microseconds of a week of so many racks."""
    return lambda racks: {"transport.min_rto": f"{week(racks)}us"}


def weeks_less(less: int) -> Callable[[int], Settings]:
    """A week less so many microseconds."""
    return timeout(lambda racks: (racks - 1) * SLOT - less)


EQ6, EQ7 = weeks_less(DAY + 3 * RTT), weeks_less(DAY)
BLOCKING, UNBLOCKING = {"circuits.scheduling": "blocking"}, {"circuits.scheduling": "unblocking"}

READINGS: dict[str, tuple[Callable[[int], Settings], Settings]] = {
    "AccelToR, text": (EQ6, {}),
    "AccelToR, timeout counted from the last ACK": (weeks_less(DAY + 4 * RTT), {}),
    "AccelToR, as the authors ran it": (weeks_less(3 * SLOT), SACK | PACKETS | AUTHORS),
    "AccelToR, authors, but NewReno": (weeks_less(3 * SLOT), PACKETS | AUTHORS),
    "AccelToR, authors, but by time": (weeks_less(3 * SLOT), SACK | AUTHORS),
    "Blocking, text": (EQ7, BLOCKING),
    "Blocking, Karn": (EQ7, BLOCKING | {"transport.backoff_ends": "sample"}),
    "Blocking, as the authors ran it": (weeks_less(-100), BLOCKING | SACK | SHARES),
    "Unblocking, text": (EQ7, UNBLOCKING),
    "Unblocking, as the authors ran it": (
        timeout(lambda _: 1000), UNBLOCKING | SACK | {"circuits.shared_queue": "2MB", "transport.timestamps": "true"}
    ),
}  # fmt: skip


def main() -> None:
    """Runs a reading and prints its measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reading", choices=READINGS)
    parser.add_argument("--racks", type=int, default=8)
    parser.add_argument("--weeks", type=int, default=8, help="four or more")
    parser.add_argument("--mice", type=float, default=0.0, help="load of an uplink of 10 Gbps")
    parser.add_argument(
        "--one-rack", action="store_true", help="elephants of the first rack alone, as the authors ran it"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args()
    if asked.weeks <= common.SETTLED:
        parser.error(f"--weeks {asked.weeks}: measured from the {common.SETTLED + 1}th on")

    tables = tomllib.loads(FIGURE.read_text(encoding="utf-8"))
    scenario = {name: table for name, table in tables.items() if name not in ("figure", "template", "case", "claim")}
    if not asked.mice:
        scenario["workload"] = [load for load in scenario["workload"] if load["name"] != "mice"]
    if asked.one_rack:
        network, workloads = scenario["network"], scenario["workload"]
        (elephants,) = (load for load in workloads if load["name"] == "elephant")
        scenario["flow"] = elephants_of_one_rack(asked.racks, network["hosts_per_rack"], elephants["per_pair"])
        scenario["workload"] = [load for load in workloads if load is not elephants]
        if not scenario["workload"]:
            del scenario["workload"]
    rto, settings = READINGS[asked.reading]
    # Half a round trip more, so that the last week arrives.
    base = {"network.racks": str(asked.racks), "run.duration": f"{asked.weeks * (asked.racks - 1) * SLOT + 60}us"}
    if asked.mice:
        # A load is a part of all hosts' links.
        base["workload.mice.load"] = str(asked.mice * 10 / (16 * 40))
    extra = dict(pair.split("=", 1) for pair in asked.set)
    run = farloop.run(scenario, set=base | rto(asked.racks) | settings | extra, threads=1)

    window = common.windows(run)[1]
    weekly = common.weekly(run).mean(axis=1) / 1e6
    scaled = weekly * (asked.racks - 1) / (PAPER - 1)
    low, high = np.percentile(scaled, [10, 90])
    parts = [
        f"occupancy {common.occupancy(run):.3f}",
        f"window {window[0]:.1f} to {window[-1]:.1f}",
        f"silent {common.silent_share(run):.2f}",
        f"weekly {weekly.mean():.1f} Mbps, deviation {weekly.std() / weekly.mean():.3f}",
        f"repeated beyond lost {fig16.repairs(run):.2f}",
        f"in {PAPER} racks {scaled.mean():.1f} (p10 {low:.1f}, p90 {high:.1f}, largest {scaled.max():.1f})",
    ]
    # The last 10 ms of mice are not measured: a short run has no other.
    with contextlib.suppress(UndecidedError):
        parts.append(f"mice {common.mean_fct(run):.3f}")
    sys.stdout.write(f"{asked.reading}, {asked.racks} racks: {', '.join(parts)}\n")


if __name__ == "__main__":
    main()

"""What a top-of-rack switch keeps for circuits, by the number of racks: queues and bytes, with AccelToR and where elephants wait.

    .venv/bin/python scripts/studies/circuit_memory.py [PICTURE]

A line for each size and scheduling, and the picture of docs/network-model.md. One rack sends, 80 NewReno elephants to each other rack from
the first day of their circuit on; queues have no limits, so that they show what they would need. All together some minutes.
"""

import sys
from pathlib import Path

import farloop
from farloop.results.circuit_week import week_of
from farloop.views.figures.draw import write_png
from farloop.views.figures.panels import grid

RACKS = (4, 8, 16, 32, 64)
SLOT, DAY, PACKET_RTT = 260, 240, 60
"""Microseconds: a day of 240 and a night of 20; a round trip through the packet network."""

WEEKS = 6
"""Weeks that are simulated; the last one counts."""

SCHEDULING = {"acceltor": "AccelToR", "blocking": "elephants wait"}

NETWORK = """
network = {{ topology = "hybrid", racks = {racks} }}
switch = {{ pfc = false, ecn = false, ecmp = "packet" }}
circuits = {{ scheduling = "{scheduling}", circuit_buffer = "1GB", rack_queue = "1GB", day_queue = "1GB" }}
algorithm.name = "reno"
run.duration = "{duration}us"
record.interval = "none"

[transport]
kind = "tcp"
recovery = "newreno"
frto = false
initial_cwnd = 1
receive_window = "200kB"
min_rto = "{timeout}us"
initial_rto = "{timeout}us"
"""


def scenario(racks: int, scheduling: str) -> farloop.Scenario:
    """The network with so many racks, and the elephants of the first."""
    week = (racks - 1) * SLOT
    # Eq. 6 and Eq. 7.
    timeout = week - DAY - (3 * PACKET_RTT if scheduling == "acceltor" else 0)
    text = NETWORK.format(racks=racks, scheduling=scheduling, duration=WEEKS * week, timeout=timeout)
    for rack in range(2, racks + 1):
        for host in range(1, 17):
            text += (
                f'[[flow]]\nname = "f{rack}-{host}"\nfrom = "r1-h{host}"\nto = "r{rack}-h{host}"\n'
                f'start = "{(rack - 2) * SLOT}us"\ncount = 5\nelephant = true\n'
            )
    return farloop.Scenario.from_text(text)


def measure(racks: int, scheduling: str) -> tuple[int, float]:
    """Queues for circuits at the switch of the first rack, and the most bytes that wait in them together in the last week."""
    week = week_of(farloop.run(scenario(racks, scheduling)))
    queues = [waiting for name, waiting in week.queues.items() if name.startswith(("day ", "to "))]
    return len(queues), float(sum(queues).max())


def main() -> None:
    """Prints the table and draws the picture."""
    measured = {scheduling: [measure(racks, scheduling) for racks in RACKS] for scheduling in SCHEDULING}
    for scheduling, rows in measured.items():
        for racks, (queues, held) in zip(RACKS, rows, strict=True):
            sys.stdout.write(f"{scheduling}, {racks} racks: {queues} queues, {held / 1e6:.2f} MB\n")
    figure, (queues, held) = grid(2, "What a top-of-rack switch keeps for circuits", shared=False)
    for (scheduling, label), marker in zip(SCHEDULING.items(), "os", strict=True):
        queues.plot(RACKS, [row[0] for row in measured[scheduling]], marker=marker, label=label)
        held.plot(RACKS, [row[1] / 1e6 for row in measured[scheduling]], marker=marker, label=label)
    for axis, label in ((queues, "queues for circuits"), (held, "most bytes waiting (MB)")):
        axis.set_xlabel("racks")
        axis.set_ylabel(label)
        axis.set_xticks(RACKS, RACKS)
        axis.legend(fontsize=7)
    queues.set_ylim(bottom=0)
    held.set_yscale("log")
    write_png(figure, Path(sys.argv[1] if len(sys.argv) > 1 else "circuit-memory.png"))


if __name__ == "__main__":
    main()

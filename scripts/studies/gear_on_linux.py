"""Gear in the kernel that runs: two flows of 1 ms and 30 ms through one 200 Mbps port, and their shares by setting (as root).

    .venv/bin/python scripts/studies/gear_on_linux.py [PICTURE]

The network of tests/support/live_network.py, three repetitions of 15 s per condition: a line for each, the measurements as JSON beside the
picture of docs/int-option.md. All together some eight minutes. With a JSON file in the place of PICTURE it draws what that holds.
"""

import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.live_network import bulk_flows, checksum_errors, live_network, throughputs

from farloop.kernel import telemetry
from farloop.kernel.gear import GEAR
from farloop.views.figures.draw import write_png
from farloop.views.figures.panels import caption, grid

RATE_MBPS = 200
DELAYS_US = (500, 15_000)
"""One-way, of each flow."""

SECONDS, REPETITIONS = 15, 3
COUNTED = 5
"""Seconds of each repetition that are left out of the shares."""

BASE = ["capacity=200Mbps", "irtt=1ms", "cross_factor=5"]
FAIR = ["max_stage=0", "w_ai_fraction=0.025"]
"""maxStage of the published simulation's scripts; W_AI by HPCC's rule, (1 - η)/N for N = 2 flows."""

CONDITIONS: dict[str, list[str]] = {
    "HPCC inside, Gear across": [*BASE, *FAIR],
    "the same, window W": [*BASE, *FAIR, "in_flight=1"],
    "the same, W_AI for 10 flows": [*BASE, "max_stage=0", "w_ai_fraction=0.005"],
    "the same, W_AI for 100 flows": [*BASE, "max_stage=0", "w_ai_fraction=0.0005"],
    "the same, maxStage 5": [*BASE, "max_stage=5", "w_ai_fraction=0.025"],
    "the simulator's defaults": BASE,
    "HPCC for both": [*BASE, *FAIR, "cross_factor=1000"],
    "reno": [],
}


@contextlib.contextmanager
def cgroup_with_telemetry() -> Iterator[Path]:
    """A cgroup whose sockets offer, echo and read telemetry."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    group = next(Path(where) for _, where, kind, *_ in mounts if kind == "cgroup2") / "farloop-gear-on-linux"
    group.mkdir()
    telemetry.attach(group)
    try:
        yield group
    finally:
        telemetry.detach(group)
        # The last connections end.
        time.sleep(1)
        group.rmdir()


def measured(settings: list[str]) -> dict[str, Any]:
    """One repetition: both flows' throughput per tenth of a second, and what the kernel counted halfway."""
    if settings:
        GEAR.load(settings)
    seen: list[dict[str, Any]] = []
    control = "gear" if settings else "reno"
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            cgroup_with_telemetry() as group,
            live_network(rate_mbps=RATE_MBPS, delays_us=DELAYS_US, control=control) as network,
        ):
            network.write_telemetry(Path(folder), network.senders, RATE_MBPS, 1)
            options: dict[str, Any] = {"options": ["-l", "16K"], "cgroup": group}
            look = lambda: seen.extend(GEAR.status()["connections"])  # noqa: E731
            reports, sent = bulk_flows(network, SECONDS, during=look, **options)
            errors = sum(checksum_errors(host) for host in network.hosts)
            lateness = network.network.emulator.stop() if network.network.emulator else []
    finally:
        if settings:
            GEAR.unload()
    return {
        "mbps": [throughputs(report) for report in reports],
        "rtt_us": [report["end"]["streams"][0]["sender"]["mean_rtt"] for report in sent],
        "retransmits": [report["end"]["sum_sent"]["retransmits"] for report in sent],
        "calls": sum(c["acks"] for c in seen),
        "with_telemetry": sum(c["acks_with_telemetry"] for c in seen),
        "errors": errors,
        "late_s": [[there.mean, back.mean] for there, back in lateness],
    }


def shares(measured: dict[str, Any]) -> list[float]:
    """Mean Mbps of each flow after the beginning."""
    return [statistics.mean(flow[10 * COUNTED : 10 * SECONDS]) for flow in measured["mbps"]]


def summary(name: str, repetitions: list[dict[str, Any]]) -> str:
    """A line: medians and range of the ratio, sums, round-trip times, telemetry."""
    pairs = [shares(measured) for measured in repetitions]
    ratios = sorted(a / b for a, b in pairs)
    calls = sum(measured["calls"] for measured in repetitions)
    seen = f"{100 * sum(measured['with_telemetry'] for measured in repetitions) / calls:.2f} %" if calls else "-"
    medians = [statistics.median(measured["rtt_us"][i] for measured in repetitions) / 1e3 for i in (0, 1)]
    return (
        f"{name}: ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f}), "
        f"{statistics.median(sum(pair) for pair in pairs):.0f} Mbps, RTT {medians[0]:.2f} and {medians[1]:.2f} ms, "
        f"{sum(sum(measured['retransmits']) for measured in repetitions)} retransmissions, telemetry with {seen} of {calls} calls, "
        f"{sum(measured['errors'] for measured in repetitions)} checksum errors"
    )


def draw(results: dict[str, list[dict[str, Any]]], to: Path) -> None:
    """Throughput over time, half a second to a point: the middle one of each condition's repetitions."""
    figure, axes = grid(len(results), "Two flows of 1 ms and 30 ms through 200 Mbps, on Linux", columns=4)
    for axis, (name, repetitions) in zip(axes, results.items(), strict=True):
        ordered = sorted(repetitions, key=lambda run: shares(run)[0] / shares(run)[1])
        middle = ordered[len(ordered) // 2]
        for mbps, label in zip(middle["mbps"], ("1 ms", "30 ms"), strict=True):
            points = [statistics.mean(mbps[i : i + 5]) for i in range(0, 10 * SECONDS - 4, 5)]
            axis.plot([0.5 * i + 0.25 for i in range(len(points))], points, label=label, linewidth=1.2)
        near, far = shares(middle)
        caption(axis, f"{name}: {near:.0f}/{far:.0f} = {near / far:.2f}")
        axis.set_ylim(0, RATE_MBPS)
    axes[0].legend(fontsize=7)
    axes[0].set_ylabel("Mbps")
    for axis in axes[-4:]:
        axis.set_xlabel("s")
    write_png(figure, to)


def main() -> None:
    """Measures, prints a line per condition, and draws."""
    to = Path(sys.argv[1] if len(sys.argv) > 1 else "gear-on-linux.png")
    if to.suffix == ".json":
        results = json.loads(to.read_text())
    else:
        results = {name: [] for name in CONDITIONS}
        # One repetition of each after the other: what else the host does meets all of them.
        for _ in range(REPETITIONS):
            for name, settings in CONDITIONS.items():
                results[name].append(measured(settings))
        to.with_suffix(".json").write_text(json.dumps(results))
    for name, repetitions in results.items():
        sys.stdout.write(summary(name, repetitions) + "\n")
    draw(results, to.with_suffix(".png"))


if __name__ == "__main__":
    main()

"""The output of `farloop emulate` for people."""

from __future__ import annotations

from farloop.emulation.long_links import EmulationPlan
from farloop.emulation.session import LOSSES, DirectionReport, Emulation
from farloop.units import bytes_text, count_text, rate_text, time_text

LATE = 500_000
"""Ns of lateness of 99 of 100 packets from which on there is advice."""


def describe_omissions(plan: EmulationPlan) -> str:
    """The parts of a scenario that are not emulated, because real programs and their hosts take its place."""
    short = count_text(plan.short_links, "shorter link")
    events = f" with {count_text(plan.short_changes, 'change')}" if plan.short_changes else ""
    return f"not emulated: {short}{events}, hosts, algorithms and traffic (--longer-than sets from which delay on links are)"


def lines(done: Emulation) -> list[str]:
    """The result, the answer first."""
    said = [
        f"{count_text(len(done.directions) // 2, 'link')}, {done.seconds:.1f} s; late is how much later than due a packet left"
    ]
    if done.host_lost:
        said.append(
            f"this host was too slow: it lost {count_text(done.host_lost, 'packet')} beyond the links' own losses"
        )
    for each in done.directions:
        said += _direction(each, done.seconds)
    if any(each.counts["lateness_p99"] > LATE for each in done.directions):
        said.append(
            "1 in 100 packets was later than 0.5 ms: pace the senders a little below the link's rate (SO_MAX_PACING_RATE; "
            "iperf3 --fq-rate), or leave this host more time"
        )
    return said


def _direction(each: DirectionReport, seconds: float) -> list[str]:
    counts = each.counts
    late = [time_text(counts[f"lateness_{key}"] / 1e9) for key in ("p50", "p99", "worst")]
    gone = [f"{counts[key]:,} {text}" for key, text in LOSSES.items() if counts[key]]
    others = [
        f"{counts['marked']:,} marked" if counts["marked"] else "",
        f"{counts['late']:,} reordered" if counts["late"] else "",
        f"{counts['inside']:,} still inside" if counts["inside"] else "",
        f"{counts['overruns']:,} lost by this host: ring full" if counts["overruns"] else "",
        f"{counts['refused']:,} lost by this host: interface full" if counts["refused"] else "",
    ]
    rate = rate_text(counts["bytes"] * 8 / seconds) if seconds else "0 bps"
    joined = (
        f", packets that left together joined to at most {bytes_text(counts['joined'])}" if counts["joined"] else ""
    )
    return [
        f"{each.name}: {counts['came']:,} packets came, {counts['left']:,} left ({rate})",
        f"  late: p50 {late[0]}, p99 {late[1]}, worst {late[2]}",
        f"  {', '.join(gone) or 'none lost'}{''.join(f', {text}' for text in others if text)}",
        f"  longest queue {bytes_text(counts['queue'])}, longest burst {bytes_text(counts['longest'])} "
        f"({time_text(each.burst_time)} at the link's rate){joined}",
    ]

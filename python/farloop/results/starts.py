"""Starts of flows: the window and rate that each algorithm lets out before the first ACK can be back.

A run keeps this where flows begin (`Run.info["starts"]`), one entry per algorithm and kind of path. It decides comparisons of short
runs: an algorithm that begins with ten packets needs many round trips to reach what another one begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from farloop import units
from farloop.errors import FarloopError, clip_text
from farloop.results import flow_completion
from farloop.results.protocols import RunNumbers
from farloop.results.size_classes import MEDIAN, SplitAtMedian
from farloop.results.tables import Floats
from farloop.units import bytes_text, rate_text

OWN = "own"
"""`transport.start` of a scenario that leaves it to each algorithm."""

KEY = "transport.start"
"""The scenario's key behind `--same-start`."""

MAX_SEGMENTS = 1_000_000

MAX_UNACTED = 0.5
"""Above this share of flows of at most the median size that end before their first ACK there is a caution."""

MIN_FLOWS = 10
"""Minimum number of such flows for the caution."""

HEADER = ["algorithm", "flows", "began", "first window", "first rate", "in the first base RTT", "slow start"]


def read_same_start(text: str | None) -> str | None:
    """The value of `transport.start` for an option `--same-start`: "line-rate", "bdp", "own", or a number of segments per base RTT.

    Raises:
        FarloopError: it is none of them.
    """
    if text is None:
        return None
    plain = text.strip()
    if plain in ("line-rate", "bdp", OWN):
        return plain
    if plain.isascii() and plain.isdigit() and 1 <= int(plain) <= MAX_SEGMENTS:
        return "1 segment" if int(plain) == 1 else f"{int(plain)} segments"
    raise FarloopError(
        f"--same-start {clip_text(text)}: expected line-rate, bdp, or a number of segments per base RTT from 1 to {MAX_SEGMENTS}"
    )


def setting(same_start: str | None) -> list[str]:
    """The setting that gives all flows the same start; none for none.

    Raises:
        FarloopError: it is no start.
    """
    value = read_same_start(same_start)
    return [] if value is None else [f"{KEY}={value}"]


MAX_WAYS = 2
"""Number of ways in which an algorithm may begin flows of one kind before a table joins them."""


def entries(run: RunNumbers) -> list[dict[str, Any]]:
    """Returns the starts of a run's flows: one entry per algorithm and kind of path; none where an old output does not say."""
    starts: list[dict[str, Any]] = run.info.get("starts", [])
    return starts


def summary_rows(starts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """As summary.json has it: windows in bytes of payload, rates in bit/s on the wire, each [least, most]."""
    return [{"name": f"{start['algorithm']} {start['kind']}", **start} for start in starts]


def rows(runs: Sequence[RunNumbers]) -> list[list[str | None]]:
    """A row for each algorithm, kind of path and start: of runs that begin alike one row."""
    return rows_of([entries(run) for run in runs])


def rows_of(each: Sequence[Sequence[dict[str, Any]]]) -> list[list[str | None]]:
    """The same of what runs keep (`entries`); one row from the least to the most where there are more ways than `MAX_WAYS`."""
    ways: dict[tuple[str, str], dict[tuple[str, ...], dict[str, Any]]] = {}
    for start in (start for starts in each for start in starts):
        known = ways.setdefault((start["algorithm"], start["kind"]), {})
        cells = tuple(_cells(start))
        known[cells] = _join_entries([known[cells], start]) if cells in known else start
    rows: list[list[str | None]] = []
    for (algorithm, kind), known in ways.items():
        shown = list(known.values()) if len(known) <= MAX_WAYS else [_join_entries(list(known.values()))]
        rows += [[algorithm, kind, f"{start['flows']:,}", *_cells(start)] for start in shown]
    return rows


def _cells(start: dict[str, Any]) -> list[str]:
    return [_window(start), _rate(start), first_text(start), slow_start_text(start)]


def _join_entries(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several entries as one: sums of flows, the least and the most of all else."""
    joined = dict(several[0])
    for name, value in several[0].items():
        if name in ("flows", "slow_start"):
            joined[name] = sum(start[name] for start in several)
        elif isinstance(value, list):
            ends = [[start[name][i] for start in several] for i in (0, 1)]
            # No limit is the most.
            joined[name] = [
                None
                if None in ends[1] and all(end is None for end in ends[0])
                else min(e for e in ends[0] if e is not None),
                None if None in ends[1] else max(ends[1]),
            ]
    return joined


def lines(runs: Sequence[RunNumbers]) -> list[str]:
    """The same in a sentence for each algorithm."""
    names: dict[str, list[str]] = {}
    for name, kind, _, _, _, first, slow in rows(runs):
        names.setdefault(str(name), []).append(f"{kind} {first}{', slow start' if slow != 'no' else ''}")
    return [f"flows of {name} began with (first base RTT): {'; '.join(parts)}" for name, parts in names.items()]


def first_text(start: dict[str, Any]) -> str:
    """Returns the amount that the first base round-trip time lets out: packets, bytes, bandwidth-delay products."""
    packets = [size / start["mss_bytes"] for size in start["first_rtt_bytes"]]
    return (
        f"{_span(packets, '{:,.0f}'.format)} packets, {_span(start['first_rtt_bytes'], bytes_text)}, "
        f"{_span(start['first_rtt_bdps'], '{:.3g}'.format)} BDP"
    )


def slow_start_text(start: dict[str, Any]) -> str:
    """Returns "yes" or "no", or how many of the flows begin in slow start."""
    if not start["slow_start"]:
        return "no"
    return "yes" if start["slow_start"] == start["flows"] else f"{start['slow_start']:,} of {start['flows']:,}"


def differences(runs: Sequence[RunNumbers]) -> list[str]:
    """Returns differences between the starts of the compared algorithms, a sentence for each kind of path; runs of one case and seed."""
    return differences_of([entries(run) for run in runs])


def differences_of(each: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """The same of what runs keep (`entries`)."""
    texts: list[str] = []
    for kind in flow_completion.KINDS:
        first: dict[str, dict[str, Any]] = {}
        for own in each:
            for start in own:
                if start["kind"] == kind:
                    first.setdefault(start["algorithm"], start)
        if len(first) > 1 and _differ(list(first.values())):
            texts.append(_difference_text(kind, first))
    return texts


def count_unacted(
    flows: pa.Table, ports: pa.Table, starts: Sequence[dict[str, Any]], scenario: dict[str, Any], end: float
) -> dict[str, Any]:
    """Counts flows that may end before their first ACK is back, so that no algorithm acts on them.

    These are the flows that are no larger than what their first window and rate let out in a base round-trip time; a host that sends
    several at once, or is paused, may take longer. By kind of path, with those of at most the median size apart.

    Args:
        flows: The table of flows.
        ports: The table of ports, for the rates of the hosts' links.
        starts: Starts of flows, as in `entries`.
        scenario: The scenario with all keys, for what a packet is.
        end: When the run ended, in seconds; flows that start later do not count.
    """
    size = flow_completion.column(flows, "size_bytes")
    counts = (size >= 0) & (flow_completion.column(flows, "start_ps") / 1e12 < end)
    ended = counts & (size <= _first_bytes(flows, ports, starts, scenario))
    (half, *_) = MEDIAN.names
    short = MEDIAN.masks(size)[half]
    by_kind: dict[str, Any] = {}
    for kind in flow_completion.KINDS:
        chosen = counts & flow_completion.is_kind(flows, kind)
        shares = _share(ended, chosen)
        by_kind[kind] = None if shares is None else SplitAtMedian(shares | {half: _share(ended, chosen & short)})
    return by_kind


def unacted_text(counts: Sequence[dict[str, Any]]) -> list[str]:
    """A sentence for each kind of path most of whose flows of at most the median size may end before their first ACK.

    Args:
        counts: Results of `count_unacted` for one run or several, whose flows are added.
    """
    texts = []
    (half, *_) = MEDIAN.names
    for kind in flow_completion.KINDS:
        short = [count[kind][half] for count in counts if count.get(kind) and count[kind][half]]
        flows, ended = (sum(part[what] for part in short) for what in ("flows", "ended"))
        if flows >= MIN_FLOWS and ended > MAX_UNACTED * flows:
            texts.append(
                f"{ended:,} of {flows:,} {kind} flows of at most the median size fit into what their first window and rate let out before "
                "the first ACK can be back: their numbers show how flows start, and no algorithm had acted on them"
            )
    return texts


def _first_bytes(
    flows: pa.Table, ports: pa.Table, starts: Sequence[dict[str, Any]], scenario: dict[str, Any]
) -> Floats:
    """Payload that each flow's first base round-trip time lets out."""
    hosts = ports.filter(np.asarray(ports["kind"].to_pylist()) == "host")
    rate = dict(zip(hosts["node"].to_pylist(), hosts["rate_bps"].to_pylist(), strict=True))
    line = np.array([float(rate[source]) for source in flows["source"].to_pylist()], dtype=np.float64)
    wire = line * flow_completion.column(flows, "base_rtt_ps") / 8e12
    transport = scenario["transport"]
    packet = units.size(str(transport["mtu"])) + units.size(str(transport["framing"]))
    algorithms = np.array(flows["algorithm"].to_pylist(), dtype=object)
    first = np.zeros(flows.num_rows)
    for start in starts:
        chosen = (algorithms == start["algorithm"]) & flow_completion.is_kind(flows, start["kind"])
        window, share = start["cwnd_bytes"], start["first_rtt_bdps"]
        full = wire[chosen] * start["mss_bytes"] / packet
        if window[0] is not None and window[0] == window[1]:
            first[chosen] = np.minimum(full, window[0])
        elif share[1] - share[0] < 0.01:
            first[chosen] = full * share[0]
        else:
            first[chosen] = start["first_rtt_bytes"][0]
    return first


def _share(ended: flow_completion.Mask, chosen: flow_completion.Mask) -> dict[str, Any] | None:
    flows = int(np.count_nonzero(chosen))
    if not flows:
        return None
    count = int(np.count_nonzero(ended & chosen))
    return {"flows": flows, "ended": count, "share": count / flows}


def _differ(starts: Sequence[dict[str, Any]]) -> bool:
    """By more than a packet, and by more than what headers of different sizes make."""
    most = [max(start["first_rtt_bytes"]) for start in starts]
    least = [min(start["first_rtt_bytes"]) for start in starts]
    apart = max(max(most) - min(most), max(least) - min(least))
    return bool(apart > max(start["mss_bytes"] for start in starts) and apart > 0.05 * max(most))


def _difference_text(kind: str, first: dict[str, dict[str, Any]]) -> str:
    alike: dict[str, list[str]] = {}
    for name, start in first.items():
        packets = _span([size / start["mss_bytes"] for size in start["first_rtt_bytes"]], "{:,.0f}".format)
        slow = {"no": "no slow start", "yes": "slow start"}.get(slow_start_text(start), "slow start of some")
        words = f"{packets} packets ({_span(start['first_rtt_bdps'], '{:.3g}'.format)} BDP, {slow})"
        alike.setdefault(words, []).append(name)
    each = "; ".join(f"{', '.join(names)} with {words}" for words, names in alike.items())
    return f"the algorithms start {kind} flows differently: {each}; --same-start bdp (transport.start) makes them equal"


def _window(start: dict[str, Any]) -> str:
    return _limits(start["cwnd_bytes"], bytes_text)


def _rate(start: dict[str, Any]) -> str:
    return _limits(start["pacing_bps"], rate_text)


def _limits(values: Sequence[float | None], text: Any) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "no limit"
    return _span(known, text) + ("" if len(known) == len(values) else " or no limit")


def _span(values: Sequence[float], text: Any) -> str:
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"

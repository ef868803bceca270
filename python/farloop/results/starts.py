"""How flows begin: the window and rate that each algorithm lets out before the first ACK can be back.

A run keeps this where flows begin (`Run.info["starts"]`), one entry per algorithm and kind of path. It decides comparisons of short
runs: an algorithm that begins with ten packets needs many round trips to reach what another one begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from farloop import units
from farloop.errors import FarloopError, shown
from farloop.results import flow_completion
from farloop.results.protocols import RunNumbers
from farloop.results.tables import Floats
from farloop.units import bytes_text, rate_text

OWN = "own"
"""`transport.start` of a scenario that leaves it to each algorithm."""

KEY = "transport.start"
"""The scenario's key behind `--same-start`."""

MOST_SEGMENTS = 1_000_000

MOST_UNACTED = 0.5
"""Above this share of small flows that end before their first ACK there is a caution."""

LEAST_FLOWS = 10
"""With fewer small flows there is none."""

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
    if plain.isascii() and plain.isdigit() and 1 <= int(plain) <= MOST_SEGMENTS:
        return "1 segment" if int(plain) == 1 else f"{int(plain)} segments"
    raise FarloopError(
        f"--same-start {shown(text)}: expected line-rate, bdp, or a number of segments per base RTT from 1 to {MOST_SEGMENTS}"
    )


def setting(same_start: str | None) -> list[str]:
    """The setting that gives all flows the same start; none for none.

    Raises:
        FarloopError: it is no start.
    """
    value = read_same_start(same_start)
    return [] if value is None else [f"{KEY}={value}"]


MOST_WAYS = 2
"""In so many ways an algorithm may begin flows of one kind before a table joins them."""


def entries(run: RunNumbers) -> list[dict[str, Any]]:
    """How the flows of a run began: one entry per algorithm and kind of path; none where an old output does not say."""
    found: list[dict[str, Any]] = run.info.get("starts", [])
    return found


def summary_rows(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """As summary.json has it: windows in bytes of payload, rates in bit/s on the wire, each [least, most]."""
    return [{"name": f"{one['algorithm']} {one['kind']}", **one} for one in found]


def rows(runs: Sequence[RunNumbers]) -> list[list[str | None]]:
    """A row for each algorithm, kind of path and start: of runs that begin alike one row."""
    return rows_of([entries(run) for run in runs])


def rows_of(each: Sequence[Sequence[dict[str, Any]]]) -> list[list[str | None]]:
    """The same of what runs keep (`entries`); one row from the least to the most where there are more ways than `MOST_WAYS`."""
    ways: dict[tuple[str, str], dict[tuple[str, ...], dict[str, Any]]] = {}
    for one in (one for found in each for one in found):
        known = ways.setdefault((one["algorithm"], one["kind"]), {})
        cells = tuple(_cells(one))
        known[cells] = _joined([known[cells], one]) if cells in known else one
    rows: list[list[str | None]] = []
    for (algorithm, kind), known in ways.items():
        told = list(known.values()) if len(known) <= MOST_WAYS else [_joined(list(known.values()))]
        rows += [[algorithm, kind, f"{one['flows']:,}", *_cells(one)] for one in told]
    return rows


def _cells(one: dict[str, Any]) -> list[str]:
    return [_window(one), _rate(one), first_text(one), slow_start_text(one)]


def _joined(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several entries as one: sums of flows, the least and the most of all else."""
    joined = dict(several[0])
    for name, value in several[0].items():
        if name in ("flows", "slow_start"):
            joined[name] = sum(one[name] for one in several)
        elif isinstance(value, list):
            ends = [[one[name][i] for one in several] for i in (0, 1)]
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
    told: dict[str, list[str]] = {}
    for name, kind, _, _, _, first, slow in rows(runs):
        told.setdefault(str(name), []).append(f"{kind} {first}{', slow start' if slow != 'no' else ''}")
    return [f"flows of {name} began with (first base RTT): {'; '.join(parts)}" for name, parts in told.items()]


def first_text(one: dict[str, Any]) -> str:
    """What the first base round-trip time lets out: packets, bytes, bandwidth-delay products."""
    packets = [size / one["mss_bytes"] for size in one["first_rtt_bytes"]]
    return (
        f"{_span(packets, '{:,.0f}'.format)} packets, {_span(one['first_rtt_bytes'], bytes_text)}, "
        f"{_span(one['first_rtt_bdps'], '{:.3g}'.format)} BDP"
    )


def slow_start_text(one: dict[str, Any]) -> str:
    """Whether flows begin in slow start."""
    if not one["slow_start"]:
        return "no"
    return "yes" if one["slow_start"] == one["flows"] else f"{one['slow_start']:,} of {one['flows']:,}"


def differences(runs: Sequence[RunNumbers]) -> list[str]:
    """What differs between the starts of the algorithms that are compared, a sentence for each kind of path; runs of one case and seed."""
    return differences_of([entries(run) for run in runs])


def differences_of(each: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """The same of what runs keep (`entries`)."""
    found: list[str] = []
    for kind in flow_completion.KINDS:
        first: dict[str, dict[str, Any]] = {}
        for own in each:
            for one in own:
                if one["kind"] == kind:
                    first.setdefault(one["algorithm"], one)
        if len(first) > 1 and _differ(list(first.values())):
            found.append(_told(kind, first))
    return found


def unacted(
    flows: pa.Table, ports: pa.Table, found: Sequence[dict[str, Any]], scenario: dict[str, Any], end: float
) -> dict[str, Any]:
    """How many flows may end before their first ACK is back, so that no algorithm acts on them.

    These are the flows that are no larger than what their first window and rate let out in a base round-trip time; a host that sends
    several at once, or is paused, may take longer. By kind of path, with those up to the median size (`small`) apart.

    Args:
        flows: The table of flows.
        ports: The table of ports, for the rates of the hosts' links.
        found: How flows began.
        scenario: The scenario with all keys, for what a packet is.
        end: When the run ended, in seconds; flows that start later do not count.
    """
    size = flow_completion.column(flows, "size_bytes")
    counts = (size >= 0) & (flow_completion.column(flows, "start_ps") / 1e12 < end)
    ended = counts & (size <= _first_bytes(flows, ports, found, scenario))
    small = flow_completion.is_small(flows)
    told: dict[str, Any] = {}
    for kind in flow_completion.KINDS:
        chosen = counts & flow_completion.is_kind(flows, kind)
        told[kind] = _share(ended, chosen)
        if told[kind] is not None:
            told[kind]["small"] = _share(ended, chosen & small)
    return told


def unacted_text(counts: Sequence[dict[str, Any]]) -> list[str]:
    """A sentence for each kind of path most of whose small flows may end before their first ACK.

    Args:
        counts: What `unacted` says of one run or several, whose flows are added.
    """
    found = []
    for kind in flow_completion.KINDS:
        small = [one[kind]["small"] for one in counts if one.get(kind) and one[kind]["small"]]
        flows, ended = (sum(one[what] for one in small) for what in ("flows", "ended"))
        if flows >= LEAST_FLOWS and ended > MOST_UNACTED * flows:
            found.append(
                f"{ended:,} of {flows:,} small {kind} flows fit into what their first window and rate let out before the first ACK can be "
                "back: their numbers show how flows start, and no algorithm had acted on them"
            )
    return found


def _first_bytes(flows: pa.Table, ports: pa.Table, found: Sequence[dict[str, Any]], scenario: dict[str, Any]) -> Floats:
    """Payload that each flow's first base round-trip time lets out."""
    hosts = ports.filter(np.asarray(ports["kind"].to_pylist()) == "host")
    rate = dict(zip(hosts["node"].to_pylist(), hosts["rate_bps"].to_pylist(), strict=True))
    line = np.array([float(rate[source]) for source in flows["source"].to_pylist()], dtype=np.float64)
    wire = line * flow_completion.column(flows, "base_rtt_ps") / 8e12
    transport = scenario["transport"]
    packet = units.size(str(transport["mtu"])) + units.size(str(transport["framing"]))
    algorithms = np.array(flows["algorithm"].to_pylist(), dtype=object)
    first = np.zeros(flows.num_rows)
    for one in found:
        chosen = (algorithms == one["algorithm"]) & flow_completion.is_kind(flows, one["kind"])
        window, share = one["cwnd_bytes"], one["first_rtt_bdps"]
        full = wire[chosen] * one["mss_bytes"] / packet
        if window[0] is not None and window[0] == window[1]:
            first[chosen] = np.minimum(full, window[0])
        elif share[1] - share[0] < 0.01:
            first[chosen] = full * share[0]
        else:
            first[chosen] = one["first_rtt_bytes"][0]
    return first


def _share(ended: flow_completion.Mask, chosen: flow_completion.Mask) -> dict[str, Any] | None:
    flows = int(np.count_nonzero(chosen))
    if not flows:
        return None
    count = int(np.count_nonzero(ended & chosen))
    return {"flows": flows, "ended": count, "share": count / flows}


def _differ(found: Sequence[dict[str, Any]]) -> bool:
    """By more than a packet, and by more than what headers of different sizes make."""
    most = [max(one["first_rtt_bytes"]) for one in found]
    least = [min(one["first_rtt_bytes"]) for one in found]
    apart = max(max(most) - min(most), max(least) - min(least))
    return bool(apart > max(one["mss_bytes"] for one in found) and apart > 0.05 * max(most))


def _told(kind: str, first: dict[str, dict[str, Any]]) -> str:
    alike: dict[str, list[str]] = {}
    for name, one in first.items():
        packets = _span([size / one["mss_bytes"] for size in one["first_rtt_bytes"]], "{:,.0f}".format)
        slow = {"no": "no slow start", "yes": "slow start"}.get(slow_start_text(one), "slow start of some")
        words = f"{packets} packets ({_span(one['first_rtt_bdps'], '{:.3g}'.format)} BDP, {slow})"
        alike.setdefault(words, []).append(name)
    each = "; ".join(f"{', '.join(names)} with {words}" for words, names in alike.items())
    return f"the algorithms start {kind} flows differently: {each}; --same-start bdp (transport.start) makes them equal"


def _window(one: dict[str, Any]) -> str:
    return _limits(one["cwnd_bytes"], bytes_text)


def _rate(one: dict[str, Any]) -> str:
    return _limits(one["pacing_bps"], rate_text)


def _limits(values: Sequence[float | None], text: Any) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "no limit"
    return _span(known, text) + ("" if len(known) == len(values) else " or no limit")


def _span(values: Sequence[float], text: Any) -> str:
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"

"""The numbers that a reference and a run are compared by, by name.

| name | what it is |
| --- | --- |
| `fct_mean`, `fct_p50`, `fct_p90`, `fct_p99` | completion time of the finished flows (s) |
| `fct_small_…`, `fct_large_…` | the same of those below 100 kB, and from 1 MB on |
| `unfinished` | flows with a size that did not finish |
| `throughput:FLOW`, `share:FLOW`, `jain` | payload that arrived (bit/s), its part of all flows', Jain's index of all flows' |
| `rtt_mean:FLOW`, `cwnd_mean:FLOW` | means of what was recorded (s, B) |
| `startup:FLOW` | BBR's time in STARTUP, by the recorded pacing rate (s) |
| `period:FLOW` | mean time between the falls of the recorded window by more than a tenth (s); falls within 0.2 s of one another are one |
| `queue_mean:PORT`, `queue_max:PORT`, `drops:PORT` | of a port's queue (B, B, packets) |
| `flow:FLOW:COLUMN`, `port:PORT:COLUMN` | a cell of the tables, in the column's unit |
| `flows:COLUMN:HOW`, `ports:COLUMN:HOW` | the sum, mean, max or min of a column |
| `series:OBJECT:METRIC:HOW` | the mean, max or min of what was recorded |

Recorded values, and throughputs from them, count from the case's `since` on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.errors import FarloopError, clip_text, nearest
from farloop.results.flow_completion import column
from farloop.results.flow_samples import statistic
from farloop.results.summary import throughputs
from farloop.results.tables import Floats, port_names
from farloop.studies.validation.references import RECEIVED

if TYPE_CHECKING:
    import pyarrow as pa

    from farloop.results.run import Run

SMALL, LARGE = 100_000, 1_000_000
"""Sizes of flows in bytes: small ones are below, large ones from there on."""

_FCT = re.compile(r"fct_(?:(?P<kind>small|large)_)?(?P<statistic>mean|p\d{1,2}(?:\.\d+)?)")

HOW: Mapping[str, Callable[[Floats], float]] = {
    "sum": lambda v: float(np.sum(v)),
    "mean": lambda v: float(np.mean(v)),
    "max": lambda v: float(np.max(v)),
    "min": lambda v: float(np.min(v)),
}

FALL, ONE_FALL = 0.1, 0.2
"""Part by which a window falls, and seconds within which falls are one."""

SERIES = {"rtt_mean": "rtt", "cwnd_mean": "cwnd"}
"""Names that mean a recorded metric of a flow."""

DROPS = re.compile(r"dropped_")
"""Columns of ports that count packets which a queue refused."""


def measure(run: Run, name: str, *, fct: str = RECEIVED, since: float = 0.0) -> float:
    """A number of a run; NaN where there is nothing to measure, such as no finished flow.

    Args:
        run: The simulated run.
        name: Name of the number; see the module.
        fct: Until when completion times count: `received` or `acknowledged`.
        since: From when on, in seconds.

    Raises:
        FarloopError: there is no such number, flow, port, column or recorded metric.
    """
    if matched := _FCT.fullmatch(name):
        return _fct(run.flows, fct, matched["kind"] or "", matched["statistic"])
    kind, _, rest = name.partition(":")
    if name == "unfinished":
        sized = column(run.flows, "size_bytes") >= 0
        return float(np.sum(sized & np.isnan(_times(run.flows, fct))))
    if name == "jain":
        return metrics.jain(np.array(list(_throughputs(run, since).values())))
    if kind in ("throughput", "share"):
        rates = _throughputs(run, since)
        own = rates[_check_known(rest, list(rates), name)]
        return own if kind == "throughput" else metrics.ratio(own, sum(rates.values()))
    if kind in SERIES:
        return _mean_while_it_runs(run, rest, SERIES[kind], since)
    if kind == "startup":
        return _startup(run, rest, since)
    if kind == "period":
        return _period(*_samples_since(run, f"flow/{rest}", "cwnd", since))
    if kind in ("queue_mean", "queue_max") and since > 0:
        of = ("queue", "mean") if kind == "queue_mean" else ("max_queue", "max")
        return _series(run, f"port/{rest}", *of, since)
    if kind in ("queue_mean", "queue_max", "drops"):
        row = _row(port_names(run.ports), rest, name)
        if kind == "drops":
            return float(sum(column(run.ports, c)[row] for c in run.ports.schema.names if DROPS.match(c)))
        return float(column(run.ports, "mean_queue_bytes" if kind == "queue_mean" else "max_queue_bytes")[row])
    return _cell(run, kind, rest, name, since)


def _cell(run: Run, kind: str, rest: str, name: str, since: float) -> float:
    """Returns the number that a name gives after its table."""
    *of, last = rest.split(":")
    if kind == "series" and len(of) >= 2:
        return _series(run, ":".join(of[:-1]), of[-1], _check_known(last, list(HOW), name), since)
    table = run.flows if kind.startswith("flow") else run.ports
    if kind in ("flow", "port") and of:
        names = run.flows["name"].to_pylist() if kind == "flow" else port_names(run.ports)
        return float(column(table, _column(table, last, name))[_row(names, ":".join(of), name)])
    if kind in ("flows", "ports") and len(of) == 1:
        return HOW[_check_known(last, list(HOW), name)](column(table, _column(table, of[0], name)))
    raise FarloopError(f"{clip_text(name)}: no such metric; docs/validation.md has their names")


def _column(table: pa.Table, wanted: str, name: str) -> str:
    return _check_known(wanted, table.schema.names, name)


def _row(names: list[str], wanted: str, name: str) -> int:
    return names.index(_check_known(wanted, names, name))


def _check_known(wanted: str, known: list[str], name: str) -> str:
    if wanted not in known:
        raise FarloopError(f"{clip_text(name)}: {clip_text(wanted)}: {nearest(wanted, known)}")
    return wanted


def _times(flows: pa.Table, fct: str) -> Floats:
    """Completion time of each flow in seconds, NaN for the others."""
    end = column(flows, "received_ps" if fct == RECEIVED else "finish_ps")
    return (end - column(flows, "start_ps")) / 1e12


def _fct(flows: pa.Table, fct: str, kind: str, statistic_name: str) -> float:
    times, sizes = _times(flows, fct), column(flows, "size_bytes")
    if kind:
        times = times[sizes < SMALL] if kind == "small" else times[sizes >= LARGE]
    return statistic(times[~np.isnan(times)], statistic_name)


def _throughputs(run: Run, since: float) -> dict[str, float]:
    """Of each flow, in bit/s."""
    names = run.flows["name"].to_pylist()
    if since > 0:
        return {name: _series(run, f"flow/{name}", "throughput", "mean", since) for name in names}
    return dict(zip(names, throughputs(run.flows, run.duration).tolist(), strict=True))


def _series(run: Run, of: str, metric: str, how: str, since: float) -> float:
    return HOW[how](_samples_since(run, of, metric, since)[1])


def _samples_since(run: Run, of: str, metric: str, since: float) -> tuple[Floats, Floats]:
    """Times and values of what was recorded, from a time on; what is not known is left out."""
    times, values = run.samples.get(of, metric)
    counts = (times >= since) & ~np.isnan(values)
    return times[counts], values[counts]


def _mean_while_it_runs(run: Run, flow: str, metric: str, since: float) -> float:
    """The mean of what was recorded of a flow between its first acknowledgement and the last."""
    times, values = _samples_since(run, f"flow/{flow}", metric, since)
    known = (values > 0) & ~(times > _receive_time(run, flow))
    return float(np.mean(values[known])) if known.any() else float("nan")


def _receive_time(run: Run, flow: str) -> float:
    """When the receiver had all of a flow, in seconds; NaN if it never had."""
    return float(column(run.flows, "received_ps")[_row(run.flows["name"].to_pylist(), flow, flow)] / 1e12)


def _startup(run: Run, flow: str, since: float) -> float:
    """Seconds that BBR paces with the gain of STARTUP, 2.89.

    The rate falls below half of its largest so far where that ends; what is twice the mean throughput later is STARTUP once more.
    """
    times, rates = _samples_since(run, f"flow/{flow}", "pacing", since)
    known = np.isfinite(rates) & ~(times > _receive_time(run, flow))
    times, rates = times[known], rates[known]
    if not times.size:
        return float("nan")
    falls = rates < np.maximum.accumulate(rates) / 2
    end = int(np.argmax(falls)) if falls.any() else times.size - 1
    again = rates[end:] > 2 * _mean_while_it_runs(run, flow, "throughput", since)
    return float(times[end] + np.sum(np.diff(times[end:])[again[1:]]))


def _period(times: Floats, windows: Floats) -> float:
    """The mean time between the beginnings of falls. A kernel reduces a window packet by packet: it falls until it grows again."""
    falls: list[float] = []
    top = low = windows[0] if windows.size else 0.0
    at = times[0] if times.size else 0.0
    for time, window in zip(times, windows, strict=True):
        if window > low:
            top, at = window, time
        elif window < (1 - FALL) * top and (not falls or at - falls[-1] > ONE_FALL):
            falls.append(at)
        low = window
    return float(np.mean(np.diff(falls))) if len(falls) > 1 else float("nan")

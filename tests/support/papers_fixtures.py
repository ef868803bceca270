"""Runs made up for judges: the scenario is the figure's own, the numbers are whatever a test wants them to be."""

import functools

import numpy as np
import pyarrow as pa

from farloop.judging import schedule, verdicts
from farloop.results.fields import TABLES
from farloop.results.run import Comparison, Run
from farloop.results.summary import DROPS, LOST
from farloop.results.tables import Column, to_arrow
from farloop.units import seconds

NAMES = {"name", "source", "destination", "algorithm", "outcome", "node", "peer", "kind", "object", "metric"} | {
    "cause_node", "cause_peer", "root_node", "root_peer", "circuit", "queue",
}  # fmt: skip
"""Columns that hold texts."""

FLOATS = {"mean_queue_bytes", "occupancy"}
"""Columns whose numbers are no whole ones."""

ABSENT = {"stop_ps", "finish_ps", "received_ps", "offered_bytes"}
"""Columns that have no number unless a test gives one."""


def made(
    figure,
    case,
    algorithm,
    *,
    series=None,
    flows=None,
    ports=(),
    circuits=(),
    queues=(),
    pauses=(),
    iterations=(),
    change=None,
    seed=None,
    interval=None,
    paused_s=0.0,
    totals=None,
):
    """A run of a figure's case.

    Args:
        figure: Such as "gear/fig09".
        case: A case of the figure; by an empty name its scenario as it stands.
        algorithm: The algorithm.
        series: Values by object and metric, such as `{("flow/intra", "throughput"): 1e9}`: a number, one per sample, or a function of
            the sampling times.
        flows: One dict per flow, with the columns that matter; by default the scenario's flows without any numbers.
        ports: One dict per egress port.
        circuits: One dict per circuit and day.
        queues: One dict per queue of switches that schedule circuits.
        pauses: One dict per PFC pause.
        iterations: One dict per iteration of a job.
        change: Settings that depart from the figure's.
        seed: The seed, if it is not the scenario's.
        interval: Seconds between samples, if not the scenario's (which stays in the scenario: fewer samples make a test quicker).
        paused_s: PFC pauses over all ports, put on a port of its own.
        totals: More entries of the run's totals.
    """
    scenario = own(figure, case, algorithm, tuple((change or {}).items()), seed)
    resolved = scenario.parsed
    duration = seconds(resolved["run"]["duration"])
    sampled = resolved["record"]["interval"]
    times = np.empty(0)
    if sampled != "none":
        step = interval or seconds(sampled)
        times = step * np.arange(1, round(duration / step) + 1)
    if flows is None:
        flows = [
            {
                "name": f["name"],
                "cross_datacenter": int("cross" in f["name"] or "inter" in f["name"]),
                "start_ps": seconds(f["start"]) * 1e12,
            }
            for f in resolved["flow"]
        ]
    ports = [*ports, *([{"node": "left", "peer": "right", "paused_ps": paused_s * 1e12}] if paused_s else [])]
    return Run(
        label=f"{algorithm}, {case}" if case else algorithm,
        case=case,
        algorithm=algorithm,
        flows=table("flows", flows),
        series=samples(series or {}, times),
        ports=table("ports", ports),
        pauses=table("pauses", pauses),
        circuits=table("circuits", circuits),
        queues=table("queues", queues),
        iterations=table("iterations", iterations),
        ranks=table("ranks", []),
        info={"totals": {"end_s": duration, **TOTALS, **(totals or {})}, "invariants": [], "deadlocks": [], "version": "0", "wall_s": 1.0},
        scenario=resolved,
        file=scenario.file,
        overrides=scenario.overrides,
    )  # fmt: skip


@functools.cache
def own(figure, case, algorithm, change=(), seed=None):
    """The scenario of a figure's case, with some settings changed; kept, because resolving one takes longer than judging it."""
    own_case = schedule.case_scenario(figure, case, algorithm)
    return own_case.override(dict(change), seed=seed) if change or seed is not None else own_case


def planned(figure, make, scale="full", without=()):
    """A run for everything that a figure schedules, by `make(case, algorithm)`; but for the pairs in `without`."""
    needs = schedule.scheduled_runs(Comparison(figure, [], figure=figure, scale=scale))
    return [make(n.case, n.algorithm) for n in needs if (n.case, n.algorithm) not in without]


def judge(figure, runs, scale="full", seeds=()):
    """What the runs say about each claim, as in claims.json, by claim."""
    comparison = verdicts.add_verdicts(
        Comparison(figure, list(runs), seeds=tuple(seeds)), schedule.own_scenario(figure), scale
    )
    return {claim["id"]: claim for claim in comparison.claims}


def failed(claim):
    """The statements that do not hold."""
    return [s["text"] for s in claim["statements"] if s["holds"] is False]


def undecided(claim):
    """The statements that are not decided."""
    return [s["text"] for s in claim["statements"] if s["holds"] is None]


TOTALS = {"packet_hops": 1, "gave_up": 0, **dict.fromkeys((*DROPS, *LOST), 0)}


def table(name, rows):
    """A table of a run; columns that the rows do not name are zero, empty or absent. A row may have `copies`: it stands so many times."""
    columns: dict[str, Column | pa.Array] = {}
    for column in (field.name for field in TABLES[name]):
        values = [row.get(column) for row in rows]
        if column in NAMES:
            texts = [v or "" for v in values]
            columns[column] = pa.array(texts, pa.string()).dictionary_encode()
        elif column in ABSENT:
            columns[column] = pa.array([None if v is None else round(v) for v in values], pa.int64())
        elif column in FLOATS:
            columns[column] = pa.array([float(v or 0) for v in values], pa.float64())
        else:
            columns[column] = pa.array([round(v or 0) for v in values], pa.int64())
    made = pa.table(columns)
    if any("copies" in row for row in rows):
        made = made.take(pa.array(np.repeat(np.arange(len(rows)), [row.get("copies", 1) for row in rows])))
    return made


def samples(series, times):
    """The long form of sampled series."""
    keys = list(series) if times.size else []
    value = [
        np.broadcast_to(np.asarray(values(times) if callable(values) else values, float), times.shape)
        for values in series.values()
    ]
    objects, metrics = ({name: i for i, name in enumerate(dict.fromkeys(k[j] for k in keys))} for j in (0, 1))
    time = np.round(times * 1e12).astype(np.int64)
    column = {
        "time_ps": ("i64", np.tile(time, len(keys)).tobytes(), None),
        "object": (
            "dict",
            np.repeat(np.array([objects[k[0]] for k in keys], "<u4"), times.size).tobytes(),
            list(objects),
        ),
        "metric": (
            "dict",
            np.repeat(np.array([metrics[k[1]] for k in keys], "<u4"), times.size).tobytes(),
            list(metrics),
        ),
        "value": ("f64", b"".join(v.tobytes() for v in value), None),
    }
    return to_arrow(column)


def rates(**flows):
    """Series of throughputs in Gbit/s."""
    return {
        (f"flow/{name.replace('_', '-')}", "throughput"): (lambda t, r=rate: 1e9 * np.asarray(r(t)))
        if callable(rate)
        else 1e9 * rate
        for name, rate in flows.items()
    }


def step(before, at, after):
    """A rate that changes at a time."""
    return lambda t: np.where(t <= at, before, after)

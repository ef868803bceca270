"""The tables of reports and of the terminal: the same rows in both."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from farloop.results import flow_completion, gears, limits, offered, paired, starts, summary
from farloop.results.paired import Pooled
from farloop.results.replicas import Replicas, replicas
from farloop.results.seeds import mean_text
from farloop.results.size_classes import MARK, MARK_NOTE, NO_FLOWS, SizeClasses, add_mark
from farloop.statistics import Interval
from farloop.units import bytes_text, number, rate_text, time_text

if TYPE_CHECKING:
    from farloop.results.run import Comparison, Run

Cell = str | None

RUN_HEADER = [
    "run", "a flow inside", "a flow across", "inside/across", "Jain", "longest queue", "paused", "drops", "lost", "M hops/s",
]  # fmt: skip
"""The first two are means over flows, so that nobody takes them for the throughput of a link."""

WORST_HEADER = [
    "run", "worst port by", "port", "mean queue", "p99 queue", "longest queue", "drops", "paused", "utilisation",
]  # fmt: skip

WORST_WORDS = {"mean_queue": "mean queue", "max_queue": "longest queue", "drops": "drops", "paused": "pause"}

SLOWDOWN_HEADER = ["run", "FCT slowdown of", "finished", "unfinished", "mean", "p50", "p95", "p99"]

MAX_FLOW_ROWS = 1_000
"""Rows of the table of flows."""

MIN_FLOWS_LISTED = 4
"""Of each run, however many runs there are."""

POOLED_COUNTS = "Numbers of flows of a class are those of all seeds together, as its statistics are; finished and unfinished: means."
"""Note on the numbers of flows in both tables of slowdowns, with several seeds."""

POOLED_CAPTION = (
    "Of several seeds: statistics of the flows of all seeds together, with 95 % confidence intervals over the seeds. A percentile has one "
    "from five seeds on, from the 90th percentile on with ten, if enough flows lie beyond it."
)


def run_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """One row per run: mean throughput by kind of flow, fairness, longest queue of any port, pauses, drops, speed."""
    cases = replicas(comparison.runs)
    rows = [_run_row(of) for of in cases]
    return _drop_empty_columns(comparison, RUN_HEADER, rows)


def worst_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """The worst of all ports of each run: by queue, by drops, by pause; a port that is the worst by several has one row.

    Of several seeds it is the worst port of all of them.
    """
    return _drop_empty_columns(
        comparison, WORST_HEADER, [row for of in replicas(comparison.runs) for row in _worst_rows(of)]
    )


def _drop_empty_columns(
    comparison: Comparison, header: list[str], rows: list[list[Cell]]
) -> tuple[list[str], list[list[Cell]]]:
    """The table; where no run has flows, without the columns that have no value in any row."""
    if not rows or any(run.flows.num_rows for run in comparison.runs):
        return header, rows
    kept = [at for at in range(len(header)) if any(row[at] is not None for row in rows)]
    return [header[at] for at in kept], [[row[at] for at in kept] for row in rows]


def slowdown_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """Slowdown of the finished flows by run and kind; no rows if no run has enough of them for a distribution.

    Of several seeds they are statistics of the flows of all seeds together.
    """
    return SLOWDOWN_HEADER, [
        [caption, what, *counts, *_statistics(pooled, ("mean", "p50", "p95", "p99"))]
        for caption, what, counts, pooled, _ in _slowdowns(comparison)
    ]


def size_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """The same slowdowns by class of flow sizes, with the number of flows in each; no rows in the same cases."""
    heads = [size.heading for size in comparison.sizes.classes]
    header = ["run", "FCT slowdown of", *(f"{head}: {name}" for head in heads for name in ("flows", "mean", "p99"))]
    return header, [
        [
            caption,
            what,
            *(cell for pooled in classes for cell in (_count(pooled), *_statistics(pooled, ("mean", "p99")))),
        ]
        for caption, what, _, _, classes in _slowdowns(comparison)
    ]


def size_note(comparison: Comparison) -> str:
    """Returns the meanings of heads and marks in the tables of slowdowns, where there are any."""
    cells = [
        cell or "" for rows in (slowdown_rows(comparison)[1], size_rows(comparison)[1]) for row in rows for cell in row
    ]
    is_marked = any(cell.endswith(f" {MARK}") for cell in cells)
    parts = (
        comparison.sizes.note if cells else "",
        POOLED_COUNTS if cells and len(comparison.seeds) > 1 else "",
        f"{MARK_NOTE}." if is_marked else "",
    )
    return " ".join(filter(None, parts))


def start_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """Returns head and rows of the starts of each algorithm's flows; no rows where an old output does not say."""
    return starts.HEADER, starts.rows(comparison.runs)


def limit_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """The limits of the flows of each run, its seeds together; no rows where an old output does not say."""
    return limits.HEADER, limits.rows([(of.label, of.runs) for of in replicas(comparison.runs)])


def load_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """Returns head and rows of the offered load on each layer of the network; runs with equal traffic share rows, as do seeds."""
    rows: list[list[Cell]] = []
    seen: list[list[list[Cell]]] = []
    for of in replicas(comparison.runs):
        own = offered.rows_of_seeds([run.numbers["network"]["layers"] for run in of.runs])
        if own not in seen:
            seen.append(own)
            rows += [[of.label, *row] for row in own]
    if len(seen) == 1:
        return offered.HEADER, seen[0]
    return ["run", *offered.HEADER], rows


def paired_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """Each algorithm over the first, seed by seed, which have the same traffic; no rows without several seeds and algorithms."""
    pairs = paired.comparisons(comparison)
    names = list(dict.fromkeys(name for pair in pairs for name in pair.ratios))
    header = ["over", *names]
    rows: list[list[Cell]] = [
        [f"{pair.label} over {pair.base}", *(_ratio(pair.ratios.get(name)) for name in names)] for pair in pairs
    ]
    return header, rows


def _ratio(interval: Interval | None) -> Cell:
    return None if interval is None or interval.estimate is None else interval.ratio_text("{:.3g}".format)


def job_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """Times of each job's rounds, and of a `[[job]]` those on an ideal network; no rows if there is none.

    Where the bytes of a job are divided, so is what the network takes, while computing times are not: the table says by how much, and
    has the time on an ideal network with all bytes as well.
    """
    header = ["run", "job", "rounds", "finished", "mean", "shortest", "longest"]
    rows: list[list[Cell]] = []
    jobs = [job for run in comparison.runs for job in run.summary["jobs"].values()]
    has_ideal = any("ideal_s" in job for job in jobs)
    is_scaled = any(job.get("scale", 1) > 1 for job in jobs)
    for run in comparison.runs:
        for name, job in run.summary["jobs"].items():
            times = job["rounds_s"]
            texts = [time_text(f(times)) if times else None for f in (lambda t: sum(t) / len(t), min, max)]
            ideal = job.get("ideal_s")
            texts += [None if ideal is None else time_text(ideal)] if has_ideal else []
            if is_scaled:
                unscaled = job.get("ideal_unscaled_s")
                texts += [f"1/{job.get('scale', 1)}", None if unscaled is None else time_text(unscaled)]
            rows.append([run.label, name, str(job["rounds"]), str(len(times)), *texts])
    scaled = ["bytes", "ideal network, all bytes"] if is_scaled else []
    return [*header, *(["ideal network"] if has_ideal else []), *scaled], rows


def count_listed(comparison: Comparison) -> int:
    """The number of flows of each run that are listed: fewer of many runs, so that a page stays small."""
    return min(summary.MAX_FLOWS_LISTED, max(MIN_FLOWS_LISTED, MAX_FLOW_ROWS // max(1, len(comparison.runs))))


def flow_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """One row per flow and run; of runs with many flows those with the largest slowdown."""
    header = ["run", "flow", "from", "to", "base RTT", "throughput", "slowdown", "marked", "retransmitted", "timeouts"]
    rows: list[list[Cell]] = []
    for run in comparison.runs:
        for flow in summary.flow_rows(summary.slowest(run.flows, count_listed(comparison)), run.duration):
            slowdown = flow["slowdown"]
            rows.append(
                [
                    run.label,
                    flow["name"],
                    flow["source"],
                    flow["destination"],
                    time_text(flow["base_rtt"]),
                    rate_text(flow["throughput"]),
                    None if slowdown is None else f"{slowdown:.2f}",
                    *(
                        None if flow[name] is None else str(flow[name])
                        for name in ("marked", "retransmitted", "timeouts")
                    ),
                ]
            )
    return header, rows


def claim_rows(claim: dict[str, Any]) -> tuple[list[str], list[list[Cell]]]:
    """One row per number of a claim: the paper's beside ours."""
    unit = f" ({claim['unit']})" if claim["unit"] else ""
    names = dict.fromkeys([*claim["paper"], *claim["measured"]])
    rows: list[list[Cell]] = [
        [name_in_words(n), number(claim["paper"].get(n)), number(claim["measured"].get(n))] for n in names
    ]
    return [f"number{unit}", "paper", "measured"], rows


def name_in_words(name: str) -> str:
    """A number's name for people: "Gear_ratio_least" becomes "Gear ratio (least)", "converged_s" becomes "converged (s)"."""
    *parts, last = name.split("_")
    if parts and last in ("least", "largest", "s", "ms", "us"):
        return f"{' '.join(parts)} ({last})"
    return name.replace("_", " ")


def _run_row(of: Replicas) -> list[Cell]:
    def mean(value: Callable[[Run], float | None], text: Callable[[float], str], ceiling: float | None = None) -> Cell:
        return mean_text([value(run) for run in of.runs], text, ceiling=ceiling)

    return [
        of.caption,
        mean(lambda run: run.summary["mean_throughput"]["intra"], rate_text),
        mean(lambda run: run.summary["mean_throughput"]["cross"], rate_text),
        mean(lambda run: run.summary["ratio"], "{:.2f}".format),
        mean(lambda run: run.summary["jain"], "{:.3f}".format, 1.0),
        mean(_longest_queue, bytes_text),
        mean(lambda run: run.summary["pfc"]["paused"], time_text),
        mean(lambda run: run.summary["dropped"], _count_text),
        mean(lambda run: run.summary["lost"], _count_text),
        mean(_run_speed, "{:.1f}".format),
    ]


def _percent(share: float) -> str:
    """A share in whole percent, a small one with two digits."""
    return f"{100 * share:.0f} %" if share == 0 or share >= 0.01 else f"{100 * share:.2g} %"


def _count_text(packets: float) -> str:
    """A count, or a mean of several."""
    return f"{packets:,.0f}" if packets == round(packets) else f"{packets:,.1f}"


def _run_speed(run: Run) -> float | None:
    wall = float(run.info["wall_s"])
    hops = run.summary["packet_hops"]
    return hops / wall / 1e6 if hops is not None and wall > 0 else None


def _longest_queue(run: Run) -> float | None:
    """The longest queue of any port in bytes; `None` where the gear of the run has no queues."""
    if run.gear == gears.MAX_MIN:
        return None
    return float((run.summary["worst"]["max_queue"] or {"max_queue": 0.0})["max_queue"])


def _worst_rows(of: Replicas) -> list[list[Cell]]:
    ports: dict[tuple[str, str], dict[str, Any]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for what in summary.WORST:
        known = [(run, run.summary["worst"][what]) for run in of.runs if run.summary["worst"][what]]
        if known:
            run, port = max(known, key=lambda pair: float(pair[1][what]))
            key = (run.label, port["port"])
            ports[key] = port
            reasons.setdefault(key, []).append(WORST_WORDS[what])
    return [
        [
            label,
            ", ".join(reasons[label, name]),
            name,
            _size(port["mean_queue"]),
            _size(port["p99_queue"]),
            _size(port["max_queue"]),
            None if port["drops"] is None else f"{port['drops']:,}",
            None if port["paused"] is None else time_text(port["paused"]),
            None if port["utilisation"] is None else _percent(port["utilisation"]),
        ]
        for (label, name), port in ports.items()
    ]


_Slowdowns = tuple[str, str, list[Cell], Pooled, list[Pooled]]
"""Of a row: the run, which flows, how many finished and did not, their slowdowns, and those of each class of sizes."""


def _slowdowns(comparison: Comparison) -> list[_Slowdowns]:
    return [
        row
        for of in replicas(comparison.runs)
        for kind in flow_completion.KINDS
        if comparison.has_many_finished
        and any(run.summary["slowdown"][kind] or run.summary["unfinished"][kind] for run in of.runs)
        for row in _slowdowns_of(of, kind, comparison.sizes)
    ]


def _slowdowns_of(of: Replicas, kind: str, sizes: SizeClasses) -> list[_Slowdowns]:
    """The finished flows; where some are unfinished also a row that counts them, whose numbers are lower bounds."""

    def flows(*, unfinished: bool) -> tuple[Pooled, list[Pooled]]:
        classes = [paired.pool_slowdowns(of.runs, kind, size, sizes, unfinished=unfinished) for size in sizes.names]
        return paired.pool_slowdowns(of.runs, kind, unfinished=unfinished), classes

    each = [run.summary["slowdown"][kind] or {} for run in of.runs]
    left = [float(run.summary["unfinished"][kind]) for run in of.runs]
    counts = [
        mean_text([float(slowdown.get("flows", 0)) for slowdown in each], _count_text),
        mean_text(left, _count_text),
    ]
    if not any(left):
        return [(of.caption, kind, counts, *flows(unfinished=False))]
    return [
        (of.caption, f"{kind}, finished only", counts, *flows(unfinished=False)),
        (of.caption, f"{kind}, all, at least", [None, None], *flows(unfinished=True)),
    ]


def _count(pooled: Pooled) -> str:
    return f"{pooled.flows:,}" if pooled.flows else NO_FLOWS


def _statistics(pooled: Pooled, names: tuple[str, ...]) -> list[Cell]:
    """Statistics with their intervals; a 99th percentile over few flows is marked."""
    if not pooled.flows:
        return [None for _ in names]
    texts = {name: pooled.intervals[name].format("{:.2f}".format) for name in names}
    return [add_mark(text, pooled.flows) if name == "p99" else text for name, text in texts.items()]


def _size(value: float | None) -> Cell:
    return None if value is None else bytes_text(value)

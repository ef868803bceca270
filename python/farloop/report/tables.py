"""The tables of reports and of the terminal: the same rows in both."""

from __future__ import annotations

from typing import Any

from farloop import completion, summary
from farloop.results import Comparison, Run
from farloop.units import bytes_text, rate_text, time_text

Cell = str | None

RUN_HEADER = [
    "run", "intra", "cross", "intra/cross", "Jain", "longest queue", "paused", "drops", "lost", "M hops/s",
]  # fmt: skip

WORST_HEADER = [
    "run", "worst port by", "port", "mean queue", "p99 queue", "longest queue", "drops", "paused", "utilisation",
]  # fmt: skip

WORST_WORDS = {"mean_queue": "mean queue", "max_queue": "longest queue", "drops": "drops", "paused": "pause"}

SLOWDOWN_HEADER = [
    "run", "FCT slowdown of", "finished", "unfinished", "mean", "p50", "p95", "p99",
    "small: mean", "small: p99", "large: mean", "large: p99",
]  # fmt: skip


def run_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """One row per run: mean throughput by kind of flow, fairness, longest queue of any port, pauses, drops, speed."""
    return RUN_HEADER, [_run_row(run) for run in comparison.runs]


def worst_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """The worst of all ports of each run: by queue, by drops, by pause; a port that is the worst by several has one row."""
    return WORST_HEADER, [row for run in comparison.runs for row in _worst_rows(run)]


def slowdown_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """Slowdown of the finished flows by run and kind; no rows if no run has enough of them for a distribution."""
    return SLOWDOWN_HEADER, [
        _slowdown_row(run, kind)
        for run in comparison.runs
        for kind in completion.KINDS
        if comparison.has_many_finished and (run.summary["slowdown"][kind] or run.summary["unfinished"][kind])
    ]


def flow_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """One row per flow and run; of runs with many flows those with the largest slowdown."""
    header = ["run", "flow", "from", "to", "base RTT", "throughput", "slowdown", "marked", "retransmitted", "timeouts"]
    rows: list[list[Cell]] = []
    for run in comparison.runs:
        for flow in summary.flow_rows(summary.slowest(run.flows), run.duration):
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
                    str(flow["marked"]),
                    str(flow["retransmitted"]),
                    str(flow["timeouts"]),
                ]
            )
    return header, rows


def claim_rows(claim: dict[str, Any]) -> tuple[list[str], list[list[Cell]]]:
    """One row per number of a claim: the paper's beside ours."""
    unit = f" ({claim['unit']})" if claim["unit"] else ""
    names = dict.fromkeys([*claim["paper"], *claim["measured"]])
    rows: list[list[Cell]] = [
        [in_words(n), number(claim["paper"].get(n)), number(claim["measured"].get(n))] for n in names
    ]
    return [f"number{unit}", "paper", "measured"], rows


def in_words(name: str) -> str:
    """A number's name for people: "Gear_ratio_least" becomes "Gear ratio (least)", "converged_s" becomes "converged (s)"."""
    *parts, last = name.split("_")
    if parts and last in ("least", "largest", "s", "ms", "us"):
        return f"{' '.join(parts)} ({last})"
    return name.replace("_", " ")


def number(value: Any) -> Cell:
    """A measured value for people."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(number(v) or "–" for v in value)
    return None if value is None else str(value)


def _run_row(run: Run) -> list[Cell]:
    found = run.summary
    longest = found["worst"]["max_queue"]
    wall = float(run.info["wall_s"])
    return [
        run.label,
        _mean_rate(run, "intra"),
        _mean_rate(run, "cross"),
        None if found["ratio"] is None else f"{found['ratio']:.2f}",
        None if found["jain"] is None else f"{found['jain']:.3f}",
        _size(longest["max_queue"] if longest else 0.0),
        time_text(found["pfc"]["paused"]),
        f"{found['dropped']:,}",
        f"{found['lost']:,}",
        f"{found['packet_hops'] / wall / 1e6:.1f}" if wall > 0 else None,
    ]


def _worst_rows(run: Run) -> list[list[Cell]]:
    ports: dict[str, dict[str, Any]] = {}
    reasons: dict[str, list[str]] = {}
    for what, port in run.summary["worst"].items():
        if port is not None:
            ports[port["port"]] = port
            reasons.setdefault(port["port"], []).append(WORST_WORDS[what])
    return [
        [
            run.label,
            ", ".join(reasons[name]),
            name,
            _size(port["mean_queue"]),
            _size(port["p99_queue"]),
            _size(port["max_queue"]),
            f"{port['drops']:,}",
            time_text(port["paused"]),
            None if port["utilisation"] is None else f"{100 * port['utilisation']:.0f} %",
        ]
        for name, port in ports.items()
    ]


def _mean_rate(run: Run, kind: str) -> Cell:
    mean = run.summary["mean_throughput"][kind]
    return None if mean is None else rate_text(mean)


def _slowdown_row(run: Run, kind: str) -> list[Cell]:
    found = run.summary["slowdown"][kind] or {}
    small, large = found.get("small") or {}, found.get("large") or {}
    numbers = [found.get(key) for key in ("mean", "p50", "p95", "p99")]
    numbers += [part.get(key) for part in (small, large) for key in ("mean", "p99")]
    counts = [str(found.get("flows", 0)), str(run.summary["unfinished"][kind])]
    return [run.label, kind, *counts, *(None if n is None else f"{n:.2f}" for n in numbers)]


def _size(value: float | None) -> Cell:
    return None if value is None else bytes_text(value)

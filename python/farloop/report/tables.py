"""The tables of reports and of the terminal: the same rows in both."""

from __future__ import annotations

from typing import Any

from farloop.results import Comparison, Run
from farloop.units import bytes_text, rate_text, time_text

Cell = str | None

RUN_HEADER = [
    "run", "intra", "cross", "intra/cross", "Jain", "mean queue", "p99 queue", "max queue", "paused", "drops", "M hops/s",
]  # fmt: skip


def run_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """One row per run: mean throughput by kind of flow, fairness, the bottleneck's queue, pauses, drops, speed."""
    return RUN_HEADER, [_run_row(run) for run in comparison.runs]


def flow_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """One row per flow and run; empty for runs with very many flows."""
    header = ["run", "flow", "from", "to", "base RTT", "throughput", "slowdown", "marked", "retransmitted", "timeouts"]
    rows: list[list[Cell]] = []
    for run in comparison.runs:
        for flow in run.summary.get("flows", []):
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
    rows: list[list[Cell]] = [[n, number(claim["paper"].get(n)), number(claim["measured"].get(n))] for n in names]
    return [f"number{unit}", "paper", "measured"], rows


def number(value: Any) -> Cell:
    """A measured value for people."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(number(v) or "–" for v in value)
    return None if value is None else str(value)


def _run_row(run: Run) -> list[Cell]:
    summary = run.summary
    bottleneck = summary["bottleneck"] or {}
    wall = float(run.info["wall_s"])
    return [
        run.label,
        _mean_rate(run, cross=False),
        _mean_rate(run, cross=True),
        None if summary["ratio"] is None else f"{summary['ratio']:.2f}",
        None if summary["jain"] is None else f"{summary['jain']:.3f}",
        _size(bottleneck.get("mean_queue")),
        _size(bottleneck.get("p99_queue")),
        _size(bottleneck.get("max_queue")),
        time_text(summary["pfc"]["paused"]),
        str(summary["dropped"]),
        f"{summary['packet_hops'] / wall / 1e6:.1f}" if wall > 0 else None,
    ]


def _mean_rate(run: Run, *, cross: bool) -> Cell:
    rates = [f["throughput"] for f in run.summary.get("flows", []) if f["cross_datacenter"] == cross]
    return rate_text(sum(rates) / len(rates)) if rates else None


def _size(value: float | None) -> Cell:
    return None if value is None else bytes_text(value)

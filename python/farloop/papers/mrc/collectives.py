"""MRC beside RoCE: how fast 64 hosts do a ring all-reduce and an all-to-all, with several queue pairs and with losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need, scheduled_runs
from farloop.palette import CROSS
from farloop.views.figures.panels import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

RING, EXCHANGE, SMALL = "all-reduce", "all-to-all", "small all-to-all"
LOSS, MUCH_LOSS = "0.1 % lost", "1 % lost"


def _roce(*parts: str) -> Need:
    return Need(", ".join((parts[0], "RoCE", *parts[1:])), "dcqcn")


def _mrc(*parts: str) -> Need:
    return Need(", ".join((parts[0], "MRC", *parts[1:])), "mrc")


def speed(run: Run) -> float:
    """The collective's time on an ideal network over that of the run; of one that was not over, over the time until the run's end."""
    (row,) = run.iterations.to_pylist()
    return float(row["ideal_ps"]) / float(row["time_ps"] or 1e12 * run.duration)


def _is_faster(first: Run, second: Run) -> tuple[bool, str]:
    return speed(first) > speed(second), f"{speed(first):.3f} beside {speed(second):.3f} of the ideal speed"


def _divide_speeds(first: Run, second: Run) -> float:
    return speed(first) / speed(second)


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """The speed of each collective against its ideal, and against one another."""
    return [
        _judge_ring(Judging(comparison, claims["mrc/all-reduce"])),
        _judge_exchange(Judging(comparison, claims["mrc/all-to-all"])),
    ]


def _judge_ring(judging: Judging) -> Finding:
    single, eight, sixteen = _roce(RING), _roce(RING, "8 QPs"), _roce(RING, "16 QPs")
    whole, part = _mrc(RING), _mrc(RING, LOSS)
    judging.near("RoCE, one queue pair", "RoCE with one queue pair has half of the throughput", [single], speed)
    judging.order("RoCE is faster with 16 queue pairs than with one", [sixteen, single], _is_faster)
    judging.near(
        "RoCE, 16 queue pairs over 8", "RoCE gains little beyond 8 queue pairs", [sixteen, eight], _divide_speeds
    )
    judging.order("MRC with one queue pair is faster than RoCE with 16", [whole, sixteen], _is_faster)
    judging.near(
        "MRC, 0.1 % lost, over no loss", "0.1 % of loss has little impact on MRC", [part, whole], _divide_speeds
    )
    judging.near("MRC, 1 % lost", "MRC keeps a third of the throughput at 1 % of loss", [_mrc(RING, MUCH_LOSS)], speed)
    judging.order("MRC is faster than RoCE at 0.1 % of loss", [part, _roce(RING, LOSS)], _is_faster)
    return judging.finding(note="throughput: time on an ideal network over that of the run")


def _judge_exchange(judging: Judging) -> Finding:
    for name, kind in (("large", EXCHANGE), ("small", SMALL)):
        judging.order(f"{name}: MRC is faster than RoCE", [_mrc(kind), _roce(kind)], _is_faster)
    judging.order(
        "large: RoCE is slower with 16 queue pairs than with one",
        [_roce(EXCHANGE), _roce(EXCHANGE, "16 QPs")],
        _is_faster,
    )
    judging.near(
        "RoCE, large, 0.1 % lost, over no loss",
        "large: 0.1 % of loss barely degrades RoCE",
        [_roce(EXCHANGE, LOSS), _roce(EXCHANGE)],
        _divide_speeds,
    )

    def loses_more(roce_part: Run, roce: Run, mrc_part: Run, mrc: Run) -> tuple[bool, str]:
        left_by_roce, left_by_mrc = _divide_speeds(roce_part, roce), _divide_speeds(mrc_part, mrc)
        return left_by_roce < left_by_mrc, f"RoCE keeps {left_by_roce:.3f}, MRC {left_by_mrc:.3f} of its own speed"

    judging.order(
        "small: RoCE loses more by 0.1 % of loss than MRC",
        [_roce(SMALL, LOSS), _roce(SMALL), _mrc(SMALL, LOSS), _mrc(SMALL)],
        loses_more,
    )
    return judging.finding(note="throughput: time on an ideal network over that of the run")


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Speed against the ideal, case by case."""
    names, values = [], []
    for need in scheduled_runs(comparison):
        runs = [r for r in comparison.runs if Need(r.case, r.algorithm) == need]
        if runs:
            names.append(need.case)
            values.append(speed(runs[0]))
    figure, axes = grid(1, "Throughput of collectives, over that of an ideal network", columns=1)
    axes[0].barh(range(len(names)), values, color=CROSS[0])
    axes[0].set_yticks(range(len(names)), names, fontsize=6)
    axes[0].invert_yaxis()
    axes[0].set_xlim(0, 1)
    return {"collectives": figure}

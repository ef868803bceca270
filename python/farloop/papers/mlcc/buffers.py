"""MLCC, Figs. 9 and 10: the queue of the receivers' DCI switch after flows start together, and in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import require_duration
from farloop.judging.schedule import Need, scheduled_runs
from farloop.palette import CROSS, INTRA
from farloop.papers.mlcc.common import DCI, holding_time, queue, starts, total
from farloop.units import seconds
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

CROSS_FLOWS = tuple(f"cross-{i}" for i in range(1, 5))

TOGETHER, LATE = 0.15, 0.11
"""Duration of the runs of a burst, and the time from which on their queue has settled, in seconds."""

NEAR = 0.3
"""A queue is settled where it is within this part of D_t times the flows' rate."""

JITTER = 0.2
"""Jitter is a queue that falls by this part below where it settles; one that is well set does not."""

QUIET = (0.085, 0.105)
"""In turn: from three times θ after the last start until the first flow is done, in seconds."""

EMPTY = 0.1
"""Less than this part of its peak is an empty queue."""

CASES = {"6 ms": "theta = 6 ms", "18 ms": "theta = 18 ms", "30 ms": "theta = 30 ms"}


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Peak and settled queue for θ = 18 ms, and how the other values depart from it; the same of the flows in turn."""
    needs = {n.case: n for n in scheduled_runs(comparison, algorithm="mlcc")}
    return [
        _judge_burst(Judging(comparison, claims["mlcc/fig09"]), needs),
        _judge_turns(Judging(comparison, claims["mlcc/fig10"]), [needs["in turn"]] if "in turn" in needs else []),
    ]


def _judge_burst(judging: Judging, needs: Mapping[str, Need]) -> Finding:
    for run in judging.comparison.runs:
        if run.case.startswith("theta"):
            judging.measure(_numbers, run)
    good = [needs[CASES["18 ms"]]]
    judging.near("peak_mb", "θ = 18 ms: peak (MB)", good, lambda run: _peak(run) / 1e6, better="lower")
    judging.near("settled_mb", "θ = 18 ms: settled (MB)", good, lambda run: _settled_queue(run) / 1e6, better="lower")
    judging.near(
        "per_flow_peak_mb", "θ = 18 ms: peak per flow (MB)", good, lambda run: _peak(run) / 4e6, better="lower"
    )
    judging.near(
        "per_flow_settled_mb",
        "θ = 18 ms: settled per flow (MB)",
        good,
        lambda run: _settled_queue(run) / 4e6,
        better="lower",
    )

    def settles(run: Run) -> tuple[bool, str]:
        ratio = metrics.ratio(_settled_queue(run), _target(run))
        evidence = f"{_settled_queue(run) / 1e6:.3g} MB where D_t times the rate is {_target(run) / 1e6:.3g} MB"
        return 1 - NEAR <= ratio <= 1 + NEAR and _settling_time(
            run
        ) < np.inf, f"{evidence}; for good after {_ms(_settling_time(run))}"

    def jitters(run: Run, reference: Run) -> tuple[bool, str]:
        own, other = (_undershoot(r) for r in (run, reference))
        evidence = f"falls {100 * own:.3g} % below where it settles, with 18 ms {100 * other:.3g} %; jitter is {100 * JITTER:g} %"
        return own >= JITTER > other, evidence

    def slower(run: Run, reference: Run) -> tuple[bool, str]:
        own, other = (_settling_time(r) for r in (run, reference))
        return own > other, f"settled after {_ms(own)}, with 18 ms {_ms(other)}"

    judging.order("θ = 18 ms: the queue settles at D_t times the rate", good, settles)
    judging.order("θ = 6 ms jitters", [needs[CASES["6 ms"]], *good], jitters)
    judging.order("θ = 30 ms is slower", [needs[CASES["30 ms"]], *good], slower)
    return judging.finding(unit="MB", note="the queues to both spine switches together; per flow: a quarter of that")


def _judge_turns(judging: Judging, needs: Sequence[Need]) -> Finding:
    for run in judging.have(needs):
        judging.measure(_turn_numbers, run)

    def measure_quiet_queue(run: Run) -> float:
        times, values = queue(require_duration(run, QUIET[1]), DCI)
        return metrics.mean(times, values, *QUIET)

    def empties(run: Run) -> tuple[bool, str]:
        _, values = queue(run, DCI)
        return float(values[-1]) < EMPTY * _peak(run), f"{values[-1] / 1e6:.3g} MB at the end"

    judging.near("peak_mb", "peak (MB)", needs, lambda run: _peak(run) / 1e6, better="lower")
    judging.near(
        "settled_mb",
        "kept until the first flow ends (MB)",
        needs,
        lambda run: measure_quiet_queue(run) / 1e6,
        better="lower",
    )
    judging.order("as flows end the queue empties", needs, empties)
    return judging.finding(unit="MB", note="a flow across starts every 10 ms and sends 150 MB")


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Fig. 9: the queue for each θ, and by flow; Fig. 10: the queue and the flows in turn."""
    pictures = {}
    together = [r for r in comparison.runs if r.case.startswith("theta")]
    own = [r for r in together if r.algorithm == "mlcc"]
    if own:
        figure, axes = grid(2, "The queue of the receivers' DCI switch, flows start together", columns=2, shared=False)
        _queues(axes[0], own, [f"θ = {r.case.rpartition('= ')[2]}" for r in own])
        axes[0].set_title("by θ", fontsize=8)
        variants = [r for r in together if r.case == CASES["18 ms"]]
        _queues(axes[1], variants, [r.algorithm for r in variants])
        axes[1].set_title("θ = 18 ms, and variants of MLCC", fontsize=8)
        for axis in axes:
            if axis.lines:
                axis.legend(fontsize=6.5)
        pictures["fig09"] = figure
    turns = [r for r in comparison.runs if r.case == "in turn" and r.algorithm == "mlcc"]
    if turns:
        figure, axes = grid(2, "The queue of the receivers' DCI switch, flows start in turn", columns=2, shared=False)
        _queues(axes[0], turns, ["queue"])
        axes[0].set_title("queue", fontsize=8)
        for flow in starts(turns[0]):
            times, values = turns[0].samples.get(f"flow/{flow}", "throughput")
            kind, _, n = flow.partition("-")
            colour = (CROSS if kind == "cross" else INTRA)[int(n) - 1]
            smooth = metrics.smooth_values(values, 10) / 1e9
            axes[1].plot(1e3 * times, smooth, color=colour, linewidth=0.8, label=flow)
        axes[1].set_title("throughput", fontsize=8)
        axes[1].set_xlabel("time (ms)", fontsize=8)
        axes[1].set_ylabel("throughput (Gbps)", fontsize=8)
        legend_below(figure, axes[1:])
        pictures["fig10"] = figure
    return pictures


def _queues(axis: Axes, runs: Sequence[Run], labels: Sequence[str]) -> None:
    shades = [CROSS[0], INTRA[0], INTRA[2], CROSS[2]]
    for run, label, colour in zip(runs, labels, shades, strict=False):
        times, values = queue(run, DCI)
        axis.plot(1e3 * times, values / 1e6, color=colour, linewidth=0.9, label=label)
    axis.set_xlabel("time (ms)", fontsize=8)
    axis.set_ylabel("queue (MB)", fontsize=8)
    axis.set_ylim(bottom=0)


def _peak(run: Run) -> float:
    return float(queue(run, DCI, "max_queue")[1].max())


def _settled_queue(run: Run) -> float:
    """The mean queue once it has settled."""
    return metrics.mean(*queue(require_duration(run, TOGETHER), DCI), LATE)


def _target(run: Run) -> float:
    """D_t times the rate of the flows across once they have settled, in bytes of payload."""
    delay = seconds(run.scenario["algorithm"]["mlcc"]["delay_target"])
    return delay * total(run, CROSS_FLOWS, LATE) / 8


def _settling_time(run: Run) -> float:
    """Seconds after the start from which on the queue stays near the target."""
    target = _target(require_duration(run, TOGETHER))
    times, values = queue(run, DCI)
    return holding_time(times, np.abs(values - target) <= NEAR * target, min(starts(run).values()))


def _undershoot(run: Run) -> float:
    """Returns the queue's fall below its settled level, after its peak, as a part of that level."""
    times, values = queue(require_duration(run, TOGETHER), DCI)
    after = values[times > times[np.argmax(values)]]
    return 1 - metrics.ratio(float(after.min()), _settled_queue(run))


def _numbers(run: Run) -> dict[str, float]:
    name = f"{run.algorithm}, {run.case}" if run.algorithm != "mlcc" else run.case
    numbers = {
        "peak (MB)": _peak(run) / 1e6,
        "settled (MB)": _settled_queue(run) / 1e6,
        "D_t times the rate (MB)": _target(run) / 1e6,
        "settled after (ms)": 1e3 * _settling_time(run),
        "falls below where it settles by": _undershoot(run),
        "cross at the end (Gbps)": total(run, CROSS_FLOWS, LATE) / 1e9,
    }
    return {f"{name}: {k}": v for k, v in numbers.items()}


def _turn_numbers(run: Run) -> dict[str, float]:
    received = run.flows["received_ps"].to_numpy() / 1e12
    done = {n: t for n, t in zip(run.flows["name"].to_pylist(), received, strict=True) if n.startswith("cross")}
    return {f"{name} ends (ms)": 1e3 * float(t) for name, t in done.items()}


def _ms(value: float) -> str:
    return f"{1e3 * value:.3g} ms"

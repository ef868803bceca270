"""ICC, Figs. 4, 5, 9, 10, 11: pauses, the victim's throughput, completion times and S0's queue under repeated bursts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import require_duration
from farloop.judging.schedule import Need
from farloop.papers.icc.common import (
    COLOURS,
    NAMES,
    RIVALS,
    VARIANTS,
    avoided_pauses,
    bars,
    case_name,
    completion,
    paper_name,
    paused_time,
    pauses,
    smooth_throughput,
    unfinished_text,
)
from farloop.results import pfc
from farloop.results.flow_samples import statistic
from farloop.units import count_text, time_text
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

POINT = "burst"
"""The cases that are judged; those with F0, or with spread bursts, are reported beside."""

FIRST, BETWEEN, ROUNDS = 1e-3, 5e-3, 8
"""When bursts come: the first, and the time from one to the next."""

WATCHED = ("s0->s1", "h1->s0", "hb->s1")
"""Ports whose pauses are seen over time: S0's to S1, F1's sender, Hb."""

VICTIM, RACK, HB = ("f1",), ("burst-",), ("hb",)

AVERAGED = 1e-4
"""Seconds over which throughput is averaged."""

RECOVERED = 0.9
"""Of the throughput before the burst: from here on F1 is back at its initial value."""

ALMOST = 0.9
"""Of 100 Gbps, by payload: "almost always transmits packets at 100 Gbps"; headers take 5 %."""

STOPPED = 1e9
"""Throughput below which F1 stands still."""

NEAR_ZERO = 50e3
"""A queue that is near zero: 1 % of the buffer."""

SOON = 1.1e-3
"""After a burst: by then ICC has stopped pausing, in the paper; the burst itself is 0.65 ms of R1's link."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Pauses and when they end; the victim's throughput; completion times; the queue of S0's port to S1."""
    return [
        _pauses(Judging(comparison, claims["icc/fig04-09"])),
        _throughput(Judging(comparison, claims["icc/fig05"])),
        _completion(Judging(comparison, claims["icc/fig10"])),
        _queue(Judging(comparison, claims["icc/fig11"])),
    ]


def need(algorithm: str) -> Need:
    """The judged run of an algorithm."""
    return Need(case_name(POINT, algorithm), algorithm)


def _pauses(judging: Judging) -> Finding:
    paper, icc = judging.claim.paper, need("icc")
    for run in judging.comparison.runs:
        judging.measure(_pause_numbers, run)
    for algorithm, name in RIVALS.items():

        def fewer(own: Run, rival: Run) -> tuple[bool, str]:
            return pauses(own) < pauses(rival), f"{pauses(own)} and {pauses(rival)} pauses"

        def avoids_enough(own: Run, rival: Run, name: str = name) -> tuple[bool, str]:
            part = judging.measured[name] = avoided_pauses(pauses(own), pauses(rival))
            return part >= paper[name], f"{100 * part:.0f} % of {pauses(rival)}"

        def longer(own: Run, rival: Run) -> tuple[bool, str]:
            ends = last_pause(own), last_pause(rival)
            return ends[0] < ends[1], f"last {1e3 * ends[0]:.2f} and {1e3 * ends[1]:.2f} ms after a burst began"

        both = [icc, need(algorithm)]
        judging.order(f"ICC pauses less than {name}", both, fewer)
        judging.order(
            f"ICC avoids at least {100 * paper[name]:.0f} % of {name}'s pauses", both, avoids_enough, number=True
        )
        judging.order(f"ICC stops pausing before {name}", both, longer)

    text = f"ICC stops pausing after {paper['icc_last_pause_ms']:g} ms"
    judging.near("icc_last_pause_ms", text, [icc], lambda run: 1e3 * last_pause(run), better="lower")
    return judging.finding(
        note="pauses: Xoff frames, over all ports and eight bursts; times: from the start of a burst"
    )


def last_pause(run: Run) -> float:
    """Seconds from the start of a burst to the last moment at which a watched port is paused, at most over the bursts; 0 if none is."""
    last = 0.0
    for port in WATCHED:
        times, part = run.samples.get(f"port/{port}", "paused")
        at = times[(part > 0) & (times > FIRST)]
        if at.size:
            last = max(last, float(((at - FIRST) % BETWEEN).max()))
    return last


def _pause_numbers(run: Run) -> dict[str, Any]:
    label = _label(run)
    numbers: dict[str, Any] = {
        "pauses": pauses(run),
        "paused (ms)": 1e3 * paused_time(run),
        "last pause (ms)": 1e3 * last_pause(run),
    }
    return {f"{label}: {name}": value for name, value in numbers.items()}


def _label(run: Run) -> str:
    """The algorithm, with what the case adds to it."""
    return f"{paper_name(run)}, {run.case}"


def _throughput(judging: Judging) -> Finding:
    icc = need("icc")
    for run in judging.comparison.runs:
        judging.measure(_throughput_numbers, run)
    for algorithm in ("icc", *RIVALS):
        name = NAMES[algorithm]

        def is_almost_full(run: Run) -> tuple[bool, str]:
            before = _initial_throughput(run)
            return before >= ALMOST * 100e9, f"{before / 1e9:.3g} Gbps before the first burst, from {100 * ALMOST:g}"

        judging.order(f"{name}: F1 has almost 100 Gbps without a burst", [need(algorithm)], is_almost_full)
        text = f"{name}: F1 is back after {judging.claim.paper[f'recovery_ms_{name}']:g} ms"
        judging.near(f"recovery_ms_{name}", text, [need(algorithm)], lambda run: 1e3 * recovery(run))
    for algorithm, name in RIVALS.items():
        both = [icc, need(algorithm)]

        def sooner(own: Run, rival: Run) -> tuple[bool, str]:
            a, b = recovery(own), recovery(rival)
            return a < b, f"{1e3 * a:.2f} and {1e3 * b:.2f} ms"

        def has_more(own: Run, rival: Run) -> tuple[bool, str]:
            a, b = burst_throughput(own), burst_throughput(rival)
            return a > b, f"{a / 1e9:.3g} and {b / 1e9:.3g} Gbps"

        def stands(run: Run) -> tuple[bool, str]:
            least = _min_throughput(run)
            return least < STOPPED, f"at least {least / 1e9:.3g} Gbps over {1e3 * AVERAGED:g} ms"

        judging.order(f"{name}: F1 stands still for a time after the burst", [need(algorithm)], stands)
        judging.order(f"F1 is back sooner under ICC than under {name}", both, sooner)
        judging.order(f"F1 gets more under ICC than under {name}", both, has_more)
        gain = judging.claim.paper[f"gain_{name}"]
        judging.near(
            f"gain_{name}",
            f"F1 gets {100 * gain:.0f} % more than under {name}",
            both,
            lambda own, rival: metrics.ratio(burst_throughput(own), burst_throughput(rival)) - 1,
            better="higher",
        )
    note = f"the first burst, until the next begins; F1 is back when it has {100 * RECOVERED:g} % of its throughput before, for good"
    return judging.finding(note=note)


def _initial_throughput(run: Run) -> float:
    """F1's throughput before the first burst, once it has reached its receiver."""
    return metrics.mean(*run.samples.get("flow/f1", "throughput"), FIRST / 2, FIRST)


def burst_throughput(run: Run) -> float:
    """F1's throughput from the first burst to the second."""
    require_duration(run, FIRST + BETWEEN)
    return metrics.mean(*run.samples.get("flow/f1", "throughput"), FIRST, FIRST + BETWEEN)


def recovery(run: Run) -> float:
    """Seconds from the first burst until F1 is back at its throughput before, until the second burst; infinite if it is not."""
    require_duration(run, FIRST + BETWEEN)
    times, values = smooth_throughput(run, "f1", AVERAGED)
    inside = (times > FIRST) & (times <= FIRST + BETWEEN + 1e-9)
    low = np.flatnonzero(values[inside] < RECOVERED * _initial_throughput(run))
    if not low.size:
        return 0.0
    after = times[inside]
    return float(after[low[-1] + 1] - FIRST) if low[-1] + 1 < after.size else float("inf")


def _min_throughput(run: Run) -> float:
    """F1's least throughput from the first burst to the second."""
    times, values = smooth_throughput(run, "f1", AVERAGED)
    return float(values[(times > FIRST) & (times <= FIRST + BETWEEN)].min())


def _throughput_numbers(run: Run) -> dict[str, float]:
    numbers = {
        "F1 after the first burst (Gbps)": burst_throughput(run) / 1e9,
        "F1 back after (ms)": 1e3 * recovery(run),
    }
    return {f"{_label(run)}: {name}": value for name, value in numbers.items()}


def _completion(judging: Judging) -> Finding:
    for run in judging.comparison.runs:
        judging.measure(_completion_numbers, run)
    for algorithm, name in RIVALS.items():
        both = [need("icc"), need(algorithm)]
        for key, what, flows, which in (
            ("victim", "average completion time of F1", VICTIM, "mean"),
            ("burst_p99", "99th percentile of H2 to Hn's flows", RACK, "p99"),
        ):

            def speedup(own: Run, rival: Run, flows: Sequence[str] = flows, which: str = which) -> float:
                return metrics.ratio(
                    statistic(completion(rival, flows), which), statistic(completion(own, flows), which)
                )

            def shorter(own: Run, rival: Run, flows: Sequence[str] = flows, which: str = which) -> tuple[bool, str]:
                a, b = (1e3 * statistic(completion(run, flows), which) for run in (own, rival))
                return a < b, f"{a:.3g} and {b:.3g} ms"

            judging.order(f"{what}: shorter than under {name}", both, shorter)
            paper = judging.claim.paper[f"{key}_{name}"]
            text = f"{what}: {paper:g} times as short as under {name}"
            judging.near(f"{key}_{name}", text, both, speedup, better="higher")
    runs = [r for a in NAMES for r in judging.have([need(a)])]
    return judging.finding(note=unfinished_text(runs))


def _completion_numbers(run: Run) -> dict[str, float]:
    numbers = {
        "F1 (ms)": 1e3 * statistic(completion(run, VICTIM), "mean"),
        "H2 to Hn, mean (ms)": 1e3 * statistic(completion(run, RACK), "mean"),
        "H2 to Hn, p99 (ms)": 1e3 * statistic(completion(run, RACK), "p99"),
        "Hb, p99 (ms)": 1e3 * statistic(completion(run, HB), "p99"),
    }
    return {f"{_label(run)}: {name}": value for name, value in numbers.items()}


def _queue(judging: Judging) -> Finding:
    for run in judging.comparison.runs:
        judging.measure(_queue_numbers, run)

    def is_steady(run: Run) -> tuple[bool, str]:
        most = _max_queue(run, FIRST / 2, FIRST)
        return most < NEAR_ZERO, f"at most {most / 1e3:.3g} kB from 0.5 to 1 ms, accepted {NEAR_ZERO / 1e3:g} kB"

    def drains_soon(run: Run) -> tuple[bool, str]:
        most = _max_queue(run, FIRST + SOON, FIRST + BETWEEN)
        return most < NEAR_ZERO, f"at most {most / 1e3:.3g} kB from {1e3 * SOON:g} ms after the burst on"

    judging.order("ICC: S0's queue is near zero without bursts", [need("icc")], is_steady)
    judging.order("ICC: S0's queue is near zero soon after the burst", [need("icc")], drains_soon)
    for algorithm in ("dcqcn-2015", "timely"):

        def drains_late(run: Run) -> tuple[bool, str]:
            holds, evidence = drains_soon(run)
            return not holds, evidence

        def is_later(own: Run, rival: Run) -> tuple[bool, str]:
            a, b = settling_time(own), settling_time(rival)
            return a < b, f"below {NEAR_ZERO / 1e3:g} kB for good after {1e3 * a:.2f} and {1e3 * b:.2f} ms"

        name = NAMES[algorithm]
        judging.order(f"{name}: S0's queue is not near zero soon after the burst", [need(algorithm)], drains_late)
        judging.order(f"S0's queue falls sooner under ICC than under {name}", [need("icc"), need(algorithm)], is_later)
    return judging.finding(
        note=f"near zero: below {NEAR_ZERO / 1e3:g} kB, 1 % of the buffer; the first burst, until the next begins"
    )


def settling_time(run: Run) -> float:
    """Seconds from the first burst until S0's queue is near zero and stays there until the second burst; infinite if it does not."""
    require_duration(run, FIRST + BETWEEN)
    times, values = run.samples.get("port/s0->s1", "max_queue")
    inside = (times > FIRST) & (times <= FIRST + BETWEEN - 1e-9)
    high = np.flatnonzero(values[inside] >= NEAR_ZERO)
    after = times[inside]
    if not high.size:
        return 0.0
    return float(after[high[-1] + 1] - FIRST) if high[-1] + 1 < after.size else float("inf")


def _max_queue(run: Run, start: float, end: float) -> float:
    require_duration(run, end)
    times, values = run.samples.get("port/s0->s1", "max_queue")
    # The sample at which the next burst begins belongs to it.
    return float(metrics.window(times, values, start, end - 1e-9).max())


def _queue_numbers(run: Run) -> dict[str, float]:
    _, values = run.samples.get("port/s0->s1", "max_queue")
    numbers = {"peak of S0's queue (MB)": float(values.max()) / 1e6, "near zero after (ms)": 1e3 * settling_time(run)}
    return {f"{_label(run)}: {name}": value for name, value in numbers.items()}


# ---------------------------------------------------------------- pictures


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Pauses over time (Fig. 4) and their number (Fig. 9), F1's throughput (5), completion times (10), S0's queue (11).

    Beside them F1's throughput next to the tree of pauses; all of it once more for ICC's variants.
    """
    main = _select_runs(comparison, ("icc", *RIVALS))
    variants = _select_runs(comparison, ("icc", *VARIANTS))
    pictures = {}
    for suffix, runs in (("", main), ("-variants", variants)):
        if not runs:
            continue
        pictures[f"fig04{suffix}"] = _lines(
            runs, "Part of the time for which F1's sender is paused", _paused_line, "paused (%)"
        )
        pictures[f"fig05{suffix}"] = _lines(runs, "Throughput of F1", _throughput_line, "throughput (Gbps)")
        pictures[f"fig09{suffix}"] = _counts(runs)
        pictures[f"fig10{suffix}"] = _times(runs)
        pictures[f"fig11{suffix}"] = _lines(runs, "Queue of S0's port to S1", _queue_line, "queue (MB)")
        pictures[f"spreading{suffix}"] = _draw_spreading(runs)
    return pictures


def _select_runs(comparison: Comparison, algorithms: Sequence[str]) -> list[Run]:
    by_point = {(r.case, r.algorithm): r for r in comparison.runs}
    return [by_point[need(a).case, a] for a in algorithms if (need(a).case, a) in by_point]


SHOWN = FIRST + 2 * BETWEEN
"""Until here pictures go, seconds: two bursts, and what comes after them."""


def _lines(runs: Sequence[Run], title: str, line: Any, label: str) -> Figure:
    figure, axes = grid(len(runs), title, columns=1)
    figure.set_size_inches(7, 1.25 * len(runs) + 1)
    for axis, run in zip(axes, runs, strict=True):
        times, values = line(run)
        shown = times <= SHOWN
        axis.plot(1e3 * times[shown], values[shown], color=COLOURS[run.algorithm], linewidth=0.9)
        _bursts(axis)
        axis.set_title(paper_name(run), fontsize=8)
        axis.set_ylabel(label, fontsize=7)
        axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("time (ms); dotted: bursts begin", fontsize=8)
    axes[-1].set_xlim(0, 1e3 * SHOWN)
    return figure


def _bursts(axis: Axes) -> None:
    for i in range(ROUNDS):
        if (at := FIRST + i * BETWEEN) < SHOWN:
            axis.axvline(1e3 * at, color="0.4", linestyle=":", linewidth=0.8)


def _paused_line(run: Run) -> tuple[Any, Any]:
    times, values = run.samples.get("port/h1->s0", "paused")
    return times, 100 * metrics.smooth_values(values, 5)


def _throughput_line(run: Run) -> tuple[Any, Any]:
    times, values = smooth_throughput(run, "f1", AVERAGED)
    return times, values / 1e9


def _queue_line(run: Run) -> tuple[Any, Any]:
    times, values = run.samples.get("port/s0->s1", "max_queue")
    return times, values / 1e6


def _counts(runs: Sequence[Run]) -> Figure:
    figure, axes = grid(2, "PFC pauses over all ports, eight bursts", columns=2, shared=False)
    for axis, what, values in (
        (axes[0], "pauses", [pauses(r) for r in runs]),
        (axes[1], "paused (ms)", [1e3 * paused_time(r) for r in runs]),
    ):
        at = range(len(runs))
        axis.bar(at, values, color=[COLOURS[r.algorithm] for r in runs])
        axis.set_xticks(at, [paper_name(r).replace(", ", ",\n").replace("printed ", "printed\n") for r in runs])
        axis.set_ylabel(what, fontsize=8)
        axis.tick_params(axis="x", labelsize=6)
    return figure


def _times(runs: Sequence[Run]) -> Figure:
    figure, axes = grid(2, "Completion times under repeated bursts", columns=2, shared=False)
    for axis, label, which in ((axes[0], "average (ms)", "mean"), (axes[1], "99th percentile (ms)", "p99")):
        groups = {"F1": VICTIM, "H2 to Hn": RACK, "Hb": HB}
        bars(
            axis,
            {r.algorithm: {g: 1e3 * statistic(completion(r, f), which) for g, f in groups.items()} for r in runs},
            label,
        )
        axis.set_yscale("log")
    legend_below(figure, axes)
    return figure


def _draw_spreading(runs: Sequence[Run]) -> Figure:
    """F1's throughput, and beside it who paused whom, from the congested port on."""
    figure, axes = grid(
        2 * len(runs), "The victim's throughput, and how pauses spread from the congested port", columns=2, shared=False
    )
    figure.set_size_inches(10, 1.7 * len(runs) + 0.8)
    for i, run in enumerate(runs):
        left, right = axes[2 * i], axes[2 * i + 1]
        times, values = _throughput_line(run)
        shown = times <= SHOWN
        left.plot(1e3 * times[shown], values[shown], color=COLOURS[run.algorithm], linewidth=0.9)
        _bursts(left)
        left.set_title(f"{paper_name(run)}: throughput of F1 (Gbps)", fontsize=8)
        left.set_xlim(0, 1e3 * SHOWN)
        left.set_ylim(0, 105)
        right.axis("off")
        right.text(0, 1, "\n".join(tree(run)), va="top", family="monospace", fontsize=7, transform=right.transAxes)
    axes[-2].set_xlabel("time (ms); dotted: bursts begin", fontsize=8)
    return figure


def tree(run: Run) -> list[str]:
    """The tree of pauses as indented lines; hosts at one switch that were paused for the same reason are one line."""
    lines: list[str] = []
    for root, branches in pfc.trees(run.pauses):
        lines.append(f"{root} is congested")
        groups: dict[tuple[int, str, str], list[pfc.Pause]] = {}
        for branch in branches:
            # A port of a host has a line of its own only where its flow is looked at.
            host, _, switch = branch.pause.port.partition("->")
            name = "hosts of bursts" if host.startswith("b") else host
            groups.setdefault((branch.level, name, switch), []).append(branch.pause)
        for (level, name, switch), group in groups.items():
            stopped = f"{name} ({len(group)})" if len(group) > 1 else name
            times = f"{count_text(sum(p.pauses for p in group), 'pause')}, {time_text(sum(p.paused for p in group))}"
            lines.append(f"{'   ' * level}{switch} stops {stopped}: {times}")
    return lines or ["nothing is paused"]

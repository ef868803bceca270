"""Measures how often farloop's confidence intervals cover the truth, by drawing seeds again and again from populations of runs.

    .venv/bin/python scripts/studies/interval_coverage.py [--repetitions N] [--runs N]

Prints the tables of docs/statistics.md. Everything is drawn from one seed, so that the same version prints the same. A population is many
runs: three kinds are made up, in which flows of a run depend on each other, and one is simulated. The truth is the number of the whole
population. Of every interval it says how often it is given, and how often it covers where it is given.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from farloop import statistics
from farloop.experiments.threads import Job, simulate
from farloop.results import flow_completion
from farloop.scenario import Scenario
from farloop.statistics import Interval

Floats = npt.NDArray[np.float64]
Population = list[tuple[Floats, Floats]]
"""Slowdowns of the flows of each run, under two algorithms."""

SEEDS = (2, 3, 5, 10, 30)
SHARES = (0.5, 0.9, 0.99)

WITHHELD = 0.5
"""Width of an interval of an index of fairness from which on it could be withheld: half of what the index can be. farloop does not."""

SCENARIO = """\
[run]
duration = "12ms"
[network]
topology = "dumbbell"
intra_pairs = 3
cross_pairs = 0
rate = "1Gbps"
link_delay = "2us"
[workload]
sizes = "20kB"
load = 0.5
stop = "10ms"
[record]
flows = []
ports = []
"""


def queueing(draw: np.random.Generator, runs: int, flows: int) -> Population:
    """Log-normal slowdowns, each like the one before (correlation 0.9), as in a queue; the load differs between seeds."""
    drawn = []
    for _ in range(runs):
        load, count = draw.normal(), 0
        count = _count(draw, flows, load)
        noise = draw.normal(size=count)
        level = noise.copy()
        for i in range(1, count):
            level[i] = 0.9 * level[i - 1] + math.sqrt(1 - 0.9**2) * noise[i]
        other = 0.8 * level + 0.3 * draw.normal(size=count) + 0.1 * draw.normal()
        drawn.append((1 + np.exp(level - 0.5 + 0.3 * load), 1 + np.exp(other - 0.3 + 0.4 * load)))
    return drawn


def heavy(draw: np.random.Generator, runs: int, flows: int) -> Population:
    """Pareto's tail (shape 1.8 and 1.6, up to 300), independent flows, a scale that differs between seeds."""
    drawn = []
    for _ in range(runs):
        load = draw.normal()
        places = 1 - draw.random(_count(draw, flows, load))
        scales = (0.5 * math.exp(0.3 * load), 0.5 * math.exp(0.2 * load + 0.1 * draw.normal()))
        tails = [np.minimum(places ** (-1 / shape), 300.0) for shape in (1.8, 1.6)]
        drawn.append((1 + scales[0] * tails[0], 1 + scales[1] * tails[1]))
    return drawn


def bursts(draw: np.random.Generator, runs: int, flows: int) -> Population:
    """Most flows are hardly slowed; in 1.5 bursts per run about 12 in a row are, twelvefold. The other algorithm feels 6 of 10 bursts."""
    drawn = []
    for _ in range(runs):
        load = draw.normal()
        count = _count(draw, flows, load)
        first, second = 1 + draw.exponential(0.3, count), 1 + draw.exponential(0.4, count)
        for _ in range(draw.poisson(1.5 * math.exp(0.4 * load))):
            start, length, height = draw.integers(count), draw.geometric(1 / 12), draw.lognormal(2.5, 0.8)
            first[start : start + length] += height
            if draw.random() < 0.6:
                second[start : start + length] += height * draw.lognormal(0.0, 0.5)
        drawn.append((first, second))
    return drawn


def _count(draw: np.random.Generator, flows: int, load: float) -> int:
    return max(5, int(draw.poisson(flows * math.exp(0.2 * load))))


def simulated(runs: int) -> Population:
    """Flows of 20 kB from three hosts over a link that they overload for 10 ms, DCTCP and Timely; one run per seed."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "queue.toml")
        path.write_text(SCENARIO, encoding="utf-8")
        bases = [Scenario.load(path).override(algorithm=name) for name in ("dctcp", "timely")]
        jobs = [Job("", base.override(seed=seed)) for base in bases for seed in range(1, runs + 1)]
        slowdowns = [flow_completion.slowdowns(run.tables["flows"]) for run in simulate(jobs)]
    known = [values[~np.isnan(values)] for values in slowdowns]
    return list(zip(known[:runs], known[runs:], strict=True))


Estimator = Callable[[Sequence[tuple[Floats, Floats]]], Interval]


def _mean_of_runs(of: Sequence[tuple[Floats, Floats]]) -> Interval:
    return statistics.mean([float(own.mean()) for own, _ in of], floor=1.0)


def _mean_of_flows(of: Sequence[tuple[Floats, Floats]]) -> Interval:
    return statistics.mean_of_clusters([own for own, _ in of], floor=1.0)


def _ratio(statistic: Callable[[Floats], float]) -> Estimator:
    return lambda of: statistics.paired_ratio([statistic(own) for own, _ in of], [statistic(b) for _, b in of])


def _ratio_of_percentiles(share: float) -> Estimator:
    return lambda of: statistics.paired_percentiles([a for a, _ in of], [b for _, b in of], share)


def _percentile(share: float) -> Estimator:
    return lambda of: statistics.percentile([own for own, _ in of], share, floor=1.0)


ESTIMATORS: dict[str, Estimator] = {
    "mean over runs": _mean_of_runs,
    "mean over flows": _mean_of_flows,
    "paired ratio of means": _ratio(lambda values: float(values.mean())),
    "paired ratio of p99": _ratio_of_percentiles(0.99),
    **{f"p{100 * share:.0f}": _percentile(share) for share in SHARES},
}


RESAMPLES = 200


def _bootstrap(share: float | None) -> Estimator:
    """The percentile bootstrap over seeds of the mean over flows, or of a percentile: what farloop does not use."""

    def estimate(of: Sequence[tuple[Floats, Floats]]) -> Interval:
        clusters = [own for own, _ in of]
        pooled = np.concatenate(clusters)
        value = float(pooled.mean()) if share is None else float(np.quantile(pooled, share))
        if len(clusters) > max(SEEDS):
            return Interval(value, None, None, len(clusters))
        draw = np.random.default_rng(22)
        chosen = draw.integers(len(clusters), size=(RESAMPLES, len(clusters)))
        if share is None:
            sums, sizes = (np.array([part(cluster) for cluster in clusters]) for part in (np.sum, np.size))
            drawn = sums[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
        else:
            drawn = np.array([np.quantile(np.concatenate([clusters[i] for i in row]), share) for row in chosen])
        low, high = np.quantile(drawn, [0.025, 0.975])
        return Interval(value, float(low), float(high), len(clusters))

    return estimate


BOOTSTRAPS = {"bootstrap: mean over flows": _bootstrap(None), "bootstrap: p99": _bootstrap(0.99)}


def coverage(
    population: Population, estimator: Estimator, seeds: int, repetitions: int, draw: np.random.Generator
) -> tuple[float, float | None, float | None]:
    """How often an interval is given, how often it covers the truth where it is, and its median width over the estimate."""
    truth = estimator(population).estimate
    assert truth is not None
    given, covers, widths = 0, 0, []
    for _ in range(repetitions):
        interval = estimator([population[i] for i in draw.choice(len(population), seeds, replace=False)])
        if interval.estimate is None or interval.low is None or interval.high is None:
            continue
        given += 1
        covers += interval.low <= truth <= interval.high
        widths.append((interval.high - interval.low) / interval.estimate)
    share = given / repetitions
    return (share, covers / given, float(np.median(widths))) if given else (share, None, None)


def populations(runs: int, simulations: int) -> dict[str, Population]:
    """All of them, by name."""
    draw = np.random.default_rng(20)
    by_name = {
        f"{name}, {flows} flows": make(draw, runs, flows)
        for flows in (100, 500)
        for name, make in (("queueing", queueing), ("heavy tail", heavy), ("bursts", bursts))
    }
    return by_name | ({f"simulated, {simulations} runs": simulated(simulations)} if simulations else {})


def jain(draw: np.random.Generator, runs: int, shape: tuple[float, float]) -> Population:
    """An index of fairness of each run, by a beta distribution."""
    return [(np.array([number]), np.array([number])) for number in draw.beta(*shape, runs)]


def starving(draw: np.random.Generator, runs: int) -> Population:
    """An index of fairness of each run, near 1 in most, and far below it in one of six, where a flow starves."""
    numbers = np.where(draw.random(runs) < 1 / 6, draw.beta(6, 6, runs), draw.beta(30, 2, runs))
    return [(np.array([number]), np.array([number])) for number in numbers]


def iterations(draw: np.random.Generator, runs: int) -> Population:
    """The mean slowdown of a job's iterations of each run: 1 plus a log-normal, which a congested link makes large in some runs."""
    numbers = 1 + 0.4 * draw.lognormal(0.0, 1.0, runs)
    return [(np.array([number]), np.array([number])) for number in numbers]


def queues(draw: np.random.Generator, runs: int) -> Population:
    """The longest queue of each run under two algorithms: the largest of bursts whose number depends on the seed."""
    drawn = []
    for _ in range(runs):
        bursts_of_run = draw.lognormal(0.0, 0.9, 1 + draw.poisson(6))
        seen = bursts_of_run * draw.lognormal(-0.5, 0.5, bursts_of_run.size)
        drawn.append((np.array([bursts_of_run.max()]), np.array([seen.max()])))
    return drawn


def _number(floor: float, ceiling: float | None, narrowest: float = math.inf) -> Estimator:
    """The mean of a number of each run within what it can be."""

    def estimate(of: Sequence[tuple[Floats, Floats]]) -> Interval:
        interval = statistics.mean([float(own[0]) for own, _ in of], floor=floor, ceiling=ceiling)
        if interval.low is not None and interval.high is not None and interval.high - interval.low > narrowest:
            return Interval(interval.estimate, None, None, interval.n)
        return interval

    return estimate


def numbers_of_runs(narrowest: float = math.inf) -> dict[str, tuple[Population, Estimator]]:
    """Numbers that each run has one of, and the interval of their mean or ratio.

    Args:
        narrowest: Give no interval of an index of fairness that is wider.
    """
    draw = np.random.default_rng(23)
    index = _number(0.0, 1.0, narrowest)
    return {
        "Jain's index, mostly even": (jain(draw, 3000, (30, 3)), index),
        "Jain's index, uneven": (jain(draw, 3000, (8, 3)), index),
        "Jain's index, a flow starves in one run of six": (starving(draw, 3000), index),
        "iteration slowdown": (iterations(draw, 3000), _number(1.0, None)),
        "paired ratio of longest queues": (queues(draw, 3000), _ratio(lambda values: float(values[0]))),
    }


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Prints a table for each kind of interval."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000, help="draws for each number (default: 2000)")
    parser.add_argument("--runs", type=int, default=600, help="simulated runs (default: 600; 0: none)")
    parser.add_argument(
        "--bootstrap", action="store_true", help="the bootstrap instead, for comparison; it takes ten times as long"
    )
    parser.add_argument("--numbers", action="store_true", help="only numbers that each run has one of: a minute")
    given = parser.parse_args()
    if not given.bootstrap:
        _say("| number of a run | " + " | ".join(f"{seeds} seeds" for seeds in SEEDS) + " |")
        _say("| --- |" + " --- |" * len(SEEDS))
        for name, (population, estimator) in numbers_of_runs().items():
            _say_row(name, population, estimator, given.repetitions)
        for name, (population, estimator) in list(numbers_of_runs(WITHHELD).items())[:3]:
            _say_row(f"{name}; none wider than {WITHHELD:g}", population, estimator, given.repetitions)
    if given.numbers:
        return
    of = populations(3000, given.runs)
    for name, estimator in (BOOTSTRAPS if given.bootstrap else ESTIMATORS).items():
        _say(f"\n| {name} | " + " | ".join(f"{seeds} seeds" for seeds in SEEDS) + " |")
        _say("| --- |" + " --- |" * len(SEEDS))
        for kind, population in of.items():
            _say_row(kind, population, estimator, given.repetitions)


def _say_row(kind: str, population: Population, estimator: Estimator, repetitions: int) -> None:
    draw = np.random.default_rng(21)
    cells = []
    for seeds in SEEDS:
        share, covers, width = coverage(population, estimator, seeds, repetitions, draw)
        if covers is None or width is None:
            cells.append("none")
        else:
            rarely = "" if share > 0.995 else f"given {100 * share:.0f} %: "
            cells.append(f"{rarely}{100 * covers:.1f} %, width {width:.2g}")
    _say(f"| {kind} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

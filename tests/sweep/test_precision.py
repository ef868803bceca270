"""Precision asked for: intervals that cover what they say, seeds until they are narrow, a warm-up that is cut where it ends."""

import json
import math

import numpy as np
import pytest
from support.cases import cases

import farloop
from farloop import statistics
from farloop.commands.command import EXIT_IMPRECISE
from farloop.errors import FarloopError
from farloop.experiments.threads import Job, simulate
from farloop.results import steadiness
from farloop.studies.sweep import measures, precision
from farloop.studies.sweep.precision import MIN_SEEDS, Interval, Target, Unmet

QUEUE = """\
title = "Short flows at one bottleneck"
[run]
duration = "12ms"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 0
rate = "1Gbps"
link_delay = "2us"
[algorithm]
name = "dctcp"
[workload]
sizes = "20kB"
load = 0.4
stop = "10ms"
[record]
flows = []
ports = []
"""

P99 = measures.measure("p99 slowdown")


def sequential(target, order, most=300):
    """The sequential procedure: the interval, and how many seeds it took, of runs that are known already, in an order."""
    seeds = 0
    while True:
        samples = order[:seeds]
        interval = precision.interval(P99, [P99.pool_samples([s]) for s in samples[:1]], samples)
        more = precision.more_seeds(target, interval, seeds, most)
        if not more:
            return interval, seeds
        seeds += more


def coverage(target, samples, truth, repetitions):
    """How often the interval covers the truth, and how many seeds it takes on average; each repetition draws from all runs."""
    draw = np.random.default_rng(11)
    results = [
        sequential(target, [samples[i] for i in draw.permutation(len(samples))[:300]]) for _ in range(repetitions)
    ]
    assert all(
        interval.half_width <= target.allowed_half_width(interval.estimate)
        for interval, seeds in results
        if seeds < 300
    )
    covered = [interval.exists and interval.low <= truth <= interval.high for interval, _ in results]
    return np.mean(covered), np.mean([seeds for _, seeds in results])


@pytest.mark.parametrize(("text", "least", "most"), [("p99 slowdown ± 60 %", 10, 13), ("p99 slowdown ± 12 %", 18, 60)])
def test_intervals_cover_the_truth_in_95_percent_of_repetitions(text, least, most):
    """Flows that depend on each other, as in a queue, with a known 99th percentile; hardly more than ten seeds, and as many as it takes."""
    # Normal with variance 1, each like the one before; the slowdown is its exponential.
    weight, draw, repetitions = 0.9, np.random.default_rng(3), cases(300)
    noise = draw.normal(size=(4000, 600))
    noise[:, 1:] *= math.sqrt(1 - weight**2)
    for i in range(1, 600):
        noise[:, i] += weight * noise[:, i - 1]
    share, seeds = coverage(
        Target.read(text), list(np.exp(0.5 * noise)), math.exp(0.5 * 2.3263478740408408), repetitions
    )
    assert least <= seeds <= most
    # 300 repetitions of 95 % have a standard deviation of 1.3 %, of which three are allowed.
    assert abs(share - 0.95) <= 0.04 * math.sqrt(300 / repetitions), share


@pytest.mark.long
def test_the_interval_of_p99_covers_the_long_run_of_simulations(tmp_path):
    """Many short runs of an independent kind: some of them at a time give an interval, all together the value that it is to cover."""
    (tmp_path / "queue.toml").write_text(QUEUE, encoding="utf-8")
    jobs = [Job("", farloop.Scenario.load(tmp_path / "queue.toml").override(seed=seed)) for seed in range(1, 601)]
    flows = [run.tables["flows"] for run in simulate(jobs)]
    samples = [farloop.results.flow_completion.slowdowns(table) for table in flows]
    assert all(np.isfinite(run).all() for run in samples), "nothing is unfinished"
    share, seeds = coverage(Target.read("p99 slowdown ± 25 %"), samples, P99.pool_samples(samples), 150)
    assert MIN_SEEDS < seeds < 150
    # 150 repetitions of 95 % have a standard deviation of 1.8 %; they share their runs, which makes it a little more.
    assert 0.88 <= share <= 1.0, share


def test_an_interval_by_hand():
    """Five seeds with 100 flows of slowdowns from 11 to 110 on, each 5 above the last: shares up to the median of 0.6 to 0.4."""
    clusters = [np.arange(11.0, 111.0) + 5 * i for i in range(5)]
    interval = precision.interval(measures.measure("p50 slowdown"), [], clusters)
    assert (interval.estimate, interval.n) == (70.5, 5)
    apart = [60 - 50, 55 - 50, 50 - 50, 45 - 50, 40 - 50]
    half = 3.182 * math.sqrt(sum(a**2 for a in apart) * 5 / 4 * 5 / 4) / 500
    low, high = np.quantile(np.concatenate(clusters), [0.5 - half, 0.5 + half])
    assert (interval.low, interval.high) == (pytest.approx(low), pytest.approx(high))
    mean = precision.interval(measures.measure("mean slowdown"), [], clusters)
    # Equal clusters: as the interval of the mean of five numbers, which are symmetric.
    numbers = [values.mean() for values in clusters]
    assert mean.half_width == pytest.approx(3.182 * np.std(numbers, ddof=1) / math.sqrt(5) * math.sqrt(5 / 4))
    assert (mean.low, mean.high) == (pytest.approx(70.5 - mean.half_width), pytest.approx(70.5 + mean.half_width))
    assert precision.interval(P99, [], clusters) == Interval(P99.pool_samples(clusters), None, None, 5), "too few seeds"
    assert not precision.interval(P99, [], 3 * clusters).exists, (
        "nothing bounds it: so many flows of some seeds lie beyond"
    )
    assert precision.interval(measures.measure("max slowdown"), [], clusters) == Interval(130.0, None, None, 5)


def test_the_pooled_statistic_is_less_biased_than_the_mean_of_seeds():
    draw = np.random.default_rng(1)
    samples = [draw.exponential(size=40) for _ in range(2000)]
    numbers = [P99.pool_samples([s]) for s in samples]
    interval = precision.interval(P99, numbers, samples)
    truth = math.log(100)
    assert abs(interval.estimate - truth) < 0.1
    assert np.mean(numbers) < truth - 0.3


def test_a_number_of_whole_runs_has_the_interval_of_a_mean():
    jain = measures.measure("jain")
    values = [0.9, 0.8, None, 0.7, 0.95]
    interval = precision.interval(jain, values, [])
    assert (interval.estimate, interval.n) == (pytest.approx(0.8375), 4)
    free = statistics.mean([v for v in values if v is not None])
    assert (interval.low, interval.high) == (max(0.0, free.low), min(1.0, free.high))
    assert interval.high == 1.0 < free.high, "no index of fairness is above 1"
    assert precision.interval(jain, [None], []) == Interval(None, None, None, 0)
    assert precision.interval(jain, [0.5], []) == Interval(0.5, None, None, 1)


def test_how_many_more_seeds():
    target = Target.read("throughput ± 10 %")
    assert target.allowed_half_width(110.0) == pytest.approx(10.0)
    assert Target.read("p99 slowdown +- 0.5").allowed_half_width(100.0) == 0.5
    nothing = Interval(None, None, None, 0)

    def wide(half, seeds, estimate=110.0):
        return Interval(estimate, estimate - half / 2, estimate + half, seeds)

    assert precision.more_seeds(target, nothing, 0, 100) == MIN_SEEDS
    assert precision.more_seeds(target, wide(9.9, 10), 10, 100) == 0
    assert precision.more_seeds(target, wide(11.0, 10), 10, 100) == 3, "1.1 squared times as many"
    assert precision.more_seeds(target, wide(90.0, 10), 10, 100) == 10, "at most twice as many"
    assert precision.more_seeds(target, wide(90.0, 90), 90, 100) == 10
    assert precision.more_seeds(target, wide(90.0, 100), 100, 100) == 0
    assert precision.more_seeds(target, wide(1.0, 4), 4, 100) == 6, "too few to believe it"
    assert precision.more_seeds(target, nothing, 10, 100) == 0, "there is nothing to know"
    assert precision.more_seeds(target, wide(0.0, 10, 0.0), 10, 100) == 0
    assert precision.more_seeds(target, wide(1.0, 10, 0.0), 10, 100) == 10
    assert precision.seeds_needed(target, wide(30.0, 20), 20) == 180, "three times as wide: nine times as many"
    assert precision.seeds_needed(target, Interval(110.0, None, None, 20), 20) is None


@pytest.mark.parametrize(
    "text",
    [
        "p99 slowdown",
        "p99 slowdown ± %",
        "± 5 %",
        "p99 slowdown ± 0 %",
        "p99 slowdown ± 100 %",
        "jain ± -1",
        "max slowdown ± 5 %",
        5,
    ],
)
def test_what_is_no_precision_says_so(text):
    with pytest.raises(FarloopError, match="expected"):
        Target.read(text)


def test_mser5_finds_the_end_of_a_warm_up():
    """A level that decays to a noisy steady state: the cut is where the decay has become smaller than the noise."""
    cuts = []
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(0, 1, 1000)
        cuts.append(steadiness.mser5(10 * np.exp(-np.arange(1000) / 40) + noise))
    assert all(cut % 5 == 0 for cut in cuts)
    # After 40 ln 10 = 92 values the decay is as large as the noise of one, after 260 as that of a mean of 200.
    assert 80 <= np.mean(cuts) <= 260
    steady = [steadiness.mser5(np.random.default_rng(seed).normal(0, 1, 1000)) for seed in range(20)]
    assert np.mean(steady) < 100


def test_mser5_by_hand():
    # Batches of 5 with means 9, 1, 1, 1, 1, 1: without the first one the variance is 0.
    values = np.repeat([9.0, 1.0, 1.0, 1.0, 1.0, 1.0], 5)
    assert steadiness.mser5(values) == 5
    # Variance over length: (1/4)·1, 0, then 0 at fewer left; the first of the least.
    assert steadiness.mser5(np.repeat([2.0, 2.0, 2.0, 2.0], 5)) == 0
    # What lies in the second half is not looked for there.
    assert steadiness.mser5(np.repeat([1.0, 1.0, 1.0, 1.0, 1.0, 9.0], 5)) <= 15
    assert steadiness.mser5([1.0] * 9) == 0
    assert steadiness.mser5([]) == 0
    # Against the definition, batch by batch.
    x = np.random.default_rng(4).normal(size=203)
    means = x[:200].reshape(40, 5).mean(axis=1)
    error = [((means[d:] - means[d:].mean()) ** 2).sum() / (40 - d) ** 2 for d in range(21)]
    assert steadiness.mser5(x) == 5 * int(np.argmin(error))


def test_warm_up_of_a_run(tmp_path):
    (tmp_path / "queue.toml").write_text(QUEUE, encoding="utf-8")
    run = farloop.run(tmp_path / "queue.toml")
    assert precision.warm_up("none", run) == 0.0
    assert precision.warm_up("2ms", run) == 0.002
    began = farloop.results.flow_completion.column(run.flows, "start_ps") / 1e12
    cut = precision.warm_up("mser-5", run)
    slowdowns = farloop.results.flow_completion.slowdowns(run.flows)[np.argsort(began, kind="stable")]
    first = steadiness.mser5(slowdowns[~np.isnan(slowdowns)])
    assert cut == (np.sort(began)[first] if first else 0.0)
    kept = P99.measure_run(run, 0.004)
    assert kept == np.percentile(farloop.results.flow_completion.slowdowns(run.flows)[began >= 0.004], 99)
    queue = measures.measure("mean port/left->right queue")
    recorded = farloop.run(tmp_path / "queue.toml", set={"record.ports": '["left->right"]', "record.interval": "100us"})
    times, values = recorded.samples.get("port/left->right", "queue")
    assert queue.measure_run(recorded, 0.004) == pytest.approx(values[times > 0.004 + 1e-9].mean())
    with pytest.raises(FarloopError, match="mser-5"):
        precision.check_warm_up("mser")


@pytest.mark.long
@pytest.mark.usefixtures("without_workers")
def test_a_study_adds_seeds_where_they_are_needed(tmp_path):
    (tmp_path / "queue.toml").write_text(QUEUE, encoding="utf-8")
    common = {"base": tmp_path / "queue.toml", "store": tmp_path / "store", "workers": 2, "report": False}
    study = farloop.study(
        **common,
        grid={"workload.load": [0.1, 0.8]},
        collect=["throughput"],
        until="mean slowdown ± 8 %",
        most_seeds=24,
        out=tmp_path / "s",
    )
    calm, busy = study.points.to_pylist()
    for row in (calm, busy):
        half, mean = row["mean_slowdown ci95"], row["mean_slowdown"]
        assert row["seeds"] == 24 or (row["seeds"] >= MIN_SEEDS and half <= mean * 0.08 / 1.08)
    assert MIN_SEEDS <= calm["seeds"] < busy["seeds"] <= 24
    seeds = [row["seed"] for row in study.runs.to_pylist() if row["workload.load"] == 0.8]
    assert seeds == list(range(1, busy["seeds"] + 1))
    assert all(row["warmup_s"] >= 0 for row in study.runs.to_pylist())
    again = farloop.study(
        **common,
        grid={"workload.load": [0.1, 0.8]},
        until="mean slowdown ± 8 %",
        most_seeds=24,
        collect=["throughput"],
        out=tmp_path / "s",
    )
    assert again.counts.made == 0
    assert again.runs.equals(study.runs)


@pytest.mark.usefixtures("without_workers")
def test_a_precision_that_is_not_reached_is_told(tmp_path, command):
    """The points by name, how wide they are and what they would need: on standard error, in report and manifest, by the exit code."""
    (command.directory / "queue.toml").write_text(QUEUE, encoding="utf-8")
    study = 'base = "queue.toml"\ncollect = ["mean_slowdown"]\n[grid]\nworkload.load = [0.1, 0.8]\n'
    (command.directory / "study.toml").write_text(study, encoding="utf-8")
    asked = ("sweep", "study.toml", "--until", "mean slowdown +- 8 %", "--most-seeds", "10")
    done = command(*asked, "--out", "s")
    assert done.returncode == EXIT_IMPRECISE == 3, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "not reached" in line and "load 0.8" in line]
    assert "workload.load 0.8: mean slowdown +- 8 % not reached: mean_slowdown " in line
    assert "after 10 seeds; about " in line
    kept = json.loads((command.directory / "s" / "manifest.json").read_text())
    (unmet,) = [entry for entry in kept["unmet"] if entry["point"] == 2]
    assert unmet["seeds"] == 10
    assert unmet["low"] < unmet["estimate"] < unmet["high"]
    assert unmet["needed"] > 10
    assert f"about {unmet['needed']} would do" in line
    page = (command.directory / "s" / "report.html").read_text()
    assert "What is less certain than you asked for?" in page
    assert unmet["width"] in page
    reached = command("sweep", "study.toml", "--until", "mean slowdown +- 90 %", "--out", "s", "--no-report")
    assert reached.returncode == 0, reached.stderr
    assert json.loads((command.directory / "s" / "manifest.json").read_text())["unmet"] == []


def test_how_wide_an_unmet_point_is():
    target = Target.read("p99 slowdown ± 20 %")
    unmet = Unmet(1, "hpcc", target, Interval(10.0, 9.0, 12.5, 24), 24)
    # A quarter of the estimate is ± 33 % of what the number may be; 20 % are a sixth: 1.5 times as wide, 2.25 times as many.
    assert unmet.in_words() == (
        "hpcc: p99 slowdown ± 20 % not reached: p99_slowdown 10 [9, 12.5], ± 33 %, after 24 seeds; about 54 would do"
    )
    assert (
        Unmet(1, "hpcc", target, Interval(10.0, None, None, 24), 24)
        .in_words()
        .endswith("p99_slowdown 10, no interval, after 24 seeds; more flows or more seeds are needed")
    )
    assert "no run has a value of p99_slowdown" in Unmet(1, "x", target, Interval(None, None, None, 0), 24).in_words()
    assert Unmet(1, "x", Target.read("p99 slowdown ± 2"), unmet.interval, 24).width == "± 2.5"

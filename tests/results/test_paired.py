"""Algorithms under the same seeds: compared seed by seed, with percentiles of all flows together."""

import dataclasses
import json
import re

import numpy as np
import pytest

import farloop
from farloop import statistics
from farloop.results import flow_completion, paired
from farloop.views.report import page as report
from farloop.views.report.tables import paired_rows, slowdown_rows

SCENARIO = """
[run]
duration = "4ms"
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
load = 0.6
stop = "3ms"
[record]
flows = []
ports = []
"""

SEEDS = tuple(range(1, 6))


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    path = tmp_path_factory.mktemp("paired") / "queue.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return farloop.compare(path, ["dctcp", "timely", "swift"], seeds=SEEDS)


def slowdowns(comparison, label):
    return [run.slowdown for run in comparison.groups[label]]


def means(comparison, label):
    """Of all flows, the unfinished ones by their age."""
    return np.array(
        [np.nanmean(flow_completion.bound_slowdowns(run.flows, run.duration)) for run in comparison.groups[label]]
    )


def test_ratios_are_of_the_same_seeds(comparison):
    timely, swift = paired.comparisons(comparison)
    assert [(pair.label, pair.base) for pair in (timely, swift)] == [("timely", "dctcp"), ("swift", "dctcp")]
    own, base = means(comparison, "timely"), means(comparison, "dctcp")
    ratio = timely.ratios["intra: mean slowdown"]
    assert ratio.estimate == pytest.approx(np.exp(np.log(own / base).mean()))
    assert ratio == statistics.paired_ratio(own, base, confidence=statistics.correct_confidence(2)), (
        "two others: both hold together"
    )
    alone = paired.comparisons(dataclasses.replace(comparison, runs=[r for r in comparison if "swift" not in r.label]))
    assert alone[0].ratios["intra: mean slowdown"].high < ratio.high
    assert timely.ratios["intra: p99"].low is None, "five seeds are too few for a tail"
    assert timely.ratios["intra: p50"].low is not None
    assert not any("cross" in name for name in timely.ratios), "there is no such flow"


def test_one_seed_or_one_algorithm_has_no_ratio(comparison):
    assert paired.comparisons(comparison.of_seed(1)) == []
    alone = dataclasses.replace(comparison, runs=[r for r in comparison if "dctcp" in r.label])
    assert paired.comparisons(alone) == []
    assert paired_rows(alone)[1] == []
    cases = [dataclasses.replace(run, case=run.label) for run in comparison]
    assert paired.comparisons(dataclasses.replace(comparison, runs=cases)) == [], (
        "cases differ in more than the algorithm"
    )


def test_percentiles_are_those_of_all_flows_together(comparison):
    header, rows = slowdown_rows(comparison)
    row = dict(zip(header, rows[0], strict=True))
    together = np.concatenate(slowdowns(comparison, "dctcp"))
    assert row["p99"] == f"{np.percentile(together, 99):.2f}", "no interval with five seeds"
    wanted = statistics.percentile(slowdowns(comparison, "dctcp"), 0.5, floor=1.0)
    assert row["p50"] == wanted.format("{:.2f}".format)
    assert re.fullmatch(r"[\d.]+ \[[\d.]+, [\d.]+\]", row["mean"])
    assert row["mean"] == statistics.mean_of_clusters(slowdowns(comparison, "dctcp"), floor=1.0).format("{:.2f}".format)


def test_no_text_has_an_interval_below_what_a_number_can_be(comparison):
    """Two seeds say nearly nothing: their intervals are wide, but no slowdown is below 1, and nothing below 0."""
    few = dataclasses.replace(comparison, runs=[r for r in comparison if r.seed in (1, 2)], seeds=(1, 2))
    page = report.page(few).split("Parameters used")[0]
    assert "±" not in page
    assert not re.search(r"\[-\d", re.sub(r"<script.*?</script>", "", page, flags=re.S))
    _, rows = slowdown_rows(few)
    lows = [float(low) for row in rows for cell in row[4:] if cell for low in re.findall(r"\[([\d.]+),", cell)]
    assert lows and min(lows) >= 1.0


def test_the_command_shows_them(comparison, command):
    (command.directory / "queue.toml").write_text(SCENARIO, encoding="utf-8")
    done = command("compare", "queue.toml", "--algorithms", "dctcp,timely", "--seeds", "1-5", "--out", "c")
    assert done.returncode == 0, done.stderr
    assert "±" not in done.stdout
    line = next(line for line in done.stdout.splitlines() if "intra: mean slowdown" in line)
    pairs = paired.comparisons(dataclasses.replace(comparison, runs=[r for r in comparison if "swift" not in r.label]))
    assert pairs[0].ratios["intra: mean slowdown"].format("{:.3g}".format) in line
    assert "timely over dctcp" in done.stdout
    summary = json.loads((command.directory / "c" / "summary.json").read_text())
    ratio = summary["timely"]["paired"]["ratios"]["intra: mean slowdown"]
    assert ratio["low"] < ratio["ratio"] < ratio["high"]
    assert summary["timely"]["paired"]["against"] == "dctcp"
    assert "paired" not in summary["dctcp"]
    pooled = summary["dctcp"]["pooled"]["intra"]["all"]
    assert pooled["p99"]["value"] == np.percentile(np.concatenate(slowdowns(comparison, "dctcp")), 99)
    assert (pooled["p99"]["low"], pooled["p99"]["n"]) == (None, 5)
    assert pooled["p50"]["low"] < pooled["p50"]["value"] < pooled["p50"]["high"]
    assert "timely over dctcp" in (command.directory / "c" / "report.html").read_text()
    assert summary["dctcp"]["slowdown"]["intra"]["flows"]["mean"] > flow_completion.MANY

"""Several seeds: which, and means with confidence intervals."""

import json

import pytest

import farloop
from farloop.results import seeds
from farloop.results.seeds import read_seeds


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("1-3", (1, 2, 3)),
        ("1,3,7", (1, 3, 7)),
        ("5,1-3, 2", (5, 1, 2, 3)),
        ("0", (0,)),
        ([4, 2, 4], (4, 2)),
        (range(2), (0, 1)),
    ],
)
def test_seeds_are_numbers_and_ranges(text, seeds):
    assert read_seeds(text) == seeds


@pytest.mark.parametrize(
    "text",
    ["", "1-", "-1", "3-1", "a", "1.5", "1,,2", "1--2", "٣", "1-99999", 5.0, [1.5], [True], [-1], [], [None], "9" * 30],
)
def test_what_is_no_seed_is_refused(text):
    with pytest.raises(farloop.FarloopError, match=r"^seeds: "):
        read_seeds(text)


def test_summaries_are_combined_number_by_number():
    first = {
        "title": "t",
        "x": 1,
        "deep": {"y": 2.0, "none": None},
        "slowdown": None,
        "port": "a",
        "flows": [{"name": "f", "rate": 1}],
    }
    second = {
        "title": "t",
        "x": 3,
        "deep": {"y": None, "none": None},
        "slowdown": {"p50": 5},
        "port": "b",
        "flows": [{"name": "f", "rate": 3}],
    }
    combined = seeds.statistics([first, second])
    assert combined["title"] == "t"
    assert (combined["x"]["mean"], combined["x"]["n"]) == (2, 2)
    alone = {"ci95": None, "low": None, "high": None, "n": 1}
    assert combined["deep"] == {"y": {"mean": 2.0} | alone, "none": None}
    assert combined["slowdown"] == {"p50": {"mean": 5.0} | alone}
    assert "port" not in combined, "it differs"
    assert combined["flows"][0]["rate"]["mean"] == 2
    other = second | {"flows": [{"name": "g", "rate": 3}]}
    assert "flows" not in seeds.statistics([first, other]), "other flows"


RANDOM = """
[workload]
sizes = "20kB"
load = 0.3
stop = "2ms"
"""


@pytest.mark.long
def test_one_run_per_seed(command, small):
    small.write_text(small.read_text().split("[[flow]]")[0] + RANDOM)
    done = command(
        "compare",
        str(small),
        "--algorithms",
        "hpcc,dctcp",
        "--seeds",
        "1-2,7",
        "--set",
        "run.duration=4ms",
        "--out",
        "r",
    )
    assert done.returncode == 0, done.stderr
    assert "(n = 3" in done.stdout
    out = command.directory / "r"
    names = [f"{a}-seed-{n}" for a in ("hpcc", "dctcp") for n in (1, 2, 7)]
    assert sorted(p.name for p in (out / "runs").iterdir()) == sorted(names)
    single = [json.loads((out / "runs" / name / "summary.json").read_text())["throughput"] for name in names]
    assert len(set(single)) > 2, "seeds make a difference"
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary) == ["hpcc", "dctcp"]
    assert summary["hpcc"]["throughput"]["mean"] == pytest.approx(sum(single[:3]) / 3)
    assert summary["hpcc"]["throughput"]["n"] == 3
    assert summary["hpcc"]["throughput"]["ci95"] > 0
    assert "(n = 3 seeds)" in (out / "report.html").read_text()
    loaded = farloop.load(out)
    assert loaded.seeds == (1, 2, 7)
    assert [run.label for run in loaded.of_seed(7)] == ["hpcc", "dctcp"]
    assert [[run.seed for run in runs] for runs in loaded.groups.values()] == [[1, 2, 7]] * 2
    before = (out / "report.html").read_bytes()
    assert command("report", "r", "--quiet").returncode == 0
    assert (out / "report.html").read_bytes() == before


def test_seeds_in_python(small):
    short = {"run.duration": "1ms"}
    several = farloop.run(small, set=short, seeds=range(1, 3))
    assert [(run.label, run.seed) for run in several] == [("hpcc, seed 1", 1), ("hpcc, seed 2", 2)]
    simulated = several.statistics["hpcc"]["simulated"]
    assert simulated == dict.fromkeys(("mean", "low", "high"), pytest.approx(1e-3)) | {"ci95": pytest.approx(0), "n": 2}
    with pytest.raises(farloop.FarloopError, match="one of them"):
        farloop.compare(small, ["hpcc"], seed=1, seeds=[2])


def test_seed_and_seeds_are_refused_together(command, small):
    done = command("run", str(small), "--seed", "1", "--seeds", "2-3")
    assert done.returncode == 2
    assert "expected one of them" in done.stderr

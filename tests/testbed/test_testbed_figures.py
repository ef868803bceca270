"""The papers' figures on a testbed: what they take, what is judged and written. The simulator stands in for the kernel."""

import copy
import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.papers_fixtures import failed, judge, made, planned
from support.simulated_host import Host
from typer.testing import CliRunner

from farloop.commands.app import app
from farloop.errors import FarloopError
from farloop.experiments import threads
from farloop.judging import paper_modules, schedule
from farloop.judging.claims import read_claims
from farloop.messages import Stopped
from farloop.output.reading import load
from farloop.output.store import address
from farloop.papers.gemini import fig10
from farloop.scenario import Scenario, figure_names, kernel_figure_names
from farloop.studies import reproduce
from farloop.testbed import blueprint, paper_figures
from farloop.testbed.measured import MEASURED

NAMES = kernel_figure_names()
FIG10 = "gemini/kernel-fig10"

SIMULATED = {}
"""What the simulator gave, by the address of the scenario."""


@pytest.fixture(autouse=True)
def simulated_once(monkeypatch):
    """Tests of this file simulate the same runs of a hundred seconds: each of them once."""
    real = threads.simulate_job

    def simulated(job, *arguments, **named):
        key = address(job.scenario), job.trace
        if key not in SIMULATED:
            SIMULATED[key] = real(job, *arguments, **named)
        return dataclasses.replace(SIMULATED[key], info=copy.deepcopy(SIMULATED[key].info))

    monkeypatch.setattr(threads, "simulate_job", simulated)


def test_there_are_four_and_no_reproduction_lists_them():
    assert [name.removeprefix("gemini/kernel-") for name in NAMES] == ["fig08", "fig09", "fig10", "fig11"]
    assert not set(NAMES) & set(figure_names())
    assert not set(NAMES) & set(reproduce.select([]))
    with pytest.raises(FarloopError, match="farloop testbed figure gemini/kernel-fig10"):
        reproduce.select([FIG10])


@pytest.mark.parametrize("figure", NAMES)
def test_every_case_is_one_that_a_testbed_builds_and_the_simulator_runs(figure):
    base = Scenario.load(figure)
    assert base.resolved["figure"]["id"] == figure
    for variant in reproduce.plan(figure, full=True).variants:
        built = blueprint.plan(variant.scenario)
        assert built.algorithms[0].name == variant.algorithm
        # Far hosts are at most six links apart, and each link is one machine's work.
        assert max(map(len, built.paths())) <= 6
        own = schedule.case_scenario(figure, variant.case, variant.algorithm)
        assert schedule.flatten_scenario(own.resolved) == schedule.flatten_scenario(variant.scenario.resolved)


@pytest.mark.parametrize("figure", NAMES)
def test_a_figure_is_the_papers_one_at_a_tenth_of_the_rate(figure):
    """Published numbers of a rate are a tenth, of a time ten times, of anything else the same; the network's rates and T likewise."""
    scaled, own = Scenario.load(figure).resolved, Scenario.load(figure.replace("kernel-", "")).resolved
    assert scaled["network"]["rate"] == "100Mbps" and own["network"]["rate"] == "1Gbps"
    (gemini,) = blueprint.plan(Scenario.load(figure)).algorithms
    assert gemini.parameters["delay_threshold"] == "50ms"
    assert gemini.parameters["ecn_threshold"] == own["algorithm"]["gemini"]["ecn_threshold"]
    (there,), (here,) = read_claims(own), read_claims(scaled)
    for (name, published), value in zip(there.paper.items(), here.paper.values(), strict=True):
        factor = 10 if "_ms" in name and "mbps" not in name else 0.1 if "mbps" in name else 1
        assert value == pytest.approx(published * factor)
    assert list(there.tolerance.values()) == list(here.tolerance.values())


def eight(figure, point, names):
    """Runs of eight flows: `point` gives the Mbps and the round-trip time in ms of a flow by case, algorithm and the flow's name."""

    def make(case, algorithm):
        series, flows = {}, []
        for name in names:
            rate, rtt = point(case, algorithm, name)
            series[f"flow/{name}", "throughput"] = rate * 1e6
            series[f"flow/{name}", "rtt"] = rtt / 1e3
            flows.append({"name": name, "base_rtt_ps": 100e9})
        return made(figure, case, algorithm, series=series, flows=flows, interval=1.0)

    return planned(figure, make)


def swept(case, algorithm, dctcp):
    """GEMINI has the paper's throughput at each threshold, DCTCP what it is given at 320 packets and two thirds below."""
    if case.startswith("intra"):
        return 93.8
    return 93.8 if algorithm == "gemini" else dctcp if case.endswith(" 320") else 62.5


@pytest.mark.parametrize(
    ("dctcp", "missed"), [(89.9, []), (93.9, ["4 % more than DCTCP at K = 320", "DCTCP at K = 320 (Mbps)"])]
)
def test_fig08_is_judged_by_a_tenth_of_the_papers_rates(dctcp, missed):
    names = [f"f-{i}" for i in range(1, 9)]
    runs = eight(NAMES[0], lambda case, a, _: (swept(case, a, dctcp) / 8, 110), names)
    assert failed(judge(NAMES[0], runs)[NAMES[0]]) == missed


@pytest.mark.parametrize(
    ("cubic", "far", "missed"),
    [
        (1000, 85.7, []),
        (1000, 60.0, ["85.7 Mbps at a base RTT of 1 s"]),
        (200, 85.7, ["Cubic's average RTT is about 1 s", "GEMINI's RTT is far below Cubic's"]),
    ],
)
def test_fig09_is_judged_by_ten_times_the_papers_times(cubic, far, missed):
    def point(case, algorithm, _):
        if algorithm == "cubic":
            return 94 / 8, cubic
        if case.startswith("base RTT"):
            return far / 8, 1100
        return 93 / 8, 100 + 0.75 * float(case.split()[2]) - 10 * float(case.split()[-1]) + 2

    runs = eight(NAMES[1], point, [f"f{i}" for i in range(1, 9)])
    assert failed(judge(NAMES[1], runs)[NAMES[1]]) == missed


@pytest.mark.parametrize(
    ("gemini", "missed"), [(1.1, []), (0.5, ["GEMINI shares equally, whatever the round-trip times"])]
)
def test_fig11_is_judged_at_every_ratio_whatever_its_case_is_called(gemini, missed):
    def point(case, algorithm, name):
        ratio = int(case.partition("x")[0])
        share = {"gemini": gemini, "bbr": 0.4}.get(algorithm, ratio)
        return (10 * share, 10) if name.startswith("intra") else (10, 10 * ratio)

    names = [f"{kind}{i}" for kind in ("intra", "inter") for i in range(1, 5)]
    assert failed(judge(NAMES[3], eight(NAMES[3], point, names))[NAMES[3]]) == missed


def test_fig10_is_judged_where_all_groups_have_run_for_forty_seconds():
    """What happens before 60 s decides nothing, a group that stays behind afterwards does; samples of a real host are a little late."""

    def make(late):
        def of(case, algorithm):
            series, flows = {}, []
            for group, start in ((1, 0.0), (2, 10.0), (3, 20.0)):
                for i in range(1, 11):
                    name = f"group{group}-{i}"
                    ahead = 3.0 if group == 1 else 1.0
                    series[f"flow/{name}", "throughput"] = lambda t, a=ahead: 1e6 * np.where((t < 59) | late, a, 1.0)
                    flows.append({"name": name, "start_ps": start * 1e12})
            return made(NAMES[2], case, algorithm, series=series, flows=flows, interval=1.0)

        return planned(NAMES[2], of)

    assert judge(NAMES[2], make(late=False))[NAMES[2]]["measured"]["GEMINI"] == pytest.approx(1)
    assert "GEMINI's index is at least 0.98" in failed(judge(NAMES[2], make(late=True))[NAMES[2]])


def test_spans_end_with_the_run():
    """Flows whose number of samples is no multiple of a span's are compared at the same times."""
    series = {("flow/group1-1", "throughput"): 1e6}
    run = made(NAMES[2], "K = 50", "gemini", series=series, flows=[{"name": "group1-1", "start_ps": 0.0}], interval=0.7)
    times, _ = fig10.indices(run, 10.0)
    assert times[-1] == pytest.approx(run.samples.get("flow/group1-1", "throughput")[0][-1])


def test_names():
    assert paper_figures.resolve_figure("gemini/fig10") == paper_figures.resolve_figure(f"{FIG10}.toml") == FIG10
    with pytest.raises(FarloopError, match=r"no such figure for testbeds; did you mean gemini/kernel-fig10\?"):
        paper_figures.resolve_figure("gemini/kernelfig10")
    for name in NAMES:
        assert paper_modules.paper_module(name) is not None


def test_limits_go_by_the_round_trip_across():
    fig09 = paper_figures.plan_figure("gemini/fig09")
    assert fig09.limits["gemini, base RTT 1 s"] == pytest.approx(0.1, rel=0.01)
    assert fig09.limits["gemini, T = 50 ms, beta = 0.2"] == pytest.approx(0.01, rel=0.01)
    assert paper_figures.plan_figure("gemini/fig11").limits["gemini, 4x"] == 0.01
    assert fig09.seconds == 7 * 25 + 100


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (["gemini/fig77"], "gemini/fig77: no such figure for testbeds; did you mean"),
        (["gemini/fig10", "--repetitions", "0"], "--repetitions 0: expected a whole number from 1 to 100"),
        (["gemini/fig10", "--attempts", "11"], "--attempts 11: expected a whole number from 1 to 10"),
        (["gemini/fig10", "--case", "K = 7"], "--case K = 7: no case of gemini/kernel-fig10 at quick scale begins so"),
        (["gemini/fig11", "--case", "8x"], "--case 8x: no case of gemini/kernel-fig11 at quick scale begins so"),
        (
            ["gemini/fig10", "--algorithms", "swift"],
            "--algorithms swift: gemini/kernel-fig10 has no such run; there is",
        ),
        (["gemini/fig10", "--algorithms", ","], "--algorithms an empty text: gemini/kernel-fig10 has no such run"),
    ],
)
def test_wrong_input_is_one_line(wanted, said, tmp_path):
    done = CliRunner().invoke(app, ["testbed", "figure", *wanted, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1 and said in done.stderr
    assert not (tmp_path / "out").exists()


def invoke(monkeypatch, host, *arguments):
    monkeypatch.setattr(paper_figures, "measured_run", host)
    monkeypatch.setattr(paper_figures, "missing_requirements", lambda _: [])
    return CliRunner().invoke(app, ["testbed", "figure", "gemini/fig10", *map(str, arguments)])


@pytest.mark.dear
def test_both_worlds_are_judged_and_written(monkeypatch, tmp_path):
    out = tmp_path / "out"
    done = invoke(monkeypatch, Host(), "--repetitions", 2, "--out", out)
    assert done.exit_code == 0, done.output
    (claim,) = json.loads((out / "claims.json").read_text())
    # The same runs, the same judge.
    assert claim["simulated"]["statements"] == claim["measured"]["statements"]
    assert claim["simulated"]["verdict_text"] == claim["measured"]["verdict_text"]
    assert len(claim["measured"]["statements"]) == 6
    assert all(s["holds"] is not None for s in claim["measured"]["statements"])
    kept = json.loads((out / "manifest.json").read_text())
    assert (kept["kind"], kept["figure"], kept["repetitions"], kept["missing"]) == ("testbed-figure", FIG10, 2, [])
    assert {"simulated/manifest.json", "measured/claims.json", "report.html"} <= set(kept["files"])
    measured, simulated = load(out / "measured"), load(out / "simulated")
    assert [run.label for run in measured.runs] == [run.label for run in simulated.runs]
    assert measured.seeds == (1, 2) and measured.runs[1].seed == 2
    assert "    both: " in done.stdout and "GEMINI's index is at least 0.98" in done.stdout
    page = (out / "report.html").read_text()
    assert 'href="measured/report.html"' in page and "GEMINI&#39;s index is above its rivals&#39;" in page


@pytest.mark.long
def test_it_is_judged_anew_from_disk(monkeypatch, tmp_path):
    out = tmp_path / "out"
    assert invoke(monkeypatch, Host(), "--algorithms", "gemini", "--no-report", "--out", out).exit_code == 0
    assert not (out / "report.html").exists()
    before = json.loads((out / "claims.json").read_text())
    shown = CliRunner().invoke(app, ["report", str(out)])
    assert shown.exit_code == 0, shown.output
    kept = json.loads((out / "manifest.json").read_text())
    assert {"report.html", "measured/report.html"} <= set(kept["files"])
    assert len(json.loads((out / "claims.json").read_text())) == len(before) == 1
    with pytest.raises(FarloopError, match="has no runs of its own"):
        load(out)


@pytest.mark.long
def test_what_was_measured_before_an_interrupt_is_kept(monkeypatch, tmp_path):
    out = tmp_path / "out"
    host = Host(fails_at=5, failure=KeyboardInterrupt())
    # The entry point says so and ends with 130.
    with pytest.raises(Stopped):
        invoke(monkeypatch, host, "--repetitions", 2, "--out", out, "--no-report")
    kept = json.loads((out / "manifest.json").read_text())
    assert len(kept["missing"]) == 3 and all(label.endswith("seed 2") for label in kept["missing"])
    assert "3 of 8 measurements are missing (interrupted)" in kept["notes"][0]
    assert len(load(out / "measured").runs) == 5
    (claim,) = json.loads((out / "claims.json").read_text())
    measured = {s["text"]: s["holds"] for s in claim["measured"]["statements"]}
    assert measured["index of GEMINI"] is not None
    assert measured["index of Cubic"] is None and measured["GEMINI's index is above its rivals'"] is None
    assert None not in {s["holds"] for s in claim["simulated"]["statements"]}


INTERRUPTED = """
import os, signal, sys, time
sys.path.insert(0, {tests!r})
from support.simulated_host import Host
from farloop.testbed import paper_figures

class Stopped(Host):
    def __call__(self, variant, progress=None):
        if self.labels:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        return super().__call__(variant, progress)

paper_figures.measured_run = Stopped()
paper_figures.missing_requirements = lambda _: []
from farloop.__main__ import main
sys.argv = ["farloop", "testbed", "figure", "gemini/fig10", "--no-report", "--out", {out!r}]
main()
"""


@pytest.mark.dear
def test_the_command_ends_as_others_do_when_it_is_stopped(tmp_path):
    out = tmp_path / "out"
    code = INTERRUPTED.format(tests=str(Path(__file__).parents[1]), out=str(out))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert done.stderr.endswith(f"farloop: terminated; what was measured before is in {out}\n")
    assert "Traceback" not in done.stderr
    assert [run.label for run in load(out / "measured").runs] == ["gemini, K = 50"]


def test_a_later_failure_keeps_the_earlier_runs(monkeypatch, tmp_path):
    out = tmp_path / "out"
    done = invoke(monkeypatch, Host(fails_at=1, failure=FarloopError("no room")), "--out", out, "--no-report")
    assert done.exit_code == 2
    assert "no room" in done.stderr and f"what was measured before is in {out}" in done.stderr
    assert len(load(out / "measured").runs) == 1


def test_nothing_measured_is_nothing_written(monkeypatch, tmp_path):
    out = tmp_path / "out"
    done = invoke(monkeypatch, Host(fails_at=0, failure=FarloopError("no room")), "--out", out)
    assert done.exit_code == 2 and not out.exists()


def test_a_host_that_lacks_something_runs_nothing(monkeypatch, tmp_path):
    host = Host()
    monkeypatch.setattr(paper_figures, "measured_run", host)
    monkeypatch.setattr(
        paper_figures, "missing_requirements", lambda names: [f"congestion control {names[-1]}: this kernel has none"]
    )
    done = CliRunner().invoke(app, ["testbed", "figure", "gemini/fig10", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and not host.labels
    assert done.stderr == "farloop: the testbed cannot be built: congestion control bbr: this kernel has none\n"


def test_attempts_are_counted_and_the_calmest_is_kept(monkeypatch, tmp_path):
    out = tmp_path / "out"
    host = Host(gaps=[0.2, 0.05, 0.09, 0.009])
    done = invoke(monkeypatch, host, "--attempts", 3, "--algorithms", "gemini,cubic", "--out", out, "--no-report")
    assert done.exit_code == 0, done.output
    assert host.labels == ["gemini, K = 50"] * 3 + ["cubic, K = 300"]
    kept = json.loads((out / "manifest.json").read_text())
    assert [(attempt["longest_gaps_s"], attempt["kept"]) for attempt in kept["attempts"]] == [
        ([0.2, 0.05, 0.09], 2),
        ([0.009], 1),
    ]
    gaps = [run.info[MEASURED]["longest_gap_s"] for run in load(out / "measured").runs]
    assert gaps == [0.05, 0.009]
    assert any("1 of 2 runs were measured again, 2 times in all" in note for note in kept["notes"])
    assert any("paused 1 of 2 measurements for more than" in note for note in kept["notes"])


def test_an_interrupted_second_attempt_does_not_cost_the_first(monkeypatch):
    monkeypatch.setattr(paper_figures, "measured_run", Host(gaps=[0.2], fails_at=1, failure=KeyboardInterrupt()))
    measured = paper_figures.measure(paper_figures.plan_figure(FIG10, algorithms="gemini"), attempts=2)
    assert len(measured.runs) == 1 and isinstance(measured.failure, KeyboardInterrupt)
    assert measured.attempts[0]["longest_gaps_s"] == [0.2]

"""How flows begin: what is told of it, one start for all algorithms, cautions where starts decide."""

import json
from pathlib import Path

import pytest

import farloop
from farloop import catalogue
from farloop.errors import FarloopError
from farloop.results import starts

EXAMPLES = Path(__file__).parents[2] / "examples"

TINY = """\
[run]
duration = "300us"

[network]
topology = "dumbbell"
intra_pairs = 1
cross_pairs = 1
rate = "10Gbps"
bottleneck_rate = "5Gbps"
link_delay = "5us"
wan_delay = "20us"

[transport]
kind = "tcp"

[algorithm]
name = "cubic"

[[flow]]
name = "intra"
from = "s1"
to = "d1"

[[flow]]
name = "cross"
from = "s2"
to = "r1"
"""


@pytest.fixture(scope="module")
def two_sites():
    """The example: GEMINI, which begins at its initial rate, and CUBIC, with ten segments."""
    return farloop.compare(EXAMPLES / "two-sites.toml", "gemini,cubic")


def tiny(**settings):
    return farloop.Scenario.from_text(TINY, "tiny.toml").override(settings)


def begun(run, kind="cross"):
    return next(start for start in run.info["starts"] if start["kind"] == kind)


def codes(comparison):
    return [caution.code for caution in farloop.results.cautions.comparison_cautions(comparison)]


def test_a_run_tells_what_its_flows_began_with(two_sites):
    gemini, cubic = (begun(two_sites[name]) for name in ("gemini", "cubic"))
    assert cubic["cwnd_bytes"] == [14_600, 14_600]
    assert (cubic["pacing_bps"], cubic["slow_start"]) == ([None, None], cubic["flows"])
    # One BDP: 25 Gbps over 8.06 ms.
    assert gemini["first_rtt_bdps"] == pytest.approx([1, 1], abs=1e-3)
    assert gemini["slow_start"] == 0
    assert gemini["flows"] == cubic["flows"] == 54


def test_compared_algorithms_that_start_differently_are_named(two_sites):
    texts = [c.text for c in farloop.results.cautions.comparison_cautions(two_sites) if c.code == "starts"]
    assert len(texts) == 2
    assert "gemini with 16,380 packets (1 BDP, no slow start); cubic with 10 packets" in texts[1]
    assert not [c for run in two_sites for c in farloop.results.cautions.of_run(run) if c.code == "starts"]


@pytest.mark.parametrize("start", ["10", "bdp", "line-rate"])
def test_the_same_start_makes_them_equal_and_the_order_another(two_sites, start):
    same = farloop.compare(EXAMPLES / "two-sites.toml", "gemini,cubic", set=starts.setting(start))
    assert "starts" not in codes(same)
    first = [begun(run)["first_rtt_bytes"] for run in same]
    assert abs(first[0][0] - first[1][0]) <= 1460
    own, equal = (
        [c[name].summary["slowdown"]["cross"]["mean"] for name in ("gemini", "cubic")] for c in (two_sites, same)
    )
    # By themselves CUBIC looks 3.6 times as slow.
    assert own[1] / own[0] > 3
    assert equal[1] / equal[0] < 1.1


def test_ten_segments_are_what_an_initial_window_of_ten_is():
    runs = [
        farloop.run(EXAMPLES / "two-sites.toml", algorithm="gemini", set=[setting])
        for setting in ("transport.start=10 segments", "transport.initial_cwnd=10")
    ]
    assert runs[0].flows.equals(runs[1].flows)


def test_every_algorithm_of_the_registry_begins_as_it_is_told():
    starts = {}
    for entry in catalogue.entries("algorithms"):
        scenario = tiny(**{"transport.start": "7 segments"}).override(algorithm=entry["name"])
        try:
            run = farloop.run(scenario)
        except farloop.ScenarioError:
            continue  # What needs another network: flow queues at borders, RDMA.
        starts[entry["name"]] = begun(run)
    assert len(starts) > 40
    for name, start in starts.items():
        # Telemetry takes header bytes: packets of an algorithm with it have less payload.
        assert abs(start["first_rtt_bytes"][0] - 7 * start["mss_bytes"]) <= start["mss_bytes"], name


def test_a_bdp_is_that_of_the_slowest_link():
    shares = {
        start: begun(farloop.run(tiny(**{"transport.start": start})))["first_rtt_bdps"][0]
        for start in ("bdp", "line-rate")
    }
    # The link out of the sources' switch has half of their rate.
    assert shares["bdp"] == pytest.approx(0.5, abs=0.01)
    assert shares["line-rate"] == pytest.approx(1, abs=0.01)


def test_a_handshake_comes_before_the_start_and_slow_start_stays_on():
    run = farloop.run(tiny(**{"transport.handshake": "true", "transport.start": "4 segments"}))
    start = begun(run)
    assert (start["cwnd_bytes"], start["slow_start"], start["flows"]) == ([4 * 1460, 4 * 1460], 1, 1)
    assert starts.rows([run])[0][-1] == "yes"


def test_threads_change_nothing():
    scenario = tiny(**{"transport.start": "bdp"})
    assert farloop.run(scenario, threads=1).info["starts"] == farloop.run(scenario, threads=2).info["starts"]


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"transport.start": "ten"}, ["transport.start", '"ten" is no start', '"line-rate", "bdp"']),
        ({"transport.start": "0"}, ["transport.start", "a number of segments from 1"]),
        (
            {"transport.start": "bdp", "transport.initial_cwnd": "10"},
            ["transport.initial_cwnd", 'flows begin by start = "bdp"', "no initial_cwnd"],
        ),
    ],
)
def test_bad_starts_are_refused(settings, parts):
    with pytest.raises(farloop.ScenarioError) as error:
        farloop.run(tiny(**settings))
    assert all(part in str(error.value) for part in parts), error.value


@pytest.mark.parametrize("key", ["initial_rate", "initial_cwnd"])
def test_a_flow_with_a_start_of_its_own_is_refused(key):
    text = TINY + f'{key} = "{"1Gbps" if key == "initial_rate" else "10kB"}"\n'
    farloop.run(farloop.Scenario.from_text(text, "own.toml"))
    with pytest.raises(
        farloop.ScenarioError, match=rf'own.toml:28: flow.cross.{key}: all flows begin by transport.start = "bdp"'
    ):
        farloop.run(farloop.Scenario.from_text(text, "own.toml"), set=["transport.start=bdp"])


def test_a_preset_of_hosts_gives_way_to_the_start():
    run = farloop.run(tiny(**{"transport.preset": "linux-6", "transport.start": "3 segments"}))
    assert begun(run)["cwnd_bytes"] == [3 * 1460, 3 * 1460]


@pytest.mark.parametrize("text", ["", "0", "-3", "fast", "1e3", "1000001", "1.5", "\N{ARABIC-INDIC DIGIT ONE}"])
def test_the_option_refuses_what_is_no_start(text):
    with pytest.raises(FarloopError, match="expected line-rate, bdp, or a number of segments"):
        starts.read_same_start(text)


def test_the_command_takes_the_option_and_the_manifest_keeps_it(command):
    (command.directory / "tiny.toml").write_text(TINY, encoding="utf-8")
    options = ["--same-start", "5", "--out", "o", "--no-report"]
    done = command("compare", "tiny.toml", "--algorithms", "cubic,dctcp", *options)
    assert done.returncode == 0, done.stderr
    assert "5 packets, 7.3 kB" in done.stdout
    kept = json.loads((command.directory / "o" / "runs" / "dctcp" / "manifest.json").read_text())
    assert kept["scenario"]["transport"]["start"] == "5 segments"
    assert kept["starts"][0]["cwnd_bytes"] == [7300, 7300]
    refused = command("run", "tiny.toml", "--same-start", "fast")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--same-start fast: expected line-rate, bdp, or a number" in refused.stderr


def test_a_comparison_says_it_in_terminal_report_and_summary(two_sites, command, tmp_path):
    from farloop.views.report.page import page

    assert "the algorithms start cross flows differently" in page(two_sites)
    two_sites.save(tmp_path / "c", report=False)
    kept = json.loads((tmp_path / "c" / "summary.json").read_text())
    assert all("starts" in [caution["code"] for caution in summary["cautions"]] for summary in kept.values())
    assert kept["cubic"]["starts"][1]["cwnd_bytes"] == [14_600, 14_600]


def test_flows_that_end_before_their_first_ack_are_counted(two_sites):
    gemini, cubic = (two_sites[name].summary["before_first_ack"] for name in ("gemini", "cubic"))
    # All cross flows of WebSearch here are smaller than the 23.9 MB that GEMINI begins with.
    assert (gemini["cross"]["ended"], gemini["cross"]["share"]) == (54, 1)
    sizes = two_sites["cubic"].flows.filter(two_sites["cubic"].flows["cross_datacenter"].to_numpy() == 1)["size_bytes"]
    assert cubic["cross"]["ended"] == sum(size <= 14_600 for size in sizes.to_pylist())
    texts = [c.text for c in farloop.results.cautions.comparison_cautions(two_sites) if c.code == "short-flows"]
    assert any(text.startswith("gemini: 27 of 27 cross flows of at most the median size") for text in texts)
    assert not any(text.startswith("cubic") for text in texts)


def test_old_outputs_that_do_not_say_have_no_starts(two_sites):
    import dataclasses

    old = dataclasses.replace(
        two_sites["cubic"], info={k: v for k, v in two_sites["cubic"].info.items() if k != "starts"}
    )
    assert (old.summary["starts"], old.summary["before_first_ack"]) == ([], None)
    assert starts.rows([old]) == starts.lines([old]) == starts.differences([old, two_sites["gemini"]]) == []


def test_a_figure_with_one_start_for_all_is_not_judged():
    from farloop.studies import reproduce

    planned = reproduce.plan("gemini/fig09", full=False, same_start="bdp")
    assert {v.scenario.resolved["transport"]["start"] for v in planned.variants[:2]} == {"bdp"}
    with pytest.raises(FarloopError, match="--same-start fast"):
        reproduce.plan("gemini/fig09", full=False, same_start="fast")


@pytest.mark.usefixtures("without_workers")
def test_a_study_says_it_and_can_set_it(tmp_path):
    (tmp_path / "base.toml").write_text(TINY, encoding="utf-8")
    study = farloop.study(
        title="Starts",
        base=str(tmp_path / "base.toml"),
        grid={"algorithm": ["cubic", "gemini"], "transport.start": ["own", "bdp"], "seed": "1-2"},
        collect=["throughput"],
        out=tmp_path / "s",
        workers=1,
    )
    texts = [text for text in study.cautions if "the algorithms start" in text]
    assert [text.split(":")[0] for text in texts] == ["transport.start=own"] * 2, study.cautions
    kept = json.loads((tmp_path / "s" / "manifest.json").read_text())
    assert "starts" in [caution["code"] for caution in kept["cautions"]]
    assert {row[0] for row in kept["starts"]} == {"cubic", "gemini"}
    page = (tmp_path / "s" / "report.html").read_text()
    assert "How flows began" in page
    assert "the algorithms start cross flows differently" in page


def test_many_ways_to_begin_are_one_row_with_their_range():
    def entry(rate, first, cwnd=14_600):
        return {
            "algorithm": "bbr", "kind": "intra", "flows": 10, "slow_start": 0, "cwnd_bytes": [cwnd, cwnd], "pacing_bps": [rate, 2 * rate],
            "first_rtt_bytes": [first, 2 * first], "first_rtt_bdps": [0.1, 0.2], "mss_bytes": 1460,
        }  # fmt: skip

    two = starts.rows_of([[entry(10**9, 1460)], [entry(10**9, 1460)], [entry(2 * 10**9, 2920)]])
    assert [row[2] for row in two] == ["20", "10"], "the same way is one row"
    (row,) = starts.rows_of([[entry(i * 10**9, 1460 * i, cwnd=None if i == 3 else 14_600)] for i in (1, 2, 3)])
    assert row[:3] == ["bbr", "intra", "30"]
    assert row[3:5] == ["14.6 kB or no limit", "1 Gbps to 6 Gbps"]
    assert row[5].startswith("1 to 6 packets, 1.46 kB to 8.76 kB, 0.1 to 0.2 BDP")

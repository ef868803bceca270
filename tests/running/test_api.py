import dataclasses
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

import farloop


def test_a_run_gives_arrow_tables(result):
    assert isinstance(result.flows, pa.Table)
    assert result.flows["name"].to_pylist() == ["intra", "cross", "cross-short"]
    assert result.flows["cross_datacenter"].to_pylist() == [0, 1, 1]
    assert {"time_ps", "object", "metric", "value"} == set(result.series.column_names)
    assert {"node", "peer", "max_queue_bytes", "paused_ps"} <= set(result.ports.column_names)


def test_what_does_not_exist_is_null(result):
    flows = result.flows.to_pydict()
    assert flows["stop_ps"] == [None] * 3
    assert flows["size_bytes"] == [None, None, 100_000]
    for column in ("finish_ps", "received_ps", "ideal_fct_ps"):
        assert flows[column][:2] == [None, None], column
        assert flows[column][2] > 0, column
    for table in (result.flows, result.ports, result.pauses):
        for name in table.column_names:
            assert -1 not in table[name].to_pylist(), name


def test_a_run_knows_its_seed(result, small):
    assert result.seed == 3
    assert farloop.run(small, seed=8, set={"run.duration": "1ms"}).seed == 8


def test_goodput_agrees_with_delivered_bytes(result):
    for name, delivered in zip(
        result.flows["name"].to_pylist(), result.flows["delivered_bytes"].to_pylist(), strict=True
    ):
        times, rate = result.samples.get(f"flow/{name}", "throughput")
        assert np.sum(rate * np.diff(times, prepend=0.0)) / 8 == pytest.approx(delivered, rel=1e-6, abs=2)


def test_no_interval_exceeds_the_link(result):
    _, used = result.samples.get("port/left->right", "utilisation")
    # A packet that straddles the end of an interval counts where it began.
    assert used.max() <= 1 + 1538 * 8 / 1e9 / 1e-3


def test_the_summary_is_about_the_whole_run(result):
    summary = result.summary
    flows = {f["name"]: f for f in summary["flows"]}
    assert flows["intra"]["throughput"] == pytest.approx(result.flows["delivered_bytes"][0].as_py() * 8 / 0.02)
    assert summary["ratio"] > 0
    assert 1 / 3 <= summary["jain"] <= 1
    short = flows["cross-short"]
    assert short["completion"] is not None
    assert short["slowdown"] >= 1
    assert summary["bottleneck"]["port"] == "left->right"


def test_settings_replace_those_of_the_file(small):
    short = farloop.run(small, algorithm="dctcp", set={"run.duration": "5ms", "flow.cross.start": "2ms"}, seed=9)
    assert short.algorithm == "dctcp"
    assert short.duration == pytest.approx(0.005)
    assert short.scenario["run"]["seed"] == 9
    assert set(short.flows["algorithm"].to_pylist()) == {"dctcp"}
    assert short.flows["start_ps"][1].as_py() == 2_000_000_000


def test_progress_is_told(small):
    calls = []
    farloop.run(small, set=["run.duration=2s"], progress=lambda now, end, hops: calls.append((now, end, hops)))
    assert calls, "a callback that is never called tells nobody anything"
    assert all(0 <= now <= end == pytest.approx(2.0) for now, end, _ in calls)


def test_comparing_gives_a_run_per_algorithm(comparison):
    assert [r.label for r in comparison] == ["hpcc", "dctcp"]
    assert comparison["dctcp"].algorithm == "dctcp"
    assert set(comparison.summary) == {"hpcc", "dctcp"}
    with pytest.raises(KeyError, match="hpcc, dctcp"):
        comparison["reno"]


def test_nothing_to_compare(small):
    with pytest.raises(farloop.FarloopError, match="no algorithm"):
        farloop.compare(small, [])
    with pytest.raises(farloop.FarloopError, match="itself: hpcc"):
        farloop.compare(small, ["hpcc", "dctcp", "hpcc"])


def test_errors_say_what_would_work(small):
    with pytest.raises(farloop.ScenarioError, match="hpcc"):
        farloop.run(small, algorithm="hpc")
    with pytest.raises(farloop.ScenarioError, match="gear/fig09"):
        farloop.run("gear/fig9")
    with pytest.raises(farloop.ScenarioError, match="key=value"):
        farloop.run(small, set=["nonsense"])


def test_a_notebook_shows_tables(result, comparison):
    assert "cross-short" in result._repr_html_()
    shown = comparison._repr_html_()
    assert "hpcc" in shown
    assert "<script" not in shown


def test_algorithms_describe_themselves():
    known = {a["name"]: a for a in farloop.algorithms()}
    assert {"gear", "hpcc", "dctcp", "gemini", "timely", "dcqcn", "annulus"} <= set(known)
    for algorithm in known.values():
        assert algorithm["summary"]
        assert algorithm["source"]
        assert all(p["doc"] for p in algorithm["params"])
    assert {w["name"] for w in farloop.workloads()} >= {"websearch"}


def test_simulations_run_beside_each_other(small):
    results: list[farloop.Run] = []
    threads = [threading.Thread(target=lambda: results.append(farloop.run(small))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    assert results[0].flows.equals(results[1].flows)


def test_the_runs_of_one_seed(comparison):
    def seeded(run, seed):
        scenario = run.scenario | {"run": run.scenario["run"] | {"seed": seed}}
        return dataclasses.replace(run, label=f"{run.label}, seed {seed}", scenario=scenario)

    runs = [seeded(run, seed) for seed in (4, 5) for run in comparison]
    several = farloop.Comparison("two seeds", runs, claims=[{"id": "x"}], seeds=(4, 5))
    of_seed = several.of_seed(5)
    assert [(run.label, run.seed) for run in of_seed] == [("hpcc", 5), ("dctcp", 5)]
    assert (of_seed.claims, of_seed.seeds, several.seeds) == ([], (), (4, 5))
    with pytest.raises(KeyError, match="seed 6: there is 4, 5"):
        several.of_seed(6)
    with pytest.raises(KeyError, match="there is none"):
        comparison.of_seed(3)


def test_names_are_imported_when_they_are_asked_for():
    code = (
        "import farloop, sys\nassert 'pyarrow' not in sys.modules\n"
        "assert all(hasattr(farloop, name) for name in farloop.__all__)\n"
        "assert farloop._native.version() == farloop.__version__\n"
        "assert set(farloop.__all__) <= set(dir(farloop))\nassert not hasattr(farloop, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tables_of_python_are_a_scenario(small):
    import tomllib

    import numpy as np

    written = tomllib.loads(small.read_text("utf-8"))
    written["run"]["seed"] = np.int64(written["run"]["seed"])
    made, kept = farloop.run(written), farloop.run(small)
    assert made.flows.equals(kept.flows)
    assert made.scenario == kept.scenario
    nested = {
        **written,
        "switch_override": [{"match": "le*", "pfc": False}],
        "algorithm": {"name": "hpcc", "hpcc": {"eta": 0.9}},
        "record": {"ports": ("left->right",)},
    }
    resolved = farloop.Scenario.load(nested).resolved
    assert resolved["algorithm"]["hpcc"]["eta"] == 0.9
    assert resolved["record"]["ports"] == ["left->right"]
    assert farloop.Scenario.load({**written, "title": 'tab\t, "quote" \\ and é'}).resolved["title"] == (
        'tab\t, "quote" \\ and é'
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"network": {"rtae": "1Gbps"}}, '^network.rtae: unknown key; did you mean "rate"?'),
        ({"network": {"rate": None}}, r"^network\.rate: None: expected text, a number.* leave the key out"),
        ({"run": {"duration": 5}}, "^run.duration: 5 is a whole number; expected a time"),
        ({"record": {"flows": ["a", b"b"]}}, r"^record\.flows\.2: b'b': expected text"),
        ({"flow": [{"from": "s1", "to": "d1", 3: 4}]}, r"^flow\.1: 3: expected a key of text"),
        ({"algorithm": {"name": "dqcqn"}}, '^algorithm.name: there is no algorithm "dqcqn"; did you mean "dcqcn"?'),
    ],
)
def test_errors_in_tables_name_the_path_of_the_key(small, change, message):
    import tomllib

    written = tomllib.loads(small.read_text("utf-8"))
    for key, value in change.items():
        written[key] = written.get(key, {}) | value if isinstance(value, dict) else value
    with pytest.raises(farloop.ScenarioError, match=message):
        farloop.run(written)


def test_tables_in_tables_without_end_are_refused():
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(farloop.ScenarioError, match="more than 32 tables and lists one in another"):
        farloop.run(deep)


def test_errors_of_settings_say_what_was_written(small, command):
    for setting, message in (
        ({"network.rtae": "1Gbps"}, "^set: network.rtae: unknown key"),
        ("nonsense", "^set: nonsense: expected key=value"),
    ):
        with pytest.raises(farloop.ScenarioError, match=message):
            farloop.run(small, set=setting)
    assert "farloop: --set: network.rtae: unknown key" in command("run", str(small), "--set", "network.rtae=1").stderr
    assert "farloop: --set: nonsense: expected key=value" in command("run", str(small), "--set", "nonsense").stderr


def test_a_run_and_a_comparison_print_as_tables(result, comparison):
    lines = str(comparison).splitlines()
    assert lines[0].startswith("Across, hpcc leads: mean FCT slowdown"), "the answer first"
    assert lines[1] == "Two flows on 1 Gbps"
    assert {"run", "a flow inside", "Jain", "drops"} <= {word.strip(" ┃") for word in lines[3].split("┃")}
    assert [line.split()[1] for line in lines if line.startswith("│")] == ["hpcc", "dctcp"]
    assert str(result).splitlines()[1] == "Two flows on 1 Gbps"
    assert "│ hpcc" in str(result)

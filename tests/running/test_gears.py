"""Gears: the same scenario by rates, its tables with nulls, and outputs that say how they were simulated."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import farloop
from farloop.errors import FarloopError
from farloop.results import fields, gears, tables

SCENARIO = """\
title = "Two flows of 10 Gbps"
algorithm.name = "dctcp"

[run]
duration = "20ms"

[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 1
rate = "10Gbps"
wan_delay = "1ms"

[[flow]]
name = "near"
from = "s1"
to = "d1"
size = "4MB"
count = 3

[[flow]]
name = "far"
from = "s3"
to = "r1"
size = "4MB"

[record]
interval = "500us"
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("gears") / "gears.toml"
    made.write_text(SCENARIO, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def by_gear(path: Path) -> dict[str, farloop.Run]:
    return {gear: farloop.run(path, gear=gear) for gear in gears.GEARS}


def test_each_gear_says_its_name(by_gear: dict[str, farloop.Run]):
    assert {gear: run.gear for gear, run in by_gear.items()} == {gear: gear for gear in gears.GEARS}
    for gear, run in by_gear.items():
        assert run.scenario["run"]["gear"] == gear
        codes = [caution["code"] for caution in run.summary["cautions"]]
        assert ("gear" in codes) == (gear != "packets")
        assert (f"gear {gear}" in str(run)) == (gear != "packets")
        assert run.summary.get("gear", "packets") == gear
    assert by_gear["fluid"].summary["looks"] > 0
    assert "looks" not in by_gear["packets"].summary


def test_columns_without_a_meaning_are_null_and_no_others(by_gear: dict[str, farloop.Run]):
    for gear, run in by_gear.items():
        for name in ("flows", "ports"):
            table = run.tables[name]
            assert table.column_names == fields.columns(name)
            for field in fields.TABLES[name]:
                column = table[field.name]
                if gear in field.not_of:
                    assert column.null_count == table.num_rows, f"{field.name} under {gear}"
                else:
                    assert field.optional or column.null_count == 0, f"{field.name} under {gear}"
        totals = run.info["totals"]
        for field in fields.TOTALS:
            if field.name in totals:
                assert (totals[field.name] is None) == (gear in field.not_of), f"{field.name} under {gear}"
        assert ("looks" in totals) == (gear != "packets")
    # Something is null at all, and something is not.
    assert by_gear["fluid"].flows["packets"].null_count == 4
    assert (
        by_gear["fluid"].ports["max_queue_bytes"].null_count
        == 0
        < by_gear["max-min"].ports["max_queue_bytes"].null_count
    )


def test_rates_finish_the_flows_of_packets_at_about_the_same_time(by_gear: dict[str, farloop.Run]):
    packets, fluid = (by_gear[gear].flows["received_ps"].to_pylist() for gear in ("packets", "fluid"))
    assert all(abs(a / b - 1) < 0.1 for a, b in zip(packets, fluid, strict=True)), (packets, fluid)
    assert packets != fluid
    assert by_gear["fluid"].flows["ideal_fct_ps"].equals(by_gear["packets"].flows["ideal_fct_ps"])


def test_packets_are_as_they_were_without_the_key(path: Path, by_gear: dict[str, farloop.Run], tmp_path: Path):
    plain = farloop.run(path)
    for name, table in plain.tables.items():
        same = by_gear["packets"].tables[name]
        for which, content in (("a", table), ("b", same)):
            tables.write(content, tmp_path / which)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes(), name
    assert {"gear", "looks"}.isdisjoint(plain.summary)


def test_the_same_bytes_twice_alone_and_beside_others(path: Path, by_gear: dict[str, farloop.Run]):
    again = farloop.compare(path, ["hpcc", "dctcp"], gear="fluid", threads=2).runs[1]
    for name, table in by_gear["fluid"].tables.items():
        assert table.equals(again.tables[name]), name


@pytest.mark.parametrize("gear", ["fluit", "", 3, True])
def test_a_gear_that_is_none(path: Path, gear: Any):
    for call in (lambda: farloop.run(path, gear=gear), lambda: farloop.compare(path, "dctcp", gear=gear)):
        with pytest.raises(FarloopError, match=r"gear: .*: expected packets, fluid or max-min"):
            call()


def test_a_run_of_rates_takes_one_thread(path: Path):
    with pytest.raises(FarloopError, match=r'threads: 2: a run with run\.gear = "fluid" takes one thread'):
        farloop.run(path, gear="fluid", threads=2)
    assert farloop.run(path, gear="fluid", threads=1).gear == "fluid"


def test_progress_is_counted_in_looks(path: Path, command: Any):
    done = command("run", str(path), "--gear", "fluid", "--no-report", "--out", "fluid")
    assert re.search(r" [1-9][\d,]* k looks/s", done.stderr) and "packet-hops" not in done.stderr
    assert "M packet-hops/s" in command("run", str(path), "--no-report", "--out", "packets").stderr


def test_outputs_say_their_gear(path: Path, command: Any):
    command("run", str(path), "--gear", "fluid", "--out", "fluid")
    where = command.directory / "fluid"
    manifest = json.loads((where / "manifest.json").read_text())
    assert (manifest["gear"], manifest["packet_hops"], manifest["scenario"]["run"]["gear"]) == ("fluid", None, "fluid")
    assert json.loads((where / "summary.json").read_text())["gear"] == "fluid"
    page = (where / "report.html").read_text()
    assert "simulated as fluid queues and rates" in page and "looks at flows in" in page
    assert "could not be drawn" not in page
    kept = farloop.load(where).runs[0]
    assert kept.gear == "fluid" and kept.flows["packets"].null_count == 4
    redrawn = command("report", "fluid")
    assert redrawn.returncode == 0 and "note" not in redrawn.stderr, redrawn.stderr


def test_a_comparison_of_two_gears_says_so(path: Path, command: Any):
    for gear in ("packets", "fluid"):
        command("run", str(path), "--gear", gear, "--no-report", "--out", gear)
    diff = command("diff", "packets", "fluid")
    assert diff.returncode == 1 and "run.gear" in diff.stdout and "fluid" in diff.stdout
    both = farloop.Comparison("both", [farloop.run(path), farloop.run(path, gear="fluid")])
    assert any("the runs have different gears (packets, fluid)" in text for text in both.cautions)


def test_a_study_of_gears(path: Path, tmp_path: Path, without_workers: None):
    study = farloop.study(
        base=path,
        grid={"run.gear": ["packets", "fluid", "max-min"]},
        collect=["p99_slowdown", "max_queue", "pauses", "packet_hops"],
        out=tmp_path / "study",
        store=tmp_path / "store",
    )
    assert not study.failures
    rows = {row["run.gear"]: row for row in study.points.to_pylist()}
    assert rows["fluid"]["packet_hops"] is None and rows["packets"]["packet_hops"] > 0
    assert rows["max-min"]["max_queue"] is None and rows["fluid"]["max_queue"] > 0
    assert all(row["p99_slowdown"] > 0.9 for row in rows.values())
    with pytest.raises(FarloopError, match=r"gear: the study itself varies run\.gear"):
        farloop.study(base=path, grid={"run.gear": ["packets", "fluid"]}, gear="fluid", out=tmp_path / "other")


def test_the_option_of_sweep(path: Path, command: Any, without_workers: None):
    file = command.directory / "study.toml"
    file.write_text(
        f'base = "{path}"\ncollect = ["max_queue"]\n[grid]\nalgorithm = ["dctcp", "hpcc"]\n', encoding="utf-8"
    )
    (command.directory / path.name).write_text(SCENARIO, encoding="utf-8")
    file.write_text(file.read_text().replace(str(path), path.name))
    done = command("sweep", "study.toml", "--gear", "fluid", "--out", "swept", "--no-report")
    assert done.returncode == 0, done.stderr
    runs = [json.loads(p.read_text()) for p in (command.directory / "swept").rglob("runs/*/manifest.json")]
    assert runs and {run["gear"] for run in runs} == {"fluid"}
    wrong = command("sweep", "study.toml", "--gear", "fast", "--out", "swept", "--no-report")
    assert wrong.returncode == 2 and "gear: 'fast': expected packets, fluid or max-min" in wrong.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--trace", "all"),
        ("testbed", "run"),
        ("arena", "--algorithms", "dctcp", "--scenario"),
        ("advise", "--candidates", "dctcp,hpcc"),
    ],
)
def test_commands_that_need_packets_refuse_in_one_line(path: Path, command: Any, arguments: tuple[str, ...]):
    given = [*arguments, str(path)] if arguments[-1] == "--scenario" else [arguments[0], *arguments[1:], str(path)]
    text = SCENARIO.replace('duration = "20ms"', 'duration = "20ms"\ngear = "fluid"')
    own = command.directory / "fluid.toml"
    own.write_text(text, encoding="utf-8")
    refused = command(*[str(own) if argument == str(path) else argument for argument in given])
    assert refused.returncode == 2, refused.stderr
    (line,) = [line for line in refused.stderr.splitlines() if "gear" in line]
    assert "packets" in line and "fluid" in line and "Traceback" not in refused.stderr


def test_why_refuses_a_run_of_rates(path: Path, command: Any):
    command("run", str(path), "--gear", "fluid", "--no-report", "--out", "fluid")
    refused = command("why", "fluid", "far")
    assert refused.returncode == 2 and 'why follows packets, and gear = "fluid" simulates none' in refused.stderr


def test_a_feature_that_rates_lack_names_file_line_and_key(path: Path, command: Any):
    text = f'{SCENARIO}[transport]\nkind = "tcp"\nrecovery = "newreno"\n'
    (command.directory / "tcp.toml").write_text(text, encoding="utf-8")
    refused = command("run", "tcp.toml", "--gear", "fluid", "--out", "none")
    line = text.splitlines().index('recovery = "newreno"') + 1
    assert refused.returncode == 2
    assert f'tcp.toml:{line}: transport.recovery: with gear = "fluid", ' in refused.stderr, refused.stderr
    assert not (command.directory / "none").exists()


def test_a_fluid_run_bounds_its_error_and_may_leave_it_out(path: Path, by_gear: dict[str, farloop.Run], command: Any):
    assert by_gear["packets"].info["error"] is None
    assert by_gear["max-min"].info["error"] is None
    # Four flows are too few for a bound.
    assert by_gear["fluid"].info["error"] == {"fct": {}, "p99_slowdown": None}
    more = {"flow.near.count": 8, "flow.near.size": "1MB", "switch.pfc": False}
    with_error = farloop.run(path, gear="fluid", set=more)
    estimate = with_error.info["error"]
    assert list(estimate["fct"]) == ["up to 1 MB"]
    assert estimate["fct"]["up to 1 MB"]["flows"] == 8
    assert 0.001 < estimate["fct"]["up to 1 MB"]["bound"] < 1
    assert with_error.summary["error"] == estimate
    without = farloop.run(path, gear="fluid", set=more | {"run.fluid_error": False})
    assert without.info["error"] is None
    assert without.flows.equals(with_error.flows)
    settings = ["flow.near.count=8", "flow.near.size=1MB", "switch.pfc=false"]
    options = [part for setting in settings for part in ("--set", setting)]
    done = command("run", str(path), "--gear", "fluid", *options, "--out", "bounded")
    assert "bounds of the mean error of completion times against packets" in done.stdout, done.stdout


def test_bounds_are_said_in_a_sentence():
    rows = {"up to 10 kB": {"bound": 0.031}, "above 1 MB": {"bound": 1.5}}
    assert gears.error_sentence({"fct": rows, "p99_slowdown": {"bound": 0.12}}) == (
        "bounds of the mean error of completion times against packets: 3.1 % for flows up to 10 kB, a multiple for flows above 1 MB and "
        "12 % for the 99th percentile of the slowdown"
    )
    assert gears.error_sentence({"fct": {}, "p99_slowdown": None}) == ""
    assert gears.error_sentence(None) == ""

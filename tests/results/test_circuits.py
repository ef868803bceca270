"""Circuits as people see them: what follows from the parameters, and the picture of the schedule."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import farloop
from farloop.results.circuit_week import daily_occupancy, short_names, week_of
from farloop.results.network_map import build_map
from farloop.results.tables import port_names
from farloop.views.figures.circuit_schedule import has_schedule, schedules

HYBRID = """
title = "racks between two switches"
run.duration = "3ms"
network = { topology = "hybrid", racks = 4, hosts_per_rack = 2 }
switch.pfc = false
circuits.scheduling = "acceltor"
transport = { kind = "tcp", min_rto = "360us", initial_rto = "360us" }
algorithm.name = "reno"
record.interval = "20us"
[[flow]]
name = "long"
from = "r1-h1"
to = "r2-h1"
elephant = true
[[flow]]
name = "mouse"
from = "r3-h1"
to = "r4-h1"
size = "20kB"
"""


@pytest.fixture(scope="module")
def hybrid() -> farloop.Run:
    return farloop.run(farloop.Scenario.from_text(HYBRID))


@pytest.fixture(scope="module")
def plain() -> farloop.Run:
    """A run without circuits."""
    return farloop.run("gear/fig09", set={"run.duration": "1ms"})


@pytest.fixture(scope="module")
def saved(hybrid: farloop.Run, plain: farloop.Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both with their reports: none of the tests changes a file."""
    return {name: run.save(tmp_path_factory.mktemp(name) / "r") for name, run in (("hybrid", hybrid), ("plain", plain))}


def test_explain_says_what_circuits_need(command):
    (command.directory / "hybrid.toml").write_text(HYBRID, encoding="utf-8")
    explained = json.loads(command("explain", "hybrid.toml", "--json").stdout)
    assert (explained["hosts"], explained["switches"], explained["circuit_switches"], explained["flows"]) == (
        8,
        5,
        1,
        2,
    )
    facts = explained["circuits"]
    # Three slots of 260 us; two windows of acceleration and one round-trip time of 60 us before the day of 240 us.
    assert [facts[key] for key in ("n", "m", "k1", "k", "slots")] == [4, 2, 1, 3, 3]
    assert facts["min_rto_s"] == pytest.approx(3 * 260e-6 - 240e-6 - 3 * 60e-6)
    assert facts["demand"]["elephants"] == 1
    assert explained["notes"] == []
    shown = command("explain", "hybrid.toml", "--set", "transport.min_rto=1ms").stdout
    assert "360 µs (Eq. 6)" in shown
    assert "transport.min_rto is 1ms, and Eq. 6 of AccelToR gives 360us" in shown


def test_explain_tells_cases_apart_and_refuses_what_is_no_scenario(command):
    cases = "".join(f'[[case]]\nname = "{n} racks"\nset = {{ "network.racks" = {n} }}\n' for n in (4, 8))
    (command.directory / "cases.toml").write_text(HYBRID.replace("racks = 4", "racks = 16") + cases, encoding="utf-8")
    explained = json.loads(command("explain", "cases.toml", "--set", "circuits.scheduling=blocking", "--json").stdout)
    assert [(case["case"], case["circuits"]["racks"]) for case in explained["cases"]] == [
        ("4 racks", 4),
        ("8 racks", 8),
    ]
    assert [case["circuits"]["min_rto_s"] for case in explained["cases"]] == pytest.approx([540e-6, 1580e-6])
    for arguments, expected in (
        (["cases.toml", "--page"], "--page: expected an algorithm"),
        (["hpcc", "--set", "run.seed=1"], "--set: expected a scenario"),
        (["missing.toml"], "missing.toml: no such file"),
    ):
        done = command("explain", *arguments)
        assert done.returncode == 2
        assert expected in done.stderr


def test_reports_show_what_circuits_need(saved):
    page = (saved["hybrid"] / "report.html").read_text(encoding="utf-8")
    anchors = re.findall(r'<h2 id="([^"]+)">', page)
    assert anchors[0] == "circuits", "before everything that the schedule explains"
    section = page.partition('id="circuits"')[2]
    assert section.index('<img class="schedule"') < section.index("<table"), "the schedule comes first"
    for cell in ("acceltor", "780 µs", "360 µs (Eq. 6)", "360 µs", "50 Gbps"):
        assert f"<td>{cell}</td>" in section, cell
    assert 'id="circuits"' not in (saved["plain"] / "report.html").read_text(encoding="utf-8")


def test_the_week_that_is_drawn_is_the_last_whole_one(hybrid):
    week = week_of(hybrid)
    # 3 ms have three weeks of 780 us.
    assert week.caption == "week 3 of the run"
    assert (week.begin, week.end) == pytest.approx((1560e-6, 2340e-6))
    assert week.sources == week.sinks == ["tor1", "tor2", "tor3", "tor4"]
    assert [(day.source, day.sink) for day in week.days if day.begin == week.begin] == [
        ("tor4", "tor1"), ("tor1", "tor2"), ("tor2", "tor3"), ("tor3", "tor4"),
    ]  # fmt: skip
    assert len(week.days) == 12
    busy = [day for day in week.days if day.occupancy > 0]
    assert {(day.source, day.sink) for day in busy} == {("tor1", "tor2")}
    # Its queues, sixteen samples in a slot; what waits for a day is in that day's queue alone.
    assert week.switch == "tor1"
    assert np.allclose(week.times, week.begin + np.arange(49) * 780e-6 / 48)
    assert set(week.queues) == {"day 0", "day 1", "day 2", "high", "low"}
    assert max(values.max() for values in week.queues.values()) > 0
    assert hybrid.metrics["queue"] == ["waiting"]
    times, means = daily_occupancy(hybrid)
    assert times[:2] == pytest.approx([0, 260e-6])
    assert means[6:9].sum() * 4 == pytest.approx(sum(day.occupancy for day in week.days))


def test_a_listed_schedule_is_drawn_as_it_is_listed():
    slots = """
[[circuit_slot]]
day = "300us"
connect = ["tor1->tor2"]
[[circuit_slot]]
connect = []
[[circuit_slot]]
night = "0us"
connect = ["tor2->tor1", "tor3->tor10"]
"""
    text = HYBRID.replace("racks = 4", "racks = 10").replace("3ms", "700us") + slots
    run = farloop.run(farloop.Scenario.from_text(text), set={"record.queues": "none"})
    week = week_of(run)
    assert week.caption == "the whole run, less than a week"
    assert [(day.source, day.sink) for day in week.days] == [("tor1", "tor2")]
    week = week_of(farloop.run(farloop.Scenario.from_text(text), set={"run.duration": "2ms"}))
    assert (week.end - week.begin) == pytest.approx(820e-6)
    assert [(d.source, d.sink) for d in week.days] == [("tor1", "tor2"), ("tor2", "tor1"), ("tor3", "tor10")]
    assert week.sinks == ["tor1", "tor2", "tor10"]
    assert short_names(week.sinks) == {"tor1": "1", "tor2": "2", "tor10": "10"}


def test_parallel_links_are_told_apart(hybrid):
    names = port_names(hybrid.ports)
    assert len(set(names)) == len(names)
    assert names.count("tor1->eps#5") == 1
    # Of each recorded direction of the map all links have series; of five parallel ones only the first is recorded.
    recorded = hybrid.samples.objects("port")
    assert "tor1->eps" in recorded
    assert "tor1->eps#2" not in recorded
    drawn = build_map(hybrid.ports)
    known, _, _ = drawn.frames(hybrid, 10)
    assert {names[row] for i in known for row in drawn.directions[i]} == {f"tor{rack}->ocs" for rack in range(1, 5)}


def test_every_run_with_circuits_has_its_picture(hybrid, plain, saved):
    out = saved["hybrid"]
    assert (out / "figures" / "schedule.png").stat().st_size > 10_000
    assert '<img class="schedule"' in (out / "report.html").read_text(encoding="utf-8")
    figure = schedules([hybrid], "title")
    matching, circuits, packets, occupancy, whole = figure.axes
    assert len(matching.collections[0].get_paths()) == 12
    assert len(circuits.collections) >= 3
    assert [axis.get_xlim()[1] for axis in (matching, circuits, packets, occupancy)] == pytest.approx([780] * 4)
    assert whole.get_xlim()[0] == 0
    assert not has_schedule(plain)
    assert not (saved["plain"] / "figures" / "schedule.png").exists()


def test_a_long_schedule_is_drawn_with_as_many_points_as_can_be_told_apart(hybrid):
    """A step per week of 500,000 slots took 14 s to draw."""
    for days, weeks in ((30, 10), (500_001, 166_667)):
        count = np.arange(days)
        circuits = pa.table(
            {
                "circuit": ["ocs"] * days,
                "source": ["tor1"] * days,
                "destination": ["tor2"] * days,
                "slot": count,
                "start_ps": count * 260_000_000,
                "day_ps": [240_000_000] * days,
                "tx_bytes": [0] * days,
                "occupancy": (count % 2).astype(float),
            }
        )
        (whole,) = [
            axis
            for axis in schedules([dataclasses.replace(hybrid, circuits=circuits)], "").axes
            if axis.get_ylabel().startswith("whole run")
        ]
        (line,), (steps,) = whole.lines, whole.patches
        drawn = len(line.get_xdata())
        assert drawn == days if days < 2000 else 1000 < drawn <= 2000
        assert len(steps.get_data().values) == weeks if weeks < 2000 else 1000 < len(steps.get_data().values) <= 2000
        assert np.mean(line.get_ydata()) == pytest.approx(0.5, abs=0.01)
        assert steps.get_data().edges[-1] * 1e-6 * (1e3 if days < 2000 else 1e6) == pytest.approx(
            weeks * 780e-6, rel=0.01
        )
    assert whole.get_ylabel() == "whole run: each point\n251 days, 84 weeks"

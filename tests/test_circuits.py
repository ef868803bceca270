"""Circuits as people see them: what follows from the parameters, and the picture of the schedule."""

from __future__ import annotations

import json

import pytest

import farloop

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


def test_explain_says_what_circuits_need(command):
    (command.directory / "hybrid.toml").write_text(HYBRID, encoding="utf-8")
    told = json.loads(command("explain", "hybrid.toml", "--json").stdout)
    assert (told["hosts"], told["switches"], told["circuit_switches"], told["flows"]) == (8, 5, 1, 2)
    facts = told["circuits"]
    # Three slots of 260 us; two windows of acceleration and one round-trip time of 60 us before the day of 240 us.
    assert [facts[key] for key in ("n", "m", "k1", "k", "slots")] == [4, 2, 1, 3, 3]
    assert facts["min_rto_s"] == pytest.approx(3 * 260e-6 - 240e-6 - 3 * 60e-6)
    assert facts["demand"]["elephants"] == 1
    assert told["notes"] == []
    shown = command("explain", "hybrid.toml", "--set", "transport.min_rto=1ms").stdout
    assert "360 µs (Eq. 6)" in shown
    assert "transport.min_rto is 1ms, and Eq. 6 of AccelToR gives 360us" in shown


def test_explain_tells_cases_apart_and_refuses_what_is_no_scenario(command):
    cases = "".join(f'[[case]]\nname = "{n} racks"\nset = {{ "network.racks" = {n} }}\n' for n in (4, 8))
    (command.directory / "cases.toml").write_text(HYBRID.replace("racks = 4", "racks = 16") + cases, encoding="utf-8")
    told = json.loads(command("explain", "cases.toml", "--set", "circuits.scheduling=blocking", "--json").stdout)
    assert [(case["case"], case["circuits"]["racks"]) for case in told["cases"]] == [("4 racks", 4), ("8 racks", 8)]
    assert [case["circuits"]["min_rto_s"] for case in told["cases"]] == pytest.approx([540e-6, 1580e-6])
    for arguments, expected in (
        (["cases.toml", "--page"], "--page: expected an algorithm"),
        (["hpcc", "--set", "run.seed=1"], "--set: expected a scenario"),
        (["missing.toml"], "missing.toml: no such file"),
    ):
        done = command("explain", *arguments)
        assert done.returncode == 2
        assert expected in done.stderr


def test_reports_show_what_circuits_need(hybrid, tmp_path):
    page = (hybrid.save(tmp_path / "out") / "report.html").read_text(encoding="utf-8")
    section = page.partition('id="circuits"')[2]
    for cell in ("acceltor", "780 µs", "360 µs (Eq. 6)", "360 µs", "50 Gbps"):
        assert f"<td>{cell}</td>" in section, cell
    plain = farloop.run("gear/fig09", set={"run.duration": "1ms"}).save(tmp_path / "plain")
    assert 'id="circuits"' not in (plain / "report.html").read_text(encoding="utf-8")

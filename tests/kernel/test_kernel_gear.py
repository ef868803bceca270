"""Gear and telemetry in the kernel as far as no rights are needed: parameters, and what the kernel's bytes mean."""

import json
import random
import struct

import pytest
from support.cases import cases
from typer.testing import CliRunner

from farloop.commands.app import app
from farloop.errors import FarloopError
from farloop.kernel import gear, telemetry

ADDRESS = bytes((10, 0, 0, 1)).ljust(16, b"\0"), bytes((10, 0, 0, 2)).ljust(16, b"\0")


def run(*words):
    return CliRunner().invoke(app, ["kernel", *words])


def ends(port):
    return struct.pack("=16s16sI3H6x", *ADDRESS, 7, port, 5201, 4)


def flow_row(port, flags):
    return ends(port) + struct.pack(
        "=9Q4I", 12_500 << 10, 13_000 << 10, 1 << 19, 1_010_000, 10**7, 400, 399, 398, 40, 2, 1, flags, 17
    )


def path_row(port):
    return ends(port) + struct.pack("=7Q6I36s36s", 1, 2, 3, 4, 5, 6, 7, 12, 12, 24, 0, 24, 0x464C, bytes(36), bytes(36))


def test_parameters_are_packed_as_the_program_reads_them():
    parameters = gear.parameters(["capacity=10Gbps", "irtt=50us", "initial_rate=1Gbps", "in_flight=1.5", "max_stage=0"])
    assert struct.unpack("=10Q", gear.pack_settings(parameters)) == (
        10_000_000,
        50_000,
        5_000_000,
        round(0.95 * 2**20),
        round(0.0005 * 2**20),
        0,
        0,
        0,
        3 << 19,
        1_000_000,
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "capacity is not known: say the rate of the access link"),
        (["capacity=1Gbps"], "irtt is not known: say the round-trip time inside a datacenter"),
        (["capacity"], "--set capacity: expected KEY=VALUE"),
        (["capacity=1", "irtt=1ms"], "--set capacity: '1' is no rate; expected a number and one of bps"),
        (["capacity=2Tbps", "irtt=1ms"], "--set capacity: 2Tbps is outside the accepted range"),
        (["capacity=1Gbps", "irtt=10s"], '--set: irtt: "10s" is outside the accepted range'),
        (["capacity=1Gbps", "irtt=1ms", "in_flight=0.5"], "--set in_flight: 0.5 is outside the accepted range"),
        (["capacity=1Gbps", "irtt=1ms", "in_flight=nan"], "--set in_flight: nan is outside the accepted range"),
        (["capacity=1Gbps", "irtt=1ms", "eta=2"], "--set: eta: 2 is outside the accepted range"),
        (["capacity=1Gbps", "irtt=1ms", "intra=gear"], "--set intra: the kernel has HPCC's law inside"),
        (["capacity=1Gbps", "irtt=1ms", "mu=1"], "--set: mu: unknown key"),
    ],
)
def test_wrong_settings_are_named(given, message):
    with pytest.raises(FarloopError) as raised:
        gear.parameters(given)
    assert str(raised.value).startswith(message)


def test_each_parameter_of_a_scenario_is_taken_or_refused():
    """None is ignored without a word."""
    spec = gear.resolve_parameters("gear", [], {})
    assert set(spec) == {*gear.PARAMETERS, *gear._REFUSED}


def test_connections_are_what_the_kernel_wrote(monkeypatch):
    rows = {"flows": flow_row(40_001, 1) + flow_row(40_000, 8), "paths": path_row(40_000)}
    monkeypatch.setattr(gear, "missing_requirements", lambda name: [])
    monkeypatch.setattr(telemetry, "missing_requirements", lambda name: [])
    monkeypatch.setattr(telemetry, "rows", lambda program, storage: rows[program])
    monkeypatch.setattr(gear.Gear, "is_loaded", lambda self: True)
    status = json.loads(run("status", "gear", "--json").stdout)
    first, second = status["connections"]
    assert (first["source"], first["kind"], first["blind"]) == ("10.0.0.1:40000", "intra", True)
    assert (second["kind"], second["telemetry"], second["load"], second["pacing_bps"]) == (
        "cross",
        None,
        0.5,
        80_000_000,
    )
    assert (first["telemetry"]["echoed"], first["telemetry"]["entry_bytes"]) == (5, 24)
    shown = run("status", "gear")
    assert shown.exit_code == 0 and "10.0.0.1:40001 > 10.0.0.2:5201" in shown.stdout and "cross" in shown.stdout
    listed = run("telemetry", "status")
    assert listed.exit_code == 0 and "10.0.0.1:40000 > 10.0.0.2:5201" in listed.stdout


def test_bytes_that_are_no_rows_are_refused():
    dice = random.Random(1)
    for size in (1, 107, 199, 1001):
        with pytest.raises(FarloopError, match="which are no rows"):
            gear.GEAR.connections(dice.randbytes(size))
        with pytest.raises(FarloopError, match="which are no rows"):
            telemetry.parse_rows(dice.randbytes(size))
    whole = len(flow_row(1, 0))
    for _ in range(cases(200)):
        gear.GEAR.connections(dice.randbytes(3 * whole))


def test_a_wrong_number_of_entries_is_named(tmp_path):
    done = run("telemetry", "attach", str(tmp_path), "--entries", "4")
    assert (done.exit_code, done.stderr) == (2, "farloop: 4 entries; expected 1 to 3\n")

"""`farloop validate fluid`: cases are read strictly, errors are those of the same flows, and what is worse than recorded is said."""

import math
from dataclasses import replace

import numpy as np
import pytest
import typer

from farloop.commands import validate
from farloop.errors import FarloopError
from farloop.experiments.execution import Execution
from farloop.studies.validation import fluid_cases, fluid_errors
from farloop.studies.validation.fluid_cases import InvalidCaseError
from farloop.studies.validation.fluid_errors import ALL, FLUID, HOLDS, JITTER, KNOWN, MAX_MIN, WORSE, FluidError
from farloop.studies.validation.validation_headline import headline_validation
from farloop.views import validation_page, validation_tables

CASE = """
[[case]]
name = "two"
family = "pairs"
what = "Two flows"
scenario = "two.toml"
algorithms = ["dctcp", "hpcc"]
seeds = [1, 2]
quick = true
bars = { mean = 0.08 }
known = { hpcc = "Its telemetry is late." }
"""


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "two.toml").write_text("", encoding="utf-8")
    (tmp_path / "cases.toml").write_text(CASE, encoding="utf-8")
    return tmp_path


def error_of(mean, *, bars=None, recorded=None, **more):
    own = {"mean": mean, "median": 0.01, "p90": 0.1}
    errors = {FLUID: own, MAX_MIN: dict.fromkeys(own, 0.2), JITTER: dict.fromkeys(own, 0.002)}
    return FluidError("two", "dctcp", ALL, 3, errors, bars or {}, recorded or {}, **more)


def test_a_case_is_read(directory):
    (case,) = fluid_cases.read(directory)
    assert (case.name, case.algorithms, case.seeds, case.quick) == ("two", ("dctcp", "hpcc"), (1, 2), True)
    assert case.bars == {"mean": 0.08}
    assert case.known == {"hpcc": "Its telemetry is late."}


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("two.toml", "three.toml", "three.toml: no such file"),
        ("seeds = [1, 2]", "seeds = []", "expected one whole number or more"),
        ("seeds = [1, 2]", "seeds = [true]", "expected one whole number or more"),
        ("mean = 0.08", "means = 0.08", "means: no such key"),
        ("mean = 0.08", "mean = 0", "expected a part of the packets' number above 0"),
        ("hpcc = ", "timely = ", "timely: no such key"),
        ("quick = true", "quik = true", "quik: no such key"),
        ("[[case]]", f"{CASE}\n[[case]]", "two stands twice"),
    ],
)
def test_a_list_that_is_not_valid_is_refused(directory, old, new, text):
    (directory / "cases.toml").write_text(CASE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidCaseError, match=text):
        fluid_cases.read(directory)


def test_errors_are_those_of_the_same_flows():
    errors = fluid_errors.flow_errors(np.array([110.0, 190.0, 300.0]), np.array([100.0, 200.0, 300.0]))
    assert errors == pytest.approx({"mean": 0.05, "median": 0.05, "p90": 0.09})


@pytest.mark.parametrize(
    ("mean", "bars", "recorded", "verdict"),
    [
        (0.05, {"mean": 0.08}, {}, HOLDS),
        (0.05, {"mean": 0.08}, {"mean": 0.05}, HOLDS),
        (0.05, {"mean": 0.08}, {"mean": 0.02}, WORSE),  # within its bar, but more than twice of what it was
        (0.09, {"mean": 0.08}, {"mean": 0.09}, KNOWN),
        (0.09, {"mean": 0.08}, {}, WORSE),
        (0.09, {}, {}, HOLDS),
        (math.nan, {}, {}, WORSE),
    ],
)
def test_verdicts(mean, bars, recorded, verdict):
    assert error_of(mean, bars=bars, recorded=recorded).verdict == verdict


def test_every_case_of_the_package_has_a_record():
    recorded = fluid_cases.load_recorded()
    for case in fluid_cases.load():
        if case.quick:
            assert set(recorded[case.name]) == set(case.algorithms), case.name
    assert set(recorded) <= {case.name for case in fluid_cases.load()}


def test_cases_are_selected_by_name():
    named = fluid_errors.select(["fluid/two-sites-80"], full=False)
    assert {case.name for case, _ in named} == {"two-sites-80"}
    assert len(named) == len(named[0][0].algorithms)
    assert all(case.quick for case, _ in fluid_errors.select(["fluid"], full=False))
    assert len(fluid_errors.select([], full=True)) > len(fluid_errors.select([], full=False))
    with pytest.raises(FarloopError, match="fluid/incats: no such case; did you mean"):
        fluid_errors.select(["fluid/incats"], full=False)
    assert "fluid/incast" in validate.complete_references("fluid/i")


def test_a_lone_flow_is_exact_and_its_rows_are_read_again():
    (case,) = (case for case in fluid_cases.load() if case.name == "lone-flow")
    errors = fluid_errors.run([(case, "dctcp")], Execution(threads=1))
    every = errors[0]
    assert (every.size, every.flows, every.verdict) == (ALL, 4, HOLDS)
    assert every.errors[FLUID]["mean"] < 1e-5
    assert [error.size for error in errors[1:]] == ["<= 10 kB", "<= 1 MB", "> 1 MB"]
    assert fluid_errors.read(every.row()) == every
    page = validation_page.page([], [], errors)
    assert "How far are rates from packets?" in page
    assert len(validation_tables.fluid(errors)) == 1
    assert len(validation_tables.fluid(errors, by_size=True)) == 3
    assert "1 of 1 case of the fluid simulation hold" in " ".join(headline_validation([], [], errors).sentences)


def test_flows_that_end_otherwise_turn_the_command_red(monkeypatch, tmp_path):
    """As mutated marks, losses or round-trip times would: `scripts/faults.py` injects them."""
    wrong = [replace(error_of(0.5), recorded={"mean": 0.01})]
    monkeypatch.setattr(fluid_errors, "run", lambda cases, execution: wrong)
    with pytest.raises(typer.Exit) as stopped:
        validate.validate(["fluid/lone-flow"], out=tmp_path / "out", no_report=True, quiet=True)
    assert stopped.value.exit_code == 1

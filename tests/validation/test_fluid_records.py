"""Records of `farloop validate fluid` become worse only with a cause."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from farloop.studies.validation import fluid_cases, fluid_errors, fluid_records
from farloop.studies.validation.fluid_records import UnexplainedError, find_worse, succeed

MAKE = Path(__file__).resolve().parents[2] / "validation" / "fluid" / "make.py"


def row_of(mean, p99=0.02, **more):
    return {"flows": 3, "errors": {"fluid": {"mean": mean, "p99": p99}}} | more


def test_the_first_row_is_its_best():
    assert succeed(None, row_of(0.05, -0.02)) == row_of(0.05, -0.02, best={"mean": 0.05, "p99": 0.02})


def test_a_row_without_a_best_counts_as_it_is():
    with pytest.raises(UnexplainedError, match=r"mean 6.70 % after 5.00 %"):
        succeed(row_of(0.05), row_of(0.067))


def test_a_better_row_becomes_the_best_one():
    assert succeed(succeed(None, row_of(0.05)), row_of(0.01))["best"] == {"mean": 0.01, "p99": 0.02}


def test_many_small_steps_are_held_to_the_best():
    known = succeed(None, row_of(0.05))
    known = succeed(known, row_of(0.06))
    with pytest.raises(UnexplainedError, match=r"mean 7.00 % after 5.00 %; expected a cause"):
        succeed(known, row_of(0.07))


@pytest.mark.parametrize("cause", ["", "  "])
def test_a_worse_row_needs_a_cause(cause):
    with pytest.raises(UnexplainedError, match=r"p99 -15.60 % after 6.30 %"):
        succeed(row_of(0.05, 0.063), row_of(0.05, -0.156), cause)


def test_a_cause_is_kept_until_the_row_is_worse_again_or_good_again():
    known = succeed(row_of(0.05), row_of(0.1), "Telemetry is late.")
    assert (known["cause"], known["best"]["mean"]) == ("Telemetry is late.", 0.05)
    assert succeed(known, row_of(0.09))["cause"] == "Telemetry is late."
    with pytest.raises(UnexplainedError):
        succeed(known, row_of(0.2))
    assert "cause" not in succeed(known, row_of(0.05))


def test_an_error_that_is_no_number_is_worse():
    with pytest.raises(UnexplainedError, match="p99 nan"):
        succeed(row_of(0.05), {"flows": 3, "errors": {"fluid": {"mean": 0.05}}})


def test_every_record_of_the_package_says_why_it_is_worse():
    document = fluid_cases.load_recorded()
    for case, algorithms in document.items():
        for algorithm, classes in algorithms.items():
            row = classes["all"]
            assert set(row["best"]) >= set(row["errors"]["fluid"]), f"{case} {algorithm}: validation/fluid/make.py"
            assert all(row["best"][name] <= abs(error) for name, error in row["errors"]["fluid"].items())
    assert list(fluid_records.find_unexplained(document)) == []


def test_a_record_without_its_cause_is_found():
    row = succeed(row_of(0.05), row_of(0.1), "Telemetry is late.")
    assert list(fluid_records.find_unexplained({"two": {"hpcc": {"all": row}}})) == []
    del row["cause"]
    assert list(fluid_records.find_unexplained({"two": {"hpcc": {"all": row}}})) == [("two", "hpcc", "mean")]
    assert find_worse(row) == {"mean": (0.05, 0.1)}


def test_the_script_does_not_record_a_worse_row_without_a_cause(monkeypatch, tmp_path, capsys):
    """Of a run whose errors are half as large as today's nothing is asked, of one with twice as large ones a cause."""
    (case,) = (case for case in fluid_cases.load() if case.name == "incast")
    recorded = fluid_cases.load_recorded()
    known = {name: recorded["incast"][name] for name in ("dctcp", "hpcc")}
    (tmp_path / "recorded.json").write_text(json.dumps({"incast": known}), encoding="utf-8")
    monkeypatch.setattr(fluid_cases, "DIRECTORY", tmp_path)
    monkeypatch.setattr(fluid_cases, "load_recorded", lambda: json.loads((tmp_path / "recorded.json").read_text()))
    monkeypatch.setattr(fluid_cases, "load", lambda: (case,))

    def run_worse(chosen, execution, packets):
        ((_, algorithm),) = chosen
        of = known[algorithm]["all"]["errors"]
        errors = {way: {s: 2 * abs(e) + 0.01 for s, e in own.items()} for way, own in of.items()}
        return [fluid_errors.FluidError("incast", algorithm, "all", 64, errors, {}, {})]

    monkeypatch.setattr(fluid_errors, "run", run_worse)
    spec = importlib.util.spec_from_file_location("make_fluid", MAKE)
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    monkeypatch.setattr(sys, "argv", ["make.py", "incast/dctcp"])
    before = (tmp_path / "recorded.json").read_text()
    assert make.main() == 1
    assert "incast dctcp worse than recorded: mean" in capsys.readouterr().err
    assert (tmp_path / "recorded.json").read_text() == before
    monkeypatch.setattr(sys, "argv", ["make.py", "incast/dctcp", "--cause", "Marks are late."])
    assert make.main() == 0
    written = json.loads((tmp_path / "recorded.json").read_text())["incast"]
    assert written["dctcp"]["all"]["cause"] == "Marks are late."
    assert written["hpcc"] == known["hpcc"]

"""`farloop validate`: references are read strictly, every kind of number is measured, and what differs is said."""

import json
from dataclasses import replace

import pytest
import typer
from conftest import SMALL

import farloop
from farloop.commands import validate
from farloop.commands.report import rewrite
from farloop.errors import FarloopError
from farloop.experiments.execution import Execution
from farloop.studies.validation import (
    checking,
    checks,
    compared_numbers,
    metamorphic,
    record,
    references,
    relations,
)
from farloop.studies.validation.checks import FidelityCheck
from farloop.studies.validation.random_worlds import ALGORITHMS, world
from farloop.studies.validation.references import InvalidReferenceError
from farloop.views import validation_page, validation_tables

REFERENCE = """
program = "pencil"
version = "2"
source = "https://example.org/pencil"
licence = "CC0-1.0"
date = 2026-11-23
kind = "simulator"
independent = true
made_by = "validation/pencil/make.py"
commands = ["pencil --sharpen"]
notes = "Nothing in common."

[[case]]
name = "two-flows"
what = "Two flows of 1 Gbps"
scenario = "small.toml"
quick = true
limit = 0.05
limits = { jain = 0.2 }

[[case.run]]
algorithm = "dctcp"
reference = "PencilDctcp"
set = { "run.seed" = 4 }

[[case.run.explained]]
metric = "jain"
difference = -0.5
why = "The pencil is blunt."
command = "farloop run small.toml"
gives = "nothing"

[[case.run]]
algorithm = "hpcc"
reference = "PencilHpcc"
limits = { jain = 0.6 }
"""


@pytest.fixture
def pencil(tmp_path, monkeypatch):
    """A directory of references with one in it, whose numbers are farloop's own."""
    directory = tmp_path / "references" / "pencil"
    directory.mkdir(parents=True)
    (directory / "reference.toml").write_text(REFERENCE, encoding="utf-8")
    (directory / "small.toml").write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(references, "DIRECTORY", directory.parent)
    clear()
    write(directory, {"two-flows": {"dctcp": {"jain": [2.0, 2.0]}, "hpcc": {"jain": [1.0], "wall_s": [3.0]}}})
    yield directory
    clear()


def clear():
    for cached in (references.names, references.load, references.programs_by_algorithm):
        cached.cache_clear()


def write(directory, results):
    (directory / "results.json").write_text(json.dumps(results), encoding="utf-8")
    clear()


def test_a_reference_is_read(pencil):
    reference = references.load("pencil")
    assert (reference.title, reference.independent, reference.kind) == ("pencil 2", True, "simulator")
    (case,) = reference.cases
    dctcp, hpcc = case.entries
    assert (dctcp.limits, dctcp.repetitions, dctcp.set) == ({"jain": 0.2}, 2, {"run.seed": 4})
    assert dctcp.explained["jain"].difference == -0.5
    assert (hpcc.limits["jain"], hpcc.program) == (0.6, {"wall_s": (3.0,)})
    assert references.programs_by_algorithm() == {"dctcp": ("pencil",), "hpcc": ("pencil",)}


def test_a_case_has_settings_for_all_its_runs_and_one_run_where_a_range_judges(pencil):
    text = REFERENCE.replace(
        "quick = true", 'quick = true\njudge = "range"\nset = { "run.seed" = 3, "run.duration" = "2ms" }'
    )
    (pencil / "reference.toml").write_text(text, encoding="utf-8")
    clear()
    (case,) = references.load("pencil").cases
    own = {"run.seed": 4, "run.duration": "2ms"}
    assert [entry.set for entry in case.entries] == [own, {**own, "run.seed": 3}]
    checks = checking.run([(references.load("pencil"), case, case.entries[0])], Execution())
    assert [(len(check.own), len(check.theirs), check.ranged) for check in checks] == [(1, 2, True)]


@pytest.mark.parametrize(
    ("metric", "own", "verdict"),
    [
        ("fct_mean", 10.4, "agrees"),
        ("fct_mean", 8.91, "agrees"),
        ("fct_mean", 13.09, "agrees"),
        ("fct_mean", 13.21, "differs"),
        ("fct_mean", 8.79, "differs"),
        ("flow:f:timeouts", 13.0, "agrees"),
        ("flow:f:timeouts", 13.2, "differs"),
    ],
)
def test_a_range_has_the_limit_around_it(metric, own, verdict):
    ranged = replace(check((own,), (10.0, 11.0, 12.0)), metric=metric, ranged=True)
    assert ranged.verdict == verdict
    assert checks.read(ranged.row()).verdict == verdict
    assert ("range" in validation_tables.numbers([ranged])[0][7]) and ranged.slack == 0.1 * 11


def test_a_count_may_be_beside_its_range_by_one():
    few = replace(check((3,), (1, 2, 2)), metric="flow:f:timeouts", ranged=True)
    assert [replace(few, own=(own,)).verdict for own in (0, 1, 3, 4)] == ["agrees", "agrees", "agrees", "differs"]
    none = replace(few, theirs=(0.0, 0.0))
    assert [replace(none, own=(own,)).verdict for own in (0, 1, 2)] == ["agrees", "agrees", "differs"]
    known = replace(few, own=(5.0,), expected=2.0, why="The pencil is blunt.")
    assert [replace(known, settled=settled).verdict for settled in (True, False)] == ["explained", "open"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("program =", "programm =", "reference.toml: programm: no such key; did you mean program?"),
        ('kind = "simulator"', 'kind = "guess"', "kind: guess: there is"),
        ("date = 2026-11-23", 'date = "today"', "date: expected a date"),
        ("independent = true", "independent = 1", "independent: expected true or false"),
        ("small.toml", "none.toml", "[[case]] 1: scenario: none.toml: no such file"),
        ("limit = 0.05", "limit = 0", "[[case]] 1: limit: expected a part"),
        ("limits = { jain = 0.2 }", 'limits = { jain = "0.2" }', "[[case]] 1: limits: jain: expected a part"),
        ('algorithm = "hpcc"', 'algorithm = "swift"', "algorithm: swift: expected numbers of it in results.json"),
        ('metric = "jain"', 'metric = "jane"', "[[case.run.explained]] 1: metric: jane: did you mean jain?"),
        ('name = "two-flows"', 'name = "three-flows"', "algorithm: dctcp: expected numbers of it"),
        ("quick = true", 'quick = true\nsince = "soon"', "since: soon: expected a time"),
        ("quick = true", 'quick = true\njudge = "guess"', "judge: guess: there is mean, range"),
        ("quick = true", "quick = true\nset = 4", "[[case]] 1: set: expected"),
        ("quick = true", 'quick = true\nfct = "sent"', "fct: sent: there is received, acknowledged"),
        ("program =", "program", "expected a TOML file"),
    ],
)
def test_what_is_no_reference_is_refused(old, new, said, pencil):
    (pencil / "reference.toml").write_text(REFERENCE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidReferenceError) as raised:
        references.read(pencil)
    assert str(pencil) in str(raised.value)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ("{", "results.json: "),
        ('{"two-flows": 1}', "expected an object by case"),
        ('{"two-flows": {"dctcp": {"jain": []}, "hpcc": {"jain": [1]}}}', "jain: expected one number"),
        ('{"two-flows": {"dctcp": {"jain": ["1"]}, "hpcc": {"jain": [1]}}}', "jain: expected numbers"),
        ('{"two-flows": {"dctcp": {"jain": [1]}, "hpcc": {"jain": [1]}, "reno": {"jain": [1]}}}', "has reno"),
        ('{"two-flows": {"dctcp": {"jain": [1]}, "hpcc": {"jain": [1]}}, "more": {}}', "more: no such case"),
    ],
)
def test_what_are_no_results_is_refused(results, said, pencil):
    (pencil / "results.json").write_text(results, encoding="utf-8")
    with pytest.raises(InvalidReferenceError, match=r"results\.json|reference\.toml") as raised:
        references.read(pencil)
    assert said in str(raised.value)


def test_names_mean_references_cases_and_algorithms(pencil):
    def chosen(*wanted, full=False):
        return [entry.algorithm for _, _, entry in checking.select(wanted, full=full)]

    assert chosen() == chosen("pencil") == chosen("pencil/two-flows") == ["dctcp", "hpcc"]
    assert chosen("hpcc") == ["hpcc"]
    with pytest.raises(FarloopError, match="pensil: no reference, case or algorithm; did you mean pencil"):
        chosen("pensil")
    (pencil / "reference.toml").write_text(REFERENCE.replace("quick = true", "quick = false"), encoding="utf-8")
    clear()
    assert chosen() == chosen("hpcc") == []
    assert chosen(full=True) == chosen("pencil/two-flows") == ["dctcp", "hpcc"]


def check(own, theirs, limit=0.1, expected=0.0, settled=True):
    return FidelityCheck(
        "pencil", "two-flows", "hpcc", "fct_mean", own, theirs, limit, expected, "why" * bool(expected), settled
    )


@pytest.mark.parametrize(
    ("check", "difference", "verdict"),
    [
        (check((1.05, 1.07), (1.0, 1.0)), 0.06, "agrees"),
        (check((1.2,), (1.0,)), 0.2, "differs"),
        (check((1.2,), (1.0,), expected=0.25), 0.2, "explained"),
        (check((1.09,), (1.0,), expected=0.15), 0.09, "agrees"),
        (check((1.2,), (1.0,), expected=0.25, settled=False), 0.2, "open"),
        (check((1.0,), (1.0,), expected=0.25), 0.0, "differs"),
        (check((0.05,), (0.0,)), 0.05, "agrees"),
        (check((3.0,), (0.0,)), 3.0, "differs"),
        (check((float("nan"),), (1.0,)), None, "differs"),
    ],
)
def test_a_number_agrees_is_explained_or_differs(check, difference, verdict):
    assert check.verdict == verdict
    assert check.row()["difference"] == (None if difference is None else pytest.approx(difference))


def test_the_spread_is_the_references_own():
    assert check((1.0,), (0.9, 1.0, 1.1)).spread == pytest.approx(0.1)


def test_the_overview_has_the_worst_verdict():
    rows = validation_tables.overview([check((1.0,), (1.0,)), check((2.0,), (1.0,))])
    assert [row[-1] for row in rows] == ["differs"]
    assert (
        validation_tables.summary([check((1.0,), (1.0,)), check((2.0,), (1.0,))])
        == "1 of 2 numbers are within their limits, 1 outside otherwise"
    )


def test_every_kind_of_number(result: farloop.Run):
    def of(name, **more):
        return compared_numbers.measure(result, name, **more)

    flow = result.flows.to_pylist()[0]
    port = result.ports.to_pylist()[0]
    name = f"{port['node']}->{port['peer']}"
    times = [
        (flow["received_ps"] - flow["start_ps"]) / 1e12 for flow in result.flows.to_pylist() if flow["received_ps"]
    ]
    if times:
        assert of("fct_mean") == pytest.approx(sum(times) / len(times))
        assert min(times) <= of("fct_p50") <= of("fct_p99") <= max(times)
        assert of("fct_p50", fct="acknowledged") > of("fct_p50")
    assert of("unfinished") == sum(
        flow["size_bytes"] is not None and flow["received_ps"] is None for flow in result.flows.to_pylist()
    )
    assert of(f"throughput:{flow['name']}") == pytest.approx(flow["delivered_bytes"] * 8 / result.duration, rel=0.3)
    assert 0 < of(f"share:{flow['name']}") <= 1
    assert 0 < of("jain") <= 1
    assert of(f"flow:{flow['name']}:packets") == flow["packets"]
    assert of("flows:packets:sum") == sum(flow["packets"] for flow in result.flows.to_pylist())
    assert of(f"port:{name}:tx_bytes") == port["tx_bytes"]
    assert of("ports:max_queue_bytes:max") == of(f"queue_max:{_longest(result)}")
    assert of(f"queue_mean:{name}") == port["mean_queue_bytes"]
    assert of(f"drops:{name}") == 0


def _longest(result):
    port = max(result.ports.to_pylist(), key=lambda row: row["max_queue_bytes"])
    return f"{port['node']}->{port['peer']}"


@pytest.mark.parametrize(
    "name",
    ["fct_p500", "fct", "throughput:nobody", "queue_max:nowhere", "flow:nobody:packets", "flows:packets:median", "series:x", "speed"],
)  # fmt: skip
def test_what_is_no_number_is_refused(name, result):
    with pytest.raises(FarloopError, match=name):
        compared_numbers.measure(result, name)


def test_a_validation_is_written_and_says_what_differs(pencil, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged = checking.run(checking.select([], full=False), Execution())
    assert {(check.algorithm, check.verdict) for check in judged} == {("dctcp", "explained"), ("hpcc", "agrees")}
    into = tmp_path / "out"
    into.mkdir()
    record.write(judged, into, scale="quick", draw=validation_page.write)
    rows = json.loads((into / "validation.json").read_text("utf-8"))["checks"]
    assert [row["algorithm"] for row in rows] == ["dctcp", "hpcc"]
    text = (into / "report.html").read_text("utf-8")
    assert "The pencil is blunt." in text and "pencil --sharpen" in text
    assert (into / "figures" / "differences.png").stat().st_size > 5000
    assert "validation.json" in json.loads((into / "manifest.json").read_text("utf-8"))["files"]
    (into / "report.html").write_text("", encoding="utf-8")
    rewrite(into)
    assert (into / "report.html").read_text("utf-8") == text
    with pytest.raises(FarloopError, match="has no runs; its numbers are in validation"):
        farloop.load(into)


def test_the_command_ends_with_a_code_where_a_number_differs(pencil, tmp_path, monkeypatch):
    judged = checking.run(checking.select([], full=False), Execution())
    wrong = replace(judged[0], own=(9.0,), theirs=(1.0,), expected=0.0, why="")
    assert wrong.verdict == "differs"
    quietly = {"no_report": True, "quiet": True}
    validate.validate(["pencil"], out=tmp_path / "right", **quietly)
    monkeypatch.setattr(checking, "run", lambda *_, **__: [*judged, wrong])
    with pytest.raises(typer.Exit) as ended:
        validate.validate(["pencil"], out=tmp_path / "wrong", **quietly)
    assert ended.value.exit_code == 1
    assert (tmp_path / "wrong" / "validation.json").is_file()


def test_worlds_are_always_the_same_and_every_algorithm_has_its_turn():
    assert world(3) == world(3) != world(12)
    assert {world(k).algorithm for k in range(metamorphic.WORLDS)} == set(ALGORITHMS)


def test_changes_that_must_not_matter_do_not():
    outcomes = metamorphic.run(Execution(), len(ALGORITHMS))
    assert [outcome.relation.name for outcome in outcomes] == [outcome.name for outcome in relations.RELATIONS]
    assert all(outcome.holds for outcome in outcomes), validation_tables.relations(outcomes)
    assert all(outcome.worlds >= 2 for outcome in outcomes)


def test_a_change_that_matters_is_seen(monkeypatch):
    def slower(of):
        return replace(of, links=(replace(of.links[0], delay=of.links[0].delay + 1), *of.links[1:]))

    relation = relations.Relation("a nanosecond", "A link is a nanosecond longer.", slower)
    monkeypatch.setattr(metamorphic, "RELATIONS", (relation,))
    (outcome,) = metamorphic.run(Execution(), 2)
    assert not outcome.holds
    assert validation_tables.summary([], [outcome]) == "0 of 1 changes that must not matter do not"


def test_the_command_refuses_a_name_that_means_nothing(command):
    done = command("validate", "nobody")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nobody: no reference, case or algorithm" in done.stderr


def test_every_reference_is_valid_and_its_scenarios_too():
    for name in references.names():
        reference = references.load(name)
        assert reference.cases
        for case in reference.cases:
            for entry in case.entries:
                for variant in checking.variants(reference, case, entry):
                    assert variant.scenario.resolved


def test_every_fault_can_be_put_into_the_sources(scripts):
    faults = scripts("faults")
    assert len(faults.FAULTS) == 10
    for fault in faults.FAULTS:
        for path, old, new in fault.edits:
            text = (faults.ROOT / path).read_text("utf-8")
            assert faults.edited(text, old, new) != text


def test_the_table_of_faults_says_what_caught_them(scripts):
    faults = scripts("faults")
    page = f"before\n{faults.BEGIN}\nold\n{faults.END}\nafter\n"
    written = faults.with_table(page, [(faults.FAULTS[0], "3 numbers"), (faults.FAULTS[1], "")])
    assert "| ECN marks from a packet later on | 3 numbers |" in written
    assert "| round-trip times count twice | **not caught** |" in written
    assert written.startswith("before") and written.endswith("after\n") and "old" not in written


def test_the_table_of_speeds_is_what_was_measured(scripts):
    writer = scripts("validation_table")
    measured = json.loads(writer.SPEED.read_text("utf-8"))
    page = writer.PAGE.read_text("utf-8")
    assert writer.speed(measured) in page, "run scripts/validation_table.py"
    for name, own in measured.items():
        cases = {case.name: {e.algorithm for e in case.entries} for case in references.load(name).cases}
        assert all(row["algorithm"] in cases[row["case"]] for row in own["cases"])


def test_the_readme_s_agreement_stays_where_it_is(scripts, tmp_path):
    writer = scripts("validation_table")
    begin, end = scripts("page_tables").markers("agreement", writer.SCRIPT)
    readme = writer.README.read_text("utf-8")
    assert readme.index("## Why not ns-3") < readme.index(begin) < readme.index(end) < readme.index("## Links")
    page = tmp_path / "README.md"
    page.write_text(readme, "utf-8")
    writer.put(page, "agreement", "new", blank="")
    before, after = readme.partition(begin)[0], readme.partition(end)[2]
    assert page.read_text("utf-8") == f"{before}{begin}\nnew\n{end}{after}"
    page.write_text("no markers\n", "utf-8")
    with pytest.raises(ValueError, match="expected the markers"):
        writer.put(page, "agreement", "new", blank="")

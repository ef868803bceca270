"""`--json`: one document per command, valid by `farloop schema --of output`, with the numbers of summary.json and the tables."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from support import studies

from farloop.studies.advice import question
from farloop.studies.sweep import definition
from farloop.studies.validation import metamorphic

KINDS = {"run", "comparison", "study", "arena", "advice", "plan", "reproduction", "validation"}


@pytest.fixture
def document(command):
    """Runs a command with --json, and gives what it printed, after a check against the schema."""
    schema = json.loads(command("schema", "--of", "output").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert {branch["properties"]["kind"]["const"] for branch in schema["oneOf"]} == KINDS

    def printed(*words, code=0):
        done = command(*words, "--json", "--no-report")
        assert done.returncode == code, done.stderr
        content = json.loads(done.stdout)
        jsonschema.validate(content, schema)
        assert content["schema"] == "farloop/1"
        return content

    return printed


def by_name(group):
    return {number["name"]: number for number in group["numbers"]}


def test_a_run_and_a_comparison_have_the_numbers_of_their_summary(document, small, tmp_path):
    content = document("run", "small.toml", "--out", "r")
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    (group,) = content["groups"]
    assert (content["kind"], content["directory"], group["label"], group["seeds"]) == ("run", "r", "hpcc", [3])
    jain = by_name(group)["jain"]
    assert jain == {
        "name": "jain",
        "measure": "jain",
        "unit": "1",
        "value": summary["jain"],
        "low": None,
        "high": None,
        "n": 1,
    }
    content = document("compare", "small.toml", "--algorithms", "hpcc,dctcp", "--seeds", "1-2", "--out", "c")
    summary = json.loads((tmp_path / "c" / "summary.json").read_text())
    assert [group["label"] for group in content["groups"]] == ["hpcc", "dctcp"]
    for group in content["groups"]:
        number = by_name(group)["mean_throughput/cross"]
        row = summary[group["label"]]["mean_throughput"]["cross"]
        assert (number["measure"], number["unit"]) == ("flow_throughput/mean/cross", "bit/s")
        assert [number[key] for key in ("value", "low", "high", "n")] == [
            row[key] for key in ("mean", "low", "high", "n")
        ]


@pytest.mark.usefixtures("without_workers")
def test_a_study_has_its_points(document, tmp_path):
    studies.written(tmp_path)
    content = document("sweep", "study.toml", "--out", "s")
    assert content["runs"] == {"made": 12, "kept": 0, "done": 12, "failed": 0, "refused": 0}
    assert [point["settings"] for point in content["points"][:2]] == [{"workload.load": 0.2}, {"workload.load": 0.4}]
    assert by_name(content["points"][0])["throughput"]["measure"] == "goodput"


def test_an_arena_has_standings(document, small):
    content = document(
        "arena", "--scenario", "small.toml", "--algorithms", "hpcc,dctcp", "--seeds", "1", "--jitter", "0", "--out", "a"
    )
    standings = content["scenarios"][0]["standings"]
    assert {row["algorithm"] for row in standings} == {"hpcc", "dctcp"}
    assert standings[0]["numbers"][0]["measure"] == "arena_score"


@pytest.mark.usefixtures("without_workers")
def test_an_answer_has_its_candidates(document, small):
    words = ["--candidates", "hpcc,dctcp", "--budget", "3s", "--no-tune", "--must", "none", "--out", "v"]
    content = document("advise", "small.toml", *words)
    assert {row["name"] for row in content["candidates"]} == {"hpcc", "dctcp"}
    assert content["answer"]


@pytest.mark.usefixtures("without_workers")
def test_a_plan_has_its_points(document, small):
    words = ["--vary", "distance = 100km, 10km", "--until", "goodput >= 1kbps", "--seeds", "1", "--out", "p"]
    content = document("plan", "small.toml", *words)
    (condition,) = content["conditions"]
    assert condition["enough"] == "100 km"
    assert by_name(condition["points"][0])["goodput"]["measure"] == "goodput"


def test_a_reproduction_has_claims_and_a_validation_its_checks(document, monkeypatch):
    short = ["--set", "run.duration=5ms"]
    content = document("reproduce", "gear/fig09", "--algorithms", "hpcc", "--case", "0 ms", *short, "--out", "p")
    assert content["figures"][0]["figure"] == "gear/fig09"
    # What holds in all of them is tested where they are validated.
    monkeypatch.setattr(metamorphic, "RELATIONS", metamorphic.RELATIONS[:2])
    content = document("validate", "metamorphic", "--out", "m")
    assert content["checks"] == []
    assert content["relations"]


def test_another_schema_is_refused_in_a_line(command):
    done = command("schema", "--of", "outptu")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "farloop: --of outptu: no such schema; did you mean output? there is scenario, study, question, output\n"
    )


@pytest.mark.long
def test_editors_check_studies_and_questions(command, tmp_path):
    root = Path(__file__).parents[2]
    schemas = {of: json.loads(command("schema", "--of", of).stdout) for of in ("study", "question")}
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schemas["study"]["properties"]) == set(definition.KEYS)
    assert set(schemas["question"]["properties"]) == set(question.KEYS)
    study = tomllib.loads((root / "examples" / "study.toml").read_text("utf-8"))
    jsonschema.validate(study, schemas["study"])
    jsonschema.validate({"scenario": "a.toml", "must": ["no pfc across"]}, schemas["question"])
    misspelt = [({**study, "colect": []}, "study"), ({**study, "base": {"run": {"duraton": "1s"}}}, "study")]
    for wrong, of in [*misspelt, ({"goal": "x"}, "question")]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schemas[of])

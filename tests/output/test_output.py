import dataclasses
import errno
import json
import math
import os
from pathlib import Path

import pytest
from pyarrow import parquet

import farloop
from farloop.commands.report import rewrite
from farloop.experiments.execution import Execution
from farloop.output import directories, manifest, reading, saving
from farloop.safe_files import names
from farloop.studies import reproduce


def test_what_is_saved_can_be_loaded(result, tmp_path):
    saved = result.save(tmp_path / "r", report=False)
    (loaded,) = reading.load(saved).runs
    assert loaded.flows.equals(result.flows)
    assert loaded.series.equals(result.series)
    assert loaded.summary == result.summary
    assert loaded.label == result.label


def test_an_output_without_a_column_says_how_to_make_it_again(result, tmp_path):
    saved = result.save(tmp_path / "r", report=False)
    table = parquet.read_table(saved / "flows.parquet")
    parquet.write_table(table.drop_columns(["first_limit"]), saved / "flows.parquet")
    for version, command, expected in (
        ("0.0.1", [], "farloop 0.0.1 wrote this output, and this is .*; make it again, or read it with farloop 0.0.1"),
        (
            None,
            ["farloop", "run", "x.toml"],
            r"an older build of farloop .* wrote this output; make it again \(`farloop run x.toml`\)",
        ),
    ):
        kept = json.loads((saved / "manifest.json").read_text())
        kept |= {"command": command} | ({"farloop": version} if version else {"farloop": farloop.__version__})
        (saved / "manifest.json").write_text(json.dumps(kept))
        with pytest.raises(farloop.FarloopError, match=f"has no column first_limit: {expected}") as refused:
            reading.load(saved)
        assert "\n" not in str(refused.value)


def test_a_comparison_comes_back(comparison, tmp_path):
    loaded = reading.load(comparison.save(tmp_path / "r", report=False))
    assert [r.label for r in loaded] == ["hpcc", "dctcp"]
    assert loaded.summary == comparison.summary


def test_json_has_no_infinities(comparison, tmp_path):
    saved = comparison.save(tmp_path / "r", report=False)
    for path in saved.glob("**/*.json"):
        json.loads(path.read_text(), parse_constant=lambda name, path=path: pytest.fail(f"{name} in {path}"))


def test_json_has_null_where_there_is_no_number(tmp_path):
    manifest.write_json(tmp_path / "a.json", {"a": [math.nan, math.inf, 1.5], "b": {"c": -math.inf}})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": [None, None, 1.5], "b": {"c": None}}


def test_an_output_replaces_an_output_with_all_its_files(result, comparison, tmp_path):
    target = tmp_path / "r"
    comparison.save(target)
    result.save(target)
    assert not (target / "runs").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["r"]
    listed = json.loads((target / "manifest.json").read_text())["files"]
    assert {*listed, "manifest.json"} == {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("manifest", "named"),
    [
        ("{}", "manifest.json, thesis.tex"),
        ('{"farloop": "0.1.0", "kind": "run"}', "manifest.json, thesis.tex"),
        ('{"farloop": "0.1.0", "kind": "run", "files": 5}', "manifest.json, thesis.tex"),
        (None, "thesis.tex"),
    ],
)
def test_what_farloop_did_not_write_is_refused_by_name(manifest, named, result, tmp_path):
    target = tmp_path / "w"
    if manifest is None:
        result.save(target, report=False)
    else:
        target.mkdir()
        (target / "manifest.json").write_text(manifest)
    (target / "thesis.tex").write_text("mine")
    with pytest.raises(farloop.FarloopError, match=f"did not write: {named}; .*--force"):
        result.save(target, report=False)
    assert (target / "thesis.tex").read_text() == "mine"
    result.save(target, force=True, report=False)
    assert (target / "thesis.tex").read_text() == "mine", "it is written beside, not over"
    assert reading.load(target).runs[0].label == result.label
    with pytest.raises(farloop.FarloopError, match=r"did not write: thesis\.tex"):
        result.save(target, report=False)


def test_notes_in_an_older_output_are_refused_wherever_they_are(comparison, tmp_path):
    target = tmp_path / "r"
    comparison.save(target)
    (target / "runs" / "hpcc" / "notes.txt").write_text("mine")
    (target / "figures" / "link").symlink_to(tmp_path)
    with pytest.raises(farloop.FarloopError, match=r"figures/link, runs/hpcc/notes\.txt"):
        comparison.save(target)


def test_what_comes_there_meanwhile_is_refused_too(result, tmp_path):
    target = tmp_path / "r"
    with pytest.raises(farloop.FarloopError, match=r"did not write: thesis\.tex"), directories.directory(target) as out:
        saving.fill_run(result, out.path)
        target.mkdir()
        (target / "thesis.tex").write_text("mine")
    assert (target / "thesis.tex").read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_a_link_stays_and_what_it_leads_to_is_written(result, tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to("there")
    for _ in range(2):
        result.save(link, report=False)
        assert link.is_symlink()
        assert (tmp_path / "there" / "manifest.json").is_file()
    dangling = tmp_path / "dangling"
    dangling.symlink_to("new")
    result.save(dangling, report=False)
    assert dangling.is_symlink()
    assert (tmp_path / "new" / "manifest.json").is_file()
    assert {p.name for p in tmp_path.iterdir()} == {"there", "link", "dangling", "new"}


def test_the_working_directory_is_filled_and_not_replaced(result, tmp_path, monkeypatch):
    target = tmp_path / "r"
    target.mkdir()
    monkeypatch.chdir(target)
    node = target.stat().st_ino
    for _ in range(2):
        result.save(".", report=False)
        assert target.stat().st_ino == node
        assert reading.load(target).runs[0].label == result.label


def test_the_manifest_of_a_directory_that_is_filled_comes_last(result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result.save(".", report=False)
    placed = []
    real = names.place

    def place(source, root, name):
        placed.append((name, (root / manifest.MANIFEST).exists()))
        real(source, root, name)

    monkeypatch.setattr(names, "place", place)
    result.save(".", report=False)
    assert placed[-1] == (manifest.MANIFEST, False), "until then it is no output"
    assert sorted(name for name, _ in placed) == manifest.files(tmp_path)


def test_a_failure_leaves_the_old_output(result, tmp_path):
    target = tmp_path / "r"
    result.save(target, report=False)
    with pytest.raises(KeyboardInterrupt), directories.directory(target) as out:
        (out.path / "half").write_text("")
        raise KeyboardInterrupt
    assert (target / manifest.MANIFEST).is_file()
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_the_old_output_comes_back_if_the_new_one_cannot_take_its_place(result, tmp_path, monkeypatch):
    target = tmp_path / "r"
    result.save(target, report=False)
    before = (target / manifest.MANIFEST).read_bytes()
    real = Path.rename

    def rename(self, to):
        if self.name == "output":
            raise OSError(5, "Input/output error")
        return real(self, to)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(farloop.FarloopError, match="cannot be written: Input/output error"):
        result.save(target, report=False)
    assert (target / manifest.MANIFEST).read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


@pytest.mark.parametrize("what", ["figures", "report"])
def test_a_drawing_that_fails_costs_nothing_else(what, comparison, tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("ParseException: double superscript")

    if what == "figures":
        monkeypatch.setattr("farloop.views.figures.draw.draw", fail)
    else:
        monkeypatch.setattr("farloop.views.report.page.page", fail)
    with pytest.warns(RuntimeWarning, match="could not be drawn: RuntimeError: ParseException: double superscript"):
        comparison.save(tmp_path / "r")
    assert reading.load(tmp_path / "r").summary == comparison.summary
    assert "double superscript" in (tmp_path / "r" / "report.html").read_text()
    assert "double superscript" in json.loads((tmp_path / "r" / "manifest.json").read_text())["notes"][0]


def test_a_judge_that_fails_costs_nothing_else(small, monkeypatch):
    def fail(*_):
        raise KeyError("cross")

    monkeypatch.setattr("farloop.judging.verdicts.add_verdicts", fail)
    compared = farloop.compare(small, ["hpcc"], set={"run.duration": "1ms"})
    assert len(compared) == 1
    assert compared.notes == ["the claims of " + str(small) + " could not be judged: KeyError: 'cross'"]


def test_views_are_exchanged_all_or_none(comparison, tmp_path, monkeypatch):
    target = tmp_path / "r"
    comparison.save(target)
    (target / "notes.txt").write_text("mine")
    stale = target / "figures" / "stale.png"
    stale.write_bytes(b"")
    kept = json.loads((target / "manifest.json").read_text())
    manifest.write_json(target / "manifest.json", kept | {"files": [*kept["files"], "figures/stale.png"]})
    before = {p: p.read_bytes() for p in target.rglob("*") if p.is_file()}

    def fail(*_):
        raise RuntimeError("no ink")

    with monkeypatch.context() as patched:
        patched.setattr("farloop.views.report.page.page", fail)
        with pytest.raises(farloop.FarloopError, match="no ink; the old report stays"):
            rewrite(target)
    assert {p: p.read_bytes() for p in target.rglob("*") if p.is_file()} == before
    (target / "report.html").write_text("old")
    rewrite(target)
    assert "Two flows" in (target / "report.html").read_text()
    assert not stale.exists(), "what is not drawn any more goes"
    assert (target / "notes.txt").read_text() == "mine"
    assert manifest.find_foreign(target) == ["notes.txt"]


def test_a_changed_judge_needs_no_simulation(small, tmp_path, monkeypatch, on_scenario):
    text = small.read_text() + '[figure]\nid = "nobody/fig1"\n[[claim]]\nid = "nobody/fig1"\nwhat = "nothing"\n'
    scenario = farloop.Scenario.from_text(text, str(small))
    compared = farloop.compare(scenario, ["hpcc"], set={"run.duration": "1ms"})
    target = compared.save(tmp_path / "r", report=False)
    (claim,) = json.loads((target / "claims.json").read_text())
    on_scenario(lambda *_: pytest.fail("it is simulated"))

    def judged(comparison, base, scale):
        assert base.overrides == (("run.duration", "1ms"),)
        now = claim | {"verdict": "reproduced", "verdict_text": "reproduced", "what": "judged anew"}
        return dataclasses.replace(comparison, claims=[now], scale=scale)

    monkeypatch.setattr("farloop.judging.verdicts.add_verdicts", judged)
    rewrite(target)
    assert json.loads((target / "claims.json").read_text())[0]["verdict"] == "reproduced"
    assert "judged anew" in (target / "report.html").read_text()
    assert farloop.load(target).claims[0]["what"] == "judged anew"


@pytest.mark.parametrize(
    "damage",
    [
        lambda m: m | {"info": ["totals", "absent"]},
        lambda m: m | {"scenario": 5},
        lambda m: m | {"totals": {}},
        lambda m: m | {"kind": ["run"]},
        lambda m: m | {"overrides": 7},
        lambda m: {"farloop": "x", "kind": "comparison", "runs": ["..", 5]},
        lambda m: {"farloop": "x", "kind": "reproduction", "figures": 5, "scale": "quick", "seeds": []},
        lambda m: {"farloop": "x", "kind": "reproduction"},
    ],
)
def test_damaged_manifests_are_told_from_outputs(damage, result, tmp_path):
    target = result.save(tmp_path / "r", report=False)
    kept = json.loads((target / "manifest.json").read_text())
    (target / "manifest.json").write_text(json.dumps(damage(kept)))
    with pytest.raises(farloop.FarloopError, match=str(target)):
        rewrite(target)
    with pytest.raises(farloop.FarloopError, match=str(target)):
        farloop.load(target)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, '"\\ud800"'])
def test_manifests_that_are_none(text, tmp_path):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(farloop.FarloopError, match=r"manifest\.json"):
        farloop.load(tmp_path)


def test_labels_become_file_names():
    assert manifest.slug("gear, 7 ms") == "gear-7-ms"
    assert "/" not in manifest.slug("../x")
    assert manifest.slug("-") == "run"


def test_a_violated_invariant_is_an_error_that_names_it(small, on_scenario):

    class Broken:
        def __init__(self, output):
            self.take_tables = output.take_tables
            self.info = json.dumps(
                json.loads(output.info) | {"invariants": [{"name": "conservation", "ok": False, "detail": "7 of 8"}]}
            )

    on_scenario(lambda real, *args: Broken(real(*args)))
    with pytest.raises(farloop.InvariantError, match=r"conservation: 7 of 8"):
        farloop.run(small)


def test_ports_say_what_their_nodes_and_links_are(result):
    ports = {(p["node"], p["peer"]): p for p in result.ports.to_pylist()}
    assert {p["kind"] for p in ports.values()} == {"host", "switch", "router"}
    assert ports["wan1", "wan2"]["kind"] == "router"
    assert (ports["s1", "left"]["kind"], ports["s1", "left"]["datacenter"]) == ("host", 0)
    assert ports["r1", "wan2"]["datacenter"] == 1
    assert (ports["left", "right"]["kind"], ports["left", "right"]["rate_bps"]) == ("switch", 10**9)
    assert (ports["left", "right"]["delay_ps"], ports["wan1", "wan2"]["delay_ps"]) == (5 * 10**6, 10**9)


def test_without_a_report_nothing_is_drawn_until_it_is_asked_for(command, small):
    whole, bare = command.directory / "whole", command.directory / "bare"
    assert command("run", "small.toml", "--out", "whole").returncode == 0
    done = command("run", "small.toml", "--out", "bare", "--no-report")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "results: bare (`farloop report bare` draws them)")
    drawn = {name for name in manifest.files(whole) if name == "report.html" or name.startswith("figures/")}
    assert len(drawn) >= 3
    assert manifest.files(bare) == [name for name in manifest.files(whole) if name not in drawn]
    assert json.loads((bare / "manifest.json").read_text())["files"] == [
        name for name in manifest.files(bare) if name != "manifest.json"
    ]
    assert (bare / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()
    assert command("report", "bare").returncode == 0
    assert manifest.files(bare) == manifest.files(whole)
    assert manifest.find_foreign(bare) == []
    # An output without a report takes the place of one that had one.
    assert command("run", "small.toml", "--out", "whole", "--no-report", "--quiet").returncode == 0
    assert not drawn & set(manifest.files(whole))


def test_comparisons_and_reproductions_without_a_report(command, small, tmp_path, monkeypatch):
    assert command("compare", "small.toml", "--algorithms", "hpcc", "--out", "c", "--no-report").returncode == 0
    assert "report.html" not in manifest.files(tmp_path / "c")
    real = reproduce.plan

    def plan(figure, *, full, same_start=None, reading=None):
        planned = real(figure, full=full)
        short = dataclasses.replace(
            planned.variants[0], scenario=planned.variants[0].scenario.override({"run.duration": "1ms"})
        )
        return dataclasses.replace(planned, variants=[short])

    monkeypatch.setattr(reproduce, "plan", plan)
    with directories.directory(tmp_path / "r") as out:
        reproduce.reproduce(["gear/fig09"], out.path, Execution(store=out.store), full=False)
    assert {Path(name).name for name in manifest.files(tmp_path / "r")} == {
        "claims.json", "manifest.json", "summary.json", "flows.parquet", "pauses.parquet",
        "circuits.parquet", "queues.parquet", "ports.parquet", "series.parquet",
        "iterations.parquet", "ranks.parquet",
    }  # fmt: skip
    rewrite(tmp_path / "r")
    assert {"report.html", "gear/fig09/report.html", "gear/fig09/figures/fig09.png"} <= set(
        manifest.files(tmp_path / "r")
    )
    assert manifest.find_foreign(tmp_path / "r") == []


def test_a_report_on_a_full_disk_says_what_helps(result, tmp_path, monkeypatch):
    target = result.save(tmp_path / "r")
    before = (target / "report.html").read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("farloop.views.report.page.page", full)
    for broken in (lambda: monkeypatch.setattr("farloop.output.store._make_directory", full), lambda: None):
        with pytest.raises(
            farloop.FarloopError, match="cannot be written: No space left on device; the old report stays; copy"
        ) as refused:
            rewrite(target)
        assert "--out" not in str(refused.value), "report has no such option"
        assert (target / "report.html").read_bytes() == before
        broken()

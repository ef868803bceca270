"""Outputs, partial outputs and stores that somebody else has made: nothing outside of an output is touched, and nothing is believed."""

import errno
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import farloop
from farloop.commands.report import rewrite
from farloop.experiments import journal
from farloop.experiments.threads import Job, simulate
from farloop.output import directories, manifest, store
from farloop.output.store import Pending, Store
from farloop.safe_files import names
from farloop.scenario import Scenario

MINE = "mine"


def forge(target, **changes):
    path = target / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def listed(target, *more):
    return [*json.loads((target / "manifest.json").read_text())["files"], *more]


@pytest.fixture(scope="module")
def saved(result, tmp_path_factory):
    return result.save(tmp_path_factory.mktemp("saved") / "r")


@pytest.fixture
def output(saved, tmp_path):
    """An output with its pictures, which are drawn once for all tests."""
    return shutil.copytree(saved, tmp_path / "r")


@pytest.fixture
def outside(tmp_path):
    path = tmp_path / "home" / "t.tex"
    path.parent.mkdir()
    path.write_text(MINE)
    return path


@pytest.mark.parametrize(
    "name", ["../home/t.tex", "figures/../../home/t.tex", "ABSOLUTE", "./../home/t.tex", "home//t.tex", ""]
)
@pytest.mark.parametrize("force", [False, True])
def test_names_outside_of_an_output_are_not_removed(name, force, output, outside, result, capfd):
    forge(output, files=listed(output, str(outside) if name == "ABSOLUTE" else name))
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    if force:
        # Beside it: what such a manifest lists is not farloop's.
        result.save(output, force=True, report=False)
    else:
        with pytest.raises(
            farloop.FarloopError, match=r"manifest\.json: names .*no file of this output; farloop did not write"
        ) as refused:
            result.save(output, report=False)
        assert "\n" not in str(refused.value)
        assert {path: path.read_bytes() for path in output.rglob("*") if path.is_file()} == before
    assert outside.read_text() == MINE


def test_a_report_of_such_an_output_is_refused(output, outside):
    forge(output, files=listed(output, "figures/../../home/t.tex"))
    for read in (rewrite, farloop.load):
        with pytest.raises(farloop.FarloopError, match=r"manifest\.json: names"):
            read(output)
    assert outside.read_text() == MINE


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "comparison", "runs": ["../../home"], "files": []},
        {"kind": "reproduction", "figures": ["../home"], "scale": "quick", "seeds": [], "files": []},
        {
            "kind": "arena",
            "scenarios": [{"name": "../home", "cannot_run": []}],
            "files": [],
            "algorithms": [],
            "seeds": [1],
            "scale": "",
        },
    ],
)
def test_directories_outside_of_an_output_are_not_read(content, output, outside):
    forge(output, **content)
    for read in (rewrite, farloop.load):
        with pytest.raises(farloop.FarloopError, match=r"manifest\.json: names '(\.\./)?\.\./home'"):
            read(output)
    assert list(outside.parent.iterdir()) == [outside]


def test_a_report_is_not_written_through_a_link(output, outside):
    pictures = output / "figures"
    kept = {path.name: path for path in pictures.iterdir()}
    for path in kept.values():
        path.rename(outside.parent / path.name)
    pictures.rmdir()
    pictures.symlink_to(outside.parent)
    (outside.parent / "stale.png").write_text(MINE)
    forge(output, files=listed(output, "figures/stale.png"))
    before = {path: path.read_bytes() for path in outside.parent.iterdir()}
    report = (output / "report.html").read_bytes()
    with pytest.raises(farloop.FarloopError, match="cannot be written: figures is a link"):
        rewrite(output)
    assert {path: path.read_bytes() for path in outside.parent.iterdir()} == before
    assert (output / "report.html").read_bytes() == report, "all or nothing"


def test_an_output_is_not_replaced_through_a_link(output, outside, result):
    (output / "figures" / "t.tex").parent.rename(output.parent / "figures")
    (output / "figures").symlink_to(outside.parent)
    forge(output, files=listed(output, "figures/t.tex"))
    with pytest.raises(farloop.FarloopError, match="did not write: figures"):
        result.save(output)
    with pytest.raises(farloop.FarloopError, match="figures is a link"):
        result.save(output, force=True)
    assert outside.read_text() == MINE
    assert [path.name for path in outside.parent.iterdir()] == ["t.tex"]
    assert (output / "manifest.json").is_file()


def test_a_link_that_is_a_file_goes_and_what_it_leads_to_stays(output, outside, result):
    (output / "report.html").unlink()
    (output / "report.html").symlink_to(outside)
    rewrite(output)
    assert not (output / "report.html").is_symlink()
    (output / "report.html").unlink()
    (output / "report.html").symlink_to(outside)
    (output / "notes.txt").write_text(MINE)
    result.save(output, force=True)
    assert not (output / "report.html").is_symlink()
    assert outside.read_text() == MINE


def test_what_is_mounted_in_an_output_stays(output, result, monkeypatch):
    inside = output / "data" / "t.tex"
    inside.parent.mkdir()
    inside.write_text(MINE)
    forge(output, files=listed(output, "data/t.tex"))
    real = names._mount

    def mount(descriptor):
        there = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        return (7, "mounted") if there == str(inside.parent) else real(descriptor)

    monkeypatch.setattr(names, "_mount", mount)
    with pytest.raises(farloop.FarloopError, match=r"did not write: data/t\.tex"):
        result.save(output, report=False)
    result.save(output, force=True, report=False)
    assert inside.read_text() == MINE


def test_manifests_that_name_each_other_are_read_once(output, monkeypatch):
    for name in "ab":
        (output / name).symlink_to(".")
    deep = output
    for _ in range(20):
        forge_at = deep / "manifest.json"
        content = {
            "farloop": "x",
            "kind": "run",
            "files": ["x/manifest.json", "x/x/manifest.json", "a/manifest.json", "b/manifest.json"],
        }
        forge_at.write_text(json.dumps(content))
        deep = deep / "x"
        deep.mkdir()
    read, real = [], manifest._content
    monkeypatch.setattr(manifest, "_content", lambda path: read.append(path) or real(path))
    manifest.list_files(output, "")
    assert len(read) <= 80, "not 2^20 times"


@pytest.mark.parametrize("kind", [pa.duration("ns"), pa.timestamp("ns"), pa.decimal128(20)], ids=str)
def test_a_table_with_values_of_another_kind_is_damaged(kind, output):
    table = pq.read_table(output / "flows.parquet", partitioning=None)
    at = table.column_names.index("start_ps")
    pq.write_table(table.set_column(at, "start_ps", table.column(at).cast(kind)), output / "flows.parquet")
    with pytest.raises(
        farloop.FarloopError, match=r"damaged farloop output: .* column start_ps of flows\.parquet is of the"
    ):
        farloop.load(output)


def test_a_pipe_in_place_of_a_file_stops_nobody(output):
    for name in ("flows.parquet", "manifest.json"):
        (output / name).unlink()
        os.mkfifo(output / name)
        for read in (rewrite, farloop.load):
            with pytest.raises(farloop.FarloopError, match="is no regular file"):
                read(output)


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "reproduction", "figures": ["a\x1b[31m"], "scale": "quick", "seeds": []},
        {"kind": "arena", "scenarios": [{"name": "a\x1b[31m"}], "algorithms": [], "seeds": [1], "scale": ""},
        {"kind": "arena", "scenarios": [5]},
        {"kind": "comparison", "runs": ["\x1b[31m"]},
        {"kind": "run", "address": {"\x1b[31m": 1}, "overrides": "\x1b[31m", "files": ["\x1b[31m/../x"]},
    ],
)
def test_messages_about_an_output_have_no_control_characters_of_it(content, output):
    forge(output, **content)
    for read in (rewrite, farloop.load):
        with pytest.raises(farloop.FarloopError) as refused:
            read(output)
        assert "\x1b" not in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.fixture
def outcome(small):
    scenario = Scenario.load(small).override({"run.duration": "1ms"})
    (simulated,) = simulate([Job("x", scenario)])
    return simulated


def left(target, outcome, key="aa"):
    """What a killed command has left beside its output."""
    killed = Pending(target)
    Store(killed.runs).put(key, outcome)
    killed._lock.close()
    return killed.path


def test_partial_outputs_of_somebody_else_are_left_alone(outcome, tmp_path, monkeypatch):
    target = tmp_path / "r"
    planted = left(target, outcome)
    monkeypatch.setattr(os, "geteuid", lambda: planted.stat().st_uid + 1)
    heir = Pending(target)
    assert Store(heir.runs).get("aa") is None
    heir.remove()
    assert planted.is_dir()


@pytest.mark.parametrize("how", ["a link", "written by all", "written by the group"])
def test_partial_outputs_that_others_may_have_written_are_left_alone(how, outcome, tmp_path):
    target = tmp_path / "r"
    planted = left(target, outcome)
    assert planted.stat().st_mode & 0o077 == 0
    if how == "a link":
        planted.rename(tmp_path / "elsewhere")
        planted.symlink_to(tmp_path / "elsewhere")
    else:
        planted.chmod(0o777 if how == "written by all" else 0o770)
    heir = Pending(target)
    assert Store(heir.runs).get("aa") is None
    heir.remove()
    assert (planted / "runs" / "aa" / "run.json").is_file()


@pytest.mark.parametrize("what", ["the store", "a run", "a table", "an explanation", "the replaced output"])
def test_nothing_is_taken_through_a_link_in_a_partial_output(what, outcome, tmp_path):
    target = tmp_path / "r"
    planted = left(target, outcome)
    Store(planted / "runs").put_explanation("aa", {"flow": "f"})
    linked = {
        "the store": planted / "runs",
        "a run": planted / "runs" / "aa",
        "a table": planted / "runs" / "aa" / "flows.parquet",
        "an explanation": planted / "runs" / "aa.why.json",
        "the replaced output": planted / "replaced",
    }[what]
    victim = tmp_path / "victim"
    if what == "the replaced output":
        linked.mkdir()
        (linked / "file").write_text(MINE)
    linked.rename(victim)
    linked.symlink_to(victim)
    before = {path: path.lstat().st_ino for path in [victim, *victim.rglob("*")]}
    heir = Pending(target)
    taken = list(heir.runs.rglob("*")) if heir.runs.exists() else []
    assert not [path for path in taken if path.is_symlink()]
    assert (Store(heir.runs).find("aa") is None) == (what in ("the store", "a run", "a table"))
    assert not target.exists()
    assert {path: path.lstat().st_ino for path in [victim, *victim.rglob("*")]} == before
    assert not planted.exists()
    heir.remove()


def test_nothing_is_taken_from_a_mount_in_a_partial_output(outcome, tmp_path, monkeypatch):
    planted = left(tmp_path / "r", outcome)
    real = names._mount

    def mount(descriptor):
        there = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        return (7, "mounted") if there == str(planted / "runs") else real(descriptor)

    monkeypatch.setattr(names, "_mount", mount)
    heir = Pending(tmp_path / "r")
    assert Store(heir.runs).find("aa") is None
    heir.remove()
    assert (planted / "runs" / "aa" / "run.json").is_file()


def test_outputs_of_somebody_else_are_no_store(output, small, monkeypatch):
    (address,) = directories.finished_runs(output)
    assert directories.finished_runs(output) == {address: output}
    monkeypatch.setattr(os, "geteuid", lambda: output.stat().st_uid + 1)
    assert directories.finished_runs(output) == {}


def test_a_run_that_cannot_be_read_is_made_beside_it(outcome, tmp_path, monkeypatch):
    shared = Store(tmp_path)
    shared.put("aa", outcome)
    real = os.open

    def refuse(path, *arguments, **named):
        if str(path).startswith(f"{tmp_path}/aa/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *arguments, **named)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(store.shutil, "rmtree", lambda *_, **__: None)
    assert "aa" not in shared
    shared.put("aa", outcome)
    kept = shared.get("aa")
    assert kept is not None
    assert kept.tables["flows"].equals(outcome.tables["flows"])
    assert (tmp_path / "aa" / "run.json").is_file()


@pytest.mark.parametrize("damage", ["no table", "another table", "no totals", "no such fact", "a pipe"])
def test_a_forged_run_of_a_store_counts_as_missing(damage, outcome, tmp_path):
    shared = Store(tmp_path)
    shared.put("aa", outcome)
    record = json.loads((tmp_path / "aa" / "run.json").read_text())
    flows = tmp_path / "aa" / "flows.parquet"
    if damage == "no table":
        flows.write_bytes(b"no parquet")
    elif damage == "another table":
        flows.write_bytes((tmp_path / "aa" / "ports.parquet").read_bytes())
    elif damage == "a pipe":
        flows.unlink()
        os.mkfifo(flows)
    elif damage == "no totals":
        record["info"].remove("totals")
    else:
        record["info"].append("absent")
    if damage != "a pipe":
        record["tables"]["flows.parquet"] = store.digest(flows)
    (tmp_path / "aa" / "run.json").write_text(json.dumps(record))
    assert "aa" not in shared
    assert shared.get("aa") is None


@pytest.mark.parametrize("what", ["a link", "a directory", "a pipe"])
def test_a_journal_that_cannot_be_written_is_a_note(what, small, outside, tmp_path):
    kept = tmp_path / "run-store"
    kept.mkdir()
    if what == "a link":
        (kept / journal.JOURNAL).symlink_to(outside)
    elif what == "a directory":
        (kept / journal.JOURNAL).mkdir()
    else:
        os.mkfifo(kept / journal.JOURNAL)
    study = farloop.study(
        base=small, set={"run.duration": "1ms"}, grid={"seed": "1-2"}, out=tmp_path / "s", workers=1, report=False
    )
    assert study.counts.made == 2
    assert [note for note in study.notes if str(kept / journal.JOURNAL) in note and "cannot be written" in note]
    assert outside.read_text() == MINE


def test_a_lock_of_somebody_else_stops_nobody(outcome, tmp_path, monkeypatch):
    shared = Store(tmp_path)
    lock = tmp_path / ".aa.lock"
    lock.write_text("")
    real = os.open

    def refuse(path, *arguments, **named):
        if Path(path) == lock:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *arguments, **named)

    monkeypatch.setattr(os, "open", refuse)
    with shared.claim_run("aa") as mine:
        assert mine

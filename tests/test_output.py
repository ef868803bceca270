import json
import os

import pytest

import farloop
from farloop import _native, output


def test_what_is_saved_can_be_loaded(result, tmp_path):
    saved = result.save(tmp_path / "r")
    (loaded,) = output.load(saved).runs
    assert loaded.flows.equals(result.flows)
    assert loaded.series.equals(result.series)
    assert loaded.summary == result.summary
    assert loaded.label == result.label


def test_a_comparison_comes_back(comparison, tmp_path):
    loaded = output.load(comparison.save(tmp_path / "r"))
    assert [r.label for r in loaded] == ["hpcc", "dctcp"]
    assert loaded.summary == comparison.summary


def test_json_has_no_infinities(comparison, tmp_path):
    saved = comparison.save(tmp_path / "r")
    for path in saved.glob("**/*.json"):
        json.loads(path.read_text(), parse_constant=lambda name, path=path: pytest.fail(f"{name} in {path}"))


def test_an_output_replaces_an_output(result, tmp_path):
    target = tmp_path / "r"
    result.save(target)
    (target / "old").write_text("from the last run")
    result.save(target)
    assert not (target / "old").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_a_failure_leaves_the_old_output(result, tmp_path):
    target = tmp_path / "r"
    result.save(target)
    with pytest.raises(KeyboardInterrupt), output.directory(target) as aside:
        (aside / "half").write_text("")
        raise KeyboardInterrupt
    assert (target / output.MANIFEST).is_file()
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_another_process_that_writes_is_left_alone(result, tmp_path):
    other = tmp_path / f".r.partial-{os.getppid()}"
    other.mkdir()
    result.save(tmp_path / "r")
    assert other.is_dir()


def test_labels_become_file_names():
    assert output.slug("gear, 7 ms") == "gear-7-ms"
    assert "/" not in output.slug("../x")
    assert output.slug("-") == "run"


def test_a_violated_invariant_is_an_error_that_names_it(small, monkeypatch):
    real = _native.run

    class Broken:
        def __init__(self, output):
            self.tables = output.tables
            self.info = json.dumps(
                json.loads(output.info) | {"invariants": [{"name": "conservation", "ok": False, "detail": "7 of 8"}]}
            )

    monkeypatch.setattr(_native, "run", lambda *args: Broken(real(*args)))
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

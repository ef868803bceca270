"""Studies with many points: something is said before anybody thinks that nothing happens, and nothing grows with their square."""

import time

import pytest
from conftest import SMALL

from farloop.output.store import Store
from farloop.studies.sweep import definition, making
from farloop.studies.sweep.dataset import Row
from farloop.studies.sweep.making import StudyRunner


class Notes:
    """Keeps what is said."""

    def __init__(self):
        self.lines = []

    def note(self, text):
        self.lines.append(text)


@pytest.fixture
def study(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    path = tmp_path / "study.toml"
    path.write_text('base = "small.toml"\n[grid]\nrun.seed = "1-300"\nnetwork.wan_delay = ["1ms", "2ms"]\n')
    return path


def test_a_study_says_how_many_points_it_has_before_they_are_worked_out(study, monkeypatch):
    note = Notes()
    definition.from_file(study, progress=note.note)
    assert note.lines == [], "of 600 nobody needs to know"
    monkeypatch.setattr(definition, "MANY", 500)
    wanted = definition.from_file(study, progress=note.note)
    assert note.lines == ["600 points; their scenarios are worked out one by one before the first run"]
    assert len(wanted.points) == 600


def test_a_study_says_how_far_it_is_with_its_points(study, tmp_path, monkeypatch):
    note = Notes()
    wanted = definition.from_file(study)
    monkeypatch.setattr(making, "LINE_EVERY", 0.0)
    monkeypatch.setattr(making, "FIRST_WORD", 0.0)
    made = StudyRunner(wanted, store=Store(tmp_path), engine=None, counting=note)
    made._plan(wanted.points)
    assert note.lines[0] == "0 of 600 points are worked out"
    assert note.lines[-1] == "599 of 600 points are worked out"
    assert len(made.rows) == 600


def test_rows_of_points_are_found_in_linear_time():
    rows = [Row(number, {}, None, seed, "") for number in range(50_000) for seed in (1, 2)]
    began = time.monotonic()
    by_point = making.rows_by_point(reversed(rows))
    assert time.monotonic() - began < 20, "a search of all rows for each point takes minutes"
    assert list(by_point) == list(range(50_000))
    assert [row.seed for row in by_point[7]] == [2, 1]

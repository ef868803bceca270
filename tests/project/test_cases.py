"""How many cases of a property are tried, here and where all of them are to be."""

import pytest
from support import sampling
from support.cases import VARIABLE, cases


@pytest.mark.parametrize(("chosen", "number"), [(None, 50), ("", 50), ("full", 200), ("7", 7), ("900", 900)])
def test_a_quarter_all_or_so_many(chosen, number, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    if chosen is not None:
        monkeypatch.setenv(VARIABLE, chosen)
    assert cases(200) == number


def test_one_is_tried_at_least(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert cases(3) == 1


@pytest.mark.parametrize("chosen", ["0", "-1", "all", "1.5"])
def test_what_is_no_number_is_refused(chosen, monkeypatch):
    monkeypatch.setenv(VARIABLE, chosen)
    with pytest.raises(ValueError, match=f"FARLOOP_CASES: {chosen}: expected full"):
        cases(200)


class Item:
    """A test as pytest gives it, as far as a selection looks."""

    def __init__(self, nodeid: str, marker: str = "") -> None:
        self.nodeid, self.marker = nodeid, marker

    def get_closest_marker(self, name: str) -> bool:
        return name == self.marker


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 11])
def test_four_commits_try_all_cases_and_each_tries_some(number):
    items = [Item("t::plain"), Item("t::dear", "dear"), *(Item(f"t::many[{i}]", "sampled") for i in range(number))]
    tried = []
    for now in range(sampling.TURNS):
        kept, left = sampling.select(items, now)
        assert sorted(map(id, kept + left)) == sorted(map(id, items))
        assert items[0] in kept
        assert items[1] in left
        own = [item for item in kept if item.marker == "sampled"]
        assert 1 <= len(own) <= -(-number // sampling.TURNS)
        tried += own
    assert set(tried) == set(items[2:])


def test_a_long_test_runs_after_one_of_four_commits():
    items = [Item(f"t::long{i}", "long") for i in range(40)]
    turns = [set(sampling.select(items, now)[0]) for now in range(sampling.TURNS)]
    assert set().union(*turns) == set(items)
    assert sum(map(len, turns)) == len(items)
    assert all(turns), "forty names fall into all quarters"


def test_who_names_a_test_gets_all_of_it():
    assert sampling.is_named(["tests/a.py::test_b"])
    assert not sampling.is_named(["tests/a.py", "-q"])

"""How many cases of a property are tried, here and where all of them are to be."""

import pytest
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

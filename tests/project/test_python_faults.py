"""The list of faults that the tests must notice fits the sources, and scripts/python_faults.py counts none that they do not."""

import dataclasses

import pytest


@pytest.fixture(scope="session")
def trials(scripts):
    return scripts("python_faults")


@pytest.fixture
def fault(trials):
    return trials.read_faults()[0]


def test_every_fault_can_be_put_into_the_package(trials):
    faults = trials.read_faults()
    assert len(faults) == len({fault.name for fault in faults}) == 40
    for fault in faults:
        path, text = trials.faulty_text(fault, trials.ROOT / trials.PACKAGE)
        assert text != path.read_text("utf-8")


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (("errors.py", "no such line", "x"), "stands there 0 times; expected once: no such line"),
        (("errors.py", "import", "x"), "stands there 3 times; expected once: import"),
        (
            ("errors.py", "MAX_SHOWN = 2", "x"),
            "stands there as a part of a line; expected a whole one: MAX_SHOWN = 2",
        ),
        (("absent.py", "x", "y"), "No such file or directory; expected the file that the fault is in"),
    ],
)
def test_a_fault_whose_line_has_changed_is_named(trials, fault, edit, problem):
    name, *lines = edit
    old = dataclasses.replace(fault, name="old", edits=((f"{trials.PACKAGE}/{name}", *lines),))
    with pytest.raises(trials.ListError) as refused:
        trials.faulty_text(old, trials.ROOT / trials.PACKAGE)
    assert str(refused.value) == f"old: {trials.PACKAGE}/{name}: {problem}"


@pytest.mark.parametrize("absent", ["tests/results/test_absent.py", "tests/results/test_units.py::test_absent"])
def test_tests_that_have_another_place_now_are_named(trials, fault, absent):
    old = dataclasses.replace(fault, name="old", tests=(absent,))
    with pytest.raises(trials.ListError, match=f"^old: {absent}: no such test; expected what is likely to notice"):
        trials.faulty_text(old, trials.ROOT / trials.PACKAGE)


def test_a_fault_is_caught_by_a_test_that_passes_without_it(trials, fault, monkeypatch, tmp_path):
    sound = tmp_path / "sound"
    ((name, line, instead),) = fault.edits
    source = sound / "farloop" / name.removeprefix(f"{trials.PACKAGE}/")
    source.parent.mkdir(parents=True)
    source.write_text(f"if True:\n    {line}\n")
    seen = []

    def run_tests(copy, tests):
        seen.append((copy == sound, tuple(tests)))
        assert (line if copy == sound else instead) in (copy / source.relative_to(sound)).read_text()
        return answers.pop(0)

    monkeypatch.setattr(trials, "run_tests", run_tests)
    answers = [("tests/a.py::test_a", ""), ("", "all pass")]
    assert trials.try_fault(fault, sound=sound) == trials.Trial(fault, "tests/a.py::test_a")
    assert seen == [(False, fault.tests), (True, ("tests/a.py::test_a",))]
    # The test fails on any copy.
    answers = [("tests/a.py::test_a", ""), ("tests/a.py::test_a", "")]
    without = trials.try_fault(fault, sound=sound)
    assert (without.caught, without.why) == ("", "tests/a.py::test_a fails without the fault, too")
    # Nothing fails, and then the whole suite finds it.
    answers = [("", "all pass"), ("tests/b.py::test_b", ""), ("", "all pass")]
    assert trials.try_fault(fault, sound=sound, whole=True).caught == "tests/b.py::test_b"
    assert seen[-2:] == [(False, ("tests",)), (True, ("tests/b.py::test_b",))]


def test_tests_that_run_against_another_package_count_for_nothing(trials, tmp_path):
    with pytest.raises(RuntimeError, match=r"__init__\.py is imported; expected .*farloop$"):
        trials.run_tests(tmp_path, ["tests/results/test_units.py"])


def test_the_table_says_what_was_not_caught(trials, fault):
    table = trials.results_table([trials.Trial(fault, "tests/a.py::test_a[x|y]"), trials.Trial(fault, "", "all pass")])
    head, _, caught, missed = table.splitlines()
    assert head == "| fault | what is wrong | file | caught by |"
    name = fault.edits[0][0].removeprefix("python/farloop/")
    assert caught == f"| {fault.name} | {fault.what} | {name} | tests/a.py::test_a[x\\|y] |"
    assert missed.endswith(f"| {name} | **not caught** |")

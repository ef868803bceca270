"""`make test FAST=1`: the tests that it chooses for an edit."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

TEXTS = {
    "tests/sweep/test_pool.py": "from farloop.studies.sweep import points\n",
    "tests/sweep/test_study.py": "import farloop\n",
    "tests/arena/test_arena.py": "from farloop.studies.sweep.points import Point\nimport farloop.studies.arena\n",
    "tests/units/test_quantities.py": "from farloop import units\n",
}


@pytest.fixture
def fast_tests(scripts):
    return scripts("fast_tests")


@pytest.mark.parametrize(
    ("edited", "ranked"),
    [
        # Files that import the module come first, then those of its room.
        (
            "python/farloop/studies/sweep/points.py",
            ["tests/sweep/test_pool.py", "tests/arena/test_arena.py", "tests/sweep/test_study.py"],
        ),
        ("python/farloop/units.py", ["tests/units/test_quantities.py"]),
        ("tests/sweep/test_study.py", ["tests/sweep/test_study.py"]),
        ("docs/why.md", []),
        ("crates/net/src/part.rs", []),
    ],
)
def test_what_is_closest_to_an_edit_comes_first(fast_tests, edited, ranked):
    assert fast_tests.rank_test_files([edited], TEXTS) == ranked


def test_edited_crates_have_their_own_tests_run_but_for_the_module_which_has_none(fast_tests):
    edits = [
        "crates/tcp/src/lib.rs",
        "crates/net/src/part.rs",
        "crates/net/Cargo.toml",
        "crates/py/src/lib.rs",
        "docs/crates/x.md",
    ]
    assert fast_tests.list_crates(edits) == ["farloop-net", "farloop-tcp"]


def test_files_are_taken_in_order_as_far_as_their_seconds_fit(fast_tests):
    times = {"a": 50.0, "b": 40.0, "c": 20.0}
    assert fast_tests.choose(["a", "b", "c", "unknown"], times, 80) == ["a", "c", "unknown"]
    assert fast_tests.choose(["a"], times, 1) == ["a"], "one at least"


def test_seconds_come_from_pytests_report(fast_tests, tmp_path):
    report = tmp_path / "pytest.xml"
    assert fast_tests.read_times(report) == {}
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.project.test_fast_tests" name="x" time="1.5"/>'
        '<testcase classname="tests.project.test_fast_tests.SomeClass" name="y" time="0.25"/></testsuite></testsuites>'
    )
    assert fast_tests.read_times(report) == {"tests/project/test_fast_tests.py": 1.75}


def test_a_commit_that_there_is_not_is_refused_in_one_line():
    command = [sys.executable, ROOT / "scripts/fast_tests.py", "--since", "no-such-commit", "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("fast_tests: ")
    assert "no-such-commit" in done.stderr

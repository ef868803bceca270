"""`make accept` runs every test that stores what comes out: it chooses them by name."""

import re
from pathlib import Path

CRATES = Path(__file__).parents[2] / "crates"
TARGETS = {"suite", "defaults"}
"""The test programs that `make accept` runs."""

TEST = re.compile(r"#\[test\]\s+fn (\w+)\(\) \{\n(.*?)\n\}", re.DOTALL)


def storing_tests():
    for path in sorted(CRATES.glob("*/tests/**/*.rs")):
        for name, body in TEST.findall(path.read_text("utf-8")):
            if "assert_stored(" in body:
                yield path, name


def test_every_test_that_stores_is_called_so():
    tests = list(storing_tests())
    assert len(tests) >= 6
    assert not [name for _, name in tests if "stored" not in name]


def test_every_test_that_stores_is_in_a_program_that_accept_runs():
    for path, name in storing_tests():
        folder = path.relative_to(CRATES).parts[2:-1]
        # A file of the suite, or one that cargo makes a program of.
        suite = path.parents[len(folder)] / "suite.rs"
        modules = suite.read_text("utf-8") if suite.is_file() else ""
        program = folder[0] if folder else "suite" if f"mod {path.stem};" in modules else path.stem
        assert program in TARGETS, name

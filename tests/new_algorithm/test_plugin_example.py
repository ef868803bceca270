"""The example of an algorithm in a crate of its own; `make test` builds and tests it."""

import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
EXAMPLE = REPOSITORY / "examples" / "plugin-algorithm"


def packages(lock):
    return {(p["name"], p["version"]) for p in tomllib.loads(lock.read_text("utf-8"))["package"]}


def test_it_is_built_with_the_versions_that_farloop_is_built_with():
    others = packages(EXAMPLE / "Cargo.lock") - packages(REPOSITORY / "Cargo.lock")
    assert others == {("plugin-algorithm", "0.1.0")}


def test_its_page_shows_the_program_that_is_there():
    page = (EXAMPLE / "README.md").read_text("utf-8")
    program = (EXAMPLE / "src" / "main.rs").read_text("utf-8") + (EXAMPLE / "tests" / "scenario.rs").read_text("utf-8")
    for call in (
        "Catalog::builtin()",
        "catalog.register::<Aimd>()",
        "parse_with(",
        ".run(&Default::default(), &mut |_| true)",
    ):
        assert call in page and call in program, call

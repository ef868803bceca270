"""What the pages say is there is there."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from farloop.commands.app import app

REPOSITORY = Path(__file__).parents[2]
PAGES = [
    p
    for p in sorted(REPOSITORY.glob("**/*.md"))
    if not {"target", ".venv", "out", "node_modules"} & set(p.relative_to(REPOSITORY).parts)
]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def anchors(page):
    """The anchors of a page's headings, as sites and forges make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip()) for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_links_into_pages_name_headings_of_them(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text("utf-8")):
        aim = page.parent / target if target else page
        if not target.startswith("http") and aim.suffix == ".md":
            assert anchor in anchors(aim), f"{page}: {target}#{anchor}"


@pytest.mark.parametrize(("page", "least"), [("README.md", 3), ("docs/tour.md", 10)])
def test_pages_show_commands_that_exist(page, least):
    text = (REPOSITORY / page).read_text("utf-8")
    blocks = "".join(re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    commands = set(re.findall(r"^farloop ([a-z-]+)", blocks, re.MULTILINE))
    assert len(commands) >= least
    for command in commands:
        shown = CliRunner().invoke(app, [command, "--help"])
        assert shown.exit_code == 0, command


def test_the_readme_is_short_and_shows_what_is_there():
    text = (REPOSITORY / "README.md").read_text("utf-8")
    lines = text.splitlines()
    assert len(lines) <= 86
    assert "docs/arena.md" in text and "place of" not in text
    assert any(line.startswith("![") for line in lines[:15]), "the picture comes first"


def test_the_readme_names_real_targets_of_make():
    text = (REPOSITORY / "README.md").read_text("utf-8")
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"make ([a-z]+)", text))
    assert {"demo", "test"} <= targets
    assert all(re.search(rf"^{t}:", makefile, re.MULTILINE) for t in targets)


def test_every_algorithm_with_a_page_has_it_in_the_package():
    from farloop import catalogue

    pages = {entry["name"]: catalogue.specification(entry["name"]) for entry in catalogue.entries("algorithms")}
    assert [name for name, page in pages.items() if page is None] == ["fixed"]
    # In a checkout by a link, in a wheel as files.
    included = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    assert "python/farloop/spec/*.md" in included
    assert "python/farloop/papers/*/*.toml" in included
    shown = CliRunner().invoke(app, ["explain", "gear-literal", "--page"])
    assert shown.stdout == (REPOSITORY / "spec" / "gear.md").read_text("utf-8")
    missing = CliRunner().invoke(app, ["explain", "fixed", "--page"])
    assert missing.exit_code == 2
    assert "has no page" in missing.stderr


def test_the_map_has_every_page_once_in_four_groups():
    text = (REPOSITORY / "docs" / "README.md").read_text("utf-8")
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == ["Guide", "Reference", "Record", "Decisions"]
    listed = [(REPOSITORY / "docs" / link).resolve() for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    assert len(listed) == len(set(listed))
    docs = REPOSITORY / "docs"
    pages = {page for page in docs.rglob("*") if page.suffix in (".md", ".ipynb")} - {docs / "README.md"}
    assert {page for page in listed if page.is_relative_to(docs)} == pages

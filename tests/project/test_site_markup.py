"""What the site adds to the Markdown of pages."""

from pathlib import PurePath

from PIL import Image


def test_sources_weigh_less_in_search_than_every_page(scripts):
    boost = scripts("site_markup").search_boost
    pages = (
        "docs/questions.md",
        "docs/jobs.md",
        "spec/gear.md",
        "docs/findings/rivals.md",
        "CHANGELOG.md",
        "spec/index.md",
    )
    sources = ("crates/net/src/partition.rs.md", "examples/failure.toml.md", "validation/uno/make.py.md")
    assert min(boost(PurePath(page)) for page in pages) > 10 * max(boost(PurePath(source)) for source in sources)
    assert (
        boost(PurePath("docs/questions.md"))
        > boost(PurePath("docs/jobs.md"))
        > boost(PurePath("docs/findings/rivals.md"))
    )


def test_blocks_of_commands_and_sentences_have_a_class_and_no_others(scripts):
    marked = scripts("site_markup").marked_blocks
    assert marked("```\nfarloop run a.toml\ncp a b\n```\n") == "``` { .text .wraps }\nfarloop run a.toml\ncp a b\n```\n"
    printed = "Across, a flow gets 4.75 Gbps. Inside, a flow\ngets 5.13 Gbps.\n```\n"
    assert marked(f"```text\n{printed}") == f"``` {{ .text .wraps }}\n{printed}"
    for other in ("```\nfarloop run a.toml\na  table\n```\n", "```toml\nfarloop = 1\n```\n", "```\n┃ a ┃\n```\n"):
        assert marked(other) == other


def test_pictures_have_the_width_from_which_they_are_read(scripts, tmp_path):
    Image.new("RGB", (2040, 10)).save(tmp_path / "wide.png")
    marked = scripts("site_markup").marked_pictures
    assert marked("![a](wide.png)\n", tmp_path) == '![a](wide.png){ .picture style="--readable: 1020px" }\n'
    for other in ("![a](none.png)\n", "text ![a](wide.png)\n"):
        assert marked(other, tmp_path) == other

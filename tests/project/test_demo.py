"""What `make demo` says, and that the README shows its picture."""

import importlib.util
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from farloop import api

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("demo", ROOT / "scripts" / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_sentence_says_who_shares_evenly_and_who_gets_how_much_more(demo):
    ratios = [("a", 1.2), ("b", 0.1), ("c", 17.31), ("d", 0.005)]
    assert demo.sentence(ratios) == (
        "1 of 4 algorithms share the port evenly (a); the flow across gets 10 times as much under b, 200 under d; "
        "the flow inside gets 17 times as much under c."
    )
    assert demo.sentence([("a", 2.0)]) == (
        "0 of 1 algorithms share the port evenly (none); the flow inside gets 2.0 times as much under a."
    )


def test_what_to_type_next_exists(demo):
    from typer.testing import CliRunner

    from farloop.commands.app import app

    commands = [command.split() for command, _ in demo.NEXT if command.startswith("farloop ")]
    assert len(commands) >= 3
    for words in commands:
        assert CliRunner().invoke(app, [words[1], "--help"]).exit_code == 0
        assert all((ROOT / word).exists() for word in words if word.endswith(".toml"))


def test_the_readme_shows_the_picture_of_these_algorithms(demo):
    """Of one algorithm the numbers are made again: a picture that has grown old shows others."""
    assert str(demo.KEPT.relative_to(ROOT)) in (ROOT / "README.md").read_text("utf-8")
    picture = demo.KEPT.read_text("utf-8")
    rows = json.loads(ElementTree.fromstring(picture).findtext("{http://www.w3.org/2000/svg}metadata"))
    assert picture == demo.picture(rows)
    assert [row["algorithm"] for row in rows] == list(demo.ALGORITHMS)
    (now,) = demo.numbers(api.compare(demo.FIGURE, ["dctcp"]))
    assert now in rows, "made by `scripts/demo.py --keep-picture`"


def test_the_picture_is_readable_on_a_phone_and_on_a_dark_page(demo):
    cells = {"algorithm": "gear-literal", "inside": "100 Gbps", "across": "474 Mbps"}
    picture = demo.picture([cells])
    assert "prefers-color-scheme: dark" in picture
    drawn = ElementTree.fromstring(picture)
    width, height = map(float, drawn.get("viewBox").split()[2:])
    sizes = [float(size) for size in re.findall(r"([\d.]+)px", demo.STYLE)]
    assert min(sizes) * 350 / width > 11, "pixels of text where the picture is 350 px wide"
    grounds = [
        part for part in drawn if float(part.get("width", 0)) >= width and float(part.get("height", 0)) >= height
    ]
    assert not grounds, "it shows the page's ground"
    ends = [
        float(part.get("x", 0)) + 0.6 * max(sizes) * len(part.text or "")
        for part in drawn.iter()
        if part.get("class") == "number"
    ]
    assert max(ends) <= width + 5

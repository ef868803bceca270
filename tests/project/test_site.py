"""The tutorials run as printed, and the site has every page."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.browser import Browser, lacking, need

import farloop
from farloop.scenario import figure_names

pytestmark = pytest.mark.site

REPOSITORY = Path(__file__).parents[2]
TUTORIALS = sorted((REPOSITORY / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PATIENCE = 240
"""Seconds that a block may take."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site: that of FARLOOP_SITE, which `make site` has just built, or one of its own."""
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("mkdocstrings") is None:
        pytest.skip("mkdocs is not installed; `make site` installs it")
    if site := os.environ.get("FARLOOP_SITE"):
        return Path(site)
    out = tmp_path_factory.mktemp("site") / "out"
    done = build(out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def reproduction(tmp_path):
    """The pictures of two figures, of which one has none."""
    directory = tmp_path / "reproduction"
    pictures = directory / "gear" / "fig12" / "figures"
    pictures.mkdir(parents=True)
    for name in ("fig12.png", "network.png"):
        shutil.copyfile(REPOSITORY / "docs/images/distance.png", pictures / name)
    (directory / "manifest.json").write_text(json.dumps({"figures": ["gear/fig12", "gear/fig11"], "scale": "quick"}))
    return directory


def build(out, *arguments):
    command = [sys.executable, REPOSITORY / "scripts" / "build_site.py", "--out", out, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def blocks(page):
    return BLOCK.findall(page.read_text("utf-8"))


def test_there_are_tutorials():
    assert {page.stem for page in TUTORIALS} == {"start", "compare", "own-algorithm", "read-a-result", "reproduce"}


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_printed(page, tmp_path):
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("target"))
    ran, printed = 0, ""
    for kind, text in blocks(page):
        named = re.match(r"# ([\w-]+\.(toml|py))\n", text)
        if named:
            (tmp_path / named[1]).write_text(text, encoding="utf-8")
        elif kind == "bash":
            for line in text.splitlines():
                assert line.startswith("farloop "), line
                command = f"{shlex.quote(sys.executable)} -m {line}"
                done = subprocess.run(["sh", "-c", command], **options(tmp_path))
                check(done, line)
                ran, printed = ran + 1, " ".join(done.stdout.split())
        elif kind == "python":
            check(subprocess.run([sys.executable, "-c", text], **options(tmp_path)), text)
            ran += 1
        else:
            assert kind == "text", f"{page}: a block of {kind} that nothing tests"
            assert not ran or " ".join(text.split()) in printed, f"{page}: not what the command before it prints"
    assert ran >= 2


def options(directory):
    return {"cwd": directory, "capture_output": True, "text": True, "timeout": PATIENCE, "check": False}


def check(done, what):
    assert done.returncode == 0, f"{what}\n{done.stdout}{done.stderr}"


def test_the_page_on_algorithms_in_python_and_the_tutorial_have_the_same_class():
    tutorial, page = (
        next(text for _, text in blocks(REPOSITORY / "docs" / name) if text.startswith("# halver.py\n"))
        for name in ("tutorials/own-algorithm.md", "python-algorithms.md")
    )
    assert tutorial == page


def test_every_page_of_the_repository_is_in_the_navigation(built):
    home = (built / "index.html").read_text("utf-8")
    pages = [
        *REPOSITORY.glob("*.md"),
        *(REPOSITORY / "docs").rglob("*.md"),
        *(REPOSITORY / "spec").glob("*.md"),
        *(REPOSITORY / "examples" / "plugin-algorithm").glob("*.md"),
    ]
    assert len(pages) > 60
    for page in pages:
        place = page.relative_to(REPOSITORY).with_suffix(".html")
        if place.name == "README.html":
            place = place.with_name("index.html")
        assert (built / place).is_file(), place
        assert f'href="{place}"' in home, place


def kept_pictures(*without):
    """The pictures of the gallery, but for those of some figures."""
    index = json.loads((REPOSITORY / "docs/images/gallery/index.json").read_text("utf-8"))
    return {f"{figure}/{name}" for figure, of in index.items() for name in of["pictures"] if figure not in without}


def test_the_gallery_has_every_figure_and_its_pictures(built):
    for name in figure_names():
        page = (built / "gallery" / f"{name.partition('/')[0]}.html").read_text("utf-8")
        assert f'id="{name.replace("/", "-")}"' in page
        assert f"farloop reproduce {name} --full" in re.sub(r"<[^>]+>", "", page)
    papers = {name.partition("/")[0] for name in figure_names()}
    pages = [(built / "gallery" / f"{paper}.html").read_text("utf-8") for paper in papers]
    shown = {picture for page in pages for picture in re.findall(rf'src="((?:{"|".join(papers)})/[^"]+)"', page)}
    assert shown == kept_pictures()
    assert all((built / "gallery" / picture).is_file() for picture in shown)
    overview = (built / "gallery" / "index.html").read_text("utf-8")
    assert "reproduced" in overview
    assert overview.count("<li>\n<p><a href=") >= len(figure_names()) - 1
    assert 0 < overview.index('class="figures"') < overview.index("<img") < overview.index("<table"), (
        "pictures, then counts"
    )
    assert "mlcc-powertcp" in (built / "docs" / "arena.html").read_text("utf-8")


def test_the_pictures_of_a_reproduction_come_in_place_of_those_that_are_kept(reproduction, scripts, tmp_path):
    site = scripts("build_site")
    pages = tmp_path / "pages"
    site.Gallery(site.Stage(pages), [reproduction]).write()
    papers = {name.partition("/")[0] for name in figure_names()}
    shown = {
        picture
        for paper in papers
        for picture in re.findall(
            rf"!\[[^]]*\]\(({paper}/[^)]+)\)", (pages / "gallery" / f"{paper}.md").read_text("utf-8")
        )
    }
    assert shown == {*kept_pictures("gear/fig12"), "gear/fig12/fig12.png"}, "without the map of the network"
    drawn = (REPOSITORY / "docs/images/distance.png").read_bytes()
    assert (pages / "gallery" / "gear" / "fig12" / "fig12.png").read_bytes() == drawn


def test_the_reference_has_every_public_name_and_command(built):
    page = (built / "reference" / "python.html").read_text("utf-8")
    names = [f"farloop.{name}" for name in farloop.__all__ if name != "__version__"]
    for name in [*names, "farloop.algorithm.Algorithm", "farloop.algorithm.parameter", "farloop.Run.save"]:
        assert f'id="{name}"' in page, name
    assert "Simulates a scenario." in page
    commands = (built / "reference" / "commands.html").read_text("utf-8")
    for name in ("run", "compare", "reproduce", "arena", "new-algorithm"):
        assert f'id="{name}"' in commands


def test_search_needs_no_server_and_nothing_from_elsewhere(built):
    page = (built / "gallery" / "gear.html").read_text("utf-8")
    assert '<script src="../iframe-worker.js">' in page
    assert "unpkg" not in page
    index = (built / "search" / "search_index.js").read_text("utf-8")
    assert index.startswith("var __index = ")
    assert "Gear" in index


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_search_finds_pages_from_a_disk(built, tmp_path):
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    asked = f"{(built / 'index.html').as_uri()}?q=WebSearch"
    dump = [*command, "--virtual-time-budget=20000", "--dump-dom", asked]
    page = subprocess.run(dump, capture_output=True, text=True, timeout=120, check=False).stdout
    assert re.search(r"\d+ matching documents", page)
    assert "<mark>WebSearch</mark>" in page


QUESTIONS = {
    "link failure": "docs/questions.html#what-if-a-link-fails",
    "links that fail": "docs/network-model.html#links-that-fail",
    "ecn threshold": "docs/guides/ecn.html",
    "receive window": "docs/questions.html#what-limits-my-flows-window-receive-window-pacing",
    "pfc headroom": "docs/questions.html#how-do-i-turn-pfc-on-and-set-its-headroom",
    "my own algorithm": "docs/questions.html#how-do-i-try-my-own-algorithm",
    "algorithm in python": "docs/python-algorithms.html",
    "export csv": "docs/questions.html#how-do-i-get-pandas-frames-or-csv",
    "resume interrupted": "docs/questions.html#can-i-resume-an-interrupted-command",
    "pandas": "docs/questions.html#how-do-i-get-pandas-frames-or-csv",
    "confidence interval": "docs/statistics.html",
    "per route dctcp": "docs/questions.html#how-do-i-deploy-the-answer-on-linux-an-algorithm-per-route-and-undo-it",
    "dctcp inside bbr across": "docs/questions.html#can-dctcp-run-inside-the-sites-and-bbr-across",
    "all-reduce": "docs/scenario-format.html#pattern-all-reduce",
    "buffer size": "docs/questions.html#which-buffer-size-do-i-need",
    "compare algorithms": "docs/tutorials/compare.html",
    "docker": "docs/install.html#containers",
    "slurm": "docs/studies.html#on-a-cluster",
    "flow sizes": "docs/questions.html#how-large-are-my-flows-can-i-bring-my-own-sizes-or-flows",
    "json output": "docs/outputs.html#json-on-standard-output",
    "plot pdf": "reference/commands.html#plot",
    "wireshark": "docs/traces.html#in-wireshark",
    "graphml": "docs/imports.html",
    "why is my flow slow": "docs/why.html",
    "gpu training": "docs/jobs.html",
    "bbr3": "spec/bbr3.html",
}
"""What newcomers type into the search of the site, and a place that is to be among the first three pages found."""

RESULTS = """
    return [...document.querySelectorAll(".md-search-result__item")].map((item) =>
        [...item.querySelectorAll("a")].map((link) => link.pathname + link.hash));
"""


def test_search_finds_guides_before_sources(built):
    """The search box of the site in Chromium: the expected place is among the first three pages, and no source is above it."""
    need(lacking(page=built / "index.html"))
    browser = Browser()
    try:
        browser.show(built / "index.html")
        wrong = {
            asked: places for asked in QUESTIONS if not is_near_top(asked, places := search(browser, built, asked))
        }
    finally:
        browser.driver.quit()
    assert not wrong


def test_another_lunr_in_the_search_is_refused(tmp_path, scripts):
    workers = tmp_path / "assets" / "javascripts" / "workers"
    workers.mkdir(parents=True)
    worker = workers / "search.0123.min.js"
    build_site = scripts("build_site")
    worker.write_text(f"t.TokenSet.prototype.toString=function(){{{build_site.AMBIGUOUS},", "utf-8")
    build_site.mend_search(tmp_path)
    assert build_site.SEPARATED in worker.read_text("utf-8")
    with pytest.raises(build_site.RefusedError, match=r"search\.0123\.min\.js: expected .* once"):
        build_site.mend_search(tmp_path)


def search(browser, built, words):
    """The places that each of the first pages found has, in their order."""
    box = "const box = document.querySelector('[data-md-component=search-query]');"
    for text in ("", words):
        browser.js(f"{box} box.focus(); box.value = arguments[0]; box.dispatchEvent(new Event('input'));", text)
        browser.js(f"{box} box.dispatchEvent(new KeyboardEvent('keyup', {{ bubbles: true }}));")
        # The results of a question come some time after it, one list in place of the other.
        browser.wait(lambda text=text: bool(browser.js(RESULTS)) == bool(text))
    root = f"{built.resolve()}/"
    return [[place.removeprefix(root) for place in places] for places in browser.js(RESULTS)[:5]]


def is_near_top(asked, pages):
    source = re.compile(r"\.(rs|py|toml|txt|goal|cm)\.html")
    first = next((i for i, places in enumerate(pages[:3]) if QUESTIONS[asked] in places), None)
    return first is not None and not any(source.search(places[0]) for places in pages[:first])


def test_tables_that_are_wider_than_the_page_are_seen_to_scroll(built):
    style = (built / "site.css").read_text("utf-8")
    assert 'href="../site.css"' in (built / "gallery" / "gear.html").read_text("utf-8")
    assert re.search(r"md-typeset__scrollwrap \{[^}]*overflow-x: auto", style)
    assert "scrollwrap::-webkit-scrollbar " in style


def test_pages_are_read_on_a_phone_and_in_the_dark(built):
    """At 390 px nothing but pictures and tables is wider than the page, and commands are whole; pictures are dark in the dark."""
    need(lacking(page=built / "index.html"))
    browser = Browser()
    try:
        browser.looks(390, 844, dark=True)
        for page in ("index.html", "docs/questions.html", "docs/sizing.html", "gallery/index.html"):
            browser.show(built / page)
            browser.wait(lambda: browser.js("return document.body.dataset.mdColorScheme") == "slate")
            wide, commands, filters = browser.js(LOOKS)
            assert wide <= 390, page
            assert commands == [], page
            assert all("invert" in drawn for drawn in filters), page
            assert filters or page in ("index.html", "docs/questions.html")
    finally:
        browser.driver.quit()


LOOKS = """
    return [document.documentElement.scrollWidth,
        [...document.querySelectorAll(".wraps code")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent),
        [...document.querySelectorAll(".md-content img:not([src$='.svg'])")].map((e) => getComputedStyle(e).filter)];
"""
"""The width of the page, the commands that are cut, how pictures of pixels are drawn."""


@pytest.mark.parametrize("dark_system", [False, True])
def test_the_svg_follows_the_colours_that_the_reader_has_chosen(built, dark_system):
    """Its ink is that of color-scheme, which follows the site whatever the system has; nothing inverts it."""
    need(lacking(page=built / "index.html"))
    browser = Browser()
    try:
        browser.looks(dark=dark_system)
        browser.show(built / "index.html")
        drawn = {
            scheme: browser.js(
                "document.body.dataset.mdColorScheme = arguments[0];"
                "const style = getComputedStyle(document.querySelector('.md-content img[src$=\".svg\"]'));"
                "return [style.colorScheme, style.filter];",
                scheme,
            )
            for scheme in ("default", "slate")
        }
    finally:
        browser.driver.quit()
    assert drawn == {"default": ["light", "none"], "slate": ["dark", "none"]}


def test_links_to_files_and_directories_lead_to_pages(built):
    how_to = (built / "docs" / "how-to.html").read_text("utf-8")
    assert '<a href="../examples/plugin-algorithm/index.html">examples/plugin-algorithm</a>' in how_to
    assert "MIT License" in (built / "LICENSE-MIT.html").read_text("utf-8")
    assert "HPCC" in (built / "spec" / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("a reproduction that is none", "expected what `farloop reproduce --out` wrote"),
        ("a place that holds something else", "expected an older site"),
    ],
)
def test_what_cannot_be_used_is_refused(asked, said, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    done = build(tmp_path / "out" if asked == "a reproduction that is none" else tmp_path, tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert (tmp_path / "mine.txt").is_file()
    assert not (tmp_path / "out").exists()

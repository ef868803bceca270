#!/usr/bin/env python3
"""Builds the site out of the repository: `make site`, or `make site FIGURES=out/papers` with the pictures of a reproduction.

    scripts/build_site.py [--out out/site] [REPRODUCTION ...]

Pages are staged in a temporary directory at the places that they have in the repository, so that their links hold in both. A link that
leads to something else than a page leads to a copy of it, a link to a directory to a list of what is in it. Three sections are written
from what the package knows: the commands' help, the public names of the package, and the gallery of the papers' figures with the verdicts
of docs/findings/verdicts.json and the pictures that scripts/gallery.py keeps. A REPRODUCTION is what `farloop reproduce --out` wrote: its
pictures come in place of those that are kept, and of several with one figure the last one counts.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any

import build_playground
import gallery
import live_runs
import site_markup
import statements
import tally
from typer.main import get_command
from typer.testing import CliRunner

import farloop
from farloop import algorithm
from farloop.commands import app
from farloop.scenario import Scenario, figure_names

ROOT = Path(__file__).resolve().parent.parent
TOPS = ("docs", "spec", "examples", "vectors", "linux")
"""Directories that have pages, besides the top one."""

MAP = ROOT / "docs" / "README.md"
"""The map of all pages: a heading for each group, another for a part of it, and a link to each page."""

ADDED = {
    ("Guide", "Examples"): ["examples/**/*.md"],
    ("Reference", "Commands and Python"): ["reference/commands.md", "reference/python.md"],
    ("Reference", "Algorithms"): ["spec/index.md", "spec/*.md"],
    ("Record", "Gallery"): ["gallery/index.md", "gallery/*.md", "python/farloop/papers/**/*.md"],
    ("Decisions", "Project"): ["docs/README.md", "**/*.md"],
}
"""Pages that the map does not list one by one, by patterns; a page stands at the first one that matches it."""

STUDIES = {
    "distance": "which transport at which distance: 1 to 10,000 km, permutation, incast, all-reduce",
    "training-distance": "training over two sites, 10 to 5,000 km: all-reduce, pipeline and DiLoCo across",
}
"""Studies of the gallery: their page in docs/findings, picture in docs/images and directory in examples have this name."""

COPIED = (".png", ".svg", ".json")
"""Files that a browser shows by itself; another one becomes a page that shows its text."""

ASSETS = ROOT / "scripts" / "site"
"""Style and script of the site: room for tables and commands, tables that scroll, search without a server."""

LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")


class RefusedError(Exception):
    """Something that no site can be made of; the text says what, and what would be accepted."""


class Stage:
    """The pages in a directory, at the places that they have in the repository."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.live = live_runs.stage(directory)

    def page(self, source: Path) -> None:
        """Stages a page, and what it leads to."""
        at = source.relative_to(ROOT)
        text = outside_code(source.read_text("utf-8"), lambda text: self._with_links(text, source))
        text = site_markup.marked_pictures(site_markup.marked_blocks(text), source.parent)
        self.write(str(at), live_runs.shown(text, at, there=self.live))

    def write(self, at: str, text: str) -> None:
        """Stages a text."""
        path = self.directory / at
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _with_links(self, text: str, source: Path) -> str:
        def replaced(link: re.Match[str]) -> str:
            target = (source.parent / link[1]).resolve()
            if (
                "://" in link[1]
                or link[1].startswith("mailto:")
                or not target.exists()
                or not target.is_relative_to(ROOT)
            ):
                return link[0]
            return f"]({relpath(ROOT / self.place(target), source.parent)}{link[2] or ''})"

        return LINK.sub(replaced, text)

    def place(self, target: Path) -> Path:
        """Where the site has what a link leads to; it is staged if it is not a page by itself."""
        at = target.relative_to(ROOT)
        if target.is_dir():
            return at / "README.md" if (target / "README.md").is_file() else self._listing(target)
        if at.suffix == ".md":
            return at
        if at.suffix in COPIED:
            (self.directory / at).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, self.directory / at)
            return at
        if at.suffix == ".ipynb":
            self._notebook(target)
            return at.with_suffix(".md")
        place = at.with_name(f"{at.name}.md")
        kind = {".py": "python", ".rs": "rust", ".toml": "toml"}.get(at.suffix, "text")
        self.write(str(place), f"# {at}\n\n````{kind}\n{target.read_text('utf-8')}\n````\n")
        return place

    def _notebook(self, source: Path) -> None:
        """Stages a notebook as a page, and the notebook itself, for download."""
        at = source.relative_to(ROOT)
        page = at.with_suffix(".md")
        if (self.directory / page).exists():
            return
        self.write(str(page), "")  # there, should what it leads to lead back to it
        shutil.copyfile(source, self.directory / at)
        texts = []
        for cell in json.loads(source.read_text("utf-8"))["cells"]:
            text = "".join(cell["source"])
            is_code = cell["cell_type"] == "code"
            texts.append(f"```python\n{text}\n```\n" if is_code else f"{self._with_links(text, source)}\n")
        texts.insert(1, f"[Download]({at.name}): `jupyter lab {at.name}` where farloop is installed. A test runs it.\n")
        self.write(str(page), "\n".join(texts))

    def _listing(self, directory: Path) -> Path:
        at = directory.relative_to(ROOT) / "index.md"
        if not (self.directory / at).exists():
            self.write(str(at), "")  # there, should a file in it lead back to it
            files = [p for p in sorted(directory.iterdir()) if p.is_file()]
            links = [f"- [{title(p)}]({relpath(ROOT / self.place(p), directory)})\n" for p in files]
            self.write(str(at), f"# {directory.relative_to(ROOT)}\n\n{''.join(links)}")
        return at

    def rank(self) -> None:
        """Writes the factor of its score in search into the head of every page."""
        for page in self.directory.rglob("*.md"):
            head = site_markup.search_head(page.relative_to(self.directory))
            page.write_text(head + page.read_text("utf-8"), encoding="utf-8")

    def navigation(self) -> list[dict[str, list[str | dict[str, list[str]]]]]:
        """Every page, once: a tab for each group of the map, with its parts."""
        left = {str(p.relative_to(self.directory)) for p in self.directory.rglob("*.md")}
        groups: dict[str, list[str | dict[str, list[str]]]] = {}
        for (group, part), patterns in [*mapped().items(), *ADDED.items()]:
            pages: list[str] = []
            for pattern in patterns:
                matching = sorted(left & {str(p.relative_to(self.directory)) for p in self.directory.glob(pattern)})
                pages += matching
                left -= set(matching)
            entries = groups.setdefault(group, [])
            same = next((entry[part] for entry in entries if isinstance(entry, dict) and part in entry), None)
            if same is not None:
                same += pages
            elif part:
                entries.append({part: pages})
            else:
                entries += pages
        return [{group: entries} for group, entries in groups.items()]


def mapped() -> dict[tuple[str, str], list[str]]:
    """Returns the pages of the map by group and part, at their places on the site."""
    groups: dict[tuple[str, str], list[str]] = {}
    group = part = ""
    for line in MAP.read_text("utf-8").splitlines():
        if heading := re.match(r"(##|###) (.+)", line):
            group, part = (heading[2], "") if heading[1] == "##" else (group, heading[2])
        for link in LINK.findall(line):
            place = os.path.normpath(f"docs/{link[0]}")
            if not (ROOT / place).is_dir():
                groups.setdefault((group, part), []).append(re.sub(r"\.ipynb$", ".md", place))
    return groups


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with what stands outside of its blocks of code changed."""
    parts = re.split(r"(^(?P<fence>```+).*?^(?P=fence)$)", text, flags=re.MULTILINE | re.DOTALL)
    # Of three: text, a block, and the block's fence, which the block has already.
    return "".join(change(part) if i % 3 == 0 else part if i % 3 == 1 else "" for i, part in enumerate(parts))


def title(path: Path) -> str:
    """What a page calls itself; of another file the name."""
    heading = re.match(r"# (.+)", path.read_text("utf-8")) if path.suffix == ".md" else None
    return heading[1] if heading else path.name


def commands() -> str:
    """The help of every command."""
    said = []
    for name in get_command(app.app).commands:  # type: ignore[attr-defined]
        shown = CliRunner().invoke(
            app.app, [name, "--help"], prog_name="farloop", env={"COLUMNS": "110", "NO_COLOR": "1"}
        )
        said.append(f"## {name}\n\n```text\n{shown.stdout.strip()}\n```\n")
    return "# Commands\n\nWhat `farloop COMMAND --help` says.\n\n" + "\n".join(said)


def package() -> str:
    """The public names of the package; the site's builder puts signatures and docstrings in."""
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": [], "Modules": []}
    for name in farloop.__all__:
        member = getattr(farloop, name)
        if inspect.ismodule(member):
            kinds["Modules"].append(name)
        elif inspect.isclass(member):
            kinds["Errors" if issubclass(member, Exception) else "Classes"].append(name)
        elif callable(member):
            kinds["Functions"].append(name)
    parts = [f"## {kind}\n\n" + "".join(f"::: farloop.{name}\n\n" for name in names) for kind, names in kinds.items()]
    own = "".join(f"::: farloop.algorithm.{name}\n\n" for name in algorithm.__all__)
    return f"# Python\n\n{''.join(parts)}## Algorithms: farloop.algorithm\n\n{own}"


class Gallery:
    """The papers' figures: what they claim, what was found, and how they look."""

    def __init__(self, stage: Stage, reproductions: Sequence[Path]) -> None:
        self.stage = stage
        self.presets = {preset["id"] for preset in build_playground.presets()} if stage.live else set()
        known, self.claims = tally.known_claims(), tally.shown_today()
        self.what = {name: claim["what"] for name, claim in known.items()}
        self.of = {name: [c for c in self.claims if known[c["id"]]["scenario"] == name] for name in figure_names()}
        self.pictures: dict[str, tuple[str, list[str]]] = {}
        self.kept = gallery.read_index()
        self.stale = gallery.stale(self.kept.values(), tally.read_record())
        for kept in self.kept.values():
            self._stage(kept.figure, kept.scale, kept.paths)
        for reproduction in reproductions:
            self._take(reproduction)

    def _stage(self, figure: str, scale: str, pictures: Sequence[Path]) -> None:
        """Stages the pictures of a figure."""
        (self.stage.directory / "gallery" / figure).mkdir(parents=True, exist_ok=True)
        for picture in pictures:
            shutil.copyfile(picture, self.stage.directory / "gallery" / figure / picture.name)
        self.pictures[figure] = (scale, [f"{figure}/{p.name}" for p in pictures])

    def _take(self, reproduction: Path) -> None:
        """Stages the pictures of a reproduction."""
        try:
            manifest = json.loads((reproduction / "manifest.json").read_text("utf-8"))
            figures, scale = manifest["figures"], manifest["scale"]
        except (OSError, ValueError, KeyError, TypeError):
            raise RefusedError(
                f"{reproduction}: is no complete reproduction; expected what `farloop reproduce --out` wrote"
            ) from None
        for figure in figures:
            # The map of the network is no picture of a paper's.
            pictures = [p for p in sorted((reproduction / figure / "figures").glob("*.png")) if p.name != "network.png"]
            if pictures:
                self._stage(figure, scale, pictures)
                self.kept.pop(figure, None)
                self.stale.pop(figure, None)

    def write(self) -> None:
        """Stages a page per paper, and the one that leads there."""
        papers = dict.fromkeys(name.partition("/")[0] for name in self.of)
        intro = (
            "# Gallery\n\nEvery figure of every paper: how it looks here, and whether what the paper claims of it was reproduced. "
            "A figure leads to its claims, and to the command that draws it. What the words mean: "
            "[findings](../docs/findings/README.md). All algorithms ranked: [the arena](../docs/arena.md).\n"
        )
        counts = (
            "\n## How many claims hold\n\nEach picture is named with the scale and the date of its runs; one whose verdict or numbers "
            f"are no longer those of the record is marked as stale.\n\n{tally.tally(self.claims)}\n\nStatement by statement, with the "
            "cause of each that does not hold ([all of them](../docs/findings/statements.md)):\n\n"
            f"{statements.tally(self.claims)}\n"
        )
        self.stage.write(
            "gallery/index.md",
            intro
            + "".join(f"\n## [{self._title(p)}]({p}.md)\n\n{self._overview(p)}" for p in papers)
            + _studies()
            + counts,
        )
        for paper in papers:
            self.stage.write(
                f"gallery/{paper}.md",
                f"# {self._title(paper)}\n\n" + "\n".join(map(self._figure, self._figures(paper))),
            )

    def _title(self, paper: str) -> str:
        """What its figures' sources call it."""
        sources = [Scenario.load(name).resolved.get("figure", {}).get("source", "") for name in self._figures(paper)]
        return next((re.split(" ?[,(]", source)[0] for source in sources if source), paper)

    def _figures(self, paper: str) -> list[str]:
        return [name for name in self.of if name.startswith(f"{paper}/")]

    def _overview(self, paper: str) -> str:
        """A card for each figure of the paper: picture, name, verdicts."""
        cards = []
        for name in self._figures(paper):
            place = f"{paper}.md#{anchor(name)}"
            what = cell(Scenario.load(name).resolved["title"])
            pictures = self.pictures.get(name, ("", []))[1]
            lines = [f"[![{what}]({pictures[0]})]({place})" if pictures else "*no picture*"]
            lines.append(f"[{name.partition('/')[2]}]({place}): {what}" + (" (stale)" if name in self.stale else ""))
            lines.append("; ".join(f"{c['id'].partition('/')[2]} {verdict(c)}" for c in self.of[name]) or "no claim")
            cards.append(lines)
        return figure_cards(cards)

    def _figure(self, name: str) -> str:
        resolved = Scenario.load(name).resolved
        figure = resolved.get("figure", {})
        rows = []
        for claim in self.of[name]:
            numbers = "; ".join(f"{k} {v:.3g}, {number(claim['measured'].get(k))}" for k, v in claim["paper"].items())
            pages = ", ".join(f"[{p}](../docs/findings/{p})" for p in tally.pages(claim["id"]))
            verdict = f"{claim['verdict_text']}" + (
                f" ({claim['scale']} scale)" if claim["scale"] in tally.SCALES else ""
            )
            held = f"{claim['held']} of {claim['judged']}" if claim.get("judged") else "–"
            failed = "".join(
                f"<br>fails: {cell(statement['statement'])} ({statement['kind']})"
                for statement in statements.failing([claim])
            )
            rows.append([claim["id"], cell(self.what[claim["id"]]), cell(verdict), held + failed, numbers, pages])
        scale, pictures = self.pictures.get(name, ("", []))
        return "\n".join(
            [
                f"## {figure.get('title') or resolved['title']} {{ #{anchor(name)} }}\n",
                f"{figure.get('source', '')}: `{name}`\n",
                f"```text\nfarloop reproduce {name}\nfarloop reproduce {name} --full\n```\n",
                *([f"[Open it in the playground](../{live_runs.link(name)})\n"] if name in self.presets else []),
                table(
                    ["claim", "the paper says", "verdict", "statements that hold", "paper, measured", "finding"], rows
                )
                if rows
                else "No claim.\n",
                *(self._picture(name, p, scale) for p in pictures),
                self._about_pictures(name, scale) if pictures else _no_picture(name),
            ]
        )

    def _picture(self, name: str, picture: str, scale: str) -> str:
        text = f"![{name}, {Path(picture).stem}: {scale} scale]({picture})\n"
        return site_markup.marked_pictures(text, self.stage.directory / "gallery")

    def _about_pictures(self, name: str, scale: str) -> str:
        """What the pictures of a figure belong to, and whether that is still so."""
        kept = self.kept.get(name)
        if kept is None:
            return f"*{scale.capitalize()} scale.*\n"
        verdicts = "; ".join(f"{claim} {verdict}" for claim, verdict in kept.verdicts.items())
        verdict = f"*{scale.capitalize()} scale, drawn on {kept.date}" + (f": {verdicts}.*\n" if verdicts else ".*\n")
        if name not in self.stale:
            return verdict
        return f'{verdict}\n!!! warning "Stale"\n    {self.stale[name][:1].upper()}{self.stale[name][1:]}. Anew: `{kept.command}`\n'


def _studies() -> str:
    """The section of what no paper claims."""
    cards = []
    for name, what in STUDIES.items():
        page = f"../docs/findings/{name}.md"
        picture = f"[![{cell(what)}](../docs/images/{name}.png)]({page})"
        cards.append([picture, f"[{name}]({page}): {cell(what)}", f"`farloop sweep` of `examples/{name}`"])
    return "\n## Studies\n\nWhat no paper claims.\n\n" + figure_cards(cards)


def figure_cards(cards: Iterable[Sequence[str]]) -> str:
    """Cards side by side, of a picture and lines below it."""
    items = ("- " + "\n\n    ".join(lines) + "\n\n" for lines in cards)
    return f'<div class="figures" markdown>\n\n{"".join(items)}\n</div>\n'


def _no_picture(figure: str) -> str:
    """What stands where a picture would be."""
    return f"*No picture is kept: `farloop reproduce {figure}` draws it.*\n"


def verdict(claim: Mapping[str, Any]) -> str:
    """In short, never without what it owes to readings that its own figure chose."""
    own = statements.count_classes([claim])["this figure"]
    return f"**{claim['verdict']}**" + (f" ({own} of {claim['held']} hold only by their own reading)" if own else "")


def anchor(figure: str) -> str:
    """Of a figure on its paper's page."""
    return figure.replace("/", "-")


def number(value: object) -> str:
    """A measured number, or a dash."""
    return f"{value:.3g}" if isinstance(value, int | float) else "–"


def cell(text: object) -> str:
    """A text that may stand in a table."""
    return str(text).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


AMBIGUOUS, SEPARATED = "e=e+s+o.id}return e}", 'e=e+s+o.id+","}return e}'
"""Of lunr's `TokenSet.prototype.toString` in the search worker of mkdocs-material."""


def mend_search(site: Path) -> None:
    """Makes lunr tell sets of words apart.

    It merges those whose texts are equal, and writes letters and numbers into them without a separator. By chance it then finds words that
    no page has, and the question that meets one has no answer.

    Raises:
        RefusedError: mkdocs-material has another lunr.
    """
    for worker in (site / "assets" / "javascripts" / "workers").glob("search.*.js"):
        text = worker.read_text("utf-8")
        if text.count(AMBIGUOUS) != 1:
            raise RefusedError(f"{worker.name}: expected {AMBIGUOUS} once, of lunr 2.3 as mkdocs-material has it")
        worker.write_text(text.replace(AMBIGUOUS, SEPARATED), "utf-8")


def build(out: Path, reproductions: Sequence[Path]) -> list[str]:
    """Builds the site in place of an older one; says which pictures of the gallery are stale, and what makes them anew.

    Raises:
        RefusedError: a reproduction is none, the place holds something else, or mkdocs found a mistake, which it has printed.
    """
    if out.exists() and any(out.iterdir()) and not (out / "sitemap.xml").is_file():
        raise RefusedError(
            f"{out}: holds something else than a site; expected an older site, an empty directory, or none"
        )
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        stage = Stage(work / "pages")
        shown = Gallery(stage, reproductions)  # refuses what is no reproduction before the pages take their time
        for page in [*ROOT.glob("*.md"), *(p for top in TOPS for p in (ROOT / top).rglob("*.md"))]:
            stage.page(page)
        for notebook in (ROOT / "docs").rglob("*.ipynb"):
            stage.place(notebook)
        stage.write("reference/commands.md", commands())
        stage.write("reference/python.md", package())
        shown.write()
        stage.rank()
        for asset in sorted(ASSETS.iterdir()):
            shutil.copyfile(asset, stage.directory / asset.name)
        settings = {
            "INHERIT": str(ROOT / "mkdocs.yml"),
            "docs_dir": str(stage.directory),
            "site_dir": str(work / "site"),
            "nav": stage.navigation(),
            "plugins": {"mkdocstrings": {"handlers": {"python": {"paths": [str(ROOT / "python")]}}}},
        }
        (work / "mkdocs.yml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
        command = [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--config-file",
            str(work / "mkdocs.yml"),
        ]
        # What mkdocs-material says of its successor is in docs/decisions/dependencies.md.
        quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
        if subprocess.run(command, check=False, cwd=ROOT, env=quiet).returncode != 0:
            raise RefusedError("no site: mkdocs said why")
        mend_search(work / "site")
        if out.exists():
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(work / "site", out)
    return [f"{figure}: {why}\n  {shown.kept[figure].command}" for figure, why in shown.stale.items()]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "reproduction",
        nargs="*",
        type=Path,
        help="what `farloop reproduce --out` wrote: its pictures come into the gallery",
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "out" / "site", help="where the site goes (default: out/site)"
    )
    options = parser.parse_args()
    try:
        stale = build(options.out, options.reproduction)
    except RefusedError as error:
        print(f"build_site: {error}", file=sys.stderr)  # noqa: T201
        return 2
    for picture in stale:
        print(f"stale picture: {picture}", file=sys.stderr)  # noqa: T201
    print(f"site: {options.out}/index.html")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())

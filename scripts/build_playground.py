#!/usr/bin/env python3
"""Puts the playground into one file that needs no other: `make web`.

    scripts/build_playground.py MODULE.wasm [--out out/web]

The page has scripts, style, presets and the WebAssembly module in it, so that it works from a disk and makes no request. Its content
security policy names its script and its style by hash, and forbids all else. Presets are scenarios of crates/web/page/presets, of
examples/, of tutorials and of the papers, as crates/web/page/presets.json lists them; what a paper's scenario says of its figure is left
out.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import zopfli.gzip

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "crates" / "web" / "page"
REPORT = ROOT / "python" / "farloop" / "views" / "report"
PAPERS = ROOT / "python" / "farloop" / "papers"

SCRIPTS = (
    "vendor/uPlot.iife.min.js",
    "units.js",
    "tables.js",
    "engine.js",
    "scenario.js",
    "editor.js",
    "controls.js",
    "colours.js",
    "charts.js",
    "answer.js",
    "lesson.js",
    "layout.js",
    "replay.js",
    "estimate.js",
    "share.js",
    "app.js",
)
"""In this order: classic scripts, because browsers load no modules from a disk."""

SHARED = ("colours.js", "layout.js", "replay.js")
"""What reports of traced runs have as well, in python/farloop/report."""

LARGEST = 1_300_000
"""Most bytes of the compressed module: the engine of packets, and the one of rates beside it."""

FIGURE = re.compile(
    r"^\[\[?(?:figure|template|case|claim)[\].].*?(?=^\[(?!\[?(?:figure|template|case|claim)[\].])|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""What a paper's scenario says of its figure."""


class RefusedError(Exception):
    """Something that no page can be made of."""


def strip_custom_sections(module: bytes) -> bytes:
    """Returns a WebAssembly module without its custom sections (WebAssembly Core 2.0, §5.5.3).

    They are names of functions for debuggers, a tenth of the compressed module, which not every linker leaves out.

    Raises:
        RefusedError: it is no WebAssembly module.
    """
    if module[:4] != b"\0asm":
        raise RefusedError("the module is no WebAssembly; expected the one that `make web` builds")
    kept, at = module[:8], 8
    while at < len(module):
        begin, size, shift = at, 0, 0
        at += 1
        # The length of a section in LEB128: seven bits a byte, the last byte without the eighth.
        while True:
            size |= (module[at] & 0x7F) << shift
            shift += 7
            at += 1
            if module[at - 1] < 0x80:
                break
        at += size
        if module[begin] != 0:
            kept += module[begin:at]
    return kept


def compress(module: bytes) -> bytes:
    """Returns gzip's format of these bytes, as small as it gets: a twentieth less than its own level 9, the same bytes each time."""
    packed: bytes = zopfli.gzip.compress(module, numiterations=5)
    return packed


def page(module: bytes) -> str:
    """The playground with this WebAssembly module.

    Raises:
        RefusedError: the module is none, or larger than a page should be, or a preset names what is not there.
    """
    packed = compress(strip_custom_sections(module))
    if len(packed) > LARGEST:
        raise RefusedError(f"the module has {len(packed)} bytes when compressed; expected at most {LARGEST}")
    script = "\n".join(((REPORT if name in SHARED else PAGE) / name).read_text("utf-8") for name in SCRIPTS)
    style = "\n".join((PAGE / name).read_text("utf-8") for name in ("vendor/uPlot.min.css", "style.css"))
    parts = {
        "policy": policy(script, style),
        "style": style,
        "presets": json.dumps(presets(), ensure_ascii=False).replace("<", "\\u003c"),
        "lessons": json.dumps(lessons(), ensure_ascii=False).replace("<", "\\u003c"),
        "measures": (PAGE / "measures.json").read_text("utf-8").replace("<", "\\u003c"),
        "worker": (PAGE / "worker.js").read_text("utf-8"),
        "module": base64.b64encode(packed).decode(),
        "script": script,
    }
    for name in ("worker", "script"):
        if "</script" in parts[name].lower():
            raise RefusedError(f"{name}: holds </script, which would end it")
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], (PAGE / "index.html").read_text("utf-8"))


def policy(script: str, style: str) -> str:
    """The content security policy: this script, this style, WebAssembly, workers from the page itself, and nothing else."""

    def of(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {of(script)} 'wasm-unsafe-eval'",
            f"style-src {of(style)}",
            "worker-src blob:",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def presets() -> list[dict[str, Any]]:
    """The scenarios that the page begins with."""
    listed = json.loads((PAGE / "presets.json").read_text("utf-8"))
    return [{**preset, "text": text_of(preset)} for preset in listed] + figures({preset["id"] for preset in listed})


def lessons() -> list[dict[str, Any]]:
    """The questions of lessons.json.

    Raises:
        RefusedError: one names a preset, a measure, a run or a page that is not there, or its limits are not one fewer than its answers.
    """
    listed: list[dict[str, Any]] = json.loads((PAGE / "lessons.json").read_text("utf-8"))
    known = {preset["id"] for preset in json.loads((PAGE / "presets.json").read_text("utf-8"))}
    measures = {row["measure"] for row in json.loads((PAGE / "measures.json").read_text("utf-8"))}
    for lesson in listed:
        if problem := problem_of(lesson, known, measures):
            raise RefusedError(f"lessons.json: lesson {lesson.get('id', 'without id')}: {problem}")
    return listed


LESSON_KEYS = {"id", "title", "question", "preset", "run", "answers", "rule", "change", "page"}


def problem_of(lesson: Mapping[str, Any], presets: Set[str], measures: Set[str]) -> str:
    """The first thing that is wrong with a lesson; empty if it has all that the page needs."""
    if different := sorted(LESSON_KEYS ^ set(lesson)):
        return f"{different[0]}: missing or unknown key; expected {', '.join(sorted(LESSON_KEYS))}"
    if lesson["preset"] not in presets:
        return f"preset: {lesson['preset']}: no such preset"
    rule, run = lesson["rule"], lesson["run"]
    count = len(run.get("variants", run["algorithms"]))
    for number in (rule["of"], rule.get("over", rule["of"])):
        if number["measure"] not in measures:
            return f"rule: {number['measure']}: measures.json has no such measure"
        if not 0 <= number.get("run", 0) < count:
            return f"rule: run {number['run']}: the lesson has {count} runs, counted from 0"
    if lesson["change"]["key"] not in run.get("controls", ()):
        return f"change: {lesson['change']['key']}: is none of the controls of its run"
    bands = rule["bands"]
    if len(bands) != len(lesson["answers"]) - 1 or sorted(set(bands)) != bands:
        return "rule: bands: expected rising limits, one fewer than answers"
    page = ROOT / lesson["page"].partition("#")[0].removesuffix(".html")
    if not page.with_suffix(".md").is_file():
        return f"page: {lesson['page']}: {page.relative_to(ROOT)}.md is not there"
    return ""


def text_of(preset: Mapping[str, Any]) -> str:
    """The text of a preset's scenario; of a page the first one on it.

    Raises:
        RefusedError: there is none.
    """
    path = ROOT / preset["file"]
    if not path.is_file():
        raise RefusedError(f"preset {preset['id']}: {preset['file']}: no such file")
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        block = re.search(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if block is None:
            raise RefusedError(f"preset {preset['id']}: {preset['file']}: has no block of TOML")
        text = block[1]
    return FIGURE.sub("", text).rstrip() + "\n"


def figures(known: set[str]) -> list[dict[str, Any]]:
    """The papers' figures on a dumbbell, whole: gallery pages lead to them."""
    listed = []
    for path in sorted(PAPERS.glob("*/*.toml")):
        name = f"{path.parent.name}/{path.stem}"
        scenario = tomllib.loads(path.read_text("utf-8"))
        if name in known or "figure" not in scenario or scenario["network"].get("topology", "dumbbell") != "dumbbell":
            continue
        figure = scenario["figure"]
        entry = {
            "id": name,
            "title": f"{name}: {scenario['title']}",
            "group": "Papers' figures, uncut",
            "file": str(path.relative_to(ROOT)),
            "algorithms": figure.get("algorithms", [scenario["algorithm"]["name"]])[:2],
            "about": f"{figure.get('source', '')}. As the paper has it; it may take minutes here.",
        }
        listed.append({**entry, "text": text_of(entry)})
    return listed


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", type=Path, help="the WebAssembly module")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "web", help="where the page goes (default: out/web)")
    options = parser.parse_args()
    try:
        made = page(options.module.read_bytes())
    except (RefusedError, OSError) as error:
        print(f"build_playground: {error}", file=sys.stderr)  # noqa: T201
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    place = options.out / "playground.html"
    place.write_text(made, encoding="utf-8")
    print(f"playground: {place} ({len(gzip.compress(made.encode())) / 1e6:.2f} MB compressed)")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())

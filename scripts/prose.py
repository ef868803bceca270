#!/usr/bin/env python3
"""Prose rules of `make lint`: long sentences, phrases that have to be read twice, long comment lines.

    python scripts/prose.py                 # every page and every Rust comment that git tracks
    python scripts/prose.py docs/tour.md    # some of them
    python scripts/prose.py --all docs/     # every long sentence, also where the page keeps its share

It prints file:line, what to do, and the sentence; exit status 1 if a rule fails.

`make lint` also runs proselint, which has the general rules
of good English. The rules here are those that no library has: a limit on long sentences, and our own habits.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIMIT = 35
"""Words. A sentence above it counts as long."""

HARD_LIMIT = 60
"""Words. No sentence is longer, whatever the share."""

FEWEST = 5
"""Words. Shorter ones are cells of tables and items of lists, which would hide a share of long sentences."""

SHARE = 0.05
"""Long sentences per page, and of all pages together. Every page may have one."""

COLUMNS = 140
"""Of a comment's line in Rust."""

PHRASES = (
    (r"\bby itself\b", "say 'automatically', or who does it"),
    (r"\bof itself\b", "name what it reports"),
    (r"\banew\b", "say 'again'"),
    (r"\bwhich is what\b", "start a sentence with the actor"),
    (r"\b(is|are|was|were) told (of|by|from|apart)\b", "say 'reports', 'distinguishes', or who learns what"),
    (r"\bleads? nowhere\b", "say 'broken link' or 'does not exist'"),
    (r"\bnothing that\b", "say what there is"),
    (r"\bnothing waits\b", "say 'the queue stays empty'"),
    (r"\bno (\w+er|more|less) than\b.*\bno (\w+er|more|less) than\b", "negate once"),
    (
        r"\b(by|from|for|of|in|on|to|with|than) what (is|are|was|were|it|they|he|one|the|a)\b",
        "name the thing instead of 'what ...'",
    ),
    (r"\b(is|are|has|have|does|do) (it|they|not) (that|what|who|which)\b", "turn it round: actor, verb, object"),
    (r"(?<!\bno )(?<!\beach )\bone (that|which) (is|has|does|can|will|was)\b", "repeat the noun"),
    (r"\bstands? (in|at|for|by|beside|below|above|there)\b", "say 'is in', 'means', 'lists', 'describes'"),
    (r"\b(thereof|whereof|whereby|wherein|therein|hereby|hitherto|thereby|thereupon|of whom)\b", "use plain words"),
    (r", besides[.;]|\bbesides:", "say 'also'"),
    (r"\bas it is\b", "say 'unchanged', or leave it out"),
    (r"\bof its own\b", "say 'its own' before the noun, or 'separate'"),
    (r"^(Nor|Neither)\b", "say it positively, or start with the actor"),
    (
        r"^(From|In|On|Of|By|With|To|Behind|Beside) (it|that|this|them|these|there|which) (comes?|goes|lies?|is|are)\b",
        "actor first",
    ),
)
"""Ours: a pattern in a sentence, and what to write instead."""

GENERATED = re.compile(r"<!-- ([\w ]+): written by [^>]*-->.*?<!-- end of \1 -->", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
CODE = re.compile(r"(`+)(.+?)\1")
ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|Fig|Figs|Sec|Eq|Eqs|No|pp?|al|approx|resp|etc|Alg|Tab|App|ch|min|max|St)|^\d+)\.$"
)
SENTENCE_END = re.compile(r"""[.!?]["')\]*_]*(?=\s+(?:["'(\[*_]*[A-Z0-9`\\$]|"[a-z]|farloop\b))""")
WORD = re.compile(r"[^\W_](?:[\w'’.,/×%-]*\w)?%?")


@dataclass(frozen=True)
class Sentence:
    """One sentence of a page, or a cell of one of its tables."""

    line: int
    text: str

    @property
    def words(self) -> int:
        """Words; a piece of code, a formula, a number with its unit are one each."""
        return len(WORD.findall(self.text))


@dataclass(frozen=True)
class Finding:
    """What a rule has against a place."""

    line: int
    advice: str
    text: str


def plain(markdown: str) -> str:
    """The text that readers see: links by their words, code as one word, no emphasis."""
    text = CODE.sub("CODE", markdown)
    text = re.sub(r"\$[^$]+\$", "FORMULA", text)
    text = LINK.sub(r"\1", text)
    return re.sub(r"(?<!\w)[*_]{1,2}|[*_]{1,2}(?!\w)", "", text)


def blocks(page: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items, headings and table cells, each with the number of its first line."""
    page = GENERATED.sub(lambda part: "\n" * part[0].count("\n"), page)
    page = re.sub(r"<!--.*?-->", lambda part: "\n" * part[0].count("\n"), page, flags=re.DOTALL)
    fence: str | None = None
    start, held = 0, ""

    def flush() -> Iterator[tuple[int, str]]:
        nonlocal held
        if held.strip():
            yield start, held.strip()
        held = ""

    for number, line in enumerate(page.splitlines(), 1):
        bare = re.sub(r"^\s*(>\s?)*", "", line)
        mark = re.match(r"(```+|~~~+|\$\$)", bare)
        if fence:
            fence = None if mark and mark[0].startswith(fence) else fence
        elif mark:
            yield from flush()
            fence = None if bare.count("$$") > 1 else mark[0]
        elif bare.startswith("|"):
            yield from flush()
            if not re.fullmatch(r"[|\s:-]+", bare):
                yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", bare) if cell.strip())
        elif not bare or bare.startswith("#") or (line.startswith("    ") and not held) or bare.startswith("!!!"):
            yield from flush()
        elif item := re.match(r"(?:[-*+]|\d+\.)\s+", bare):
            yield from flush()
            start, held = number, bare[item.end() :]
        else:
            if not held:
                start = number
            held += ("\n" if held else "") + bare
    yield from flush()


def sentences(page: str) -> Iterator[Sentence]:
    """Of a Markdown page, with code, formulas, headings and generated parts left out."""
    for start, block in blocks(page):
        text = plain(block)
        begin = 0
        ends = [end.end() for end in SENTENCE_END.finditer(text) if not ABBREVIATION.search(text[: end.start() + 1])]
        for end in [*ends, len(text)]:
            part = text[begin:end]
            lead = len(part) - len(part.lstrip())
            yield Sentence(start + text[: begin + lead].count("\n"), " ".join(part.split()))
            begin = end


def phrases(sentence: Sentence) -> Iterator[Finding]:
    """Our own habits in a sentence."""
    for pattern, advice in PHRASES:
        if hit := re.search(pattern, sentence.text):
            yield Finding(sentence.line, f"'{hit[0]}': {advice}", sentence.text)


def long_sentences(page: str) -> tuple[list[Sentence], int]:
    """Those above the limit, and how many sentences the page has."""
    counted = [sentence for sentence in sentences(page) if sentence.words > FEWEST]
    return [sentence for sentence in counted if sentence.words > LIMIT], len(counted)


def check_page(page: str, everything: bool = False) -> list[Finding]:
    """What the rules have against a page, by line."""
    long, count = long_sentences(page)
    if len(long) <= max(1, SHARE * count) and not everything:
        long = [sentence for sentence in long if sentence.words > HARD_LIMIT]
    findings = [
        Finding(sentence.line, f"{sentence.words} words (limit {LIMIT}): split it", sentence.text) for sentence in long
    ]
    for sentence in sentences(page):
        findings += phrases(sentence)
    return sorted(findings, key=lambda finding: finding.line)


def check_rust(source: str) -> list[Finding]:
    """Comment lines of Rust that are too wide; a row of a table cannot be wrapped."""
    return [
        Finding(number, f"{len(line)} columns (limit {COLUMNS}): wrap the comment", line.strip())
        for number, line in enumerate(source.splitlines(), 1)
        if len(line) > COLUMNS and re.match(r"\s*//(?![/!]?\s*\|)", line)
    ]


def tracked(root: Path, wanted: list[str]) -> list[str]:
    """Pages and Rust files that git tracks, or those of them that were named."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *(wanted or ["*.md", "*.rs"])], cwd=root, capture_output=True, text=True, check=True
    )
    return [
        name for name in listed.stdout.splitlines() if name.endswith((".md", ".rs")) and not (root / name).is_symlink()
    ]


def main(arguments: list[str] | None = None) -> int:
    """Print what the rules find; 1 if they find something."""
    parser = argparse.ArgumentParser(description="Prose rules: long sentences, riddles, long comment lines.")
    parser.add_argument("files", nargs="*", help="pages, Rust files or folders; none: all that git tracks")
    parser.add_argument("--all", action="store_true", help="every long sentence, also where the page keeps its share")
    parser.add_argument("--shares", action="store_true", help="the share of long sentences of each page")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    failed = long = count = 0
    for name in tracked(root, options.files):
        text = (root / name).read_text("utf-8")
        if name.endswith(".md"):
            page_long, page_count = long_sentences(text)
            long, count = long + len(page_long), count + page_count
            if options.shares:
                print(f"{name}: {len(page_long)} of {page_count} sentences above {LIMIT} words")  # noqa: T201
        findings = check_rust(text) if name.endswith(".rs") else check_page(text, options.all)
        failed += len(findings)
        for finding in findings:
            print(f"{name}:{finding.line}: {finding.advice}\n    {finding.text}")  # noqa: T201
    share = long / count if count else 0.0
    print(  # noqa: T201
        f"{long} of {count} sentences have more than {LIMIT} words: {share:.1%} (limit {SHARE:.0%}); {failed} findings"
    )
    return int(bool(failed) or share > SHARE)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Keeps the pictures of the gallery, docs/images/gallery, and says which of them are stale.

    farloop reproduce gear/fig12 --out out/fig12
    scripts/gallery.py out/fig12          keeps its pictures
    scripts/gallery.py                    says which pictures are stale, with the command that makes them anew; then the status is 1

`make site` shows them. A picture is kept with the scale and the date of the reproduction that drew it, its verdicts, and digests of its
numbers. It is stale as soon as docs/findings/verdicts.json has another verdict or other numbers for a claim of that figure at that scale;
what draws it may change. Pictures are kept with 64 colours, which suits curves; those that farloop draws of any run, such as the map of
the network, are not kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import provenance
import tally
from PIL import Image

from farloop.scenario import figure_names

KEPT = tally.ROOT / "docs" / "images" / "gallery"
INDEX = KEPT / "index.json"
"""What each picture belongs to."""

COLOURS = 64
"""Of a picture; its file takes a third of what matplotlib writes."""

NOT_KEPT = ("network", "schedule", "throughput-seeds", "queue-seeds", "slowdown-seeds")
"""Pictures that farloop draws of any run, or of any that has several seeds; they are no figures of papers."""


@dataclass(frozen=True)
class Kept:
    """The kept pictures of a figure.

    Attributes:
        figure: The figure's name, such as "gear/fig12".
        scale: "quick" or "full".
        date: Of the reproduction.
        verdicts: The verdict of each of its claims at that time.
        digests: Of verdict and numbers of each claim.
        pictures: Names of the files in the figure's directory.
    """

    figure: str
    scale: str
    date: str
    verdicts: dict[str, str]
    digests: dict[str, str]
    pictures: list[str]

    @property
    def paths(self) -> list[Path]:
        """The files."""
        return [KEPT / self.figure / name for name in self.pictures]

    @property
    def command(self) -> str:
        """What makes the pictures anew."""
        return command(self.figure, self.scale)


def command(figure: str, scale: str = "quick") -> str:
    """What makes the pictures of a figure, and brings the record of its verdicts up to date."""
    full = " --full" if scale == "full" else ""
    where = f"out/{figure.replace('/', '-')}"
    return (
        f"farloop reproduce {figure}{full} --out {where} && "
        f"scripts/tally.py {where}/claims.json && scripts/gallery.py {where}"
    )


def read_index(path: Path = INDEX) -> dict[str, Kept]:
    """The kept pictures, by figure; none where there is no index."""
    if not path.is_file():
        return {}
    return {figure: Kept(figure, **entry) for figure, entry in json.loads(path.read_text("utf-8")).items()}


def stale(kept: Iterable[Kept], record: tally.Claims) -> dict[str, str]:
    """Why pictures are stale, by figure.

    A claim that the record does not have at the picture's scale makes no picture stale: nothing newer is known.
    """
    known = {(entry["id"], entry["scale"]): entry for entry in record}
    reasons = {}
    for picture in kept:
        changed = []
        for claim, then in picture.digests.items():
            now = known.get((claim, picture.scale))
            if now is None or provenance.numbers_digest(now) == then:
                continue
            other = f"is {now['verdict']}, the picture's was {picture.verdicts[claim]}"
            same = picture.verdicts[claim] == now["verdict"]
            changed.append(f"{claim} {'has other numbers' if same else other} ({now['date']})")
        if changed:
            reasons[picture.figure] = f"drawn on {picture.date}; in the record {'; '.join(changed)}"
    return reasons


def take(reproduction: Path) -> list[Kept]:
    """Keeps the pictures of a reproduction in place of older ones of the same figures; says what it has kept.

    Raises:
        tally.RefusedError: it is no complete reproduction of the papers' figures.
    """
    known = tally.known_claims()
    entries = tally.entries(reproduction / "claims.json", known)
    try:
        manifest = json.loads((reproduction / "manifest.json").read_text("utf-8"))
        figures, scale = [str(figure) for figure in manifest["figures"]], str(manifest["scale"])
    except (OSError, ValueError, KeyError, TypeError):
        raise tally.RefusedError(
            f"{reproduction}: is no complete reproduction; expected what `farloop reproduce --out` wrote"
        ) from None
    index = read_index()
    taken = []
    for figure in figures:
        # A name becomes a directory: what is no figure's might lead anywhere.
        if figure not in figure_names():
            raise tally.RefusedError(f"{reproduction}: {figure!r}: no figure of a paper")
        own = [entry for entry in entries if known[entry["id"]]["scenario"] == figure]
        drawn = sorted((reproduction / figure / "figures").glob("*.png"))
        chosen = [path for path in drawn if path.stem not in NOT_KEPT]
        if not chosen:
            raise tally.RefusedError(f"{reproduction}: {figure}: has no pictures; `farloop report` draws them")
        kept = Kept(
            figure=figure,
            scale=scale,
            date=max((entry["date"] for entry in own), default=""),
            verdicts={entry["id"]: entry["verdict"] for entry in own},
            digests={entry["id"]: provenance.numbers_digest(entry) for entry in own},
            pictures=[path.name for path in chosen],
        )
        _copy(chosen, kept)
        index[figure] = kept
        taken.append(kept)
    _write(index)
    return taken


def _copy(chosen: Sequence[Path], kept: Kept) -> None:
    directory = KEPT / kept.figure
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.png"):
        old.unlink()
    for source, path in zip(chosen, kept.paths, strict=True):
        with Image.open(source) as picture:
            small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(path, "PNG", optimize=True)


def _write(index: Mapping[str, Kept]) -> None:
    ordered = {figure: vars(index[figure]) for figure in figure_names() if figure in index}
    content = {figure: {k: v for k, v in entry.items() if k != "figure"} for figure, entry in ordered.items()}
    INDEX.write_text(tally.lines(content) + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Keeps pictures, or says which are stale; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reproduction", nargs="*", type=Path, help="what `farloop reproduce --out` wrote")
    options = parser.parse_args(arguments)
    try:
        taken = [picture for path in options.reproduction for picture in take(path)]
    except tally.RefusedError as error:
        sys.stderr.write(f"gallery.py: {error}\n")
        return 2
    for picture in taken:
        sys.stdout.write(f"{picture.figure}: {len(picture.pictures)} pictures of {picture.scale} scale kept\n")
    index = read_index()
    old = stale(index.values(), tally.read_record())
    for figure, why in old.items():
        sys.stdout.write(f"{figure}: {why}\n  {index[figure].command}\n")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

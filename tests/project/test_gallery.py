"""The pictures that the site shows without a reproduction: kept small, and with the verdict that they belong to."""

import json

import pytest
from PIL import Image

from farloop.scenario import figure_names

MAX_BYTES = 3_000_000
"""Of all pictures together."""


@pytest.fixture
def gallery(scripts, tmp_path, monkeypatch):
    """The script, with a place of its own for pictures."""
    monkeypatch.setattr(scripts("gallery"), "KEPT", tmp_path / "kept")
    monkeypatch.setattr(scripts("gallery"), "INDEX", tmp_path / "kept" / "index.json")
    (tmp_path / "kept").mkdir()
    return scripts("gallery")


def reproduction(directory, figure="gear/fig12", **changes):
    """What `farloop reproduce --out` writes of it."""
    pictures = directory / figure / "figures"
    pictures.mkdir(parents=True)
    for name in ("fig12", "network", "schedule"):
        Image.new("RGB", (400, 300), "white").save(pictures / f"{name}.png")
    claim = {
        "id": "gear/fig12", "scale": "quick", "verdict": "reproduced", "verdict_text": "reproduced", "calibrated": False,
        "paper": {"ratio": 1.0}, "measured": {"ratio": 1.2345, "other": 5}, "held": 0, "judged": 0, "statements": [],
    }  # fmt: skip
    (directory / "claims.json").write_text(json.dumps([claim | changes]))
    manifest = {"farloop": "0.1.0", "figures": [figure], "scale": "quick"}
    (directory / "manifest.json").write_text(json.dumps(manifest))
    return directory


def entry(**changes):
    """The record's entry of the same."""
    measured = {"ratio": 1.23}
    return {
        "id": "gear/fig12", "scale": "quick", "verdict": "reproduced", "calibrated": False, "measured": measured,
        "date": "2026-11-27",
    } | changes  # fmt: skip


def test_no_picture_is_stale(scripts):
    gallery, tally = scripts("gallery"), scripts("tally")
    kept = gallery.read_index()
    stale = gallery.stale(kept.values(), tally.read_record())
    assert not stale, "\n".join(f"{figure}: {why}\n  {kept[figure].command}" for figure, why in stale.items())


def test_the_index_and_the_files_belong_together(scripts):
    gallery = scripts("gallery")
    kept = gallery.read_index()
    assert (
        gallery.INDEX.read_text("utf-8") == scripts("tally").lines(json.loads(gallery.INDEX.read_text("utf-8"))) + "\n"
    )
    assert len(kept) >= 10
    assert set(kept) <= set(figure_names())
    named = {path for picture in kept.values() for path in picture.paths}
    assert named == set(gallery.KEPT.rglob("*.png"))
    assert sum(path.stat().st_size for path in named) < MAX_BYTES
    assert all(picture.pictures and picture.date and picture.scale in ("quick", "full") for picture in kept.values())


def test_pictures_are_kept_with_what_they_belong_to(gallery, tmp_path):
    taken = gallery.take(reproduction(tmp_path / "out"))
    assert [figure.pictures for figure in taken] == [["fig12.png"]], "neither the map nor the schedule"
    kept = gallery.read_index(gallery.INDEX)["gear/fig12"]
    assert (kept.scale, kept.verdicts) == ("quick", {"gear/fig12": "reproduced"})
    with Image.open(kept.paths[0]) as picture:
        assert picture.mode == "P"
    assert gallery.stale([kept], [entry()]) == {}, "three digits are what pages show"
    assert gallery.stale([kept], [entry(measured={"ratio": 1.234, "unknown": None})]) == {}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"verdict": "differs"}, "gear/fig12 is differs, the picture's was reproduced (2026-11-27)"),
        ({"measured": {"ratio": 1.31}}, "gear/fig12 has other numbers (2026-11-27)"),
        ({"calibrated": True}, "gear/fig12 has other numbers"),
    ],
)
def test_a_picture_is_stale_where_the_record_has_moved_on(changes, said, gallery, tmp_path):
    kept = gallery.take(reproduction(tmp_path / "out"))
    assert said in gallery.stale(kept, [entry(**changes)])["gear/fig12"]
    assert gallery.stale(kept, [entry(scale="full", **changes)]) == {}, "of another scale"
    assert kept[0].command.startswith("farloop reproduce gear/fig12 --out out/gear-fig12 && scripts/tally.py")


def test_what_is_no_reproduction_is_refused(gallery, scripts, tmp_path):
    with pytest.raises(scripts("tally").RefusedError, match=r"expected claims\.json"):
        gallery.take(tmp_path)
    hostile = reproduction(tmp_path / "out")
    manifest = {"farloop": "0.1.0", "figures": ["../../elsewhere"], "scale": "quick"}
    (hostile / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(scripts("tally").RefusedError, match="no figure of a paper"):
        gallery.take(hostile)
    assert not list(gallery.KEPT.iterdir())


@pytest.mark.site
def test_the_site_marks_what_is_stale_and_says_where_no_picture_is_kept(scripts, tmp_path, monkeypatch):
    site = scripts("build_site")
    kept = scripts("gallery").read_index()
    old = next(iter(kept))
    monkeypatch.setattr(
        scripts("gallery"), "stale", lambda *_: {old: "drawn on 2026-11-23; in the record another verdict"}
    )
    site.Gallery(site.Stage(tmp_path), []).write()
    page = (tmp_path / "gallery" / f"{old.partition('/')[0]}.md").read_text("utf-8")
    warning = page.partition('!!! warning "Stale"\n')[2].partition("\n")[0]
    assert "in the record another verdict" in warning
    assert kept[old].command in warning
    assert page.count("Stale") == 1
    for figure in figure_names():
        text = (tmp_path / "gallery" / f"{figure.partition('/')[0]}.md").read_text("utf-8")
        assert (f"No picture is kept: `farloop reproduce {figure}`" in text) == (figure not in kept)

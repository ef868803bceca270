"""The definitions of the playground's numbers are those of the package."""

from pathlib import Path

from farloop.results import page_measures

PAGE = Path(__file__).parents[2] / "crates" / "web" / "page"


def test_the_page_has_todays_definitions():
    command = "`python -m farloop.results.page_measures crates/web/page/measures.json`"
    assert (PAGE / "measures.json").read_text("utf-8") == page_measures.definitions(), f"run {command}"


def test_the_page_computes_what_is_declared():
    script = (PAGE / "tables.js").read_text("utf-8")
    computed = [name for name in page_measures.LABELS if f'"{name}"' in script]
    by_kind = (
        "flow_throughput/mean/{}",
        "flow_throughput/mean/{}/endless",
        "fct_slowdown/p99/{}/begun",
        "fct_slowdown/mean/{}/begun",
    )
    named = {name.format(kind) for name in by_kind for kind in ("intra", "cross")}
    assert set(page_measures.LABELS) - set(computed) == named
    assert all(f"`{name.format('${kind}')}`" in script for name in by_kind)

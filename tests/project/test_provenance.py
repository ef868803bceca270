"""The digests of what a recorded verdict rests on: what changes them and what does not, and that the record's are today's."""

import json
import re
import shutil

import pytest

from farloop.scenario import Scenario

FIGURE = '''
"""A figure."""
from __future__ import annotations
from farloop.judging.claims import Judging
from farloop.papers.own.common import share
from farloop import metrics
from farloop.views.figures.panels import grid

LIMIT = 0.5
"""Documentation of a constant."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """What it does."""
    judging = Judging(comparison, claims["own/fig01"])

    def is_fair(run: Run) -> tuple[bool, str]:
        value = share(run, over=2)  # a comment
        return value > LIMIT, f"{value:.3g} of {metrics.mean(value)}"

    judging.order("it is fair", [name for name in comparison.runs if name], is_fair)
    return [judging.finding()]


def draw(comparison):
    return {"fig01": grid(1)}
'''
COMMON = """
def share(run, over):
    return sum(rate for rate in run.rates) / over


def unused(run):
    return 1
"""
CLAIMS = """
class Judging:
    def __init__(self, comparison, claim):
        self.comparison = comparison

    def order(self, text, needs, decide):
        self.stated = text

    def finding(self):
        return self.stated
"""
SEEDS = """
def judge_by_seed(comparison, judge):
    return judge(comparison)
"""
MODULES = {
    "farloop.papers.own.fig01": FIGURE,
    "farloop.papers.own.common": COMMON,
    "farloop.judging.claims": CLAIMS,
    "farloop.judging.over_seeds": SEEDS,
}


@pytest.fixture
def source(scripts):
    return scripts("judge_source")


@pytest.fixture
def provenance(scripts):
    return scripts("provenance")


@pytest.fixture
def tally(scripts):
    return scripts("tally")


def changed(old, new, modules=MODULES):
    assert any(old in text for text in modules.values())
    return {name: text.replace(old, new) for name, text in modules.items()}


def text_of(source, modules=MODULES):
    return source.judge_text("own/fig01", modules.get)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # a comment", ""),
        ("What it does.", "It judges."),
        ("A figure.", "Another text."),
        ("(run: Run) -> tuple[bool, str]:", "(run):"),
        ("[name for name in comparison.runs if name]", "[\n        need for need in comparison.runs\n        if need]"),
        ("LIMIT", "MIN_SHARE"),
        ("class Judging:", 'class Judging:\n    """The verdicts."""\n'),
        ("Documentation of a constant.", ""),
        ("is_fair", "gets_its_share"),
        ("share", "part"),
        ("stated", "texts"),
        ("Judging", "Verdicts"),
        ("grid(1)", "grid(2)"),
        ("return 1", "return 2"),
        ("from farloop import metrics", "from farloop.results import metrics"),
    ],
)
def test_what_changes_no_verdict_leaves_the_digest_of_a_judge(old, new, source):
    assert text_of(source, changed(old, new)) == text_of(source)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 0.5", "LIMIT = 0.6"),
        ("value > LIMIT", "value >= LIMIT"),
        ("it is fair", "it is just"),
        ("metrics.mean", "metrics.median"),
        ("over=2", "over=3"),
        (" / over", " * over"),
        ("run.rates", "run.shares"),
        ("for rate in run.rates", "for rate in run.rates if rate"),
        ("if name]", "if comparison]"),
        ("self.stated = text", "self.stated = needs"),
        ("return judge(comparison)", "return judge(comparison.alone)"),
    ],
)
def test_what_can_change_a_verdict_changes_the_digest_of_a_judge(old, new, source):
    assert text_of(source, changed(old, new)) != text_of(source)


def test_it_does_not_matter_where_the_code_of_a_judge_stands(source):
    moved = changed("farloop.papers.own.common", "farloop.judging.shares")
    moved["farloop.judging.shares"] = COMMON
    assert text_of(source, moved) == text_of(source)
    as_module = changed("from farloop.papers.own.common import share", "from farloop.papers.own import common")
    as_module = changed("share(run, over=2)", "common.share(run, over=2)", as_module)
    assert text_of(source, as_module) == text_of(source)


def test_a_name_of_a_function_that_a_lambda_hides_is_its_own(source):
    hiding = changed("if name]", "if (lambda share: share)(name)]")
    renamed = changed("if name]", "if (lambda own: own)(name)]")
    assert text_of(source, hiding) == text_of(source, renamed)
    assert text_of(source, changed("if name]", "if (lambda own: share)(name)]")) != text_of(source, renamed)


def test_a_figure_without_a_judge_has_no_text(source):
    assert source.judge_text("own/fig02", MODULES.get) == ""
    assert source.judge_text("gear/fig12"), "as it stands in this checkout"


def scenarios(provenance, scenario, find_file=lambda name: None):
    return {("case", "hpcc"): provenance.settings(scenario.parsed, find_file)}


@pytest.fixture
def known(provenance, small):
    keys = provenance.KnownKeys([])
    keys.add(provenance.keys_of(scenarios(provenance, Scenario.load(small))))
    return keys


def test_a_digest_of_scenarios_is_of_what_they_resolve_to(provenance, known, small):
    base = Scenario.load(small)

    def digest(scenario):
        return provenance.scenario_digest(scenarios(provenance, scenario), known, 0)

    assert digest(base).startswith("0:")
    text = base.text.replace('title = "Two', '# otherwise written\ntitle = "Other').replace("20ms", "0.02s")
    for same in (text, text + '\n[record]\nflows = ["cross"]\n', text + "\n[algorithm.gear]\neta = 0.9\n"):
        assert digest(Scenario.from_text(same)) == digest(base)
    for other in ({"run.duration": "21ms"}, {"switch.buffer": "1MB"}, {"algorithm.hpcc.eta": 0.9}):
        assert digest(base.override(other)) != digest(base)


def test_a_digest_of_scenarios_is_of_the_content_of_files(provenance, known, small):
    run = Scenario.load(small)
    first, second = (
        provenance.scenario_digest(scenarios(provenance, run, {"hpcc": content}.get), known, 0) for content in "ab"
    )
    assert first != second


def test_a_key_that_came_later_counts_where_it_is_not_at_its_default(provenance, known, small):
    run = Scenario.load(small)
    everything = scenarios(provenance, run)
    earlier = provenance.KnownKeys([[re.sub(r"\becn_at\b ?", "", text) for text in known.generations[0]]])
    assert "switch.ecn_at" in known.up_to(0) - earlier.up_to(0)

    def digest(runs):
        return provenance.scenario_digest(runs, earlier, 0)

    without = json.loads(json.dumps(everything["case", "hpcc"]))
    for section in ("switch", "wan_switch"):
        del without[section]["ecn_at"]
    assert digest({("case", "hpcc"): without}) == digest(everything)
    set_otherwise = run.override({"switch.ecn_at": "departure", "switch.ecn": True})
    assert digest(scenarios(provenance, set_otherwise)) != digest(
        scenarios(provenance, run.override("switch.ecn=true"))
    )
    earlier.add(provenance.keys_of(everything))
    assert earlier.newest == 1
    assert earlier.generations[1] == ["switch: ecn_at", "wan_switch: ecn_at"]
    earlier.add(provenance.keys_of(everything))
    assert earlier.newest == 1, "nothing is new"


def test_the_record_is_of_todays_scenarios_and_judges(tally):
    old = tally.stale(tally.read_record(), tally.known_claims(), tally.read_keys())
    advice = 'reproduce them again, or, where code was only rewritten, `scripts/tally.py --unchanged "WHY" --of CLAIM`'
    assert not old, "\n".join(
        [*(f"{' '.join(key)}: other {' and '.join(names)}" for key, names in old.items()), advice]
    )


def test_an_entry_has_the_digest_of_its_judge_or_the_commit_that_had_it(tally):
    for entry in tally.read_record():
        assert ("judge" in entry) != ("commit" in entry), entry["id"]


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory):
    """A reproduction of a figure that takes little time."""
    from typer.testing import CliRunner

    from farloop.commands.app import app

    out = tmp_path_factory.mktemp("reproduction") / "out"
    done = CliRunner().invoke(app, ["reproduce", "uec/incast", "--out", str(out), "--no-report", "--quiet"])
    assert done.exit_code == 0, done.output
    return out


@pytest.fixture
def record(tally, reproduction, tmp_path):
    """What the record gets of a copy of the reproduction, once that has been changed."""

    def added(change=lambda out: None, keys=None):
        out = tmp_path / "out"
        shutil.copytree(reproduction, out)
        change(out)
        known = tally.known_claims()
        return tally.add_digests(
            tally.entries(out / "claims.json", known), out / "claims.json", known, keys or tally.read_keys()
        )

    return added


def test_a_reproduction_comes_into_the_record_with_its_digests(tally, provenance, record):
    keys = provenance.KnownKeys([])
    rows = record(keys=keys)
    assert rows and keys.newest == 0
    assert tally.stale(rows, tally.known_claims(), keys) == {}
    for name, other in (("judge", "0123456789abcdef"), ("scenarios", "0:0123456789abcdef")):
        old = tally.stale([rows[0] | {name: other}], tally.known_claims(), keys)
        assert old == {(rows[0]["id"], "quick"): {name: rows[0][name]}}
        (kept,) = tally.keep_unchanged([rows[0] | {name: other}], old, "it was renamed", "uec/")
        assert kept == rows[0] | {"unchanged": ["it was renamed"]}
        (again,) = tally.keep_unchanged([kept | {name: other}], old, "it was renamed", "")
        assert again == kept, "a reason stands once"
        (left,) = tally.keep_unchanged([rows[0] | {name: other}], old, "it was renamed", "uno/")
        assert left[name] == other


def test_a_reproduction_of_another_scenario_is_refused(tally, record):
    def change(manifests):
        for manifest in manifests:
            kept = json.loads(manifest.read_text())
            kept["scenario"]["switch"]["buffer"] = "123kB"
            manifest.write_text(json.dumps(kept))

    def manifests(out):
        return sorted((out / "uec/incast/runs").glob("*/manifest.json"))

    with pytest.raises(tally.RefusedError, match="ran with another scenario or other seeds than today's figure"):
        record(lambda out: change(manifests(out)))


@pytest.mark.parametrize(("other", "is_same"), [({}, True), ({"rate_of_before": "25Gbps"}, False)])
def test_a_reproduction_from_before_a_key_is_that_of_today_at_its_default(tally, record, other, is_same):
    def change(out):
        for path in sorted((out / "uec/incast/runs").glob("*/manifest.json")):
            kept = json.loads(path.read_text())
            assert kept["scenario"]["switch"].pop("xoff_alpha_rate") == "none"
            kept["scenario"]["switch"] |= other
            path.write_text(json.dumps(kept))

    if is_same:
        assert record(change)
    else:
        with pytest.raises(tally.RefusedError, match="ran with another scenario"):
            record(change)


def test_a_reproduction_whose_seeds_ran_several_scenarios_is_refused(tally, record):
    def change(out):
        (manifest, *_) = sorted((out / "uec/incast/runs").glob("*/manifest.json"))
        manifest.write_text(manifest.read_text().replace('"mtu": "', '"mtu": "1'))

    with pytest.raises(tally.RefusedError, match="ran with several scenarios"):
        record(change)


def test_a_reproduction_that_another_judge_judged_is_refused(tally, record):
    def change(out):
        claims = json.loads((out / "claims.json").read_text())
        claims[0]["statements"][0]["evidence"] = "something else"
        (out / "claims.json").write_text(json.dumps(claims))

    with pytest.raises(tally.RefusedError, match="today's judge finds something else in these tables; `farloop report"):
        record(change)


def test_a_reproduction_without_its_runs_is_refused(tally, record):
    with pytest.raises(tally.RefusedError, match="ran with another scenario"):
        record(lambda out: shutil.rmtree(out / "uec/incast/runs"))


def test_the_record_has_a_statement_on_each_line(tally):
    text = tally.RECORD.read_text("utf-8")
    content = json.loads(text)
    assert text == tally.lines(content) + "\n"
    statements = sum(len(claim["statements"]) for claim in content["claims"])
    assert statements == len(re.findall(r'^ *\{"text": .*\},?$', text, re.MULTILINE))

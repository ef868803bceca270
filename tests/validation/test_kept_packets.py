"""Runs of packets are made once, as long as neither their scenario nor the packet simulator changes."""

import pytest

from farloop.experiments.execution import Execution
from farloop.experiments.variants import Variant
from farloop.results.flow_completion import column
from farloop.scenario import Scenario
from farloop.studies.validation import fluid_cases, kept_packets
from farloop.studies.validation.kept_packets import KeptPackets, KeptRun, digest_of_sources

SHORT = {"run.duration": "1ms", "workload.senders": 2}


def variant(name, **more):
    scenario = Scenario.load(fluid_cases.DIRECTORY / "incast.toml").override(SHORT | more, algorithm="dctcp")
    return Variant(name, "incast", "dctcp", scenario)


@pytest.fixture
def sources(tmp_path):
    """Crates of which scenarios need one, and rates another."""
    for name, needs in (("scenario", ["net", "fluid"]), ("net", []), ("fluid", []), ("other", ["net"])):
        crate = tmp_path / "crates" / name
        (crate / "src").mkdir(parents=True)
        lines = [f'farloop-{need} = "1"' for need in needs]
        (crate / "Cargo.toml").write_text("\n".join([f'[package]\nname = "farloop-{name}"', "[dependencies]", *lines]))
        (crate / "src" / "lib.rs").write_text("")
    (tmp_path / "Cargo.lock").write_text("")
    return tmp_path


def test_packets_are_simulated_once_and_rates_each_time(tmp_path, sources, monkeypatch):
    made = []
    run_variants = kept_packets.run_variants

    def count(variants, execution, *, group=""):
        made.extend(each.label for each in variants)
        return run_variants(variants, execution, group=group)

    monkeypatch.setattr(kept_packets, "run_variants", count)
    packets = KeptPackets(tmp_path / "kept", sources)
    variants = [variant("packets"), variant("rates", **{"run.gear": "fluid", "run.fluid_error": False})]
    first = packets.simulate(variants, Execution(threads=1))
    again = packets.simulate(variants, Execution(threads=1))
    assert made == ["packets", "rates", "rates"]
    assert isinstance(again[0], KeptRun)
    for name in kept_packets.COLUMNS:
        assert list(column(first[0].flows, name)) == list(column(again[0].flows, name))
    packets.simulate([variant("jitter", **{"run.jitter": 1})], Execution(threads=1))
    assert made[-1] == "jitter"


@pytest.mark.parametrize(("crate", "counts"), [("net", True), ("scenario", True), ("fluid", False), ("other", False)])
def test_what_packets_rest_on_counts_and_nothing_else(sources, crate, counts):
    before = digest_of_sources(sources)
    (sources / "crates" / crate / "src" / "lib.rs").write_text("// another one")
    assert (digest_of_sources(sources) != before) == counts

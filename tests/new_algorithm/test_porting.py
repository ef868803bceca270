"""From a class of Python to Rust: the same parameters and needs, and a test that has what the class does. See also test_scaffold.py."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from support.checkouts import checkout_in

import farloop
from farloop import algorithm
from farloop.new_algorithm import porting, scaffold

REPOSITORY = Path(__file__).parents[2]

KINDS = '''\
from farloop.algorithm import Algorithm, parameter


class Kinds(Algorithm):
    """All kinds of "parameters"."""

    needs = ("int", "even_pacing")
    header_bytes = 8
    yes = parameter(True, "A switch.")
    count = parameter(5, "A count.", low=1)
    below = parameter(-3, "Below zero.", low=-10, high=0)
    wait = parameter("25us", "A time.", low="1.5ns", high="1s")
    size = parameter("64kB", "A size.")
    rate = parameter("0.5Gbps", "A rate.", high="400Gbps")
    mode = parameter("slow-start", "A word.", choices=("slow-start", "fast"))
    tag = parameter("x y", "A text.")

    def start(self, flow):
        self.cwnd, self.seen = self.count * flow.mss, 0

    def on_ack(self, ctx, ack):
        self.seen += self.one()
        self.cwnd += 1 if ack.ecn_echo else 2

    def one(self):
        return 1

    def on_timer(self, ctx, number):
        self.pacing_rate = self.rate
'''


@pytest.fixture
def checkout(tmp_path):
    return checkout_in(tmp_path)


@pytest.fixture
def kinds(tmp_path):
    path = tmp_path / "kinds.py"
    path.write_text(KINDS, encoding="utf-8")
    return path


def test_parameters_needs_and_handlers_come_along(checkout, kinds):
    source, page, registry = scaffold.create("all-kinds", checkout, source=kinds)
    text = source.read_text("utf-8")
    for line in (
        "use crate::api::*;",
        "use farloop_units::{Bytes, Delta, Rate};",
        "yes: bool = true, from",
        "count: u64 = 5, in 1 => u64::MAX, from",
        "below: f64 = -3.0, in -10.0 => 0.0, from",
        "wait: Delta = Delta::from_us(25), in Delta::from_ps(1500) => Delta::from_secs(1), from",
        "size: Bytes = Bytes::new(64000), from",
        "rate: Rate = Rate::from_mbps(500), in Rate::ZERO => Rate::from_gbps(400), from",
        "mode: AllKindsMode = AllKindsMode::SlowStart, from",
        'tag: String = "x y".to_string(), from',
        "const NEEDS: Needs = Needs { int: true, even_pacing: true, header_bytes: 8, ..Needs::NONE };",
        r'const SUMMARY: &\'static str = "All kinds of \"parameters\"";'.replace("\\'", "'"),
        "fn on_timer(&mut self, _ctx: &mut Ctx<'_>, _timer: TimerId) {",
        "        //     self.pacing_rate = self.rate",
        "The class keeps: cwnd, seen, pacing_rate.",
        "// def one(self):",
    ):
        assert line in text, line
    assert "fn on_send" not in text
    assert "@" not in text
    assert "pub mod all_kinds;" in registry.read_text("utf-8")
    assert page.read_text("utf-8").startswith("# all-kinds")


def test_a_class_that_handles_departures_wants_them_in_rust(kinds):
    kinds.write_text(KINDS + "\n    def on_send(self, ctx, sent):\n        self.seen += 1\n", "utf-8")
    (cls,) = algorithm.load(kinds)
    template = (REPOSITORY / "python/farloop/templates/ported.rs.txt").read_text("utf-8")
    text = porting.port_class(cls, "kinds", "Kinds", template, api="crate")
    assert "fn on_send(" in text
    assert "fn wants_on_send(&self) -> bool {\n        true\n    }" in text


def test_what_the_class_does_is_recorded_after_each_signal(kinds):
    (cls,) = algorithm.load(kinds)
    template = (REPOSITORY / "python/farloop/templates/ported.rs.txt").read_text("utf-8")
    text = porting.port_class(cls, "kinds", "Kinds", template, api="crate")
    rows = [tuple(map(str, row)) for row in re.findall(r"^\s+\((\S+), (\S+)\),$", text, re.MULTILINE)]
    assert len(rows) == porting.SIGNALS
    windows = [int(window) for window, _ in rows]
    assert windows == sorted(windows), "ACKs add one or two bytes each"
    assert {rate for _, rate in rows} == {"u64::MAX", "500000000"}, "the timer is the only one to set a rate"
    assert text == porting.port_class(cls, "kinds", "Kinds", template, api="crate")


def test_a_class_that_draws_random_numbers_has_no_record(kinds):
    kinds.write_text(KINDS.replace("    header_bytes = 8\n", "    random = True\n"), encoding="utf-8")
    (cls,) = algorithm.load(kinds)
    template = (REPOSITORY / "python/farloop/templates/ported.rs.txt").read_text("utf-8")
    text = porting.port_class(cls, "kinds", "Kinds", template, api="crate")
    assert "RECORDED" not in text
    assert "it_survives_any_signals" in text


@pytest.mark.skipif(shutil.which("rustfmt") is None, reason="rustfmt is not installed")
def test_a_crate_of_its_own_is_complete_and_formatted(tmp_path, kinds):
    written = scaffold.create_crate("my-kinds", REPOSITORY, tmp_path / "crate", source=kinds)
    manifest = tomllib.loads((tmp_path / "crate" / "Cargo.toml").read_text("utf-8"))
    for name, dependency in manifest["dependencies"].items():
        text = (tmp_path / "crate" / dependency["path"] / "Cargo.toml").read_text("utf-8")
        assert tomllib.loads(text)["package"]["name"] == name
    sources = [path for path in written if path.suffix == ".rs"]
    assert [path.name for path in sources] == ["lib.rs", "main.rs"]
    config = ["--config-path", str(REPOSITORY / "rustfmt.toml"), "--edition", "2024"]
    done = subprocess.run(["rustfmt", "--check", *config, *map(str, sources)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    with pytest.raises(farloop.FarloopError, match="is there already"):
        scaffold.create_crate("my-kinds", REPOSITORY, tmp_path / "crate", source=kinds)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("yes = ", "type = "), "Kinds.type: has a meaning in Rust"),
        (("self.cwnd += 1", "self.cwnd = -1"), "kinds.py:21: Kinds.cwnd is -1 after on_ack"),
        (("self.one()", "self.two()"), "kinds.py:22: AttributeError"),
        (("class Kinds(Algorithm)", "class Kinds"), "defines no algorithm"),
        (("    def one", "class Other(Kinds):\n    def one"), "defines 2 algorithms, none of them called ported"),
    ],
)
def test_what_cannot_be_ported_is_told_and_writes_nothing(change, said, checkout, kinds):
    kinds.write_text(KINDS.replace(*change), encoding="utf-8")
    before = (checkout / scaffold.REGISTRY).read_text("utf-8")
    with pytest.raises(farloop.FarloopError, match=re.escape(said)):
        scaffold.create("ported", checkout, source=kinds)
    assert (checkout / scaffold.REGISTRY).read_text("utf-8") == before
    assert not list((checkout / scaffold.ALGORITHMS).glob("ported*"))
    assert not (checkout / "spec").exists()


def test_the_command_says_what_comes_next(command, kinds):
    crate = kinds.parent / "crate"
    done = command("new-algorithm", "my-kinds", "--crate", str(crate))
    assert (done.returncode, "--crate: expected --from as well" in done.stderr) == (2, True)
    command.directory = REPOSITORY
    done = command("new-algorithm", "my-kinds", "--from", str(kinds), "--crate", str(crate))
    assert done.returncode == 0, done.stderr
    assert f"wrote {crate}/src/lib.rs" in done.stdout
    assert "cargo test" in done.stdout

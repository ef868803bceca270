"""The tables of a run in the browser are those of a native run, byte for byte."""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.browser import REPOSITORY, Browser, measured

import farloop
from farloop import _native
from farloop.results import effects
from farloop.results.page_measures import LABELS
from farloop.studies.sweep.measures import known_measures
from farloop.studies.validation import fluid_cases

pytestmark = pytest.mark.browser
pytest_plugins = ["support.browser_fixtures"]

PRESETS = REPOSITORY / "crates" / "web" / "page" / "presets"
PAPERS = REPOSITORY / "python" / "farloop" / "papers"
RATES = fluid_cases.DIRECTORY

ONE_FLOW = """
[run]
duration = "130ms"
[network]
topology = "dumbbell"
intra_pairs = 1
cross_pairs = 0
rate = "400Gbps"
[switch]
buffer = "60MB"
[transport]
mtu = "9kB"
[algorithm]
name = "fixed"
[[flow]]
from = "s1"
to = "d1"
"""

SCENARIOS: dict[str, tuple[str, dict[str, str]]] = {
    "rdma-inside-and-across": ((PRESETS / "two-flows.toml").read_text("utf-8"), {}),
    "failed-link": ((REPOSITORY / "examples" / "failure.toml").read_text("utf-8"), {}),
    "incast-with-pfc": ((PRESETS / "incast.toml").read_text("utf-8"), {"algorithm.name": "dcqcn"}),
    "random-traffic": ((PRESETS / "two-sites.toml").read_text("utf-8"), {"algorithm.name": "hpcc", "run.duration": "6ms"}),
    "collective": ((PRESETS / "all-reduce.toml").read_text("utf-8"), {"workload.ring.size": "2MB"}),
    "circuits-and-newreno": ((PAPERS / "acceltor" / "fig05.toml").read_text("utf-8"), {"run.duration": "5ms"}),
    "tcp-with-gemini": ((PAPERS / "gemini" / "theorem1.toml").read_text("utf-8"), {"run.duration": "200ms"}),
    "tcp-with-bbr-and-losses": (
        (PRESETS / "near-flows.toml").read_text("utf-8"),
        {"transport.kind": "tcp", "transport.recovery": "rack", "transport.handshake": "true", "transport.delayed_ack": "40ms",
         "algorithm.name": "bbr", "network.bottleneck_loss": "0.001", "switch.pfc": "false"},
    ),
    "receivers-and-detours": ((PAPERS / "mlcc" / "convergence.toml").read_text("utf-8"), {"run.duration": "5ms"}),
    "feedback-in-acks": ((PAPERS / "icc" / "incast.toml").read_text("utf-8"), {"run.duration": "4ms"}),
    "counters-beyond-2^32": (ONE_FLOW, {}),
    "rates-with-telemetry": (
        (PRESETS / "two-sites.toml").read_text("utf-8"),
        {"algorithm.name": "hpcc", "run.duration": "6ms", "run.gear": "fluid"},
    ),
    "rates-with-marks-by-chance-and-pauses": (
        (PRESETS / "incast.toml").read_text("utf-8"), {"algorithm.name": "dcqcn", "run.gear": "fluid"},
    ),
    "rates-of-tcp-with-losses": ((RATES / "incast-tcp.toml").read_text("utf-8"), {"run.gear": "fluid"}),
}  # fmt: skip

IN_THE_BROWSER = """
    globalThis.testing ||= await Engine.start();
    const [text, set] = values;
    const answer = await testing.ask({ ask: "run", text, file: "scenario.toml", set });
    if (answer.error) throw new Error(answer.error.message);
    const hex = (bytes) => Array.from(new Uint8Array(bytes), (one) => one.toString(16).padStart(2, "0")).join("");
    const tables = {};
    for (const [name, columns] of Object.entries(answer.tables)) {
      tables[name] = {};
      for (const [column, { kind, values, words }] of Object.entries(columns)) {
        tables[name][column] = [kind, hex(await crypto.subtle.digest("SHA-256", values)), words ?? null];
      }
    }
    return { tables, totals: answer.totals, wall: answer.wall / 1000 };
"""


def natively(text: str, settings: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any], float]:
    """Tables as digests, totals, and seconds."""
    begin = time.monotonic()
    output = _native.Scenario(text, "scenario.toml", list(settings.items())).run()
    wall = time.monotonic() - begin
    tables = {
        name: {
            column: [kind, hashlib.sha256(values).hexdigest(), words]
            for column, (kind, values, words) in columns.items()
        }
        for name, columns in output.take_tables().items()
    }
    return tables, json.loads(output.info)["totals"], wall


@pytest.mark.parametrize("name", SCENARIOS)
def test_tables_are_equal_byte_for_byte(browser: Browser, name: str):
    text, settings = SCENARIOS[name]
    if browser.driver.current_url == "about:blank" or not browser.js("return typeof Engine === 'function'"):
        browser.open()
    there = browser.later(IN_THE_BROWSER, text, settings)
    here, totals, wall = natively(text, settings)
    steps = "looks" if settings.get("run.gear") == "fluid" else "packet_hops"
    measured(f"{name}: M {steps}, s in the browser, s natively", totals[steps] / 1e6, there["wall"], wall)
    # Columns that a gear lacks have no values natively; the page gets them without numbers.
    lacking = {
        (table, column)
        for table, columns in here.items()
        for column, own in columns.items()
        if own[0].startswith("no ")
    }
    assert bool(lacking) == (steps == "looks")
    for table, column in lacking:
        del here[table][column], there["tables"][table][column]
    assert there["tables"] == here
    assert there["totals"] == totals
    assert totals[steps] > 0


NUMBERS_IN_THE_BROWSER = """
    globalThis.testing ||= await Engine.start();
    const [text, set] = values;
    const answer = await testing.ask({ ask: "run", text, file: "scenario.toml", set });
    if (answer.error) throw new Error(answer.error.message);
    return Object.fromEntries(measured(digest(answer)));
"""


class Compared:
    """Runs as the numbers of comparisons see them."""

    def __init__(self, runs: list[farloop.Run]) -> None:
        self.runs = runs
        self.groups = {"run": runs}
        self.seeds = (1,)


def endless_rates(run: farloop.Run) -> dict[str, float]:
    """Mean throughputs of the flows without a size, by the identifiers of their measures."""
    rates: dict[str, list[float]] = {"intra": [], "cross": []}
    for flow in run.flows.to_pylist():
        if flow["size_bytes"] is None and flow["start_ps"] is not None:
            until = min(run.duration, (flow["stop_ps"] or 1e30) / 1e12)
            rate = 8 * flow["delivered_bytes"] / (until - flow["start_ps"] / 1e12)
            rates["cross" if flow["cross_datacenter"] else "intra"].append(rate)
    return {f"flow_throughput/mean/{kind}/endless": sum(each) / len(each) for kind, each in rates.items() if each}


@pytest.mark.parametrize("name", ["failed-link", "incast-with-pfc", "random-traffic", "tcp-with-bbr-and-losses"])
def test_numbers_of_the_page_are_those_of_python(browser: Browser, tmp_path: Path, name: str):
    text, settings = SCENARIOS[name]
    if browser.driver.current_url == "about:blank" or not browser.js("return typeof Engine === 'function'"):
        browser.open()
    there = browser.later(NUMBERS_IN_THE_BROWSER, text, settings)
    (tmp_path / "scenario.toml").write_text(text, encoding="utf-8")
    run = farloop.run(tmp_path / "scenario.toml", set=settings)
    here = {metric.identifier: metric.measure_run(run) for metric in known_measures().values()}
    here |= {effect.identifier: effect.estimate("run") for effect in effects.effects(Compared([run]))}
    here |= endless_rates(run)
    of_kinds = [of for of in run.summary["slowdown"].values() if of]
    here["flows/finished"] = sum(of["flows"] for of in of_kinds)
    assert set(there) <= set(LABELS)
    assert len(there) > 6
    for identifier, value in there.items():
        assert value == pytest.approx(here[identifier], rel=1e-9), identifier


def test_a_counter_was_beyond_32_bits():
    text, settings = SCENARIOS["counters-beyond-2^32"]
    output = _native.Scenario(text, "scenario.toml", list(settings.items())).run()
    kind, values, _ = output.take_tables()["flows"]["delivered_bytes"]
    assert kind == "i64"
    assert int.from_bytes(values[:8], "little") > 2**32

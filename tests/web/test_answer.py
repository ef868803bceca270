"""The sentences above the charts say what the table says, by the rules of answer.js."""

import re

import pytest
from support.browser import REPOSITORY, Browser
from support.playground_table import open_scenario, shown_table, value_of

pytestmark = pytest.mark.browser
pytest_plugins = ["support.browser_fixtures"]

PRESETS = REPOSITORY / "crates" / "web" / "page" / "presets"

JOB = """
[run]
duration = "2s"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 1
leaves = 1
hosts_per_leaf = 2
rate = "100Gbps"
wan_rate = "100Gbps"
wan_delay = "500us"
[switch]
buffer = "32MB"
pfc = true
[algorithm]
name = "dcqcn"
[[job]]
name = "large"
model = "llama3-8b"
layers = 2
tokens = 256
data = 4
scale = 64
iterations = 2
[record]
interval = "none"
"""


def preset(name: str, **changes: str) -> str:
    """The text of a preset with some of its words replaced."""
    text = (PRESETS / f"{name}.toml").read_text("utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def answer(browser: Browser) -> str:
    return browser.text("verdict").replace("\u00a0", " ")


def test_a_flow_that_starves_is_named_with_its_part(browser: Browser):
    open_scenario(browser, preset("two-flows"), ["dctcp"])
    inside, across = (
        value_of(shown_table(browser)[f"Throughput of a flow {place}, mean"][0]) for place in ("inside", "across")
    )
    part, whole = re.match(r"dctcp starves the flow across: ([\d.]+) of ([\d.]+) Gbit/s\. ", answer(browser)).groups()
    assert float(part) == pytest.approx(across / 1e9, rel=0.01)
    assert float(whole) == pytest.approx((inside + across) / 1e9, rel=0.01)
    assert across < inside / 4
    queue = shown_table(browser)["Longest queue"][0]
    pauses = shown_table(browser)["PFC pauses"][0]
    assert f"The longest queue, {queue}, was at " in answer(browser)
    assert f"{pauses} times PFC paused a port." in answer(browser)


def test_flows_that_share_evenly_are_told_with_the_queue_that_it_costs(browser: Browser):
    open_scenario(browser, preset("near-flows"), ["dctcp"])
    shown = shown_table(browser)
    index, queue = shown["Fairness (Jain's index) of throughputs"][0], shown["Longest queue"][0]
    assert float(index) > 0.95
    assert re.fullmatch(
        rf"dctcp shares evenly \(Jain's index {index}\), but keeps a queue of up to {queue} at left->right, "
        r"[\d.]+ [µm]s of waiting; nothing was dropped\.",
        answer(browser),
    )


def test_an_incast_says_how_many_finished_and_what_was_dropped(browser: Browser):
    open_scenario(browser, preset("incast", **{"pfc = true": "pfc = false"}), ["dcqcn"])
    shown = shown_table(browser)
    dropped, finished = shown["Packets dropped"][0], shown["Flows finished"][0]
    assert value_of(dropped) > 0
    slowdown = shown["FCT slowdown inside, 99th percentile"][0]
    assert re.match(
        rf"Under dcqcn, {finished} of \d+ flows inside finished: p99 FCT slowdown at least {slowdown}\.",
        answer(browser),
    )
    rate = shown["Throughput of an endless flow inside, mean"][0]
    assert f"Beside them, an endless flow inside gets {rate} under dcqcn." in answer(browser)
    assert f"{dropped} packets were dropped" in answer(browser)


def test_a_job_says_what_an_iteration_takes(browser: Browser):
    open_scenario(browser, JOB, ["dcqcn"])
    time = shown_table(browser)["Iteration time of jobs, mean"][0]
    assert re.match(
        rf"Under dcqcn, an iteration of large takes {time}, (as on|[\d.]+ times that on) an ideal network \([\d.]+ .?s\)\.",
        answer(browser),
    )


def test_a_collective_says_what_a_round_takes(browser: Browser, tmp_path):
    import farloop

    text = preset("all-reduce", **{'"8MB"\nrounds': '"1MB"\nrounds'})
    open_scenario(browser, text, ["dctcp"])
    (tmp_path / "scenario.toml").write_text(text, encoding="utf-8")
    rounds = farloop.run(tmp_path / "scenario.toml", algorithm="dctcp").summary["jobs"]["ring"]["rounds_s"]
    time = re.match(r"Under dctcp, an iteration of ring takes ([\d.]+ .?s)\.", answer(browser))[1]
    assert value_of(time) == pytest.approx(sum(rounds) / len(rounds), rel=0.01)


def test_a_run_in_which_no_flow_finishes_or_begins_says_so(browser: Browser):
    text = preset("two-sites")
    short = text.replace('"20ms"\n\n[network]', '"40us"\n\n[network]').replace(
        'interval = "100us"', 'interval = "10us"'
    )
    open_scenario(browser, short, ["dctcp"])
    assert shown_table(browser)["Flows finished"] == ["0"]
    assert re.match(r"Under dctcp, none of \d+ flows finished in the 40 µs simulated\.", answer(browser))
    late = preset("one-far-flow").replace('to = "r1"', 'to = "r1"\nstart = "99ms"').replace('"100ms"', '"90ms"')
    open_scenario(browser, late, ["dctcp"])
    assert answer(browser) == "No flow began in the 90 ms simulated."


def test_one_flow_says_which_part_of_its_link_it_uses(browser: Browser):
    open_scenario(browser, preset("one-far-flow", **{'"12.5MB"': '"4MB"'}), ["fixed"])
    rate = shown_table(browser)["Throughput of a flow across, mean"][0]
    assert re.match(rf"fixed gives the one flow, across, {rate}, and uses \d+ % of its busiest link\.", answer(browser))


def test_of_four_algorithms_each_is_judged_and_nothing_is_called_certain(browser: Browser):
    algorithms = ["gear", "dctcp", "hpcc", "dcqcn"]
    open_scenario(browser, preset("two-flows", **{'"200ms"': '"100ms"'}), algorithms)
    index = dict(
        zip(algorithms, map(float, shown_table(browser)["Fairness (Jain's index) of throughputs"]), strict=True)
    )
    first, *_ = answer(browser).split(". ")
    clauses = re.findall(r"(\w+) (shares|gives|starves)", first)
    order = [name for name, _ in clauses]
    assert sorted(order) == sorted(algorithms)
    assert [index[name] for name in order] == sorted(index.values(), reverse=True), "the evenest first"
    assert all(index[name] >= 0.95 for name, does in clauses if does == "shares")
    assert answer(browser).endswith("This is one seed; --seeds 1-10 in the shell tells which differences last.")
    assert not re.search("significant|always|proves|better", answer(browser))


def test_of_two_algorithms_the_leader_is_named_with_what_it_costs(browser: Browser):
    open_scenario(browser, preset("two-sites"), ["dctcp", "hpcc"])
    shown = shown_table(browser)
    slow = dict(zip(("dctcp", "hpcc"), shown["FCT slowdown inside, 99th percentile"], strict=True))
    leader, other = sorted(slow, key=lambda name: float(slow[name]))
    more = round(100 * (float(slow[other]) / float(slow[leader]) - 1))
    assert (
        f"Inside, {leader} leads: p99 FCT slowdown {slow[leader]}; {other} has {slow[other]} ({more} % more)."
        in answer(browser)
    )


def test_a_lower_bound_leads_nobody(browser: Browser):
    browser.open("#preset=icc/incast")
    slow = shown_table(browser)["FCT slowdown inside, 99th percentile"]
    assert value_of(slow[1]) < value_of(slow[0])
    assert "Inside, no order is known, because flows under dcqcn-2015 did not finish" in answer(browser)
    assert f"p99 FCT slowdown at least {slow[1]} under dcqcn-2015 and {slow[0]} under icc." in answer(browser)
    assert "leads" not in answer(browser)

"""The player in the report of a traced run, opened from the disk."""

import re

import pytest
from support.browser import REPOSITORY, Browser, need

import farloop
from farloop.scenario import Scenario

pytestmark = pytest.mark.browser
pytest_plugins = ["support.browser_fixtures"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of bursts that pause a neighbour, traced from the first of them on."""
    file = REPOSITORY / "crates" / "web" / "page" / "presets" / "incast.toml"
    run = farloop.run(file, algorithm="dcqcn", set={"run.duration": "3ms"}, trace="window=1ms..")
    return run.save(tmp_path_factory.mktemp("traced") / "out") / "report.html"


@pytest.fixture
def opened_report(browser: Browser, report):
    browser.show(report)
    browser.wait(lambda: browser.text("packets-moment"))
    return browser


def moment(browser: Browser) -> tuple[float, int]:
    """The time in ms and the packets on links that it shows."""
    match = re.match(r"([\d.]+) ms, (\d+) packets? on links", browser.text("packets-moment"))
    return float(match[1]), int(match[2])


def inked(browser: Browser) -> int:
    """A number that is another where the picture is."""
    script = """
        const canvas = document.getElementById('packets-map');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let sum = 0;
        for (let i = 0; i < data.length; i++) sum = (31 * sum + data[i]) % 1000003;
        return data.some((one) => one) ? sum : -1;
    """
    return int(browser.js(script))


def test_it_opens_from_the_disk_with_a_picture_and_fetches_nothing(opened_report: Browser):
    assert opened_report.js("return performance.getEntriesByType('resource').length") == 0
    assert inked(opened_report) >= 0
    assert moment(opened_report)[1] > 0
    assert opened_report.complaints() == []
    legend = opened_report.js("return document.getElementById('packets-flows').textContent")
    assert "flows" in legend or "long" in legend


def test_packets_move_and_stop(opened_report: Browser):
    before, picture = moment(opened_report)[0], inked(opened_report)
    opened_report.js("document.getElementById('packets-play').click()")
    assert opened_report.text("packets-play") == "Pause"
    opened_report.wait(lambda: moment(opened_report)[0] > before)
    opened_report.js("document.getElementById('packets-play').click()")
    assert opened_report.text("packets-play") == "Play"
    stopped = moment(opened_report)[0]
    assert inked(opened_report) != picture
    opened_report.later("await new Promise((done) => setTimeout(done, 200))")
    assert moment(opened_report)[0] == stopped


def test_the_speed_is_chosen(opened_report: Browser):
    """Simulated time in 300 ms of playing, by what the list of speeds says."""
    gone = {}
    for speed in ("0.05", "4"):
        gone[speed] = opened_report.later(
            """
            const [speed] = values;
            const $ = (name) => document.getElementById(`packets-${name}`);
            const now = () => parseFloat($("moment").textContent);
            $("time").value = 0;
            $("time").dispatchEvent(new Event("input"));
            $("speed").value = speed;
            $("speed").dispatchEvent(new Event("change"));
            const begin = now();
            $("play").click();
            await new Promise((done) => setTimeout(done, 300));
            $("play").click();
            return now() - begin;
            """,
            speed,
        )
    assert 0 < gone["0.05"] < gone["4"] / 10


def test_the_keyboard_scrubs_and_plays(opened_report: Browser):
    from selenium.webdriver.common.keys import Keys

    slider = opened_report.driver.find_element("id", "packets-time")
    slider.send_keys(Keys.HOME)
    begin = moment(opened_report)[0]
    slider.send_keys(Keys.END)
    end = moment(opened_report)[0]
    assert begin < end
    slider.send_keys(Keys.ARROW_LEFT)
    assert begin < moment(opened_report)[0] < end
    slider.send_keys(Keys.HOME)
    slider.send_keys(" ")
    assert opened_report.text("packets-play") == "Pause"
    opened_report.wait(lambda: moment(opened_report)[0] > begin)
    slider.send_keys(" ")
    assert opened_report.text("packets-play") == "Play"
    # All controls are reached one after the other.
    opened_report.js("document.getElementById('packets-play').focus()")
    reached = []
    for _ in range(2):
        opened_report.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(opened_report.js("return document.activeElement.id"))
    assert reached == ["packets-time", "packets-speed"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits_and_axe_finds_nothing(browser: Browser, report, width: int, dark: bool):
    axe = REPOSITORY / "tests" / "web" / "node_modules" / "axe-core" / "axe.min.js"
    need(None if axe.is_file() else "axe-core is not installed (make test-web)")
    browser.looks(width, dark=dark)
    browser.show(report)
    browser.wait(lambda: browser.text("packets-moment"))
    browser.picture(REPOSITORY / "out" / "web" / f"report-{width}-{'dark' if dark else 'light'}.png")
    assert browser.js("return document.documentElement.scrollWidth") <= width
    right = browser.js(
        "return [...document.querySelectorAll('#packets-player :is(canvas, button, select, input)')]"
        ".map((one) => one.getBoundingClientRect().right)"
    )
    assert max(right) <= width
    browser.js(axe.read_text("utf-8"))
    violations = browser.later(
        "return (await axe.run('#packets-player')).violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 200))])"
    )
    assert violations == []


TWO_KINDS = """\
run.duration = "5ms"
network = { topology = "dumbbell", intra_pairs = 2, cross_pairs = 2, rate = "1Gbps", wan_delay = "100us" }
transport.kind = "tcp"
flow = [{ name = "near", from = "s1", to = "d1" }, { name = "far", from = "s2", to = "r1" }]
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The report of two algorithms, with curves of flows inside and across."""
    comparison = farloop.compare(Scenario.from_text(TWO_KINDS), ["dctcp", "bbr"])
    return comparison.save(tmp_path_factory.mktemp("compared") / "out") / "report.html"


def drawn_curves(browser: Browser) -> dict[str, list[str]]:
    """The axes and the kinds of flows of the curves that a chart over time shows."""
    script = """
        const {data, layout} = document.getElementById("chart-throughput");
        return {axes: [...new Set(data.map(trace => trace.xaxis))], kinds: [...new Set(data.map(trace => trace.meta))].sort(),
          headings: layout.annotations.map(note => note.text), shown: data.filter(trace => trace.showlegend).map(trace => trace.name)};
    """
    return browser.js(script)


def test_a_chart_over_time_shows_one_algorithm_and_one_kind_of_flows(browser: Browser, compared):
    browser.show(compared)
    browser.js("document.getElementById('chart-throughput').scrollIntoView()")
    browser.wait(lambda: browser.js("return !!document.getElementById('chart-throughput')?.layout"))
    assert drawn_curves(browser)["axes"] == ["x", "x2"]
    assert drawn_curves(browser)["kinds"] == ["cross", "intra"]
    choose = """
        const select = document.getElementById("chart-throughput").closest("[data-filters]").querySelector(`[data-filter=${arguments[0]}]`);
        select.value = arguments[1];
        select.dispatchEvent(new Event("change"));
    """
    browser.js(choose, "panel", "bbr")
    browser.wait(lambda: drawn_curves(browser)["headings"] == ["bbr"])
    assert drawn_curves(browser)["axes"] == ["x"]
    browser.js(choose, "kind", "cross")
    browser.wait(lambda: drawn_curves(browser)["kinds"] == ["cross"])
    assert drawn_curves(browser)["shown"], "the legend has the curves that are left"
    browser.js(choose, "panel", "")
    browser.wait(lambda: drawn_curves(browser)["axes"] == ["x", "x2"])
    assert browser.complaints() == []

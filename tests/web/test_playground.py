"""What visitors do on the playground."""

import json
import re

import pytest
from support.browser import REPOSITORY, Browser, measured, need

pytestmark = pytest.mark.browser
pytest_plugins = ["support.browser_fixtures"]

PRESETS = [
    preset["id"] for preset in json.loads((REPOSITORY / "crates" / "web" / "page" / "presets.json").read_text("utf-8"))
]


def test_the_first_picture_is_there_soon_and_nothing_was_fetched(browser: Browser):
    browser.open(answered=False)
    took = browser.wait(lambda: browser.js("return document.querySelectorAll('#charts canvas').length"))
    measured("first picture, s", took)
    browser.wait(browser.answers)
    fetched = (
        "performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith('blob:'))"
    )
    assert browser.js(f"return {fetched}") == []
    assert browser.js("return document.cookie + localStorage.length") == "0"
    assert browser.complaints() == []


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_answers(browser: Browser, preset: str):
    browser.open(f"#preset={preset}")
    assert not browser.refusal()
    assert not browser.problem()
    hops = browser.text("status")
    million = float(re.match(r"([\d.]+) million packet-hops", hops)[1])
    assert 0.05 < million < 10.5, "two runs of five million packet-hops at most, and something happens"
    assert browser.js("return document.querySelectorAll('.panel canvas').length") > 0
    assert browser.js("return document.querySelectorAll('#numbers tbody tr').length") > 3
    assert re.search(r"\d", browser.text("verdict")), "the answer says a number"
    assert not re.search("NaN|Infinity|undefined|null", browser.text("verdict"))
    assert browser.complaints() == []
    # What a change takes: another seed, for every algorithm that is compared.
    before, text = browser.answers(), re.sub(r"(?m)^seed = .*\n", "", browser.toml())
    changed = re.sub(r"(?m)^\[run\]\n", "[run]\nseed = 7\n", text, count=1)
    assert changed != text
    browser.write(changed)
    took = browser.wait(lambda: browser.answers() > before)
    algorithms = browser.js("return document.querySelectorAll('#replayed option').length")
    measured(f"{preset}: a changed answer, s; algorithms", took, algorithms)


def test_packets_move_on_the_map(browser: Browser):
    browser.open("#preset=two-flows")
    browser.wait(lambda: browser.js("return document.body.dataset.recorded"))
    before = browser.text("moment")
    browser.js("document.getElementById('play').click()")
    browser.wait(lambda: browser.text("moment") != before)
    assert browser.text("play") == "Pause"
    browser.js("document.getElementById('play').click()")
    assert browser.text("play") == "Play"
    assert int(re.search(r"(\d+) packets on links", browser.text("moment"))[1]) > 0


def test_a_slider_changes_a_key_of_the_text_and_the_answer(browser: Browser):
    from selenium.webdriver.common.keys import Keys

    browser.open("#preset=two-flows")
    before, numbers = browser.answers(), browser.text("numbers")
    slider = browser.driver.find_element("id", "control-network-wan_delay")
    slider.send_keys(Keys.ARROW_LEFT)
    browser.wait(lambda: browser.answers() > before)
    assert 'wan_delay = "2ms"' in browser.toml()
    assert "# A flow inside a datacenter" in browser.toml(), "comments stay"
    assert browser.text("numbers") != numbers
    # Whoever moved it with the keyboard still has it.
    assert browser.js("return document.activeElement.id") == "control-network-wan_delay"


def test_controls_are_keys_with_unit_and_meaning(browser: Browser):
    browser.open("#preset=two-sites")
    shown = browser.js(
        "return [...document.querySelectorAll('#controls .control')].map((one) => [one.title, "
        "(one.querySelector('output') || {}).textContent || ''])"
    )
    assert len(shown) > 6
    assert all(re.match(r"[a-z_]+\.[\w.]+(, [\w.]+)*: \w.+", title) for title, _ in shown), shown
    assert any(title.startswith("workload.web.load: ") for title, _ in shown)
    assert ["8MB" in value for title, value in shown if title.startswith("switch.buffer")] == [True]


def test_what_is_wrong_is_shown_at_its_line(browser: Browser):
    browser.open("#preset=two-flows")
    good, before = browser.toml(), browser.answers()
    line = good.split("\n").index('bottleneck_rate = "10Gbps"') + 1
    browser.write(good.replace("bottleneck_rate", "bottelneck_rate"))
    browser.wait(browser.problem)
    assert browser.problem().startswith(
        f'scenario.toml:{line}: network.bottelneck_rate: unknown key; did you mean "bottleneck_rate"?'
    )
    assert browser.js("return document.querySelector('#lines .wrong').textContent") == str(line)
    assert browser.js("return document.getElementById('toml').getAttribute('aria-invalid')") == "true"
    browser.write(good)
    browser.wait(lambda: browser.answers() > before)
    assert not browser.problem()


def test_the_editor_completes_keys_and_values(browser: Browser):
    from selenium.webdriver.common.keys import Keys

    browser.open("#preset=two-flows")
    area = browser.driver.find_element("id", "toml")
    browser.write("[switch]\nkm")
    area.click()
    area.send_keys(Keys.CONTROL, Keys.END)
    area.send_keys("i")
    offered = browser.js("return [...document.querySelectorAll('#completions code')].map((one) => one.textContent)")
    assert offered == ["kmin"]
    area.send_keys(Keys.ENTER)
    assert browser.toml() == "[switch]\nkmin = "
    browser.write('[algorithm]\nname = "gemi')
    area.send_keys(Keys.CONTROL, Keys.END)
    area.send_keys(Keys.CONTROL, " ")
    area.send_keys(Keys.ENTER)
    assert browser.toml() == '[algorithm]\nname = "gemini"'


def test_a_link_brings_the_same_scenario_back(browser: Browser):
    browser.open("#preset=two-flows")
    browser.write(browser.toml().replace('"5ms"', '"7ms"'))
    browser.wait(lambda: browser.answers() > 1)
    browser.js("document.getElementById('share').click()")
    browser.wait(lambda: browser.text("shared"))
    fragment = browser.js("return location.hash")
    text, numbers = browser.toml(), browser.text("numbers")
    browser.open(fragment)
    assert browser.toml() == text
    without_time = [re.sub(r"Seconds of simulating.*", "", shown) for shown in (browser.text("numbers"), numbers)]
    assert without_time[0] == without_time[1]
    # A link that somebody has broken is no error: the first preset is there.
    browser.open("#s=broken")
    assert 'title = "Two flows' in browser.toml()


def test_a_long_run_shows_progress_and_is_cancelled(browser: Browser):
    browser.open("#preset=two-flows")
    before = browser.answers()
    # Half a minute or so, which is not too long to begin.
    browser.write(browser.toml().replace('"200ms"', '"4s"').replace('interval = "1ms"', 'interval = "20ms"'))
    browser.wait(browser.running)
    browser.js("document.getElementById('cancel').click()")
    assert browser.text("status") == "Cancelled."
    assert browser.js("return document.getElementById('running').hidden")
    # The next change is answered, and a change cancels what runs by itself.
    browser.write(browser.toml().replace('"4s"', '"5s"'))
    browser.wait(browser.running)
    browser.write(browser.toml().replace('"5s"', '"100ms"'))
    browser.wait(lambda: browser.answers() > before)
    assert float(re.match(r"([\d.]+) million", browser.text("status"))[1]) < 2


def test_what_takes_too_long_or_too_much_memory_is_refused_with_the_command(browser: Browser):
    browser.open("#preset=two-flows")
    good = browser.toml()
    browser.write(good.replace('"200ms"', '"3600s"').replace('interval = "1ms"', 'interval = "1s"'))
    browser.wait(browser.refusal)
    said = r"would take about [\d.]+ (minutes|hours|days) here: [\d\s]+ million packet-hops .* In the shell: farloop compare scenario.toml"
    assert re.search(said, browser.refusal())
    assert browser.text("anyway")
    browser.write(
        good.replace('wan_delay = "5ms"', 'wan_delay = "10s"').replace('"200ms"', '"60s"').replace('"40ms"', '"60s"')
    )
    browser.wait(lambda: "memory" in browser.refusal())
    assert re.search(r"would need [\d.]+ GB of memory.* In the shell: farloop compare", browser.refusal())


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone(browser: Browser, dark: bool):
    for width in (390, 1440):
        browser.looks(width, dark=dark)
        browser.open("#preset=two-flows")
        browser.wait(lambda: browser.js("return document.body.dataset.recorded"))
        browser.picture(REPOSITORY / "out" / "web" / f"playground-{width}-{'dark' if dark else 'light'}.png")
        assert browser.js("return document.documentElement.scrollWidth") <= width
        widest = browser.js(
            "return [...document.querySelectorAll('.chart canvas, select, button, #map')]"
            ".filter((one) => one.offsetParent).map((one) => one.getBoundingClientRect().right)"
        )
        assert max(widest) <= width


def test_the_keyboard_reaches_everything_and_leaves_the_editor(browser: Browser):
    from selenium.webdriver.common.keys import Keys

    browser.open("#preset=two-flows")
    browser.wait(lambda: browser.js("return document.body.dataset.recorded"))
    reached = []
    for _ in range(60):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.js("return document.activeElement.id"))
        if reached[-1] == "python":
            break
    for name in (
        "preset",
        "algorithm-0",
        "control-switch-buffer",
        "control-switch-pfc",
        "play",
        "from",
        "toml",
        "share",
        "python",
    ):
        assert name in reached
    assert reached.index("preset") < reached.index("control-switch-buffer") < reached.index("toml")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("fragment", ["#preset=two-flows", "#preset=guide/pfc-1&embed"])
def test_axe_finds_nothing(browser: Browser, dark: bool, fragment: str):
    axe = REPOSITORY / "tests" / "web" / "node_modules" / "axe-core" / "axe.min.js"
    need(None if axe.is_file() else "axe-core is not installed (make test-web)")
    browser.looks(dark=dark)
    browser.open(fragment)
    browser.js(axe.read_text("utf-8"))
    violations = browser.later(
        "return (await axe.run()).violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 200))])"
    )
    assert violations == []
    if "embed" not in fragment:
        browser.write(browser.toml().replace("[run]", "[ruin]"))
        browser.wait(browser.problem)
        violations = browser.later("return (await axe.run()).violations.map((one) => [one.id, one.nodes.length])")
        assert violations == []


def test_another_page_shows_a_live_run_alone(browser: Browser):
    browser.open("#preset=guide/bdp-1&embed")
    shown = browser.js(
        "return ['toml', 'preset', 'charts', 'open', 'control-network-wan_delay']"
        ".filter((id) => document.getElementById(id).getClientRects().length)"
    )
    assert shown == ["charts", "open", "control-network-wan_delay"]
    assert (
        browser.js("return document.getElementById('open').getAttribute('href')")
        == "playground.html#preset=guide/bdp-1"
    )


def test_the_estimate_is_near_what_runs(browser: Browser):
    for preset in ("two-flows", "two-sites", "failed-link", "all-reduce", "mlcc/convergence"):
        browser.open(f"#preset={preset}")
        estimated = float(browser.js("return document.body.dataset.estimated"))
        line = (
            "[...document.querySelectorAll('#numbers tr')].find((tr) => tr.children[0].textContent === 'Packet-hops')"
        )
        hops = float(re.sub(r"\D", "", browser.js(f"return {line}.children[1].textContent")))
        assert 0.8 < estimated / hops < 2, (preset, estimated, hops)


def test_a_network_of_very_many_hosts_is_refused_before_it_runs(browser: Browser):
    browser.open("#preset=two-sites")
    before = browser.answers()
    many = browser.toml().replace("hosts_per_leaf = 4", "hosts_per_leaf = 256").replace("leaves = 2", "leaves = 64")
    browser.write(many.replace("pfc = true", "pfc = false"))
    browser.wait(browser.refusal)
    assert re.search(r"would take about [\d.]+ minutes here.* farloop compare scenario.toml", browser.refusal())
    assert browser.answers() == before
    assert not browser.running()


def test_what_the_estimate_misses_is_stopped_soon(browser: Browser):
    """Windows that never fill their paths are estimated too long, not too short: the limit of a run is asked for itself."""
    browser.open("#preset=two-flows")
    text = browser.toml().replace('"200ms"', '"60s"').replace('interval = "1ms"', 'interval = "100ms"')
    answer = browser.later(
        """
        const engine = await Engine.start();
        const begin = performance.now();
        const request = { ask: "run", text: values[0], file: "scenario.toml", set: {} };
        const { error } = await engine.ask(request, { limit: 5000 });
        return { left: error.left, after: performance.now() - begin };
        """,
        text,
    )
    assert answer["left"] > 5000
    assert answer["after"] < 10_000


def test_a_file_is_refused_at_its_line_with_what_to_do(browser: Browser):
    browser.open("#preset=two-sites")
    text = browser.toml().replace('sizes = "websearch"', 'sizes = "of-tonight.csv"')
    browser.write(text)
    browser.wait(browser.problem)
    line = text.split("\n").index('sizes = "of-tonight.csv"') + 1
    assert browser.problem().startswith(f"scenario.toml:{line}: workload.web.sizes: names the file of-tonight.csv")
    assert "a page reads no files" in browser.problem()
    assert browser.problem().endswith("run it in the shell: farloop run scenario.toml")
    assert browser.js("return document.querySelector('#lines .wrong').textContent") == str(line)


def test_a_live_run_is_as_dark_as_the_page_around_and_as_high_as_it_needs(browser: Browser, tmp_path):
    """The page around is one with the site's script, and what mkdocs-material's toggle changes."""
    from support.browser import PAGE

    script = (REPOSITORY / "scripts" / "site" / "live-runs.js").read_text("utf-8")
    around = tmp_path / "around.html"
    around.write_text(
        f"""<!DOCTYPE html><html><head><meta charset="utf-8"><script>{script}</script></head>
        <body data-md-color-scheme="slate">
        <iframe class="live" width="900" height="200" src="{PAGE.as_uri()}#embed&preset=guide/bdp-1"></iframe>
        </body></html>""",
        encoding="utf-8",
    )
    browser.show(around)

    def inside(wanted: str) -> object:
        browser.driver.switch_to.frame(0)
        try:
            return browser.js(f"return {wanted}")
        finally:
            browser.driver.switch_to.default_content()

    def page_is(colour: str) -> bool:
        return inside("getComputedStyle(document.body).backgroundColor") == colour

    # The system is light.
    browser.wait(lambda: page_is("rgb(20, 24, 31)"))
    browser.js("document.body.dataset.mdColorScheme = 'default'")
    browser.wait(lambda: page_is("rgb(255, 255, 255)"))
    browser.looks(dark=True)
    assert page_is("rgb(255, 255, 255)")
    browser.js("document.body.dataset.mdColorScheme = 'slate'")
    browser.wait(lambda: page_is("rgb(20, 24, 31)"))
    browser.wait(lambda: inside("document.querySelectorAll('.panel canvas').length") > 0)
    browser.wait(lambda: inside("document.documentElement.scrollHeight - innerHeight") <= 0)
    assert browser.js("return document.querySelector('iframe').offsetHeight") > 300

"""The playground on a phone: charts and answer first, the control in reach, and nothing of a scenario that was refused."""

import pytest
from support.browser import REPOSITORY, Browser, need
from support.playground_table import open_scenario

pytestmark = pytest.mark.browser
pytest_plugins = ["support.browser_fixtures"]

HEIGHT = 844

PLACES = """
const place = (name) => document.querySelector(name).getBoundingClientRect().toJSON();
return Object.fromEntries(Object.entries(arguments[0]).map(([name, where]) => [name, place(where)]));
"""


def places(browser: Browser, **where: str) -> dict[str, dict[str, float]]:
    return browser.js(PLACES, where)


@pytest.fixture
def phone(browser: Browser) -> Browser:
    browser.looks(390, HEIGHT)
    browser.open("#preset=two-flows")
    return browser


def test_a_moved_control_shows_its_effect_without_scrolling(phone: Browser):
    from selenium.webdriver.common.keys import Keys

    boxes = places(
        phone, answer="#verdict strong", chart="#charts .chart", sheet="#question", slider="#controls .last input"
    )
    assert 0 <= boxes["answer"]["top"] < boxes["chart"]["top"] < boxes["chart"]["bottom"] < boxes["sheet"]["top"]
    assert boxes["slider"]["bottom"] <= HEIGHT
    before, said = phone.answers(), phone.text("verdict")
    phone.driver.find_element("css selector", "#controls .last input").send_keys(Keys.ARROW_LEFT)
    phone.wait(lambda: phone.answers() > before)
    assert phone.js("return scrollY") == 0
    assert phone.text("verdict") != said
    boxes = places(phone, chart="#charts .chart", sheet="#question")
    assert 0 <= boxes["chart"]["top"] < boxes["chart"]["bottom"] < boxes["sheet"]["top"]


def test_all_controls_are_a_sheet_that_leaves_the_chart_in_sight(phone: Browser):
    from selenium.webdriver.common.keys import Keys

    phone.js("document.getElementById('sheet').click()")
    assert phone.js("return document.getElementById('sheet').getAttribute('aria-expanded')") == "true"
    boxes = places(phone, chart="#charts .chart", sheet="#question")
    assert boxes["sheet"]["height"] <= 0.45 * HEIGHT + 1
    assert 0 <= boxes["chart"]["top"] < boxes["chart"]["bottom"] < boxes["sheet"]["top"]
    before = phone.answers()
    buffer = phone.driver.find_element("id", "control-switch-buffer")
    buffer.send_keys(Keys.ARROW_LEFT)
    phone.wait(lambda: phone.answers() > before)
    phone.js("document.getElementById('sheet').click()")
    assert phone.js(
        "return [...document.querySelectorAll('#controls input')].filter((one) => one.offsetParent).map((one) => one.id)"
    ) == ["control-switch-buffer"], "closed, the sheet is the control that was moved last"


def test_a_lesson_on_a_phone_scrolls_to_what_a_control_changes(browser: Browser):
    from selenium.webdriver.common.keys import Keys

    browser.looks(390, HEIGHT)
    browser.open("#lesson=far-flow", answered=False)
    browser.wait(lambda: browser.js("return document.querySelectorAll('#controls .control').length"))
    browser.js("document.querySelector('#lesson-answers button').click()")
    browser.wait(lambda: browser.answers() > 0)
    browser.driver.find_element("css selector", "#controls .last input").send_keys(Keys.ARROW_LEFT)
    browser.wait(lambda: browser.answers() > 1)
    boxes = places(browser, chart="#charts .chart", sheet="#question")
    assert 0 <= boxes["chart"]["top"] < boxes["chart"]["bottom"] < boxes["sheet"]["top"]


def test_the_table_follows_the_first_chart(phone: Browser):
    boxes = places(phone, first="#charts", table="#numbers", more="#more-charts")
    assert boxes["first"]["bottom"] <= boxes["table"]["top"] < boxes["table"]["bottom"] <= boxes["more"]["top"]
    assert phone.js("return document.querySelectorAll('#charts .panel').length") == 1


def test_what_is_touched_is_large_enough_and_nothing_is_wider_than_the_screen(phone: Browser):
    phone.js("document.getElementById('sheet').click()")
    small = phone.js(
        "return [...document.querySelectorAll('button, select, input, summary, h1 a')].filter((one) => one.getClientRects().length)"
        ".map((one) => [one.id || one.textContent, one.getBoundingClientRect().height]).filter(([, height]) => height < 40)"
    )
    assert small == []
    assert phone.js("return document.documentElement.scrollWidth") <= 390


def test_a_dragged_slider_stays_the_same_element_and_its_last_place_counts(browser: Browser):
    browser.open("#preset=two-flows")
    before = browser.answers()
    browser.js(
        "window.held = document.getElementById('control-switch-buffer');"
        "for (const at of [2, 3, 1]) { held.value = at; held.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    browser.wait(lambda: browser.answers() > before)
    assert browser.js("return held.isConnected")
    shown = browser.js("return held.getAttribute('aria-valuetext')")
    assert f'buffer = "{shown}"' in browser.toml()


def test_the_first_screen_of_a_desktop_has_answer_controls_and_chart(browser: Browser):
    browser.looks(1440, 900)
    browser.open("#preset=two-flows")
    boxes = places(browser, answer="#verdict strong", control="#controls .control:last-child", chart="#charts .panel")
    assert all(box["bottom"] < 900 for box in boxes.values()), boxes


REFUSED = {
    "too long": lambda text: text.replace('"200ms"', '"3600s"').replace('interval = "1ms"', 'interval = "1s"'),
    "too much memory": lambda text: (
        text.replace('wan_delay = "5ms"', 'wan_delay = "10s"').replace('"200ms"', '"60s"').replace('"40ms"', '"60s"')
    ),
    "an error": lambda text: text.replace("bottleneck_rate", "bottelneck_rate"),
    "no TOML": lambda text: text + "\n[run",
    "a file": lambda text: text + '\n[[workload]]\npattern = "list"\nfile = "flows.csv"\n',
}


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("why", REFUSED)
def test_nothing_of_the_scenario_before_stays_beside_a_refusal(browser: Browser, why: str, width: int):
    browser.looks(width, HEIGHT)
    browser.open("#preset=two-flows")
    browser.wait(lambda: browser.js("return document.body.dataset.recorded"))
    place = places(browser, answer="#verdict")["answer"]
    good = browser.toml()
    browser.write(REFUSED[why](good))
    browser.wait(browser.refusal)
    left = browser.js(
        "return ['verdict', 'charts', 'more-charts', 'numbers', 'map', 'status'].filter((id) => {"
        "const one = document.getElementById(id); return one.getClientRects().length && (one.textContent || one.id === 'map'); })"
    )
    assert left == []
    assert browser.js("return document.querySelectorAll('.chart').length") == 0
    refusal = places(browser, refusal="#refusal")["refusal"]
    assert abs(refusal["top"] - place["top"]) < 60 or (refusal["top"] >= 0 and refusal["bottom"] <= HEIGHT), (
        "where the answer was"
    )
    before = browser.answers()
    browser.write(good)
    browser.wait(lambda: browser.answers() > before)
    assert not browser.refusal()
    assert browser.text("verdict")


def test_a_cancelled_run_leaves_nothing_either(browser: Browser):
    browser.open("#preset=two-flows")
    browser.write(browser.toml().replace('"200ms"', '"4s"').replace('interval = "1ms"', 'interval = "20ms"'))
    browser.wait(browser.running)
    browser.js("document.getElementById('cancel').click()")
    assert not browser.text("verdict")
    assert browser.js("return document.getElementById('results').hidden")
    assert browser.text("anyway")


def test_a_shared_scenario_has_its_answer(browser: Browser):
    browser.looks(390, HEIGHT)
    open_scenario(
        browser,
        '[run]\nduration = "5ms"\n[network]\ntopology = "dumbbell"\n[[flow]]\nfrom = "s1"\nto = "d1"\n',
        ["dctcp"],
    )
    assert browser.text("verdict").startswith("dctcp gives the one flow, inside, ")


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_on_a_phone(browser: Browser, dark: bool):
    axe = REPOSITORY / "tests" / "web" / "node_modules" / "axe-core" / "axe.min.js"
    need(None if axe.is_file() else "axe-core is not installed (make test-web)")
    browser.looks(390, HEIGHT, dark=dark)
    browser.open("#preset=incast")
    browser.js("document.getElementById('sheet').click()")
    browser.js(axe.read_text("utf-8"))
    look = "return (await axe.run()).violations.map((part) => [part.id, part.nodes.map((node) => node.html.slice(0, 200))])"
    assert browser.later(look) == []
    browser.write(browser.toml().replace("[run]", "[ruin]"))
    browser.wait(browser.refusal)
    assert browser.later(look) == []

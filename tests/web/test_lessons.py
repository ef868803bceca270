"""Lessons ask first, run then, and judge the guess by the numbers of the table."""

import json
from typing import Any

import pytest
from support.browser import REPOSITORY, Browser, need
from support.playground_table import shown_table, value_of

pytestmark = pytest.mark.browser
pytest_plugins = ["support.browser_fixtures"]

PAGE = REPOSITORY / "crates" / "web" / "page"
LESSONS = {lesson["id"]: lesson for lesson in json.loads((PAGE / "lessons.json").read_text("utf-8"))}
LABELS = {row["measure"]: row["label"] for row in json.loads((PAGE / "measures.json").read_text("utf-8"))}


def open_lesson(browser: Browser, name: str) -> None:
    browser.open(f"#lesson={name}", answered=False)
    browser.wait(lambda: browser.js("return document.querySelectorAll('#controls .control').length"))


def take(browser: Browser, place: int) -> None:
    browser.js("document.querySelectorAll('#lesson-answers button')[arguments[0]].click()", place)


def right(browser: Browser) -> list[int]:
    return browser.js(
        "return [...document.querySelectorAll('#lesson-answers button')].map((one, at) => (one.matches('.right') ? at : -1))"
        ".filter((at) => at >= 0)"
    )


def expected(browser: Browser, rule: dict[str, Any]) -> int:
    """The right answer by the numbers that the table shows."""
    shown = shown_table(browser)

    def number(at: dict[str, Any]) -> float:
        return value_of(shown[LABELS[at["measure"]]][at.get("run", 0)])

    value = number(rule["of"]) / (number(rule["over"]) if "over" in rule else 1.0)
    return sum(value >= limit for limit in rule["bands"])


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_asks_first_and_judges_by_its_numbers(browser: Browser, name: str):
    lesson = LESSONS[name]
    open_lesson(browser, name)
    assert browser.text("lesson-question") == lesson["question"]
    assert (
        browser.js("return [...document.querySelectorAll('#lesson-answers button')].map((one) => one.textContent)")
        == lesson["answers"]
    )
    shown = "return ['results', 'question', 'lesson-after'].filter((id) => document.getElementById(id).getClientRects().length)"
    assert browser.js(shown) == []
    assert browser.answers() == 0, "nothing runs before an answer"
    assert not browser.text("verdict")
    take(browser, 0)
    browser.wait(lambda: browser.answers() > 0)
    assert right(browser) == [expected(browser, lesson["rule"])]
    assert browser.text("lesson-result").startswith("As you said." if right(browser) == [0] else "Not as you said")
    for at in (lesson["rule"]["of"], lesson["rule"].get("over", lesson["rule"]["of"])):
        assert shown_table(browser)[LABELS[at["measure"]]][at.get("run", 0)] in browser.text("lesson-result")
    assert browser.js("return document.getElementById('lesson-page').getAttribute('href')") == lesson["page"]
    assert browser.js("return document.querySelector('#controls .last input').dataset.key") == lesson["change"]["key"]
    assert browser.complaints() == []


def test_a_changed_run_is_judged_again(browser: Browser):
    """Both round trips are short after the change: what was right before is not any more."""
    open_lesson(browser, "far-flow")
    take(browser, 0)
    browser.wait(lambda: browser.answers() > 0)
    before = right(browser)
    browser.write(browser.toml().replace('wan_delay = "5ms"', 'wan_delay = "10us"'))
    browser.wait(lambda: browser.answers() > 1)
    assert right(browser) == [expected(browser, LESSONS["far-flow"]["rule"])] != before


def test_a_refusal_takes_back_what_a_lesson_said(browser: Browser):
    open_lesson(browser, "far-flow")
    take(browser, 0)
    browser.wait(lambda: browser.answers() > 0)
    browser.write(browser.toml().replace("[run]", "[ruin]"))
    browser.wait(browser.refusal)
    assert right(browser) == []
    assert not browser.text("lesson-result")


def test_a_keyboard_answers_and_goes_on_to_the_next_question(browser: Browser):
    from selenium.webdriver.common.keys import Keys

    open_lesson(browser, "far-flow")
    for _ in range(12):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        if browser.js("return document.activeElement.className") == "answer":
            break
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    browser.wait(lambda: browser.answers() > 0)
    assert browser.js("return document.activeElement.getAttribute('aria-pressed')") == "true", "the focus stays"
    browser.driver.find_element("id", "lesson-next").send_keys(Keys.ENTER)
    second = list(LESSONS.values())[1]
    browser.wait(lambda: browser.text("lesson-question") == second["question"])
    assert browser.js("return document.activeElement.id") == "lesson-title"
    assert browser.js("return document.getElementById('preset').selectedOptions[0].textContent") == second["title"]


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_in_a_lesson(browser: Browser, dark: bool):
    axe = REPOSITORY / "tests" / "web" / "node_modules" / "axe-core" / "axe.min.js"
    need(None if axe.is_file() else "axe-core is not installed (make test-web)")
    browser.looks(390, 844, dark=dark)
    open_lesson(browser, "pfc-victim")
    browser.js(axe.read_text("utf-8"))
    look = (
        "return (await axe.run()).violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 200))])"
    )
    assert browser.later(look) == []
    take(browser, 0)
    browser.wait(lambda: browser.answers() > 0)
    assert browser.later(look) == []

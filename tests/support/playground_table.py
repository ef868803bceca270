"""Numbers as the playground shows them."""

import re

from support.browser import Browser

PREFIXES = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "m": 1e-3, "µ": 1e-6, "n": 1e-9, "p": 1e-12}


def shown_table(browser: Browser) -> dict[str, list[str]]:
    """The cells of the table of numbers by the label of their row."""
    rows = browser.js(
        "return [...document.querySelectorAll('#numbers tbody tr')].map((tr) => [...tr.children].map((td) => td.textContent))"
    )
    return {label: cells for label, *cells in rows}


def value_of(text: str) -> float:
    """The value of a text such as "1.03 Gbit/s", "401 kB" or "1 228 780"."""
    match = re.fullmatch(r"([\d.\u2009]+)(?: ([TGMkmµnp]?)(?:bit/s|B|s))?", text)
    assert match, text
    return float(match[1].replace("\u2009", "")) * PREFIXES[match[2] or ""]


def open_scenario(browser: Browser, text: str, algorithms: list[str], *, answered: bool = True) -> None:
    """Opens a scenario under some algorithms by the link that shares it."""
    if browser.driver.current_url == "about:blank" or not browser.js("return typeof packed === 'function'"):
        browser.open()
    fragment = browser.later("return packed(values[0])", {"text": text, "algorithms": algorithms})
    browser.open(f"#{fragment}", answered=answered)

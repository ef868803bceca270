"""The playground in a real browser: Debian's chromium, driven by selenium. `make test-web` builds the page and runs these."""

import base64
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "out" / "web" / "playground.html"

REQUIRED = "FARLOOP_WEB_REQUIRED"
"""Where this is set all programs are to be there, and a test that lacks one fails (.ci/run sets it where it may install them)."""

PATIENCE = 120
"""Seconds that a page may take for anything; a machine that does much else is slow."""


def lacking(page: Path = PAGE) -> str | None:
    """What is missing for tests of a page in a browser."""
    if not page.is_file():
        return "out/web/playground.html is not built (make web)"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is missing (scripts/web-tools.sh)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed (make test-web)"
    return None


def need(what: str | None) -> None:
    """Ends a test where something is missing that can be installed."""
    if what is None:
        return
    if os.environ.get(REQUIRED):
        pytest.fail(f"{what}, and {REQUIRED} is set", pytrace=False)
    pytest.skip(what)


def measured(what: str, *values: float) -> None:
    """Keeps a measured figure in out/web/measured.txt."""
    with (PAGE.parent / "measured.txt").open("a", encoding="utf-8") as file:
        file.write(f"{what}: {', '.join(f'{value:.3g}' for value in values)}\n")


class Browser:
    """A browser with the playground in it."""

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(PATIENCE)
        self.looks()

    def looks(self, width: int = 1440, height: int = 1000, *, dark: bool = False) -> None:
        """Makes the window so wide and the system's colours so."""
        phone = width < 600
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, fragment: str = "", *, answered: bool = True) -> None:
        """Opens the page anew, from the disk, and waits for its answer."""
        self.driver.get("about:blank")
        self.driver.get(f"{PAGE.as_uri()}{fragment}")
        if answered:
            self.wait(lambda: self.answers() > 0 or self.refusal() or self.problem())

    def show(self, file: Path) -> None:
        """Opens another page, from the disk."""
        self.driver.get("about:blank")
        self.driver.get(file.as_uri())

    def js(self, script: str, *values: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *values)

    def later(self, script: str, *values: Any) -> Any:
        """What an asynchronous function returns."""
        wrapped = f"""
            const done = arguments[arguments.length - 1];
            (async (...values) => {{ {script} }})(...Array.from(arguments).slice(0, -1))
                .then((found) => done({{found}}), (error) => done({{error: String(error)}}));
        """
        answer = self.driver.execute_async_script(wrapped, *values)
        assert "error" not in answer, answer
        return answer.get("found")

    def wait(self, holds: Callable[[], Any], seconds: float = PATIENCE) -> float:
        """Waits until something holds; how long that took."""
        begin = time.monotonic()
        while not holds():
            assert time.monotonic() - begin < seconds, self.state()
            time.sleep(0.02)
        return time.monotonic() - begin

    def answers(self) -> int:
        """How often the page has answered since it was opened."""
        return int(self.js("return document.body.dataset.answered || 0"))

    def text(self, name: str) -> str:
        """The text of an element, empty where it is hidden."""
        return str(
            self.js("const e = document.getElementById(arguments[0]); return e.hidden ? '' : e.textContent", name)
        )

    def refusal(self) -> str:
        """What the page refuses."""
        return self.text("refusal")

    def problem(self) -> str:
        """What it says of the scenario's text."""
        return self.text("problem")

    def state(self) -> dict[str, str]:
        """What it says."""
        return {name: self.text(name) for name in ("status", "refusal", "problem", "progress-text")}

    def running(self) -> bool:
        """Whether it shows the progress of a run."""
        return "simulated" in self.text("running")

    def toml(self) -> str:
        """The scenario's text."""
        return str(self.js("return document.getElementById('toml').value"))

    def write(self, text: str) -> None:
        """Gives the scenario another text, as if it had been typed."""
        self.js(
            "const e = document.getElementById('toml'); e.value = arguments[0]; e.dispatchEvent(new Event('input'))",
            text,
        )

    def picture(self, place: Path) -> None:
        """Keeps a picture of the whole page."""
        sizes = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": sizes["width"], "height": min(sizes["height"], 6000), "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip}
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """What the browser has complained of since this was asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

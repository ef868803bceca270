"""A browser for all tests of the playground."""

from collections.abc import Iterator

import pytest

from support.browser import Browser, lacking, need


@pytest.fixture(scope="session")
def opened() -> Iterator[Browser]:
    """One browser for all tests of a process."""
    need(lacking())
    browser = Browser()
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(opened: Browser) -> Browser:
    """A browser as wide as a desk's, in light colours."""
    opened.looks()
    opened.complaints()
    return opened

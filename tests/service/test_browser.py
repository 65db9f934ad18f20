"""The browser that tests share leaves other tests of the same process alone."""

import asyncio

import pytest

pytest.importorskip("playwright", reason="the page is tested in a browser: `make test-browser`")
from browser import CHROMIUM

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium is installed; install one and run `make test-browser`"
)


def test_between_two_uses_of_the_browser_coroutines_can_be_run(browser_in_use):
    for text in ("one", "other"):
        assert asyncio.run(asyncio.sleep(0, text)) == text
        with browser_in_use() as browser, browser.new_context() as context:
            page = context.new_page()
            page.set_content(text)
            assert page.inner_text("body") == text
    assert asyncio.run(asyncio.sleep(0, "after")) == "after"


def test_after_a_use_that_failed_coroutines_can_be_run(browser_in_use):
    with pytest.raises(ZeroDivisionError), browser_in_use():
        _ = 1 / 0
    assert asyncio.run(asyncio.sleep(0, "after")) == "after"

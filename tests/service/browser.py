"""A browser, and the page as somebody sees it who answers questions there."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import shutil
import time
from importlib.resources import files

from playwright.sync_api import expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
# A refused request is told in the console by the browser itself, and on the page by the page.
EXPECTED = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")


@contextlib.contextmanager
def shared_browser():
    """One browser for many tests: gives a function, `with in_use() as browser:`.

    Playwright marks its event loop as running in this thread from start to end. Then no other test could call
    asyncio.run(); so the mark is there only while the browser is in use.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        loop = asyncio.get_running_loop()

        @contextlib.contextmanager
        def in_use():
            asyncio._set_running_loop(loop)
            try:
                yield browser
            finally:
                asyncio._set_running_loop(None)

        asyncio._set_running_loop(None)
        try:
            yield in_use
        finally:
            asyncio._set_running_loop(loop)
            browser.close()


@contextlib.contextmanager
def visits(open_page):
    """Opens the page, as often as wanted; at the end nothing has gone wrong there, nor left for another host."""
    people = []

    def come(*args, **context):
        people.append(open_page(*args, **context))
        return people[-1]

    yield come
    for one in people:
        one.leave()


class Person:
    """Somebody in front of the page. Keeps what the browser asked for, and what went wrong in it."""

    def __init__(self, browser, url, hash="", **context):
        self.url = url
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.page = self.context.new_page()
        self.page.set_default_timeout(8000)
        self.requests, self.troubles = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.goto(url + hash)

    def _hear(self, message):
        if message.type in ("error", "warning") and not EXPECTED.search(message.text):
            self.troubles.append(message.text)

    def part(self, name):
        return self.page.locator(f"#{name}")

    def button(self, name, part="page", exact=True):
        return self.part(part).get_by_role("button", name=name, exact=exact)

    def settle(self, model=None):
        """Wait until there is a reply to everything that was done."""
        if model is not None:
            expect(self.part("about")).to_contain_text(f"Model {model} ")
        expect(self.part("page")).to_have_attribute("aria-busy", "false")
        return self

    def wait_for(self, held, seconds=20):
        """Wait until a list of requests that are held back has one."""
        until = time.monotonic() + seconds
        while not held:
            assert time.monotonic() < until, "no request came"
            self.page.wait_for_timeout(10)

    @contextlib.contextmanager
    def no_reply(self):
        """No reply comes as long as this lasts, and a first one is waited for."""
        held = []
        self.page.route("**/v1/models/*/*", lambda route: held.append(route), times=1)
        yield
        self.wait_for(held)
        held[0].continue_()
        self.settle()

    def show(self, model):
        self.settle()
        self.page.get_by_label("Model").select_option(model)
        return self.settle(model)

    @property
    def state(self):
        """What the link holds."""
        text = self.page.evaluate("location.hash").removeprefix("#")
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))

    @property
    def asked(self):
        """The name of the question that is shown, None where it is time to stop."""
        name = self.part("ranking").locator("[aria-current]")
        return name.evaluate("button => button.firstChild.data") if name.count() else None

    @property
    def ranking(self):
        return self.part("ranking").locator(".rank-name").evaluate_all("all => all.map((one) => one.firstChild.data)")

    @property
    def said(self):
        return self.part("said").locator(".said-name").all_inner_texts()

    @property
    def seen(self):
        """All that shows where things are: figures, prediction, ranking, what was said."""
        return [self.part(name).inner_text() for name in ("stats", "prediction", "ranking", "said")]

    def ask_everything(self):
        """Have no rule stop the questions."""
        self.part("rule").get_by_label("None", exact=True).check()
        expect(self.part("ranking").locator(".line")).to_have_count(0)
        return self.settle()

    def pick(self, name):
        """Choose a question from the ranking."""
        self.part("ranking").locator(".rank-name").filter(has_text=name).click()

    def price(self, name):
        """Open the field for the price of a question."""
        self.part("ranking").get_by_role("button", name=f"change the price of {name}").click()
        return self.part("ranking").get_by_label(f"price of {name}")

    def set_price(self, name, price):
        self.price(name).fill(str(price))
        self.part("ranking").get_by_role("button", name="Set", exact=True).click()
        expect(self.part("ranking").locator(".price-form")).to_have_count(0)
        return self.settle()

    def fill(self, inputs, values):
        """Enter values by the names of inputs, as the model describes them; None is left as it is."""
        form = self.part("question")
        for facts in inputs:
            value, label = values.get(facts["name"]), facts["text"] or facts["name"]
            if value is None:
                continue
            if facts["kind"] == "number" and not facts["offered"]:
                form.get_by_label(label, exact=True).fill(str(value))
            elif facts["choices"] and len(facts["choices"]) > 6:
                form.get_by_label(label, exact=True).select_option(label=value)
            else:
                words = {one["value"]: one["text"] for one in facts["offered"] or ()}
                shown = ("Yes" if value else "No") if facts["kind"] == "boolean" else words.get(value, value)
                form.get_by_role("group", name=label, exact=True).get_by_label(shown, exact=True).check()

    def answer(self, inputs, values):
        n = len(self.said)
        self.fill(inputs, values)
        self.button("Answer", "question").click()
        expect(self.part("said").locator(".said-name")).to_have_count(n + 1)
        self.settle()

    def decline(self):
        n = len(self.said)
        self.button("Can't be had", "question").click()
        expect(self.part("said").locator(".said-name")).to_have_count(n + 1)
        self.settle()

    def violations(self):
        """What axe finds against WCAG 2, levels A and AA, as short lines."""
        self.page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
        found = self.page.evaluate("(tags) => axe.run({runOnly: {type: 'tag', values: tags}})", tags)
        return [f"{v['id']}: {v['nodes'][0]['html'][:160]}" for v in found["violations"]]

    def leave(self):
        self.context.close()
        assert self.troubles == []
        assert [url for url in self.requests if not url.startswith((self.url, "blob:"))] == []

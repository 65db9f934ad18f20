"""The page, in a browser: prices that questions share fall once the first of them is answered."""

from __future__ import annotations

import pytest
from serving import running

from askwise.service.app import create_app
from askwise.service.catalogue import Catalogue

pytest.importorskip("playwright", reason="the page is tested in a browser: `make test-browser`")
from browser import CHROMIUM, Person, visits
from playwright.sync_api import expect

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium is installed; install one and run `make test-browser`"
)


@pytest.fixture(scope="module")
def url(tmp_path_factory, blood):
    path = tmp_path_factory.mktemp("page") / "blood.askwise"
    blood.save(path)
    with running(create_app(Catalogue.read([path]))) as client:
        yield f"http://127.0.0.1:{client.port}/"


@pytest.fixture
def one(browser, url):
    with visits(lambda: Person(browser, url)) as come:
        yield come().settle().ask_everything()


def price_of(one, name):
    """The price of a question in the ranking, and what is said about it."""
    line = (
        one.part("ranking").locator("li").filter(has=one.page.get_by_role("button", name=f"change the price of {name}"))
    )
    shared = line.locator(".shared")
    return line.locator(".price").inner_text().split("\n")[0], shared.inner_text() if shared.count() else None


def answer_pressure(one):
    one.pick("pressure")
    one.part("question").get_by_label("pressure").fill("130")
    one.part("question").get_by_role("button", name="Answer").click()
    return one.settle()


def test_prices_fall_after_the_first_answer_and_rise_when_it_is_taken_back(one):
    assert price_of(one, "scan") == ("price 6", "2 of it is shared")
    assert price_of(one, "sex") == ("price 1", None)
    answer_pressure(one)
    assert price_of(one, "scan") == ("price 4", None)
    assert one.part("stats").locator(".figure").first.inner_text() == "3"
    expect(one.part("said")).to_contain_text("paid 3")
    one.part("said").get_by_role("button", name="Take back pressure").click()
    one.settle()
    assert price_of(one, "scan") == ("price 6", "2 of it is shared")


def test_what_is_declined_pays_for_nothing(one):
    one.pick("pressure")
    one.decline()
    one.settle()
    assert price_of(one, "scan") == ("price 6", "2 of it is shared")


def test_only_the_own_price_of_a_question_is_changed(one):
    field = one.part("ranking").get_by_label("own price of scan")
    one.part("ranking").get_by_role("button", name="change the price of scan").click()
    expect(field).to_have_value("4")
    field.fill("5")
    field.press("Enter")
    one.settle()
    assert price_of(one, "scan") == ("price 7", "2 of it is shared")
    assert one.state["costs"] == {"scan": 5}
    one.set_price("scan", 4)
    assert one.state["costs"] == {}


def test_the_page_says_what_is_shared(one):
    one.part("ranking").get_by_text("What do these numbers mean?").click()
    expect(one.part("ranking")).to_contain_text("Shared price: draw")
    expect(one.part("ranking")).to_contain_text("paid once, with the first of these that is answered: pressure, scan")

"""The page, in a browser: what can't be meant is refused or asked about again, and few numbers are chosen."""

from __future__ import annotations

import pytest
from serving import running

from askwise.service.app import create_app
from askwise.service.catalogue import Catalogue
from implausible_values import DOUBTED, REFUSED, TAKES

pytest.importorskip("playwright", reason="the page is tested in a browser: `make test-browser`")
from browser import CHROMIUM, Person, visits
from playwright.sync_api import expect

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium is installed; install one and run `make test-browser`"
)
LABELS = {"age": "How old?", "stage": "stage: another number"}


@pytest.fixture(scope="module")
def url(limited, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "limited.askwise"
    limited.save(path)
    with running(create_app(Catalogue.read([path]))) as client:
        yield f"http://127.0.0.1:{client.port}/"


@pytest.fixture
def one(browser, url):
    with visits(lambda: Person(browser, url)) as come:
        yield come().settle().ask_everything()


def field_of(one, column):
    """The part of the page and the field that take a column's number."""
    part = "known" if column == "age" else "question"
    if column != "age":
        one.pick(column)
    if column == "stage":
        one.part(part).get_by_label("Another number", exact=True).check()
    return one.part(part), one.part(part).get_by_label(LABELS.get(column, column), exact=True)


def test_every_one_that_can_be_typed_is_refused_or_asked_about_again(one):
    # Of a sex, nothing but the two choices can be given.
    for column, value in [pair for pair in REFUSED + DOUBTED if pair[0] != "sex"]:
        part, field = field_of(one, column)
        field.fill(f"{value:.10g}")
        field.press("Enter")
        if (column, value) in REFUSED:
            expect(part).to_contain_text(f"'{column}' takes {TAKES[column]}, was given {value:.10g}")
        else:
            expect(part.get_by_role("alert").filter(has_text="Did you mean")).to_have_count(1)
        expect(field).to_be_focused()
        field.fill("")
        expect(part.get_by_text("Did you mean")).to_have_count(0)
    assert (one.said, one.state["known"]) == ([], {})


def test_enter_again_takes_it_and_so_does_yes(one):
    part, field = field_of(one, "pressure")
    field.fill("400")
    field.press("Enter")
    expect(part).to_contain_text("Did you mean 400? Seen in training: ")
    assert one.violations() == []
    part.get_by_role("button", name="Change it").click()
    expect(field).to_be_focused()
    expect(part.get_by_role("button", name="Yes, 400")).to_have_count(0)
    one.page.keyboard.type("500")
    expect(field).to_have_value("500")
    field.press("Enter")
    expect(part).to_contain_text("Did you mean 500?")
    field.press("Enter")
    expect(one.part("said").locator(".said-name")).to_have_count(1)
    expect(one.part("prediction").locator(".note")).to_contain_text(
        "'pressure' is 500, outside what was seen in training"
    )
    part, field = field_of(one.settle(), "scan")
    field.fill("99")
    field.press("Enter")
    field.press("Tab")
    expect(part.get_by_role("button", name="Yes, 99")).to_be_focused()
    one.page.keyboard.press("Enter")
    expect(one.part("said").locator(".said-name")).to_have_count(2)
    assert [list(told["values"].values()) for told in one.settle().state["said"]] == [[500], [99]]


def test_a_key_that_is_held_down_does_not_answer(one):
    part, field = field_of(one, "pressure")
    field.fill("400")
    for _ in range(3):
        one.page.keyboard.down("Enter")
    expect(part).to_contain_text("Did you mean 400?")
    one.page.keyboard.up("Enter")
    assert one.settle().said == []


def test_what_is_known_from_the_start_is_asked_about_once(one):
    known, field = field_of(one, "age")
    field.fill("99")
    one.button("Use these").click()
    expect(known).to_contain_text("Did you mean 99?")
    one.button("Use these").click()
    expect(known).to_contain_text("age: 99")
    assert one.settle().state["known"] == {"age": 99}
    one.page.reload()
    one.settle("limited")
    known.get_by_text("Known from the start").click()
    one.button("Use these").click()
    expect(known.get_by_text("Did you mean")).to_have_count(0)


def test_few_numbers_are_chosen_by_their_words_and_others_typed(one):
    one.pick("sex")
    expect(one.part("question").get_by_role("radio")).to_have_count(2)
    one.part("question").get_by_label("female", exact=True).check()
    one.button("Answer", "question").click()
    expect(one.part("said")).to_contain_text("female")
    one.settle().pick("stage")
    expect(one.part("question").get_by_role("textbox")).to_have_count(0)
    expect(one.part("question").get_by_role("radio")).to_have_count(5)
    one.part("question").get_by_label("3", exact=True).check()
    one.part("question").get_by_label("Another number", exact=True).check()
    expect(one.part("question").get_by_role("textbox")).to_be_focused()
    one.page.keyboard.type("2.5")
    assert one.violations() == []
    one.page.keyboard.press("Enter")
    expect(one.part("said").locator(".said-name")).to_have_count(2)
    assert [told["values"] for told in one.settle().state["said"]] == [{"sex": 1}, {"stage": 2.5}]

"""The page, in a browser: what people see and do."""

from __future__ import annotations

import base64
import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from serving import running
from starlette.applications import Starlette
from starlette.routing import Mount

from askwise import DimeClassifier, Session
from askwise.core.stopping import parse_rule
from askwise.data.tables.column import is_missing
from askwise.evaluation.bend import find_bend
from askwise.service.app import create_app
from askwise.service.catalogue import Catalogue
from askwise.service.exports import COLUMNS

pytest.importorskip("playwright", reason="the page is tested in a browser: `make test-browser`")
from browser import CHROMIUM, Person, visits
from playwright.sync_api import expect

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium is installed; install one and run `make test-browser`"
)
ODD = '<img src=x onerror="alert(1)"> & scan'
TOKEN = "a-token-of-many-letters"
WARDS = [f"ward {letter}" for letter in "ABCDEFGH"]


def with_odd_names(frame):
    """A column whose name is HTML, and one with many choices."""
    wards = np.array(WARDS)[np.arange(len(frame)) % len(WARDS)]
    return frame.drop(columns="site").rename(columns={"scan": ODD}).assign(ward=wards)


@pytest.fixture(scope="module")
def estimator(cases, fast):
    return DimeClassifier(
        costs={ODD: 40, "exercise test": 15, "pressure": 2.5},
        groups={"exercise test": ["rate", "pain"]},
        free=["age"],
        questions={
            "pressure": {
                "text": "Blood pressure at rest",
                "unit": "mm Hg",
                "help": "Sitting, after <b>five</b> minutes.",
            },
            "exercise test": {"text": "The exercise test"},
            "smoker": "Does the patient smoke?",
        },
        **fast,
    ).fit(with_odd_names(cases[0]), cases[1])


@pytest.fixture(scope="module")
def inherited(fast):
    """A model whose names are those of what every JavaScript object has, with yes/no for an answer."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 4)), columns=["constructor", "__proto__", "valueOf", "toString"])
    return DimeClassifier(free=["constructor"], **fast).fit(frame, frame["__proto__"].to_numpy() > 0)


@pytest.fixture(scope="module")
def models(tmp_path_factory, estimator, progression, inherited):
    folder = tmp_path_factory.mktemp("page")
    fitted = {"clinic": estimator, "progression": progression, "inherited": inherited}
    for name, one in fitted.items():
        one.save(folder / f"{name}.askwise")
    return Catalogue.read([folder / f"{name}.askwise" for name in fitted])


@pytest.fixture(scope="module")
def facts(models):
    return models.models["clinic"].facts


@pytest.fixture(scope="module")
def inputs(facts):
    """The inputs of each question."""
    return {question["name"]: question["inputs"] for question in facts["questions"]}


@pytest.fixture(scope="module")
def url(models):
    with running(create_app(models)) as client:
        yield f"http://127.0.0.1:{client.port}/"


@pytest.fixture
def person(browser, url):
    with visits(lambda hash="", to=url, **context: Person(browser, to, hash, **context)) as come:
        yield come


def link_to(facts, **changes):
    """A link to a new case, in which some of it is changed."""
    about = {"v": 1, "model": facts["name"], "fingerprint": facts["fingerprint"]}
    state = about | {"said": [], "known": {}, "stop": None, "costs": {}} | changes
    return "#" + base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")


def values_of(row, inputs):
    """The values of a row for a question, None where they are missing."""
    found = {facts["name"]: row[facts["name"]] for facts in inputs}
    return {
        name: None if is_missing(value) else value.item() if isinstance(value, np.generic) else value
        for name, value in found.items()
    }


def converse(one, inputs, row, steps=99):
    """Answer from a row of a table until the page says stop; what is missing there can't be had."""
    order = []
    while (name := one.asked) is not None and len(order) < steps:
        values = values_of(row, inputs[name])
        if any(value is not None for value in values.values()):
            one.answer(inputs[name], values)
        else:
            one.decline()
        order.append(name)
    return order


@pytest.fixture(scope="module")
def rows(new_cases):
    return [row for _, row in with_odd_names(new_cases[0]).iterrows()]


@pytest.mark.parametrize("i", [0, 1, 2])
def test_the_page_asks_what_a_session_asks(person, models, inputs, rows, i):
    """Under the rule that the page starts with: the same questions, figures and reason to stop."""
    one = person().settle()
    assert one.state["stop"].startswith("average-cost=")
    session = Session(models.models["clinic"].model, parse_rule(one.state["stop"]))
    order = []
    while (question := session.ask()) is not None:
        order.append(question.name)
        values = values_of(rows[i], inputs[question.name])
        told = values if len(values) > 1 else next(iter(values.values()))
        if any(value is not None for value in values.values()):
            session.tell(question.name, told)
        else:
            session.decline(question.name)
    assert order
    assert converse(one, inputs, rows[i]) == order
    label, proba = session.prediction
    spent, told = f"{session.spent:.2f}".rstrip("0").rstrip("."), len(order) - len(session.declined)
    assert one.part("stats").locator(".figure").first.inner_text() == spent
    expect(one.part("question")).to_contain_text("Time to stop")
    expect(one.part("question").get_by_role("heading")).to_have_text(f"{label}, {100 * proba[label]:.1f} %")
    why = f"The average cost allows no more questions about this case. Spent {spent} on {told} question"
    expect(one.part("question")).to_contain_text(why)
    buttons = one.part("question").get_by_role("button").all_inner_texts()
    assert buttons == ["New case", "Go on asking"][: 2 if one.ranking else 1]


def test_a_link_reopens_the_same_state_and_undo_leads_back(person, inputs, rows):
    one = person().settle().ask_everything()
    start = one.seen
    order = converse(one, inputs, rows[0], steps=3)
    assert one.said == order
    assert one.ranking == [name for name in one.ranking if name not in order]
    again = person("#" + one.page.evaluate("location.hash.slice(1)")).settle()
    assert again.seen == one.seen
    assert again.state == one.state
    for _ in order:
        again.button("Undo", "said").click()
    expect(again.part("said")).to_contain_text("Nothing yet")
    assert again.seen == start
    # One taken out of the middle leaves the others.
    one.part("said").get_by_role("button", name=f"Take back {order[1]}").click()
    expect(one.part("said").locator(".said-name")).to_have_count(2)
    assert one.said == [order[0], order[2]]
    one.button("New case", "said").click()
    expect(one.part("said").locator(".said-name")).to_have_count(0)
    one.page.go_back()
    expect(one.part("said").locator(".said-name")).to_have_count(2)


def test_what_can_not_be_had_is_not_paid_and_any_open_question_may_be_answered(person, inputs):
    one = person().settle()
    first = one.asked
    one.decline()
    assert first not in one.ranking
    assert one.state["said"][0]["values"] is None
    expect(one.part("said")).to_contain_text("not paid")
    one.pick("exercise test")
    expect(one.part("question").get_by_role("heading")).to_have_text("The exercise test")
    one.button("Answer", "question").click()
    expect(one.part("question")).to_contain_text("Fill in at least one value")
    one.answer(inputs["exercise test"], {"rate": 140})
    assert one.state["said"][1]["values"] == {"rate": 140, "pain": None}
    assert one.part("stats").locator(".figure").first.inner_text() == "15"


def test_another_price_changes_the_order_and_a_penalty_takes_the_place_of_the_average_cost(person):
    one = person().settle()
    stop, before = one.state["stop"], one.ranking
    change = one.part("ranking").get_by_role("button", name=f"change the price of {ODD}")
    field = one.price(ODD)
    field.fill("-1")
    field.press("Enter")
    expect(one.part("ranking").get_by_role("alert")).to_contain_text("at least")
    expect(field).to_have_value("-1")
    field.fill("0,01")
    field.press("Enter")
    expect(one.part("ranking").get_by_role("alert")).to_contain_text("write it with a point")
    field.fill("0.01")
    field.press("Enter")
    expect(one.part("ranking").locator(".rank-name").first).to_contain_text(ODD)
    expect(change).to_be_focused()
    assert one.state["costs"] == {ODD: 0.01}
    assert one.state["stop"].startswith("penalty=")
    average = one.part("rule").get_by_role("radio", name="Average cost")
    expect(average).to_be_disabled()
    instead = one.part("rule").get_by_role("status").filter(has_text="the penalty that matches it is used instead")
    expect(instead).to_have_count(1)
    expect(one.part("rule")).not_to_contain_text("held out")
    one.button("Prices as trained").click()
    expect(average).to_be_checked()
    expect(instead).to_have_count(0)
    assert (one.ranking, one.state["stop"], one.state["costs"]) == (before, stop, {})


@pytest.mark.parametrize("average", [5, 0])
def test_another_price_leaves_joined_rules_as_they_are_except_the_average_cost(person, facts, average):
    """An average cost of 0 asks nothing, and under other prices nothing is asked either."""
    stop = f"average-cost={average}|budget=3"
    one = person(link_to(facts, stop=stop)).settle("clinic")
    one.set_price("pressure", 2)
    instead, budget = one.state["stop"].split("|")
    assert instead.startswith("penalty=") if average else instead == "budget=0"
    assert budget == "budget=3"
    expect(one.part("rule")).to_contain_text("penalty that matches it is" if average else "a budget of 0, which asks")
    expect(one.part("question")).to_contain_text("Ask next" if average else "Time to stop")
    # A new case has the same prices and, once they are those of training, the same rule.
    one.button("New case", "said").click()
    one.settle().page.reload()
    one.settle("clinic")
    one.button("Prices as trained").click()
    expect(one.button("Prices as trained")).to_have_count(0)
    assert (one.state["stop"], one.state["costs"]) == (stop, {})


def test_a_rule_chosen_under_other_prices_stays_when_those_of_training_come_back(person):
    one = person().settle()
    one.set_price("pressure", 2).ask_everything()
    one.button("Prices as trained").click()
    expect(one.button("Prices as trained")).to_have_count(0)
    assert one.state["stop"] is None


def test_what_is_being_typed_stays_whatever_else_changes(person, inputs):
    one = person().settle().ask_everything()
    one.pick("smoker")
    one.answer(inputs["smoker"], {"smoker": True})
    one.pick("ward")
    one.answer(inputs["ward"], {"ward": WARDS[0]})
    one.pick("pressure")
    answer = one.part("question").get_by_label("Blood pressure at rest")
    answer.fill("13")
    price = one.price("sex")
    price.fill("12.75")
    # A reply comes while somebody types.
    price.press("ArrowLeft")
    one.page.evaluate("document.querySelectorAll('#rule input[type=radio]')[1].click()")
    expect(one.part("rule").get_by_role("slider")).to_have_count(1)
    one.settle()
    expect(price).to_be_focused()
    price.press("Backspace")
    expect(price).to_have_value("12.5")
    price.press("Enter")
    expect(price).to_have_count(0)
    assert one.state["costs"] == {"sex": 12.5}
    one.set_price(ODD, 0.001)
    one.part("said").get_by_role("button", name="Take back smoker").click()
    expect(one.part("said").locator(".said-name")).to_have_count(1)
    one.part("known").get_by_text("Known from the start").click()
    one.part("known").get_by_label("age").fill("63")
    one.button("Use these").click()
    expect(one.part("known")).to_contain_text("age: 63")
    expect(answer).to_have_value("13")
    assert one.asked == "pressure"
    # A new case begins with an empty field.
    one.button("New case", "said").click()
    expect(one.part("said").locator(".said-name")).to_have_count(0)
    one.settle().pick("pressure")
    expect(answer).to_have_value("")


def test_a_question_that_somebody_begins_to_answer_stays_without_being_picked(person, inputs):
    one = person().settle().ask_everything()
    one.set_price("smoker", 0.001)
    assert one.asked == "smoker"
    one.fill(inputs["smoker"], {"smoker": True})
    one.set_price(ODD, 0.00001)
    assert one.ranking[0] == ODD
    expect(one.part("question").get_by_role("radio", name="Yes")).to_be_checked()
    expect(one.part("question")).to_contain_text(f"Back to: {ODD}")
    one.decline()
    assert one.asked == ODD


def test_what_is_typed_before_a_reply_comes_is_not_undone_by_it(person):
    one = person().settle().ask_everything()
    age = one.part("known").get_by_label("age")
    with one.no_reply():
        age.fill("63")
        age.press("Enter")
        age.fill("64")
    expect(one.part("known")).to_contain_text("age: 63")
    expect(age).to_have_value("64")
    one.part("rule").get_by_label("Budget").check()
    budget = one.settle().part("rule").get_by_role("textbox", name="Budget")
    with one.no_reply():
        one.button("Can't be had", "question").click()
        one.pick("exercise test")
        budget.fill("17")
    expect(budget).to_have_value("17")
    assert one.asked == "exercise test"
    # Sent now: else the press on the next button sends it, and the reply may replace that button before it is clicked.
    budget.press("Enter")
    one.settle()
    first = one.price("smoker")
    with one.no_reply():
        first.fill("-1")
        first.press("Enter")
        other = one.price("sex")
        other.fill("8")
    # The refusal is about another field than the one that is open now.
    expect(one.part("messages").get_by_role("alert")).to_contain_text("Price of smoker: must be at least")
    expect(one.part("ranking").get_by_role("alert")).to_have_count(0)
    expect(other).to_have_value("8")


def test_the_slider_moves_along_what_was_measured(person, facts):
    one = person().settle()
    slider = one.part("rule").get_by_role("slider")
    suggested = one.part("rule").get_by_text("Suggested: where the log loss bends")
    expect(suggested).to_be_visible()
    table = pd.DataFrame(facts["frontier"])
    suggestion = table.loc[find_bend(table, "log_loss").index]
    assert float(one.state["stop"].partition("=")[2]) == suggestion["average_cost"]
    slider.focus()
    slider.press("Home")
    expect(one.part("question")).to_contain_text("Time to stop")
    assert one.state["stop"] == "average-cost=0"
    expect(suggested).to_have_count(0)
    expect(one.part("rule")).to_contain_text(f"on {facts['card']['rows_validated']} rows held out")
    slider.press("End")
    expect(one.part("question")).to_contain_text("Ask next")
    last = max(facts["frontier"], key=lambda record: record["mean_cost"])
    assert float(one.state["stop"].partition("=")[2]) == last["average_cost"]
    expect(one.part("rule").locator(".tiles")).to_contain_text(f"{100 * last['accuracy']:.1f} %")
    one.page.get_by_label("Budget").check()
    one.settle()
    exact = one.part("rule").get_by_role("textbox", name="Budget")
    exact.fill("many")
    exact.press("Enter")
    expect(one.part("rule").get_by_role("alert")).to_contain_text("needs a number")
    exact.fill("3.5")
    exact.press("Enter")
    expect(one.part("rule").get_by_role("alert")).to_have_count(0)
    expect(one.part("stats")).to_contain_text("of 3.5")
    assert one.state["stop"] == "budget=3.5"


def test_after_a_stop_one_may_go_on(person, inputs, rows):
    one = person().settle()
    one.page.get_by_label("Budget").check()
    exact = one.part("rule").get_by_role("textbox", name="Budget")
    exact.fill("1")
    exact.press("Enter")
    expect(one.part("stats")).to_contain_text("of 1")
    assert len(converse(one, inputs, rows[0])) == 1
    expect(one.part("question")).to_contain_text("No open question fits into the budget.")
    one.button("Go on asking").click()
    first = one.ranking[0]
    assert one.asked == first
    assert converse(one, inputs, rows[0], steps=1) == [first]
    assert one.asked == one.ranking[0]
    expect(one.part("question")).to_contain_text("The rule says stop: no open question fits into the budget")


def test_values_are_checked_by_the_api_and_remarked_on_by_the_page(person):
    one = person().settle()
    one.pick("pressure")
    field = one.part("question").get_by_label("Blood pressure at rest")
    expect(field).to_be_focused()
    expect(one.part("question")).to_contain_text("Sitting, after <b>five</b> minutes.")
    field.fill("1,5")
    field.press("Enter")
    expect(one.part("question")).to_contain_text("'pressure' takes a number, was given '1,5'; write it with a point")
    expect(field).to_have_value("1,5")
    field.fill("900")
    field.press("Enter")
    expect(one.part("question")).to_contain_text("Did you mean 900 mm Hg? Seen in training: ")
    field.press("Enter")
    expect(one.part("said")).to_contain_text(re.compile(r"900 mm Hg\s*outside \d+"))
    expect(one.part("announcer")).to_contain_text("'pressure' is 900, outside what was seen in training")
    remarks = one.part("prediction").locator(".note")
    expect(remarks).to_have_text(re.compile("^'pressure' is 900, outside what was seen in training, "))
    expect(one.part("rule")).not_to_contain_text("outside what was seen")
    # A remark on the rule is shown at the rule.
    exact = one.part("rule").get_by_role("textbox", name="Average cost")
    exact.fill("1000000")
    exact.press("Enter")
    expect(one.part("rule").get_by_role("status").filter(has_text="everything will be asked")).to_have_count(1)
    expect(remarks).to_have_count(1)


def test_what_is_known_from_the_start_comes_first_until_something_is_said(person):
    one = person().settle()
    age, summary = one.part("known").get_by_label("age"), one.part("known").get_by_text("Known from the start")
    expect(age).to_be_visible()
    assert one.part("known").bounding_box()["y"] < one.part("question").bounding_box()["y"]
    # What was entered and not used yet stays in sight.
    age.fill("63")
    one.decline()
    expect(age).to_be_visible()
    one.button("Use these").click()
    expect(age).not_to_be_visible()
    expect(one.part("known")).to_contain_text("age: 63")
    assert one.state["known"] == {"age": 63}
    assert one.page.evaluate("document.querySelector('#question').contains(document.activeElement)")
    summary.click()
    age.fill("")
    one.button("Use these").click()
    expect(one.part("known")).to_contain_text("nothing given yet")
    expect(age).not_to_be_visible()
    one.button("New case", "said").click()
    expect(age).to_be_focused()


def test_names_are_shown_as_text_whatever_they_hold(person, inputs):
    one = person().settle()
    one.pick(ODD)
    expect(one.part("question").get_by_role("heading")).to_have_text(ODD)
    one.answer(inputs[ODD], {ODD: 1})
    expect(one.part("said").locator(".said-name")).to_have_text(ODD)
    expect(one.part("prediction").locator("th").nth(-1)).to_have_text(ODD)
    assert one.page.locator("img").count() == 1


def test_names_of_what_every_object_has_are_names_like_others(person, models, inherited):
    one = person().settle().show("inherited").ask_everything()
    expect(one.part("known")).to_contain_text("nothing given yet")
    expect(one.part("known").get_by_label("constructor")).to_have_value("")
    expect(one.part("ranking").locator(".changed")).to_have_count(0)
    inputs = {q["name"]: q["inputs"] for q in models.models["inherited"].facts["questions"]}
    one.pick("__proto__")
    one.answer(inputs["__proto__"], {"__proto__": 1.5})
    one.set_price("valueOf", 3)
    expect(one.part("ranking").locator(".changed")).to_have_text(re.compile("^price 3"))
    session = Session.from_answers(inherited.model_, {"__proto__": 1.5})
    label, proba = session.prediction
    expect(one.part("prediction").locator(".headline")).to_have_text(f"{label}{100 * proba[label]:.1f} %")
    assert one.part("stats").locator(".figure").first.inner_text() == "1"
    again = person("#" + one.page.evaluate("location.hash.slice(1)")).settle("inherited")
    assert again.seen == one.seen
    again.button("Prices as trained").click()
    expect(again.part("ranking").locator(".changed")).to_have_count(0)


def test_no_label_of_the_chart_is_cut_off(person):
    """Up to 16 wide letters, early and late in the chart, and numbers with many digits at its side."""
    beyond = """async (width) => {
        const { stepChart } = await import("./web/chart.js");
        const labels = ["W".repeat(16), "malignant tumour", "narrowed"];
        const lines = labels.map((name, i) => ({ name, values: [0.2 * i, 0.3, 0.3 * i, 0.5] }));
        const axis = { low: 0, high: 1, format: (x) => (-0.00123456 - x).toString().slice(0, 9) };
        const chart = stepChart(lines, ["start", "M".repeat(16), "Q", "M".repeat(16)], axis, width);
        document.body.append(chart);
        const all = chart.getBoundingClientRect();
        const is = (text) => [text.textContent, text.getBoundingClientRect()];
        const cut = ([, r]) => r.left < all.left || r.right > all.right || r.top < all.top || r.bottom > all.bottom;
        return [...chart.querySelectorAll("text")].map(is).filter(cut).map(([text]) => text);
    }"""
    one = person().settle()
    assert [one.page.evaluate(beyond, width) for width in (256, 700)] == [[], []]


def test_by_keyboard_alone(person):
    """Tab, arrows and Enter answer questions; the focus goes on to the next, and a screen reader is told of it."""
    one = person().settle().ask_everything()
    one.page.reload()
    one.settle("clinic").page.keyboard.press("Tab")
    expect(one.page.get_by_text("Skip to the question")).to_be_focused()
    one.page.keyboard.press("Enter")
    for n in range(1, 4):
        focused = "document.querySelector('#question').contains(document.activeElement)"
        one.page.wait_for_function(focused)
        kind = one.page.evaluate("document.activeElement.type")
        if kind == "radio":
            one.page.keyboard.press("Space")
        elif kind == "select-one":
            one.page.keyboard.press("ArrowDown")
        elif kind == "text":
            one.page.keyboard.type("140")
        else:
            break
        one.page.keyboard.press("Enter")
        if kind == "select-one":
            one.button("Answer", "question").press("Enter")
        expect(one.part("said").locator(".said-name")).to_have_count(n)
        one.settle()
        expect(one.part("announcer")).to_contain_text(re.compile("Next question: |Time to stop"))
    assert len(one.said) >= 2


def test_two_clicks_answer_once_and_a_lost_connection_loses_nothing(person, inputs):
    one = person().settle().ask_everything()
    name = one.asked
    one.fill(
        inputs[name],
        {i["name"]: (i["choices"] or [i["low"]])[0] if i["kind"] != "boolean" else True for i in inputs[name]},
    )
    one.context.set_offline(True)
    one.button("Answer", "question").click()
    alert = one.part("messages").get_by_role("alert")
    expect(alert).to_contain_text("can't be reached")
    assert one.asked == name
    one.context.set_offline(False)
    one.troubles.clear()
    alert.get_by_role("button", name="Try again").click()
    expect(one.part("said").locator(".said-name")).to_have_count(1)
    expect(alert).to_have_count(0)
    held = []
    one.page.route("**/next", lambda route: held.append(route))
    decline = one.button("Can't be had", "question")
    decline.evaluate("(button) => { button.click(); button.click(); }")
    expect(one.part("page")).to_have_attribute("aria-busy", "true")
    decline.evaluate("(button) => button.click()")
    one.wait_for(held)
    held.pop().continue_()
    expect(one.part("said").locator(".said-name")).to_have_count(2)
    one.page.wait_for_timeout(200)
    assert held == []
    assert len(one.said) == len(one.state["said"]) == 2


def test_the_record_holds_what_was_known_and_every_step_as_the_api_replied(person, inputs, rows, facts, tmp_path):
    one = person().settle().ask_everything()
    order = converse(one, inputs, rows[1], steps=2)
    one.set_price("sex", 3)
    one.part("known").get_by_text("Known from the start").click()
    one.part("known").get_by_label("age").fill("63")
    one.button("Use these").click()
    expect(one.part("known")).to_contain_text("age: 63")
    expect(one.part("said")).to_contain_text("This page keeps nothing on the server")
    files = {}
    for kind in ("JSON", "CSV"):
        with one.page.expect_download() as download:
            one.button(f"Record as {kind}", "said").click()
        download.value.save_as(tmp_path / kind)
        files[kind] = (tmp_path / kind).read_text(encoding="utf-8")
    record = json.loads(files["JSON"])
    assert record["fingerprint"] == facts["fingerprint"]
    assert (record["stop"], record["costs"]) == (one.state["stop"], {"sex": 3})
    assert record["note"].startswith("computed from all that is known now")
    assert [step["name"] for step in record["steps"]] == ["age", *order]
    first, *steps = record["steps"]
    assert (first["kind"], first["answers"]) == ("known", {"age": 63})
    assert first["prediction"] == record["start"]["prediction"]
    assert [len(step["ranking"]) for step in steps] == [len(inputs), len(inputs) - 1]
    assert record["end"]["prediction"] == record["steps"][-1]["prediction"]
    assert set(record["end"]["prediction"]["proba"]) == {"sick", "well"}
    lines = list(csv.DictReader(files["CSV"].splitlines()))
    assert list(lines[0]) == [*COLUMNS, "entropy", "model", "stop", "costs"]
    for line, step in zip(lines, record["steps"], strict=True):
        assert [line[n] for n in ("seq", "kind", "name")] == [str(step[n]) for n in ("seq", "kind", "name")]
        assert json.loads(line["answers"] or "null") == step["answers"]
        assert json.loads(line["proba"]) == step["prediction"]["proba"]
        assert [line[n] for n in ("model", "fingerprint", "stop")] == ["clinic", facts["fingerprint"], ""]
        assert json.loads(line["costs"]) == {"sex": 3}
    for line, step in zip(lines[1:], steps, strict=True):
        assert [float(line[n]) for n in ("value", "cost", "spent")] == [step[n] for n in ("value", "cost", "spent")]


@pytest.mark.parametrize("hash", ["#%%%", "#eyJ2Ijoy", "#W10", "#eyJ2IjoxLCJtb2RlbCI6ImNsaW5pYyJ9"])
def test_a_damaged_link_is_a_fresh_start_with_a_message(person, hash):
    one = person(hash).settle("clinic")
    expect(one.part("messages").get_by_role("alert")).to_contain_text("The link can't be read")
    assert one.asked is not None
    assert one.state["said"] == []


def test_a_link_of_another_model_warns_and_goes_on_or_starts_afresh(person, facts):
    other = person(link_to(facts, fingerprint="older")).settle("clinic")
    expect(other.part("messages").get_by_role("alert")).to_contain_text("another version of the model")
    gone = [{"name": "gone", "values": {"gone": 1}, "at": "2026-01-01T00:00:00Z"}]
    third = person(link_to(facts, said=gone)).settle("clinic")
    expect(third.part("messages").get_by_role("alert")).to_contain_text("a fresh start")
    assert third.state["said"] == []


def test_a_token_is_asked_for_and_kept_for_the_tab_alone(person, models):
    with running(create_app(models, token=TOKEN)) as client:
        one = person(to=f"http://127.0.0.1:{client.port}/")
        field = one.page.get_by_label("Token", exact=True)
        field.fill("wrong")
        field.press("Enter")
        expect(one.part("token-error")).to_contain_text("does not take")
        field.fill(TOKEN)
        field.press("Enter")
        one.settle("clinic")
        one.page.reload()
        one.settle("clinic")
        assert one.page.evaluate("JSON.stringify({...localStorage}) + location.href").find(TOKEN) == -1
        one.page.close()


def test_the_page_works_below_a_path(person, models, inputs, rows):
    """As behind a proxy that gives it a folder of another site."""
    with running(Starlette(routes=[Mount("/tools/heart", create_app(models))])) as client:
        one = person(to=f"http://127.0.0.1:{client.port}/tools/heart/").settle("clinic")
        assert converse(one, inputs, rows[0], steps=1)
        one.page.close()


def test_a_number_is_predicted_without_probabilities(person, models, diabetes):
    one = person().settle().show("progression")
    inputs = {q["name"]: q["inputs"] for q in models.models["progression"].facts["questions"]}
    converse(one, inputs, diabetes[0].iloc[0], steps=2)
    session = Session.from_answers(models.models["progression"].model, {n: diabetes[0].iloc[0][n] for n in one.said})
    shown = float(one.part("prediction").locator(".headline").inner_text())
    assert shown == pytest.approx(session.prediction.value, rel=1e-3)
    expect(one.part("rule")).to_contain_text("RMSE")
    expect(one.part("rule")).not_to_contain_text("Confidence")
    one.part("ranking").get_by_text("What do these numbers mean?").click()
    expect(one.part("ranking").get_by_text("lower the squared error of the predicted number")).to_be_visible()
    expect(one.part("ranking").locator("dt")).to_have_text(["Value", "Price", "Information per price", "The line"])


LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 320, "height": 640}, "is_mobile": True, "has_touch": True},
}


@pytest.mark.parametrize("look", LOOKS)
def test_no_look_of_the_page_breaks_the_rules_for_accessibility(person, inputs, rows, look):
    """At the start, at a panel with an error, while a price is changed, after the stop; never wider than the screen."""
    one = person(**LOOKS[look]).settle()
    found = one.violations()
    one.part("ranking").get_by_text("What do these numbers mean?").click()
    one.pick("exercise test")
    one.button("Answer", "question").click()
    one.part("ranking").get_by_role("button", name="change the price of pressure").click()
    found += one.violations()
    one.button("Cancel").click()
    converse(one, inputs, rows[2])
    one.part("prediction").get_by_text("As a table").click()
    found += one.violations()
    assert found == []
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_look_is_kept_and_dark_is_dark(person):
    one = person(color_scheme="light").settle()
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = one.page.evaluate(ground)
    one.page.get_by_label("Look").select_option("dark")
    dark = one.page.evaluate(ground)
    one.page.reload()
    one.settle()
    assert one.page.evaluate(ground) == dark != light

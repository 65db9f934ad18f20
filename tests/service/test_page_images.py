"""The page with a model of images, in a browser: a photo that stays there, and is looked at patch by patch."""

from __future__ import annotations

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image, PngImagePlugin
from serving import running

from askwise import Session
from askwise.core.stopping import parse_rule
from askwise.data.images.pictures import as_data_url
from askwise.data.images.schema import PixelColumn
from askwise.data.images.sketches import sketches
from askwise.service.app import create_app
from askwise.service.catalogue import Catalogue
from pictures import make_images

pytest.importorskip("playwright", reason="the page is tested in a browser: `make test-browser`")
from browser import CHROMIUM, Person, visits
from playwright.sync_api import expect

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium is installed; install one and run `make test-browser`"
)
PHOTOS = make_images(3, seed=11)[0]
STOPPED = re.compile("Time to stop")


def as_file(pixels, name="photo.png", about=None):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", pnginfo=about)
    return {"name": name, "mimeType": "image/png", "buffer": file.getvalue()}


class Viewer(Person):
    """Somebody who has photos."""

    def __init__(self, *args, **context):
        self.sent = []
        super().__init__(*args, **context)
        self.page.on("request", lambda request: request.method == "POST" and self.sent.append(request.post_data_json))

    def show_photo(self, pixels=PHOTOS[0], **about):
        self.page.get_by_label("Photo", exact=True).set_input_files(as_file(pixels, **about))
        return self.settle()

    def take_example(self, k):
        self.button(f"Example {k}", "question").click()
        expect(self.part("question").locator("figcaption").first).to_have_text(f"Example {k}")
        return self.settle()

    def look(self):
        n = len(self.said)
        self.button("Look at this patch").click()
        return self.seen_are(n + 1)

    def seen_are(self, n):
        expect(self.part("said").locator(".said-name")).to_have_count(n)
        return self.settle()

    def cell(self, name):
        return self.page.locator(f".cell[data-name={name}]")


@pytest.fixture(scope="module")
def url(photo_models):
    with running(create_app(photo_models)) as client:
        yield f"http://127.0.0.1:{client.port}/"


@pytest.fixture
def person(browser, url):
    with visits(lambda hash="", **context: Viewer(browser, url, hash, **context).settle("colours")) as come:
        yield come


@pytest.fixture(scope="module")
def model(photo_models):
    return photo_models.models["colours"].model


@pytest.fixture(scope="module")
def cut(model):
    """The pixels of a patch of a photo."""
    layout = model.schema.layout
    return lambda name, photo=PHOTOS[0]: np.ascontiguousarray(photo[layout.window(layout.names.index(name))])


@pytest.fixture(scope="module")
def offering(photo_files, example_folder):
    """The same models, with photos to try them with."""
    return Catalogue.read(photo_files, example_folder)


@pytest.fixture(scope="module")
def examples(offering):
    return offering.models["colours"].examples


@pytest.fixture(scope="module")
def offering_url(offering):
    with running(create_app(offering)) as client:
        yield f"http://127.0.0.1:{client.port}/"


@pytest.fixture
def guest(browser, offering_url):
    with visits(lambda hash="", **context: Viewer(browser, offering_url, hash, **context).settle("colours")) as come:
        yield come


def pixels_of(url, shape=(4, 4, 3)):
    return PixelColumn("patch", "pixels", shape=shape).pixels(url)


def test_the_page_looks_where_a_session_looks_and_sends_nothing_else_of_the_photo(person, model, cut):
    one = person().show_photo()
    expect(one.part("about")).to_contain_text(f"learned from {model.card['rows_trained']} images")
    expect(one.part("rule")).to_contain_text(f"on {model.card['rows_validated']} images held out")
    expect(one.part("question")).not_to_contain_text("lies outside")
    session = Session(model, parse_rule(one.state["stop"]))
    while (question := session.ask()) is not None:
        assert one.asked == question.name
        one.look()
        session.tell(question.name, cut(question.name))
    assert one.said == session.asked
    label, proba = session.prediction
    expect(one.part("question")).to_contain_text(STOPPED)
    expect(one.part("question").get_by_role("heading")).to_have_text(f"{label}, {100 * proba[label]:.1f} %")
    for said in one.state["said"]:
        assert (pixels_of(said["values"][said["name"]]) == cut(said["name"])).all()
    # The last request holds all that was ever sent.
    assert [list(body["answers"]) for body in one.sent] == [one.said[:n] for n in range(len(one.said) + 1)]
    assert {len(value) > 600 for body in one.sent for value in body["answers"].values()} <= {False}


def test_the_map_and_the_patches_have_the_values_of_the_reply_in_the_colours_of_the_first_step(person, model):
    one = person().show_photo()
    values = [candidate.value_per_cost for candidate in Session(model).ranking]
    # Where all are alike, none is dark.
    top = max(values) * (2 if max(values) <= 2 * min(values) else 1)
    ticks = one.page.locator(".scale span")
    scale = ticks.all_inner_texts()
    assert list(map(float, scale)) == pytest.approx([0, top / 4, top], rel=0.01)
    one.ask_everything().look()
    assert ticks.all_inner_texts() == scale
    first = one.said[0]
    ranking = Session.from_answers(model, {first: PHOTOS[0][model.schema.layout.window(6)]}).ranking
    assert first == "r2c3"
    shown = one.page.locator(".spot.open").evaluate_all("all => all.map((one) => one.title)")
    titles = dict(title.split(": ") for title in shown)
    assert {n: float(v) for n, v in titles.items()} == {c.name: pytest.approx(c.value_per_cost, 0.01) for c in ranking}
    heats = one.page.locator(".spot.open").evaluate_all("all => all.map((one) => one.style.getPropertyValue('--heat'))")
    assert max(map(float, heats)) == pytest.approx((ranking[0].value_per_cost / top) ** 0.5, abs=0.01)
    row, column = ranking[0].name[1:].split("c")
    label = f"row {row}, column {column}, open, value {titles[ranking[0].name]}, the next"
    expect(one.cell(ranking[0].name)).to_have_attribute("aria-label", label)
    expect(one.cell(first)).to_have_attribute("aria-label", "row 2, column 3, looked at, 1")
    assert one.ranking == [candidate.name for candidate in ranking[:5]]


def test_it_reveals_patch_after_patch_until_the_rule_stops_and_can_be_paused(person):
    one = person().show_photo()
    one.button("Reveal until it stops").click()
    expect(one.part("question")).to_contain_text(STOPPED)
    expect(one.part("announcer")).to_contain_text(STOPPED)
    assert one.state["said"][-1]["name"] == one.said[-1]
    one.button("Start again").click()
    one.seen_are(0).ask_everything()
    one.button("Reveal until it stops").press("Enter")
    # Looked at in each frame: on a busy machine, a look a second would miss the third patch.
    one.page.wait_for_function("() => document.querySelectorAll('#said .said-name').length >= 3")
    expect(one.button("Pause")).to_be_focused()
    one.button("Pause").press("Enter")
    expect(one.button("Reveal until it stops")).to_be_focused()
    one.settle().page.wait_for_timeout(400)
    n = len(one.said)
    assert 3 <= n < 16
    assert one.said == [said["name"] for said in one.state["said"]]
    one.button("Reveal until it stops").click()
    expect(one.part("question")).to_contain_text("Nothing is left to ask. Spent 16 on 16 patches of 16.")


def test_any_open_patch_may_be_looked_at_instead(person):
    one = person().show_photo()
    one.ask_everything()
    one.cell("r4c4").click()
    one.seen_are(1).page.locator(".spot[data-name=r1c1]").click()
    one.seen_are(2).cell("r4c4").click()
    one.pick("r2c3")
    expect(one.part("question")).to_contain_text("r2c3")
    one.button("Can't be had").click()
    assert one.seen_are(3).said == ["r4c4", "r1c1", "r2c3"]
    assert [one.cell(name).inner_text() for name in one.said] == ["1", "2", ""]
    expect(one.cell("r2c3")).to_have_attribute("aria-label", "row 2, column 3, can't be had")
    assert one.part("stats").locator(".figure").first.inner_text() == "2"
    one.button("Undo", "said").click()
    one.seen_are(2)
    expect(one.cell("r2c3")).to_have_attribute("aria-label", re.compile("row 2, column 3, open"))


def test_by_keyboard_alone(person):
    one = person().show_photo()
    one.ask_everything()
    keys, grid = one.page.keyboard, one.page.get_by_role("grid")
    one.button("Look at this patch").focus()
    keys.press("Enter")
    one.seen_are(1)
    expect(one.button("Look at this patch")).to_be_focused()
    keys.press("Shift+Tab")
    expect(grid).to_be_focused()
    for key in ("Home", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "End", "ArrowDown", "ArrowLeft", "ArrowDown"):
        keys.press(key)
    at = one.page.locator("#" + grid.get_attribute("aria-activedescendant"))
    expect(at).to_have_attribute("aria-label", re.compile("row 3, column 3, open, value "))
    keys.press("Enter")
    one.seen_are(2)
    expect(grid).to_be_focused()
    expect(at).to_have_attribute("aria-label", "row 3, column 3, looked at, 2")
    expect(one.part("announcer")).to_contain_text("Look next: The patch in row")


def test_a_link_shows_its_patches_and_goes_on_with_the_same_photo_only(person):
    one = person().show_photo()
    one.ask_everything().look().look()
    link = "#" + one.page.evaluate("location.hash.slice(1)")
    again = person(link)
    assert again.seen == one.seen
    red = "document.querySelector('canvas').getContext('2d').getImageData(9, 5, 1, 1).data.join()"
    assert again.page.evaluate(red) == one.page.evaluate(red) == ",".join(map(str, [*PHOTOS[0][5, 9], 255]))
    again.show_photo().look()
    assert again.said[:2] == one.said
    again.show_photo(PHOTOS[1])
    again.seen_are(0).look()
    assert (pixels_of(again.state["said"][0]["values"]["r2c3"]) == PHOTOS[1][4:8, 8:12]).all()


def test_another_rule_asks_only_about_the_last_step_and_a_record_about_all(person, model, cut):
    one = person().show_photo()
    one.ask_everything().look().look().look()
    one.sent.clear()
    one.part("rule").get_by_label("Budget").check()
    budget = one.settle().part("rule").get_by_role("textbox", name="Budget")
    budget.fill("2")
    budget.press("Enter")
    expect(one.part("question")).to_contain_text(STOPPED)
    assert [list(body["answers"]) for body in one.settle().sent] == [one.said] * 2
    with one.page.expect_download() as download:
        one.button("Record as JSON").click()
    record = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert [step["stopped"] for step in record["steps"]] == [False, True, True]
    assert [len(body["rows"]) for body in one.sent[2:]] == [3]
    one.button("Undo", "said").click()
    one.seen_are(2)
    expect(one.part("question")).to_contain_text(STOPPED)
    session = Session.from_answers(model, {name: cut(name) for name in one.said})
    assert record["steps"][1]["prediction"]["value"] == session.prediction.value


def test_a_screen_reader_is_told_what_is_true_after_another_rule_and_after_a_file_that_is_no_photo(person):
    one = person().show_photo()
    one.part("rule").get_by_role("slider").press("Home")
    expect(one.part("announcer")).to_have_text(
        "Time to stop. The average cost allows no more questions about this case."
    )
    one.ask_everything()
    expect(one.part("announcer")).to_contain_text("Look next: The patch in row 2, column 3. Price 1.")
    text = {"name": "notes.png", "mimeType": "image/png", "buffer": b"no photo"}
    one.page.get_by_label("Photo", exact=True).set_input_files(text)
    expect(one.part("announcer")).to_have_text(re.compile("^No photo was taken from notes.png. Look next: "))


def test_on_a_narrow_screen_the_axis_stays_in_sight_of_a_chart_that_scrolls(person):
    one = person(viewport={"width": 420, "height": 800}).show_photo()
    one.ask_everything()
    one.button("Reveal until it stops").click()
    one.seen_are(16)
    expect(one.part("question")).to_contain_text(STOPPED)
    place = one.page.locator(".chart-place")
    assert place.evaluate("place => place.scrollLeft") > 0
    left = place.bounding_box()["x"]
    for text in ("0 %", "50 %", "100 %"):
        assert place.get_by_text(text, exact=True).bounding_box()["x"] >= left


def test_a_link_that_would_be_too_long_is_not_offered_and_the_record_still_is(person, photo_models, cut):
    about = PngImagePlugin.PngInfo()
    about.add_text("note", "x" * 30000)
    long = f"data:image/png;base64,{base64.b64encode(as_file(cut('r2c3'), about=about)['buffer']).decode()}"
    said = [{"name": "r2c3", "values": {"r2c3": long}, "at": "2026-01-01T00:00:00Z"}]
    facts = photo_models.models["colours"].facts
    state = {"v": 1, "model": "colours", "fingerprint": facts["fingerprint"], "known": {}, "stop": None, "costs": {}}
    one = person("#" + base64.urlsafe_b64encode(json.dumps(state | {"said": said}).encode()).decode().rstrip("="))
    assert one.said == ["r2c3"]
    expect(one.part("said")).to_contain_text("the link would be too long")
    expect(one.button("Copy link", "said")).to_have_count(0)
    assert one.state["said"] == []
    with one.page.expect_download() as download:
        one.button("Record as JSON", "said").click()
    record = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert record["steps"][0]["answers"] == {"r2c3": long}
    one.button("Undo", "said").click()
    one.seen_are(0)
    expect(one.button("Copy link", "said")).to_have_count(1)


def test_a_sketch_is_made_of_the_whole_photo_only_when_somebody_says_so(person):
    one = person().show("sketched").show_photo()
    expect(one.part("question")).to_contain_text("the whole photo, at 16 x 16 pixels, is sent there once")
    one.button("Go on without").click()
    expect(one.part("question")).not_to_contain_text("sent there once")
    assert all("image" not in body for body in one.sent)
    one.button("Use a sketch after all: the whole photo is sent for it").click()
    expect(one.part("question")).to_contain_text("The sketch is known from the start")
    (whole,) = [body["image"] for body in one.settle().sent if "image" in body]
    assert (pixels_of(whole, (16, 16, 3)) == PHOTOS[0]).all()
    assert one.state["known"] == {"sketch": as_data_url(sketches(PHOTOS[:1])[0][..., None])}
    assert one.violations() == []
    one.button("Without the sketch").click()
    expect(one.part("question").get_by_alt_text("The sketch")).to_have_count(0)
    assert one.settle().state["known"] == {}


def test_photos_of_other_sizes_are_cut_around_the_middle_and_other_files_are_refused(person):
    one = person()
    text = {"name": "notes.png", "mimeType": "image/png", "buffer": b"no photo"}
    one.page.get_by_label("Photo", exact=True).set_input_files(text)
    expect(one.part("question").get_by_role("alert")).to_contain_text("notes.png can't be read as a picture")
    wide = np.repeat(np.repeat(PHOTOS[0], 10, 0), 10, 1)
    wide = np.concatenate([np.zeros_like(wide[:, :80]), wide, np.zeros_like(wide[:, :80])], 1)
    one.show_photo(wide, name="wide.png").look()
    expect(one.part("question")).to_contain_text("50 % of the photo lies outside: it is cut to 16 x 16 pixels")
    expect(one.part("question").get_by_role("alert")).to_have_count(0)
    got = pixels_of(one.state["said"][0]["values"]["r2c3"]).astype(int)
    assert np.abs(got[1:3, 1:3] - PHOTOS[0][5:7, 9:11]).max() <= 2


def test_grey_is_what_the_server_makes_of_colours(person):
    code = """async (file) => {
        const { readPicture } = await import("./web/photo.js");
        const bytes = Uint8Array.from(atob(file), (c) => c.charCodeAt(0));
        return (await readPicture(new File([bytes], "a.png"), [16, 16, 1])).toDataURL("image/png");
    }"""
    made = person().page.evaluate(code, base64.b64encode(as_file(PHOTOS[0])["buffer"]).decode())
    assert (pixels_of(made, (16, 16, 1))[..., 0] == np.asarray(Image.fromarray(PHOTOS[0]).convert("L"))).all()


def test_a_patch_can_be_given_without_a_photo(person, cut):
    one = person().ask_everything()
    one.cell("r2c3").click()
    expect(one.part("question").get_by_role("heading")).to_have_text("The patch in row 2, column 3")
    one.part("question").get_by_text("give this patch alone").click()
    one.button("Answer", "question").click()
    expect(one.part("question")).to_contain_text("Give an answer, or say that it can't be had.")
    one.part("question").get_by_label("r2c3").set_input_files(as_file(cut("r2c3")))
    expect(one.part("question").get_by_alt_text("As it is sent")).to_be_visible()
    one.button("Answer", "question").click()
    assert (pixels_of(one.seen_are(1).state["said"][0]["values"]["r2c3"]) == cut("r2c3")).all()


def test_a_photo_may_be_dropped(person):
    one = person()
    code = """async (file) => {
        const bytes = Uint8Array.from(atob(file), (c) => c.charCodeAt(0));
        const held = new DataTransfer();
        held.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
        const about = { dataTransfer: held, bubbles: true, cancelable: true };
        for (const kind of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(kind, about));
    }"""
    one.page.evaluate(code, base64.b64encode(as_file(PHOTOS[0])["buffer"]).decode())
    expect(one.part("question")).to_contain_text("dropped.png")
    one.look()


def test_an_example_is_looked_at_as_a_chosen_photo_and_what_it_was_is_told_when_it_has_stopped(guest, examples, cut):
    one = guest()
    assert one.page.get_by_role("group", name="Or take an example").get_by_role("button").count() == 24
    one.take_example(3)
    expect(one.button("Example 3")).to_have_attribute("aria-pressed", "true")
    expect(one.button("Example 4")).to_have_attribute("aria-pressed", "false")
    one.ask_everything().look()
    expect(one.part("page")).not_to_contain_text("It was")
    photo, first = pixels_of(examples[2]["image"], (16, 16, 3)), one.state["said"][0]
    assert (pixels_of(first["values"][first["name"]]) == cut(first["name"], photo)).all()
    one.button("Reveal until it stops").click()
    expect(one.part("question")).to_contain_text(f"It was: {examples[2]['label']}")
    expect(one.part("announcer")).to_contain_text(f"It was: {examples[2]['label']}.")
    for ending, told in {"JSON": f'"example": "{examples[2]["name"]}"', "CSV": f",{examples[2]['name']}\n"}.items():
        with one.page.expect_download() as download:
            one.button(f"Record as {ending}", "said").click()
        assert told in download.value.path().read_text(encoding="utf-8")
    one.take_example(5).seen_are(0)
    assert one.state["example"] == examples[4]["name"]
    expect(one.part("page")).not_to_contain_text("It was")


def test_a_link_to_an_example_goes_on_with_its_photo_and_names_it_until_another_is_chosen(guest, examples):
    one = guest().take_example(2)
    one.ask_everything().look()
    again = guest("#" + one.page.evaluate("location.hash.slice(1)"))
    expect(again.button("Example 2")).to_have_attribute("aria-pressed", "true")
    again.look()
    assert (again.said[:1], again.state["example"]) == (one.said, examples[1]["name"])
    again.show_photo().seen_are(0)
    expect(again.button("Example 2")).to_have_attribute("aria-pressed", "false")
    assert "example" not in again.state
    one.button("New case", "said").click()
    assert "example" not in one.seen_are(0).state


def test_an_example_is_taken_by_keyboard_and_sketched_as_a_photo(guest, offering):
    one = guest().show("sketched")
    one.button("Example 1").press("Enter")
    expect(one.button("Look at this patch")).to_be_focused()
    one.button("Send the photo for its sketch").click()
    expect(one.part("question")).to_contain_text("The sketch is known from the start")
    photo = pixels_of(offering.models["sketched"].examples[0]["image"], (16, 16, 3))
    assert one.settle().state["known"] == {"sketch": as_data_url(sketches(photo[None])[0][..., None])}


def test_without_examples_none_are_spoken_of(person):
    expect(person().page.get_by_text("Or take an example")).to_be_hidden()


LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 320, "height": 640}, "is_mobile": True, "has_touch": True},
}


@pytest.mark.parametrize("look", LOOKS)
def test_examples_fit_every_look_of_the_page(guest, look):
    one = guest(**LOOKS[look])
    found = one.violations()
    one.take_example(24).button("Reveal until it stops").click()
    expect(one.part("question")).to_contain_text("It was: ")
    assert found + one.settle().violations() == []
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("look", LOOKS)
def test_no_look_of_the_page_breaks_the_rules_for_accessibility(person, look):
    """Without a photo, with one, and after the stop; never wider than the screen."""
    one = person(**LOOKS[look])
    one.part("question").get_by_text("give this patch alone").click()
    found = one.violations()
    one.show_photo()
    one.ask_everything().look().look()
    found += one.violations()
    one.button("Reveal until it stops").click()
    expect(one.part("question")).to_contain_text(STOPPED)
    found += one.settle().violations()
    assert found == []
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

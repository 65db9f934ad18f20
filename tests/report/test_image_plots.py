"""Pictures of images hold what a session asked and what it said, and a report of images holds the pictures."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from askwise import (
    AskwiseError,
    AverageCost,
    Budget,
    Confidence,
    DimeImageClassifier,
    Penalty,
    RandomOrderImageClassifier,
)
from askwise.evaluation.image_cases import image_case, mean_image
from askwise.report.plots.image_case import draw_case
from askwise.report.plots.images import case_picture, examples_picture, selection_map, selection_picture
from askwise.report.plots.patches import LINES
from askwise.report.report import write_report
from askwise.session.replies import WHY
from pictures import FAST_IMAGES, make_images

STOP = Confidence(0.2)


@pytest.fixture(scope="module")
def colours():
    return DimeImageClassifier(backbone="small-cnn", **FAST_IMAGES).fit(*make_images())


@pytest.fixture(scope="module")
def new_images():
    return make_images(40, seed=1)


@pytest.fixture(scope="module")
def holed(new_images):
    """One image without its first patch, and without another."""
    image = new_images[0][:1] / 255
    image[0, :4, :4] = image[0, 8:12, 4:8] = np.nan
    return image


def drawn(figure: Figure) -> Figure:
    figure.canvas.draw()
    return figure


def assert_within(figure: Figure, words: list[Text]) -> None:
    """No words are cut off at an edge."""
    figure.draw_without_rendering()
    for word in (word for word in words if word.get_text()):
        box = word.get_window_extent()
        assert box.x0 >= 0, word
        assert box.x1 <= figure.bbox.x1, word
        assert box.y0 >= 0, word


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


def test_a_case_is_asked_what_acquire_asks_and_says_what_it_says(colours, new_images):
    images, _ = new_images
    acquired = colours.acquire(images, STOP)
    names = colours.model_.schema.space.names
    for i in range(10):
        case = image_case(colours.model_, colours.encode(images[i : i + 1]), STOP)
        assert [names[patch] for patch in case.asked] == acquired.order[i]
        assert case.reason == acquired.reason[i]
        np.testing.assert_allclose(case.answers[-1], acquired.proba[i], atol=1e-5)


def test_the_values_of_a_case_are_the_information_of_what_is_known_by_then(colours, new_images):
    image = new_images[0][0]
    case = image_case(colours.model_, colours.encode([image]), Budget(4))
    known = np.full(image.shape, np.nan)
    for values, patch in zip(case.values, [*case.asked, None], strict=True):
        expected = colours.information(known[None]).to_numpy().reshape(4, 4)
        np.testing.assert_allclose(np.maximum(values, 0), expected, atol=1e-9)
        if patch is not None:
            known[case.layout.window(patch)] = image[case.layout.window(patch)] / 255


def test_a_photo_is_in_colour_where_it_was_asked_and_numbered_in_order(colours, new_images):
    image = new_images[0][0]
    case = image_case(colours.model_, colours.encode([image]), Budget(3))
    ax = drawn(draw_case(case)).axes[0]
    shown = np.asarray(ax.images[0].get_array())
    asked = np.zeros((16, 16), dtype=bool)
    for order, patch in enumerate(case.asked):
        lines, columns = case.layout.window(patch)
        asked[lines, columns] = True
        (number,) = [text for text in ax.texts if text.get_text() == str(order + 1)]
        x, y = number.get_position()
        assert columns.start - 0.5 < x < columns.stop
        assert lines.start - 0.5 < y < lines.stop
    np.testing.assert_array_equal(shown[asked], image[asked])
    assert np.ptp(shown[~asked], axis=1).max() == 0


def test_a_case_picture_tells_the_answer_the_truth_and_why_it_stopped(colours, new_images):
    images, y = new_images
    right = texts(drawn(case_picture(colours, images[0], Budget(2), truth=y[0])))
    assert any(re.fullmatch(rf"2 of 16 patches: says {y[0]}, \d+% ✓", text) for text in right)
    assert "patches asked\nstopped by budget=2: no open question fits into the budget" in right
    assert "grey: not seen by the model" in right
    assert {"before asking", "after 1", "after 2, at the stop"} <= set(right)
    other = next(label for label in colours.classes_ if label != y[0])
    wrong = texts(drawn(case_picture(colours, images[0], Budget(2), costs=[2.0] * 16, truth=other, name="a.png")))
    assert any(re.fullmatch(rf"1 of 16 patches for 2: says {y[0]}, \d+%, is {other}", text) for text in wrong)
    assert "grey: not seen by the model\na.png" in wrong
    assert any(re.fullmatch(rf"{other} \(true\): \d+%", text) for text in wrong)


def test_the_rule_is_named_as_it_was_given_in_short_numbers(colours, new_images):
    row = colours.encode(new_images[0][:1])
    rule = image_case(colours.model_, row, AverageCost(1)).rule
    assert re.fullmatch(r"average-cost=1 \((budget|blend)=[\d.]{1,7}(,\w+=[\d.]{1,7})*\)", rule)
    assert image_case(colours.model_, row, Budget(2.25) | Penalty(0.0947217832401)).rule == "budget=2.25|penalty=0.0947"


def test_where_every_patch_was_seen_no_grey_is_spoken_of_and_the_reason_is_in_words(colours, new_images):
    words = texts(drawn(case_picture(colours, new_images[0][0], Budget(16))))
    assert not any("grey" in text for text in words)
    assert "patches asked\nstopped by budget=16: nothing is left to ask" in words


def test_a_map_of_values_that_are_all_alike_is_not_all_dark(colours, new_images):
    case = image_case(colours.model_, colours.encode(new_images[0][:1]), Budget(0))
    for value in (0.0, 0.3):
        even = replace(case, values=np.full_like(case.values, value) + np.arange(16).reshape(4, 4) * value / 32)
        shown = draw_case(even).axes[1].images[0]
        assert shown.norm.vmin == 0
        assert shown.norm(1.5 * value) < 0.75


def test_the_lines_of_a_case_picture_are_the_probabilities_after_each_patch(colours, new_images):
    case = image_case(colours.model_, colours.encode(new_images[0][:1]), Budget(5))
    lines = {line.get_label(): line.get_ydata() for ax in draw_case(case).axes for line in ax.lines}
    for label, probabilities in zip(case.labels, case.answers.T, strict=True):
        np.testing.assert_array_equal(lines[f"{label}: {probabilities[-1]:.0%}"], probabilities)


def test_a_number_is_drawn_against_its_truth(colours, new_images):
    case = image_case(colours.model_, colours.encode(new_images[0][:1]), Budget(3))
    number = replace(case, labels=None, answers=np.array([[1.0], [2.0], [4.0], [3.5]]), unit="squared units of y")
    words = texts(drawn(draw_case(number, 3.25)))
    assert "3 of 16 patches: says 3.5, is 3.25" in words
    assert "information\nin squared units of y" in words


def test_patches_that_can_not_be_had_are_never_asked_and_are_crossed(colours, holed):
    case = image_case(colours.model_, colours.encode(holed), None)
    assert np.flatnonzero(case.absent).tolist() == [0, 9]
    assert sorted(case.asked) == [patch for patch in range(16) if patch not in (0, 9)]
    crossed = [patch for patch in draw_case(case).axes[0].patches if patch.get_hatch() == "xxx"]
    assert [patch.get_xy() for patch in crossed] == [(-0.5, -0.5), (3.5, 7.5)]


@pytest.mark.usefixtures("real_size")
def test_a_sketch_is_told_to_the_session_and_drawn_where_nothing_was_asked(new_images):
    images, y = new_images
    settings = FAST_IMAGES | {"epochs": 1, "pretrain_epochs": 1, "prior": "sketch"}
    model = DimeImageClassifier(backbone="small-cnn", **settings).fit(images, y)
    case = image_case(model.model_, model.encode(images[:1]), Budget(3))
    acquired = model.acquire(images[:1], Budget(3))
    assert [model.model_.schema.space.names[patch] for patch in case.asked] == acquired.order[0]
    np.testing.assert_allclose(case.answers[-1], acquired.proba[0], atol=1e-5)
    ax = draw_case(case).axes[0]
    lines = case.sketch > 0
    for patch in case.asked:
        lines[case.layout.window(patch)] = False
    assert lines.any()
    assert np.unique(np.asarray(ax.images[0].get_array())[lines]).tolist() == [LINES]
    half = {"image": case.image[:, :8], "sketch": case.sketch[:, :8], "absent": np.zeros(8, bool), "asked": ()}
    half |= {"layout": replace(case.layout, width=8), "values": case.values[:1, :, :2], "answers": case.answers[:1]}
    narrow = draw_case(replace(case, **half), name="a" * 50)
    for figure in (draw_case(case), narrow, examples_picture(model, images, stop=Budget(1), n=1)):
        words = [*figure.axes[0].findobj(Text), figure._suptitle]
        assert any("a sketch" in word.get_text().replace("\n", " ") for word in words)
        assert_within(figure, words)


def test_nothing_asked_is_a_picture_too(colours, new_images):
    assert "before asking, at the stop" in texts(drawn(case_picture(colours, new_images[0][0], Budget(0))))


def test_scores_that_are_only_an_order_have_no_unit(new_images):
    images, y = new_images
    settings = {name: FAST_IMAGES[name] for name in ("patch", "hidden", "layers", "augment", "random_state")}
    model = RandomOrderImageClassifier(backbone="small-cnn", epochs=1, **settings).fit(images, y)
    words = texts(drawn(case_picture(model, images[0], Budget(2))))
    assert "score\n(an order only)" in words
    assert not any("nats" in text for text in words)


def test_the_map_of_patches_is_the_share_of_images_that_each_is_asked_of(colours, new_images):
    images, _ = new_images
    shares, acquired = selection_map(colours, images, STOP), colours.acquire(images, STOP)
    assert shares.shape == (4, 4)
    assert shares.loc[2, 3] == np.mean(["r2c3" in order for order in acquired.order])
    assert shares.to_numpy().sum() == pytest.approx(acquired.n_asked.mean())
    left, right = drawn(selection_picture(colours, images, STOP)).axes[:2]
    np.testing.assert_array_equal(right.images[0].get_array(), shares)
    np.testing.assert_array_equal(left.images[0].get_array(), np.round(images.mean(0)))


def test_the_mean_of_images_leaves_out_what_is_absent(colours, new_images, holed):
    both = np.concatenate([holed, new_images[0][1:2] / 255])
    mean = mean_image(colours.model_, colours.encode(both))
    np.testing.assert_array_equal(mean[:4, :4], new_images[0][1, :4, :4])
    np.testing.assert_array_equal(mean[4:8], np.round(new_images[0][:2, 4:8].mean(0)))


def test_examples_go_from_few_patches_to_many_and_tell_the_truth(colours, new_images):
    images, y = new_images
    sheet = drawn(examples_picture(colours, images, y, STOP, n=5))
    counts = [int(ax.get_xlabel().split(" of ")[0]) for ax in sheet.axes]
    rows = [int(ax.get_xlabel().split("\nrow ")[1]) for ax in sheet.axes]
    asked = colours.acquire(images, STOP).n_asked
    assert counts == sorted(counts) == asked[rows].tolist()
    assert (len(counts), counts[0], counts[-1]) == (5, asked.min(), asked.max())
    assert all(re.match(r"says (\w+)( ✓|, is (?!\1)\w+)$", ax.get_title(loc="left")) for ax in sheet.axes)


def test_a_model_of_a_table_has_no_pictures_of_patches(flowers, iris):
    with pytest.raises(AskwiseError, match="needs a model of images"):
        selection_map(flowers, iris[0])
    with pytest.raises(AskwiseError, match="needs a model of images"):
        case_picture(flowers, iris[0][0])


@pytest.fixture(scope="module")
def few_images(new_images):
    return tuple(part[:12] for part in new_images)


def test_a_report_of_images_shows_patches_in_place_of_lists_of_questions(colours, few_images, tmp_path):
    files = write_report(colours, *few_images, tmp_path, bootstrap=0)
    assert {"selection", "examples", "case_1", "cost_curve", "patches", "cases"} <= set(files)
    assert "paths" not in files
    page = files["index"].read_text(encoding="utf-8")
    assert "16 patches of 4 x 4 pixels, in 4 rows and 4 columns; each costs 1." in page
    assert page.count('<img class="photo"') == 2 + sum(name.startswith("case_") for name in files)
    assert pd.read_csv(files["patches"], index_col="row").shape == (4, 4)
    assert pd.read_csv(files["cases"])["row"].tolist() == list(range(12))


@pytest.fixture(scope="module")
def named(colours, few_images, tmp_path_factory):
    """The files of a report of images that have names, and whose patches have different prices; and the names."""
    names = [f"{label}/{i:02}.png" for i, label in enumerate(few_images[1])]
    prices = [float(1 + patch) for patch in range(16)]
    folder = tmp_path_factory.mktemp("named")
    return write_report(colours, *few_images, folder, prices, bootstrap=0, names=names), names


def test_a_report_names_the_file_of_each_image_and_tells_of_every_one(named, colours, few_images, tmp_path):
    (files, names), (images, y) = named, few_images
    page, cases = files["index"].read_text(encoding="utf-8"), pd.read_csv(files["cases"])
    assert cases["file"].tolist() == names
    assert cases["truth"].tolist() == y.tolist()
    assert (cases["order"].fillna("").str.split().str.len() == cases["patches"]).all()
    assert cases["probability"].between(1 / 3, 1).all()
    assert set(cases["reason"]) <= set(WHY.values())
    assert re.search(r'alt="The image \w+/\d\d.png and the patches asked of it', page)
    with pytest.raises(AskwiseError, match="2 names were given for 12 cases"):
        write_report(colours, images, y, tmp_path, bootstrap=0, names=names[:2])


def test_a_report_tells_the_prices_of_patches_where_they_differ(named):
    page = named[0]["index"].read_text(encoding="utf-8")
    assert "in 4 rows and 4 columns.</p>" in page
    assert '<td>4</td><td class="n">13</td><td class="n">14</td>' in page

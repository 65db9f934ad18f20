"""Sessions of models that know a sketch: what draws one, what is taken for one, and what is not."""

import base64
import io
import warnings

import numpy as np
import pytest
from PIL import Image
from skimage.feature import canny

import askwise
from askwise import AskwiseError, AskwiseWarning, Budget, DimeImageClassifier, Session, sketch
from askwise.data.images.pictures import as_data_url
from askwise.data.images.sketches import sketches
from pictures import FAST_IMAGES, make_images

# Blocks of colour, so that it has edges.
PHOTO = np.random.default_rng(0).integers(0, 256, (4, 4, 3)).astype(np.uint8).repeat(4, 0).repeat(4, 1)
LINES = sketches(PHOTO[None])[0]


@pytest.fixture(scope="module")
def model():
    settings = {**FAST_IMAGES, "epochs": 1, "pretrain_epochs": 2, "prior": "sketch"}
    return DimeImageClassifier(**settings).fit(*make_images(120))


def png(image):
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("channels", [1, 3])
def test_sketch_draws_what_training_draws_whatever_holds_the_photo(channels):
    photo = PHOTO if channels == 3 else PHOTO[..., 0]
    image = Image.fromarray(photo)
    url = "data:image/png;base64," + base64.b64encode(png(image)).decode()
    expected = sketches(photo.reshape(1, 16, 16, channels))[0]
    assert expected.any()
    for given in (photo, photo / 255, photo.tolist(), image, png(image), url):
        drawn = sketch(given)
        assert drawn.dtype == np.uint8
        assert np.array_equal(drawn, expected)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (PHOTO[None], r"sketch takes one photo.*was given an array of uint8 \(1, 16, 16, 3\), no picture"),
        (LINES > 0, r"was given an array of bool \(16, 16\)"),
        (np.full((4, 4), np.nan), "not known everywhere"),
        ("photo.jpg", "was given 'photo.jpg', no picture"),
        (7, "was given 7"),
    ],
)
def test_sketch_refuses_what_is_no_photo(given, said):
    with pytest.raises(AskwiseError, match=said):
        sketch(given)


def test_a_session_with_the_sketch_is_what_the_model_does_with_the_image(model):
    session = model.session(known={"sketch": sketch(PHOTO)})
    acquired = model.acquire(PHOTO[None], stop=Budget(0))
    np.testing.assert_allclose(list(session.prediction.proba.values()), acquired.proba[0], atol=1e-4)
    assert session.ask().name == model.acquire(PHOTO[None], stop=Budget(1)).order[0][0]


def test_edges_are_the_same_as_bools_ones_whole_numbers_fractions_or_a_picture(model):
    ours = model.session(known={"sketch": LINES})
    bools = canny(PHOTO.astype(np.float32).mean(2) / 255, sigma=1.0)
    one_bit = Image.fromarray(bools)
    forms = (
        bools,
        bools[..., None],
        bools.astype(int),
        bools.astype(float),
        one_bit,
        png(one_bit),
        as_data_url(LINES[..., None]),
    )
    for given in forms:
        session = model.session(known={"sketch": given})
        assert session.prediction == ours.prediction
        again = Session.from_answers(model, session.answers)
        assert again.prediction == ours.prediction
    blank = model.session(known={"sketch": np.zeros((16, 16), bool)})
    assert blank.prediction != ours.prediction


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            PHOTO[..., 0],
            r"black and white, as 0 and 255, 0 and 1, or False and True; was given a picture of \d+ shades",
        ),
        (PHOTO[..., 0] / 255, "shades"),
        (PHOTO, r"was given an array of uint8 \(16, 16, 3\)"),
        (Image.fromarray(PHOTO), "shades, up to"),
        (png(Image.fromarray(PHOTO)), "shades, up to"),
        ((LINES > 0) * np.uint8(200), "2 shades, up to 200"),
        (LINES[:8], "16 x 8|8 x 16"),
    ],
)
def test_a_photo_is_not_taken_for_its_sketch(model, given, said):
    with pytest.raises(AskwiseError, match=said) as refused:
        model.session(known={"sketch": given})
    assert "askwise.sketch(photo) draws the edges of a photo" in str(refused.value)
    session = model.session(known={"sketch": None})
    with pytest.raises(AskwiseError, match=said):
        session.tell("sketch", given)
    session.tell("sketch", LINES)


def test_a_session_that_begins_without_the_sketch_says_so_unless_it_is_meant(model):
    with pytest.warns(
        AskwiseWarning, match=r"begins without one; give known=\{'sketch': askwise.sketch\(photo\)\}"
    ) as told:
        missed = model.session()
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meant = model.session(known={"sketch": None})
        model.session(known={"sketch": LINES})
        # As a service begins: what is known comes later.
        Session(model.model_)
        Session.from_answers(model, {"sketch": LINES})
    assert meant.prediction == missed.prediction


def test_sketch_is_a_name_of_the_package():
    assert "sketch" in dir(askwise)

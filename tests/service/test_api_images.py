"""The routes with models of images: patches as data URLs, what is refused of them, and sketches."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image
from serving import running

from askwise import Session
from askwise.data.images.files import read_image
from askwise.data.images.pictures import as_data_url
from askwise.data.images.sketches import sketches
from askwise.service.app import create_app
from askwise.service.catalogue import Catalogue
from askwise.service.storage import Journal
from askwise.session.replies import session_facts
from pictures import TELLING, make_images

NEXT, SESSIONS = "/v1/models/colours/next", "/v1/models/colours/sessions"
IMAGE = make_images(1, seed=7)[0][0]


def cut(layout, name, image=IMAGE):
    return np.ascontiguousarray(image[layout.window(layout.names.index(name))])


def file_url(data, kind="png"):
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def png(width, height, lines=b""):
    """A black PNG of one bit a pixel, of any size in few bytes; without lines it ends after its header."""

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def photos(photo_models, tmp_path_factory):
    """A server of both, with a journal."""
    journal = Journal(f"sqlite:///{tmp_path_factory.mktemp('photos') / 'journal.db'}")
    with running(create_app(photo_models, journal)) as client:
        yield client


@pytest.fixture(scope="module")
def model(photo_models):
    return photo_models.models["colours"].model


@pytest.fixture(scope="module")
def layout(model):
    return model.schema.layout


def test_a_model_of_images_says_how_it_cuts_them(photos, client):
    size = {"height": 16, "width": 16, "channels": 3, "patch": 4, "rows": 4, "columns": 4}
    plain, sketched = (photos.get(f"/v1/models/{name}").facts for name in ("colours", "sketched"))
    assert plain["image"] == {**size, "sketch": False}
    assert sketched["image"] == {**size, "sketch": True}
    assert [question["name"] for question in plain["questions"]][:5] == ["r1c1", "r1c2", "r1c3", "r1c4", "r2c1"]
    assert {(i["kind"], *i["shape"]) for q in plain["questions"] for i in q["inputs"]} == {("pixels", 4, 4, 3)}
    assert [(i["name"], i["shape"]) for i in sketched["free"]] == [("sketch", [16, 16, 1])]
    assert client.get("/v1/models/heart").facts["image"] is None


def test_a_patch_means_the_same_as_data_url_of_any_kind_and_as_numbers(photos, model, layout):
    pixels = cut(layout, TELLING)
    file = io.BytesIO()
    Image.fromarray(pixels).convert("RGBA").save(file, "PNG")
    given = [as_data_url(pixels), file_url(file.getvalue()), pixels.tolist(), (pixels / 255).tolist()]
    replies = [photos.post(NEXT, {"answers": {TELLING: one}, "stop": "budget=3"}) for one in given]
    session = Session.from_answers(model, {TELLING: pixels}, (), model.rule(None, model.costs()))
    for reply in replies:
        assert reply.status == 200
        assert reply.facts["prediction"] == session_facts(session)["prediction"]
        assert reply.facts["ranking"] == session_facts(session)["ranking"]
        assert reply.facts["answers"][TELLING].startswith("data:image/png;base64,")
    rows = [{"answers": {TELLING: one}} for one in given]
    batch = photos.post("/v1/models/colours/batch", {"rows": rows, "stop": "budget=3"})
    assert batch.facts["rows"] == [reply.facts for reply in replies]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (as_data_url(IMAGE), "one of 16 x 16 pixels"),
        (np.zeros((4, 5, 3), int).tolist(), "one of 4 x 5 pixels"),
        (file_url(png(9000, 9000, bytes(9000 * 1126))), "one of 9000 x 9000 pixels"),
        (file_url(png(60000, 60000)), "no picture, or a damaged one"),
        (file_url(png(4, 4)), "no picture, or a damaged one"),
        (as_data_url(IMAGE[:4, :4])[:-40], "no picture, or a damaged one"),
        (file_url(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n"), "no picture, or a damaged one"),
        (file_url(b"no picture"), "no picture, or a damaged one"),
        ("data:image/png;base64,???", "no picture, or a damaged one"),
        ("data:text/html;base64,PGI+", "no picture, or a damaged one"),
        ("https://example.org/a.png", "no picture, or a damaged one"),
        ("", "was given ''"),
        (7, "was given 7"),
        (True, "was given True"),
        ([], "was given []"),
        ([[1, 2], [3]], "was given [[1, 2], [3]]"),
        (np.full((4, 4, 3), 256).tolist(), "numbers from 256 to 256 as int64"),
        (np.full((4, 4, 3), 7.5).tolist(), "numbers from 7.5 to 7.5 as float64"),
        ({"a": 1}, "unknown column of 'r1c1': 'a'"),
    ],
)  # fmt: skip
def test_what_is_no_picture_of_the_patch_is_refused_with_what_it_takes(photos, given, said):
    refused = photos.post(NEXT, {"answers": {"r1c1": given}})
    assert (refused.status, refused.where) == (422, "r1c1")
    assert said in refused.message
    assert "takes a picture of 4 x 4 pixels and 3 channels" in refused.message or isinstance(given, dict)
    assert len(refused.message) < 400
    assert photos.post("/v1/models/colours/batch", {"rows": [{"answers": {"r1c1": given}}]}).where == "rows.0"


def test_a_body_that_is_too_long_is_refused_before_its_picture_is_read(photo_models, serve):
    client = serve(photo_models, body_bytes=2000)
    refused = client.post(NEXT, {"answers": {"r1c1": "data:image/png;base64," + "A" * 2000}})
    assert refused.status == 413
    assert "2,000 bytes" in refused.message


def test_a_kept_session_goes_on_from_its_journal_with_the_same_patches(photo_models, layout, tmp_path):
    address, told = f"sqlite:///{tmp_path / 'journal.db'}", []
    with running(create_app(photo_models, Journal(address))) as client:
        path = f"/v1/sessions/{client.post(SESSIONS, {'stop': 'budget=3'}).facts['id']}"
        while (question := client.get(path).facts["question"]) is not None:
            told.append(question["name"])
            before = client.post(f"{path}/tell", {"name": told[-1], "value": as_data_url(cut(layout, told[-1]))}).facts
        assert client.post(f"{path}/tell", {"name": "r1c1", "value": "no picture"}).status == 422
    with running(create_app(photo_models, Journal(address))) as client:
        after = client.get(path).facts
        assert after == before
        assert (after["asked"], after["reason"]) == (told, "budget")
        assert set(after["answers"]) == set(told)
        events = client.get(f"{path}/record").facts["events"]
        assert [e["body"]["answers"] for e in events if e["kind"] == "told"] == [
            {name: as_data_url(cut(layout, name))} for name in told
        ]
        assert as_data_url(cut(layout, told[0])) in client.get(f"{path}/record.csv").body.decode().replace('""', '"')
        assert client.post(f"{path}/undo").facts["asked"] == told[:-1]


def test_the_server_draws_the_sketch_that_the_model_was_trained_with(photos, photo_models):
    made = photos.post("/v1/models/sketched/sketch", {"image": as_data_url(IMAGE)})
    drawn = sketches(IMAGE[None])[0]
    assert made.facts == {"sketch": as_data_url(drawn[..., None])}
    assert photos.post("/v1/models/sketched/sketch", {"image": IMAGE.tolist()}).facts == made.facts
    reply = photos.post("/v1/models/sketched/next", {"answers": made.facts}).facts
    session = Session(photo_models.models["sketched"].model, known={"sketch": drawn})
    assert reply["prediction"] == session_facts(session)["prediction"]
    assert (reply["answers"], reply["spent"]) == (made.facts, 0)
    small = photos.post("/v1/models/sketched/sketch", {"image": as_data_url(IMAGE[:4, :4])})
    assert (small.status, small.where) == (422, "image")
    assert "'image' takes a picture of 16 x 16 pixels and 3 channels" in small.message


def test_a_model_that_takes_no_sketch_refuses_to_draw_one(photos, client):
    image = {"image": as_data_url(IMAGE)}
    without = photos.post("/v1/models/colours/sketch", image)
    assert (without.status, "trained without sketches" in without.message) == (422, True)
    table = client.post("/v1/models/heart/sketch", image)
    assert (table.status, "is of tables" in table.message) == (422, True)
    assert client.post("/v1/models/kidney/sketch", image).status == 404


def test_examples_are_as_many_of_each_class_in_no_order_of_them(serve, photo_files, example_folder):
    examples = serve(Catalogue.read(photo_files, example_folder)).get("/v1/models/colours/examples").facts["examples"]
    labels = [example["label"] for example in examples]
    assert Counter(labels) == {"blue": 8, "green": 8, "red": 8}
    assert sum(one != other for one, other in pairwise(labels)) > 8
    for example in examples:
        assert example["name"].startswith(f"{example['label']}/")
        assert example["image"] == as_data_url(read_image(example_folder / example["name"], 16, 16))


def test_a_folder_without_classes_gives_photos_from_its_whole_length_at_the_model_s_size(serve, photo_files, tmp_path):
    for i in range(48):
        Image.new("RGB", (40, 20), (i, 0, 0)).save(tmp_path / f"{i:02}.jpg")
    (tmp_path / ".hidden.jpg").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("no photo")
    server = serve(Catalogue.read(photo_files, tmp_path), token="a token of some length")
    path = "/v1/models/sketched/examples"
    assert server.get(path).status == 401
    examples = server.get(path, Authorization="Bearer a token of some length").facts["examples"]
    assert [example["name"] for example in examples] == [f"{i:02}.jpg" for i in range(0, 48, 2)]
    assert {example["label"] for example in examples} == {None}
    seen = Image.open(io.BytesIO(base64.b64decode(examples[5]["image"].partition(",")[2])))
    assert (seen.format, seen.size, seen.getpixel((8, 8))[0]) == ("PNG", (16, 16), pytest.approx(10, abs=2))


def test_without_a_folder_there_are_no_examples(photos, client):
    assert photos.get("/v1/models/colours/examples").facts == {"examples": []}
    assert client.get("/v1/models/heart/examples").facts == {"examples": []}
    assert client.get("/v1/models/kidney/examples").status == 404

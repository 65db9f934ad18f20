"""`askwise serve` and `askwise demo --serve` as a person starts them."""

from __future__ import annotations

import json
import shutil

import pytest
from serving import command
from typer.testing import CliRunner

from askwise.cli import app

FAST = ["--hidden", "8", "--epochs", "2", "--pretrain-epochs", "2"]


def models_of(*args):
    """What the demo prints, and what it serves."""
    with command("demo", "--serve", *args) as demo:
        models = demo.client.get("/v1/models").facts["models"]
    printed = json.loads(demo.result.stdout)
    assert printed["url"] == f"http://127.0.0.1:{demo.client.port}/"
    return printed, models


def test_the_demo_trains_where_there_is_no_model_and_serves_it(tmp_path):
    facts, models = models_of("--data", "wine", "--out", tmp_path, *FAST)
    assert facts["models"] == [model["name"] for model in models] == ["wine"]
    assert (tmp_path / "wine.askwise").exists()


def test_the_demo_serves_the_model_that_is_there(model_file, tmp_path):
    shutil.copy(model_file, tmp_path / "breast-cancer.askwise")
    _, models = models_of("--out", tmp_path)
    assert models[0]["target"] is None
    assert [path.name for path in tmp_path.iterdir()] == ["breast-cancer.askwise"]


def test_models_are_served_under_the_names_of_their_files(model_file, tmp_path):
    shutil.copy(model_file, tmp_path / "a second heart.v2.askwise")
    with command("serve", model_file, tmp_path / "a second heart.v2.askwise") as service:
        names = [model["name"] for model in service.client.get("/v1/models").facts["models"]]
        assert names == ["heart", "a second heart.v2"]
        assert service.client.get("/v1/models/a%20second%20heart.v2").facts["name"] == "a second heart.v2"


def test_models_of_images_get_the_examples_and_models_of_tables_none(model_file, photo_files, example_folder):
    with command("serve", model_file, *photo_files, "--examples", example_folder) as service:
        offered = {
            name: service.client.get(f"/v1/models/{name}/examples").facts["examples"]
            for name in ("heart", "colours", "sketched")
        }
    assert [len(examples) for examples in offered.values()] == [0, 24, 24]


def test_a_photo_that_is_damaged_is_told_before_anything_listens(photo_files, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no photo")
    done = CliRunner().invoke(app, ["serve", str(photo_files[0]), "--examples", str(tmp_path)])
    assert (done.exit_code, "broken.png can't be read" in done.stderr, done.stdout) == (2, True, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "a token is needed: --token-file FILE"),
        (["--host", "no.such.host.invalid"], "there is no such address"),
        (["--token-file", "{folder}/short"], "at least 16"),
        (["--token-file", "{folder}/none"], "there is no file"),
        (["--journal", "nonsense"], "address can't be read; give sqlite:///journal.db"),
        (["--journal", "sqlite://"], "would be forgotten"),
        (["--journal", "sqlite:////no/such/folder/j.db"], "/no/such/folder does not exist; make it first"),
        (["--examples", "{folder}/none"], "takes a folder of images, and {folder}/none is not there"),
        (["--examples", "{folder}/short"], "{folder}/short is a file, not a folder"),
        (["--examples", "{folder}"], "there are no images in {folder} or its sub-folders; types: .jpg"),
        (["--examples", "{photos}"], "photos for models of images, and 'heart' is of tables; leave it out"),
        (["{model}"], "two model files are called 'heart'"),
        (["{folder}/missing.askwise"], "there is no model file"),
    ],
)
def test_what_can_not_be_served_is_told_in_a_line(model_file, example_folder, tmp_path, arguments, words):
    (tmp_path / "short").write_text("secret")
    places = {"folder": tmp_path, "model": model_file, "photos": example_folder}
    given = [part.format(**places) for part in arguments]
    done = CliRunner().invoke(app, ["serve", str(model_file), *given])
    assert done.exit_code == 2
    assert words.format(**places) in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_port_that_is_taken_is_told(client, model_file):
    done = CliRunner().invoke(app, ["serve", str(model_file), "--port", str(client.port)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "choose another --port" in done.stderr

"""The command line on images: a folder of classes, an npz file or a table of paths, from training to one image."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from askwise import DimeClassifier, DimeImageClassifier, load
from askwise.cli import show
from askwise.cli.fitting import width_note
from askwise.report.plots.style import new_figure
from pictures import FAST_IMAGES, TELLING, make_images

SHORT = ["--patch", 4, "--backbone", "small-cnn", "--hidden", 16, "--layers", 1, "--augment", "none"]
SHORT += ["--epochs", 1, "--pretrain-epochs", 1]
pytestmark = pytest.mark.usefixtures("folder")


def write_folder(folder, images, labels):
    for i, (image, label) in enumerate(zip(images, labels, strict=True)):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / str(label) / f"{i}.png")


def packed(images, labels, split):
    """Images as PNG bytes in one array, as an npz holds many."""
    files = []
    for image in images:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "PNG")
        files.append(file.getvalue())
    classes, y = np.unique(labels, return_inverse=True)
    offsets = np.cumsum([0, *map(len, files)])
    return {"jpeg": np.frombuffer(b"".join(files), np.uint8), "offsets": offsets, "y": y, "classes": classes} | {
        "split": np.array(split)
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Images in folders, an npz and a table, and colours.askwise, which has learnt them. Not to be written into."""
    folder = tmp_path_factory.mktemp("colours")
    images, labels = make_images(240)
    others, truths = make_images(60, seed=1)
    write_folder(folder / "colours", images[:60], labels[:60])
    write_folder(folder / "test", others, truths)
    parts = ["train"] * 240 + ["test"] * 60
    np.savez(
        folder / "colours.npz", **packed(np.concatenate([images, others]), np.concatenate([labels, truths]), parts)
    )
    files = sorted((folder / "test").rglob("*.png"))
    paths = [str(file.relative_to(folder)) for file in files]
    pd.DataFrame({"file": paths, "colour": [f.parent.name for f in files]}).to_csv(folder / "test.csv", index=False)
    # At a learning rate that the command line has no option for.
    model = DimeImageClassifier(backbone="small-cnn", **FAST_IMAGES).fit(images, labels)
    model.model_.card["target"] = "label"
    model.save(folder / "colours.askwise")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def an_image(folder):
    return sorted((folder / "test" / "red").iterdir())[0]


def test_training_says_what_is_asked_and_how_to_go_on(run):
    said = run("train", "colours", *SHORT, "-o", "new.askwise")
    assert "new.askwise: 16 patches of 4 x 4 in images of 16 x 16, learnt from 60 images" in said.stdout
    assert "askwise ask new.askwise --" in said.stdout
    # Trained for a moment, it has learnt nothing, and no rule is suggested.
    assert ("asking brings nothing" in said.stdout) != ("--stop" in said.stdout)
    assert "--image colours/blue/" in said.stdout
    assert "askwise evaluate new.askwise FOLDER --report report/" in said.stdout
    assert "On 12 images held out" in said.stdout
    assert "Predicting" not in said.stderr
    card = load("new.askwise").model_.card
    assert (card["target"], card["data"], card["size"]) == ("label", "colours", [16, 16])


def test_a_folder_an_npz_and_a_table_give_the_same_numbers(run):
    ways = [("test",), ("colours.npz", "--split", "test"), ("test.csv", "--images", "file", "--target", "colour")]
    found = [told(run("evaluate", "colours.askwise", *way, "--bootstrap", 0, "--json")) for way in ways]
    assert [f["rows"] for f in found] == [60, 60, 60]
    for rule in found[0]["area_under_curve"]:
        areas = [f["area_under_curve"][rule]["accuracy"] for f in found]
        assert max(areas) - min(areas) < 1e-9
    top = max(point["accuracy"] for point in found[0]["curve"])
    assert top > 0.9


def test_images_of_another_size_are_brought_to_the_models(run, folder):
    for file in (folder / "test").rglob("*.png"):
        Image.open(file).resize((48, 32), Image.Resampling.NEAREST).save(file)
    assert told(run("evaluate", "colours.askwise", "test", "--bootstrap", 0, "--json"))["rows"] == 60


def test_a_model_of_grey_images_takes_coloured_files(run, folder):
    images, labels = make_images(60)
    np.savez("grey.npz", images=images[..., 0], y=labels)
    assert run("train", "grey.npz", *SHORT, "--quiet").exit_code == 0
    assert told(run("evaluate", "grey.askwise", "test", "--bootstrap", 0, "--json"))["rows"] == 60
    assert run("ask", "grey.askwise", "--image", an_image(folder), "--stop", "budget=1").exit_code == 0


def test_a_report_of_images_is_written(run, folder):
    pytest.importorskip("matplotlib")
    said = run("evaluate", "colours.askwise", "test", "--report", "report", "--bootstrap", 0)
    assert said.exit_code == 0, said.output
    assert "on 60 images of test" in said.stdout
    assert (folder / "report" / "index.html").exists()
    # Which image each line is about.
    assert "test/blue/" in (folder / "report" / "cases.csv").read_text()


def test_patches_can_have_prices(run, folder):
    (folder / "costs.json").write_text(json.dumps({TELLING: 5, "r1c1": 0.5}))
    facts = told(run("train", "colours", *SHORT, "--costs", "costs.json", "-o", "dear.askwise", "--json"))
    assert facts["questions"][:2] == ["r1c1", "r1c2"]
    assert facts["rows"] == 60
    assert "costing 0.5 to 5, 19.5 together" in run("info", "dear.askwise").stdout


def test_one_image_is_asked_until_a_rule_stops_it(run, folder):
    said = run("ask", "colours.askwise", "--image", an_image(folder), "--stop", "budget=2")
    assert said.exit_code == 0, said.output
    assert f"1   {TELLING}" in said.stdout
    assert "label: red (" in said.stdout
    assert "Stopped: no open question fits into the budget" in said.stdout
    assert "2 of 16 patches seen, spent 2" in said.stdout


def test_json_tells_every_step_of_an_image(run, folder):
    facts = told(run("ask", "colours.askwise", "--image", an_image(folder), "--stop", "budget=2", "--json"))
    assert facts["asked"] == [step["patch"] for step in facts["steps"]]
    assert facts["asked"][0] == TELLING
    assert facts["steps"][0]["prediction"]["value"] == facts["prediction"]["value"] == "red"
    assert (facts["reason"], facts["spent"]) == ("budget", 2.0)


def test_the_way_of_an_image_is_drawn_and_the_rule_named_as_it_was_given(run, folder, monkeypatch):
    pytest.importorskip("matplotlib")
    figures = []
    draw = "askwise.report.plots.image_case.new_figure"
    monkeypatch.setattr(draw, lambda *size: figures.append(new_figure(*size)) or figures[0])
    said = run("ask", "colours.askwise", "--image", an_image(folder), "--stop", "average-cost=1", "-o", "way.png")
    assert said.exit_code == 0, said.output
    assert Image.open("way.png").size[0] > 200
    assert any("stopped by average-cost=1 (b" in ax.get_xlabel() for ax in figures[0].axes)


def test_a_sketch_is_made_from_the_file(run, folder):
    pytest.importorskip("skimage")
    said = run("train", "colours", *SHORT, "--prior", "sketch", "-o", "drawn.askwise")
    assert "in images of 16 x 16 and a sketch that is free" in said.stdout
    said = run("ask", "drawn.askwise", "--image", an_image(folder), "--stop", "budget=1")
    assert "(the sketch)" in said.stdout
    assert "1 of 16 patches seen" in said.stdout


def test_info_does_not_list_every_patch(run, made):
    said = run("info", made / "colours.askwise").stdout
    assert "Asks for 16 patches of 4 x 4 in images of 16 x 16" in said
    assert "named r1c1 to r4c4, by row and column; each costs 1" in said
    assert "r1c2" not in said
    assert "backbone=small-cnn" in said


def test_a_model_of_images_is_exported(run):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    facts = told(run("export", "colours.askwise", "--json"))
    assert facts["inputs"]["x"] == ["batch", 16 * 16 * 3]


def test_methods_are_compared_on_images(run, folder):
    said = run(
        *("compare", "test", "--methods", "dime,random-order,all-features,eddi", "--seeds", 1, *SHORT, "--jobs", 1),
        *("--budgets", "1,4", "--json", "--out", "results"),
    )
    facts = told(said)
    assert {line["method"] for line in facts["results"]} == {"dime", "random-order", "all-features"}
    assert "eddi is not run on test: it learns from tables, and images are given there" in said.stderr
    assert (folder / "results" / "table.md").exists()


def test_training_goes_on_from_a_checkpoint(run, folder):
    arguments = ["train", "test", *SHORT, "--checkpoint", "runs", "--quiet"]
    assert run(*arguments).exit_code == 0
    (saved,) = (folder / "runs").iterdir()
    written = saved.stat().st_mtime_ns
    assert run(*arguments).exit_code == 0
    assert saved.stat().st_mtime_ns == written


def test_images_of_many_sizes_become_squares_and_that_is_said(run):
    Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save("test/red/odd.png")
    said = run("train", "test", "--patch", 100)
    assert "the images have 2 sizes" in said.stderr
    assert "cut to 16 x 16;" in said.stderr
    assert "a patch of 100 x 100 does not divide them; give --patch 2 or 4 or 8" in said.stderr


def test_a_timm_model_without_timm_is_explained_before_images_are_read(run, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "timm"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "timm", None)
    said = run("train", "test.csv", "--images", "fil", "--backbone", "resnet18")
    assert said.exit_code == 2
    assert "needs timm, which can't be loaded" in said.stderr
    assert "'small-cnn'" in said.stderr


def with_patients(column="patient"):
    """A table of the 60 images of three patients, 20 each."""
    table = pd.read_csv("test.csv").assign(**{column: np.arange(60) % 3, "note": "seen"})
    table.to_csv("visits.csv", index=False)
    return ("visits.csv", "--images", "file", "--target", "colour", "--split-by", column, "--drop", "note")


def test_images_of_one_patient_are_held_out_together(run):
    card = told(run("train", *with_patients(), *SHORT, "-o", "new.askwise", "--json"))["card"]
    assert (card["rows_trained"], card["rows_validated"]) == (40, 20)


def test_images_of_one_patient_are_compared_together(run):
    said = run("compare", *with_patients(), *SHORT, "--methods", "random-order", "--seeds", 1, "--jobs", 1, "--json")
    assert {line["n_test"] for line in told(said)["results"]} == {20}


def test_images_of_one_patient_are_drawn_together_for_intervals(run):
    cases, *columns = with_patients()[:5]
    patients = pd.read_csv(cases)[with_patients()[6]].nunique()
    said = run("evaluate", "colours.askwise", cases, *columns, "--split-by", with_patients()[6], "--bootstrap", 5)
    assert said.exit_code == 0, said.output
    assert patients < 60
    assert "accuracy" in said.stdout


def test_the_column_of_images_is_remembered(run):
    columns = ("--images", "file", "--target", "colour")
    said = run("train", "test.csv", *columns, *SHORT, "-o", "new.askwise")
    assert "askwise evaluate new.askwise FILE.csv --report report/" in said.stdout
    assert told(run("evaluate", "new.askwise", "test.csv", "--bootstrap", 0, "--json"))["rows"] == 60
    pd.read_csv("test.csv").rename(columns={"file": "photo"}).to_csv("other.csv", index=False)
    said = run("evaluate", "new.askwise", "other.csv")
    assert "other.csv a table without 'file', which had their paths in training" in said.stderr
    assert "--images COLUMN; it has 'photo', 'colour'" in said.stderr


def test_what_is_predicted_from_a_part_of_a_file_can_be_named(run):
    said = run("train", "colours.npz", "--split", "train", "--target", "colour", *SHORT, "-o", "new.askwise")
    assert said.exit_code == 0, said.output
    assert load("new.askwise").model_.card["target"] == "colour"
    assert "askwise evaluate new.askwise colours.npz --split test" in said.stdout


def test_a_model_that_learnt_nothing_is_told(run):
    images, _ = make_images(60)
    np.savez("noise.npz", images=images, y=np.arange(60) % 2)
    said = run("train", "noise.npz", *SHORT, "-o", "new.askwise")
    assert "with everything known it is no better than with nothing; train longer (--epochs)" in said.stderr


def test_better_is_a_lower_loss_or_an_accuracy_beyond_chance():
    nothing = {"accuracy": 0.5, "log_loss": 0.7}
    assert show.is_better({"accuracy": 0.5, "log_loss": 0.6}, nothing, 50)
    assert show.is_better({"accuracy": 0.8, "log_loss": 0.9}, nothing, 50)
    assert not show.is_better({"accuracy": 0.6, "log_loss": 0.69}, nothing, 50)
    assert show.is_better({"rmse": 2.0}, {"rmse": 3.0}, 50)
    assert not show.is_better({"rmse": 3.1}, {"rmse": 3.0}, 50)


def test_how_a_photo_was_cut_is_told(run, folder):
    Image.open(an_image(folder)).resize((48, 32)).save("wide.png")
    arguments = ("ask", "colours.askwise", "--image", "wide.png", "--stop", "budget=1")
    assert "48 x 32 pixels, scaled and cut to 16 x 16: 33% of it lies outside" in run(*arguments).stdout
    facts = told(run(*arguments, "--json"))
    assert facts["image_size"] == [32, 48]
    assert facts["outside"] == pytest.approx(1 / 3)
    Image.open(an_image(folder)).resize((32, 32)).save("large.png")
    assert "32 x 32 pixels, scaled to 16 x 16\n" in run("ask", "colours.askwise", "--image", "large.png").stdout


TRAIN = ("train", "colours")
ASK = ("ask", "colours.askwise")
# The arguments, and words of the message.
MISTAKES = {
    "a folder without sub-folders": (("train", "colours/red"), ["has no sub-folders, but", "sub-folder"]),
    "an empty class": (("train", "hollow"), ["the sub-folder 'none' of hollow has no images"]),
    "a broken image": (("train", "broken"), ["broken/blue/bad.png can't be read", "leave it out"]),
    "one image": (("train", "test/red.png"), ["test/red.png is one image; give a folder"]),
    "nothing there": (("train", "nowhere.npz"), ["there is no file or folder nowhere.npz"]),
    "nothing there, before its options": (
        ("train", "nowhere", "--images", "file"),
        ["there is no file or folder nowhere"],
    ),
    "nothing there to evaluate on": (("evaluate", "colours.askwise", "nowhere"), ["no file or folder nowhere"]),
    "persons in a folder": (
        ("evaluate", "colours.askwise", "test", "--split-by", "patient"),
        ["--split-by names a column of a table, and test is none"],
    ),
    "nothing there to compare on": (
        ("compare", "nowhere", "--backbone", "small-cn"),
        ["there is no file or folder nowhere, and no dataset has that name"],
    ),
    "no images there to compare on": (("compare", "nowhere.npz"), ["there is no file or folder nowhere.npz"]),
    "a column of a folder's answers": (
        ("evaluate", "colours.askwise", "test", "--target", "y"),
        ["test has its answers in its sub-folders", "leave --target out"],
    ),
    "a folder kept together": ((*TRAIN, "--split-by", "patient"), ["--split-by is about the columns", "--images"]),
    "an unknown column to keep together": (
        ("train", "test.csv", "--images", "file", "-t", "colour", "--split-by", "patien"),
        ["unknown column in --split-by: 'patien'"],
    ),
    "an unknown column to drop": (
        ("train", "test.csv", "--images", "file", "-t", "colour", "--drop", "age"),
        ["unknown column in --drop: 'age'"],
    ),
    "patches left out of convolutions": ((*TRAIN, "--drop-unknown"), ["--drop-unknown is for a transformer"]),
    "a device that is not there": (
        (*TRAIN, *SHORT, "--device", "cuda:77"),
        ["device 'cuda:77'"],
    ),
    "no patch for small images": (TRAIN, ["16 x 16 pixels", "would be the whole image", "--patch 2 or 4 or 8"]),
    "the usual patch on images that are not large": (
        (*TRAIN, "--size", 32),
        ["is for larger ones; give --patch 2 or 4 or 8\n"],
    ),
    "a patch that does not divide": ((*TRAIN, "--patch", 5), ["does not divide them; give --patch 2 or 4 or 8"]),
    "a size that nothing divides": ((*TRAIN, "--size", 31, "--patch", 4), ["give --size 32"]),
    "a slip in a backbone": ((*TRAIN, "--backbone", "small-cn"), ["did you mean 'small-cnn'?", "timm"]),
    "an unknown backbone": ((*TRAIN, "--backbone", "resnet1800"), ["resnet1800"]),
    "pretrained weights of our own": ((*TRAIN, "--pretrained"), ["--pretrained is for a model of timm"]),
    "a width of a timm model": ((*TRAIN, "--backbone", "resnet18", "--hidden", 8), ["--hidden is for small-cnn"]),
    "an unknown prior": ((*TRAIN, "--prior", "photo"), ["unknown --prior 'photo'", "'sketch'"]),
    "an unknown way to vary": ((*TRAIN, "--augment", "shift,turn"), ["'turn'", "'flip', 'none'"]),
    "groups of images": ((*TRAIN, "--groups", "g.json"), ["--groups is about the columns of a table"]),
    "free columns of images": ((*TRAIN, "--free", "age"), ["--free is about the columns of a table"]),
    "a method for tables": ((*TRAIN, "--method", "eddi"), ["learns from tables, and images are given", "dime"]),
    "an unknown price": ((*TRAIN, *SHORT, "--costs", "prices.json"), ["'r9c9'"]),
    "image options for a table": (("train", "test.csv", "-t", "colour", "--patch", 4), ["--patch is about images"]),
    "a table of images without a target": (("train", "test.csv", "--images", "file"), ["--target COLUMN"]),
    "an unknown column of paths": (
        ("train", "test.csv", "--images", "fil", "-t", "colour"),
        ["did you mean 'file'?"],
    ),
    "a path that is not there": (
        ("train", "lost.csv", "--images", "file", "-t", "colour"),
        ["lost.csv names 1 images that are not there", "gone.png"],
    ),
    "a part of a folder": ((*TRAIN, "--split", "train"), ["--split takes a part of an .npz file"]),
    "an unknown part": (("train", "colours.npz", "--split", "tests", *SHORT), ["did you mean 'test'?"]),
    "a model of images and a table": (
        ("evaluate", "colours.askwise", "test.csv"),
        ["is a model of images, and test.csv a table", "--images COLUMN; it has 'file', 'colour'"],
    ),
    "images to predict as rows": (
        ("predict", "colours.askwise", "test", "-o", "out.csv"),
        ["a model of images, and predict takes rows of a table; use askwise ask MODEL --image FILE"],
    ),
    "images with other labels": (("evaluate", "colours.askwise", "broken"), ["bad.png can't be read"]),
    "asking without an image": (ASK, ["colours.askwise asks for patches of an image; give one: --image FILE"]),
    "an image that is not there": ((*ASK, "--image", "gone.png"), ["there is no file gone.png"]),
    "a folder for an image": ((*ASK, "--image", "test"), ["test is a folder; give one image"]),
    "an image that is none": ((*ASK, "--image", "test.csv"), ["test.csv can't be read"]),
    "a picture that is no PNG": ((*ASK, "--image", "test/red.png", "-o", "way.gif"), ["-o writes a PNG"]),
    "answers beside an image": ((*ASK, "--image", "x.png", "--answers", "prices.json"), ["leave --answers out"]),
    "image options to compare tables": (("compare", "wine", "--patch", 4), ["--patch is about images"]),
    "columns to compare images by": (("compare", "colours", "--drop", "x"), ["--drop is about the columns"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained(run, folder, name):
    (folder / "hollow" / "none").mkdir(parents=True)
    shutil.copytree("test/red", "hollow/red")
    shutil.copytree("test/red", "broken/red")
    (folder / "broken" / "blue").mkdir()
    (folder / "broken" / "blue" / "bad.png").write_bytes(an_image(folder).read_bytes()[:60])
    shutil.copy(an_image(folder), "test/red.png")
    (folder / "prices.json").write_text('{"r9c9": 2}')
    (folder / "lost.csv").write_text("file,colour\ntest/red.png,red\ngone.png,blue\n")
    arguments, words = MISTAKES[name]
    said = run(*arguments)
    assert said.exit_code == 2, said.output
    assert said.stdout == ""
    for word in words:
        assert word in said.stderr


def test_a_model_of_tables_takes_no_images(run, trained, folder):
    heart = trained / "heart.askwise"
    said = run("evaluate", heart, "test")
    assert said.exit_code == 2
    assert "is a model of tables; give it a table" in said.stderr
    said = run("ask", heart, "--image", an_image(folder))
    assert said.exit_code == 2
    assert "leave --image out" in said.stderr
    said = run("ask", heart, "-o", "way.png")
    assert said.exit_code == 2
    assert "-o draws what was asked of an image" in said.stderr


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (
            DimeImageClassifier(device="cpu"),
            r"On a CPU the network is 128 channels wide instead of 256, to be done sooner; --hidden N",
        ),
        (DimeImageClassifier(device="cpu", hidden=128), None),
        (DimeImageClassifier(device="cpu", backbone="small-vit"), None),
        (DimeClassifier(), None),
    ],
    ids=["no width", "a width", "another backbone", "a table"],
)
def test_a_network_that_is_narrower_on_a_cpu_is_told(estimator, said):
    note = width_note(estimator)
    assert note is None if said is None else re.match(said, note)

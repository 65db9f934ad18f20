"""The report holds everything on one page, and is written whole or not at all."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from askwise import AskwiseError, DimeClassifier
from askwise.core.tasks import Classification
from askwise.data.tables.schema import Schema
from askwise.evaluation.calibration import calibration
from askwise.model.model import Model
from askwise.report.beside import check_beside
from askwise.report.calibration import measure, section, sentences
from askwise.report.findings import ReportOptions
from askwise.report.report import make_report, write_report

VOID = {"meta", "img"}
TABLES = {"curve", "trust", "reliability", "realised"}
ANY_TASK = {"cost_curve", "metrics", "selection", "stop_reasons", "paths", "frontier", "calibration", "information"}
OF_NUMBERS = {*TABLES, *ANY_TASK, "index"}
FILES = {*OF_NUMBERS, "bound", "full_input"}
OF_TWO = {"decisions", "net_benefit", "decision_curve"}
# Of the four questions about a flower.
PRICES = [1, 2, 3, 4]


class Page(HTMLParser):
    """The tags, attributes and text of a page; complains where tags do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def report(clinic, new_cases, tmp_path_factory):
    seen: list[float] = []
    files = write_report(
        clinic, *new_cases, tmp_path_factory.mktemp("clinic") / "deep" / "report", bootstrap=20, progress=seen.append
    )
    return files, seen


@pytest.fixture(scope="module")
def page(report):
    return Page(report[0]["index"].read_text(encoding="utf-8"))


def test_a_report_is_a_curve_pictures_and_a_page_in_one_folder(report):
    files = report[0]
    assert set(files) == FILES | OF_TWO
    assert {path.name for path in files["index"].parent.iterdir()} == {path.name for path in files.values()}


def test_the_csv_is_the_curve(report, clinic, new_cases):
    table = clinic.curve(*new_cases, bootstrap=20)
    pd.testing.assert_frame_equal(pd.read_csv(report[0]["curve"]), table)


def test_the_page_holds_every_picture_and_needs_nothing_else(report, page):
    pictures = {path.read_bytes() for path in report[0].values() if path.suffix == ".png"}
    sources = [image["src"] for image in page.all("img")]
    assert {base64.b64decode(s.removeprefix("data:image/png;base64,")) for s in sources} == pictures
    assert not page.all("script") + page.all("link") + page.all("a")
    assert "url(" not in report[0]["index"].read_text(encoding="utf-8")


def test_the_page_reads_well_for_everyone(page):
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == 1
    assert all(len(image["alt"]) > 20 for image in page.all("img"))
    assert all(head["scope"] == "col" for head in page.all("th"))
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
    assert "prefers-color-scheme: dark" in "".join(page.words)


def test_the_page_tells_questions_with_their_prices_and_free_columns(page):
    words = "\n".join(page.words)
    assert re.search(r"exercise test\s+rate, pain\s+15", words)
    assert re.search(r"age\s+known from the start\s+free", words)


def test_progress_rises_to_one(report):
    seen = report[1]
    assert seen == sorted(seen)
    assert 0 < seen[0] < seen[-1] == 1


@pytest.fixture(scope="module")
def priced(clinic, new_cases):
    """A report under other prices, not written yet."""
    return make_report(clinic, *new_cases, ReportOptions({"scan": 77}, bootstrap=0))


def test_prices_of_the_report_are_those_given(clinic, priced):
    words = "\n".join(Page(priced.contents["index.html"].decode()).words)
    assert re.search(r"scan\s+scan\s+77", words)
    assert "Measured on these cases" in words
    assert clinic.model_.costs({"scan": 77}) not in clinic.model_.frontiers


def test_names_and_labels_of_users_are_text_never_markup(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["<script>alert(1)</script>", '"><img src=x>'])
    y = np.where(X.iloc[:, 0] > 0, "<b>yes</b>", "$no & 'none'")
    model = DimeClassifier(hidden=8, pretrain_epochs=3, epochs=3, random_state=0).fit(X, y)
    page = Page(write_report(model, X, y, tmp_path, bootstrap=0)["index"].read_text(encoding="utf-8"))
    assert (len(page.all("script")), len(page.all("b")), len(page.all("img"))) == (0, 3, 11)
    assert "<script>alert(1)</script>" in page.words


def test_a_regression_has_a_report_too(progression, diabetes, tmp_path):
    files = write_report(progression, *(part.head(60) for part in diabetes), tmp_path, bootstrap=0)
    words = Page(files["index"].read_text(encoding="utf-8")).words
    assert set(files) == OF_NUMBERS
    assert "RMSE (units of y)" in words


def test_the_page_tells_the_calibration_of_the_cases(report, page, clinic, new_cases):
    found = calibration(clinic.model_, clinic.encode(new_cases[0]), new_cases[1])
    words = "\n".join(page.words)
    assert re.search(rf"at budget 30.2\s+{found.summary['ece']:.4f}\s", words)
    (numbers,) = pd.read_csv(report[0]["trust"]).to_dict("records")
    assert numbers.pop("model") == "this"
    assert numbers == pytest.approx(found.summary, rel=1e-12)
    assert pd.read_csv(report[0]["realised"])["n"].sum() == len(found.questions)
    assert pd.read_csv(report[0]["reliability"])["n"].sum() == len(new_cases[0])


@pytest.fixture(scope="module")
def some_iris(iris):
    """Every fifth row, of all three classes."""
    return tuple(part[::5] for part in iris)


@pytest.fixture(scope="module")
def alone(flowers, some_iris, tmp_path_factory):
    """A report of one model."""
    return write_report(flowers, *some_iris, tmp_path_factory.mktemp("alone"), PRICES, bootstrap=0)


def test_a_second_model_is_drawn_beside_the_first_at_the_same_prices(flowers, some_iris, alone, fast, tmp_path):
    second = DimeClassifier(scaling="none", costs=[1, 1, 1, 5], **fast).fit(*some_iris)
    both = write_report(flowers, *some_iris, tmp_path, PRICES, bootstrap=0, beside=second)
    assert set(both) == FILES
    differ = {name for name in FILES if both[name].read_bytes() != alone[name].read_bytes()}
    assert differ == {"bound", "information", "index", *TABLES - {"curve"}}
    words = Page(both["index"].read_text(encoding="utf-8")).words
    assert {"This model", "The second model"} <= set(words)
    assert "The second model was trained with other prices of 'x3'." in "\n".join(words)
    assert pd.read_csv(both["trust"])[["model", "budget"]].to_numpy().tolist() == [["this", 5], ["beside", 5]]


def test_what_tells_two_models_apart_is_said_in_the_report(some_iris, fast):
    short = fast | {"epochs": 1, "pretrain_epochs": 1}
    first = DimeClassifier(costs=[1, 2, 3, 4], **short).fit(*some_iris)
    second = DimeClassifier(costs=[1, 2, 3, 5], dropout=0.5, **short).fit(*some_iris)
    found = measure(first, second, *some_iris, first.model_.costs())
    assert list(found.models) == ["this model (dropout=None)", "the second model (dropout=0.5)"]
    assert "The second model was trained with other prices of 'x3'." in "\n".join(Page(section(found, {})).words)
    assert measure(first, first, *some_iris, first.model_.costs()).notes == ()


def test_models_that_differ_only_in_their_last_labels_or_groups_are_told_apart(flowers):
    def of(labels, groups):
        X = pd.DataFrame(np.eye(2, 30), columns=[f"c{i:02}" for i in range(30)])
        schema = Schema.of(X, groups=groups)
        return Model(schema, Classification(labels), flowers.model_.policy)

    labels, groups = tuple(range(20)), {"last": ["c28", "c29"]}
    check_beside(of(labels, groups), of(labels, groups))
    with pytest.raises(AskwiseError, match="only one of the two has 19, 99; train it for the same target"):
        check_beside(of(labels, groups), of((*labels[:-1], 99), groups))
    with pytest.raises(AskwiseError, match="they differ in 'c27', 'last'"):
        check_beside(of(labels, groups), of(labels, {"last": ["c27", "c28", "c29"]}))


def test_the_words_say_what_chance_explains_what_came_true_and_what_was_not_tried(clinic, new_cases):
    found = calibration(clinic.model_, clinic.encode(new_cases[0]), new_cases[1])
    n = found.summary
    ece, came, dear = sentences(found)
    assert f"would show {n['ece_if_perfect']:.3f} on these rows, and up to {n['ece_if_perfect_high']:.3f} by" in ece
    assert ("more than chance explains" in ece) == (n["ece"] > n["ece_if_perfect_high"])
    half = 1.96 * n["realised_over_predicted_error"]
    assert f"by {n['realised_over_predicted']:.0%} ± {half:.0%} of what was predicted (95% interval)" in came
    assert dear == "Not tried here, since it costs more than the budget: 'scan'."
    sure = replace(found, at_budget=np.round(found.at_budget))
    right = (found.at_budget.argmax(1) == found.truth).mean()
    assert f"more than chance explains; it is 100% sure and {right:.0%} right on average." in sentences(sure)[0]


def test_the_head_of_the_page_names_what_is_reported_on(flowers, iris, tmp_path):
    X, y = iris
    files = write_report(flowers, X[:1], y[:1], tmp_path, bootstrap=0, subject="<m>.askwise on test.csv")
    page = Page(files["index"].read_text(encoding="utf-8"))
    assert page.words.count("<m>.askwise on test.csv") == 1
    assert "askwise report: <m>.askwise on test.csv" in page.words
    assert f"Made on {date.today().isoformat()}, on 1 case; 4 questions that can be asked" in page.words


def test_a_second_model_of_other_questions_or_answers_writes_nothing(flowers, clinic, cases, iris, fast, tmp_path):
    X, y = iris
    named = DimeClassifier(**fast).fit(cases[0], cases[1])
    for first, data, second, words in [
        (flowers, (X, y), DimeClassifier(**fast).fit(X[:, :3], y), "other columns: only one of the two has 'x3'"),
        (
            flowers,
            (X, y),
            DimeClassifier(**fast).fit(X, y == 0),
            "predicts one of False, True, the first one of 0, 1, 2",
        ),
        (clinic, cases, named, "groups its columns otherwise"),
    ]:
        with pytest.raises(AskwiseError, match=words):
            write_report(first, *data, tmp_path / "report", beside=second)
    assert list(tmp_path.iterdir()) == []


def test_labels_written_as_fractions_are_the_same_labels(flowers, some_iris, alone, tmp_path):
    X, y = some_iris
    fractions = write_report(flowers, X, y.astype(float), tmp_path, PRICES, bootstrap=0)
    assert set(alone) == FILES
    assert {n: p.read_bytes() for n, p in alone.items()} == {n: p.read_bytes() for n, p in fractions.items()}


def test_a_label_that_the_model_does_not_know_writes_nothing(clinic, new_cases, tmp_path):
    with pytest.raises(AskwiseError, match="unknown label 'dead'"):
        write_report(clinic, new_cases[0], np.full(len(new_cases[0]), "dead"), tmp_path / "report")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_folder_is_an_error(clinic, new_cases, tmp_path):
    (tmp_path / "report").write_text("mine")
    with pytest.raises(AskwiseError, match="is a file; give a folder"):
        write_report(clinic, *new_cases, tmp_path / "report")
    assert (tmp_path / "report").read_text() == "mine"


def test_a_report_that_can_not_be_put_in_place_leaves_all_as_it_was(priced, tmp_path):
    (tmp_path / "index.html").mkdir()
    (tmp_path / "curve.csv").write_text("old")
    with pytest.raises(AskwiseError, match=r"can't write .*index\.html"):
        priced.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"index.html", "curve.csv"}
    assert (tmp_path / "curve.csv").read_text() == "old"

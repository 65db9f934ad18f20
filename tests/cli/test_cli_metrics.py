"""Every metric, and one that is added by a line in METRICS, shows in `evaluate`, `info`, reports and `compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askwise.cli import show
from askwise.evaluation.metrics import METRICS, Metric
from askwise.report.plots.style import metric_text

pytestmark = pytest.mark.usefixtures("folder")
EVERY_METRIC = [(task, name) for task, metrics in METRICS.items() for name in metrics]
TARGETS = {"classification": "diagnosis", "regression": "pressure"}


def half_right(predictions, answers, weights):
    return weights @ (0.5 * (predictions.argmax(1) == answers)) / weights.sum(1)


TOY = Metric(half_right, True, "Half of what is right (points)", "half right", "{:.4f}")


def measured(run, model, folder):
    """What `evaluate` and `info` say of a model, and the page of its report."""
    report = ("--report", folder / "report", "--bootstrap", "5")
    said = run("evaluate", model, "test.csv", *report)
    assert said.exit_code == 0, said.output
    facts = json.loads(run("evaluate", model, "test.csv", "--bootstrap", "5", "--json").stdout)
    return {
        "evaluate": said.stdout,
        "json": facts,
        "info": run("info", model).stdout,
        "page": (folder / "report" / "index.html").read_text(encoding="utf-8"),
        "csv": (folder / "report" / "curve.csv").read_text(encoding="utf-8"),
    }


@pytest.fixture(scope="module")
def shown(run, trained, tmp_path_factory):
    """The same of a model of each task."""
    pytest.importorskip("matplotlib")
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(trained)
        for task, target in TARGETS.items():
            folder = tmp_path_factory.mktemp(task)
            fast = ("--hidden", "8", "--epochs", "1", "--pretrain-epochs", "1")
            made = run("train", "cases.csv", "--target", target, "--drop", "patient", *fast, "-o", folder / "m.askwise")
            assert made.exit_code == 0, made.output
            found[task] = measured(run, folder / "m.askwise", folder)
    return found


@pytest.mark.parametrize(("task", "name"), EVERY_METRIC)
def test_every_metric_has_words_and_shows_everywhere(shown, task, name):
    metric, said = METRICS[task][name], shown[task]
    record = said["json"]["curve"][-1]
    assert metric.label
    assert metric_text(name, record[name]) == metric.form.format(record[name])
    assert (f"{name}_low" in record) == metric.has_interval
    assert all(name in areas for areas in said["json"]["area_under_curve"].values())
    assert metric.label.replace("units of y", "units of pressure") in said["page"]
    assert name in said["csv"].splitlines()[0].split(",")
    heading = metric.short or metric.label
    assert (heading in said["evaluate"].splitlines()[2]) == metric.on_terminal
    assert any("average cost" in line and heading in line for line in said["info"].splitlines()) == metric.on_terminal


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("accuracy", 0.5, "50.0%"),
        ("auroc", 0.5, "0.500"),
        ("rmse", 12.3456, "12.35"),
        ("rmse", 12345.6, "12,346"),
        ("r2", float("nan"), "–"),
    ],
)
def test_a_metric_is_written_on_the_terminal_by_its_form(name, value, text):
    assert show.format_metric(name, value) == text


def test_a_line_in_metrics_is_all_that_a_new_metric_takes(run, monkeypatch, tmp_path, fast):
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(METRICS["classification"], "half", TOY)
    assert run("train", "cases.csv", "--target", "diagnosis", *fast, "-o", "toy.askwise").exit_code == 0
    said = measured(run, "toy.askwise", tmp_path)
    for record in said["json"]["curve"]:
        assert record["half"] == pytest.approx(record["accuracy"] / 2)
        assert record["half_low"] <= record["half"] <= record["half_high"]
    assert "half right" in said["evaluate"]
    assert "half right" in said["info"]
    assert said["page"].count("Half of what is right (points)") >= 3
    assert "half,half_low,half_high" in said["csv"]


def test_compare_shows_a_new_metric_of_trainings_that_were_kept_before_it_existed(run, monkeypatch):
    pytest.importorskip("matplotlib")
    words = ("--methods", "random-order", "--seeds", "1", "--epochs", "1", "--hidden", "8", "--jobs", "1", "--out", "o")
    first = run("compare", "cases.csv", "--target", "diagnosis", *words)
    assert "1 training run" in first.stdout, first.output
    monkeypatch.setitem(METRICS["classification"], "half", TOY)
    again = run("compare", "cases.csv", "--target", "diagnosis", *words, "--metric", "half")
    assert again.exit_code == 0, again.output
    assert "Half of what is right (points), higher is better" in again.stdout
    assert "1 training run\n" in again.stdout
    (line,) = (line.split() for line in again.stdout.splitlines() if line.startswith("random-order"))
    assert "–" not in line
    assert "Half of what is right" in Path("o/table.md").read_text(encoding="utf-8")
    assert "1 kept" in run("compare", "cases.csv", "--target", "diagnosis", *words, "--metric", "half").stdout

"""Gaps that tell the answer, on the command line: told by train, check, info and the report of evaluate."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from askwise import load
from askwise.report.page import PAGE
from askwise.report.sections import gaps_section


@pytest.fixture(scope="module")
def lab(run, tmp_path_factory):
    """A table with a lab of noise that most of the sick have, and what `askwise train` said of it."""
    folder, rng = tmp_path_factory.mktemp("lab"), np.random.default_rng(0)
    sick = rng.random(400) < 0.5
    lactate = np.where(rng.random(400) < np.where(sick, 0.8, 0.2), rng.normal(2, 0.5, 400), np.nan)
    frame = pd.DataFrame({"age": rng.normal(50 + 9 * sick, 9), "lactate": lactate, "ill": np.where(sick, "yes", "no")})
    frame.to_csv(folder / "cases.csv", index=False)
    words = ("train", folder / "cases.csv", "--target", "ill", "--method", "random-order", "--hidden", 8, "--json")
    said = run(*words, "--epochs", 1, "-o", folder / "m.askwise")
    assert said.exit_code == 0, said.output
    return folder, said


def test_train_warns_once_and_has_them_in_its_json(lab):
    _, said = lab
    assert said.stderr.count("'lactate'") == 1
    assert "Warning: 'lactate' was recorded in 8" in said.stderr
    facts = json.loads(said.stdout)
    assert [(g["group"], g["flagged"]) for g in facts["card"]["gaps"]] == [("lactate", True)]
    assert [f["kind"] for f in facts["findings"]] == ["informative-gaps"]


def test_check_finds_them(run, lab):
    said = run("check", lab[0] / "cases.csv", "--target", "ill")
    assert "'lactate'" in said.stdout
    assert "--drop lactate" in said.stdout


def test_compare_says_what_it_makes_of_them(run, lab, tmp_path):
    words = ("--methods", "random-order", "--seeds", 1, "--epochs", 1, "--hidden", 8, "--jobs", 1, "-o", tmp_path)
    said = run("compare", lab[0] / "cases.csv", "--target", "ill", *words, "--json")
    assert "Methods correct it here too (--missing)" in said.stderr
    assert "`askwise train` corrects it" not in said.stderr


def test_info_shows_them(run, lab):
    said = run("info", lab[0] / "m.askwise")
    assert "tells (nats)" in said.stdout
    assert any(line.split()[:2] == ["lactate", "yes"] for line in said.stdout.splitlines())


def test_info_of_a_model_without_them_does_not_speak_of_them(run, trained):
    assert "tells (nats)" not in run("info", trained / "heart.askwise").stdout


def test_the_page_of_a_report_has_them_in_a_section(lab, trained):
    section = gaps_section(load(lab[0] / "m.askwise").model_.gaps)
    assert section.startswith("<h2>Gaps that tell the answer</h2>")
    assert "<td>lactate</td><td>yes (8" in section
    assert gaps_section(load(trained / "heart.askwise").model_.gaps) == ""
    assert "$gaps" in PAGE

"""`askwise verify`: tables, JSON, picture, mistakes, and how it ends."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from askwise.data.synthetic import DISTRIBUTIONS

ENDLESS = ["--hidden", "8", "--epochs", "100000", "--pretrain-epochs", "100000"]
FAST = ["--hidden", "8", "--epochs", "2", "--pretrain-epochs", "2", "--jobs", "1"]


@pytest.fixture(scope="module")
def shown(run, tmp_path_factory):
    """Two tasks, two numbers of rows and two seeds: what was said, and the picture."""
    figure = tmp_path_factory.mktemp("verify") / "errors.png"
    two = ("--task", "tests", "--task", "gaussian", "--rows", 200, "--rows", 100, "--seeds", 2)
    said = run("verify", *two, "--figure", figure, *FAST)
    assert said.exit_code == 0, said.stderr
    return said.stdout, figure


@pytest.fixture(scope="module")
def facts(run):
    said = run("verify", "--task", "prior", "--rows", 150, "--rows", 120, "--json", *FAST)
    assert (said.exit_code, said.stderr) == (0, "")
    return json.loads(said.stdout)


def test_the_tables_tell_errors_scores_and_shrinkage_and_how_to_read_them(shown):
    for words in (
        "error",
        "rank",
        "regret",
        "KL",
        "nats",
        "one bit",
        "parts of the variance of y",
        "mean of 2 seeds ±",
    ):
        assert words in shown[0]
    lines = [line.split() for line in shown[0].splitlines()]
    errors = [(line[0], line[1]) for line in lines if line[:1] in (["tests"], ["gaussian"])]
    assert errors[:4] == [("tests", "100"), ("tests", "200"), ("gaussian", "100"), ("gaussian", "200")]
    assert sum(line[:1] == ["exact"] for line in lines) == 2
    assert ["task", "100", "rows", "200", "rows"] in lines
    assert "is × 0.71 with 200 rows in place of 100" in shown[0]


def test_no_line_is_wider_than_a_hundred_columns(shown):
    assert max(len(line.rstrip()) for line in shown[0].splitlines() if "Picture:" not in line) <= 100


def test_the_picture_is_a_png_and_named(shown):
    assert shown[1].read_bytes().startswith(b"\x89PNG")
    assert f"Picture: {shown[1]}" in shown[0]


def test_json_holds_every_trial_with_its_scores_and_a_summary(facts):
    assert [(t["task"], t["rows"], t["seed"]) for t in facts["trials"]] == [("prior", 120, 0), ("prior", 150, 0)]
    trial, mean = facts["trials"][0], facts["summary"][0]
    assert [s["questions"] for s in trial["scores"]] == [0, 1, 2, 3, 4, 5]
    assert {"error_chosen", "error_open", "relative_error_chosen", "rank_correlation", "regret", "divergence"} <= set(
        trial
    )
    assert trial["seconds"] > 0
    assert mean["error_open"] == pytest.approx(trial["error_open"])
    assert mean["error_open_sd"] is None


def test_the_same_command_gives_the_same_numbers(run, facts):
    said = run("verify", "--task", "prior", "--rows", 120, "--json", *FAST)
    (trial,) = json.loads(said.stdout)["trials"]
    assert trial | {"seconds": 0} == facts["trials"][0] | {"seconds": 0}


def test_verify_is_silent_when_asked(run):
    said = run("verify", "--task", "prior", "--rows", 100, "--quiet", *FAST)
    assert (said.exit_code, said.output) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task", "cubes"], ["unknown task 'cubes'; did you mean 'cube'? allowed: ", *map(repr, DISTRIBUTIONS)]),
        (["--rows", "99"], ["'--rows'", "100"]),
        (["--seeds", "0"], ["'--seeds'"]),
        (["--figure", "errors.pdf"], ["a PNG", "errors.pdf", "ends in .png"]),
        (["--figure", "none.txt/errors.png"], ["is a file"]),
    ],
)
def test_a_mistake_is_told_before_any_training(run, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.txt").touch()
    said = run("verify", *arguments)
    assert (said.exit_code, said.stdout) == (2, "")
    assert "Error: " in said.stderr
    assert all(word in said.stderr for word in words)


def test_a_picture_without_matplotlib_is_told_before_any_training(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = run("verify", "--figure", tmp_path / "errors.png")
    assert said.exit_code == 2
    assert "pip install 'askwise[plot]'" in said.stderr


def test_help_names_every_task_and_has_examples(run):
    said = run("verify", "--help").stdout
    assert all(name in said for name in DISTRIBUTIONS)
    assert "--rows 1000 --rows 10000 --rows 100000" in said
    assert "Examples:\n    askwise verify" in said


def test_ctrl_c_ends_every_process_with_130_and_one_line(start, tmp_path):
    process = start(
        "verify", "--task", "tests", "--task", "prior", "--rows", 200, *ENDLESS, "--jobs", 2, TMPDIR=str(tmp_path)
    )
    process.wait_until(lambda: any(np.fromfile(p).all() for p in tmp_path.glob("askwise-*/done") if p.stat().st_size))
    assert process.press_ctrl_c() == (130, "Stopped.\n")
    until = time.monotonic() + 10
    while _running(process.group):
        assert time.monotonic() < until
        time.sleep(0.05)
    # torch has folders of its own there.
    assert list(tmp_path.glob("askwise-*")) == []


def _running(group):
    """Whether a process of this group runs; one that ended and waits to be noticed does not."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                return True
    return False


@pytest.mark.proof
def test_everything_ends_within_three_minutes_on_two_cores(run_process, tmp_path):
    started = time.monotonic()
    ended = run_process("verify", "--json", "--jobs", 2, "--figure", tmp_path / "errors.png", timeout=600)
    assert ended.returncode == 0, ended.stderr
    assert time.monotonic() - started < 180
    assert len(json.loads(ended.stdout)["trials"]) == 2 * len(DISTRIBUTIONS)

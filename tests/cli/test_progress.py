"""What is printed while a training runs."""

from __future__ import annotations

import pytest

from askwise.cli import progress as shown
from askwise.cli.common import Out
from askwise.cli.options import PrintOptions
from askwise.cli.progress import training_progress
from askwise.training.loop import Progress


@pytest.mark.parametrize(
    ("quiet", "lines"), [(False, ["learning to predict, epoch 3 of 9, best loss 0.5"]), (True, [])]
)
def test_without_a_terminal_a_line_is_printed_now_and_then(monkeypatch, capsys, quiet, lines):
    clock = iter([0.0, 1.0, 29.0, 31.0, 31.0, 60.0])
    monkeypatch.setattr(shown.time, "monotonic", lambda: next(clock))
    with training_progress(Out(PrintOptions(quiet=quiet))) as progress:
        for epoch in (0, 1, 2, 3):
            progress(Progress("predictor", epoch, 9, (epoch + 1) / 9, 0.5))
    assert capsys.readouterr().err.splitlines() == lines


@pytest.mark.parametrize(
    ("first", "lines"),
    [(0, []), (4, ["Going on from the checkpoint: learning what to ask, epoch 5 of 9"])],
)
def test_a_run_that_goes_on_says_where(capsys, first, lines):
    with training_progress(Out(PrintOptions())) as progress:
        for epoch in (first, first + 1):
            progress(Progress("joint", epoch, 9, (epoch + 1) / 9, 0.5))
    assert capsys.readouterr().err.splitlines() == lines

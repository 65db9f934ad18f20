"""The examples of docs/patches.md run as they stand."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from askwise.methods.neural import NeuralMethod

PAGE = (Path(__file__).parents[2] / "docs" / "patches.md").read_text(encoding="utf-8")


@pytest.fixture
def quarter_of_the_epochs(monkeypatch):
    """Every stage of training is cut to a quarter, whatever the example says."""
    plan = NeuralMethod.plan

    def short(*given, **named):
        whole = plan(*given, **named)
        return replace(whole, epochs=max(1, whole.epochs // 4))

    monkeypatch.setattr(NeuralMethod, "plan", short)


def run_the_examples(folder, monkeypatch, capsys):
    """Run all examples in one namespace; return the share read right and the mean number of patches."""
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    found = re.findall(r"<!-- run -->\n```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(found) == 5
    for code in found:
        exec(code, names)
    share, asked, spent, drawn, first = capsys.readouterr().out.splitlines()
    assert "r" in asked
    assert "r" in spent
    assert "from the sketch alone" in drawn
    assert first == f"first {names['m'].session().ask().name}"
    return float(share.split()[0]), float(share.split()[2])


@pytest.mark.usefixtures("quarter_of_the_epochs")
def test_the_python_examples_run(tmp_path, monkeypatch, capsys):
    right, patches = run_the_examples(tmp_path, monkeypatch, capsys)
    # One digit in ten is right by chance.
    assert right > 0.6
    assert 3.5 < patches < 4.6


@pytest.mark.proof
def test_four_patches_are_enough_to_read_most_digits(tmp_path, monkeypatch, capsys):
    """The figures that the page states, from training as long as it says."""
    right, patches = run_the_examples(tmp_path, monkeypatch, capsys)
    assert right > 0.94
    assert 3.5 < patches < 4.6

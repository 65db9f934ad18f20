"""Training that survives being killed."""

import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import torch
from torch import nn

from askwise import AskwiseError, Budget, DimeClassifier, DimeRegressor
from full_disk import full_disk

SETTINGS = {"hidden": 16, "pretrain_epochs": 3, "epochs": 4, "random_state": 3}


def weights(model):
    return model.model_.policy.state_dict()


def assert_same_weights(model, other):
    ours, theirs = weights(model), weights(other)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[k], theirs[k]) for k in ours)


def interrupt_after(stage, epoch):
    """A progress callback that breaks training off after an epoch, once it is on disk."""

    def report(progress):
        if (progress.stage, progress.epoch) == (stage, epoch):
            raise KeyboardInterrupt

    return report


@pytest.fixture(scope="module")
def unbroken(iris):
    return DimeClassifier(**SETTINGS).fit(*iris)


def test_a_run_broken_off_after_any_epoch_ends_with_the_same_weights(unbroken, iris, tmp_path):
    places = [(stage, e) for stage, n in (("predictor", 3), ("value", 3), ("joint", 4)) for e in range(n)]
    for i, place in enumerate(places):
        model = DimeClassifier(**SETTINGS, checkpoint_dir=tmp_path / str(i))
        with pytest.raises(KeyboardInterrupt):
            model.fit(*iris, progress=interrupt_after(*place))
        seen = []
        model.fit(*iris, progress=lambda p, seen=seen: seen.append((p.stage, p.epoch)))
        assert seen == places[i + 1 :]
        assert_same_weights(model, unbroken)
        assert model.model_.card["epochs"] == unbroken.model_.card["epochs"]


@pytest.mark.parametrize("settings", [{"share_trunk": True}, {"patience": 1, "epochs": 30, "learning_rate": 0.05}])
def test_a_run_broken_off_again_and_again_ends_with_the_same_weights(settings, iris, tmp_path):
    """Also with early stopping, whose count of epochs without improvement must survive."""
    settings = {**SETTINGS, **settings}
    model = DimeClassifier(**settings, checkpoint_dir=tmp_path)
    broken = 0
    while True:
        budget = [2]

        def report(_, budget=budget):
            budget[0] -= 1
            if budget[0] == 0:
                raise KeyboardInterrupt

        try:
            model.fit(*iris, progress=report)
            break
        except KeyboardInterrupt:
            broken += 1
            assert broken < 100
    assert broken >= 2
    assert_same_weights(model, DimeClassifier(**settings).fit(*iris))


KILLED = """
    import os, signal, sys
    from sklearn.datasets import load_iris
    from askwise import DimeClassifier

    def report(progress):
        if [progress.stage, str(progress.epoch)] == sys.argv[2:]:
            os.kill(os.getpid(), signal.SIGKILL)

    settings = {settings!r}
    DimeClassifier(**settings, checkpoint_dir=sys.argv[1]).fit(*load_iris(return_X_y=True), progress=report)
"""


@pytest.mark.parametrize(("stage", "epoch"), [("predictor", "1"), ("joint", "1")])
def test_a_run_killed_with_sigkill_goes_on_and_ends_with_the_same_weights(unbroken, iris, tmp_path, stage, epoch):
    script = textwrap.dedent(KILLED).format(settings=SETTINGS)
    command = [sys.executable, "-c", script, str(tmp_path), stage, epoch]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == -signal.SIGKILL, run.stderr
    seen = []
    model = DimeClassifier(**SETTINGS, checkpoint_dir=tmp_path).fit(*iris, progress=seen.append)
    assert (seen[0].stage, seen[0].epoch) == (stage, int(epoch) + 1)
    assert_same_weights(model, unbroken)


def write_times(folder):
    """When each checkpoint was last written."""
    return {path: path.stat().st_mtime_ns for path in folder.glob("*.checkpoint")}


LONG = {"hidden": 32, "pretrain_epochs": 40, "epochs": 40, "random_state": 3}


@pytest.mark.proof
def test_a_run_killed_at_many_random_moments_ends_with_the_same_weights(iris, tmp_path):
    """Not at the end of an epoch but whenever it strikes, also while a checkpoint is being written."""
    script = textwrap.dedent(KILLED).format(settings=LONG)
    draw, kills = random.Random(0), 0
    until = time.monotonic() + 600
    while True:
        run = subprocess.Popen([sys.executable, "-c", script, str(tmp_path), "-", "-"])
        try:
            while run.poll() is None and not list(tmp_path.iterdir()):
                assert time.monotonic() < until
                time.sleep(0.01)
            # Importing takes seconds; wait until training writes, then strike within a few epochs.
            before = write_times(tmp_path)
            while run.poll() is None and before == write_times(tmp_path):
                assert time.monotonic() < until
                time.sleep(0.005)
            time.sleep(draw.uniform(0, 0.3))
            if run.poll() is not None:
                break
        finally:
            run.kill()
            run.wait(20)
        kills += 1
    assert run.returncode == 0
    assert kills >= 5
    model = DimeClassifier(**LONG, checkpoint_dir=tmp_path).fit(*iris)
    assert_same_weights(model, DimeClassifier(**LONG).fit(*iris))


@pytest.fixture(scope="module")
def finished(unbroken, iris, tmp_path_factory):
    """The folder of a run that came to its end. Not to be written into."""
    folder = tmp_path_factory.mktemp("finished")
    assert_same_weights(DimeClassifier(**SETTINGS, checkpoint_dir=folder).fit(*iris), unbroken)
    return folder


def test_a_checkpoint_changes_nothing_and_a_finished_run_is_not_trained_again(unbroken, finished, iris):
    seen = []
    again = DimeClassifier(**SETTINGS, checkpoint_dir=finished).fit(*iris, progress=seen.append)
    assert seen == []
    assert_same_weights(unbroken, again)


def test_a_folder_holds_one_file_for_each_run_and_nothing_else(finished):
    assert [p.suffix for p in finished.iterdir()] == [".checkpoint"]


def test_runs_on_other_data_or_settings_never_meet(iris, tmp_path):
    X, y = iris
    fits = [
        (DimeClassifier(**SETTINGS), X, y),
        (DimeClassifier(**{**SETTINGS, "random_state": 4}), X, y),
        (DimeClassifier(**{**SETTINGS, "hidden": 17}), X, y),
        (DimeClassifier(**{**SETTINGS, "epochs": 6}), X, y),
        (DimeClassifier(**SETTINGS, costs=[1, 2, 3, 4]), X, y),
        (DimeClassifier(**SETTINGS), X + 0.01 * (y[:, None] == 1), y),
        (DimeClassifier(**SETTINGS), X, (y + 1) % 3),
        (DimeRegressor(**SETTINGS), X, y),
    ]
    for i, (model, inputs, target) in enumerate(fits):
        model.set_params(checkpoint_dir=tmp_path).fit(inputs, target)
        assert len(list(tmp_path.iterdir())) == i + 1
        assert_same_weights(model, model.set_params(checkpoint_dir=None).fit(inputs, target))


class Net(nn.Module):
    def __init__(self, n_outputs, width):
        super().__init__()
        torch.manual_seed(width)
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, n_outputs))

    def forward(self, x, mask):
        return self.layers(torch.cat([x, mask.to(x.dtype)], 1))


@pytest.mark.parametrize("other", [Net(3, 9), "same size, other weights"])
def test_runs_with_other_modules_of_the_same_class_never_meet(other, iris, tmp_path):
    """What a module starts from is part of the run: its class's name alone does not tell two runs apart."""
    modules = [Net(3, 8), other]
    if isinstance(other, str):
        modules[1] = Net(3, 8)
        modules[1].layers[0].weight.data.mul_(2)
    for module in modules:
        model = DimeClassifier(**SETTINGS, predictor=module, value=Net(4, 8), checkpoint_dir=tmp_path).fit(*iris)
        alone = DimeClassifier(**SETTINGS, predictor=module, value=Net(4, 8)).fit(*iris)
        assert_same_weights(model, alone)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:100], lambda b: b[: len(b) // 2], lambda _: b"", lambda _: b"hello" * 9]
)
def test_a_damaged_checkpoint_is_an_error_that_says_what_to_do(damage, finished, iris, tmp_path):
    (path,) = finished.iterdir()
    (tmp_path / path.name).write_bytes(damage(path.read_bytes()))
    model = DimeClassifier(**SETTINGS, checkpoint_dir=tmp_path)
    with pytest.raises(AskwiseError, match=r"checkpoint .* can't be read .*; delete it to start again"):
        model.fit(*iris)


def test_a_disk_too_full_for_a_checkpoint_is_a_clear_error(iris, tmp_path):
    with full_disk(), pytest.raises(AskwiseError, match="can't write"):
        DimeClassifier(**SETTINGS, checkpoint_dir=tmp_path).fit(*iris)
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_nothing_is_written(iris, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    DimeClassifier(**SETTINGS).fit(*iris)
    assert list(tmp_path.iterdir()) == []


def test_predictions_after_a_restart_are_those_of_the_unbroken_run(unbroken, iris, tmp_path):
    model = DimeClassifier(**SETTINGS, checkpoint_dir=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*iris, progress=interrupt_after("joint", 2))
    model.fit(*iris)
    assert np.array_equal(model.predict_proba(iris[0]), unbroken.predict_proba(iris[0]))


def test_the_same_fit_without_a_seed_or_with_another_rule_is_the_same_run(iris, tmp_path):
    settings = {**SETTINGS, "random_state": None, "checkpoint_dir": tmp_path}
    first = DimeClassifier(**settings).fit(*iris)
    seen = []
    again = DimeClassifier(**settings, stop=Budget(2)).fit(*iris, progress=seen.append)
    assert seen == []
    assert_same_weights(first, again)
    assert len(list(tmp_path.iterdir())) == 1

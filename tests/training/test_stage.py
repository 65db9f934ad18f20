"""One stage of training: epochs, validation, the best weights, checkpoints."""

import pytest
import torch
from torch import nn

from askwise.core.rows import Rows
from askwise.training import stage as stage_module
from askwise.training.checkpoint import Checkpoint
from askwise.training.loop import Training
from askwise.training.stage import Stage
from askwise.training.update import Plan
from separating import Separating

PLAN = Plan(epochs=4, batch_size=16, learning_rate=0.05)


def rows_of(n, seed):
    x = torch.randn(n, 3, generator=torch.Generator().manual_seed(seed))
    present = torch.ones(n, 3, dtype=torch.bool)
    return Rows(x, present, present, (x.sum(1) > 0).long())


def make_stage(plan=PLAN, **settings):
    """Forty rows, in three batches an epoch."""
    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    run = Training(policy, rows_of(40, 0), rows_of(20, 1), seed=7, **settings)
    return Stage(run, "only", 0, Separating(policy), plan)


def test_an_epoch_draws_the_same_whatever_was_drawn_before():
    one, other = make_stage(), make_stage()
    torch.rand(5)
    assert one.train_epoch(2) == other.train_epoch(2)
    assert torch.equal(one.training.policy.weight, other.training.policy.weight)
    # Another epoch, another order of the rows.
    again = make_stage()
    again.train_epoch(3)
    assert not torch.equal(again.training.policy.weight, one.training.policy.weight)


def test_the_loss_of_an_epoch_is_the_mean_over_its_batches():
    stage = make_stage(Plan(epochs=1, batch_size=16, learning_rate=0.0))
    assert (stage.per_epoch, stage.batch_size) == (3, 14)
    rows, found = stage.training.train, stage.train_epoch(0)
    # Forty rows in batches of fourteen: the last one has two that only fill it up.
    of_rows = nn.functional.cross_entropy(stage.training.policy(rows.x), rows.y, reduction="none")
    torch.manual_seed(stage_module.hash_seed(7, 0, 0))
    order = torch.randperm(40)
    expected = torch.stack([of_rows[part].mean() for part in order.split(14)]).mean()
    assert found == pytest.approx(expected.item(), rel=1e-5)


def test_averaged_weights_are_validated_and_kept_while_the_others_go_on():
    stage = make_stage()
    stage.train_epoch(0)
    own, update = stage.training.policy.weight.detach().clone(), stage.update
    place = [p is stage.training.policy.weight for p in update.parameters].index(True)
    average = update.average[place].clone()
    validation = stage.validate()
    stage.keep_best(0, validation)
    assert not torch.equal(average, own)
    assert torch.equal(stage.training.policy.weight, own)
    stage.train_epoch(1)
    assert torch.equal(stage.best.state["weight"], average)
    stage.training.policy.load_state_dict(stage.best.state)
    assert stage.update.objective.validate(stage.training.val).item() == pytest.approx(validation)


def test_only_a_lower_loss_replaces_the_best_weights():
    stage = make_stage()
    for epoch, loss in enumerate((0.5, 0.7, 0.3, float("nan"), 0.3)):
        stage.keep_best(epoch, loss)
    assert (stage.best.loss, stage.best.epoch) == (0.3, 2)


def test_a_stage_ends_with_its_plan_or_when_its_patience_does():
    plain, patient = make_stage(), make_stage(Plan(epochs=10, batch_size=16, patience=2))
    assert [plain.ends_after(epoch) for epoch in range(4)] == [False, False, False, True]
    patient.keep_best(1, 0.5)
    assert [patient.ends_after(epoch) for epoch in range(1, 5)] == [False, False, True, True]


def test_a_stage_that_is_taken_up_again_ends_with_the_same_weights(tmp_path):
    unbroken = make_stage()
    unbroken.run()
    checkpoint = Checkpoint(tmp_path, "run")

    def interrupt(progress):
        if progress.epoch == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_stage(checkpoint=checkpoint, report=interrupt).run()
    again = make_stage(checkpoint=checkpoint)
    again.resume(checkpoint.read())
    assert again.start == 2
    assert not again.done
    again.run()
    assert torch.equal(again.training.policy.weight, unbroken.training.policy.weight)
    assert again.training.history == unbroken.training.history


def test_a_stage_that_was_done_is_not_trained_again(tmp_path):
    checkpoint = Checkpoint(tmp_path, "run")
    first = make_stage(checkpoint=checkpoint)
    first.run()
    reports = []
    again = make_stage(checkpoint=checkpoint, report=reports.append)
    again.resume(checkpoint.read())
    again.run()
    assert reports == []
    assert torch.equal(again.training.policy.weight, first.training.policy.weight)


def test_a_long_epoch_is_reported_within_it_too(monkeypatch):
    monkeypatch.setattr(stage_module, "SECONDS_BETWEEN_REPORTS", -1.0)
    reports = []
    make_stage(Plan(epochs=2, batch_size=16), report=reports.append).run()
    assert [p.epoch for p in reports] == [0] * 4 + [1] * 4
    assert [p.fraction for p in reports] == pytest.approx([0, 1 / 6, 2 / 6, 1 / 2, 3 / 6, 4 / 6, 5 / 6, 1])


def test_what_could_not_be_recorded_is_not_tried_again_in_the_next_stage(monkeypatch):
    tried = []
    monkeypatch.setattr(stage_module, "capture_if_possible", lambda update, *_: tried.append(update) or update)
    first = make_stage()
    first.run()
    policy = first.training.policy
    Stage(first.training, "next", 1, Separating(policy), PLAN).run()
    assert tried == [first.update]

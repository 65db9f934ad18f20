"""The one training loop, and the objectives that methods share."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from askwise import AskwiseError, DimeClassifier, DimeImageClassifier
from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows, even_batches
from askwise.core.tasks import Classification, Regression
from askwise.networks.mlp import Mlp
from askwise.training.draws import hash_seed
from askwise.training.loop import Training
from askwise.training.modes import threads
from askwise.training.objectives import MaskedPrediction
from askwise.training.schedule import FEWEST_EPOCHS, LARGEST_BATCH, SMALLEST_BATCH, batch_size_for, epochs_for
from askwise.training.update import Plan, cosine
from pictures import make_images


def rows_of(n, d=3, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=g)
    present = torch.ones(n, d, dtype=torch.bool)
    return Rows(x, present, present, (x.sum(1) > 0).long())


class Separating:
    """Cross entropy of a linear layer; keeps what it saw."""

    def __init__(self, policy):
        self.policy = policy
        self.progress, self.validations = [], []

    def losses(self, rows, weight, progress):
        self.progress.append(progress.item())
        losses = nn.functional.cross_entropy(self.policy(rows.x), rows.y, reduction="none")
        yield (losses * weight).sum() / weight.sum()

    def validate(self, rows):
        return nn.functional.cross_entropy(self.policy(rows.x), rows.y)


class Worsening(Separating):
    """Better until the third epoch, then worse and worse."""

    def validate(self, rows):
        del rows
        self.validations.append(self.policy.weight.detach().clone())
        return torch.tensor(abs(len(self.validations) - 3.0))


def train(objective_class, plan, seed=0, report=None):
    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    objective = objective_class(policy)
    training = Training(policy, rows_of(100), rows_of(40, seed=1), seed=seed, report=report)
    training.stage("only", objective, plan)
    return policy, objective, training


def test_the_best_weights_on_the_validation_rows_are_kept():
    policy, objective, training = train(Worsening, Plan(8, 32, 0.05))
    assert len(training.history) == 8
    assert torch.equal(policy.weight, objective.validations[2])


def test_a_stage_can_keep_its_last_weights():
    policy, objective, _ = train(Worsening, Plan(8, 32, 0.05, keep_best=False))
    assert torch.equal(policy.weight, objective.validations[-1])


def test_training_stops_after_some_epochs_without_improvement():
    _, _, training = train(Worsening, Plan(50, 32, patience=4))
    assert len(training.history) == 3 + 4


def test_the_policy_ends_with_the_lowest_validation_loss_of_its_history():
    policy, objective, training = train(Separating, Plan(15, 16, 0.05))
    lowest = min(h["validation_loss"] for h in training.history)
    assert objective.validate(training.val).item() == pytest.approx(lowest)
    assert lowest < 0.3
    assert not policy.training


def test_progress_runs_from_zero_to_one_over_a_stage():
    _, objective, _ = train(Separating, Plan(4, 50))
    assert objective.progress == pytest.approx([i / 8 for i in range(8)])


def test_the_learning_rate_falls_from_full_to_nothing():
    rates = [cosine(torch.tensor(i / 100)).item() for i in range(101)]
    assert rates[0] == 1
    assert rates == sorted(rates, reverse=True)
    assert rates[99] < 1e-3


def test_every_epoch_is_reported():
    seen = []
    train(Separating, Plan(5, 32), report=seen.append)
    assert [(p.stage, p.epoch, p.epochs) for p in seen] == [("only", e, 5) for e in range(5)]
    assert [p.fraction for p in seen] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert seen[-1].best == min(p.best for p in seen)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    first, again, other = (train(Separating, Plan(3, 16, 0.05), seed=s)[0].weight for s in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_loss_that_is_not_a_number_does_not_replace_the_best_weights():
    class Breaking(Worsening):
        def validate(self, rows):
            return super().validate(rows) if len(self.validations) < 3 else torch.tensor(math.nan)

    policy, objective, _ = train(Breaking, Plan(6, 32, 0.05))
    assert torch.equal(policy.weight, objective.validations[2])


@pytest.mark.parametrize(("n", "size"), [(1, 32), (31, 32), (32, 32), (33, 32), (100, 32), (97, 10)])
def test_an_epoch_has_every_row_once_in_batches_of_one_size(n, size):
    rows = rows_of(n)
    count, even = even_batches(n, size)
    batches = list(rows.shuffled_batches(count, even, rows.x.device))
    assert {len(b) for b, _ in batches} == {even}
    assert even <= size
    weight = torch.cat([w for _, w in batches])
    seen = torch.cat([b.x for b, _ in batches])[weight > 0]
    assert torch.equal(seen[seen[:, 0].argsort()], rows.x[rows.x[:, 0].argsort()])


def test_padding_carries_no_loss_and_no_gradient():
    space = FeatureSpace(("a", "b", "c"), (1.0,) * 3, (0, 1, 2), (0, 1, 2))
    policy = MlpPolicy(space, 2)
    task = Classification((0, 1))
    rows, short = rows_of(12), rows_of(12).take(slice(0, 8))
    weight = torch.tensor([1.0] * 8 + [0.0] * 4)
    grads = []
    for batch, w in ((rows, weight), (short, torch.ones(8))):
        torch.manual_seed(3)
        # With every group unavailable the random sets are empty, so that both draw the same.
        nothing = Rows(batch.x, batch.present, torch.zeros_like(batch.available), batch.y)
        policy.zero_grad()
        next(MaskedPrediction(policy, task).losses(nothing, w, torch.tensor(0.0))).backward()
        grads.append(policy.net.head.weight.grad.clone())
    assert torch.allclose(*grads, atol=1e-7)


class MlpPolicy(Policy):
    def __init__(self, space, n_outputs):
        super().__init__(space)
        self.net = Mlp(space.n_entries + space.n_columns, 8, n_outputs, dropout=0.0)

    def forward(self, x, mask, scores=True):
        del scores
        return Belief(self.net(self.hide(x, mask), mask), None)


def test_images_are_learnt_with_all_threads_and_tables_with_one(iris):
    short = {"epochs": 1, "pretrain_epochs": 1, "max_steps": 1, "hidden": 8, "random_state": 0, "device": "cpu"}
    for model, given, count in (
        (DimeClassifier(**short), iris, 1),
        (DimeImageClassifier(**short, patch=4), make_images(60), 3),
    ):
        seen = set()
        with threads(3):
            model.fit(*given, progress=lambda _, seen=seen: seen.add(torch.get_num_threads()))
        assert seen == {count}


def test_images_learnt_with_several_threads_repeat_themselves_bit_by_bit():
    short = {"epochs": 2, "pretrain_epochs": 2, "max_steps": 2, "hidden": 32, "patch": 4, "random_state": 0}
    with threads(2):
        one, other = (DimeImageClassifier(**short, device="cpu").fit(*make_images(60)).model_.policy for _ in range(2))
    assert all(torch.equal(mine, other.state_dict()[name]) for name, mine in one.state_dict().items())


def test_seeds_of_neighbouring_epochs_are_far_apart():
    seeds = {hash_seed(s, stage, epoch) for s in range(5) for stage in range(3) for epoch in range(50)}
    assert len(seeds) == 750
    assert min(np.diff(sorted(seeds))) > 1e9


def test_fitting_leaves_the_global_generators_alone(iris, fast):
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = torch.rand(3), np.random.rand(3)  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    model = DimeClassifier(**fast).fit(*iris)
    model.predict(iris[0])
    assert torch.equal(torch.rand(3), expected[0])
    assert np.array_equal(np.random.rand(3), expected[1])  # noqa: NPY002


# Objectives


def test_masked_prediction_is_validated_on_the_same_sets_each_time():
    policy = MlpPolicy(FeatureSpace(("a", "b", "c"), (1.0,) * 3, (0, 1, 2), (0, 1, 2)), 2)
    objective = MaskedPrediction(policy, Classification((0, 1)))
    with torch.no_grad():
        first = objective.validate(rows_of(50)).item()
        torch.rand(7)
        assert objective.validate(rows_of(50)).item() == first


def test_a_regression_trains_on_a_loss_without_units():
    """The same rows in metres and in millimetres have the same training loss."""
    space = FeatureSpace(("a", "b", "c"), (1.0,) * 3, (0, 1, 2), (0, 1, 2))
    policy, found = MlpPolicy(space, 1), []
    for unit in (1.0, 1000.0):
        task = Regression(0.0, unit)
        rows = rows_of(30)
        rows = Rows(rows.x, rows.present, rows.available, rows.x.sum(1) * unit)
        policy.net.head.weight.data.zero_()
        policy.net.head.bias.data.fill_(0.5 * unit)
        torch.manual_seed(0)
        found.append(next(MaskedPrediction(policy, task).losses(rows, torch.ones(30), torch.tensor(0.0))).item())
    assert found[0] == pytest.approx(found[1])


# Length


def test_batches_grow_with_the_rows_within_bounds():
    sizes = [batch_size_for(n) for n in (1, 100, 1000, 10_000, 1_000_000)]
    assert sizes == sorted(sizes)
    assert sizes[0] == SMALLEST_BATCH
    assert sizes[-1] == LARGEST_BATCH
    assert all(size & (size - 1) == 0 for size in sizes)


def test_epochs_give_about_the_updates_asked_for():
    assert epochs_for(1000, 100, 500) == 50
    assert epochs_for(10**7, 1000, 500) == FEWEST_EPOCHS


def test_a_stage_whose_validation_is_never_a_number_is_told(iris, fast):
    with pytest.raises(AskwiseError, match=r"training came to nothing: in the stage 'predictor'.*learning_rate"):
        DimeClassifier(**fast | {"learning_rate": 1e30}).fit(*iris)

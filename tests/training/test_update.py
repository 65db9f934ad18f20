"""What a batch changes, and how often."""

import math

import pytest
import torch
from torch import nn

from askwise import DimeClassifier
from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices
from askwise.core.rows import Rows, even_batches
from askwise.core.tasks import Classification
from askwise.methods.dime.objectives import JointObjective
from askwise.training import update as update_module
from askwise.training.recording import capture_if_possible
from askwise.training.update import Plan, Update, cosine, cpu_has_bfloat16, running_statistics, without_gradients

CPU = torch.device("cpu")
PLAN = Plan(epochs=4, batch_size=8, learning_rate=0.05, weight_decay=0.01)


class Parts:
    """Cross entropy of a linear layer on so many parts of a batch, one after the other; keeps what it saw."""

    def __init__(self, policy, n_parts=1):
        self.policy, self.n_parts = policy, n_parts
        self.progress, self.weights = [], []

    def losses(self, rows, weight, progress):
        self.progress.append(progress.item())
        for part in torch.arange(len(rows)).chunk(self.n_parts):
            self.weights.append(self.policy.weight.detach().clone())
            losses = nn.functional.cross_entropy(self.policy(rows.x[part]), rows.y[part], reduction="none")
            yield (losses * weight[part]).sum() / weight[part].sum()


def make_update(n_parts=1, plan=PLAN, n_batches=20, prepare=lambda rows: rows):
    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    objective = Parts(policy, n_parts)
    return Update(policy, objective, plan, n_batches, prepare, CPU), objective


def batch_of(n=8, seed=0):
    x = torch.randn(n, 3, generator=torch.Generator().manual_seed(seed))
    present = torch.ones(n, 3, dtype=torch.bool)
    return Rows(x, present, present, (x.sum(1) > 0).long()), torch.ones(n)


def saved(update):
    """What a file holds of an update: copies, channels first."""
    return {name: tensor.detach().contiguous().clone() for name, tensor in update.tensors().items()}


def n_steps(update):
    return {int(state["step"]) for state in update.optimiser.state.values()}


def test_a_batch_takes_one_step_at_the_rate_of_its_progress():
    update, objective = make_update()
    for i in range(20):
        update(*batch_of(seed=i))
        assert update.rate.item() == pytest.approx(0.05 * 0.5 * (1 + math.cos(math.pi * i / 20)), abs=1e-8)
    assert objective.progress == pytest.approx([i / 20 for i in range(20)])
    assert update.done.item() == 20
    assert n_steps(update) == {20}


def test_a_batch_changes_the_weights_as_a_plain_step_of_adamw_does():
    update, _ = make_update()
    torch.manual_seed(0)
    layer = nn.Linear(3, 2)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=0.05, weight_decay=0.01)
    total = 0.0
    for i in range(5):
        rows, weight = batch_of(seed=i)
        update(rows, weight)
        optimiser.param_groups[0]["lr"] = 0.05 * cosine(torch.tensor(i / 20)).item()
        loss = nn.functional.cross_entropy(layer(rows.x), rows.y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += loss.item()
    assert torch.allclose(update.policy.weight, layer.weight, atol=1e-6)
    assert torch.allclose(update.policy.bias, layer.bias, atol=1e-6)
    assert update.total.item() == pytest.approx(total, rel=1e-5)


def test_several_losses_are_several_steps_and_one_batch_of_progress():
    update, objective = make_update(n_parts=4)
    update(*batch_of())
    update(*batch_of(seed=1))
    assert n_steps(update) == {8}
    assert update.done.item() == 2
    assert objective.progress == pytest.approx([0, 1 / 20])
    # Each loss is computed with the weights that the one before has left.
    assert len({tuple(weight.flatten().tolist()) for weight in objective.weights}) == 8


def test_the_total_is_the_mean_of_a_batchs_losses():
    rows, weight = batch_of()
    update, _ = make_update(n_parts=2, plan=Plan(4, 8, learning_rate=0.0))
    update(rows, weight)
    both = nn.functional.cross_entropy(update.policy(rows.x), rows.y)
    assert update.total.item() == pytest.approx(both.item())
    update(rows, weight)
    assert update.total.item() == pytest.approx(2 * both.item())


@pytest.mark.parametrize("n_parts", [1, 3])
def test_the_average_is_a_running_mean_that_forgets_its_start(n_parts):
    """After t batches the decay is (1 + t) / (10 + t), and never above what the plan says."""
    update, objective = make_update(n_parts, plan=Plan(4, 8, 0.05, averaging=0.3))
    average = update.policy.weight.detach().clone()
    place = [p is update.policy.weight for p in update.parameters].index(True)
    for t in range(12):
        update(*batch_of(n=9, seed=t))
        after = [*objective.weights[n_parts * t + 1 :], update.policy.weight.detach()]
        decay = min((1 + t) / (10 + t), 0.3)
        for weight in after:
            average = decay * average + (1 - decay) * weight
        assert torch.allclose(update.average[place], average, atol=1e-6)
    assert not torch.allclose(update.average[place], update.policy.weight, atol=1e-6)


def test_weights_that_are_frozen_are_left_out():
    policy = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    policy[0].requires_grad_(False)
    update = Update(policy, Parts(policy), PLAN, 20, lambda rows: rows, CPU)
    assert [p.shape for p in update.average] == [p.shape for p in update.parameters] == [(2, 4), (2,)]


def test_the_rate_rises_in_the_first_share_of_a_stage_and_is_then_as_without():
    update, _ = make_update(plan=Plan(4, 8, learning_rate=0.05, warm_up=0.25))
    rates = []
    for i in range(20):
        update(*batch_of(seed=i))
        rates.append(update.rate.item())
    plain = [0.05 * 0.5 * (1 + math.cos(math.pi * i / 20)) for i in range(20)]
    # A little more than nothing at first, then in even steps.
    shares = [rate / rate_without for rate, rate_without in zip(rates[:5], plain, strict=False)]
    assert shares == pytest.approx([(i / 20 + 1e-3) / 0.25 for i in range(5)], rel=1e-5)
    assert rates[5:] == pytest.approx(plain[5:], rel=1e-5)


class Normed(nn.Module):
    """A linear layer behind a batch norm."""

    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(3), nn.Linear(3, 2)

    @property
    def weight(self):
        return self.linear.weight

    def forward(self, x):
        return self.linear(self.norm(x))


def test_running_statistics_are_averaged_with_the_weights():
    torch.manual_seed(0)
    policy = Normed()
    update = Update(policy, Parts(policy), Plan(4, 8, 0.05, averaging=0.3), 20, lambda rows: rows, CPU)
    average = policy.norm.running_mean.clone()
    for t in range(6):
        update(*batch_of(seed=t))
        decay = min((1 + t) / (10 + t), 0.3)
        average = decay * average + (1 - decay) * policy.norm.running_mean
    place = [tensor is policy.norm.running_mean for tensor in update.averaged].index(True)
    assert torch.allclose(update.average[place], average, atol=1e-6)
    assert not torch.allclose(average, policy.norm.running_mean, atol=1e-6)
    assert len(update.averaged) == len(update.parameters) + 2


def test_a_norm_without_running_statistics_has_none_to_average():
    layers = nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False), nn.LayerNorm(3), nn.BatchNorm2d(2))
    assert running_statistics(layers) == [layers[2].running_mean, layers[2].running_var]


class Convolved(nn.Module):
    """A convolution with channels last, on rows of three numbers as images of one place each."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Conv2d(3, 2, 3, padding=1).to(memory_format=torch.channels_last)

    @property
    def weight(self):
        return self.layer.weight

    def forward(self, x):
        return self.layer(x[:, :, None, None].expand(-1, -1, 2, 2)).mean((2, 3))


def test_weights_with_channels_last_are_taken_up_again_with_their_state_as_it_was():
    """A file holds the optimiser's state channels first, and a step reads weights and state side by side."""
    updates = []
    for _ in range(2):
        policy = Convolved()
        updates.append(Update(policy, Parts(policy), PLAN, 20, lambda rows: rows, CPU))
    unbroken, again = updates
    for i in range(8):
        unbroken(*batch_of(seed=i))
        again(*batch_of(seed=i))
        if i == 3:
            again.load(saved(again), 4)
    assert torch.equal(again.policy.weight, unbroken.policy.weight)


def test_each_batch_is_prepared_before_it_is_learnt_from():
    seen = []
    update, _ = make_update(prepare=lambda rows: seen.append(len(rows)) or rows.take(slice(0, 4)))
    update(batch_of()[0], torch.ones(4))
    assert seen == [8]


def test_an_update_that_is_taken_up_again_goes_on_as_if_never_broken_off():
    unbroken, _ = make_update()
    for i in range(12):
        unbroken(*batch_of(seed=i))
    first, _ = make_update()
    for i in range(7):
        first(*batch_of(seed=i))
    again, objective = make_update()
    again.load(saved(first), 7)
    assert again.done.item() == 7
    assert all(group["lr"] is again.rate for group in again.optimiser.param_groups)
    for i in range(7, 12):
        again(*batch_of(seed=i))
    assert objective.progress == pytest.approx([i / 20 for i in range(7, 12)])
    assert n_steps(again) == {12}
    assert torch.equal(again.policy.weight, unbroken.policy.weight)
    assert all(torch.equal(a, b) for a, b in zip(again.average, unbroken.average, strict=True))


def test_on_a_cpu_an_update_runs_as_it_is_and_trying_it_changes_nothing():
    update, objective = make_update()
    before = update.policy.weight.detach().clone()
    assert capture_if_possible(update, *batch_of()) is update
    assert not objective.progress
    assert torch.equal(update.policy.weight, before)


# Without gradients


def test_what_is_computed_without_gradients_has_none_and_what_follows_has():
    layer, x = nn.Linear(3, 2), torch.randn(5, 3)
    loss = layer(x).sum()
    with without_gradients():
        constant = layer(x)
        assert not constant.requires_grad
    assert torch.is_grad_enabled()
    (loss + (layer(x) * constant).sum()).backward()
    expected = 5 + constant.sum(0)
    assert torch.allclose(layer.bias.grad, expected)


def test_gradients_are_back_also_after_an_error():
    with pytest.raises(KeyError), without_gradients():
        raise KeyError
    assert torch.is_grad_enabled()


def test_weights_rounded_without_gradients_are_rounded_anew_for_the_loss():
    """In reduced precision torch may keep rounded weights for the next product: those from inside have no gradient."""
    layer, x = nn.Linear(3, 2), torch.randn(5, 3)
    with torch.autocast("cpu", torch.bfloat16):
        with without_gradients():
            layer(x)
        layer(x).float().sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.abs().sum() > 0


# Products in bfloat16 on a CPU


class Mean:
    """The mean of what a network gives, which is of the type that its products are in."""

    def __init__(self, policy):
        self.policy = policy

    def losses(self, rows, weight, progress):
        del weight, progress
        self.seen = self.policy(rows.x)
        yield self.seen.float().mean()


@pytest.mark.parametrize(
    ("policy", "able", "reduced"),
    [
        (nn.Conv2d(1, 300, 32), True, True),
        (nn.Conv2d(1, 300, 32), False, False),
        (nn.Conv2d(1, 200, 32), True, False),
        (nn.Linear(1000, 300), True, False),
    ],
    ids=["large on images", "a CPU that has none", "small", "on tables"],
)
def test_large_networks_on_images_learn_in_bfloat16_where_a_cpu_has_it(policy, able, reduced, monkeypatch):
    monkeypatch.setattr(update_module, "cpu_has_bfloat16", lambda: able)
    objective = Mean(policy)
    update = Update(policy, objective, PLAN, 4, lambda rows: rows, CPU)
    assert update.reduced is reduced
    x = torch.randn(2, 1, 32, 32) if isinstance(policy, nn.Conv2d) else torch.randn(2, 1000)
    update(Rows(x, x > 0, x > 0), torch.ones(2))
    assert objective.seen.dtype == (torch.bfloat16 if reduced else torch.float32)
    # Weights, and what the optimiser knows of them, stay as they are.
    assert {p.dtype for p in policy.parameters()} == {torch.float32}


def test_whether_a_cpu_has_bfloat16_is_asked_of_torch(monkeypatch):
    for able in ("avx512_bf16", "amx_bf16"):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda able=able: {able: True}, raising=False)
        assert cpu_has_bfloat16()
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": False}, raising=False)
    assert not cpu_has_bfloat16()
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert not cpu_has_bfloat16()


# Joint training in parts

SPACE = FeatureSpace(("a", "b", "c", "d"), (1.0,) * 4, (0, 1, 2, 3), (0, 1, 2, 3))


class Noted(JointObjective):
    """Keeps the parts of a batch that it learns from."""

    def loss(self, rows, weight, experience):
        self.parts = [*getattr(self, "parts", []), (rows, weight, experience)]
        return super().loss(rows, weight, experience)


def joint(rows_per_update):
    torch.manual_seed(0)
    task = Classification((0, 1))
    policy = DimeClassifier(hidden=8, dropout=0.0).build(SPACE, task)
    return Noted(
        policy, task, Prices.tensor(SPACE.costs, torch.float32), n_steps=3, epsilon=0.5, rows_per_update=rows_per_update
    )


def joint_rows(n):
    present = torch.rand(n, 4, generator=torch.Generator().manual_seed(1)) < 0.8
    x = torch.arange(1.0, 4 * n + 1).view(n, 4) / n * present
    return Rows(x, present, present, torch.arange(n) % 2)


@pytest.mark.parametrize(("n", "rows_per_update"), [(12, 4), (10, 4), (10, 3), (9, 100), (9, 1), (7, None)])
def test_the_parts_of_a_joint_batch_cover_every_row_once(n, rows_per_update):
    objective, rows, weight = joint(rows_per_update), joint_rows(n), torch.arange(1.0, n + 1)
    n_losses = len(list(objective.losses(rows, weight, torch.tensor(0.0))))
    assert n_losses == even_batches(n, rows_per_update or n)[0]
    sizes = [len(part[0]) for part in objective.parts]
    assert max(sizes) <= (rows_per_update or n)
    assert max(sizes) - min(sizes) <= 1
    seen = torch.cat([part[1] for part in objective.parts])
    assert torch.equal(seen.sort().values, weight)
    # Weights count the rows from 1.
    assert torch.equal(torch.cat([part[0].x for part in objective.parts]), rows.x[seen.long() - 1])
    assert torch.equal(torch.cat([part[0].y for part in objective.parts]), rows.y[seen.long() - 1])


def test_padding_which_comes_last_is_spread_over_the_updates():
    objective, weight = joint(3), torch.tensor([1.0] * 8 + [0.0] * 4)
    list(objective.losses(joint_rows(12), weight, torch.tensor(0.0)))
    assert [int(part[1].sum()) for part in objective.parts] == [2, 2, 2, 2]


def test_each_part_has_the_states_of_its_own_rows():
    objective, rows = joint(4), joint_rows(10)
    list(objective.losses(rows, torch.ones(10), torch.tensor(0.0)))
    for part, _, episode in objective.parts:
        known, choice, taken = episode.known, episode.choice[:3], episode.taken[:3]
        assert not (known & ~part.available).any()
        # The walk of a row goes on until everything available is known, or its steps are over.
        assert torch.equal(taken.sum(0), part.available.sum(1).clamp_max(3))
        led = known[1:4] & ~known[:3]
        assert torch.equal(led.any(2), taken)
        assert torch.equal(led.int().argmax(2)[taken], choice[taken])


def test_one_walk_serves_all_parts_of_a_batch():
    objective, rows = joint(3), joint_rows(12)
    walks = []
    track = objective.policy.track
    objective.policy.track = lambda rows: walks.append(len(rows)) or track(rows)
    update = Update(objective.policy, objective, Plan(1, 12), 5, lambda rows: rows, CPU)
    update(rows, torch.ones(12))
    assert walks == [12]
    assert n_steps(update) == {4}

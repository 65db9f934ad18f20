"""Training on a GPU: recorded updates, and rows that stay on the host. Skipped where there is no GPU."""

import copy
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine
from torch import nn

from askwise import AskwiseWarning, DimeClassifier, Penalty, load
from askwise.core.costs import SharedCost, join_costs
from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices
from askwise.core.rows import Rows, to_device_if_fits
from askwise.core.tasks import Classification
from askwise.methods.dime.objectives import JointObjective, ValueWarmUp
from askwise.training.checkpoint import Checkpoint
from askwise.training.loop import Training
from askwise.training.objectives import FreeColumnDropout, MaskedPrediction
from askwise.training.recording import Recording, _State, capture_if_possible
from askwise.training.update import Plan, Update
from separating import Separating

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

DEVICE = torch.device("cuda", 0)
N_BATCHES, BATCH_SIZE = 24, 64
# Thirteen columns in twelve groups; one column is free, so that the first layers start from something.
SPACE = FeatureSpace(tuple(map(str, range(12))), (1.0,) * 12, (*range(12), -1), tuple(range(13)))
SHARED = join_costs(SPACE.costs, [SharedCost("draw", 2.0, (0, 1, 2)), SharedCost("visit", 1.0, (2, 3))])
TASK = Classification((0, 1, 2))
OBJECTIVES = {
    "predictor": MaskedPrediction,
    "value": lambda policy, task: ValueWarmUp(policy, task, prices()),
    # Four updates for each walk.
    "joint": lambda policy, task: JointObjective(policy, task, prices(), 5, 0.3, BATCH_SIZE // 4),
    "shared prices": lambda policy, task: JointObjective(policy, task, prices(SHARED), 5, 0.3, BATCH_SIZE // 4),
}


def prices(costs=SPACE.costs):
    return Prices.tensor(costs, torch.float32, DEVICE)


def make_rows(n, seed=0):
    """Rows on the host whose class is where the first two columns point."""
    g = torch.Generator().manual_seed(seed)
    present = torch.rand(n, 13, generator=g) < 0.9
    x = torch.randn(n, 13, generator=g)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    return Rows(x * present, present, SPACE.available(present), y)


def make_policy():
    torch.manual_seed(0)
    return DimeClassifier(hidden=32, dropout=0.2).build(SPACE, TASK).to(DEVICE).train()


def make_update(policy, name):
    prepare = FreeColumnDropout(SPACE, DEVICE)
    return Update(policy, OBJECTIVES[name](policy, TASK), Plan(1, BATCH_SIZE, 0.01), N_BATCHES, prepare, DEVICE)


def batches():
    return [(make_rows(BATCH_SIZE, i).to(DEVICE), torch.ones(BATCH_SIZE, device=DEVICE)) for i in range(N_BATCHES)]


def flat(tensors):
    return torch.cat([t.detach().double().flatten().cpu() for t in tensors])


def apart(one, other, start):
    """How far two lists of weights lie from each other, in shares of the way they have come."""
    one, other, start = flat(one), flat(other), flat(start)
    return ((one - other).norm() / (one - start).norm()).item()


def as_it_is(update, *_):
    return update


def everything(update):
    """All that trying an update could change, copied; what an optimiser that has seen nothing will hold is zeros."""
    remembered = update.objective.state_dict().values() if isinstance(update.objective, torch.nn.Module) else ()
    tensors = [
        *update.policy.state_dict().values(),
        *remembered,
        *update.average,
        update.rate,
        update.done,
        update.total,
    ]
    moments = [t for state in update.optimiser.state.values() for t in state.values()]
    return [t.detach().clone() for t in tensors], [t.clone() for t in moments], torch.cuda.get_rng_state(DEVICE)


def assert_put_back(update, before):
    tensors, moments, draws = everything(update)
    assert all(torch.equal(now, then) for now, then in zip(tensors, before[0], strict=True))
    expected = before[1] or [torch.zeros_like(t) for t in moments]
    assert all(torch.equal(now, then) for now, then in zip(moments, expected, strict=True))
    assert torch.equal(draws, before[2])


def test_a_recorded_update_ends_in_the_weights_of_the_plain_one():
    for name in OBJECTIVES:
        start = make_policy()
        plain, recorded, other = (make_update(copy.deepcopy(start), name) for _ in range(3))
        with warnings.catch_warnings():
            warnings.simplefilter("error", AskwiseWarning)
            learn = capture_if_possible(recorded, *batches()[0])
        assert isinstance(learn, Recording)
        for update, how, seed in ((plain, plain, 5), (recorded, learn, 5), (other, other, 6)):
            torch.manual_seed(seed)
            for rows, weight in batches():
                how(rows, weight)
            assert update.done.item() == N_BATCHES
        begin = list(start.parameters())
        assert apart(plain.parameters, recorded.parameters, begin) < 0.02, name
        assert apart(plain.average, recorded.average, begin) < 0.02, name
        assert abs(plain.total.item() / recorded.total.item() - 1) < 0.01, name
        assert torch.equal(plain.rate, recorded.rate)
        # Other draws end elsewhere: the recording draws anew for each batch, and what the plain update draws.
        assert apart(plain.parameters, other.parameters, begin) > 0.05, name


def test_a_recorded_update_changes_every_weight():
    """A weight that was rounded for a product without gradients must not stay without one."""
    start = make_policy()
    update = make_update(copy.deepcopy(start), "joint")
    learn = capture_if_possible(update, *batches()[0])
    for rows, weight in batches()[:2]:
        learn(rows, weight)
    for (name, before), after in zip(start.named_parameters(), update.policy.parameters(), strict=True):
        assert not torch.equal(before, after), name


def test_trying_an_update_changes_nothing():
    for name in OBJECTIVES:
        for n_before in (0, 3):
            update = make_update(make_policy(), name)
            for rows, weight in batches()[:n_before]:
                update(rows, weight)
            before = everything(update)
            capture_if_possible(update, *batches()[3])
            assert_put_back(update, before)


def test_a_state_is_put_back_after_updates():
    for n_before in (0, 3):
        update = make_update(make_policy(), "joint")
        for rows, weight in batches()[:n_before]:
            update(rows, weight)
        before, state = everything(update), _State(update)
        for rows, weight in batches()[3:6]:
            update(rows, weight)
        assert update.done.item() == n_before + 3
        state.put_back()
        assert_put_back(update, before)


class Peeking(nn.Linear):
    """A linear layer that looks at its data on the host, and draws."""

    def forward(self, x):
        if float(x.detach().abs().max()) > 1e6:
            x = x / 1e6
        return super().forward(nn.functional.dropout(x, 0.2, self.training))


class Waiting(nn.Linear):
    """A linear layer that draws, and has the host wait in a way that only a recording refuses."""

    def forward(self, x):
        x = nn.functional.dropout(x, 0.2, self.training)
        torch.cuda.synchronize()
        return super().forward(x)


def train(policy, objective, rows, plan, **settings):
    training = Training(policy.to(DEVICE), rows, make_rows(100, 1).to(DEVICE), seed=3, **settings)
    training.stage("only", objective, plan)
    return training


def assert_trains_step_by_step(kind):
    torch.manual_seed(0)
    start = kind(13, 3)
    layers = [copy.deepcopy(start) for _ in range(2)]
    plan, rows, stream = Plan(4, 64, 0.05), make_rows(500).to(DEVICE), torch.cuda.current_stream()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        train(layers[0], Separating(layers[0]), rows, plan)
    told = [w for w in told if issubclass(w.category, AskwiseWarning)]
    assert len(told) == 1
    assert "can't be recorded as a CUDA graph" in str(told[0].message)
    with patch("askwise.training.stage.capture_if_possible", as_it_is):
        train(layers[1], Separating(layers[1]), rows, plan)
    assert apart(layers[0].parameters(), layers[1].parameters(), start.parameters()) < 1e-3
    # What comes after runs where it ran before, and can be recorded.
    assert torch.cuda.current_stream() == stream
    assert isinstance(capture_if_possible(make_update(make_policy(), "joint"), *batches()[0]), Recording)


def test_a_module_that_looks_at_its_data_on_the_host_trains_step_by_step_with_one_warning():
    assert_trains_step_by_step(Peeking)


def test_a_module_that_breaks_a_recording_in_its_midst_trains_step_by_step_with_one_warning():
    assert_trains_step_by_step(Waiting)


def test_an_error_of_ones_own_is_not_hidden_by_the_recording():
    layer = nn.Linear(12, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskwiseWarning)
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            train(layer, Separating(layer), make_rows(100).to(DEVICE), Plan(1, 64))


def one_order():
    """Shuffles that are the same wherever the rows are."""
    rng = np.random.default_rng(0)
    return patch("torch.randperm", lambda n, device: torch.from_numpy(rng.permutation(n)).to(device))


def test_rows_on_the_host_are_streamed_and_train_the_same_as_rows_on_the_gpu():
    """Seventeen batches an epoch, the last one padded; with draws on the GPU, which are the same too."""
    for how in (capture_if_possible, as_it_is):
        start, found = make_policy(), []
        for place in (DEVICE, torch.device("cpu")):
            policy = copy.deepcopy(start)
            with one_order(), patch("askwise.training.stage.capture_if_possible", how):
                training = train(policy, MaskedPrediction(policy, TASK), make_rows(1050).to(place), Plan(3, 64, 0.01))
            found.append((list(policy.parameters()), [epoch["loss"] for epoch in training.history]))
        assert apart(found[0][0], found[1][0], start.parameters()) < 0.02
        assert np.allclose(found[0][1], found[1][1], rtol=0.01)


def test_rows_stay_on_the_host_where_they_would_fill_the_gpu():
    rows = make_rows(100)
    assert to_device_if_fits(rows, DEVICE).x.device == DEVICE
    assert to_device_if_fits(rows, DEVICE, share=0.0).x.device.type == "cpu"


def test_rows_that_are_sent_arrive_whole_and_keep_what_they_share():
    rows = make_rows(50)
    shared = Rows(rows.x, rows.present, rows.present, rows.y)
    sent = shared.to_async(DEVICE)
    assert sent.available is sent.present
    assert rows.to_async(DEVICE).available is not rows.to_async(DEVICE).present
    for mine, theirs in zip(sent.parts, shared.parts, strict=True):
        assert mine.device == DEVICE
        assert torch.equal(mine.cpu(), theirs)


class Killed(Exception):
    pass


def test_a_recorded_run_that_is_broken_off_ends_with_the_weights_of_the_unbroken_one():
    def kill(progress):
        if progress.epoch == 2:
            raise Killed

    start, rows, plan = make_policy(), make_rows(500).to(DEVICE), Plan(6, 64, 0.01)
    unbroken, broken = copy.deepcopy(start), copy.deepcopy(start)
    train(unbroken, OBJECTIVES["joint"](unbroken, TASK), rows, plan)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(Path(folder), "run")
        with pytest.raises(Killed):
            train(broken, OBJECTIVES["joint"](broken, TASK), rows, plan, checkpoint=checkpoint, report=kill)
        broken = copy.deepcopy(start)
        train(broken, OBJECTIVES["joint"](broken, TASK), rows, plan, checkpoint=checkpoint)
    assert apart(unbroken.parameters(), broken.parameters(), start.parameters()) < 0.02


def test_a_fit_on_a_gpu_learns_and_asks_the_same_on_either_device():
    X, y = load_wine(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AskwiseWarning)
        model = DimeClassifier(hidden=32, pretrain_epochs=30, epochs=30, random_state=0, device="cuda").fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9
    rows, on_cpu = model.encode(X), replace(model.model_, device="cpu")
    on_gpu = replace(model.model_, device="cuda")
    table = model.model_.spending[model.model_.costs()]["penalty"]
    for stop in (None, Penalty(table[len(table) // 2])):
        ours, theirs = on_gpu.acquire(rows, stop), on_cpu.acquire(rows, stop)
        assert ours.order == theirs.order
        assert ours.reason.tolist() == theirs.reason.tolist()
        assert np.allclose(ours.proba, theirs.proba, atol=1e-4)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m")
        assert load(Path(folder) / "m").acquire(X).order == model.acquire(X).order

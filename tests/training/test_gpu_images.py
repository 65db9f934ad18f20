"""Training on images on a GPU: recorded updates, and models that run where they can. Skipped where there is no GPU."""

import copy
import warnings

import numpy as np
import pytest
import torch

from askwise import AskwiseWarning, Budget, DimeImageClassifier, load
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.methods.dime.objectives import JointObjective
from askwise.training.recording import Recording, capture_if_possible
from askwise.training.update import Plan, Update
from askwise.training.variation import VARIATIONS, Varied
from pictures import FAST_IMAGES, TELLING, make_images

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

DEVICE = torch.device("cuda", 0)
TASK = Classification((0, 1, 2))
NETWORKS = {
    "convolutions with batch norms": {"backbone": "small-cnn"},
    "a transformer": {"backbone": "small-vit"},
    "a transformer that drops": {"backbone": "small-vit", "drop_unknown": True},
    "with a sketch": {"backbone": "small-cnn", "prior": "sketch"},
}


def make_update(how):
    """An update of joint training on varied images, and a batch for it."""
    torch.manual_seed(0)
    method = DimeImageClassifier(patch=4, hidden=16, layers=1, **how)
    X, y = make_images(64)
    schema = method.schema_of(X)
    rows = schema.encode(X)
    answers = torch.from_numpy(np.unique(y, return_inverse=True)[1])
    rows = Rows(rows.x, rows.present, rows.available, answers).to(DEVICE)
    policy = method.build(schema.space, TASK).to(DEVICE).train()
    prices = Prices.tensor(schema.space.costs, torch.float32, DEVICE)
    objective = JointObjective(policy, TASK, prices, 4, 0.3, 16, learn_from=2)
    vary = Varied(schema.layout, VARIATIONS)
    return Update(policy, objective, Plan(1, 64, 1e-3, warm_up=0.2), 12, vary, DEVICE), rows


@pytest.mark.parametrize("name", NETWORKS)
def test_a_recorded_update_ends_near_the_plain_one(name):
    plain, rows = make_update(NETWORKS[name])
    start = copy.deepcopy(plain.policy.state_dict())
    recorded, _ = make_update(NETWORKS[name])
    weight = torch.ones(64, device=DEVICE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AskwiseWarning)
        learn = capture_if_possible(recorded, rows, weight)
    assert isinstance(learn, Recording)
    for how in (plain, learn):
        torch.manual_seed(5)
        for _ in range(12):
            how(rows, weight)
    one, other = (update.policy.state_dict() for update in (plain, recorded))
    floats = [k for k in start if start[k].is_floating_point()]
    way = sum(float((one[k] - start[k]).norm() ** 2) for k in floats) ** 0.5
    apart = sum(float((one[k] - other[k]).norm() ** 2) for k in floats) ** 0.5
    assert apart < 0.1 * way


@pytest.mark.parametrize("name", NETWORKS)
def test_a_model_trained_on_a_gpu_asks_the_same_there_and_on_the_cpu(name, tmp_path):
    X, y = make_images()
    # A walk serves twice as many updates as on a CPU: it learns as well, a little later.
    longer = {"pretrain_epochs": 30, "epochs": 20}
    model = DimeImageClassifier(**{**FAST_IMAGES, **longer, **NETWORKS[name]}, device="cuda").fit(X, y)
    assert model.model_.device.startswith("cuda")
    model.save(tmp_path / "m.askwise")
    here, there = load(tmp_path / "m.askwise", device="cpu"), load(tmp_path / "m.askwise")
    new, _ = make_images(60, seed=1)
    ours, theirs = here.acquire(new, stop=Budget(3)), there.acquire(new, stop=Budget(3))
    assert ours.order == theirs.order
    assert np.allclose(ours.proba, theirs.proba, atol=1e-4)
    assert np.mean([order[0] == TELLING for order in ours.order]) > 0.9

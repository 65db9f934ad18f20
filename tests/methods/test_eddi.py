"""EDDI: information from imagined answers."""

import math

import numpy as np
import pytest
import torch

from askwise import AskwiseError, Budget, EddiClassifier, EddiRegressor, Penalty
from askwise.core.tasks import entropy
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.methods import eddi

TRUTH = DISTRIBUTIONS["tests"]()


@pytest.fixture(scope="module")
def clinic(cases, fast):
    """Categories, yes/no, a constant, a panel, a free column, holes."""
    settings = {k: v for k, v in fast.items() if k != "pretrain_epochs"}
    return EddiClassifier(groups={"exercise test": ["rate", "pain"]}, free=["age"], **settings).fit(*cases)


@pytest.fixture(scope="module")
def number(cases, fast):
    X, y = cases
    settings = {k: v for k, v in fast.items() if k != "pretrain_epochs"}
    return EddiRegressor(groups={"exercise test": ["rate", "pain"]}, free=["age"], **settings).fit(X, y == "sick")


@pytest.fixture(scope="module")
def tested():
    """A model of independent tests, whose information is known."""
    x, y = TRUTH.sample(1500, seed=0)
    model = EddiClassifier(hidden=32, epochs=25, learning_rate=0.01, random_state=0)
    return model.fit(x, y, eval_set=TRUTH.sample(150, seed=1))


def states(model, cases, n=40):
    """Rows, and random sets of groups as a mask of columns, under the policy in float64."""
    rows = model.model_.place(model.encode(cases[0].head(n)))
    known = torch.rand(rows.available.shape, generator=torch.Generator().manual_seed(0)) < 0.4
    policy = model.model_.running_policy.requires_grad_(False)
    return policy, rows.x, policy.mask(known & rows.available, rows.present)


def plain_score(policy, x, mask, columns):
    """The definition: reveal each sample of some columns, and see how far predictions differ from their mean."""
    hidden = policy.hide(x, mask)
    samples = policy.networks.model.imagine(hidden, mask, policy.noise)[0].T
    revealed = mask.repeat(len(samples), 1)
    revealed[:, columns] = True
    known = mask[:, policy.column_of_entry]
    outputs = policy(torch.where(known, x, samples), revealed, scores=False).outputs
    if policy.is_regression:
        return outputs.var(correction=0)
    p = outputs.softmax(-1)
    return (p * (p / p.mean(0)).log()).sum(-1).mean()


@pytest.mark.parametrize("kind", ["clinic", "number"])
def test_batched_scores_are_those_of_a_plain_loop(kind, cases, request):
    policy, x, mask = states(request.getfixturevalue(kind), cases)
    scores = policy(x, mask).scores
    for row in range(len(x)):
        for group, columns in enumerate(policy.space.members):
            if mask[row, list(columns)].any():
                assert scores[row, group] == 0
            else:
                expected = plain_score(policy, x[row : row + 1], mask[row : row + 1], list(columns))
                assert float(scores[row, group]) == pytest.approx(float(expected), rel=1e-6, abs=1e-12)


def test_scores_are_the_same_however_little_is_computed_at_once(clinic, cases, monkeypatch):
    policy, x, mask = states(clinic, cases)
    whole = policy(x, mask).scores
    monkeypatch.setitem(eddi.NUMBERS_AT_ONCE, "cpu", 1000)
    assert torch.allclose(policy(x, mask).scores, whole, rtol=1e-9, atol=1e-15)


def test_scores_lie_between_nothing_and_what_the_answer_can_tell(clinic, cases):
    policy, x, mask = states(clinic, cases)
    scores = policy(x, mask).scores
    assert (scores >= 0).all()
    assert (scores <= math.log(policy.networks.predictor.head.out_features)).all()
    assert entropy(policy(x, mask, scores=False).outputs).max() > scores.max() > 1e-3


def test_a_column_that_never_changes_tells_nothing(clinic, cases):
    assert (clinic.information(cases[0].head(5).assign(site=np.nan))["site"] == 0).all()


def test_without_scores_nothing_is_imagined(clinic, cases, monkeypatch):
    policy, x, mask = states(clinic, cases)
    outputs = policy(x, mask).outputs
    monkeypatch.setattr(policy.networks.model, "imagine", None)
    belief = policy(x, mask, scores=False)
    assert belief.scores is None
    assert torch.equal(belief.outputs, outputs)


def test_noise_belongs_to_the_model_and_to_its_seed(clinic):
    assert "noise" in clinic.model_.policy.state_dict()
    space, task = clinic.model_.schema.space, clinic.model_.task
    torch.manual_seed(0)
    first, second = (EddiClassifier(n_samples=8).build(space, task) for _ in range(2))
    assert first.noise.shape == (8, 16 + space.n_columns)
    assert not torch.equal(first.noise, second.noise)


def test_information_is_near_the_truth(tested):
    x, _ = TRUTH.sample(200, seed=2)
    known = np.random.default_rng(0).random(x.shape) < 0.4
    ours = tested.information(x.where(known)).to_numpy()
    exact = TRUTH.policy(torch.tensor(x.to_numpy()), torch.tensor(known)).scores.numpy()
    assert np.corrcoef(ours[~known], exact[~known])[0, 1] > 0.85
    assert ours[~known].mean() == pytest.approx(exact[~known].mean(), rel=0.3)


def test_the_first_questions_are_the_best_ones(tested):
    x, y = TRUTH.sample(2000, seed=3)
    assert (tested.predict(x, stop=Budget(2)) == y).mean() > 0.89


def test_a_higher_penalty_asks_less(tested):
    x, _ = TRUTH.sample(200, seed=4)
    asked = [tested.acquire(x, stop=Penalty(penalty)).n_asked.mean() for penalty in (0.001, 0.03, 0.2)]
    assert asked[0] > asked[1] > asked[2] > 0


def test_dear_questions_must_tell_more(tested):
    x, _ = TRUTH.sample(50, seed=4)
    first = tested.acquire(x, stop=Budget(1)).order[0][0]
    costs = {name: 10 if name == first else 1 for name in x.columns}
    assert all(order[0] != first for order in tested.acquire(x, stop=Budget(2), costs=costs).order)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_samples": 1}, "n_samples must be a whole number of at least 2, was given 1"),
        ({"n_samples": 2.5}, "n_samples must be a whole number of at least 2, was given 2.5"),
        ({"latent": 0}, "latent must be a whole number of at least 1, was given 0"),
        ({"hidden": 0}, "hidden must be a whole number of at least 1, was given 0"),
    ],
)
def test_settings_that_cannot_be_are_told(settings, message, cases):
    with pytest.raises(AskwiseError, match=message):
        EddiClassifier(**settings).fit(*cases)


def test_it_says_that_it_cannot_be_exported(clinic, tmp_path):
    with pytest.raises(AskwiseError, match=r"can't be written as ONNX.*train another method"):
        clinic.export_onnx(tmp_path / "m.onnx")

"""Probabilistic hard attention: patches read in one order, information from imagined features."""

import itertools
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from askwise import IMAGE_METHODS, AskwiseError, Budget, HardAttentionImageClassifier, Penalty, Session, load
from askwise.core.tasks import Classification, entropy
from askwise.data.images.sketches import sketches
from askwise.methods.images import hard_attention
from askwise.methods.images.hard_attention import Imputing
from pictures import FAST_IMAGES, TELLING, make_images

FAST = {k: v for k, v in FAST_IMAGES.items() if k in HardAttentionImageClassifier().get_params()} | {"hidden": 32}
COSTS = {"r1c1": 2.5, "r4c4": 0.5}


@pytest.fixture(scope="module")
def model():
    return HardAttentionImageClassifier(costs=COSTS, **{**FAST, "epochs": 50}).fit(*make_images())


@pytest.fixture(scope="module")
def new():
    """Images that no model was fitted on; some patches of some of them can't be had."""
    X, y = make_images(40, seed=1)
    X = X / 255
    X[::4, :4] = np.nan
    X[1::4, 8:12, 4:8] = np.nan
    return X, y


def pixels(model, image, name):
    layout = model.model_.schema.layout
    return (image[layout.window(layout.names.index(name))] * 255).round().astype(np.uint8)


@pytest.fixture
def states(model, new):
    """The policy in float64, rows, and random sets of patches."""
    rows = model.model_.place(model.encode(new[0]))
    known = torch.rand(rows.available.shape, generator=torch.Generator().manual_seed(0)) < 0.3
    return model.model_.running_policy.requires_grad_(False), rows.x, known & rows.present


def test_it_is_registered_and_has_no_backbone_to_choose():
    assert IMAGE_METHODS["hard-attention-image-classifier"] is HardAttentionImageClassifier
    assert HardAttentionImageClassifier.registry_name == "hard-attention-image-classifier"
    assert "backbone" not in HardAttentionImageClassifier().get_params()


def test_it_asks_the_patch_that_tells_everything_first(model, new):
    X, y = new
    acquired = model.acquire(X, stop=Budget(1))
    assert [order[0] for order in acquired.order] == [TELLING] * len(X)
    assert (model.classes_[acquired.proba.argmax(1)] == y).mean() > 0.95


def test_only_the_telling_patch_is_worth_much(model):
    found = model.information(np.full((1, 16, 16, 3), np.nan)).loc[0]
    assert found[TELLING] > 0.2
    assert found.drop(TELLING).max() < 0.1 * found[TELLING]


def test_the_state_is_that_of_a_plain_loop_over_known_patches(states):
    policy, x, mask = states
    networks = policy.networks
    cell = nn.GRUCell(64, 32, dtype=torch.float64)
    for kind, layer in (("ih", networks.recurrence.of_input), ("hh", networks.recurrence.of_state)):
        getattr(cell, f"weight_{kind}").data.copy_(layer.weight)
        getattr(cell, f"bias_{kind}").data.copy_(layer.bias)
    features, found = networks.features(x, mask), networks.state(x, mask)
    for row in range(len(x)):
        state = torch.zeros(1, 32, dtype=torch.float64)
        for patch in mask[row].nonzero()[:, 0]:
            state = cell(features[row, patch][None], state)
        assert torch.allclose(found[row], state[0], rtol=1e-10, atol=1e-12)


def test_an_unknown_patch_changes_nothing(states):
    policy, x, mask = states
    hidden = ~mask[:, policy.column_of_entry]
    other = torch.where(hidden, 255 - x, x)
    assert not torch.equal(other, x)
    for mine, theirs in zip(policy(x, mask)[:2], policy(other, mask)[:2], strict=True):
        assert torch.equal(mine, theirs)


def test_scores_are_the_information_of_imagined_features(states):
    """The definition, patch by patch: how far predictions after each sample differ from their mean."""
    policy, x, mask = states
    networks, scores = policy.networks, policy(x, mask).scores
    state = networks.state(x, mask)
    samples = networks.model.imagine(state, policy.noise)
    for row in range(6):
        plain = torch.zeros_like(scores[row])
        for patch in (~mask[row]).nonzero()[:, 0]:
            after = networks.recurrence.step(samples[row, :, patch], state[row].expand(len(policy.noise), -1))
            p = (networks.head(after) / policy.temperature).softmax(1)
            plain[patch] = (p * (p / p.mean(0)).log()).sum(1).mean()
        most = entropy(policy(x, mask, scores=False).outputs)[row]
        plain *= min(1.0, float(most / plain.max()))
        assert torch.allclose(scores[row], plain, rtol=1e-6, atol=1e-12)


def test_a_patch_beyond_all_known_ones_is_read_in_its_turn_though_last(states):
    policy, x, mask = states
    mask[:, -1], after = False, mask.clone()
    after[:, -1] = True
    choice = torch.full((len(x),), mask.shape[1] - 1)
    outputs, later = policy.with_one_more(x, mask, choice, after)
    assert torch.allclose(outputs, policy(x, mask, scores=False).outputs)
    assert torch.allclose(later, policy(x, after, scores=False).outputs)


def test_scores_lie_between_nothing_and_what_there_is_to_know(states):
    policy, x, mask = states
    outputs, scores, _ = policy(x, mask)
    assert (scores >= 0).all()
    assert (scores <= entropy(outputs)[:, None] * (1 + 1e-9)).all()
    assert (scores[mask] == 0).all()
    assert (scores[~mask] > 0).all()


def test_scores_are_the_same_however_little_is_computed_at_once(states, monkeypatch):
    policy, x, mask = states
    whole = policy(x, mask).scores
    monkeypatch.setitem(hard_attention.NUMBERS_AT_ONCE, "cpu", 1)
    assert torch.allclose(policy(x, mask).scores, whole, rtol=1e-9, atol=1e-15)


def test_without_scores_nothing_is_imagined(states, monkeypatch):
    policy, x, mask = states
    outputs = policy(x, mask).outputs
    monkeypatch.setattr(policy.networks.model, "imagine", None)
    belief = policy(x, mask, scores=False)
    assert belief.scores is None
    assert torch.equal(belief.outputs, outputs)


def test_a_rows_result_does_not_depend_on_the_rest_of_the_batch(model, new):
    X, _ = new
    whole = model.acquire(X, stop=Budget(5))
    for rows in ([3], [0, 1, 2], [20, 4, 4, 17]):
        part = model.acquire(X[rows], stop=Budget(5))
        assert part.order == [whole.order[r] for r in rows]
        assert np.allclose(part.proba, whole.proba[rows], atol=1e-9)


def test_a_session_asks_what_the_trace_asked(model, new):
    X = new[0][2::4]
    acquired = model.acquire(X, stop=Budget(5))
    for image, expected in zip(X, acquired.order, strict=True):
        session, order = model.session(stop=Budget(5)), []
        while (question := session.ask()) is not None:
            session.tell(question.name, pixels(model, image, question.name))
            order.append(question.name)
        assert order == expected


def test_the_answer_depends_on_the_set_of_answers_not_on_their_order(model, new):
    answers = {name: pixels(model, new[0][3], name) for name in (TELLING, "r1c1", "r4c2")}
    found = [Session.from_answers(model, dict(order)) for order in itertools.permutations(answers.items())]
    assert all(session.prediction == found[0].prediction for session in found)
    assert all(session.ranking == found[0].ranking for session in found)


def test_a_budget_is_kept_and_without_a_rule_all_is_asked(model, new):
    X, _ = new
    costs = dict(zip(model.model_.schema.space.names, model.model_.costs(), strict=True))
    for stop in (Budget(0), Budget(3.2), None):
        acquired = model.acquire(X, stop=stop)
        for order, spent in zip(acquired.order, acquired.spent, strict=True):
            assert len(set(order)) == len(order)
            assert spent == pytest.approx(sum(costs[name] for name in order))
        assert stop is None or (acquired.spent <= stop.k).all()
    assert acquired.n_asked.tolist() == model.encode(X).available.sum(1).tolist()
    assert np.allclose(acquired.proba, model.predict_proba(X), atol=1e-9)


def test_a_saved_and_loaded_model_is_the_same(model, new, tmp_path):
    X, _ = new
    model.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    assert type(again) is HardAttentionImageClassifier
    for stop in (None, Budget(3), Penalty(0.01)):
        ours, theirs = model.acquire(X, stop=stop), again.acquire(X, stop=stop)
        assert ours.order == theirs.order
        assert np.array_equal(ours.proba, theirs.proba)


def test_pickles_and_clones(model, new):
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(new[0]), model.predict(new[0]))
    assert clone(model).get_params() == model.get_params()


def test_the_same_seed_gives_the_same_model():
    X, y = make_images(60)
    first, again = (HardAttentionImageClassifier(**{**FAST, "epochs": 1}).fit(X, y) for _ in range(2))
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))
    assert first.acquire(X, stop=Budget(2)).order == again.acquire(X, stop=Budget(2)).order


def test_a_sketch_is_read_before_the_patches():
    X, y = make_images(60)
    model = HardAttentionImageClassifier(prior="sketch", **{**FAST, "epochs": 1}).fit(X, y)
    sketch = sketches(X[:1])[0]
    nothing, with_sketch = model.session(known={"sketch": None}), model.session(known={"sketch": sketch})
    assert nothing.prediction != with_sketch.prediction
    acquired = model.acquire(X[:1], stop=Budget(1))
    assert acquired.order[0] == [with_sketch.ask().name]


def test_imputation_leaves_the_features_as_they_are(model, new):
    space, rows = model.model_.schema.space, model.encode(new[0])
    policy = HardAttentionImageClassifier(hidden=8).build(space, Classification((0, 1, 2)))
    errors, _ = Imputing(policy).errors(rows)
    errors.mean().backward()
    parts = policy.networks.predictor_parts
    assert len(parts) == 3
    assert all(p.grad is None for part in parts for p in part.parameters())
    assert all(p.grad is not None for name, p in policy.networks.model.named_parameters())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_samples": 1}, "n_samples must be a whole number of at least 2, was given 1"),
        ({"latent": 0}, "latent must be a whole number of at least 1, was given 0"),
        ({"patch": 5}, r"images of 16 x 16 pixels can't be cut into whole patches of 5 x 5"),
        ({"prior": "photo"}, "prior takes None or 'sketch', was given 'photo'"),
    ],
)
def test_settings_that_cannot_be_are_told(settings, message):
    with pytest.raises(AskwiseError, match=message):
        HardAttentionImageClassifier(**{"patch": 4, **settings}).fit(*make_images(12))

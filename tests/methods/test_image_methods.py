"""What every method on images promises, and what DIME finds in them."""

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from torch import nn

from askwise import AskwiseError, Budget, DimeImageClassifier, DimeImageRegressor, Session, TimmBackbone, load
from askwise.data.images.patches import PatchLayout
from askwise.methods import neural
from askwise.methods.registry import IMAGE_METHODS
from askwise.networks import own_backbones
from askwise.training import update
from askwise.training.loop import Training
from pictures import FAST_IMAGES, TELLING, make_images

LAYOUT = PatchLayout(16, 16, 3, 4)
COSTS = {"r1c1": 2.5, TELLING: 3, "r4c4": 0.5}
# Shorter where a method has many stages; what it finds is not looked at.
SHORT = {"epochs": 2, "pretrain_epochs": 2}


def of_patch(image, name):
    return image[LAYOUT.window(LAYOUT.names.index(name))]


def answer(acquired):
    return acquired.prediction if acquired.proba is None else acquired.proba


def settings_for(method, **changes):
    has = method().get_params()
    return {k: v for k, v in {**FAST_IMAGES, "backbone": "small-vit", **changes}.items() if k in has}


@pytest.fixture(scope="module")
def new_images():
    return make_images(40, seed=1)


@pytest.fixture(scope="module")
def few_images(new_images):
    return new_images[0][:12], new_images[1][:12]


@pytest.fixture(scope="module", params=IMAGE_METHODS)
def model(request):
    """Every method, briefly trained, under unequal prices."""
    method = IMAGE_METHODS[request.param]
    X, y = make_images(120)
    if not is_classifier(method()):
        y = 100 + 20.0 * (y == "red") - 10 * (y == "blue")
    return method(**settings_for(method, costs=COSTS, **SHORT)).fit(X, y)


# What every method promises


def test_the_registry_and_the_class_agree_on_the_name(model):
    assert IMAGE_METHODS[model.registry_name] is type(model)


def test_an_acquisition_is_consistent_with_itself_and_keeps_its_budget(model, few_images):
    costs = dict(zip(LAYOUT.names, model.model_.costs(), strict=True))
    for budget in (0, 0.7, 4.2):
        acquired = model.acquire(few_images[0], stop=Budget(budget))
        assert (acquired.spent <= budget).all()
        for i, order in enumerate(acquired.order):
            assert len(set(order)) == len(order) == acquired.n_asked[i]
            assert acquired.spent[i] == pytest.approx(sum(costs[g] for g in order))
            assert set(acquired.known.columns[acquired.known.iloc[i]]) == set(order)
    assert acquired.n_asked.min() > 0


def test_an_image_is_asked_alike_in_a_batch_alone_and_in_a_session(model, few_images):
    X, _ = few_images
    acquired = model.acquire(X, stop=Budget(4.2))
    for i in (0, 7, 8):
        alone = model.acquire(X[i : i + 1], stop=Budget(4.2))
        assert alone.order[0] == acquired.order[i]
        assert np.allclose(answer(alone)[0], answer(acquired)[i], atol=1e-5)
        session = model.session(stop=Budget(4.2))
        while (question := session.ask()) is not None:
            session.tell(question.name, of_patch(X[i], question.name))
        assert session.asked == acquired.order[i]
        assert session.reason == acquired.reason[i]
        said = session.prediction
        told = [said.proba[label] for label in model.classes_] if said.proba is not None else said.value
        assert np.allclose(told, answer(acquired)[i], atol=1e-4)


def test_the_answer_depends_on_the_set_of_answers_not_on_their_order(model, few_images):
    names = ["r1c1", TELLING, "r4c4"]
    told = {name: of_patch(few_images[0][0], name) for name in names}
    one = Session.from_answers(model, told)
    other = Session.from_answers(model, {name: told[name] for name in reversed(names)})
    assert one.prediction == other.prediction
    assert one.ranking == other.ranking


def test_what_is_not_asked_is_not_used(model, few_images):
    X = few_images[0][:12]
    acquired = model.acquire(X, stop=Budget(4.2))
    other = make_images(12, seed=2)[0]
    for i, order in enumerate(acquired.order):
        for name in order:
            window = LAYOUT.window(LAYOUT.names.index(name))
            other[i][window] = X[i][window]
    again = model.acquire(other, stop=Budget(4.2))
    assert not np.array_equal(other, X)
    assert again.order == acquired.order
    assert np.array_equal(answer(again), answer(acquired))


def test_patches_that_are_not_known_are_not_asked(model, few_images):
    X = few_images[0][:6] / 255
    X[:, 4:8, 8:12] = np.nan
    acquired = model.acquire(X)
    assert not acquired.known[TELLING].any()
    assert set(acquired.n_asked) == {15}
    assert np.isfinite(answer(acquired)).all()


def test_other_costs_change_the_questions_without_retraining(model, few_images):
    for cheap in ("r1c2", "r3c4"):
        costs = {name: 1e-6 if name == cheap else 1e6 for name in LAYOUT.names}
        assert model.acquire(few_images[0][:5], stop=Budget(1), costs=costs).order == [[cheap]] * 5
        grid = np.array(list(costs.values())).reshape(LAYOUT.grid)
        assert model.model_.costs(grid) == model.model_.costs(costs)


def test_a_saved_and_loaded_model_is_the_same(model, few_images, tmp_path):
    model.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    assert type(again) is type(model)
    for stop in (None, Budget(3)):
        ours, theirs = (m.acquire(few_images[0], stop=stop) for m in (model, again))
        assert ours.order == theirs.order
        assert np.array_equal(answer(ours), answer(theirs))
    assert again.model_.schema == model.model_.schema


def test_a_clone_has_the_same_settings_and_no_model(model):
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "model_")


def test_images_of_another_size_are_refused(model):
    with pytest.raises(AskwiseError, match="were given, and the model takes 16 x 16"):
        model.acquire(np.zeros((2, 20, 20, 3), dtype=np.uint8))


# What DIME finds


class OwnNetwork(nn.Module):
    """A network of the user's own: a map of 4 x 4 from 16 x 16, each place of which has something of its own."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.patches = nn.Conv2d(3, 32, 4, 4)
        self.place = nn.Parameter(torch.randn(1, 32, 4, 4))
        self.layers = nn.Sequential(nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())

    def forward(self, images):
        return self.layers(self.patches(images) + self.place)


TINY_VIT = TimmBackbone("vit_tiny_patch16_224", options={"depth": 1, "embed_dim": 24, "num_heads": 2})
TINY_RESNET = TimmBackbone(
    "resnet18", options={"layers": (1, 1, 1, 1), "channels": (16, 16, 32, 32), "output_stride": 8}
)
CASES = {
    "our own transformer": {"backbone": "small-vit"},
    "our own convolutions": {"backbone": "small-cnn"},
    "a transformer of timm": {"backbone": TINY_VIT},
    "a residual network of timm": {"backbone": TINY_RESNET, "epochs": 4, "pretrain_epochs": 6},
    "a module": {"backbone": OwnNetwork()},
    "parts of episodes": {"backbone": "small-vit", "learn_from": 2},
    "a backbone each": {"backbone": "small-vit", "share_backbone": False},
    "unknown patches dropped": {"backbone": "small-vit", "drop_unknown": True, "learning_rate": 1e-2},
    "unknown patches dropped, of timm": {"backbone": TINY_VIT, "drop_unknown": True},
    "a sketch": {"backbone": "small-vit", "prior": "sketch"},
    "a sketch that predictions do not train": {"backbone": "small-vit", "prior": "sketch", "stop_gradient": True},
    "a sketch for predictions alone": {"backbone": "small-vit", "prior": "sketch", "prior_for": "predictor"},
    "patches missing in training": {"backbone": "small-cnn", "share": 0.1},
}


@pytest.fixture(scope="module")
def found():
    """Fitted models by the name of a case, each made once."""
    made = {}

    def fitted(case):
        if case not in made:
            settings = {**FAST_IMAGES, **CASES[case]}
            X, y = make_images()
            share = settings.pop("share", 0.0)
            if share:
                holes = np.random.default_rng(0).random((len(X), 4, 4)) < share
                X = np.where(holes.repeat(4, 1).repeat(4, 2)[..., None], np.nan, X / 255)
            made[case] = DimeImageClassifier(**settings).fit(X, y)
        return made[case]

    return fitted


@pytest.mark.parametrize("case", CASES)
def test_the_patch_that_tells_everything_is_asked_first(found, case, new_images):
    X, y = new_images
    model = found(case)
    first = [order[0] for order in model.acquire(X, stop=Budget(1)).order]
    assert np.mean([name == TELLING for name in first]) >= 0.95
    assert (model.predict(X, stop=Budget(1)) == y).mean() >= 0.9


def test_our_own_convolutions_are_as_wide_as_the_device_can_train_in_time(new_images, monkeypatch, tmp_path):
    assert DimeImageClassifier(device="cpu").backbone_width == 128
    assert DimeImageClassifier(device="cpu", hidden=16).backbone_width == 16
    assert DimeImageClassifier(device="cpu", backbone="small-vit").backbone_width is None
    short = {**FAST_IMAGES, "hidden": None, "epochs": 1, "pretrain_epochs": 1, "device": "cpu"}
    model = DimeImageClassifier(**short).fit(*make_images(60))
    model.save(tmp_path / "m.askwise")
    # On a machine where they would be wider, a file has the width it was trained with.
    monkeypatch.setitem(own_backbones.CNN_WIDTHS, "cpu", 256)
    assert DimeImageClassifier(device="cpu").backbone_width == 256
    again = load(tmp_path / "m.askwise")
    assert again.hidden == 128
    assert np.array_equal(again.predict_proba(new_images[0]), model.predict_proba(new_images[0]))
    # And so has one that is saved there only, whatever was set meanwhile.
    model.set_params(device="cuda", layers=7, stop=Budget(2)).save(tmp_path / "later.askwise")
    later = load(tmp_path / "later.askwise")
    assert (later.hidden, later.layers, later.stop) == (128, FAST_IMAGES["layers"], Budget(2))
    assert np.array_equal(later.predict_proba(new_images[0], stop=None), model.predict_proba(new_images[0]))


def test_a_file_from_before_widths_were_kept_is_as_wide_as_on_a_gpu(new_images, tmp_path):
    settings = {**FAST_IMAGES, "hidden": 256, "epochs": 1, "pretrain_epochs": 1}
    model = DimeImageClassifier(**settings).fit(*make_images(40))
    model.settings_["hidden"] = None
    model.save(tmp_path / "m.askwise")
    assert np.array_equal(load(tmp_path / "m.askwise").predict(new_images[0]), model.predict(new_images[0]))


def test_it_is_found_with_products_in_bfloat16_too(new_images, monkeypatch):
    monkeypatch.setattr(update, "use_bfloat16", lambda *_: True)
    X, y = new_images
    model = DimeImageClassifier(**FAST_IMAGES, backbone="small-cnn").fit(*make_images())
    assert np.mean([order[0] == TELLING for order in model.acquire(X, stop=Budget(1)).order]) >= 0.95
    assert (model.predict(X, stop=Budget(1)) == y).mean() >= 0.9


@pytest.mark.parametrize("case", ["a transformer of timm", "a sketch", "unknown patches dropped", "a backbone each"])
def test_a_saved_and_loaded_model_is_the_same_whatever_it_is_made_of(found, case, new_images, tmp_path):
    model, (X, _) = found(case), new_images
    model.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    ours, theirs = (m.acquire(X, stop=Budget(3)) for m in (model, again))
    assert ours.order == theirs.order
    assert np.array_equal(ours.proba, theirs.proba)


def test_a_module_of_ones_own_is_needed_again_and_stays_as_it_was(found, new_images, tmp_path):
    model, (X, _) = found("a module"), new_images
    own = CASES["a module"]["backbone"]
    fresh, trained = OwnNetwork(), model.model_.policy.networks.trunk.backbone.network
    assert all(torch.equal(weight, fresh.state_dict()[name]) for name, weight in own.state_dict().items())
    assert not torch.equal(trained.place, own.place)
    model.save(tmp_path / "m.askwise")
    with pytest.raises(AskwiseError, match=r"a backbone of your own; give it again: load\(path, backbone="):
        load(tmp_path / "m.askwise")
    with pytest.raises(
        AskwiseError,
        match="the backbone given for it can't take the weights in the file",
    ):
        load(tmp_path / "m.askwise", backbone=nn.Conv2d(3, 32, 4, 4))
    again = load(tmp_path / "m.askwise", backbone=OwnNetwork())
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_pretrained_model_is_saved_and_loaded_without_its_file(new_images, tmp_path):
    """It keeps its own patches and normalisation, which are not those of a network made anew."""
    X, _ = new_images
    name, options = "vit_tiny_patch16_224.augreg_in21k", {"depth": 1, "patch_size": 8, "embed_dim": 24, "num_heads": 2}
    file = tmp_path / "weights.pth"
    torch.save(TimmBackbone(name, options=options).build(PatchLayout(16, 16, 3, 8)).state_dict(), file)
    settings = {**FAST_IMAGES, "epochs": 1, "pretrain_epochs": 1}
    model = DimeImageClassifier(backbone=TimmBackbone(name, weights=file, options=options), **settings)
    model.fit(*make_images(60)).save(tmp_path / "m.askwise")
    file.unlink()
    assert np.array_equal(load(tmp_path / "m.askwise").predict_proba(X), model.predict_proba(X))


def test_a_sketch_that_is_given_is_used_and_one_that_is_not_is_missed(found, new_images):
    model, (image, *_) = found("a sketch"), new_images[0]
    lines = model.encode(image[None]).x[0, LAYOUT.n_pixels :].reshape(16, 16).numpy()
    known, unknown = model.session(known={"sketch": lines}), model.session(known={"sketch": None})
    assert known.prediction != unknown.prediction
    assert "sketch" not in [candidate.name for candidate in known.ranking]
    acquired = model.acquire(image[None], stop=Budget(0))
    assert np.allclose([known.prediction.proba[c] for c in model.classes_], acquired.proba[0], atol=1e-4)


def test_a_number_in_one_patch_is_learnt_from_it(new_images):
    X, labels = make_images(300)
    values = {"red": 3.0, "green": -1.0, "blue": 10.0}
    y, y_new = (np.array([values[label] for label in which]) for which in (labels, new_images[1]))
    model = DimeImageRegressor(backbone="small-cnn", **FAST_IMAGES).fit(X, y)
    acquired = model.acquire(new_images[0], stop=Budget(1))
    assert acquired.known[TELLING].mean() >= 0.95
    assert np.mean((acquired.prediction - y_new) ** 2) < 0.15 * y_new.var()


# Runs that are broken off


def weights(model):
    return model.model_.policy.state_dict()


@pytest.mark.parametrize("backbone", ["small-cnn", "small-vit"])
def test_a_run_broken_off_ends_with_the_same_weights(backbone, tmp_path):
    X, y = make_images(60)
    settings = {**FAST_IMAGES, "epochs": 2, "pretrain_epochs": 2, "augment": ["shift", "flip"], "backbone": backbone}
    unbroken = DimeImageClassifier(**settings).fit(X, y)
    for place in (("predictor", 0), ("joint", 0)):

        def break_off(progress, place=place):
            if (progress.stage, progress.epoch) == place:
                raise KeyboardInterrupt

        model = DimeImageClassifier(**settings, checkpoint_dir=tmp_path / place[0])
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, progress=break_off)
        model.fit(X, y)
        assert all(torch.equal(theirs, weights(unbroken)[name]) for name, theirs in weights(model).items())


def test_a_grid_of_prices_can_be_saved():
    assert DimeImageClassifier(costs=np.array([[1, 2], [3, 4]])).plain_settings()["costs"] == [[1, 2], [3, 4]]


# Settings that can't be


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"patch": 5}, r"16 x 16 pixels can't be cut into whole patches of 5 x 5"),
        ({"patch": 0}, r"patch"),
        ({"augment": "flip"}, r"augment takes a list of some of 'shift', 'zoom'.*was given 'flip'"),
        ({"augment": ["turn"]}, r"was given .'turn'."),
        ({"prior": "photo"}, r"prior takes None or 'sketch', was given 'photo'"),
        ({"prior_for": "predictor"}, r"prior_for='predictor' is about a prior, .*give prior='sketch' too"),
        ({"mean": (0.5,)}, r"mean takes three numbers"),
        ({"backbone": "small-cnn", "drop_unknown": True}, r"drop_unknown=True needs a vision transformer"),
        ({"backbone": "small-cat"}, r"unknown backbone 'small-cat'; did you mean 'small-"),
    ],
)
def test_settings_that_cannot_be_are_told(settings, said):
    with pytest.raises(AskwiseError, match=said):
        DimeImageClassifier(**{"patch": 4, **settings}).fit(*make_images(20))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.zeros((4, 8)), r"images are an array .*was given shape"),
        (np.zeros((4, 8, 8, 2)), r"was given shape \(4, 8, 8, 2\)"),
        (np.zeros((4, 3, 8, 8)), r"was given shape \(4, 3, 8, 8\); put them last: images.transpose\(0, 2, 3, 1\)"),
        (np.zeros((0, 8, 8)), r"none were given, in an array of shape \(0, 8, 8\)"),
        (np.full((4, 8, 8), 200.0), r"fractions from 0 to 1; was given numbers from 200 to 200 as float64"),
        (np.full((4, 8, 8), -1), r"whole numbers from 0 to 255"),
        ([np.zeros((8, 8)), np.zeros((8, 9))], r"images must have one size"),
        (7, r"images are an array or a list of images, was given 7"),
    ],
)
def test_what_is_no_images_is_told(given, said):
    with pytest.raises(AskwiseError, match=said):
        DimeImageClassifier(patch=4).fit(given, [0, 1, 0, 1])


def test_images_to_validate_on_must_have_the_size_of_those_to_learn_from():
    X, y = make_images()
    larger = X.repeat(2, 1).repeat(2, 2)
    settings = {**FAST_IMAGES, "backbone": "small-vit", "epochs": 1, "pretrain_epochs": 1}
    with pytest.raises(AskwiseError, match="32 x 32 pixels and 3 channels were given, and the model takes 16 x 16"):
        DimeImageClassifier(**settings).fit(X, y, eval_set=(larger, y))
    # A second fit is about the second images alone.
    model = DimeImageClassifier(**settings).fit(X[:60], y[:60])
    model.fit(larger[:60], y[:60], eval_set=(larger[60:80], y[60:80]))
    assert model.model_.schema.layout.height == 32


@pytest.mark.parametrize("backbone", ["small-cnn", "small-vit"])
def test_a_prior_for_predictions_alone_leaves_the_policy_as_it_was(backbone, monkeypatch):
    """Questions and values stay those of the model without the prior, to the last statistic of a batch norm."""
    X, y = make_images(80)
    kept = {}
    stage = Training.stage

    def noted(training, name, *rest):
        if name == "prior":
            kept["before"] = {k: v.clone() for k, v in training.policy.state_dict().items()}
        stage(training, name, *rest)

    monkeypatch.setattr(Training, "stage", noted)
    how = {"prior": "sketch", "prior_for": "predictor", "epochs": 2, "pretrain_epochs": 2}
    model = DimeImageClassifier(**{**FAST_IMAGES, **how}, backbone=backbone).fit(X, y)
    after = model.model_.policy.state_dict()
    frozen = [k for k in after if ".trunk.backbone." in k or ".value_head." in k]
    assert frozen
    assert all(torch.equal(after[k], kept["before"][k]) for k in frozen)
    assert any(not torch.equal(after[k], kept["before"][k]) for k in after if ".trunk.prior." in k)


def test_the_temperature_is_that_of_the_predictions_as_they_are_in_the_end(monkeypatch):
    X, y = make_images(80)
    seen = []
    measure = neural.fit_temperature
    monkeypatch.setattr(
        neural,
        "fit_temperature",
        lambda policy, *rest: seen.append(float(policy.temperature)) or measure(policy, *rest),
    )
    how = {"prior": "sketch", "prior_for": "predictor", "epochs": 1, "pretrain_epochs": 1}
    DimeImageClassifier(**{**FAST_IMAGES, **how}, backbone="small-vit").fit(X, y)
    assert seen == [1.0]

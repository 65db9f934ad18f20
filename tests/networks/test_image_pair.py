"""A predictor and a value network on images: what they see, what they cost, and how they learn."""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from askwise import DimeImageClassifier, TimmBackbone
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.data.images.patches import PatchLayout, PatchSpace
from askwise.methods.dime.objectives import JointObjective
from askwise.networks.backbones import TokenBackbone
from askwise.networks.build_backbone import build_backbone
from askwise.networks.image_pair import DroppingTrunk, MapValues, PredictorHead, Trunk
from askwise.networks.pixels import Pixels
from askwise.training.episode import Episode

VIT = TimmBackbone("vit_tiny_patch16_224", options={"depth": 2})
BACKBONES = {
    "vit": VIT,
    "resnet18": TimmBackbone("resnet18", options={"layers": (1, 1, 1, 1)}),
    "resnet50": TimmBackbone("resnet50", options={"layers": (1, 1, 1, 1)}),
    "swin": TimmBackbone("swin_tiny_patch4_window7_224", options={"embed_dim": 24, "depths": (1, 1, 1, 1)}),
    "convnext": TimmBackbone("convnext_atto", options={"depths": (1, 1, 1, 1)}),
    "small-vit": "small-vit",
    "small-cnn": "small-cnn",
}
TRUNKS = [*BACKBONES, "vit, dropping", "small-vit, dropping"]
LAYOUT = PatchLayout(64, 64, 3, 8)
# Small ones with all kinds of trunks, for many examples.
SMALL = PatchLayout(16, 24, 3, 4)
SMALL_TRUNKS = ["small-vit", "small-cnn", "small-vit, dropping"]


def make_networks(name, layout=LAYOUT, stop_gradient=True, seed=0):
    """Networks by the name of a backbone, whose batch norms have seen something; three outputs."""
    torch.manual_seed(seed)
    given = BACKBONES[name.removesuffix(", dropping")]
    drop = name.endswith("dropping")
    backbone = build_backbone(given, layout, 16, 1)
    prior = build_backbone(given, layout, 16, 1) if layout.sketch else None
    trunk = (DroppingTrunk if drop else Trunk)(Pixels(layout), backbone, prior)
    networks = trunk.networks(PredictorHead(trunk, 3, stop_gradient), trunk.value_head(0.5))
    for part in networks.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_(std=0.1)
            part.running_var.uniform_(0.5, 2)
    return networks.eval()


@cache
def kept_networks(name):
    return make_networks(name)


def entries(layout, n=3, seed=0):
    n_entries = layout.n_pixels + layout.sketch * layout.height * layout.width
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, n_entries), dtype=torch.uint8, generator=generator)


def masks(layout, n=3, share=0.5, seed=0):
    known = torch.rand(n, layout.n_patches, generator=torch.Generator().manual_seed(seed)) < share
    return torch.cat([known, torch.ones(n, 1, dtype=torch.bool)], 1) if layout.sketch else known


def run(networks, x, mask, scores=True, most=None):
    with torch.no_grad():
        return networks(x, mask, scores) if most is None else networks.forward_counted(x, mask, scores, most)


# What they see


@pytest.mark.parametrize("name", TRUNKS)
def test_with_everything_known_it_predicts_as_the_backbone_itself(name):
    networks, x = kept_networks(name), entries(LAYOUT)
    trunk, everything = networks.trunk, torch.ones(3, 64, dtype=torch.bool)
    backbone, network = trunk.backbone, trunk.backbone.network
    photo = trunk.pixels.photo(x, everything)
    with torch.no_grad():
        if isinstance(backbone, TokenBackbone):
            summary = network.forward_head(network.forward_features(photo), pre_logits=True)
        else:
            photo = photo.contiguous(memory_format=torch.channels_last)
            found = getattr(network, "forward_features", network)(photo)
            summary = backbone.pooled(found.permute(0, 3, 1, 2) if backbone.channels_last else found).mean((2, 3))
        expected = networks.predictor_head.linear(summary)
    outputs, scores = run(networks, x, everything)
    # Attention with a mask, all true, runs another kernel.
    assert (
        torch.allclose(outputs, expected, atol=1e-5)
        if isinstance(trunk, DroppingTrunk)
        else torch.equal(outputs, expected)
    )
    assert outputs.std(0).min() > 0
    assert scores.shape == (3, 64)


@pytest.mark.parametrize("name", TRUNKS)
def test_with_nothing_known_no_pixel_is_touched(name):
    networks, nothing = kept_networks(name), torch.zeros(3, 64, dtype=torch.bool)
    one, other = (run(networks, entries(LAYOUT, seed=seed), nothing) for seed in (0, 1))
    for mine, theirs in zip(one, other, strict=True):
        assert mine.isfinite().all()
        assert torch.equal(mine, theirs)
        assert torch.equal(mine, mine[:1].expand_as(mine))


@pytest.fixture(scope="module")
def small_networks():
    layouts = {sketch: PatchLayout(16, 24, 3, 4, sketch) for sketch in (False, True)}
    made = [(name, sketch) for name in SMALL_TRUNKS for sketch in layouts]
    return {(name, sketch): make_networks(name, layouts[sketch], stop_gradient=False) for name, sketch in made}


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 999), share=st.floats(0, 1), has_sketch=st.booleans())
@pytest.mark.parametrize("sketch", [False, True])
@pytest.mark.parametrize("name", SMALL_TRUNKS)
def test_pixels_of_unknown_patches_and_absent_sketches_change_nothing(
    small_networks, name, sketch, seed, share, has_sketch
):
    networks = small_networks[name, sketch]
    layout = networks.trunk.pixels.layout
    x, other, mask = entries(layout), entries(layout, seed=1), masks(layout, share=share, seed=seed)
    if sketch:
        mask[:, -1] = has_sketch
    known = mask[:, torch.from_numpy(layout.patch_of_entry())]
    for mine, theirs in zip(run(networks, x, mask), run(networks, torch.where(known, x, other), mask), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("name", SMALL_TRUNKS)
def test_pixels_of_known_patches_and_a_sketch_change_outputs_and_scores(name, small_networks):
    networks = small_networks[name, True]
    layout = networks.trunk.pixels.layout
    x, mask = entries(layout), masks(layout)
    for part in (slice(0, layout.n_pixels), slice(layout.n_pixels, None)):
        other = x.clone()
        other[:, part] = entries(layout, seed=1)[:, part]
        for mine, theirs in zip(run(networks, x, mask), run(networks, other, mask), strict=True):
            assert not torch.allclose(mine, theirs, atol=1e-5)


@pytest.mark.parametrize("name", ["small-vit", "small-cnn"])
def test_grey_images_are_seen_as_grey_ones_in_colours(name):
    grey, colours = PatchLayout(16, 24, 1, 4), SMALL
    one, three = make_networks(name, grey), make_networks(name, colours)
    x, mask = entries(grey), masks(grey)
    for mine, theirs in zip(run(one, x, mask), run(three, x.repeat(1, 3), mask), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)


# Values for each patch


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("resnet18", PatchLayout(64, 64, 3, 8)),
        ("resnet50", PatchLayout(64, 64, 3, 8)),
        ("small-cnn", PatchLayout(224, 224, 3, 16)),
        ("resnet18", PatchLayout(128, 128, 3, 16)),
        ("resnet18", PatchLayout(64, 128, 3, 16)),
        ("resnet18", PatchLayout(64, 96, 1, 32)),
        ("resnet18", PatchLayout(60, 84, 3, 12)),
        ("small-cnn", PatchLayout(32, 32, 3, 2)),
        ("small-cnn", PatchLayout(32, 32, 3, 8)),
        ("small-cnn", PatchLayout(32, 48, 3, 16)),
        ("small-cnn", PatchLayout(30, 20, 3, 5)),
        ("convnext", PatchLayout(64, 96, 3, 8)),
        ("swin", PatchLayout(64, 64, 3, 16)),
        ("vit", PatchLayout(48, 64, 3, 16)),
        ("vit, dropping", PatchLayout(48, 64, 3, 16)),
    ],
)
def test_values_fit_the_patches_whatever_the_map(name, layout):
    networks = make_networks(name, layout)
    outputs, scores = run(networks, entries(layout, n=2), masks(layout, n=2))
    assert outputs.shape == (2, 3)
    assert scores.shape == (2, layout.n_patches)
    assert scores.isfinite().all()


def test_a_value_belongs_to_its_place():
    """What a mark in a map changes lies around the same place of the grid, be it finer or not."""
    for grid in ((4, 6), (8, 12), (5, 7)):
        layout = PatchLayout(grid[0] * 4, grid[1] * 4, 3, 4)
        torch.manual_seed(0)
        trunk = Trunk(Pixels(layout), build_backbone(Blank(), layout))
        head = MapValues(trunk, grid, 0.0).eval()
        for p in head.parameters():
            p.data.abs_()
        marked = torch.zeros(1, 8, 4, 6)
        marked[:, :, 1, 4] = 1.0
        with torch.no_grad():
            seen = trunk(torch.zeros(1, layout.n_pixels), torch.ones(1, layout.n_patches))
            change = (head(replace(seen, map=marked)) - head(seen)).view(grid).abs()
        places = [(torch.arange(n) + 0.5) / n for n in grid]
        row, column = ((change.sum(1 - i) * places[i]).sum() / change.sum() for i in range(2))
        assert float(row) == pytest.approx(1.5 / 4, abs=0.1)
        assert float(column) == pytest.approx(4.5 / 6, abs=0.1)


class Blank(nn.Module):
    """Gives a map of 4 x 6 for any image."""

    def forward(self, images):
        return images.new_zeros(len(images), 8, 4, 6)


# One run of the backbone


def calls_of(backbone):
    seen = []
    backbone.register_forward_pre_hook(lambda _, args: seen.append(len(args[0])))
    return seen


@pytest.mark.parametrize("name", ["small-vit", "small-cnn"])
def test_the_backbone_runs_once_for_both_heads(name):
    task, space = Classification((0, 1, 2)), PatchSpace.of(SMALL, [1.0] * 24)
    policy = DimeImageClassifier(backbone=name, patch=4, hidden=16, layers=1).build(space, task)
    x, mask = entries(SMALL, n=12), masks(SMALL, n=12)
    seen = calls_of(policy.networks.trunk.backbone)
    policy(x, mask)
    assert seen == [12]
    present = torch.ones_like(mask)
    policy.forward_episode(Rows(x, present, present), Episode.random_step(present))
    # Both states of a step at once.
    assert seen == [12, 24]
    del seen[:]
    learn_once(policy, task, x)
    # One for each step of the walk, then one over the five sets to learn from.
    assert seen == [12, 12, 12, 60]


def learn_once(policy, task, x):
    """The losses of a joint update of 24 patches, and of a sketch where there is one."""
    prices = Prices.tensor(policy.space.costs, torch.float32)
    objective = JointObjective(policy, task, prices, n_steps=3, epsilon=0.1, learn_from=2)
    present = torch.ones(len(x), len(policy.space.group_of_column), dtype=torch.bool)
    rows = Rows(x, present, present[:, :24], torch.zeros(len(x), dtype=torch.int64))
    return list(objective.losses(rows, torch.ones(len(x)), torch.tensor(0.0)))


SKETCHED = replace(SMALL, sketch=True)
WITH_A_SKETCH = {
    "a map": {"backbone": "small-cnn"},
    "unknown patches dropped": {"backbone": "small-vit", "drop_unknown": True},
}


def sketched(how):
    torch.manual_seed(0)
    task, space = Classification((0, 1, 2)), PatchSpace.of(SKETCHED, [1.0] * 24)
    method = DimeImageClassifier(patch=4, hidden=16, layers=1, prior="sketch", **WITH_A_SKETCH[how])
    return method.build(space, task), task


@pytest.mark.parametrize("how", WITH_A_SKETCH)
def test_a_sketch_is_looked_at_once_for_all_states_of_a_row(how):
    policy, task = sketched(how)
    seen = calls_of(policy.networks.trunk.prior)
    learn_once(policy, task, entries(SKETCHED, n=12))
    # Once for the walk, which has no gradient, and once to learn from.
    assert seen == [12, 12]


@pytest.mark.parametrize("how", WITH_A_SKETCH)
def test_a_sketch_that_was_looked_at_before_changes_no_belief(how):
    policy, _ = sketched(how)
    policy.eval()
    x, present = entries(SKETCHED, n=12), torch.ones(12, 25, dtype=torch.bool)
    present[::3, 24] = False
    rows = Rows(x, present, present[:, :24])
    tracker, known, here = policy.track(rows), torch.zeros_like(rows.available), torch.arange(12)
    for step in range(3):
        belief, plain = tracker.belief(known[here]), policy(x[here], policy.mask(known[here], present[here]))
        for mine, theirs in zip(belief[:2], plain[:2], strict=True):
            assert torch.allclose(mine, theirs, atol=1e-6)
        known[:, 5 * step] = True
        tracker.reveal(torch.full((len(here),), 5 * step), torch.ones(len(here), dtype=torch.bool))
        here = here[::2]
        tracker.keep(torch.arange(len(here)) * 2)
    episode = Episode.random_step(rows.available)
    found, *_ = policy.forward_episode(rows, episode)
    masks = policy.mask(episode.known, present).flatten(0, 1)
    assert torch.allclose(found.outputs, policy(x.repeat(2, 1), masks).outputs, atol=1e-6)


def test_scores_that_nobody_asks_for_are_not_computed():
    networks = make_networks("small-cnn", SMALL)
    seen = calls_of(networks.value_head)
    assert run(networks, entries(SMALL), masks(SMALL), scores=False)[1] is None
    assert seen == []


# How they learn


def gradient_of(networks, loss):
    networks.zero_grad()
    loss.backward()
    parts = {"prior": networks.trunk.prior, "backbone": networks.trunk.backbone}
    return {k: sum(float(p.grad.abs().sum()) for p in m.parameters() if p.grad is not None) for k, m in parts.items()}


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("name", SMALL_TRUNKS)
def test_a_predictions_gradient_reaches_the_prior_only_where_it_is_not_stopped(name, stop):
    layout = PatchLayout(16, 24, 3, 4, sketch=True)
    networks = make_networks(name, layout, stop_gradient=stop)
    outputs, scores = networks(entries(layout), masks(layout))
    by_prediction = gradient_of(networks, outputs.square().sum())
    assert (by_prediction["prior"] == 0) is stop
    assert by_prediction["backbone"] > 0
    outputs, scores = networks(entries(layout), masks(layout))
    by_values = gradient_of(networks, scores.square().sum())
    assert by_values["prior"] > 0
    assert by_values["backbone"] > 0
    assert (networks.trunk.prior in networks.predictor_parts) is not stop


# Leaving unknown patches out


def lone_tokens(backbone, photo, known):
    """The tokens of one image, from its known patches alone."""
    network = backbone.network
    tokens = network._pos_embed(network.patch_embed(photo))
    kept = [*range(backbone.n_prefix), *(backbone.n_prefix + i for i in known)]
    return network.norm(network.blocks(network.norm_pre(tokens[:, kept])))


@pytest.mark.parametrize("name", ["vit, dropping", "small-vit, dropping"])
def test_dropping_is_attention_over_known_patches_alone(name):
    networks, x, mask = deepcopy(kept_networks(name)).double(), entries(LAYOUT, n=4), masks(LAYOUT, n=4, share=0.2)
    mask[1] = False
    mask[2] = True
    outputs, scores = run(networks, x, mask)
    trunk = networks.trunk
    for i in range(4):
        with torch.no_grad():
            photo = trunk.pixels.photo(x[i : i + 1], torch.ones(1, 64))
            tokens = lone_tokens(trunk.backbone, photo, mask[i].nonzero()[:, 0].tolist())
            alone = networks.predictor_head.linear(trunk.backbone.network.forward_head(tokens, pre_logits=True))
        assert torch.allclose(outputs[i], alone[0], atol=1e-10)
        by_itself = run(networks, x[i : i + 1], mask[i : i + 1])
        assert torch.allclose(outputs[i], by_itself[0][0], atol=1e-10)
        assert torch.allclose(scores[i], by_itself[1][0], atol=1e-10)


@pytest.mark.parametrize("name", ["vit, dropping", "small-vit, dropping"])
def test_dropping_does_not_depend_on_the_bound_it_is_given(name):
    networks, x, mask = deepcopy(kept_networks(name)).double(), entries(LAYOUT, n=4), masks(LAYOUT, n=4, share=0.2)
    counts = mask.sum(1).tolist()
    expected = run(networks, x, mask)
    for most in ([(4, max(counts))], [(4, 64)], [(1, counts[0]), (3, 40)], [(1, c) for c in counts]):
        for mine, theirs in zip(run(networks, x, mask, most=most), expected, strict=True):
            assert torch.allclose(mine, theirs, atol=1e-10)
    assert run(networks, x, mask, scores=False, most=[(2, 64), (2, 64)])[1] is None


def lengths_in(networks):
    """How many tokens the first block is run on, each time."""
    lengths = []
    block = networks.trunk.backbone.network.blocks[0]
    block.register_forward_pre_hook(lambda _, args: lengths.append(args[0].shape[1]))
    return lengths


@pytest.mark.parametrize("name", ["vit, dropping", "small-vit, dropping"])
def test_what_dropping_costs_follows_what_is_known(name):
    networks, x, mask = deepcopy(kept_networks(name)), entries(LAYOUT, n=4), masks(LAYOUT, n=4, share=0.2)
    lengths = []
    networks.trunk.backbone.network.blocks[0].register_forward_pre_hook(
        lambda _, args: lengths.append(args[0].shape[1])
    )
    run(networks, x, mask)
    run(networks, x, torch.zeros_like(mask))
    run(networks, x, mask, most=[(1, 20), (3, 30)])
    assert lengths == [1 + int(mask.sum(1).max()), 1, 21, 31]


def test_a_walk_that_drops_never_looks_at_more_than_was_asked():
    task, space = Classification((0, 1, 2)), PatchSpace.of(SMALL, [1.0] * 24)
    settings = {"backbone": "small-vit", "patch": 4, "hidden": 16, "layers": 1, "drop_unknown": True}
    policy = DimeImageClassifier(**settings).build(space, task)
    lengths = lengths_in(policy.networks)
    objective = JointObjective(policy, task, Prices.tensor(space.costs, torch.float32), n_steps=3, epsilon=0.1)
    present = torch.ones(6, 24, dtype=torch.bool)
    rows = Rows(entries(SMALL, n=6), present, present, torch.zeros(6, dtype=torch.int64))
    list(objective.losses(rows, torch.ones(6), torch.tensor(0.0)))
    # Of nothing, one, two; then of the four sets of the walk, and of the random ones.
    assert lengths == [1, 2, 3, 4, 25]

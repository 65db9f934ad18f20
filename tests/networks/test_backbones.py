"""Backbones of any make in one form, and what networks on images see."""

import sys

import pytest
import torch
from torch import nn

from askwise import AskwiseError, TimmBackbone
from askwise.data.images.patches import PatchLayout
from askwise.networks.backbones import MapBackbone, TokenBackbone
from askwise.networks.build_backbone import build_backbone
from askwise.networks.conv import Residual
from askwise.networks.pixels import MEAN, STD, Pixels

LAYOUT = PatchLayout(64, 64, 3, 8)
TINY_SWIN = TimmBackbone("swin_tiny_patch4_window7_224", options={"embed_dim": 24, "depths": (1, 1, 1, 1)})
# name of the case: backbone, is it a transformer with a token for each patch, can it leave tokens out.
TIMM = {
    "vit": (TimmBackbone("vit_tiny_patch16_224", options={"depth": 2}), True, True),
    "vit-mean": (TimmBackbone("vit_tiny_patch16_224", options={"depth": 1, "global_pool": "avg"}), True, False),
    "vit-registers": (TimmBackbone("vit_small_patch14_reg4_dinov2", options={"depth": 1}), True, True),
    "distilled": (TimmBackbone("deit_tiny_distilled_patch16_224", options={"depth": 1}), True, True),
    "rotary": (TimmBackbone("eva02_tiny_patch14_224", options={"depth": 1}), True, False),
    "resnet18": (TimmBackbone("resnet18"), False, False),
    "resnet50": (TimmBackbone("resnet50", options={"layers": (1, 1, 1, 1)}), False, False),
    "swin": (TINY_SWIN, False, False),
    "convnext": (TimmBackbone("convnext_atto", options={"depths": (1, 1, 1, 1)}), False, False),
}
OWN = {"small-vit": ("small-vit", True, True), "small-cnn": ("small-cnn", False, False)}


def seeded(backbone, layout=LAYOUT, hidden=32, layers=1):
    torch.manual_seed(0)
    return build_backbone(backbone, layout, hidden, layers).eval()


def photos(n=2, layout=LAYOUT):
    return torch.randn(n, 3, layout.height, layout.width, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module", params=[*TIMM, *OWN])
def case(request):
    given, of_tokens, can_drop = (TIMM | OWN)[request.param]
    return seeded(given), of_tokens, can_drop


def test_features_have_the_sizes_that_a_backbone_tells(case):
    backbone, of_tokens, can_drop = case
    with torch.no_grad():
        summary, found = backbone(photos())
    assert summary.shape == (2, backbone.width)
    assert found.shape == (2, backbone.channels, *backbone.grid)
    assert isinstance(backbone, TokenBackbone if of_tokens else MapBackbone)
    if of_tokens:
        assert backbone.grid == LAYOUT.grid
        assert backbone.can_drop is can_drop


def test_features_are_those_of_the_network_itself(case):
    """Tokens in the order of the places, behind those that stand for none; maps with channels first."""
    backbone, of_tokens, _ = case
    images = photos()
    with torch.no_grad():
        found = backbone(images)
        if not of_tokens:
            images = images.contiguous(memory_format=torch.channels_last)
        whole = getattr(backbone.network, "forward_features", backbone.network)(images)
        if of_tokens:
            places = whole[:, -LAYOUT.n_patches :].transpose(1, 2).reshape(found.map.shape)
            assert torch.equal(found.summary, backbone.network.forward_head(whole, pre_logits=True))
        else:
            places = whole if whole.shape[1] == backbone.channels else whole.permute(0, 3, 1, 2)
    assert torch.equal(found.map, places)


def test_each_row_of_the_map_belongs_to_a_row_of_the_image():
    """A change at the upper edge is felt most in the upper row: no axes are mixed up."""
    layout = PatchLayout(32, 64, 3, 8)
    for name in ("small-cnn", "small-vit"):
        backbone = seeded(name, layout, layers=1)
        images = torch.zeros(1, 3, 32, 64)
        images[:, :, :8, 56:] = 3.0
        with torch.no_grad():
            change = (backbone(images).map - backbone(torch.zeros_like(images)).map).abs().sum(1)[0]
        assert change.shape == backbone.grid
        place = int(change.argmax())
        row, column = divmod(place, backbone.grid[1])
        assert row < backbone.grid[0] / 2
        assert column >= backbone.grid[1] / 2


def test_our_own_convolutions_of_one_place_have_no_stride():
    """Their gradient overwrites memory on CPUs; every second place is what a stride of two would take."""
    backbone = seeded("small-cnn", hidden=16)
    convs = [part for part in backbone.modules() if isinstance(part, nn.Conv2d)]
    assert {conv.stride for conv in convs if conv.kernel_size == (1, 1)} == {(1, 1)}
    block = next(part for part in backbone.modules() if isinstance(part, Residual) and part.stride == 2)
    x = torch.randn(2, block.first[0].in_channels, 7, 10)
    past = block.past[1](nn.functional.conv2d(x, block.past[0].weight, stride=2))
    assert torch.allclose(block(x), (past + block.second(block.first(x).relu())).relu(), atol=1e-6)


def test_a_transformer_is_made_for_the_patches_and_a_pretrained_one_keeps_its_own(tmp_path):
    file = tmp_path / "weights.pth"
    own = TimmBackbone("vit_tiny_patch16_224", options={"depth": 1})
    torch.save(seeded(own, PatchLayout(224, 224, 3, 16)).network.state_dict(), file)
    assert seeded(own).grid == (8, 8)
    begun = seeded(TimmBackbone("vit_tiny_patch16_224", weights=file, options={"depth": 1}))
    assert begun.grid == (4, 4)
    assert torch.equal(begun.network.patch_embed.proj.weight, torch.load(file)["patch_embed.proj.weight"])


def test_what_a_pretrained_backbone_is_made_and_normalised_like_is_kept(tmp_path):
    file = tmp_path / "weights.pth"
    torch.save(seeded("resnet18").network.state_dict(), file)
    name = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
    begun = TimmBackbone(name, weights=file, options={"depth": 1})
    plain = begun.plain()
    again = TimmBackbone(plain["timm"], options=plain["options"], as_pretrained=plain["as_pretrained"])
    assert begun.normalisation() == again.normalisation() == ((0.5,) * 3, (0.5,) * 3)
    assert again.plain() == plain
    assert seeded(again).grid == (4, 4)
    assert TimmBackbone(name).normalisation() == (MEAN, STD)


def test_patches_that_a_network_joins_are_not_those_it_begins_with():
    """A swin transformer of patches of 8 would see the whole of a small image in one place."""
    assert seeded(TINY_SWIN).grid == (2, 2)


class Plain(nn.Module):
    """A module of the user's own that gives what it is told to."""

    def __init__(self, shape, **facts):
        super().__init__()
        self.shape = shape
        self.scale = nn.Parameter(torch.ones(()))
        for name, fact in facts.items():
            setattr(self, name, fact)

    def forward(self, images):
        return self.scale * images.mean((1, 2, 3)).view(-1, *[1] * len(self.shape)).expand(-1, *self.shape)


def test_a_module_of_ones_own_is_copied_and_stays_as_it_was():
    own = Plain((7, 4, 4)).train()
    backbone = build_backbone(own, LAYOUT)
    assert (backbone.width, backbone.channels, backbone.grid) == (7, 7, (4, 4))
    assert backbone.network is not own
    assert backbone.network.training
    assert own.training


def test_tokens_of_ones_own_are_a_map_with_or_without_a_class_token():
    backbone = build_backbone(Plain((64, 5)), LAYOUT)
    assert (backbone.width, backbone.grid, backbone.can_drop) == (5, (8, 8), False)
    assert torch.allclose(backbone(photos()).summary, backbone.network(photos()).mean(1))
    for told in ({"num_prefix_tokens": 1}, {"cls_token": nn.Parameter(torch.zeros(1, 1, 5))}):
        backbone = build_backbone(Plain((17, 5), grid=(4, 4), **told), LAYOUT)
        assert backbone(photos()).map.shape == (2, 5, 4, 4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Plain((9,)), r"gives a map .* or tokens .*; Plain gave shape \(2, 9\)"),
        (Plain((9, 5)), r"Plain gives 9 tokens, which don't lie in a grid of 8 x 8; give it a `num_prefix_tokens`"),
        (nn.Linear(5, 5), r"the backbone Linear failed on images of shape \(2, 3, 64, 64\)"),
        (nn.MultiheadAttention(4, 1), r"the backbone MultiheadAttention failed"),
        (7, r"backbone takes 'small-cnn', 'small-vit', the name of a timm model.*was given 7"),
        ("resnet81", r"unknown backbone 'resnet81'; did you mean 'resnet"),
        (TimmBackbone("resnet18", options={"colour": 1}), r"timm can't make 'resnet18' with .*colour"),
        (TimmBackbone("resnet18", weights="/none.pth"), r"there is no file of weights /none.pth"),
    ],
)
def test_what_is_no_backbone_is_refused(given, said):
    with pytest.raises(AskwiseError, match=said):
        build_backbone(given, LAYOUT)


def test_a_slip_in_a_name_of_our_own_is_found_without_timm(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(AskwiseError, match=r"unknown backbone 'smal-vit'; did you mean 'small-vit'\?"):
        build_backbone("smal-vit", LAYOUT)
    with pytest.raises(AskwiseError, match="needs timm, which can't be loaded"):
        build_backbone("resnet18", LAYOUT)


def test_weights_of_another_network_are_refused(tmp_path):
    torch.save({"nothing": torch.zeros(1)}, tmp_path / "w.pth")
    with pytest.raises(AskwiseError, match=r"w.pth has no weights of 'resnet18'"):
        build_backbone(TimmBackbone("resnet18", weights=tmp_path / "w.pth"), LAYOUT)
    (tmp_path / "w.pth").write_bytes(b"hello")
    with pytest.raises(AskwiseError, match=r"timm can't make 'resnet18'"):
        build_backbone(TimmBackbone("resnet18", weights=tmp_path / "w.pth"), LAYOUT)


# What networks see


@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_unknown_is_exactly_zero_after_normalisation(channels):
    layout = PatchLayout(8, 12, channels, 4)
    pixels = Pixels(layout)
    x = torch.randint(0, 256, (5, layout.n_pixels), dtype=torch.uint8)
    mask = torch.rand(5, 6) < 0.5
    seen = pixels.photo(x, mask)
    planes = x.view(5, channels, 8, 12).float().expand(-1, 3, -1, -1) / 255
    expected = (planes - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    for i in range(6):
        window = (slice(None), slice(None), *layout.window(i))
        known = mask[:, i]
        assert not seen[window][~known].any()
        assert torch.allclose(seen[window][known], expected[window][known], atol=1e-5)


def test_a_patch_that_is_known_in_part_is_scaled_and_has_a_gradient():
    pixels = Pixels(LAYOUT)
    x = torch.randint(0, 256, (2, LAYOUT.n_pixels), dtype=torch.uint8)
    whole, known = torch.ones(2, 64), torch.rand(2, 64, requires_grad=True)
    times = known.view(2, 1, 8, 8).repeat_interleave(8, 2).repeat_interleave(8, 3)
    assert torch.allclose(pixels.photo(x, known), pixels.photo(x, whole) * times, atol=1e-6)
    pixels.photo(x, known).sum().backward()
    assert (known.grad != 0).all()


def test_a_sketch_is_white_lines_of_one_and_zero_where_there_is_none():
    layout = PatchLayout(8, 8, 3, 4, sketch=True)
    x = torch.zeros(2, 4 * 64, dtype=torch.uint8)
    x[:, layout.n_pixels :: 2] = 255
    mask = torch.tensor([[0, 0, 0, 0, 1], [1, 1, 1, 1, 0]], dtype=torch.bool)
    seen = Pixels(layout).sketch(x, mask)
    assert seen.shape == (2, 3, 8, 8)
    assert torch.equal(seen[0, 1].flatten(), x[0, layout.n_pixels :] / 255)
    assert not seen[1].any()

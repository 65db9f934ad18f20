"""Backbones: any network on images that gives tokens or a map, brought into one form."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from askwise.core.errors import AskwiseError, listed, shortened, unknown_name
from askwise.data.images.patches import PatchLayout
from askwise.networks.conv import SmallCnn, conv_norm
from askwise.networks.pixels import MEAN, SEEN_CHANNELS, STD
from askwise.networks.vit import SmallVit

# Channels of the map's convolution before it is pooled, at most.
POOLED = 512
# A name as near as this to one of our own is a slip, not a model of timm.
SLIP = 0.8
# Of our own convolutions, where none is given: a CPU takes hours for what a GPU does in a minute.
CNN_WIDTHS = {"cpu": 128, "cuda": 256}


class Features(NamedTuple):
    """What a backbone makes of images: a summary (batch, width) and a map (batch, channels, rows, columns)."""

    summary: Tensor
    map: Tensor


class Backbone(nn.Module):
    """A network on images (batch, 3, height, width), as heads need it.

    width: of the summary; channels, rows, columns: of the map. is_noisy: it learns under noise, such as dropout.
    """

    def __init__(self, network: nn.Module, width: int, channels: int, rows: int, columns: int) -> None:
        super().__init__()
        self.network = network
        self.is_noisy = False
        self.width = width
        self.channels = channels
        self.grid = rows, columns

    def forward(self, images: Tensor) -> Features:
        raise NotImplementedError


class MapBackbone(Backbone):
    """A network whose features are a map. Its summary: a convolution, norm, ReLU and the mean over the map."""

    def __init__(self, network: nn.Module, channels: int, rows: int, columns: int, channels_last: bool) -> None:
        width = min(channels, POOLED)
        super().__init__(network, width, channels, rows, columns)
        self.channels_last = channels_last
        self.pooled = nn.Sequential(conv_norm(channels, width, 1), nn.ReLU())
        # Convolutions run several times faster so, on a GPU and here.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor) -> Features:
        found = _features(self.network, images.contiguous(memory_format=torch.channels_last))
        if self.channels_last:
            found = found.permute(0, 3, 1, 2)
        return Features(self.pooled(found).mean((2, 3)), found)


class TokenBackbone(Backbone):
    """A vision transformer: its summary is what it would predict from, the map its tokens, one for each place.

    n_prefix: tokens that stand for no place, such as the class token; they come first. can_drop: whether it can be run
    on some of its tokens only.
    """

    n_prefix = 0
    can_drop = False

    def forward(self, images: Tensor) -> Features:
        tokens = _features(self.network, images)
        return Features(
            self.summary(tokens), self._places(tokens).transpose(1, 2).reshape(tokens.shape[0], -1, *self.grid)
        )

    def summary(self, tokens: Tensor) -> Tensor:
        """What the network would predict from, (batch, width), as its own head takes it."""
        if hasattr(self.network, "forward_head"):
            return self.network.forward_head(tokens, pre_logits=True)  # type: ignore[operator]
        return tokens[:, 0] if self.n_prefix else tokens.mean(1)

    def _places(self, tokens: Tensor) -> Tensor:
        return tokens[:, self.n_prefix :]

    def of_some(self, images: Tensor, kept: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens (batch, prefix + kept, width) of some places alone, and which of them exist.

        kept (batch, kept): the places; there (batch, kept): False for those that only fill the batch up.
        """
        network: Any = self.network
        tokens = network._pos_embed(network.patch_embed(images))
        place = kept[..., None].expand(-1, -1, tokens.shape[2])
        tokens = torch.cat([tokens[:, : self.n_prefix], self._places(tokens).gather(1, place)], 1)
        exists = torch.cat([there.new_ones(there.shape[0], self.n_prefix), there], 1)
        tokens = network.norm_pre(tokens)
        for block in network.blocks:
            tokens = block(tokens, attn_mask=exists[:, None, None, :])
        return network.norm(tokens), exists


def _features(network: nn.Module, images: Tensor) -> Tensor:
    """A network's features: timm's networks give more than these when they are called."""
    found = network.forward_features(images) if hasattr(network, "forward_features") else network(images)  # type: ignore[operator]
    if not isinstance(found, Tensor) or found.ndim not in (3, 4):
        given = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else f"a {type(found).__name__}"
        raise AskwiseError(
            f"a backbone gives a map (batch, channels, rows, columns) or tokens (batch, places, width) for images; "
            f"{type(network).__name__} gave {given}"
        )
    return found


def brought_into_form(network: nn.Module, layout: PatchLayout) -> Backbone:
    """A network as heads need it; it is tried on two images to see what it gives."""
    training = network.training
    images = torch.zeros(2, SEEN_CHANNELS, layout.height, layout.width)
    try:
        with torch.no_grad():
            found = _features(network.eval(), images)
    except AskwiseError:
        raise
    except Exception as error:
        raise AskwiseError(
            f"the backbone {type(network).__name__} failed on images of shape {tuple(images.shape)}: {error}"
        ) from error
    with torch.no_grad():
        backbone = _of_map(network, found) if found.ndim == 4 else _of_tokens(network, found, images, layout)
    backbone.is_noisy = _is_noisy(network, images)
    network.train(training)
    return backbone


def _is_noisy(network: nn.Module, images: Tensor) -> bool:
    """Whether the same images give other features each time while it learns, as under dropout."""
    learning = copy.deepcopy(network).train()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        shown = torch.rand_like(images)
        return not torch.equal(_features(learning, shown), _features(learning, shown))


def _of_map(network: nn.Module, found: Tensor) -> MapBackbone:
    width = getattr(network, "num_features", None)
    last = getattr(network, "output_fmt", None) == "NHWC" or (width == found.shape[3] != found.shape[1])
    rows, columns = found.shape[1:3] if last else found.shape[2:4]
    return MapBackbone(network, found.shape[3 if last else 1], rows, columns, last)


def _of_tokens(network: nn.Module, found: Tensor, images: Tensor, layout: PatchLayout) -> TokenBackbone:
    # Some have a class token, and don't tell how many tokens stand for no place.
    n_prefix = int(getattr(network, "num_prefix_tokens", getattr(network, "cls_token", None) is not None))
    rows, columns = _grid(network, layout, found.shape[1] - n_prefix)
    backbone = TokenBackbone(network, 0, found.shape[2], rows, columns)
    backbone.n_prefix = n_prefix
    backbone.width = backbone.summary(found).shape[1]
    backbone.can_drop = _can_drop(backbone, found, images)
    return backbone


def _can_drop(backbone: TokenBackbone, found: Tensor, images: Tensor) -> bool:
    """Whether it predicts from its class token, and gives the same when it is run in parts with all tokens kept."""
    parts = ("patch_embed", "_pos_embed", "norm_pre", "blocks", "norm", "forward_head")
    network = backbone.network
    pools = getattr(network, "global_pool", "token") != "token"
    if not backbone.n_prefix or pools or not all(hasattr(network, part) for part in parts):
        return False
    n = backbone.grid[0] * backbone.grid[1]
    all_places = torch.arange(n).expand(len(images), n)
    try:
        tokens, _ = backbone.of_some(images, all_places, torch.ones_like(all_places, dtype=torch.bool))
    # Whatever goes wrong in a network of another make: it can't.
    except Exception:
        return False
    return tokens.shape == found.shape and torch.allclose(tokens, found, atol=1e-4)


def _grid(network: nn.Module, layout: PatchLayout, places: int) -> tuple[int, int]:
    """How tokens lie in the image."""
    embed: Any = getattr(network, "patch_embed", None)
    own: Any = getattr(embed, "grid_size", None) or getattr(network, "grid", layout.grid)
    if own[0] * own[1] == places:
        return int(own[0]), int(own[1])
    raise AskwiseError(
        f"the backbone {type(network).__name__} gives {places} tokens, which don't lie in a grid of {own[0]} x "
        f"{own[1]}; give it a `num_prefix_tokens` for those that stand for no place, or make one for each patch"
    )


@dataclass(frozen=True)
class TimmBackbone:
    """A model of timm by its name, as `timm.list_models()` has them.

    pretrained: with the weights that timm downloads; weights: with those of a file. options: other arguments of
    `timm.create_model`, as output_stride=8. A transformer is made for the size of the images and, where it is not
    pretrained, for their patches. as_pretrained: made as one with weights is, which come later, from a model file.
    """

    name: str
    pretrained: bool = False
    weights: str | Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    as_pretrained: bool = False

    @property
    def begun(self) -> bool:
        """Whether it has weights of its own to begin with."""
        return self.pretrained or self.weights is not None

    def build(self, layout: PatchLayout) -> nn.Module:
        self.check()
        timm, given = _timm(), dict(self.options)
        if self.weights is not None:
            # Some load only the files of the framework they come from, unless told otherwise.
            foreign = Path(self.weights).suffix == ".npz"
            given["pretrained_cfg_overlay"] = {"file": str(self.weights), "custom_load": foreign}
        # Transformers are made for one size; convolutions take any.
        sizes: list[dict[str, Any]] = [{"img_size": (layout.height, layout.width)}, {}]
        if not (self.begun or self.as_pretrained):
            sizes.insert(0, {"img_size": (layout.height, layout.width), "patch_size": layout.patch})
        failed: Exception | None = None
        for size in sizes:
            try:
                network = timm.create_model(self.name, pretrained=self.begun, num_classes=0, **(size | given))
            except (TypeError, ValueError, AssertionError) as error:
                failed = error
                continue
            # No connection, a file of something else, and whatever else comes with weights.
            except Exception as error:
                failed = error
                break
            # Where patches are joined from layer to layer, those it begins with are smaller than those it sees.
            if "patch_size" not in size or _reduction(network) == layout.patch:
                self._check_begun(network)
                return network
        raise AskwiseError(f"timm can't make {self.name!r} with {dict(self.options)}: {failed}") from failed

    def check(self) -> None:
        """Raise a clear error where timm has no such model or can't be loaded, or the weights are not there."""
        try:
            timm = _timm()
        except AskwiseError:
            # A slip in a name of our own needs no timm to be found.
            if difflib.get_close_matches(self.name, OWN, n=1, cutoff=SLIP):
                raise AskwiseError(f"{unknown_name('backbone', self.name, OWN)}, or the name of a timm model") from None
            raise
        if not timm.is_model(self.name.partition(".")[0]):
            near = difflib.get_close_matches(self.name, [*OWN, *timm.list_models()], n=3)
            hint = f"did you mean {listed(near)}? " if near else ""
            raise AskwiseError(
                f"unknown backbone {self.name!r}; {hint}allowed: {listed(OWN)}, or the name of a timm model, as "
                "timm.list_models() has them"
            )
        if self.weights is not None and not Path(self.weights).is_file():
            raise AskwiseError(f"there is no file of weights {self.weights}")

    def _check_begun(self, network: nn.Module) -> None:
        """Raise where a file has no weights of this network: timm leaves what does not fit out, and says nothing."""
        if self.weights is None or Path(self.weights).suffix == ".npz":
            return
        from timm.models import load_state_dict

        held = [part for part in load_state_dict(str(self.weights)).values() if isinstance(part, Tensor)]
        telling = [part for part in network.state_dict().values() if part.numel() > 1 and part.float().std() > 0]
        if not any(mine.shape == part.shape and torch.equal(mine, part.to(mine)) for mine in telling for part in held):
            raise AskwiseError(f"the file {self.weights} has no weights of {self.name!r}")

    def normalisation(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of the pixels that it was trained on."""
        if not (self.begun or self.as_pretrained):
            return MEAN, STD
        facts = _timm().get_pretrained_cfg(self.name)
        return (tuple(facts.mean), tuple(facts.std)) if facts is not None else (MEAN, STD)

    def plain(self) -> dict[str, Any]:
        """What a model file keeps: the weights are in the file itself."""
        return {
            "timm": self.name,
            "options": dict(self.options),
            "as_pretrained": self.begun or self.as_pretrained,
        }


def _reduction(network: Any) -> int | None:
    """How many pixels a side each place of the features stands for, where timm tells."""
    told = getattr(network, "feature_info", None)
    return int(told[-1]["reduction"]) if told else None


def _timm() -> Any:
    try:
        import timm
    except (ImportError, RuntimeError) as error:
        why = (
            "torchvision, which it needs, does not fit this torch: install the torchvision that belongs to it"
            if "torchvision" in str(error)
            else "install it: pip install 'askwise[image]'"
        )
        raise AskwiseError(
            f"a backbone by the name of a timm model needs timm, which can't be loaded ({error}): {why}; or use one "
            f"of our own: {', '.join(map(repr, OWN))}"
        ) from error
    return timm


def _small_vit(layout: PatchLayout, hidden: int | None, layers: int | None) -> nn.Module:
    width = hidden or 192
    heads = next(h for h in range(max(1, width // 64), 0, -1) if width % h == 0)
    return SmallVit((layout.height, layout.width), layout.patch, width, layers or 8, heads)


def _small_cnn(layout: PatchLayout, hidden: int | None, layers: int | None) -> nn.Module:
    return SmallCnn((layout.height, layout.width), hidden or CNN_WIDTHS["cuda"], layers or 2)


# (layout, width, depth) -> our own.
OWN: dict[str, Callable[[PatchLayout, int | None, int | None], nn.Module]] = {
    "small-cnn": _small_cnn,
    "small-vit": _small_vit,
}


def build_backbone(
    given: str | TimmBackbone | nn.Module, layout: PatchLayout, hidden: int | None = None, layers: int | None = None
) -> Backbone:
    """A backbone by the name of our own or of a timm model, or from a module of the user's, which is copied.

    hidden, layers: width and depth of our own.
    """
    if isinstance(given, str):
        given = OWN[given](layout, hidden, layers) if given in OWN else TimmBackbone(given)
    if isinstance(given, TimmBackbone):
        given = given.build(layout)
    elif isinstance(given, nn.Module):
        given = copy.deepcopy(given)
    else:
        raise AskwiseError(
            f"backbone takes {', '.join(map(repr, OWN))}, the name of a timm model, a TimmBackbone or a module; was "
            f"given {shortened(given)}"
        )
    return brought_into_form(given, layout)

"""Probabilistic hard attention: patches are read one by one, and a model tells what those not yet seen may show."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from askwise.core.capabilities import Capabilities
from askwise.data.images.patches import PatchLayout
from askwise.networks.image_pair import IMAGE
from askwise.networks.pair import Networks
from askwise.networks.partial_vae import LARGEST, SMALLEST
from askwise.networks.pixels import SEEN_CHANNELS, Pixels

# Numbers that stand for one patch.
FEATURES = 64


class PatchFeatures(nn.Module):
    """What each patch shows, seen by itself, at its place: images (batch, 3, height, width) -> (batch, patches, 64).

    A convolution of the size of a patch, then `layers` convolutions of 1 x 1, which are linear layers at each place.
    The last norm keeps the numbers near 1 in size: the model of unseen patches need not follow their scale.
    """

    def __init__(self, layout: PatchLayout, hidden: int, layers: int) -> None:
        super().__init__()
        self.cut = nn.Conv2d(SEEN_CHANNELS, hidden, layout.patch, layout.patch)
        # About as large as what the convolution gives at first.
        self.place = nn.Parameter(torch.randn(layout.n_patches, hidden) * 0.5)
        parts: list[nn.Module] = []
        for _ in range(layers):
            parts += [nn.LayerNorm(hidden), nn.GELU(), nn.Linear(hidden, hidden)]
        parts += [nn.GELU(), nn.Linear(hidden, FEATURES), nn.LayerNorm(FEATURES, elementwise_affine=False)]
        self.layers = nn.Sequential(*parts)

    def forward(self, images: Tensor) -> Tensor:
        found: Tensor = self.layers(self.cut(images).flatten(2).transpose(1, 2) + self.place)
        return found


class Recurrence(nn.Module):
    """A gated recurrent unit that reads what is known, always in the same order: what it ends with depends on the set.

    What is unknown leaves the state as it is; shapes never depend on how much is known.
    """

    def __init__(self, n_inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.of_input = nn.Linear(n_inputs, 3 * hidden)
        self.of_state = nn.Linear(hidden, 3 * hidden)

    def forward(self, features: Tensor, known: Tensor) -> Tensor:
        """The state (batch, hidden) after those features (batch, length, n_inputs) that are known (batch, length)."""
        state = features.new_zeros(len(features), self.hidden)
        for gates, is_known in zip(self.of_input(features).unbind(1), known.unbind(1), strict=True):
            state = torch.where(is_known[:, None], self._after(gates, state), state)
        return state

    def step(self, features: Tensor, state: Tensor) -> Tensor:
        """The state after features (..., n_inputs); one state (..., hidden) may serve many of them, by broadcasting."""
        return self._after(self.of_input(features), state)

    def _after(self, gates: Tensor, state: Tensor) -> Tensor:
        reset, keep, new = gates.chunk(3, -1)
        reset_before, keep_before, before = self.of_state(state).chunk(3, -1)
        fresh = torch.tanh(new + torch.sigmoid(reset + reset_before) * before)
        return fresh + torch.sigmoid(keep + keep_before) * (state - fresh)


class Imputation(nn.Module):
    """p(f_i | h_S) of the features of every patch: a conditional variational autoencoder on the recurrent state.

    p(z | h_S) is what may be, q(z | h_S, h) what was, once all is seen; p(f_i | z, h_S) is normal, with mean and
    deviation by the place i of the patch.
    """

    def __init__(self, n_patches: int, hidden: int, latent: int) -> None:
        super().__init__()
        self.latent = latent
        self.before = _perceptron(hidden, hidden, 2 * latent)
        self.after = _perceptron(2 * hidden, hidden, 2 * latent)
        self.decoder = nn.Sequential(
            _perceptron(latent + hidden, hidden, hidden), nn.ReLU(), nn.Linear(hidden, n_patches * 2 * FEATURES)
        )

    def decode(self, z: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Means and deviations (..., patches, 64) from z (..., latent) and states (..., hidden)."""
        numbers = self.decoder(torch.cat([z, state], -1)).unflatten(-1, (-1, 2 * FEATURES))
        located, spread = numbers.chunk(2, -1)
        return located, SMALLEST + (LARGEST - SMALLEST) * torch.sigmoid(spread - 1)

    def losses(
        self, state: Tensor, whole: Tensor, features: Tensor, wanted: Tensor, noise: Tensor, share: Tensor | float = 1.0
    ) -> Tensor:
        """The negative evidence bound of each row, in nats, of the features (batch, patches, 64) that are wanted.

        state, whole (batch, hidden): after what is known, and after all. wanted (batch, patches). noise (batch,
        latent): standard normal. share: how much of what the code costs is counted.
        """
        mean, log_deviation = _normal(self.before(state))
        mean_after, log_deviation_after = _normal(self.after(torch.cat([state, whole], 1)))
        located, spread = self.decode(mean_after + log_deviation_after.exp() * noise, state)
        ratio = 2 * (log_deviation_after - log_deviation)
        apart = 0.5 * (((mean_after - mean) / log_deviation.exp()) ** 2 + ratio.exp() - 1 - ratio)
        surprise = (0.5 * ((features - located) / spread) ** 2 + spread.log()).sum(-1)
        return share * apart.sum(1) + (surprise * wanted).sum(1)

    def imagine(self, state: Tensor, noise: Tensor) -> Tensor:
        """Samples (batch, samples, patches, 64) of every patch; noise (samples, latent + 64), the same for every row.

        Patches are imagined each for itself, so they can share the noise.
        """
        mean, log_deviation = _normal(self.before(state))
        z = mean[:, None] + log_deviation.exp()[:, None] * noise[:, : self.latent]
        located, spread = self.decode(z, state[:, None].expand(-1, len(noise), -1))
        return located + spread * noise[:, None, self.latent :]


class HardAttention(Networks):
    """Features of each patch, a recurrent state, a linear predictor on it, and a model of the patches not yet seen.

    A sketch of the image, where there is one, is read before the patches.
    """

    declared: ClassVar[Capabilities] = Capabilities(
        masks_inputs=True, noisy_training=False, float32_error=IMAGE.float32_error
    )

    def __init__(self, pixels: Pixels, n_outputs: int, hidden: int, layers: int, latent: int) -> None:
        super().__init__()
        layout = pixels.layout
        self.pixels = pixels
        self.extractor = PatchFeatures(layout, hidden, layers)
        self.sketch_extractor = PatchFeatures(layout, hidden, layers) if layout.sketch else None
        self.recurrence = Recurrence(FEATURES, hidden)
        self.head = nn.Linear(hidden, n_outputs)
        self.model = Imputation(layout.n_patches, hidden, latent)

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [part for name, part in self.named_children() if name not in ("pixels", "model")]

    def features(self, x: Tensor, mask: Tensor) -> Tensor:
        """Of every patch (batch, patches, 64), from entries (batch, entries) and a mask (batch, columns).

        Those of unknown patches mean nothing.
        """
        found: Tensor = self.extractor(self.pixels.photo(x, mask))
        return found

    def state(self, x: Tensor, mask: Tensor, features: Tensor | None = None) -> Tensor:
        """What is known, read in the order of the patches: (batch, hidden). Features are computed unless given."""
        features = self.features(x, mask) if features is None else features
        known = mask.bool()
        if self.sketch_extractor is not None:
            sketch = self.sketch_extractor(self.pixels.sketch(x, mask)).mean(1, keepdim=True)
            features, known = torch.cat([sketch, features], 1), known.roll(1, 1)
        found: Tensor = self.recurrence(features, known)
        return found

    def imagined(self, state: Tensor, noise: Tensor) -> Tensor:
        """Outputs (batch, samples, patches, n_outputs) after each patch, were it as in each sample.

        It is read last, not in its turn: one step from one state serves all patches and samples. Training has the
        predictor learn from patches that are read so.
        """
        samples = self.model.imagine(state, noise)
        found: Tensor = self.head(self.recurrence.step(samples, state[:, None, None]))
        return found


def _perceptron(n_inputs: int, hidden: int, n_outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(n_inputs, hidden), nn.ReLU(), nn.Linear(hidden, n_outputs))


def _normal(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and log deviation, which stays between certainty and more doubt than there is."""
    mean, log_deviation = numbers.chunk(2, -1)
    return mean, log_deviation.clamp(-6, 2)

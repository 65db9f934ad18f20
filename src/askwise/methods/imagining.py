"""What methods that imagine answers share: the size of the code they imagine from, and how often they do."""

from __future__ import annotations

from askwise.methods.base import with_settings
from askwise.methods.checks import check_whole
from askwise.methods.neural import NeuralMethod


@with_settings
class ImaginingMethod(NeuralMethod):
    """A method whose scores come from samples of a generative model."""

    latent: int = 16
    n_samples: int = 16

    def check_settings(self) -> None:
        super().check_settings()
        check_whole("latent", self.latent)
        check_whole("n_samples", self.n_samples, least=2)

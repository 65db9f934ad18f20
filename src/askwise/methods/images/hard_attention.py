"""Probabilistic hard attention on images: patches not yet seen are imagined as features, which tells their worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor

from askwise.core.belief import Belief
from askwise.core.capabilities import Capabilities
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Task, entropy
from askwise.data.images.patches import PatchSpace
from askwise.methods.base import ClassifierMethod, with_settings
from askwise.methods.eddi import MODEL_UPDATES, NUMBERS_AT_ONCE, PREDICTOR_UPDATES, information
from askwise.methods.images.inputs import ImageInputs
from askwise.methods.imagining import ImaginingMethod
from askwise.networks.hard_attention import FEATURES, HardAttention
from askwise.networks.pair_policy import PairPolicy
from askwise.networks.partial_vae import spread_noise
from askwise.training.episode import Episode
from askwise.training.known_sets import random_known
from askwise.training.loop import Training
from askwise.training.modes import frozen
from askwise.training.objectives import MaskedPrediction, RandomDraws
from askwise.training.temperature import random_states
from askwise.training.update import without_gradients
from askwise.training.weights import share_of_batch, weighted_mean

HIDDEN, LAYERS = 256, 2
# The share of the stage in which what the code costs comes to count: where it counts at once, less goes into the code.
FREE_CODE = 0.3


class HardAttentionPolicy(PairPolicy):
    """Scores by sampling: I(y; f_i | h_S) in nats, f_i the features of a patch and h_S the state after what is known.

    The samples come from noise that is kept with the policy, the same for every row and state.
    """

    # Each score is an average over draws.
    declared: ClassVar[Capabilities] = Capabilities(exportable=False, cheap_scores=False)
    networks: HardAttention
    noise: Tensor

    def __init__(self, space: FeatureSpace, task: Task, networks: HardAttention, n_samples: int) -> None:
        super().__init__(space, task, networks)
        self.register_buffer("noise", spread_noise(n_samples, networks.model.latent + FEATURES))

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> Belief:
        state = self.networks.state(x, mask)
        belief = self._belief(self.networks.head(state), None)
        return Belief(belief.outputs, self._scores(state, mask, belief.outputs)) if scores else belief

    def with_one_more(self, x: Tensor, mask: Tensor, choice: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs of what is known, and after one more patch of each row (batch,), read last as scores have it."""
        networks = self.networks
        features = networks.features(x, present)
        state = networks.state(x, mask, features)
        chosen = features.gather(1, choice[:, None, None].expand(-1, 1, FEATURES))[:, 0]
        both = networks.head(state), networks.head(networks.recurrence.step(chosen, state))
        return self._belief(both[0], None).outputs, self._belief(both[1], None).outputs

    @torch.no_grad()
    def _scores(self, state: Tensor, mask: Tensor, outputs: Tensor) -> Tensor:
        """Of every patch, (batch, patches), 0 for known ones; a few rows at a time, for the sake of memory."""
        n_patches = self.space.n_groups
        # What is held of each sample of a patch: gates and states, and the features with what they are made of.
        held = len(self.noise) * n_patches * (5 * state.shape[1] + 4 * FEATURES)
        size = max(1, NUMBERS_AT_ONCE[state.device.type] // held)
        found = torch.cat([self._tells(part) for part in torch.split(state, size)])
        found = found * ~mask[:, :n_patches].bool()
        # Nothing tells more than there is to know. Where samples say otherwise, all are scaled: their order stays.
        most = found.amax(1, keepdim=True)
        return found * (entropy(outputs)[:, None] / most).clamp_max(1).where(most > 0, 0)

    def _tells(self, state: Tensor) -> Tensor:
        """The information of each patch, (rows, patches), of a few rows."""
        imagined = self._belief(self.networks.imagined(state, self.noise), None).outputs
        return information(imagined.transpose(1, 2).flatten(0, 1)).view(len(state), -1)


class Reading(MaskedPrediction):
    """Predict from random sets of patches read in order, and once more after one patch that is read last.

    A score asks for a prediction after such a patch: without the second part it would be the first of its kind.
    """

    policy: HardAttentionPolicy

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        del progress
        assert rows.y is not None
        step = Episode.random_step(rows.available)
        known, known_next = step.known
        mask = self.policy.mask(known, rows.present)
        outputs, later = self.policy.with_one_more(rows.x, mask, step.choice[0], rows.present)
        of_outputs, of_later = (self.task.training_loss(part, rows.y) for part in (outputs, later))
        weight_now, weight_later = (self.weights(rows, part, weight) for part in (known, known_next))
        loss = weighted_mean(of_outputs, weight_now) + weighted_mean(of_later * step.taken[0], weight_later)
        yield loss * share_of_batch(weight)


class Imputing(RandomDraws):
    """Tell the features of all that is not in a random set of patches: the evidence bound of the model of them."""

    policy: HardAttentionPolicy

    def __init__(self, policy: HardAttentionPolicy) -> None:
        self.policy = policy

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        errors, known = self._errors(rows, (progress / FREE_CODE).clamp_max(1))
        yield weighted_mean(errors, self.weights(rows, known, weight)) * share_of_batch(weight)

    def errors(self, rows: Rows) -> tuple[Tensor, Tensor]:
        return self._errors(rows, 1.0)

    def _errors(self, rows: Rows, share: Tensor | float) -> tuple[Tensor, Tensor]:
        networks, n_patches = self.policy.networks, self.policy.space.n_groups
        known = random_known(rows.available)
        mask = self.policy.mask(known, rows.present)
        everything = self.policy.mask(rows.available, rows.present)
        # The features are what they are: they must not become easier to tell.
        with without_gradients():
            features = networks.features(rows.x, everything)
            twice = rows.x.repeat(2, 1), torch.cat([mask, everything]), features.repeat(2, 1, 1)
            state, whole = networks.state(*twice).chunk(2)
        wanted = (everything & ~mask)[:, :n_patches]
        noise = torch.randn(len(rows), networks.model.latent, device=rows.x.device)
        return networks.model.losses(state, whole, features, wanted, noise, share) / (n_patches * FEATURES), known


@with_settings
class HardAttentionImageClassifier(ClassifierMethod, ImageInputs, ImaginingMethod):
    """Asks the patch whose imagined features would tell most about a label per cost.

    patch, prior, augment, mean, std: as those of DimeImageClassifier; patches are seen by a network of its own, so
    there is no backbone to choose. hidden: width of the layers and of the recurrent state, by default 256. layers:
    convolutions of 1 x 1 on each patch, by default 2. latent: size of the code z of the model of unseen patches.
    n_samples: imagined answers to each question; more are steadier and slower. The other settings are those of
    EddiClassifier: epochs and patience hold for both stages, the predictor and the model.
    """

    registry_name = "hard-attention-image-classifier"

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        assert isinstance(space, PatchSpace)
        sizes = self.hidden or HIDDEN, self.layers or LAYERS, self.latent
        networks = HardAttention(self.pixels(space.layout), task.n_outputs, *sizes)
        return HardAttentionPolicy(space, task, networks, self.n_samples)

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        assert isinstance(policy, HardAttentionPolicy)
        self.before_training(policy, training)
        training.stage("predictor", Reading(policy, task), self.plan(training, PREDICTOR_UPDATES))
        with frozen(policy.networks.predictor_parts):
            training.stage("model", Imputing(policy), self.plan(training, MODEL_UPDATES))
        # The greedy path is dear: every step of it samples.
        self.calibrate(policy, training, task, random_states)

"""EDDI: a generative model imagines what a question would reveal, and a predictor tells what that would be worth."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from askwise.core.belief import Belief
from askwise.core.capabilities import Capabilities
from askwise.core.errors import AskwiseError
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.methods.base import ClassifierMethod, RegressorMethod, with_settings
from askwise.methods.imagining import ImaginingMethod
from askwise.methods.table import TableMethod
from askwise.methods.training_table import TrainingTable
from askwise.networks.mlp import Mlp
from askwise.networks.pair import Networks
from askwise.networks.pair_policy import PairPolicy
from askwise.networks.partial_vae import PartialVae, spread_noise
from askwise.training.known_sets import random_known
from askwise.training.loop import Training
from askwise.training.objectives import MaskedPrediction, RandomDraws
from askwise.training.temperature import random_states

MODEL_UPDATES = 3400
PREDICTOR_UPDATES = 3400
# Probabilities below the first count as it; and p / mean - 1 stays above -1, where p is lost beside the mean.
LEAST, LEAST_RATIO = 1e-30, 2**-24 - 1
# How many numbers to hold at once: what a CPU's cache holds, and what keeps a GPU busy.
NUMBERS_AT_ONCE = {"cpu": 2**19, "cuda": 2**26}


def information(outputs: Tensor) -> Tensor:
    """How much logits (cases, samples, classes) tell about a class: the mean divergence from their mean, (cases,)."""
    # Samples last: torch works through many samples faster than through a few classes.
    p = outputs.transpose(1, 2).contiguous().softmax(1)
    mean = p.mean(2, keepdim=True)
    apart = p - mean
    # p log(p / mean) - (p - mean), whose second part adds up to 0: so written, what is little stays exact.
    ratio = (apart / mean.clamp_min(LEAST)).clamp_min(LEAST_RATIO)
    return (p * ratio.log1p() - apart).sum((1, 2)) / p.shape[2]


class EddiNetworks(Networks):
    """A predictor, and a model of the inputs."""

    def __init__(self, predictor: Mlp, model: PartialVae) -> None:
        super().__init__()
        self.predictor = predictor
        self.model = model

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [self.predictor]


class PaddedGroups(nn.Module):
    """Groups of about as many entries: their numbers (groups,), and their entries (groups, most), padded."""

    groups: Tensor
    index: Tensor
    there: Tensor

    def __init__(self, groups: list[int], entries: list[list[int]]) -> None:
        super().__init__()
        most = max(len(entries[g]) for g in groups)
        index = [entries[g] + [-1] * (most - len(entries[g])) for g in groups]
        self.register_buffer("groups", torch.tensor(groups), persistent=False)
        self.register_buffer("index", torch.tensor(index).clamp_min(0), persistent=False)
        self.register_buffer("there", (torch.tensor(index) >= 0).float(), persistent=False)

    @staticmethod
    def all_of(space: FeatureSpace) -> nn.ModuleList:
        """All groups of a space; none is padded to twice its size or more."""
        entries: list[list[int]] = [[] for _ in range(space.n_groups)]
        for entry, column in enumerate(space.column_of_entry):
            group = space.group_of_column[column]
            if group >= 0:
                entries[group].append(entry)
        kinds = sorted({len(e).bit_length() for e in entries})
        return nn.ModuleList(
            PaddedGroups([g for g, e in enumerate(entries) if len(e).bit_length() == kind], entries) for kind in kinds
        )


class EddiPolicy(PairPolicy):
    """Scores by sampling: I(y; x_i | x_S), in nats, or the variance that x_i explains, in squared units of y.

    The samples come from noise that is kept with the policy, the same for every row and state. A group is imagined
    with all its columns, though some may turn out to be missing.
    """

    # Each score is an average over draws.
    declared: ClassVar[Capabilities] = Capabilities(exportable=False, cheap_scores=False)
    noise: Tensor
    in_group: Tensor

    def __init__(self, space: FeatureSpace, task: Task, networks: EddiNetworks, n_samples: int) -> None:
        super().__init__(space, task, networks)
        self.register_buffer("noise", spread_noise(n_samples, networks.model.latent + space.n_columns))
        group = torch.tensor(space.group_of_column)
        in_group = (group == torch.arange(space.n_groups)[:, None]).float()
        self.register_buffer("in_group", in_group, persistent=False)
        self.alike = PaddedGroups.all_of(space)

    @property
    def _parts(self) -> tuple[Mlp, PartialVae]:
        assert isinstance(self.networks, EddiNetworks)
        return self.networks.predictor, self.networks.model

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> Belief:
        predictor, _ = self._parts
        hidden = self.hide(x, mask)
        first = predictor.first(torch.cat([hidden, mask.to(x.dtype)], 1))
        belief = self._belief(predictor.onward(first), None)
        return Belief(belief.outputs, self._scores(hidden, mask, first)) if scores else belief

    @torch.no_grad()
    def _scores(self, x: Tensor, mask: Tensor, first: Tensor) -> Tensor:
        """Of every group, (batch, groups), 0 for known ones; a few rows at a time, for the sake of memory."""
        predictor, model = self._parts
        # A column that never changed in training has nothing to tell.
        varies = torch.zeros_like(mask[0], dtype=x.dtype).index_add(0, self.column_of_entry, model.high - model.low)
        open_ = ((mask.to(x.dtype) @ self.in_group.T) == 0) & ((self.in_group @ varies) > 0)
        size = max(1, self._at_once(x) // (len(self.noise) * 4 * x.shape[1]))
        weight = predictor.first.weight.T.contiguous()
        # The first layer is linear: a revealed group adds its values times their weights, and those of its mask.
        of_mask = self.in_group @ weight[x.shape[1] :]
        parts = (torch.split(part, size) for part in (x, mask, first, open_))
        return torch.cat([self._scores_of(weight, of_mask, *part) for part in zip(*parts, strict=True)])

    @staticmethod
    def _at_once(x: Tensor) -> int:
        return NUMBERS_AT_ONCE[x.device.type]

    def _scores_of(
        self, weight: Tensor, of_mask: Tensor, x: Tensor, mask: Tensor, first: Tensor, open_: Tensor
    ) -> Tensor:
        """Of a few rows; weight: the first layer's, inputs by outputs; of_mask: what each group adds by being known."""
        predictor, model = self._parts
        values = model.imagine(x, mask, self.noise)
        scores = torch.zeros_like(open_, dtype=x.dtype)
        for alike in self.alike:
            assert isinstance(alike, PaddedGroups)
            # What is held: a hidden layer of each sample, and the weights of each entry.
            size = max(1, self._at_once(x) // (max(len(self.noise), alike.index.shape[1]) * weight.shape[1]))
            pairs = open_[:, alike.groups].nonzero()
            for row, place in (part.T for part in torch.split(pairs, size)):
                group, index = alike.groups[place], alike.index[place]
                added = (values[row[:, None], index] * alike.there[place][..., None]).transpose(1, 2)
                before = (first[row] + of_mask[group])[:, None]
                # The same product; of one entry each, the first takes half the time of the second.
                one = index.shape[1] == 1
                after = (torch.addcmul if one else torch.baddbmm)(before, added, weight[index])
                outputs = predictor.onward(after)
                scores[row, group] = self._tells(self._belief(outputs, None).outputs).to(x.dtype)
        return scores

    def _tells(self, outputs: Tensor) -> Tensor:
        """How much the outputs (pairs, samples, n_outputs) differ from their mean, (pairs,)."""
        if self.is_regression:
            return (outputs - outputs.mean(1, keepdim=True)).square().mean((1, 2))
        return information(outputs)


class Imagining(RandomDraws):
    """Tell all that is present from random sets of groups: the evidence bound of the partial autoencoder."""

    def __init__(self, policy: EddiPolicy, model: PartialVae) -> None:
        self.policy = policy
        self.model = model

    def errors(self, rows: Rows) -> tuple[Tensor, Tensor]:
        known = random_known(rows.available)
        mask = self.policy.mask(known, rows.present)
        noise = torch.randn(len(rows), self.model.latent, device=rows.x.device)
        return self.model.losses(rows, mask, noise) / self.policy.space.n_columns, known


@with_settings
class Eddi(TableMethod, ImaginingMethod):
    """What EDDI's classifier and regressor share: settings, networks and the stages of training."""

    def check_settings(self) -> None:
        super().check_settings()
        if not isinstance(self.encoding, str):
            raise AskwiseError(
                f"EDDI adds imagined answers to its first layer as they are: encoding={self.encoding!r} can't be used; "
                "leave it out"
            )

    @property
    def reads_parts(self) -> bool:
        return False

    def start_from(self, policy: PairPolicy, table: TrainingTable) -> None:
        # Its first layer reads imagined answers as they are, without factors.
        del policy, table

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        model = PartialVae(space, self.width, self.latent, self.layers, self.dropout or 0.0)
        return EddiPolicy(space, task, EddiNetworks(self.network(space, task.n_outputs), model), self.n_samples)

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        assert isinstance(policy, EddiPolicy)
        assert isinstance(policy.networks, EddiNetworks)
        model = policy.networks.model
        self.before_training(policy, training)
        model.observe(training.train.in_memory())
        training.stage("model", Imagining(policy, model), self.plan(training, MODEL_UPDATES))
        training.stage("predictor", MaskedPrediction(policy, task), self.plan(training, PREDICTOR_UPDATES))
        # The greedy path is dear: every step of it samples.
        self.calibrate(policy, training, task, random_states)


@with_settings
class EddiClassifier(ClassifierMethod, Eddi):
    """Asks the group whose imagined answers would tell most about a label per cost.

    latent: size of the code z of the partial autoencoder. n_samples: imagined answers to each question; more are
    steadier and slower. The other settings are those of DimeClassifier: epochs and patience hold for both stages, the
    model of the inputs and the predictor, and max_steps only tells how many sets of each row set the temperature.
    """

    registry_name = "eddi-classifier"


@with_settings
class EddiRegressor(RegressorMethod, Eddi):
    """Asks the group whose imagined answers would change the prediction of a number most per cost.

    The settings are those of EddiClassifier; scores are variances in squared units of y.
    """

    registry_name = "eddi-regressor"

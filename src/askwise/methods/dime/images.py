"""DIME on images: patches are asked, and both networks see them through one backbone."""

from __future__ import annotations

from typing import ClassVar

from askwise.core.errors import AskwiseError
from askwise.core.features import FeatureSpace
from askwise.core.tasks import Task
from askwise.methods.base import ClassifierMethod, RegressorMethod, with_settings
from askwise.methods.dime.base import FIRST_VALUE, Dime
from askwise.methods.dime.policy import DimePolicy
from askwise.methods.images.method import ImageMethod
from askwise.networks.image_pair import ImageNetworks
from askwise.networks.pair import Networks, zeroed_outputs
from askwise.training.loop import Training
from askwise.training.modes import frozen

PRIOR_FOR = ("both", "predictor")


@with_settings
class ImageDime(ImageMethod, Dime):
    """What the classifier and the regressor of images share."""

    # An episode of an image costs as much as many rows of a table.
    joint_updates: ClassVar[int] = 500

    learn_from: int | None = 4
    share_backbone: bool = True
    drop_unknown: bool = False
    stop_gradient: bool = False
    prior_for: str = "both"

    def check_settings(self) -> None:
        super().check_settings()
        if self.prior_for not in PRIOR_FOR:
            raise AskwiseError(f"prior_for takes {' or '.join(map(repr, PRIOR_FOR))}, was given {self.prior_for!r}")
        if self.prior_for == "predictor" and self.prior is None:
            raise AskwiseError("prior_for='predictor' is about a prior, and there is none; give prior='sketch' too")
        if self.prior_for == "predictor" and self.stop_gradient:
            raise AskwiseError(
                "prior_for='predictor' trains the prior by predictions alone, and stop_gradient=True keeps them from "
                "it; give one of the two"
            )
        if not self.share_backbone and (self.stop_gradient or self.prior_for == "predictor"):
            raise AskwiseError(
                "stop_gradient=True and prior_for='predictor' are about a prior that predictions and values share; "
                "leave out share_backbone=False"
            )

    def value_epochs(self, pretrain_epochs: int) -> int:
        # On what the backbone makes of an image already, the head alone learns.
        return -(-pretrain_epochs // 5)

    def networks(self, space: FeatureSpace, task: Task) -> Networks:
        return self.heads(
            space,
            task,
            FIRST_VALUE,
            share_backbone=self.share_backbone,
            drop_unknown=self.drop_unknown,
            stop_gradient=self.stop_gradient,
            prior_for_values=self.prior_for == "both",
        )

    def learn(self, policy: DimePolicy, training: Training, task: Task) -> None:
        if self.prior is None or self.prior_for == "both":
            super().learn(policy, training, task)
            return
        networks = policy.networks
        assert isinstance(networks, ImageNetworks)
        with zeroed_outputs(networks.prior_network):
            super().learn(policy, training, task)
        # On a policy that no longer changes: the same questions, and predictions that know the prior.
        plan = self.joint_plan(training)
        with frozen([networks.trunk.backbone, networks.value_head]):
            training.stage("prior", self.joint(policy, training, task, plan), self.walked(plan, training))


@with_settings
class DimeImageClassifier(ClassifierMethod, ImageDime):
    """Asks the patch of an image with the most information about its label per cost, and stops when a rule says so.

    patch: the side of the square patches, in pixels; costs: a price for each, by name (r1c1, r1c2, ...), in
    order, or as a grid of rows and columns.
    backbone: "small-cnn" or "small-vit", of our own, with their width `hidden` (of "small-cnn" 256 on a GPU, 128 on a
    CPU by default) and depth `layers`; the name of a timm model or a TimmBackbone, which may be pretrained; or a module
    from images (batch, 3, height, width) to a map (batch, channels, rows, columns) or to tokens (batch, places, width).
    mean, std: of the pixels of each channel, from 0 to 1.
    share_backbone: one for prediction and values, or one each. drop_unknown: a transformer leaves unknown patches out,
    instead of seeing them grey. prior: "sketch" shows the edges of the whole image from the start, through a backbone
    of their own; stop_gradient keeps predictions from training it; prior_for: "predictor" keeps it from the values, to
    compare. augment: how images vary in training, some of "shift", "zoom" and "flip".
    max_steps: patches in a training episode, 20 at most by default; learn_from: how many steps of each are learnt from.
    pretrain_epochs, epochs, batch_size, learning_rate, weight_decay, patience, epsilon, scaling, class_weights, stop,
    validation_fraction, checkpoint_dir, device: as in DimeClassifier.
    """

    registry_name = "dime-image-classifier"
    scalings = ("bounded", "positive", "none")

    scaling: str = "bounded"


@with_settings
class DimeImageRegressor(RegressorMethod, ImageDime):
    """Asks the patch of an image that is expected to reduce the variance of a number most per cost.

    The settings are those of DimeImageClassifier.
    """

    registry_name = "dime-image-regressor"
    scalings = ("positive", "none")

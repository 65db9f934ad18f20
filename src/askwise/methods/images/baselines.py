"""The methods that DIME is compared with, on images."""

from __future__ import annotations

from askwise.core.features import FeatureSpace
from askwise.core.tasks import Task
from askwise.methods.argmax_direct import ArgmaxDirect
from askwise.methods.base import ClassifierMethod, with_settings
from askwise.methods.concrete_autoencoder import ConcreteAutoencoder
from askwise.methods.images.method import ImageMethod
from askwise.methods.random_order import AllFeatures, RandomOrder
from askwise.networks.pair import Networks


@with_settings
class ArgmaxDirectImageClassifier(ClassifierMethod, ImageMethod, ArgmaxDirect):
    """Asks the patch that a selector wants most which was trained to make the next prediction as good as can be.

    The settings of images are those of DimeImageClassifier, the others those of ArgmaxDirectClassifier.
    """

    registry_name = "argmax-direct-image-classifier"
    # One backbone for both networks.
    revision = 3

    learn_from: int | None = 4
    share_backbone: bool = True

    def pair(self, space: FeatureSpace, task: Task, share_trunk: bool = False) -> Networks:
        assert not share_trunk
        return self.heads(space, task, share_backbone=self.share_backbone)


@with_settings
class ConcreteAutoencoderImageClassifier(ClassifierMethod, ImageMethod, ConcreteAutoencoder):
    """Asks every image for the patches that a Concrete autoencoder selects, and predicts a label from them.

    The settings of images are those of DimeImageClassifier, the others those of ConcreteAutoencoderClassifier.
    """

    registry_name = "concrete-autoencoder-image-classifier"


@with_settings
class RandomOrderImageClassifier(ClassifierMethod, ImageMethod, RandomOrder):
    """Asks for patches in one random order, the same for all images, and predicts a label."""

    registry_name = "random-order-image-classifier"


@with_settings
class AllFeaturesImageClassifier(ClassifierMethod, ImageMethod, AllFeatures):
    """Predicts a label from the whole image: the ceiling of other methods."""

    registry_name = "all-features-image-classifier"

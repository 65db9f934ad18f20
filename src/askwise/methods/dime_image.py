"""DIME on images: patches are asked, and both networks see them through one backbone."""

from __future__ import annotations

from askwise.features import FeatureSpace
from askwise.methods.base import ClassifierMethod, RegressorMethod, with_settings
from askwise.methods.dime import FIRST_VALUE, Dime
from askwise.methods.image import ImageMethod
from askwise.networks.pair import Networks
from askwise.tasks import Task


@with_settings
class ImageDime(ImageMethod, Dime):
    """What the classifier and the regressor of images share."""

    learn_from: int | None = 4

    def networks(self, space: FeatureSpace, task: Task) -> Networks:
        return self.image_networks(space, task, FIRST_VALUE, self.drop_unknown)


@with_settings
class DimeImageClassifier(ClassifierMethod, ImageDime):
    """Asks the patch of an image with the most information about its label per cost, and stops when a rule says so."""

    registry_name = "dime-image-classifier"
    scalings = ("bounded", "positive", "none")

    scaling: str = "bounded"


@with_settings
class DimeImageRegressor(RegressorMethod, ImageDime):
    """Asks the patch of an image that is expected to reduce the variance of a number most per cost."""

    registry_name = "dime-image-regressor"
    scalings = ("positive", "none")

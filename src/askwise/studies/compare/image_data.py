"""Images to compare methods on: their patches are what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.data.images.pictures import as_images
from askwise.data.images.schema import ImageSchema
from askwise.methods.registry import IMAGE, method_for
from askwise.studies.compare.data import LabelledData, digest


@dataclass(frozen=True, eq=False)
class ImageData(LabelledData):
    """Labelled images of one size; the metric is accuracy for several classes, AUROC for two and RMSE for a number.

    images (n, height, width, channels), or (n, height, width); settings: what every method of images is given, such as
    patch, backbone, prior and costs; split_by: one value an image; those with the same value are never apart, neither
    to test on nor to validate on.
    """

    inputs: ClassVar[str] = IMAGE

    name: str
    images: Array
    y: Array
    task: str = "classification"
    settings: Mapping[str, Any] = field(default_factory=dict)
    metric: str = ""
    split_by: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "images", as_images(self.images))
        object.__setattr__(self, "y", np.asarray(self.y))
        if len(self.images) != len(self.y):
            raise AskwiseError(f"{self.name}: {len(self.images)} images have {len(self.y)} labels; give one for each")
        self._complete()

    @property
    def questions(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.settings

    @cached_property
    def schema(self) -> ImageSchema:
        found = method_for("dime", self.task, IMAGE)(**self.settings).schema_of(self.images)
        assert isinstance(found, ImageSchema)
        return found

    def take(self, which: Array) -> Array:
        return np.asarray(self.images[which])

    @cached_property
    def fingerprint(self) -> str:
        facts = [self.task, self.images.shape, self.schema.to_dict(), [str(label) for label in self.y]]
        facts += [] if self.split_by is None else [self.split_by.tolist()]
        return digest(facts, np.ascontiguousarray(self.images).tobytes())

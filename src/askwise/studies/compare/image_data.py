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
from askwise.studies.compare.data import TEST_FRACTION, Dataset, Split, digest, fit_and_test, main_metric, people


@dataclass(frozen=True, eq=False)
class ImageData(Dataset):
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
        if not self.metric:
            object.__setattr__(self, "metric", main_metric(self.task, len(np.unique(self.y))))
        if self.split_by is not None:
            object.__setattr__(self, "split_by", people(self.split_by, len(self.y)))

    @property
    def questions(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.settings

    @cached_property
    def schema(self) -> ImageSchema:
        found = method_for("dime", self.task, IMAGE)(**self.settings).schema_of(self.images)
        assert isinstance(found, ImageSchema)
        return found

    @property
    def n_rows(self) -> int:
        return len(self.y) - round(TEST_FRACTION * len(self.y))

    def sample_target(self) -> Array:
        return self.y

    def split(self, seed: int, max_rows: int, test_rows: int) -> Split:
        fit, test = fit_and_test(self, self.y, seed, max_rows, test_rows, self.split_by)
        by = None if self.split_by is None else self.split_by[fit]
        return Split(self.images[fit], self.y[fit], self.images[test], self.y[test], by)

    @cached_property
    def fingerprint(self) -> str:
        facts = [self.task, self.images.shape, self.schema.to_dict(), [str(label) for label in self.y]]
        facts += [] if self.split_by is None else [self.split_by.tolist()]
        return digest(facts, np.ascontiguousarray(self.images).tobytes())

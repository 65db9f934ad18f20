"""Example photos from a folder, for the page of an image model."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from askwise.core.errors import AskwiseError

# Imported when first used, since it imports torch.
if TYPE_CHECKING:
    from askwise.data.images.patches import PatchLayout

MAX_PHOTOS = 24
Item = TypeVar("Item")


@dataclass(frozen=True)
class Photo:
    """A photo in a file: its name within the folder, and its label if the folder has a sub-folder for each."""

    path: Path
    name: str
    label: str | None

    def as_json(self, layout: PatchLayout) -> dict[str, Any]:
        """The photo at the size of a model's images."""
        from askwise.data.images.files import read_image
        from askwise.data.images.pictures import as_data_url

        pixels = read_image(self.path, layout.height, layout.width, layout.channels)
        return {"name": self.name, "image": as_data_url(pixels), "label": self.label}


def find_photos(folder: Path) -> list[Photo]:
    """At most 24 photos of a folder; if it has a sub-folder for each class, as many of each."""
    from askwise.data.images.files import IMAGE_TYPES

    if not folder.is_dir():
        what = "a file, not a folder" if folder.exists() else "not there"
        raise AskwiseError(f"--examples takes a folder of images, and {folder} is {what}")
    inside = sorted(folder.iterdir())
    classes = {p.name: _images(p.rglob("*")) for p in inside if p.is_dir() and not p.name.startswith(".")}
    labels = [label for label, files in classes.items() if files]
    per_class = max(1, MAX_PHOTOS // max(1, len(labels)))
    found: list[tuple[Path, str | None]] = [
        (file, label)
        for label in _evenly_spaced(labels, MAX_PHOTOS)
        for file in _evenly_spaced(classes[label], per_class)
    ]
    found = found or [(file, None) for file in _evenly_spaced(_images(inside), MAX_PHOTOS)]
    if not found:
        raise AskwiseError(f"there are no images in {folder} or its sub-folders; types: {', '.join(IMAGE_TYPES)}")
    if labels:
        # In the order of the classes, each photo would give its neighbours away.
        random.Random(0).shuffle(found)
    return [Photo(file, _text(file.relative_to(folder).as_posix()), label and _text(label)) for file, label in found]


def _images(paths: Iterable[Path]) -> list[Path]:
    from askwise.data.images.files import is_image

    return sorted(path for path in paths if is_image(path))


def _evenly_spaced(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many, from the whole length: neighbours are often of one series."""
    n = min(most, len(items))
    return [items[i * len(items) // n] for i in range(n)]


def _text(name: str) -> str:
    """A file's name as it can be sent, whatever bytes it has."""
    return name.encode("utf-8", "backslashreplace").decode()

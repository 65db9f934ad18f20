"""Example photos: a few from a folder, for the page of a model of images."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from askwise.core.errors import AskwiseError
from askwise.data.images.files import IMAGE_TYPES, is_image, read_image
from askwise.data.images.patches import PatchLayout
from askwise.data.images.pictures import as_data_url

MOST = 24
One = TypeVar("One")


@dataclass(frozen=True)
class Photo:
    """A photo in a file: its name within the folder, and its label, where the folder has a sub-folder for each."""

    path: Path
    name: str
    label: str | None

    def told(self, layout: PatchLayout) -> dict[str, Any]:
        """The photo as a client gets it: at the size of a model's images."""
        pixels = read_image(self.path, layout.height, layout.width, layout.channels)
        return {"name": self.name, "image": as_data_url(pixels), "label": self.label}


def find_photos(folder: Path) -> list[Photo]:
    """At most 24 photos of a folder, the same of each class where it has a sub-folder for each."""
    if not folder.is_dir():
        what = "a file, not a folder" if folder.exists() else "not there"
        raise AskwiseError(f"--examples takes a folder of images, and {folder} is {what}")
    inside = sorted(folder.iterdir())
    classes = {p.name: _images(p.rglob("*")) for p in inside if p.is_dir() and not p.name.startswith(".")}
    labels = [label for label, files in classes.items() if files]
    each = max(1, MOST // max(1, len(labels)))
    found: list[tuple[Path, str | None]] = [
        (file, label) for label in _spread(labels, MOST) for file in _spread(classes[label], each)
    ]
    found = found or [(file, None) for file in _spread(_images(inside), MOST)]
    if not found:
        raise AskwiseError(f"there are no images in {folder} or its sub-folders; types: {', '.join(IMAGE_TYPES)}")
    if labels:
        # In the order of the classes, each would tell what its neighbours are.
        random.Random(0).shuffle(found)
    return [Photo(file, _text(file.relative_to(folder).as_posix()), label and _text(label)) for file, label in found]


def _images(paths: Any) -> list[Path]:
    return sorted(path for path in paths if is_image(path))


def _spread(all_: Sequence[One], most: int) -> list[One]:
    """At most so many, from the whole length: what lies side by side is often of one series."""
    n = min(most, len(all_))
    return [all_[i * len(all_) // n] for i in range(n)]


def _text(name: str) -> str:
    """The name of a file as it can be sent, whatever bytes it has."""
    return name.encode("utf-8", "backslashreplace").decode()

"""Imports timm, also if torchvision can't load its compiled operators.

timm needs torchvision for a few Python functions only. On Linux, torchvision from PyPI is compiled for CUDA. Beside a
torch for CPUs it can't load its operators, and its import fails when it describes the first of them.
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import Any

import torch

from askwise.core.errors import AskwiseError
from askwise.networks.own_backbones import OWN

# The operators that torchvision describes while it is imported. Nothing here calls them; torchvision itself refuses to.
OPERATORS = ("nms", "qnms")
SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
# torch forgets the operators of a library that nobody holds.
_declared: list[torch.library.Library] = []


def import_timm() -> Any:
    """The module timm; AskwiseError says what was found and what to install if it can't be imported."""
    try:
        return importlib.import_module("timm")
    except (ImportError, RuntimeError, OSError) as error:
        if isinstance(error, RuntimeError) and "torchvision::" in str(error) and not _declared:
            _declare_operators()
            return import_timm()
        raise AskwiseError(_explanation(error)) from error


def _declare_operators() -> None:
    """Declare the operators that torchvision could not load, without code to run them."""
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for name in OPERATORS:
        if not hasattr(torch.ops.torchvision, name):
            library.define(name + SIGNATURE)  # type: ignore[no-untyped-call]
    _declared.append(library)


def _explanation(error: Exception) -> str:
    found = ", ".join(f"{name} {installed_version(name)}" for name in ("timm", "torch", "torchvision"))
    if "torchvision" in str(error):
        advice = "install the torchvision that belongs to this torch"
    else:
        advice = "install it: pip install 'askwise[image]'"
    return (
        f"a backbone by the name of a timm model needs timm, which can't be loaded ({error}). Found: {found}. "
        f"Please {advice}; or use one of our own backbones: {', '.join(map(repr, OWN))}"
    )


def installed_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(not installed)"

"""The device to train on."""

from __future__ import annotations

import torch

from askwise.core.errors import AskwiseError


def pick_device(device: str) -> torch.device:
    """Where to train; 'auto' takes a GPU where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError):
        place = None
    if place is None or place.type not in ("cpu", "cuda"):
        raise AskwiseError(f"unknown device {device!r}; allowed: 'auto', 'cpu', 'cuda', 'cuda:1', ...")
    if place.type == "cuda" and not torch.cuda.is_available():
        raise AskwiseError(f"device {device!r} was asked for, and torch sees no GPU; use device='auto' or 'cpu'")
    return place

"""Random numbers of one's own: seeded, and everybody else's left as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded_rng(device: torch.device | str, seed: int) -> Iterator[None]:
    """Draw from a seed inside the block; outside it, torch's random numbers go on as if nothing had happened."""
    place = torch.device(device)
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def hash_seed(*parts: int) -> int:
    """One seed from several numbers; close numbers give seeds that are far apart."""
    seed = 0x9E3779B97F4A7C15
    for part in parts:
        seed = (seed ^ (part + 0x7F4A7C15)) * 0xBF58476D1CE4E5B9 % 2**64
        seed ^= seed >> 31
    return seed % 2**63

"""What a user gives as another prevalence, and what it adds to the logits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, shortened, unknown_name
from askwise.core.prior import PriorShift
from askwise.data.tables.column import category_key

Prior = Mapping[Any, float] | None

# How far from 1 shares of all labels may add up: they were rounded by whoever wrote them.
ROUNDED = 1e-3
EXAMPLE = "give the share of cases with a label, as in prior={'sick': 0.02}"


def prior_shift(prior: Mapping[Any, float], labels: Sequence[Any], prevalence: Array) -> PriorShift:
    """What another prevalence of the labels adds to logits that are at the prevalence of training, (classes,)."""
    given = _numbers(prior, labels)
    rest = 1 - math.fsum(given.values())
    named = np.isin(np.arange(len(labels)), list(given))
    if named.all() and abs(rest) > ROUNDED:
        raise AskwiseError(f"prior names every label, and the shares add up to {1 - rest:.6g}; they must add up to 1")
    if rest < -ROUNDED or (not named.all() and rest <= 0):
        left = "" if named.all() else ", which leaves nothing to the other labels"
        raise AskwiseError(f"the shares in prior add up to {1 - rest:.6g}{left}; they must stay below 1")
    # Labels that are not named share the rest as in training.
    new = prevalence * (rest / prevalence[~named].sum()) if not named.all() else np.empty(len(labels))
    new[list(given)] = list(given.values())
    return PriorShift(tuple(np.log(new / new.sum() / prevalence).tolist()))


def _numbers(prior: Mapping[Any, float], labels: Sequence[Any]) -> dict[int, float]:
    """The given shares, by the position of their label; 1, 1.0 and "1" are the same label."""
    if not isinstance(prior, Mapping) or not prior:
        raise AskwiseError(f"prior must map labels to their shares, was given {shortened(prior)}; {EXAMPLE}")
    position = {category_key(label): i for i, label in enumerate(labels)}
    found: dict[int, float] = {}
    for label, share in prior.items():
        key = category_key(label)
        if key not in position:
            raise unknown_name("label in prior:", label, labels)
        if position[key] in found:
            raise AskwiseError(f"prior names the label {label!r} twice; keep one")
        found[position[key]] = _share(label, share)
    return found


def _share(label: Any, share: Any) -> float:
    try:
        number = math.nan if isinstance(share, (bool, str)) else float(share)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < 1:
        raise AskwiseError(
            f"the share of {label!r} in prior must lie above 0 and below 1, was given {shortened(share)}"
        )
    return number

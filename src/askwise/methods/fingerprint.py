"""Fingerprints: whether a checkpoint belongs to this run, of these rows, settings and starting weights."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import safetensors.torch

from askwise._version import __version__
from askwise.core.policy import Policy
from askwise.core.rows import Rows

# Goes up when training changes, so that nothing is taken up again that was begun another way.
TRAINING = 4


def hash_of_rows(*tables: Rows) -> Any:
    """A hash of encoded rows, their answers and their weights."""
    digest = hashlib.sha256()
    for rows in tables:
        assert rows.y is not None
        for part in (rows.x, rows.present, rows.y, rows.weight):
            if part is not None:
                digest.update(part.numpy().tobytes())
    return digest


def fingerprint(policy: Policy, facts: list[Any], *tables: Rows) -> str:
    """The fingerprint of a run that trains this policy on these tables, of which these facts are true."""
    digest = hash_of_rows(*tables)
    digest.update(json.dumps([__version__, TRAINING, *facts], sort_keys=True, default=str).encode())
    # Modules of the user's own start from weights that no setting tells.
    digest.update(safetensors.torch.save({k: v.contiguous().clone() for k, v in policy.state_dict().items()}))
    return digest.hexdigest()[:16]

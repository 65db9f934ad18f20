"""A task whose best set of columns is known by enumeration, and a table's levels without an estimator."""

import itertools

import numpy as np
import pandas as pd
import torch

from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.data.synthetic.discrete import Discrete
from askwise.data.tables.schema import Schema
from askwise.methods.binning import levels_of
from joint_tables import UNKNOWN, information, table_of


def strengths_and_copies():
    """Three columns that tell independently of each other, the next always less; a near copy of each; noise."""
    joint = np.array([0.5, 0.5])
    for right in (0.9, 0.82, 0.75):
        joint = joint[..., None] * np.array([[right, 1 - right], [1 - right, right]]).reshape(
            2, *(1,) * (joint.ndim - 1), 2
        )
    for axis in (1, 2, 3):
        copy = np.array([[0.98, 0.02], [0.02, 0.98]]).reshape(*(2 if a == axis else 1 for a in range(joint.ndim)), 2)
        joint = joint[..., None] * copy
    joint = joint[..., None] * np.full(2, 0.5)
    names = ["copy of strong", "noise", "strong", "copy of middle", "weak", "middle", "copy of weak"]
    places = [4, 7, 1, 5, 3, 2, 6]
    return Discrete(names, joint.transpose(0, *places))


def in_proportion(distribution, n_rows=10_000):
    """About so many rows in proportion to the joint table: what chance would do to a sample is left out."""
    ways, joint = distribution.ways.numpy(), distribution.joint.numpy()
    way, label = np.nonzero(np.ones_like(joint))
    times = np.round(n_rows * joint[way, label]).astype(int)
    frame = pd.DataFrame(ways[way.repeat(times)].astype(float), columns=list(distribution.columns))
    return frame, label.repeat(times)


def best_set(distribution, size):
    """The columns that tell most together, by enumeration of every set."""
    joint = table_of(distribution)
    nothing = (UNKNOWN,) * (joint.ndim - 1)
    every = itertools.combinations(range(joint.ndim - 1), size)
    return set(max(every, key=lambda columns: information(joint, nothing, *columns)))


def levels_and_space(frame, y, n_levels=3, **settings):
    """A table in levels, with a label for an answer, and its space."""
    schema = Schema.of(frame, **settings)
    encoded = schema.encode(frame)
    rows = Rows(encoded.x, encoded.present, encoded.available, torch.as_tensor(np.asarray(y)))
    return levels_of(rows, schema.space, Classification(tuple(np.unique(y).tolist())), n_levels), schema.space

"""Mutual information from counts, after columns are cut into a few levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.features import FeatureSpace
from askwise.core.row_weights import effective_rows, rows_in_proportion
from askwise.core.rows import Rows, evenly
from askwise.core.tasks import Classification, Task

# More rows would change an order of columns hardly, and cost time.
MOST_ROWS = 10_000
MISSING = -1


@dataclass(frozen=True)
class Levels:
    """Rows as levels 0, 1, ...: of the columns (rows, columns), MISSING where absent, and of the answer (rows,).

    ordered: whether the levels of each column lie in a row, as those of a number do.
    """

    of_columns: Array
    of_answer: Array
    ordered: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.of_answer)


def levels_of(rows: Rows, space: FeatureSpace, task: Task, n_levels: int) -> Levels:
    """At most n_levels levels of about as many rows each; a category keeps its own, and so does a label."""
    rows = rows.take(_counted(rows).to(rows.x.device)).to("cpu")
    assert rows.y is not None
    x, present, y = rows.x.numpy(), rows.present.numpy(), rows.y.numpy()
    first = np.searchsorted(space.column_of_entry, np.arange(space.n_columns + 1))
    found = np.full(present.shape, MISSING, dtype=np.int64)
    ordered = []
    for column in range(space.n_columns):
        there = present[:, column]
        entries = x[there, first[column] : first[column + 1]]
        ordered.append(entries.shape[1] == 1)
        found[there, column] = cut(entries[:, 0], n_levels) if ordered[-1] else entries.argmax(1)
    answer = y if isinstance(task, Classification) else cut(y, n_levels)
    # Without gaps, which tables of counts would have to carry along.
    return Levels(found, np.unique(answer, return_inverse=True)[1], tuple(ordered))


def _counted(rows: Rows) -> Tensor:
    """The numbers of the rows that are counted: evenly spread, and under weights in proportion to them.

    Chance adds the less to counts, the more rows there are: no more are counted than the weighted ones are worth.
    """
    if rows.weight is None:
        return evenly(len(rows), MOST_ROWS)
    weights = rows.weight.double().cpu().numpy()
    count = max(2, min(MOST_ROWS, int(effective_rows(weights, len(rows)))))
    return torch.from_numpy(rows_in_proportion(weights, count))


def cut(values: Array, n_levels: int) -> Array:
    """Numbers (rows,) as levels 0, 1, ... with about as many rows each; equal numbers share one."""
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) <= n_levels:
        return place
    edges = np.unique(np.quantile(values, np.arange(1, n_levels) / n_levels, method="inverted_cdf"))
    # A number that many rows share may be the largest: then nothing lies above the edge.
    return np.searchsorted(edges[edges < distinct[-1]], values, side="left")


def information(counts: Tensor) -> Tensor:
    """I(y; t | g) in nats, (...), from counts of rows (..., levels of g, levels of t, levels of y); near 0 for noise.

    It is the information of the counted frequencies less what chance adds to it: where t and y are independent, 2 n
    times the information of n rows is chi-square with (levels of t - 1) (levels of y - 1) degrees of freedom, and its
    mean is their number. Here only levels count that occur with this g.
    """
    counts = counts.double()
    of_t, of_y = counts.sum(-1), counts.sum(-2)
    of_g = of_t.sum(-1)
    found = _x_log_x(counts).sum((-1, -2)) - _x_log_x(of_t).sum(-1) - _x_log_x(of_y).sum(-1) + _x_log_x(of_g)
    freedom = ((of_t > 0).sum(-1) - 1) * ((of_y > 0).sum(-1) - 1) * (of_g > 0)
    return (found - freedom / 2).sum(-1) / of_g.sum(-1).clamp_min(1)


def _x_log_x(counts: Tensor) -> Tensor:
    return torch.special.xlogy(counts, counts)


def information_with(columns: Array, other: Array) -> Tensor:
    """Of each column (rows, columns) about another one (rows,), both in levels, over all rows: (columns,).

    A row where one of the two is missing tells nothing.
    """
    n_levels, n_others = int(columns.max(initial=0)) + 1, int(other.max(initial=0)) + 1
    n_rows, n_columns = columns.shape
    cell = (np.arange(n_columns) * n_levels + columns) * n_others + other[:, None]
    cell = cell[(columns != MISSING) & (other != MISSING)[:, None]]
    counts = np.bincount(cell, minlength=n_columns * n_levels * n_others).reshape(n_columns, 1, n_levels, n_others)
    both = torch.from_numpy(counts.sum((1, 2, 3)))
    return information(torch.from_numpy(counts)) * both / n_rows

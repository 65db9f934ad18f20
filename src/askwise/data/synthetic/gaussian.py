"""A Gaussian linear regression: the reduction of variance is known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.tasks import Regression
from askwise.data.synthetic.base import Distribution


class Gaussian(Distribution):
    """Columns and answer are jointly normal around 0, with this covariance (columns + 1, the answer last)."""

    def __init__(self, covariance: Array) -> None:
        self.covariance = torch.tensor(covariance, dtype=torch.float64)
        self.columns = tuple(f"x{c}" for c in range(len(covariance) - 1))
        self.task = Regression(0.0, math.sqrt(covariance[-1, -1]))

    def sample(self, n_rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
        root = np.linalg.cholesky(self.covariance.numpy())
        drawn = np.random.default_rng(seed).standard_normal((n_rows, len(root))) @ root.T
        return pd.DataFrame(drawn[:, :-1], columns=list(self.columns)), drawn[:, -1]

    def outputs(self, x: Tensor, known: Tensor) -> Tensor:
        """E[y | x_S], linear in what is known."""
        sets, place = torch.unique(known, dim=0, return_inverse=True)
        weights = torch.stack([self._weights(chosen) for chosen in sets])
        return (torch.where(known, x, 0.0) * weights[place]).sum(1, keepdim=True)

    def information(self, x: Tensor, known: Tensor) -> Tensor:
        """Var(y | x_S) - Var(y | x_S, x_i): the same for every value of what is known."""
        del x
        sets, place = torch.unique(known, dim=0, return_inverse=True)
        table = torch.zeros(len(sets), known.shape[1], dtype=torch.float64)
        for s, chosen in enumerate(sets):
            for i in (~chosen).nonzero()[:, 0].tolist():
                more = chosen.clone()
                more[i] = True
                table[s, i] = self._explained(more) - self._explained(chosen)
        return table[place].clamp_min(0)

    def _weights(self, chosen: Tensor) -> Tensor:
        """The regression of y on the chosen columns, 0 elsewhere."""
        weights = torch.zeros(len(chosen), dtype=torch.float64)
        inner = self.covariance[:-1, :-1][chosen][:, chosen]
        weights[chosen] = torch.linalg.solve(inner, self.covariance[-1, :-1][chosen])
        return weights

    def _explained(self, chosen: Tensor) -> float:
        return float(self._weights(chosen) @ self.covariance[-1, :-1])


def gaussian() -> Gaussian:
    """Six correlated columns, neighbours most, a linear answer and some noise."""
    weights = np.array([1.0, -0.8, 0.6, 0.6, -0.4, 0.8])
    n = len(weights)
    inner = 0.4 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    across = inner @ weights
    noise = 0.2
    return Gaussian(np.block([[inner, across[:, None]], [across[None], np.array([[weights @ across + noise]])]]))

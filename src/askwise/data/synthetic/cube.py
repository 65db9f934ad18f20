"""CUBE and CUBE-NM: Gaussian columns around a mean that the label decides, known by quadrature."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.tasks import Classification
from askwise.data.synthetic.base import Distribution, entropy_of

SIGMA = 0.3
N_LABELS, N_BITS, CYCLE, N_COLUMNS = 8, 3, 10, 20
N_CONTEXTS = 5
CONTEXT_SIGMA = 0.1
CONTEXT = "context"
# Columns lie around one of these.
MEANS = (0.0, 0.5, 1.0)
# The trapezoid rule converges exponentially here: at this step the error of an entropy is below 1e-10.
STEP = 0.075


def cube_means() -> Array:
    """The mean of each column for each label, (8, 20): columns y, y + 1, y + 2 (mod 10) show the bits of y."""
    means = np.full((N_LABELS, N_COLUMNS), 0.5)
    for label in range(N_LABELS):
        for bit in range(N_BITS):
            means[label, (label + bit) % CYCLE] = label >> bit & 1
    return means


class Cube(Distribution):
    """Columns that are normal around the mean of a hidden cause; a label is one or more causes, all equally likely.

    label_of_cause (causes,); means (causes, columns). context_of_cause (causes,), where there is one: a first group of
    columns shows this part of the cause so clearly that an answer leaves no doubt of it.
    """

    def __init__(self, label_of_cause: Array, means: Array, context_of_cause: Array | None = None) -> None:
        n_context = 0 if context_of_cause is None else N_CONTEXTS
        self.columns = tuple(f"{CONTEXT} {c}" for c in range(n_context))
        self.columns += tuple(f"x{c}" for c in range(means.shape[1] - n_context))
        if context_of_cause is not None:
            self.groups = {CONTEXT: self.columns[:n_context]}
        self.task = Classification(tuple(range(N_LABELS)))
        self._n_context = n_context
        self._means = torch.tensor(means)
        self._sigma = torch.full((means.shape[1],), SIGMA, dtype=torch.float64)
        self._sigma[:n_context] = CONTEXT_SIGMA
        self._label_of_cause = label_of_cause
        self._labels = torch.eye(N_LABELS, dtype=torch.float64)[label_of_cause]
        self._contexts = None if context_of_cause is None else torch.eye(N_CONTEXTS).double()[context_of_cause]

    @property
    def n_steps(self) -> int:
        return 10

    def sample(self, n_rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
        rng = np.random.default_rng(seed)
        cause = rng.integers(0, len(self._means), n_rows)
        x = rng.normal(self._means.numpy()[cause], self._sigma.numpy())
        return pd.DataFrame(x, columns=list(self.columns)), self._label_of_cause[cause]

    def outputs(self, x: Tensor, known: Tensor) -> Tensor:
        return torch.logsumexp(self._log_posterior(x, known)[:, :, None] + self._labels.log(), 1)

    def _log_posterior(self, x: Tensor, known: Tensor) -> Tensor:
        """Of each cause, (rows, causes)."""
        precision = known / self._sigma**2
        likelihood = (x * precision) @ self._means.T - precision @ (self._means.T**2 / 2)
        return torch.log_softmax(likelihood, 1)

    def information(self, x: Tensor, known: Tensor) -> Tensor:
        # A few rows at a time: every column of every row is integrated for every label.
        parts = zip(torch.split(x, 128), torch.split(known, 128), strict=True)
        return torch.cat([self._information(*part) for part in parts])

    def _information(self, x: Tensor, known: Tensor) -> Tensor:
        """Of each column: the entropy of its mixture, less its mean entropy once the label is known."""
        causes = self._log_posterior(x, known).exp()
        label = causes @ self._labels
        share = torch.einsum("nc,cjm->njm", causes, self._shows)
        spread = self._differential_entropy(share)
        if len(self._means) == N_LABELS:
            tells = spread - self._differential_entropy(torch.tensor([1.0, 0.0, 0.0]).double())
        else:
            with_label = torch.einsum("nc,cl,cjm->nljm", causes, self._labels, self._shows)
            given = with_label / label.clamp_min(1e-300)[:, :, None, None]
            tells = spread - (label[:, :, None] * self._differential_entropy(given)).sum(1)
        tells = tells.clamp_min(0) * ~known[:, self._n_context :]
        if self._contexts is None:
            return tells
        # The context is seen without doubt: an error has a probability below 1e-11.
        joint = torch.einsum("nc,ck,cl->nkl", causes, self._contexts, self._labels)
        context = joint.sum(2)
        then = (context * entropy_of(joint / context.clamp_min(1e-300)[:, :, None])).sum(1)
        of_context = (entropy_of(label) - then).clamp_min(0) * ~known[:, 0]
        return torch.cat([of_context[:, None], tells], 1)

    @cached_property
    def _shows(self) -> Tensor:
        """Which of MEANS each column outside the context has for each cause, (causes, columns, means)."""
        return (self._means[:, self._n_context :, None] == torch.tensor(MEANS, dtype=torch.float64)).double()

    @cached_property
    def _densities(self) -> Tensor:
        """The normal density around each of MEANS on the nodes of the quadrature, (means, nodes)."""
        nodes = torch.arange(-7 * SIGMA, 1 + 7 * SIGMA, STEP, dtype=torch.float64)
        away = (nodes - torch.tensor(MEANS, dtype=torch.float64)[:, None]) / SIGMA
        return torch.exp(-(away**2) / 2) / (SIGMA * math.sqrt(2 * math.pi))

    def _differential_entropy(self, share: Tensor) -> Tensor:
        """Of the mixture of normals around MEANS with these shares (..., means), by the trapezoid rule."""
        found = torch.full(share.shape[:-1], 0.5 * math.log(2 * math.pi * math.e * SIGMA**2), dtype=torch.float64)
        # Given a label most columns lie around one mean: only true mixtures are integrated.
        mixed = share.amax(-1) < 1 - 1e-13
        found[mixed] = entropy_of(share[mixed] @ self._densities) * STEP
        return found


def cube() -> Cube:
    """Eight labels; of 20 columns three tell, which three depends on the label."""
    return Cube(np.arange(N_LABELS), cube_means())


def cube_nm() -> Cube:
    """Five blocks of ten columns, of which a context names the one that holds the cube; asking it first tells nothing.

    The greedy policy has a hole here, whoever implements it: the context's one-step information is exactly 0.
    """
    block = cube_means()[:, :CYCLE]
    means = np.full((N_LABELS * N_CONTEXTS, N_CONTEXTS + N_CONTEXTS * CYCLE), 0.5)
    label, context = np.divmod(np.arange(len(means)), N_CONTEXTS)
    means[:, :N_CONTEXTS] = np.eye(N_CONTEXTS)[context]
    for cause in range(len(means)):
        start = N_CONTEXTS + CYCLE * context[cause]
        means[cause, start : start + CYCLE] = block[label[cause]]
    return Cube(label, means, context)

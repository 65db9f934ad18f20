"""A partial variational autoencoder: what unknown columns may hold, given any set of known ones."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from askwise.core.features import FeatureSpace
from askwise.core.rows import Rows
from askwise.networks.mlp import MlpTrunk

# Of each known entry's summand in the code of a set, and of the embedding that tells the entries apart.
CODE, EMBEDDING = 64, 16
# How far a number may lie from its mean given z, in standard deviations of its column.
SMALLEST, LARGEST = 0.05, 2.0


class PartialVae(nn.Module):
    """q(z | x_S) from a sum over the known entries, and p(x | z) of every entry (Ma et al. 2019, sections 3.1, 3.2).

    A number is normal, with mean and deviation from z, and kept within the range seen in training; one that had two
    different values in training is one of the two; a column of several entries is a category. `low`, `high`, `is_pair`
    (entries,) are read from the training rows by `observe`.
    """

    low: Tensor
    high: Tensor
    is_pair: Tensor
    column_of_entry: Tensor
    is_number: Tensor
    categories: Tensor
    is_category: Tensor

    def __init__(self, space: FeatureSpace, hidden: int, latent: int, layers: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        n = space.n_entries
        self.latent = latent
        self.n_columns = space.n_columns
        self.embedding = nn.Parameter(torch.randn(n, EMBEDDING))
        # The one layer that all entries share, of (value times embedding, embedding).
        self.of_value = nn.Linear(EMBEDDING, CODE, bias=False)
        self.of_entry = nn.Linear(EMBEDDING, CODE)
        self.encoder = _layers(CODE, hidden, 2 * latent, layers, dropout)
        self.decoder = _layers(latent, hidden, 2 * n, layers, dropout)
        self.register_buffer("low", torch.zeros(n))
        self.register_buffer("high", torch.zeros(n))
        self.register_buffer("is_pair", torch.zeros(n, dtype=torch.bool))
        columns = torch.tensor(space.column_of_entry)
        width = torch.bincount(columns, minlength=space.n_columns)
        self.register_buffer("column_of_entry", columns, persistent=False)
        self.register_buffer("is_number", width[columns] == 1, persistent=False)
        # The entries of each column that is a category, padded to the longest, and which of them are there.
        entries = [(columns == c).nonzero()[:, 0] for c in (width > 1).nonzero()[:, 0]]
        most = max(map(len, entries), default=0)
        padded = [F.pad(index, (0, most - len(index)), value=-1) for index in entries]
        index = torch.stack(padded) if padded else torch.zeros(0, 0, dtype=torch.int64)
        self.register_buffer("categories", index.clamp_min(0), persistent=False)
        self.register_buffer("is_category", index >= 0, persistent=False)

    @torch.no_grad()
    def observe(self, rows: Rows) -> None:
        """Read the range of every entry, and which have two values only."""
        there = rows.present[:, self.column_of_entry.to(rows.present.device)]
        low = rows.x.masked_fill(~there, torch.inf).amin(0)
        high = rows.x.masked_fill(~there, -torch.inf).amax(0)
        # A column may be absent from all the rows that are left to train on.
        seen = there.any(0)
        self.low.copy_(low.where(seen, 0))
        self.high.copy_(high.where(seen, 0))
        between = (there & (rows.x > low) & (rows.x < high)).any(0)
        self.is_pair.copy_(seen & ~between & (low < high))

    def encode(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log deviation of z, (batch, latent) each, from x (batch, entries) and a mask (batch, columns)."""
        known = mask[:, self.column_of_entry].to(x.dtype)
        each = F.relu(x[:, :, None] * self.of_value(self.embedding) + self.of_entry(self.embedding))
        code = torch.einsum("be,bek->bk", known, each)
        mean, log_deviation = self.encoder(code).chunk(2, 1)
        # Between certainty and what is believed of z before anything is known.
        return mean, log_deviation.clamp(-6, 2)

    def decode(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Means or logits, and deviations, of every entry (..., entries), from z (..., latent)."""
        located, spread = self.decoder(z).chunk(2, -1)
        return located, SMALLEST + (LARGEST - SMALLEST) * torch.sigmoid(spread - 1)

    def losses(self, rows: Rows, mask: Tensor, noise: Tensor) -> Tensor:
        """The negative evidence bound of each row, in nats: what is in the mask is seen, and all that is present told.

        noise (batch, latent): standard normal.
        """
        mean, log_deviation = self.encode(rows.x, mask)
        located, spread = self.decode(mean + log_deviation.exp() * noise)
        apart = 0.5 * (mean**2 + (2 * log_deviation).exp() - 1) - log_deviation
        return apart.sum(1) + (self.surprise(rows.x, located, spread) * rows.present).sum(1)

    def surprise(self, x: Tensor, located: Tensor, spread: Tensor) -> Tensor:
        """-log p(x | z) of every column, (batch, columns)."""
        of_number = 0.5 * ((x - located) / spread) ** 2 + spread.log()
        is_high = (x > (self.low + self.high) / 2).to(x.dtype)
        of_pair = F.binary_cross_entropy_with_logits(located, is_high, reduction="none")
        # What is always the same is known already.
        counts = self.is_number & (self.low < self.high)
        of_entry = torch.where(self.is_pair, of_pair, of_number) * counts
        found = x.new_zeros(len(x), self.n_columns).index_add(1, self.column_of_entry, of_entry)
        if len(self.categories):
            log_p = self._log_shares(located)
            told = (log_p.masked_fill(~self.is_category, 0) * x[:, self.categories]).sum(-1)
            found = found.index_add(1, self.column_of_entry[self.categories[:, 0]], -told)
        return found

    def imagine(self, x: Tensor, mask: Tensor, noise: Tensor) -> Tensor:
        """Samples (batch, entries, samples) of every entry given what is known; noise (samples, latent + columns).

        The noise, standard normal, is the same for every row. Where there are columns of a few values, all is computed
        in float64: on which side of a threshold a sample falls, rounding must not decide.
        """
        if len(self.categories) == 0 and not self.is_pair.any():
            found: Tensor = self(x, mask, noise)
            return found
        wide = {name: part.double() for name, part in self.named_parameters()}
        wide |= {name: part.double() for name, part in self.named_buffers() if part.is_floating_point()}
        found = functional_call(self, wide, (x.double(), mask, noise.double()))
        return found.to(x.dtype)

    def forward(self, x: Tensor, mask: Tensor, noise: Tensor) -> Tensor:
        """What `imagine` gives, in the precision of the weights."""
        mean, log_deviation = self.encode(x, mask)
        z = mean[:, None] + log_deviation.exp()[:, None] * noise[:, : self.latent]
        located, spread = self.decode(z)
        of_column = noise[:, self.latent :]
        of_entry = of_column[:, self.column_of_entry]
        number = torch.clamp(located + spread * of_entry, self.low, self.high)
        is_high = torch.special.ndtr(of_entry) < torch.sigmoid(located)
        sampled = torch.where(self.is_pair, torch.where(is_high, self.high, self.low), number)
        if len(self.categories):
            level = torch.special.ndtr(of_column[:, self.column_of_entry[self.categories[:, 0]]])
            reached = self._log_shares(located).exp().cumsum(-1) < level[..., None]
            # Rounding may leave the sum of all shares below the level: then it is the last.
            place = torch.minimum(reached.sum(-1), self.is_category.sum(-1) - 1)
            chosen = self.categories.expand(*place.shape, -1).gather(-1, place[..., None])[..., 0]
            sampled = sampled.where(self.is_number, 0).scatter(-1, chosen, 1.0)
        return sampled.transpose(1, 2)

    def _log_shares(self, located: Tensor) -> Tensor:
        """log p(x | z) of each category, (..., columns that are categories, most), -inf for the padding."""
        return located[..., self.categories].masked_fill(~self.is_category, -torch.inf).log_softmax(-1)


def _layers(n_inputs: int, hidden: int, n_outputs: int, layers: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(*MlpTrunk(n_inputs, hidden, layers, dropout).layers, nn.Linear(hidden, n_outputs))


def spread_noise(n_samples: int, n_numbers: int) -> Tensor:
    """Standard normal numbers (samples, numbers), one in each of as many equally likely ranges for every column.

    They stand for the normal distribution better than as many independent draws (a Latin hypercube sample).
    """
    rank = torch.rand(n_samples, n_numbers).argsort(0)
    return torch.special.ndtri((rank + 0.5) / n_samples)

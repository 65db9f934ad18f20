"""A layer that learns which groups to select: selectors that draw from Concrete distributions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

# Logits move so many times faster than the weights of a network at the same learning rate. They have farther to go:
# a selector has made up its mind when one of them is several units above all others.
PACE = 30.0
# Short of 1, whose absence has no logarithm.
SUREST = 1 - 1e-6


def gumbel(like: Tensor) -> Tensor:
    """Noise that makes the largest of noisy logits a draw from their softmax."""
    return -torch.empty_like(like).exponential_().log()


def _lengths(count: int, longest: int, device: torch.device) -> Tensor:
    """Random lengths (count,) from 1 to the longest; in half of them 1 is as likely as 2 and 3, or 4 to 7 together.

    Where all lengths are equally likely, the first selectors seldom learn without the many that come after them.
    """
    even, short, half = torch.rand(3, count, device=device)
    return torch.where(half < 0.5, 1 + even * longest, (longest + 1) ** short).floor().clamp_max(longest)


class ConcreteSelector(nn.Module):
    """Selectors, each with a logit for every group; only groups in `allowed` (groups,) can be selected."""

    allowed: Tensor

    def __init__(self, n_selectors: int, allowed: Tensor) -> None:
        super().__init__()
        self.register_buffer("allowed", allowed)
        # Nearly equal, so that the data decide; not quite, so that no two selectors are the same.
        self.slow_logits = nn.Parameter(torch.randn(n_selectors, len(allowed), device=allowed.device) / (10 * PACE))

    @property
    def logits(self) -> Tensor:
        """How much each selector wants each group, (selectors, groups)."""
        return (PACE * self.slow_logits).masked_fill(~self.allowed, -torch.inf)

    def draw(self, count: int, temperature: float, prefixes: bool = False) -> Tensor:
        """Random sets (count, groups) of softly selected groups: from 0 to 1, and near one of the two when cold.

        A group is left out as far as all selectors leave it out, 1 - (1 - m_1)(1 - m_2)...: two that agree gain nothing
        over one, so they learn to differ. With `prefixes`, each set is what the first few selectors give, chance says
        how many: the first one learns what is best alone, the next what completes a pair, and so on.
        """
        logits = self.logits.expand(count, -1, -1)
        soft = ((logits + gumbel(logits)) / temperature).softmax(2)
        if prefixes:
            place = torch.arange(1, soft.shape[1] + 1, device=soft.device)[:, None]
            soft = soft * (place <= _lengths(count, soft.shape[1], soft.device)[:, None, None])
        # As a sum of logarithms: the gradient of a product of zeros makes the host wait for the device.
        return -(-soft.clamp_max(SUREST)).log1p().sum(1).expm1()

    @torch.no_grad()
    def choice(self) -> Tensor:
        """What the selectors select in the end, (selectors,), nothing twice.

        First what one wants most, by the first that wants it; then those that came too late take, in turn, what they
        want most of the rest.
        """
        logits, chosen, late = self.logits.clone(), [], []
        for selector, group in enumerate(logits.argmax(1).tolist()):
            if group in chosen:
                late.append(selector)
            else:
                chosen.append(group)
        for selector in late:
            logits[:, chosen] = -torch.inf
            chosen.append(int(logits[selector].argmax()))
        return torch.tensor(chosen, device=logits.device)

    @torch.no_grad()
    def order(self) -> Tensor:
        """All groups, (groups,): the choice of the first selector, of the next, and on; then by how wanted they are."""
        chosen = self.choice()
        wanted = self.logits.log_softmax(1).logsumexp(0)
        left = torch.ones_like(self.allowed).index_fill(0, chosen, False).nonzero()[:, 0]
        return torch.cat([chosen, left[wanted[left].argsort(descending=True, stable=True)]])

"""An objective on everything that is known, for tests of training."""

from torch import nn


class Separating:
    """Cross entropy of a linear layer."""

    def __init__(self, policy):
        self.policy = policy

    def losses(self, rows, weight, progress):
        del progress
        losses = nn.functional.cross_entropy(self.policy(rows.x), rows.y, reduction="none")
        yield (losses * weight).sum() / weight.sum()

    def validate(self, rows):
        return nn.functional.cross_entropy(self.policy(rows.x), rows.y)

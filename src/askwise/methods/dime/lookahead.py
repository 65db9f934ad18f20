"""Whether to look further ahead than one question, settled on the validation rows."""

from __future__ import annotations

import torch

from askwise.core.rows import Rows
from askwise.core.tensors import evaluating
from askwise.methods.dime.objectives import JointObjective
from askwise.methods.dime.policy import DimePolicy

# What follows a question of the mean price counts so much.
DISCOUNT = 0.7
# The loss along the path must be lower by so many standard errors.
BEYOND_CHANCE = 2.0


@torch.no_grad()
def looking_ahead_pays(policy: DimePolicy, objective: JointObjective, rows: Rows) -> bool:
    """Whether the loss along the greedy path of these rows is lower beyond chance if the policy looks ahead."""
    with evaluating(policy):
        ahead, weights = objective.path_losses(rows)
        with policy.looking_at_one_question():
            one_step, _ = objective.path_losses(rows)
    gain = (one_step - ahead) / weights.mean()
    return bool(gain.mean() > BEYOND_CHANCE * gain.std() / len(gain) ** 0.5)

"""Whether to look further ahead than one question, settled on the validation rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from askwise.core.arrays import largest
from askwise.core.rows import Rows
from askwise.core.step import Step
from askwise.core.tensors import evaluating
from askwise.methods.dime.objectives import JointObjective
from askwise.methods.dime.policy import DimePolicy
from askwise.training.episode import Episode

# What follows a question of the mean price counts so much.
DISCOUNT = 0.7
# How long both rankings are learnt beside joint training, and from which share of the steps.
TRIAL, TRIAL_STEPS = 0.15, 0.25
# The loss along the path must be lower by so many standard errors.
STANDARD_ERRORS = 2.0
# With fewer rows to validate on, nothing but chance would show.
FEWEST_ROWS = 60


def half_by_information(step: Step) -> Step:
    """The same step with the second half of the rows asking what tells most by itself, per price.

    Not every other row: updates take every 4th or 8th row of a batch, so that each would see one order only.
    """
    _, choice = largest(step.values)
    second_half = torch.arange(len(choice), device=choice.device) >= len(choice) // 2
    return replace(step, choice=torch.where(second_half, choice, step.choice))


class TrialObjective(JointObjective):
    """Joint training in which half of the rows walk by each ranking, so that both see where they lead.

    What lies ahead is learnt from one step to the next: a walk that does not look ahead says nothing of one that does.
    """

    def walked(self, rows: Rows, **options: Any) -> Episode:
        return super().walked(rows, change=half_by_information, **options)

    def returns_ahead(self, rows: Rows, episode: Episode, gains: Tensor, first: Tensor) -> Tensor:
        del gains
        return episode.after(self.best_returns(rows, episode.known, first))


@torch.no_grad()
def looking_ahead_pays(policy: DimePolicy, objective: JointObjective, rows: Rows) -> bool:
    """Whether the loss along the greedy path of these rows is lower beyond chance if the policy looks ahead."""
    with evaluating(policy):
        ahead, weights = objective.path_losses(rows)
        with policy.looking_at_one_question():
            one_step, _ = objective.path_losses(rows)
    gain = (one_step - ahead) / weights.mean()
    return bool(gain.mean() > STANDARD_ERRORS * gain.std() / len(gain) ** 0.5)

"""Episodes: the states of a batch of walks, and the steps between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from askwise.core.step import Step
from askwise.core.walk import random_open
from askwise.training.known_sets import random_known
from askwise.training.update import without_gradients


@dataclass(frozen=True)
class Episode:
    """States of one or more walks of each row of a batch, and the steps between them.

    known (states, batch, groups): what each state knows. choice (steps, batch): the group that each step asks. taken
    (steps, batch): False if nothing could be asked, or the two states are no step apart. repeated (states, batch): a
    state that only repeats the one before, so it must not count again.
    lengths: the number of states of each walk; its steps lead from each state to the next. most_known: how many groups
    a state of each walk knows at most.
    """

    known: Tensor
    choice: Tensor
    taken: Tensor
    repeated: Tensor
    lengths: tuple[int, ...]
    most_known: tuple[int, ...]

    @staticmethod
    def of_steps(steps: Iterable[Step]) -> Episode:
        """The episode of one walk, recorded without gradients."""
        known, choice, taken = [], [], []
        with without_gradients():
            for step in steps:
                known.append(step.known)
                choice.append(step.choice)
                taken.append(step.can_ask)
            known.append(step.known_next)
            first = torch.zeros_like(taken[0])
            repeated = torch.stack([first, *(~asked for asked in taken)])
        return Episode(
            torch.stack(known), torch.stack(choice), torch.stack(taken), repeated, (len(known),), (len(choice),)
        )

    @staticmethod
    def random_step(available: Tensor) -> Episode:
        """One step from a random set of the available groups (rows, groups) to that set with one more group."""
        known = random_known(available)
        open_ = available & ~known
        choice, taken = random_open(open_), open_.any(1)
        known_next = known | torch.zeros_like(known).scatter(1, choice[:, None], taken[:, None])
        repeated = torch.stack([torch.zeros_like(taken), ~taken])
        states = torch.stack([known, known_next])
        return Episode(states, choice[None], taken[None], repeated, (2,), (available.shape[1],))

    def only_recorded(self, recorded: Tensor | None) -> Episode:
        """The same where a step that asks what a row does not have is not taken; recorded: its groups, (batch, groups).

        What follows such a step only repeats the state before, though the group is among those that were tried.
        """
        if recorded is None:
            return self
        has = recorded.gather(1, self.choice.T).T
        in_vain = torch.split(self.taken & ~has, [length - 1 for length in self.lengths])
        first = torch.zeros_like(self.taken[:1])
        repeats = torch.cat([part for steps in in_vain for part in (first, steps)])
        return replace(self, taken=self.taken & has, repeated=self.repeated | repeats)

    @staticmethod
    def cat(episodes: Sequence[Episode]) -> Episode:
        """Several episodes of the same rows as one."""
        return Episode(
            torch.cat([e.known for e in episodes]),
            torch.cat([e.choice for e in episodes]),
            torch.cat([e.taken for e in episodes]),
            torch.cat([e.repeated for e in episodes]),
            tuple(length for e in episodes for length in e.lengths),
            tuple(most for e in episodes for most in e.most_known),
        )

    @property
    def n_states(self) -> int:
        return len(self.known)

    @property
    def n_rows(self) -> int:
        return self.known.shape[1]

    @property
    def known_counts(self) -> list[tuple[int, int]]:
        """For each walk its states times rows, and how many groups one of them knows at most."""
        return [(length * self.n_rows, most) for length, most in zip(self.lengths, self.most_known, strict=True)]

    def take(self, rows: slice) -> Episode:
        """The episode of some of the rows."""
        return replace(
            self,
            known=self.known[:, rows],
            choice=self.choice[:, rows],
            taken=self.taken[:, rows],
            repeated=self.repeated[:, rows],
        )

    def window(self, n_steps: int) -> Episode:
        """Of one walk, `n_steps` steps in a row of each row, from a random state on.

        After the last state follows the first, so that all steps are drawn equally often; that is no step, and is not
        taken.
        """
        (length,) = self.lengths
        start = torch.randint(length, (self.n_rows,), device=self.known.device)
        state = (start + torch.arange(n_steps + 1, device=self.known.device)[:, None]) % length
        step, is_step = state[:-1].clamp_max(length - 2), state[:-1] < length - 1
        taken = self.taken.gather(0, step)
        return Episode(
            self.known.gather(0, state[..., None].expand(-1, -1, self.known.shape[2])),
            self.choice.gather(0, step),
            taken & is_step,
            torch.cat([torch.zeros_like(taken[:1]), ~taken & is_step]),
            (n_steps + 1,),
            self.most_known,
        )

    def before(self, values: Tensor) -> Tensor:
        """Of values of states (states, ...), those of the states that a step leads from: (steps, ...)."""
        return torch.cat([part[:-1] for part in torch.split(values, list(self.lengths))])

    def after(self, values: Tensor) -> Tensor:
        """Of values of states (states, ...), those of the states that a step leads to: (steps, ...)."""
        return torch.cat([part[1:] for part in torch.split(values, list(self.lengths))])

    def gains(self, losses: Tensor) -> Tensor:
        """How much lower the loss is after each step, (steps, batch), from losses of states (states, batch)."""
        return self.before(losses) - self.after(losses)

    def ends(self, values: Tensor) -> Tensor:
        """Of values of states (states, ...), those of the last state of each walk: (walks, ...)."""
        return torch.stack([part[-1] for part in torch.split(values, list(self.lengths))])

    def returns_ahead(self, gains: Tensor, now: Tensor, later: Tensor, ends: Tensor) -> Tensor:
        """What follows each step, discounted, (steps, batch): gains (steps, batch) of the steps after it.

        now, later (steps, batch): the factors of a step's own gain, and of what follows it. ends (walks, batch): what
        the last state of each walk is worth.
        """
        found: list[Tensor] = []
        start = 0
        for length, end in zip(self.lengths, ends, strict=True):
            steps: list[Tensor] = []
            for t in reversed(range(start, start + length - 1)):
                steps.append(end)
                end = torch.where(self.taken[t], now[t] * gains[t] + later[t] * end, end)
            found += reversed(steps)
            start += length - 1
        return torch.stack(found)

    def choice_of_states(self) -> Tensor:
        """The group that is asked from each state, (states, batch); 0 at the end of a walk, where none is."""
        parts = torch.split(self.choice, [length - 1 for length in self.lengths])
        none = torch.zeros_like(self.choice[:1])
        return torch.cat([part for steps in parts for part in (steps, none)])

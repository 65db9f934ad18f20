"""CMICOT: the groups that tell most in the best company, whatever the groups asked before tell already."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from askwise.core.errors import AskwiseError
from askwise.core.features import FeatureSpace
from askwise.core.tasks import Task
from askwise.methods.base import ClassifierMethod, with_settings
from askwise.methods.binning import MISSING, Levels, levels_of
from askwise.methods.checks import check_whole
from askwise.methods.cmicot_search import Bits, ExactScores, GreedyScores
from askwise.methods.forward import forward_selection
from askwise.methods.static import OrderPolicy, StaticMethod
from askwise.methods.table import TableMethod
from askwise.training.loop import Training

POOLS = ("all", "asked")
# Of every bit each pair is looked at: a wide table has fewer bits a column.
MOST_BITS = 1600
# No table has rows enough to fill the cells of larger teams.
MOST_MEMBERS = 7
# How many pairs of teams are still tried one by one, for each bit.
MOST_PAIRS_OF_TEAMS = 200


@with_settings
class CmicotClassifier(ClassifierMethod, TableMethod, StaticMethod):
    """Asks in the order of CMICOT: conditional information with complementing and opposing teams.

    (Shishkin et al., 2016.) Every column is turned into bits, "above a threshold" or "is this category". The score of a
    bit f, when the bits of S have been asked, is

        J(f) = max over H, |H| <= helpers, of min over G in S, |G| <= opponents, of I(y; f | H, G).

    The helpers H bring out what f tells only in company; the opponents G take away what is known already. A group's
    score is that of its best bit. Where there are few teams, all are tried. Else a team takes one member after the
    other, first all helpers and then the opponents, each time the best for its side.

    The authors score I(y; f, H | G) with H and G both out of S. There G may hold all of H, which never raises that
    information and makes it the one above; here it always does, so that no bit lives off its helpers. Then helpers may
    also come from groups not asked yet, and a pair that tells only together (an exclusive or) is found from the start.
    Bits of f's own group come with it: as helpers they count on its side, I(y; f, h | ...).

    What chance adds to the information of few rows is taken off. A row where f's column is missing tells nothing; a
    helper or opponent that is missing counts as 0. Free columns oppose from the start. With unequal costs, the score is
    divided by the cost.

    helpers, opponents: the most members of a team. pool: where helpers come from, 'all' groups or, as the authors
    have it, only those 'asked' before. levels: into how many levels of about as many rows each thresholds cut a number,
    at most.
    """

    registry_name = "cmicot-classifier"

    helpers: int = 1
    opponents: int = 2
    pool: Literal["all", "asked"] = "all"
    levels: int = 3

    def check_settings(self) -> None:
        super().check_settings()
        check_whole("helpers", self.helpers, least=0)
        check_whole("opponents", self.opponents, least=0)
        check_whole("levels", self.levels, least=2)
        if self.pool not in POOLS:
            raise AskwiseError(f"pool must be 'all' or 'asked', was given {self.pool!r}")
        if self.helpers + self.opponents > MOST_MEMBERS:
            given = f"{self.helpers} and {self.opponents}"
            raise AskwiseError(f"helpers and opponents must be at most {MOST_MEMBERS} together, was given {given}")

    def order(self, policy: OrderPolicy, training: Training, task: Task) -> Tensor:
        space = policy.space
        n_levels = min(self.levels, max(2, MOST_BITS // space.n_columns + 1))
        bits = bits_of(levels_of(training.train.in_memory(), space, task, n_levels), space)
        return cmicot_order(bits, space, self.steps(space), self.helpers, self.opponents, self.pool)


def bits_of(levels: Levels, space: FeatureSpace) -> Bits:
    """A bit for each step between two levels of a number, and for each category; none for what never varies."""
    by_answer = np.argsort(levels.of_answer, kind="stable")
    values, present, group = [], [], []
    for column, level in enumerate(levels.of_columns[by_answer].T):
        there = level != MISSING
        found = np.unique(level[there])
        # Of two categories one bit tells all.
        for this in found[1:] if levels.ordered[column] or len(found) <= 2 else found:
            values.append(level >= this if levels.ordered[column] else level == this)
            present.append(there)
            group.append(space.group_of_column[column])
    n_rows = len(levels)

    def stacked(parts: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(np.stack(parts, 1) if parts else np.zeros((n_rows, 0), dtype=bool))

    answer = torch.from_numpy(levels.of_answer[by_answer])
    return Bits(stacked(values).float(), stacked(present), torch.tensor(group, dtype=torch.int64), answer)


def cmicot_order(
    bits: Bits, space: FeatureSpace, steps: int, helpers: int, opponents: int, pool: str = "all"
) -> Tensor:
    """The groups in the order of CMICOT (groups,); after so many steps, the rest by their scores then."""
    others = max(bits.n_bits - 1, 0)
    few = _n_subsets(others, helpers) * _n_subsets(others, opponents) <= MOST_PAIRS_OF_TEAMS
    scorer = (ExactScores if few else GreedyScores)(bits, helpers, opponents, pool)
    scorer.ask(-1)
    return forward_selection(space, steps, lambda: _of_groups(scorer.scores(), bits.group, space.n_groups), scorer.ask)


def _n_subsets(n: int, most: int) -> int:
    return sum(math.comb(n, k) for k in range(most + 1))


def _of_groups(scores: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """The best score among the bits of each group; 0 for a group without any."""
    best = torch.full((n_groups + 1,), -math.inf, dtype=torch.float64)
    best.scatter_reduce_(0, group % (n_groups + 1), scores, "amax")
    return best[:n_groups].where(best[:n_groups] > -math.inf, 0.0)

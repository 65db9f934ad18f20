"""Bits, and what each tells in the best company against the strongest opponents: tried one by one, or greedily."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from askwise.methods.binning import information

# Cells of a table of counts that are computed at a time: what a cache about holds.
CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Bits:
    """Columns as bits (rows, bits), 0 or 1 and 0 where missing; present (rows, bits); answer (rows,), in levels.

    Rows lie in the order of their answers. group: whose each bit is, (bits,), -1 for free ones.
    """

    values: Tensor
    present: Tensor
    group: Tensor
    answer: Tensor

    @property
    def n_bits(self) -> int:
        return len(self.group)

    @property
    def n_answers(self) -> int:
        return int(self.answer[-1]) + 1


class Scores:
    """Scores of bits, while groups are asked one after the other."""

    def __init__(self, bits: Bits, helpers: int, opponents: int, pool: str) -> None:
        self.bits, self.helpers, self.opponents, self.pool = bits, helpers, opponents, pool
        self.share = bits.present.double().mean(0)
        self.asked = torch.zeros(0, dtype=torch.int64)

    def ask(self, group: int) -> None:
        """The bits of a group are known from now on; -1 for the free ones."""
        self.asked = torch.cat([self.asked, (self.bits.group == group).nonzero()[:, 0]])

    def scores(self) -> Tensor:
        """J of every bit, (bits,); of no use for bits that were asked."""
        raise NotImplementedError


class ExactScores(Scores):
    """Tries all teams."""

    def __init__(self, bits: Bits, helpers: int, opponents: int, pool: str) -> None:
        super().__init__(bits, helpers, opponents, pool)
        rows = torch.cat([bits.answer[:, None], bits.values, bits.present], 1).long()
        # Rows that are alike are counted once: a few bits differ in few ways.
        rows, self.times = torch.unique(rows, dim=0, return_counts=True)
        answer, values, present = rows[:, 0], rows[:, 1 : bits.n_bits + 1], rows[:, bits.n_bits + 1 :]
        self.bits = Bits(values.float(), present.bool(), bits.group, answer)

    def scores(self) -> Tensor:
        done = set(self.asked.tolist())
        found = [0.0 if f in done else self._score(f) for f in range(self.bits.n_bits)]
        return torch.tensor(found, dtype=torch.float64) * self.share

    def _score(self, f: int) -> float:
        own = self.bits.group == self.bits.group[f]
        asked = [g for g in self.asked.tolist() if not own[g]]
        pool = range(self.bits.n_bits) if self.pool == "all" else [*own.nonzero()[:, 0].tolist(), *asked]
        best = -math.inf
        for team in _subsets([h for h in pool if h != f], self.helpers):
            joint = [f, *(h for h in team if own[h])]
            given = [h for h in team if not own[h]]
            worst = min(self._information(f, joint, [*given, *against]) for against in _subsets(asked, self.opponents))
            best = max(best, worst)
        return best

    def _information(self, f: int, joint: list[int], given: list[int]) -> float:
        there = self.bits.present[:, f]
        members = self.bits.values[there][:, [*given, *joint]].long()
        state = (members << torch.arange(members.shape[1]).flip(0)).sum(1)
        cell = state * self.bits.n_answers + self.bits.answer[there]
        shape = (2 ** len(given), 2 ** len(joint), self.bits.n_answers)
        counts = torch.bincount(cell, self.times[there].double(), math.prod(shape))
        return float(information(counts.reshape(shape)))


def _subsets(members: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(members, k) for k in range(most + 1))


@dataclass(frozen=True)
class Teams:
    """A team for every bit: the state of its side and of what is given, (rows, bits), and the bits in each, (bits,)."""

    side: Tensor
    given: Tensor
    n_side: Tensor
    n_given: Tensor

    def joined(self, values: Tensor, member: Tensor, beside: Tensor) -> Teams:
        """Each bit's team with one more member (bits,), on its side where `beside` says so; -1 for none."""
        more = values[:, member.clamp_min(0)].to(torch.uint8)
        side, given = (member >= 0) & beside, (member >= 0) & ~beside
        return Teams(
            torch.where(side, 2 * self.side + more, self.side),
            torch.where(given, 2 * self.given + more, self.given),
            self.n_side + side,
            self.n_given + given,
        )


class GreedyScores(Scores):
    """Lets each team take one member after the other, and keeps what a new group does not change."""

    def __init__(self, bits: Bits, helpers: int, opponents: int, pool: str) -> None:
        super().__init__(bits, helpers, opponents, pool)
        edges = torch.searchsorted(bits.answer, torch.arange(bits.n_answers + 1)).tolist()
        self.rows_of_answer = [slice(a, b) for a, b in itertools.pairwise(edges)]
        self.own = bits.group[:, None] == bits.group
        self.open = bits.group >= 0
        self.new = self.asked
        self._find_helpers()

    def ask(self, group: int) -> None:
        before = len(self.asked)
        super().ask(group)
        self.open = self.open & (self.bits.group != group)
        self.new = torch.cat([self.new, self.asked[before:]])

    def scores(self) -> Tensor:
        if self.pool == "asked" and len(self.asked):
            self._find_helpers()
            self.new = self.asked
        if len(self.new):
            self._oppose()
        return torch.stack([self.alone, *self.opposed]).amin(0) * self.share

    def _find_helpers(self) -> None:
        """Teams with helpers only, `teams`, and what each bit tells in them, `alone`."""
        n_rows, n_bits = self.bits.values.shape
        nothing = torch.zeros(n_rows, n_bits, dtype=torch.uint8)
        none = torch.zeros(n_bits, dtype=torch.int64)
        every, all_beside = torch.arange(n_bits), torch.ones(n_bits, dtype=torch.bool)
        teams = Teams(nothing, nothing, none, none).joined(self.bits.values, every, all_beside)
        self.alone = self._told(teams)
        pool = every if self.pool == "all" else self.asked
        for _ in range(self.helpers):
            told, member = self._extreme(teams, self.open, pool, largest=True)
            told_beside, member_beside = self._with_own(teams)
            beside = told_beside > told
            told = torch.where(beside, told_beside, told)
            helps = told > self.alone + 1e-12
            member = torch.where(beside, member_beside, member).where(helps, -1)
            teams = teams.joined(self.bits.values, member, beside)
            self.alone = torch.where(helps, told, self.alone)
        self.teams = [teams] * (self.opponents + 1)
        self.opposed = [torch.full((n_bits,), math.inf, dtype=torch.float64) for _ in range(self.opponents)]
        self.against = [torch.full((n_bits,), -1) for _ in range(self.opponents)]

    def _oppose(self) -> None:
        """Let the new bits be opponents: only teams whose earlier opponents changed are looked at anew."""
        changed = torch.zeros(self.bits.n_bits, dtype=torch.bool)
        for place in range(self.opponents):
            told, member = self._extreme(self.teams[place], self.open & ~changed, self.new, largest=False)
            again, member_again = self._extreme(self.teams[place], self.open & changed, self.asked, largest=False)
            told, member = torch.where(changed, again, told), torch.where(changed, member_again, member)
            replaced = changed | (told < self.opposed[place])
            self.opposed[place] = torch.where(replaced, told, self.opposed[place])
            self.against[place] = torch.where(replaced, member, self.against[place])
            changed = replaced
            given = torch.zeros_like(changed)
            self.teams[place + 1] = self.teams[place].joined(self.bits.values, self.against[place], given)
        self.new = self.new[:0]

    def _told(self, teams: Teams) -> Tensor:
        """What each bit tells in its team, (bits,)."""
        told = torch.zeros(self.bits.n_bits, dtype=torch.float64)
        for part in self._parts(teams, torch.arange(self.bits.n_bits), 1):
            told[part] = information(self._counts(teams, part, self.asked[:0])[1][..., 0])
        return told

    def _with_own(self, teams: Teams) -> tuple[Tensor, Tensor]:
        """The most that each bit tells with another of its own group on its side, and that other one, (bits,)."""
        told = torch.full((self.bits.n_bits,), -math.inf, dtype=torch.float64)
        best = torch.full((self.bits.n_bits,), -1)
        for group in sorted(set(self.bits.group[self.open].tolist())):
            members = (self.bits.group == group).nonzero()[:, 0]
            if len(members) == 1:
                continue
            for part in self._parts(teams, members, len(members)):
                with_one, without = self._counts(teams, part, members)
                # (team, given, side, answer, member) twice becomes (team, member, given, side and member, answer).
                counts = torch.stack([without - with_one, with_one], 3).permute(0, 5, 1, 2, 3, 4).flatten(3, 4)
                told[part], place = information(counts).max(1)
                best[part] = members[place]
        return told, best

    def _extreme(self, teams: Teams, of: Tensor, pool: Tensor, largest: bool) -> tuple[Tensor, Tensor]:
        """The largest or smallest of what each bit tells given one more of the pool, and that one, (bits,)."""
        away = -math.inf if largest else math.inf
        told = torch.full((self.bits.n_bits,), away, dtype=torch.float64)
        best = torch.full((self.bits.n_bits,), -1)
        if not len(pool):
            return told, best
        for part in self._parts(teams, of.nonzero()[:, 0], len(pool)):
            with_one, total = self._counts(teams, part, pool)
            counts = torch.stack([total - with_one, with_one], 2).permute(0, 5, 1, 2, 3, 4).flatten(2, 3)
            values = information(counts).where(~self.own[part][:, pool], away)
            told[part], place = values.max(1) if largest else values.min(1)
            best[part] = pool[place]
        return told, best

    def _parts(self, teams: Teams, bits: Tensor, n_pool: int) -> Iterator[Tensor]:
        """Bits whose teams are alike, some at a time."""
        kind = teams.n_side[bits] * 64 + teams.n_given[bits]
        for this in sorted(set(kind.tolist())):
            alike = bits[kind == this]
            cells = 2 ** (this // 64 + this % 64 + 1) * self.bits.n_answers * n_pool
            yield from torch.split(alike, max(1, CELLS_AT_ONCE // cells))

    def _counts(self, teams: Teams, part: Tensor, pool: Tensor) -> tuple[Tensor, Tensor]:
        """Rows by (team, given, side, answer), with each of the pool 1, (..., pool), and all of them, (..., 1)."""
        n_side, n_given = int(teams.n_side[part[0]]), int(teams.n_given[part[0]])
        cell = (teams.given[:, part].short() << n_side) + teams.side[:, part]
        cell = cell.where(self.bits.present[:, part], -1).T.contiguous()
        states = torch.arange(2 ** (n_side + n_given), dtype=cell.dtype)[:, None]
        with_one, total = [], []
        for rows in self.rows_of_answer:
            there = (cell[:, None, rows] == states).flatten(0, 1).float()
            with_one.append(there @ self.bits.values[rows][:, pool])
            total.append(there.sum(1, keepdim=True))
        shape = (len(part), 2**n_given, 2**n_side, -1)
        return tuple(  # type: ignore[return-value]
            torch.stack([c.reshape(*shape[:3], c.shape[1]) for c in found], 3) for found in (with_one, total)
        )

"""What the presence of a value tells about the answer: its information, and an exact permutation test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askwise.core.arrays import Array

# Probabilities that differ by less than this share are the same: rounding must not leave out the observed table.
SAME = 1e-7


@dataclass(frozen=True)
class PresenceTest:
    """Tests of several groups against the same answers.

    n_of_answer (answers,): how many rows have each answer; every number is above 0.
    """

    n_of_answer: Array

    @cached_property
    def n_rows(self) -> int:
        return int(self.n_of_answer.sum())

    @cached_property
    def log_factorial(self) -> Array:
        """The logarithms of 0!, 1!, ..., n!."""
        return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, self.n_rows + 1)))])

    def information(self, n_present: Array) -> float:
        """Mutual information of presence and answer in nats, from how many rows of each answer have the value.

        What chance alone gives on average is subtracted: (answers - 1) / (2 rows), Miller and Madow's correction.
        """
        observed = np.stack([n_present, self.n_of_answer - n_present]) / self.n_rows
        expected = observed.sum(1, keepdims=True) * observed.sum(0)
        there = observed > 0
        found = float((observed[there] * np.log(observed[there] / expected[there])).sum())
        return max(0.0, found - (len(self.n_of_answer) - 1) / (2 * self.n_rows))

    def deviations(self, n_present: Array) -> Array:
        """By how many standard deviations of chance more rows of each answer have the value than expected."""
        n, share = self.n_rows, n_present.sum() / self.n_rows
        expected = self.n_of_answer * share
        variance = expected * (1 - share) * (n - self.n_of_answer) / max(n - 1, 1)
        return np.asarray((n_present - expected) / np.sqrt(np.maximum(variance, np.finfo(float).tiny)))

    def p_value(self, n_present: Array) -> float:
        """How likely a table as unlikely as this one is if presence is shuffled among the rows.

        The answer that deviates most is tested against all others. With two answers that is the whole table. With
        more, any of them could have deviated most, so the probability is multiplied by their number.
        """
        n_answers = len(self.n_of_answer)
        if n_answers < 2:
            return 1.0
        most = int(np.abs(self.deviations(n_present)).argmax())
        p_value = self._permutation_p_value(int(self.n_of_answer[most]), int(n_present.sum()), int(n_present[most]))
        return min(1.0, p_value * (n_answers if n_answers > 2 else 1))

    def _permutation_p_value(self, n_answer: int, n_present: int, n_both: int) -> float:
        """Sum the probabilities of all overlaps that are no likelier than `n_both`: Fisher's exact test."""
        first = max(0, n_answer + n_present - self.n_rows)
        overlap = np.arange(first, min(n_answer, n_present) + 1)
        log_p = (
            self._log_choose(n_answer, overlap)
            + self._log_choose(self.n_rows - n_answer, n_present - overlap)
            - self._log_choose(self.n_rows, n_present)
        )
        return min(1.0, float(np.exp(log_p[log_p <= log_p[n_both - first] + SAME]).sum()))

    def _log_choose(self, n: int, k: Array | int) -> Array:
        return np.asarray(self.log_factorial[n] - self.log_factorial[k] - self.log_factorial[n - k])


def false_discovery_limit(p_values: Array, rate: float) -> float:
    """Return the p-value up to which tests pass, so that at most a share `rate` of those is expected to be chance.

    The procedure of Benjamini and Hochberg. Below 0 if no test passes.
    """
    ordered = np.sort(p_values)
    passes = ordered <= rate * np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
    return float(ordered[passes].max()) if passes.any() else -1.0

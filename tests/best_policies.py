"""The best policies there are, by dynamic programming over a joint table, in plain numpy.

What a policy pays and loses from a state on is weighted by the state's probability, so that the branches of a question
add up.
"""

import itertools
from functools import cache

import numpy as np

from joint_tables import UNKNOWN, answered, entropy, label_masses, open_features, posterior, states_of


class BestPolicies:
    """The least loss for a cost and the least cost for a loss, among all deterministic policies that may stop anywhere.

    The loss is H(y | x_S) where a policy stops: the cross entropy of the exact posterior.
    """

    def __init__(self, joint, costs):
        self.joint, self.costs = joint, costs
        self.start = (UNKNOWN,) * (joint.ndim - 1)
        self._known = {}

    def mass(self, state):
        return self._look(state)[0]

    def entropy(self, state):
        return self._look(state)[1]

    def _look(self, state):
        if state not in self._known:
            masses = label_masses(self.joint, state)
            self._known[state] = masses.sum(), entropy(masses / masses.sum()) if masses.sum() > 0 else 0.0
        return self._known[state]

    def questions(self, state):
        """For each open feature: it, what asking costs, and the states that its answers lead to."""
        for i in open_features(state):
            then = [answered(state, i, v) for v in range(self.joint.shape[i + 1])]
            yield i, self.mass(state) * self.costs[i], [s for s in then if self.mass(s) > 0]

    def frontier(self):
        """(cost, loss) of every policy that no other one beats in both, cheapest first."""

        @cache
        def best(state):
            points = [np.array([[0.0, self.mass(state) * self.entropy(state)]])]
            for _, cost, then in self.questions(state):
                sums = np.array([[cost, 0.0]])
                for s in then:
                    sums = undominated((sums[:, None] + best(s)[None]).reshape(-1, 2))
                points.append(sums)
            return undominated(np.concatenate(points))

        return best(self.start)

    def least_loss_within(self, k):
        """The least expected loss of policies that never pay more than k for a single case."""

        @cache
        def least(state):
            spent = sum(c for c, value in zip(self.costs, state, strict=True) if value is not UNKNOWN)
            found = [self.mass(state) * self.entropy(state)]
            for i, _, then in self.questions(state):
                if spent + self.costs[i] <= k + 1e-9:
                    found.append(sum(map(least, then)))
            return min(found)

        return least(self.start)

    def least_cost_until(self, m):
        """The least expected cost of policies that go on while H > m and something is left."""

        @cache
        def least(state):
            if self.entropy(state) <= m + 1e-12:
                return 0.0
            return min((cost + sum(map(least, then)) for _, cost, then in self.questions(state)), default=0.0)

        return least(self.start)


def undominated(points):
    """Those of the points (cost, loss) which no other one equals or beats in both, cheapest first."""
    points = points[np.lexsort([points[:, 1], points[:, 0]])]
    least_before = np.minimum.accumulate(np.r_[np.inf, points[:-1, 1]])
    return points[points[:, 1] < least_before - 1e-12]


def least_loss_at(frontier, k):
    """The least loss on the frontier at a mean cost of at most k."""
    return frontier[frontier[:, 0] <= k + 1e-9, 1].min(initial=np.inf)


def least_cost_at(frontier, m):
    """The least cost on the frontier at a mean loss of at most m."""
    return frontier[frontier[:, 1] <= m + 1e-9, 0].min(initial=np.inf)


def every_policy(joint, costs):
    """Each deterministic policy played out: (cost, loss) of every case, and the probability of the cases.

    A policy is a table of what it does in each state, an open feature or None to stop: for small tasks only.
    """
    inner = [s for s in states_of(joint) if UNKNOWN in s]
    does = [[None, *open_features(s)] for s in inner]
    cases = list(itertools.product(*(range(n) for n in joint.shape[1:])))
    weight = np.array([label_masses(joint, case).sum() for case in cases])
    for actions in itertools.product(*does):
        policy = dict(zip(inner, actions, strict=True))
        yield np.array([_play(policy, joint, costs, case) for case in cases]), weight


def _play(policy, joint, costs, case):
    state, cost = (UNKNOWN,) * len(case), 0.0
    while (i := policy.get(state)) is not None:
        state, cost = answered(state, i, case[i]), cost + costs[i]
    return cost, entropy(posterior(joint, state))

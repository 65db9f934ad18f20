"""Joint tables of a label and discrete features, in plain numpy: what enumeration says.

A joint table has the label on its first axis and each feature on one of the others. A state names the value of each
feature, None where it is not known.
"""

import itertools

import numpy as np
import torch

UNKNOWN = None


def table_of(distribution):
    """The joint table of a discrete distribution, from the probabilities of its cases."""
    ways = distribution.ways.numpy()
    joint = np.zeros((distribution.joint.shape[1], *(ways.max(0) + 1)))
    for way, masses in zip(ways, distribution.joint.numpy(), strict=True):
        joint[(slice(None), *way)] = masses
    return joint


def entropy(p):
    """In nats, with 0 log 0 = 0."""
    p = np.asarray(p, dtype=float)
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def states_of(joint):
    """Every state that can occur, the empty one first."""
    states = itertools.product(*([UNKNOWN, *range(n)] for n in joint.shape[1:]))
    return [s for s in states if label_masses(joint, s).sum() > 0]


def open_features(state):
    return [i for i, value in enumerate(state) if value is UNKNOWN]


def answered(state, feature, value):
    return (*state[:feature], value, *state[feature + 1 :])


def label_masses(joint, state):
    """p(y, x_S) of each label."""
    index = tuple(slice(None) if value is UNKNOWN else value for value in state)
    return joint[(slice(None), *index)].reshape(len(joint), -1).sum(1)


def posterior(joint, state):
    masses = label_masses(joint, state)
    return masses / masses.sum()


def outcomes(joint, state, features):
    """Every way the features can come out: the state then, and p(y, x_features | x_S) of each label."""
    total = label_masses(joint, state).sum()
    for values in itertools.product(*(range(joint.shape[i + 1]) for i in features)):
        then = state
        for i, value in zip(features, values, strict=True):
            then = answered(then, i, value)
        masses = label_masses(joint, then) / total
        if masses.sum() > 0:
            yield then, masses


def information(joint, state, *features):
    """I(y; features | x_S) by its definition, eq. (1): KL(p(y, x_i | x_S) || p(y | x_S) p(x_i | x_S))."""
    p = posterior(joint, state)
    found = 0.0
    for _, masses in outcomes(joint, state, features):
        there = masses > 0
        found += float((masses[there] * np.log(masses[there] / (p[there] * masses.sum()))).sum())
    return found


def as_tensors(states):
    """Values (0 where unknown) and mask of states, as a distribution takes them."""
    values = [[0 if value is UNKNOWN else value for value in s] for s in states]
    known = [[value is not UNKNOWN for value in s] for s in states]
    return torch.tensor(values, dtype=torch.float64), torch.tensor(known)

"""How much each state counts in a loss."""

from dataclasses import replace

import pytest
import torch

from askwise import ArgmaxDirectClassifier, Budget, CwcfClassifier, DimeClassifier, OpportunisticClassifier
from askwise.core.features import FeatureSpace
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.methods.argmax_direct import SoftSelection
from askwise.methods.cwcf import ClassValues, CwcfObjective
from askwise.methods.dime.objectives import JointObjective, ValueWarmUp
from askwise.methods.opportunistic import OpportunisticObjective
from askwise.training.gap_weights import GapWeights
from askwise.training.objectives import MaskedPrediction
from askwise.training.q_learning import QLearning, episodes
from askwise.training.weights import StateWeights, weighted_mean

SPACE = FeatureSpace(("a", "b", "c"), (1.0, 2.0, 1.0), (0, 1, 2), (0, 1, 2))
TASK = Classification((0, 1))
PRICES = Prices.tensor(SPACE.costs)


class UntilB(StateWeights):
    """States that know b, be it in part, do not count."""

    def __call__(self, rows, known, row_weight):
        return super().__call__(rows, known, row_weight) * (known[..., 1] == 0)


def policy_of(method):
    torch.manual_seed(0)
    policy = method(hidden=8, dropout=0.0).build(SPACE, TASK)
    # Larger weights than the initial ones, so that rows are asked different things.
    for p in policy.parameters():
        p.data.mul_(2)
    return policy


OBJECTIVES = {
    "masked prediction": lambda: MaskedPrediction(policy_of(DimeClassifier), TASK),
    "values of random steps": lambda: ValueWarmUp(policy_of(DimeClassifier), TASK, PRICES),
    "joint": lambda: JointObjective(policy_of(DimeClassifier), TASK, PRICES, 3, 0.5),
    "joint, in part": lambda: JointObjective(policy_of(DimeClassifier), TASK, PRICES, 3, 0.5, learn_from=1),
    "soft selection": lambda: SoftSelection(policy_of(ArgmaxDirectClassifier), TASK, 3, 0.5),
    "values of classes": lambda: ClassValues(policy_of(CwcfClassifier)),
    "q": lambda: CwcfObjective(policy_of(CwcfClassifier), TASK, PRICES, 3, None, 30, 30),
    "q, budget": lambda: CwcfObjective(policy_of(CwcfClassifier), TASK, PRICES, 3, Budget(3), 30, 30),
    "opportunistic": lambda: OpportunisticObjective(policy_of(OpportunisticClassifier), TASK, PRICES, 3, None, 30, 30),
}


def make_rows(n=30):
    g = torch.Generator().manual_seed(0)
    present = torch.ones(n, 3, dtype=torch.bool)
    return Rows(torch.randn(n, 3, generator=g), present, present, torch.randint(0, 2, (n,), generator=g))


def loss_of(objective, rows):
    """One loss; of Q-learning that of episodes as they are walked, since its memory would cut the gradient."""
    torch.manual_seed(0)
    weight = torch.ones(len(rows))
    if isinstance(objective, QLearning):
        given = objective.prices, objective.n_steps, objective.rule, torch.tensor(1.0)
        with torch.no_grad():
            asked_at = episodes(objective.policy, rows, *given)
        return objective._loss(rows, weight, asked_at)
    return next(objective.losses(rows, weight, torch.tensor(0.0)))


def reach(objective):
    """How far a loss depends on what each column holds, by its gradient."""
    rows = make_rows()
    rows.x.requires_grad_()
    loss_of(objective, rows).backward()
    return rows.x.grad.abs().sum(0)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_state_of_weight_0_has_no_gradient(name):
    """Only states that know b see what it holds: where they do not count, nothing is learnt from it."""
    objective = OBJECTIVES[name]()
    assert (reach(objective) > 0).all()
    objective.weights = UntilB()
    found = reach(objective)
    assert found[1] == 0
    assert found[0] > 0
    assert found[2] > 0


@pytest.mark.parametrize("name", OBJECTIVES)
@torch.no_grad()
def test_a_state_of_weight_0_does_not_count_in_validation(name):
    objective, rows, other = OBJECTIVES[name](), make_rows(), make_rows()
    objective.policy.eval()
    other.x[:, 1] += 3
    assert objective.validate(rows) != objective.validate(other)
    objective.weights = UntilB()
    assert objective.validate(rows).isfinite()
    assert objective.validate(rows) == objective.validate(other)


def test_a_state_counts_as_much_as_its_row_unless_told_otherwise():
    rows, row_weight = make_rows(3), torch.tensor([1.0, 0.0, 0.5])
    known = torch.zeros(4, 3, 3, dtype=torch.bool)
    assert torch.equal(StateWeights()(rows, known, row_weight).expand(4, 3), row_weight.expand(4, 3))


def test_a_weighted_mean_is_the_mean_of_what_counts():
    values = torch.tensor([[1.0, 2.0], [3.0, 50.0]])
    assert weighted_mean(values, torch.tensor([[1.0, 1.0], [1.0, 0.0]])).item() == 2
    # One weight for each column; in all, weights may be below 1.
    assert weighted_mean(values, torch.tensor([0.25, 0.0])).item() == 2


@pytest.mark.parametrize("factor", [1.0, 1e6])
def test_where_nothing_counts_the_mean_and_its_gradient_are_0(factor):
    values = torch.ones(2, 3, requires_grad=True)
    mean = weighted_mean(values.square(), torch.zeros(3))
    (factor * mean).backward()
    assert mean.item() == 0
    assert (values.grad == 0).all()


def test_soft_selection_counts_states_whatever_is_asked_next():
    """A state that counted only if the group asked next is recorded would be one of rows with that group."""
    rows = make_rows()
    present = rows.present.clone()
    present[:15, 1] = False
    objective = SoftSelection(policy_of(ArgmaxDirectClassifier), TASK, 3, 0.5)
    objective.weights = GapWeights.fit(SPACE, TASK, ["b"], replace(rows, present=present, available=present))
    rows = objective.weights.rows_with_tries(replace(rows, present=present, available=present))
    assert objective.experience(rows, torch.tensor(0.0)).can_ask.all()

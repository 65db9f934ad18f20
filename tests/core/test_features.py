"""Groups, columns and entries."""

import pytest
import torch

from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows, evenly

# Columns: p, q in the panel, a free one, a category of three entries.
SPACE = FeatureSpace(("panel", "kind"), (2.0, 1.0), (0, 0, -1, 1), (0, 1, 2, 3, 3, 3))


def test_counts_are_those_of_groups_columns_and_entries():
    assert (SPACE.n_groups, SPACE.n_columns, SPACE.n_entries) == (2, 4, 6)
    assert SPACE.members[0] == (0, 1)
    assert SPACE.members[1] == (3,)


def test_a_panel_is_available_if_any_of_its_columns_is():
    present = torch.tensor([[1, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]], dtype=torch.bool)
    assert SPACE.available(present).tolist() == [[True, False], [False, True], [True, True]]


def test_a_free_column_belongs_to_no_group():
    present = torch.tensor([[0, 0, 1, 0]], dtype=torch.bool)
    assert not SPACE.available(present).any()


def test_only_present_columns_of_a_known_panel_are_revealed():
    policy = Policy(SPACE)
    present = torch.tensor([[True, False, True, True]])
    assert policy.mask(torch.tensor([[True, False]]), present).tolist() == [[True, False, True, False]]


def test_a_free_column_is_known_from_the_start_where_it_is_present():
    policy = Policy(SPACE)
    nothing = torch.zeros(2, 2, dtype=torch.bool)
    present = torch.tensor([[True, True, True, True], [True, True, False, True]])
    assert policy.mask(nothing, present).tolist() == [[False, False, True, False], [False] * 4]


def test_all_entries_of_a_category_are_hidden_and_shown_together():
    policy = Policy(SPACE)
    x = torch.arange(1.0, 7.0)[None]
    assert policy.hide(x, torch.tensor([[False, True, False, True]])).tolist() == [[0, 2, 0, 4, 5, 6]]


def test_batches_and_take_keep_rows_together():
    x = torch.arange(10.0)[:, None]
    present = (x > 4).bool()
    rows = Rows(x, present, present, torch.arange(10))
    parts = rows.batches(4)
    assert [len(p) for p in parts] == [4, 4, 2]
    assert torch.cat([p.y for p in parts]).tolist() == list(range(10))
    taken = rows.take(torch.tensor([7, 2]))
    assert taken.x[:, 0].tolist() == taken.y.tolist() == [7, 2]
    assert taken.available.tolist() == [[True], [False]]


def test_evenly_spread_positions_are_few_different_and_reach_both_ends():
    assert evenly(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert evenly(10, 4).tolist() == [0, 3, 6, 9]
    assert evenly(7, 1).tolist() == [0]
    assert evenly(0, 3).tolist() == []
    many = evenly(10**9 + 7, 1000)
    assert many[-1] == 10**9 + 6
    assert len(many.unique()) == 1000


@pytest.mark.parametrize("presence", [(), (4, 5)])
def test_beside_free_columns_what_was_recorded_is_looked_up_and_no_loop_goes_over_columns(presence, monkeypatch):
    groups = (-1, 1, 0, -1, *(0, 1)[: len(presence)])
    n = len(groups)
    space = FeatureSpace(("a", "b"), (1.0, 1.0), groups, tuple(range(n)), presence_columns=presence)
    present = torch.tensor([[1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 1]], dtype=torch.bool)
    present = torch.cat([present, torch.ones(3, len(presence), dtype=torch.bool)], 1)
    first = space.recorded(present)
    monkeypatch.setattr(torch, "tensor", None)
    monkeypatch.setattr(FeatureSpace, "_any_of", None)
    assert space.recorded(present).tolist() == first.tolist() == [[False, True], [True, False], [False, False]]


def test_inputs_of_presence_make_a_panel_available_and_not_recorded():
    space = FeatureSpace(("panel",), (1.0,), (0, 0, 0), (0, 1, 2), presence_columns=(2,))
    present = torch.tensor([[0, 0, 1], [0, 1, 1]], dtype=torch.bool)
    assert space.available(present).tolist() == [[True], [True]]
    assert space.recorded(present).tolist() == [[False], [True]]

"""Rows that are taken, moved and copied."""

import pytest
import torch

from askwise.core.rows import Rows


def make_rows(n=10, shared=True):
    present = torch.rand(n, 3, generator=torch.Generator().manual_seed(0)) < 0.5
    available = present if shared else present[:, :2].clone()
    return Rows(torch.arange(3.0 * n).view(n, 3), present, available, torch.arange(n))


CHANGES = {
    "take": lambda rows: rows.take(torch.tensor([3, 1])),
    "to": lambda rows: rows.to("cpu", torch.float64),
    "clone": lambda rows: rows.clone(),
    "batches": lambda rows: rows.batches(4)[2],
}


@pytest.mark.parametrize("change", CHANGES)
def test_where_availability_is_presence_it_stays_one_tensor(change):
    same, other = CHANGES[change](make_rows()), CHANGES[change](make_rows(shared=False))
    assert same.available is same.present
    assert other.available is not other.present
    assert len(same.parts) == 3
    assert len(other.parts) == 4


def test_a_precision_is_for_numbers_not_for_truths_and_labels():
    found = make_rows().to("cpu", torch.float64)
    assert [part.dtype for part in found.parts] == [torch.float64, torch.bool, torch.int64]


@pytest.mark.parametrize("shared", [True, False])
def test_copying_into_rows_takes_over_the_contents_and_keeps_the_places(shared):
    rows, other = make_rows(shared=shared), make_rows(shared=shared)
    mine = other.clone()
    for part in mine.parts:
        part.zero_()
    places = [part.data_ptr() for part in mine.parts]
    assert torch.equal(other.x, rows.x)
    mine.copy_(rows)
    assert [part.data_ptr() for part in mine.parts] == places
    assert all(torch.equal(a, b) for a, b in zip(mine.parts, rows.parts, strict=True))


def test_rows_without_answers_stay_without():
    rows = make_rows()
    bare = Rows(rows.x, rows.present, rows.available)
    assert bare.take(slice(0, 2)).y is None
    assert bare.to("cpu", torch.float64).y is None
    assert len(bare.parts) == 2

"""Rows that are taken, moved, copied and handed out in batches."""

import numpy as np
import pytest
import torch

from askwise.core.rows import Rows, even_batches
from askwise.training.loop import Training
from askwise.training.update import Plan

CPU = torch.device("cpu")


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


# Sources of batches


@pytest.mark.parametrize(("n", "batch_size"), [(1, 4), (4, 4), (10, 4), (10, 3), (10, 1), (7, 100), (100, 33)])
def test_an_epoch_has_every_row_once_in_batches_of_one_size_and_what_is_left_is_padding(n, batch_size):
    n_batches, size = even_batches(n, batch_size)
    batches = list(make_rows(n).shuffled_batches(n_batches, size, CPU))
    assert [(len(rows), len(weight)) for rows, weight in batches] == [(size, size)] * n_batches
    weight = torch.cat([weight for _, weight in batches])
    labels = torch.cat([rows.y for rows, _ in batches])
    assert sorted(labels[weight > 0].tolist()) == list(range(n))
    assert weight.tolist() == [1.0] * n + [0.0] * (n_batches * size - n)
    assert size <= batch_size
    assert n_batches * size - n < n_batches


def test_a_batch_keeps_what_belongs_to_a_row_together():
    rows = make_rows(shared=False)
    for batch, _ in rows.shuffled_batches(3, 4, CPU):
        for part, whole in zip(batch.parts, rows.parts, strict=True):
            assert torch.equal(part, whole[batch.y])


def test_where_there_is_more_padding_than_rows_batches_are_still_whole():
    batches = list(make_rows(3).shuffled_batches(2, 5, CPU))
    assert [len(rows) for rows, _ in batches] == [5, 5]
    assert torch.cat([weight for _, weight in batches]).tolist() == [1.0] * 3 + [0.0] * 7


def test_epochs_differ_and_a_seed_gives_the_same_one():
    def order(seed):
        torch.manual_seed(seed)
        return [torch.cat([rows.y for rows, _ in make_rows(50).shuffled_batches(5, 10, CPU)]).tolist() for _ in "ab"]

    assert order(0) == order(0) != order(1)
    assert order(0)[0] != order(0)[1]


def test_rows_in_memory_are_a_source_that_needs_no_loading():
    rows = make_rows()
    assert rows.in_memory() is rows


class Halves:
    """A source of a user's own: rows in two parts, such as two files, each shuffled by itself."""

    def __init__(self, rows):
        self.parts = rows.batches((len(rows) + 1) // 2)

    def __len__(self):
        return sum(map(len, self.parts))

    def shuffled_batches(self, n_batches, size, device):
        for part in self.parts:
            yield from part.shuffled_batches(n_batches // 2, size, device)

    def in_memory(self):
        raise MemoryError


class LeastSquares:
    """Fits a line; keeps which rows it saw."""

    def __init__(self, line):
        self.line, self.seen = line, []

    def losses(self, rows, weight, progress):
        del progress
        self.seen += rows.y[weight > 0].tolist()
        yield ((self.line(rows.x[:, :1])[:, 0] - rows.x[:, 0]) ** 2 * weight).mean()

    def validate(self, rows):
        return ((self.line(rows.x[:, :1])[:, 0] - rows.x[:, 0]) ** 2).mean()


def test_training_takes_any_source_and_never_needs_all_rows_at_once():
    rows, line = make_rows(8), torch.nn.Linear(1, 1)
    objective = LeastSquares(line)
    Training(line, Halves(rows), rows, seed=0).stage("fit", objective, Plan(epochs=3, batch_size=2))
    assert [sorted(objective.seen[i : i + 8]) for i in (0, 8, 16)] == [list(range(8))] * 3


def test_weights_are_copied_since_a_table_may_not_be_written_to():
    weights = np.arange(10.0)
    rows = make_rows().with_weight(weights)
    weights[:] = 0
    assert rows.weight.tolist() == list(range(10))

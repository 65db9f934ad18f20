"""How long and how gently to train."""

from askwise.training.schedule import MOST_EPOCHS, batch_size_for, dropout_for, epochs_for, hidden_for


def test_dropout_falls_as_rows_grow():
    rows = [1, 100, 1000, 10_000, 1_000_000]
    found = [dropout_for(n) for n in rows]
    assert found == sorted(found, reverse=True)
    assert found[0] == 0.3
    assert found[2] == 0.2
    assert 0 < found[-1] < 0.05


def test_small_tables_are_not_read_more_than_a_hundred_times():
    assert epochs_for(100, batch_size_for(100), updates=1700) == MOST_EPOCHS


def test_epochs_give_about_the_updates_asked_for():
    for n_rows in (20_000, 50_000, 100_000):
        batch_size = batch_size_for(n_rows)
        per_epoch = -(-n_rows // batch_size)
        assert 1700 <= epochs_for(n_rows, batch_size, 1700) * per_epoch < 1700 + per_epoch


def test_large_tables_are_read_a_few_times_at_least():
    assert epochs_for(10_000_000, 512, updates=1700) == 4


def test_networks_are_wider_with_many_rows_and_wider_still_for_many_columns_on_a_gpu():
    assert [hidden_for(n, 30, "cpu") for n in (9_999, 10_000)] == [128, 256]
    assert [hidden_for(50_000, columns, "cuda") for columns in (30, 784)] == [512, 1024]
    assert hidden_for(50_000, 784, "another device") == 256

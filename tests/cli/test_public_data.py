"""The named public datasets: whole, named and grouped as they say."""

from __future__ import annotations

import pytest

from askwise import AskwiseError
from askwise.data.tables.public import PUBLIC, load_public
from askwise.data.tables.schema import Schema


@pytest.mark.parametrize("name", PUBLIC)
def test_a_dataset_makes_a_schema(name):
    data = load_public(name)
    schema = Schema.of(data.X, costs=data.costs, groups=data.groups, free=data.free)
    assert data.name == name
    assert data.title
    assert data.target not in schema.column_names
    assert len(data.X) == len(data.y)
    assert data.task == ("regression" if name == "diabetes" else "classification")


def test_labels_are_words_where_the_data_has_words():
    assert set(load_public("breast-cancer").y) == {"malignant", "benign"}
    assert set(load_public("wine").y) == {"class 0", "class 1", "class 2"}


def test_an_unknown_dataset_gets_the_nearest_name():
    with pytest.raises(AskwiseError, match="did you mean 'digits'"):
        load_public("digit")

"""Mistakes in writing a method get an error that says what to do."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from askwise import METHODS, AskwiseError
from askwise.methods.base import ClassifierMethod, with_settings
from askwise.methods.random_order import RandomOrder
from askwise.methods.registry import ENDINGS, IMAGE, IMAGE_METHODS
from askwise.methods.static import StaticMethod
from askwise.methods.table import TableMethod

SETTINGS = {"hidden": 8, "epochs": 1, "random_state": 0}


@with_settings
class Nameless(ClassifierMethod, TableMethod, RandomOrder):
    """Has no registry_name."""


@with_settings
class Ordered(ClassifierMethod, TableMethod, StaticMethod):
    """Asks in the order that it is given."""

    registry_name = "ordered-classifier"
    given: object = None

    def order(self, policy, training, task):
        del policy, training, task
        return self.given


def test_a_method_without_a_registry_name_fits_and_says_so_when_it_is_saved(iris, tmp_path):
    model = Nameless(checkpoint_dir=tmp_path / "checkpoints", **SETTINGS).fit(*iris)
    assert len(model.predict(iris[0])) == len(iris[0])
    with pytest.raises(AskwiseError, match=r"Nameless has no registry_name.*METHODS in methods/registry.py"):
        model.save(tmp_path / "m.askwise")
    assert not (tmp_path / "m.askwise").exists()


def test_a_method_without_inputs_says_which_bases_have_them(iris):
    @with_settings
    class Blind(ClassifierMethod, RandomOrder):
        pass

    with pytest.raises(AskwiseError, match=r"Blind does not say what it learns from; inherit from TableMethod or Im"):
        Blind().fit(*iris)


def test_a_method_without_a_target_says_which_bases_have_one(iris):
    @with_settings
    class Aimless(TableMethod, RandomOrder):
        pass

    with pytest.raises(AskwiseError, match=r"Aimless does not say what it predicts; inherit from ClassifierMethod or"):
        Aimless().fit(*iris)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([3, 1, 0, 2], "it returned a list: use torch.tensor(...)"),
        (np.arange(4), "it returned a ndarray"),
        (None, "it returned a NoneType"),
        (torch.tensor([3, 1]), "it returned [3, 1]"),
        (torch.tensor([3, 1, 1, 0]), "it returned [3, 1, 1, 0]"),
        (torch.tensor([1, 2, 3, 4]), "it returned [1, 2, 3, 4]"),
        (torch.tensor([[0, 1, 2, 3]]), "it returned [[0, 1, 2, 3]]"),
        (torch.tensor([0.0, 1.0, 2.0, 3.0]), "it returned [0.0, 1.0, 2.0, 3.0]"),
    ],
)
def test_an_order_that_does_not_name_each_group_once_is_told(iris, given, words):
    wanted = "Ordered.order must return a tensor that names each of the 4 groups once, by its number from 0; "
    with pytest.raises(AskwiseError, match=re.escape(wanted + words)):
        Ordered(given=given, **SETTINGS).fit(*iris)


def test_an_order_is_asked_as_it_is_given(iris):
    model = Ordered(given=torch.tensor([3, 1, 0, 2]), **SETTINGS).fit(*iris)
    assert model.acquire(iris[0][:1]).order == [["x3", "x1", "x0", "x2"]]


@pytest.mark.parametrize("name", [*METHODS, *IMAGE_METHODS])
def test_a_name_in_the_registry_ends_with_what_is_predicted_and_learnt_from(name):
    method = (METHODS | IMAGE_METHODS)[name]
    ending = ENDINGS["classification" if issubclass(method, ClassifierMethod) else "regression"]
    assert name.endswith(ending)
    assert name.endswith(f"-{IMAGE}{ending}") == (name in IMAGE_METHODS)
    assert method.registry_name == name

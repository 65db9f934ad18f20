"""One cost a group, from what a user gives."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from askwise import AskwiseError, AskwiseWarning
from askwise.core.costs import own_costs, shared_costs
from askwise.data.tables.prices import group_costs
from askwise.data.tables.schema import Schema
from askwise.data.tables.shared_prices import names_in, without_names

COLUMNS = ("a", "b", "c", "d")
MEMBERS = {"panel": ("a", "b"), "c": ("c",)}


def costs(given, **changes):
    return group_costs(given, COLUMNS, MEMBERS, **{"free": ("d",), **changes})


def test_what_has_no_price_costs_one():
    assert costs(None) == (1.0, 1.0)
    assert costs({}) == (1.0, 1.0)
    assert costs({"c": 3}) == (1.0, 3.0)


def test_a_group_costs_its_price():
    assert costs({"panel": 7}) == (7.0, 1.0)


def test_else_a_group_costs_the_sum_of_the_prices_given_for_its_columns():
    assert costs({"a": 2, "b": 3}) == (5.0, 1.0)
    assert costs({"b": 3}) == (3.0, 1.0)


def test_a_price_for_a_group_and_for_one_of_its_columns_is_an_error():
    with pytest.raises(AskwiseError, match="group 'panel' has a price and so has its column 'b'"):
        costs({"panel": 7, "b": 3})


def test_a_group_of_one_column_with_a_name_of_its_own_has_one_price_too():
    with pytest.raises(AskwiseError, match="keep one"):
        group_costs({"test": 5, "a": 2}, ("a", "b"), {"test": ("a",), "b": ("b",)})


def test_a_group_named_after_one_of_its_columns_is_priced_as_a_group():
    members = {"a": ("a", "b"), "c": ("c",)}
    assert group_costs({"a": 9}, ("a", "b", "c"), members) == (9.0, 1.0)


def test_the_price_of_a_free_column_is_ignored_with_a_warning():
    with pytest.warns(AskwiseWarning, match="'d' is ignored: it is a free column"):
        assert costs({"c": 3, "d": 5}) == (1.0, 3.0)


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, -math.inf, "dear", None])
def test_a_price_that_is_not_a_number_above_zero_is_an_error(wrong):
    with pytest.raises(AskwiseError, match=r"the cost of 'c' is .* must be a number above 0"):
        costs({"c": wrong})
    with pytest.raises(AskwiseError, match="must be a number above 0"):
        costs([1, wrong])


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(AskwiseError, match="unknown column or group in costs: 'pannel'; did you mean 'panel'"):
        costs({"pannel": 3})


def test_a_sequence_has_a_price_for_each_group():
    for given in ([2, 3], (2, 3), np.array([2, 3]), pd.Series([2, 3]).to_list()):
        assert costs(given) == (2.0, 3.0)


def test_a_sequence_may_have_a_price_for_each_column():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert costs([2, 3, 4, 5]) == (5.0, 4.0)


def test_a_sequence_of_another_length_is_an_error():
    with pytest.raises(
        AskwiseError, match="3 prices; give one for each of the 2 groups, one for each of the 4 columns"
    ):
        costs([1, 2, 3])


def test_prices_by_position_are_those_of_columns():
    assert costs({0: 2, 2: 4}) == (2.0, 4.0)


def test_a_single_number_is_an_error_that_says_what_to_give():
    with pytest.raises(AskwiseError, match="costs"):
        costs(5)


def test_other_costs_change_only_what_they_name(clinic):
    trained = dict(zip(clinic.model_.schema.space.names, clinic.model_.costs(), strict=True))
    assert trained == {"sex": 1, "pressure": 2.5, "exercise test": 15, "smoker": 1, "scan": 40, "site": 1}
    changed = dict(zip(trained, clinic.model_.costs({"scan": 3}), strict=True))
    assert changed == {**trained, "scan": 3}


FRAME = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4], "c": [5.0, 6]})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": {"g": ["a", "x"]}}, "unknown column in group 'g': 'x'"),
        ({"groups": {"g": ["a", "b"], "h": ["b"]}}, "column 'b' is in two groups, 'g' and 'h'"),
        ({"groups": {"g": ["a", "a"]}}, "two groups|twice"),
        ({"groups": {"g": []}}, "no columns"),
        ({"groups": {"g": "ab"}}, "list of column names"),
        ({"groups": [["a", "b"]]}, "mapping of a group's name to its columns"),
        ({"groups": {"c": ["a", "b"]}}, "name of a column that is not in it"),
        ({"groups": {"g": [7]}}, "position 7"),
        ({"free": ["aa"]}, "unknown column in free 'aa'; did you mean 'a'"),
        ({"free": "a"}, "list of column names"),
        ({"free": ["a"], "groups": {"g": ["a", "b"]}}, "'a' is free and in group 'g'"),
        ({"free": ["a", "b", "c"]}, "nothing is left to ask"),
        ({"costs": {"aa": 2}}, "unknown column or group in costs"),
    ],
)
def test_groups_and_free_columns_that_can_not_be_are_errors(settings, message):
    with pytest.raises(AskwiseError, match=message):
        Schema.of(FRAME, **settings)


def test_groups_and_free_accept_positions():
    schema = Schema.of(FRAME, groups={"g": [0, 2]}, free=[1])
    assert schema.free == ("b",)
    assert [c.name for c in schema.columns_of("g")] == ["a", "c"]


# Prices that are shared


def shared_by(costs_of):
    return [(s.name, s.price, s.groups) for s in shared_costs(costs_of)]


def test_what_is_shared_is_paid_beside_own_prices_and_these_default_to_one():
    found = costs({"draw": {"price": 2.1, "for": ["panel", "c"]}, "c": 3})
    assert own_costs(found) == (1.0, 3.0)
    assert shared_by(found) == [("draw", 2.1, (0, 1))]


def test_a_group_may_be_in_several_shared_prices_and_be_named_by_a_column_or_a_position():
    found = costs(
        {"x": {"price": 2, "for": ["b"]}, "y": {"price": 3, "for": [2, "panel"]}, "z": {"price": 0, "for": ["c"]}}
    )
    assert shared_by(found) == [("x", 2.0, (0,)), ("y", 3.0, (0, 1))]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"s": {"price": 1, "for": ["x"]}},
            "unknown column or group in 'for' of 's': 'x'; allowed: 'a', 'b', 'c', 'panel'",
        ),
        ({"s": {"price": 1, "for": ["pannel"]}}, "did you mean 'panel'?"),
        ({"s": {"price": 1, "for": ["d"]}}, "'d' in 'for' of the shared price 's' is a free column"),
        ({"c": {"price": 1, "for": ["c"]}}, "'c' is a question, and a shared price needs a name of its own"),
        ({"a": {"price": 1, "for": ["c"]}}, "'a' is a column, and a shared price needs a name of its own"),
        ({"s": {"price": 1, "for": []}}, "'for' of the shared price 's' is empty"),
        ({"s": {"price": 1, "for": "c"}}, "takes a list of names, was given 'c'"),
        ({"s": {"price": 1, "for": ["c", "c"]}}, "names 'c' twice; keep one"),
        ({"s": {"price": 1, "for": ["panel", "a"]}}, "names 'panel' as 'panel' and as 'a'; keep one"),
        ({"s": {"price": -1, "for": ["c"]}}, "the price of 's' is -1"),
        ({"s": {"price": "much", "for": ["c"]}}, "the price of 's' is 'much'"),
        ({"s": {"price": True, "for": ["c"]}}, "the price of 's' is True"),
        ({"s": {"price": math.nan, "for": ["c"]}}, "the price of 's' is nan"),
        ({"s": {"price": 10**400, "for": ["c"]}}, "the price of 's' is 1000"),
        ({"s": {"price": 1}}, "it takes exactly 'price' and 'for'"),
        ({"s": {}}, "has nothing; it takes exactly 'price' and 'for'"),
        ({"s": {"price": 1, "for": ["c"], "per": 2}}, "has 'price', 'for', 'per'; it takes exactly"),
        ({"s": {"price": 1, "for": [["c"]]}}, "unknown column or group in 'for' of 's'"),
    ],
)
def test_an_impossible_shared_price_says_what_was_given_and_what_is_allowed(given, message):
    with pytest.raises(AskwiseError) as error:
        costs(given)
    assert message in str(error.value)


def test_prices_given_later_change_what_they_name_and_leave_the_rest():
    trained = costs({"draw": {"price": 2, "for": ["panel", "c"]}, "c": 3})
    assert costs(None, trained=trained) == trained
    own, dearer = costs({"c": 5}, trained=trained), costs({"draw": 4}, trained=trained)
    assert (own_costs(own), shared_by(own)) == ((1.0, 5.0), [("draw", 2.0, (0, 1))])
    assert (own_costs(dearer), shared_by(dearer)) == ((1.0, 3.0), [("draw", 4.0, (0, 1))])
    assert costs({"draw": 0}, trained=trained) == (1.0, 3.0)
    assert shared_by(costs({"draw": {"price": 1, "for": ["c"]}}, trained=trained)) == [("draw", 1.0, (1,))]
    assert shared_by(costs([8, 9], trained=trained)) == [("draw", 2.0, (0, 1))]


def test_names_in_prices_are_those_of_questions():
    given = {"a": 1, "draw": {"price": 2, "for": ["c", "d"]}, "odd": {"price": 1, "for": 3}}
    assert names_in(given) == ["a", "c", "d"]


def test_a_column_that_is_left_out_shares_nothing():
    given = {"a": 1, "draw": {"price": 2, "for": ["c", "a", 3]}, "visit": {"price": 2, "for": ["a"]}}
    assert without_names(given, ["a"], COLUMNS) == {"draw": {"price": 2, "for": ["c", "d"]}}


def test_a_schema_with_shared_prices_is_read_back_and_one_without_is_as_before():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    shared, plain = (Schema.of(frame, costs=c) for c in ({"s": {"price": 2, "for": ["a", "b"]}}, None))
    assert Schema.from_dict(shared.to_dict()) == shared
    assert shared.to_dict()["space"]["shared"] == {"s": {"price": 2.0, "for": [0, 1]}}
    assert list(plain.to_dict()["space"]) == ["names", "costs", "group_of_column"]

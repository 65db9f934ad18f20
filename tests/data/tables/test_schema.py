"""Tables as they are: types, holes, scales, categories."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from askwise import AskwiseError, AskwiseWarning, Budget, DimeClassifier, DimeRegressor
from askwise.data.tables.column import BOOLEAN, CATEGORY, MOST_CATEGORIES, NUMBER, Column, describe
from askwise.data.tables.schema import Schema
from askwise.data.tables.split import hold_out


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3], NUMBER),
        ([1.5, None, 3], NUMBER),
        (pd.array([1, None, 3], dtype="Int64"), NUMBER),
        (pd.array([1.5, None, 3], dtype="Float64"), NUMBER),
        (pd.Series([1, 2.5, None], dtype=object), NUMBER),
        ([True, False, True], BOOLEAN),
        (pd.array([True, None, False], dtype="boolean"), BOOLEAN),
        (pd.Series([True, None, False], dtype=object), BOOLEAN),
        (["x", "y", None], CATEGORY),
        (pd.array(["x", "y", None], dtype="string"), CATEGORY),
        (pd.Categorical([3, 1, 3]), CATEGORY),
        (pd.Series([1, "x", None], dtype=object), CATEGORY),
    ],
)
def test_a_column_has_the_kind_of_its_values(values, kind):
    assert describe(pd.Series(values), "c").kind == kind


def test_numbers_are_centred_and_scaled_by_what_is_there():
    frame = pd.DataFrame({"a": [10.0, 20, 30, np.nan]})
    rows = Schema.of(frame).encode(frame)
    assert rows.x[:, 0].tolist() == pytest.approx([-1.2247449, 0, 1.2247449, 0])
    assert rows.present[:, 0].tolist() == [True, True, True, False]


def test_a_category_is_one_group_of_one_hot_entries():
    frame = pd.DataFrame({"kind": ["b", "a", None, "c"], "n": [1.0, 2, 3, 4]})
    schema = Schema.of(frame)
    assert schema.space.names == ("kind", "n")
    assert schema.space.n_entries == 4
    assert schema.encode(frame).x[:, :3].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]]


def test_whole_number_categories_are_the_same_with_and_without_a_hole():
    schema = Schema.of(pd.DataFrame({"k": pd.Categorical([1, 2, 3])}))
    rows = schema.encode(pd.DataFrame({"k": [2.0, np.nan, 3.0]}))
    assert rows.x.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_categories_keep_the_order_of_their_dtype():
    sizes = pd.Categorical(["big", "small"], categories=["small", "middle", "big"])
    assert describe(pd.Series(sizes), "size").categories == ("small", "big")


def test_a_constant_column_is_kept_and_encoded_as_zero():
    frame = pd.DataFrame({"a": [7.0, 7, 7], "b": [1.0, 2, 3]})
    rows = Schema.of(frame).encode(frame)
    assert rows.x[:, 0].tolist() == [0, 0, 0]
    assert rows.present[:, 0].all()


def test_a_constant_of_awkward_digits_is_not_blown_up_by_rounding():
    frame = pd.DataFrame({"a": [0.1 + 0.2] * 1000 + [0.3] * 1000})
    assert Schema.of(frame).encode(frame).x.abs().max() < 1e-6


@pytest.mark.parametrize("unit", [1e-15, 1e-6, 1.0, 1e12])
def test_the_unit_of_a_column_does_not_change_its_encoding(unit):
    values = np.random.default_rng(0).normal(size=50)
    frame, scaled = pd.DataFrame({"a": values}), pd.DataFrame({"a": values * unit})
    expected = Schema.of(frame).encode(frame).x
    assert np.allclose(Schema.of(scaled).encode(scaled).x, expected, atol=1e-5)


def test_an_outlier_is_cut_at_ten_standard_deviations():
    values = np.r_[np.random.default_rng(0).normal(size=1000), 1e6]
    schema = Schema.of(pd.DataFrame({"a": values}))
    assert schema.encode(pd.DataFrame({"a": [1e30]})).x.item() == 10


def test_beyond_the_range_seen_a_number_counts_as_its_end():
    seen = pd.DataFrame({"age": [20.0, 35.0, 90.0], "is_ill": [True, False, True]})
    schema = Schema.of(seen)
    beyond = schema.encode(pd.DataFrame({"age": [600.0, -3.0], "is_ill": [True, False]})).x
    assert torch.equal(beyond, schema.encode(seen.iloc[[2, 0]].assign(is_ill=[True, False])).x)
    # As one answer, and in a model of before, which cut nothing but outliers.
    x, present = np.zeros((1, 2)), np.zeros((1, 2), dtype=bool)
    schema.put("age", 600.0, x, present)
    assert x[0, 0] == pytest.approx(float(beyond[0, 0]))
    facts = schema.to_dict()
    del facts["columns"][0]["stays_within"]
    assert Schema.from_dict(facts).encode(pd.DataFrame({"age": [600.0], "is_ill": [True]})).x[0, 0] == 10


def test_an_all_missing_column_is_an_error():
    with pytest.raises(AskwiseError, match="column 'b' has no value in any row; remove it"):
        Schema.of(pd.DataFrame({"a": [1, 2], "b": [np.nan, np.nan]}))


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinities_are_an_error_in_fit_and_in_prediction(bad, flowers, iris, fast):
    X = iris[0].copy()
    X[3, 2] = bad
    with pytest.raises(ValueError, match="infinity"):
        DimeClassifier(**fast).fit(X, iris[1])
    for call in (flowers.predict, flowers.acquire, flowers.information):
        with pytest.raises(ValueError, match="infinity"):
            call(X)
    with pytest.raises(AskwiseError, match="row 2: 'a' takes a finite number"):
        Schema.of(pd.DataFrame({"a": [1, None, bad]}))


def test_dates_are_an_error_that_says_what_to_do():
    with pytest.raises(AskwiseError, match="'when' holds dates or times; turn it into a number"):
        Schema.of(pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])}))


def test_a_category_never_seen_is_unavailable_with_a_warning(clinic, cases):
    X = cases[0].head(3).assign(sex="unheard of")
    with pytest.warns(
        AskwiseWarning,
        match=r"3 values were never seen in training and count as not available: 3 in 'sex' \('unheard of'; seen",
    ):
        acquired = clinic.acquire(X)
    assert not acquired.known["sex"].any()
    with pytest.warns(AskwiseWarning):
        assert acquired.proba == pytest.approx(clinic.predict_proba(X), abs=1e-6)
    assert acquired.proba == pytest.approx(clinic.predict_proba(X.assign(sex=None)), abs=1e-6)


def test_of_very_many_categories_the_most_frequent_are_kept_with_a_warning():
    values = [f"id{i}" for i in range(MOST_CATEGORIES + 20)] + ["often"] * 5
    with pytest.warns(AskwiseWarning, match="identifier, leave it out"):
        column = describe(pd.Series(values), "id")
    assert len(column.categories) == MOST_CATEGORIES
    assert "often" in column.categories


def test_text_in_a_numeric_column_at_prediction_is_an_error(clinic, cases):
    X = cases[0].head(2).astype({"pressure": object})
    X.iloc[1, X.columns.get_loc("pressure")] = "high"
    with pytest.raises(AskwiseError, match="'pressure' takes a number, was given 'high'"):
        clinic.predict(X)


def test_numbers_written_as_text_are_read_as_numbers(clinic, cases):
    X = cases[0].head(5)
    as_text = X.assign(pressure=[None if np.isnan(v) else repr(v) for v in X["pressure"]])
    assert np.array_equal(clinic.predict_proba(as_text), clinic.predict_proba(X))


def test_booleans_may_come_as_numbers_or_words(clinic, cases):
    X = cases[0].head(6)
    expected = clinic.predict_proba(X)
    for spelt in (X["smoker"].astype(int), X["smoker"].map({True: "yes", False: "no"}), X["smoker"].astype(object)):
        assert np.array_equal(clinic.predict_proba(X.assign(smoker=spelt)), expected)


# Single answers

KINDS = {
    NUMBER: Column("c", NUMBER),
    BOOLEAN: Column("c", BOOLEAN),
    # An empty text may be a category too.
    CATEGORY: Column("c", CATEGORY, categories=("", "a", "B", "2")),
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers().map(lambda n: n * 10**400)
    | st.none().map(lambda _: 10**5000)
    | st.floats()
    | st.text()
    | st.sampled_from(["yes", " A ", "2", "2.0", "1e999", "nan"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(kind=st.sampled_from(list(KINDS)), value=JSON)
def test_any_json_value_is_an_answer_or_a_short_error(kind, value):
    try:
        answer = KINDS[kind].parse(value)
    except AskwiseError as error:
        answer, message = None, str(error)
    else:
        message = ""
    assert answer is None or type(answer) is {NUMBER: float, BOOLEAN: bool, CATEGORY: str}[kind]
    assert len(message) < 200


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_single_value_or_too_large_is_a_short_error(kind):
    for value in ([], ["a"], {}, {"a": 1}, 10**400, -(10**5000), "9" * 1_000_000, ["a"] * 100_000):
        with pytest.raises(AskwiseError, match="'c' takes ") as caught:
            KINDS[kind].parse(value)
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_yes_is_no_number_in_an_answer_and_is_1_in_a_table_of_numbers(value):
    with pytest.raises(AskwiseError, match="'c' takes a number, was given"):
        KINDS[NUMBER].parse(value)
    frame = pd.DataFrame({"a": pd.Series([value, 2, 3.5, None], dtype=object)})
    same = pd.DataFrame({"a": [float(value), 2, 3.5, None]})
    assert Schema.of(frame).encode(frame).x.tolist() == Schema.of(same).encode(same).x.tolist()


def test_nullable_types_of_pandas_give_the_same_answers(clinic, cases):
    X = cases[0].head(40)
    nullable = X.convert_dtypes()
    assert str(nullable["smoker"].dtype) == "boolean"
    assert np.array_equal(clinic.predict_proba(nullable), clinic.predict_proba(X))


def test_the_index_of_a_table_is_kept_and_has_no_meaning(clinic, cases):
    X = cases[0].head(4)
    acquired = clinic.acquire(X.set_axis(["p", "p", "q", "q"]))
    assert acquired.known.index.tolist() == ["p", "p", "q", "q"]
    assert acquired.order == clinic.acquire(X).order


def test_two_columns_of_one_name_are_an_error():
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(AskwiseError, match="different names; given twice: 'a'"):
        Schema.of(frame)


def test_a_schema_survives_a_dict(clinic):
    schema = clinic.model_.schema
    assert Schema.from_dict(schema.to_dict()) == schema


def test_arrays_have_groups_x0_x1_and_no_feature_names(flowers):
    assert flowers.model_.schema.space.names == ("x0", "x1", "x2", "x3")
    assert not hasattr(flowers, "feature_names_in_")
    assert flowers.n_features_in_ == 4


def test_a_missing_value_is_never_asked(clinic, cases):
    X, _ = cases
    acquired = clinic.acquire(X)
    assert (acquired.known["pressure"] == X["pressure"].notna()).all()
    assert (acquired.known["scan"] == X["scan"].notna()).all()
    assert "age" not in acquired.known.columns


def test_a_panel_with_one_column_missing_is_asked_and_with_both_is_not(clinic, cases):
    X, _ = cases
    acquired = clinic.acquire(X)
    assert (acquired.known["exercise test"] == X[["rate", "pain"]].notna().any(axis=1)).all()


def test_the_missing_column_of_a_panel_is_not_revealed(clinic, cases):
    """Where pain is missing, the panel reveals rate alone: the answer is that of a table without pain."""
    X = cases[0][cases[0]["rate"].notna()].head(20)
    without = X.assign(pain=None)
    assert not np.array_equal(clinic.predict_proba(without), clinic.predict_proba(X))
    acquired = clinic.acquire(without, stop=Budget(100))
    assert acquired.known["exercise test"].all()


def test_a_row_without_any_value_gets_a_prediction(clinic, cases):
    nothing = cases[0].head(1).copy().astype(object)
    nothing[:] = None
    acquired = clinic.acquire(nothing)
    assert acquired.order == [[]]
    assert acquired.reason.tolist() == ["nothing-left"]
    assert acquired.proba.sum() == pytest.approx(1)


def test_a_free_column_where_missing_is_unknown(clinic, cases):
    """The value 0 after scaling is the mean age; unknown is told from it by the mask."""
    X = cases[0].head(5)
    mean_age = clinic.model_.schema.columns[0].center
    known, unknown = X.assign(age=mean_age), X.assign(age=np.nan)
    assert not np.array_equal(
        clinic.predict_proba(known, stop=Budget(0)), clinic.predict_proba(unknown, stop=Budget(0))
    )


def test_a_free_column_is_used_before_anything_is_asked(clinic, cases):
    X = cases[0].head(2).assign(age=[20.0, 90.0])
    young, old = clinic.predict_proba(X, stop=Budget(0))
    assert young[0] < old[0]


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (3, 8)])
def test_labels_of_every_type_come_back_as_given(labels, iris, fast):
    X, y = iris[0][:100], np.array(labels)[iris[1][:100]]
    model = DimeClassifier(**fast).fit(X, y)
    assert model.classes_.tolist() == sorted(labels)
    assert model.classes_.dtype.kind == y.dtype.kind
    assert set(model.predict(X).tolist()) <= set(labels)


@pytest.mark.parametrize("wrap", [list, pd.Series, lambda y: pd.Series(pd.Categorical(y)), lambda y: y.astype(object)])
def test_the_target_may_come_in_any_container(wrap, cases, clinic):
    model = DimeClassifier(**clinic.get_params()).fit(cases[0], wrap(cases[1]))
    assert np.array_equal(model.predict_proba(cases[0]), clinic.predict_proba(cases[0]))


# Targets that can't be


def test_a_constant_target_is_an_error(iris, fast):
    with pytest.raises(AskwiseError, match="one class only, 'a', in all 150 rows"):
        DimeClassifier(**fast).fit(iris[0], ["a"] * 150)
    with pytest.raises(AskwiseError, match=r"target is 4\.5 in all 150 rows; there is nothing to learn"):
        DimeRegressor(**fast).fit(iris[0], [4.5] * 150)


def test_fewer_rows_than_classes_is_an_error(iris, fast):
    with pytest.raises(AskwiseError, match="3 classes in 3 rows"):
        DimeClassifier(**fast).fit(iris[0][[0, 60, 120]], [0, 1, 2])


@pytest.mark.parametrize(("kind", "labels"), [("boolean", [False, True]), ("Int64", [0, 1])])
def test_labels_of_a_nullable_type_stay_what_they_are(kind, labels):
    y = pd.Series([1, 0, 1] * 20, dtype="Int64").astype(kind)
    model = DimeClassifier(hidden=4, epochs=1, pretrain_epochs=1).fit(pd.DataFrame({"a": np.arange(60.0)}), y)
    assert model.classes_.tolist() == labels
    assert type(model.predict(pd.DataFrame({"a": [1.0]})).tolist()[0]) is type(labels[0])


@pytest.mark.parametrize("kind", ["boolean", "Int64", "float64", "object"])
def test_missing_answers_are_told_whatever_their_type(iris, fast, kind):
    y = pd.Series([1, 0, None] * 50, dtype="Int64").astype(kind)
    with pytest.raises(AskwiseError, match="target is missing in 50 rows"):
        DimeClassifier(**fast).fit(iris[0], y)


def test_a_missing_answer_is_an_error(iris, fast):
    with pytest.raises(AskwiseError, match="target is missing in 1 rows"):
        DimeClassifier(**fast).fit(iris[0], [None, *list("ab" * 75)[1:]])
    with pytest.raises(ValueError, match="NaN"):
        DimeRegressor(**fast).fit(iris[0], [np.nan, *range(149)])


def test_text_as_the_target_of_a_regression_is_an_error(iris, fast):
    with pytest.raises(AskwiseError, match="target must be numbers"):
        DimeRegressor(**fast).fit(iris[0], ["a", "b", "c"] * 50)


def test_an_empty_table_is_an_error(fast):
    with pytest.raises(ValueError, match=r"0 sample|0 rows"):
        DimeClassifier(**fast).fit(pd.DataFrame({"a": []}), [])


# Holding rows out


def test_held_out_rows_are_a_fifth_stratified_and_apart():
    y = np.repeat([0, 1, 2], [10, 40, 50])
    train, val = hold_out(y, 0.2, seed=3, stratify=True)
    assert sorted([*train, *val]) == list(range(100))
    assert np.bincount(y[val]).tolist() == [2, 8, 10]


def test_one_persons_rows_stay_together():
    person = np.repeat(np.arange(30), 4)
    train, val = hold_out(np.zeros(120), 0.2, seed=0, stratify=True, by=person)
    assert not set(person[train]) & set(person[val])
    assert len(set(person[val])) == 6


def test_a_class_of_one_row_is_trained_on():
    y = np.array([0] * 20 + [1] * 20 + [2])
    for seed in range(10):
        train, val = hold_out(y, 0.2, seed=seed, stratify=True)
        assert 2 in y[train]
        assert len(val)


def test_split_by_may_name_a_column_which_is_then_no_feature(cases, fast):
    X, y = cases
    model = DimeClassifier(**fast).fit(X.assign(person=np.arange(300) // 3), y, split_by="person")
    assert "person" not in model.model_.schema.column_names
    assert model.model_.card["rows_validated"] == 60
    same = DimeClassifier(**fast).fit(X, y, split_by=np.arange(300) // 3)
    assert np.array_equal(model.predict_proba(X), same.predict_proba(X))


def test_split_by_what_is_not_there_is_an_error(cases, fast):
    with pytest.raises(AskwiseError, match="split_by='person' is no column of X"):
        DimeClassifier(**fast).fit(*cases, split_by="person")
    with pytest.raises(AskwiseError, match="split_by has 3 values for 300 rows"):
        DimeClassifier(**fast).fit(*cases, split_by=[1, 2, 3])
    with pytest.raises(AskwiseError, match="one value in all rows"):
        DimeClassifier(**fast).fit(*cases, split_by=np.ones(300))


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5])
def test_a_validation_fraction_outside_zero_to_one_is_an_error(fraction, iris, fast):
    with pytest.raises(AskwiseError, match="validation_fraction must lie between 0 and 1"):
        DimeClassifier(**fast, validation_fraction=fraction).fit(*iris)


def test_an_eval_set_is_what_is_validated_on(cases, new_cases, fast):
    model = DimeClassifier(**fast).fit(*cases, eval_set=new_cases)
    assert model.model_.card["rows_trained"] == 300
    assert model.model_.card["rows_validated"] == 80
    everything = model.acquire(new_cases[0]).spent.mean()
    assert model.frontier_["mean_cost"].max() == pytest.approx(everything)


def test_an_eval_set_that_does_not_fit_is_an_error(cases, new_cases, fast):
    X, y = new_cases
    with pytest.raises(AskwiseError, match="unknown label 'dead'"):
        DimeClassifier(**fast).fit(*cases, eval_set=(X, np.where(y == "sick", "dead", y)))
    with pytest.raises(ValueError, match="feature names"):
        DimeClassifier(**fast).fit(*cases, eval_set=(X.drop(columns="scan"), y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DimeClassifier(**fast).fit(*cases, eval_set=(X, y[:-1]))


def test_nothing_warns_on_a_table_without_surprises(cases, fast):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DimeClassifier(free=["age"], costs={"scan": 4}, **fast).fit(*cases)
        model.predict(cases[0], stop=Budget(3))

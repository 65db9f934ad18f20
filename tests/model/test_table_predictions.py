"""A table of predictions: the same as sessions give, row by row; what counts as missing; remarks and errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from askwise import AskwiseError, AverageCost, Budget, Confidence, DimeClassifier, Penalty, Session
from askwise.data.tables.column import is_missing
from askwise.model import table_predictions
from askwise.model.table_predictions import predict_table, prediction_columns, rows_at_once
from askwise.session.replies import session_facts
from implausible_values import with_codes

ROWS = 25


def session_of(model, row, stop):
    """A session in which the row answers; what it does not have is declined at the start."""
    schema = model.model_.schema
    known = {name: row[name] for name in schema.free if not is_missing(row[name])}
    session = Session(model, stop, known=known)
    for group in schema.space.names:
        if all(is_missing(row[column.name]) for column in schema.columns_of(group)):
            session.decline(group)
    session.run(lambda question: {column.name: row[column.name] for column in question.columns})
    return session


def check_against_sessions(model, frame, stop, refused=None):
    """Compare each row with a session; refused: values, by column, that limits refuse, and a session is not told."""
    table = predict_table(model.model_, frame, stop, allow_implausible=refused is not None)
    for (_, row), said in zip(frame.iterrows(), table.to_dict("records"), strict=True):
        row = row.astype(object).mask([row[name] in (refused or {}).get(name, ()) for name in row.index])
        session = session_of(model, row, stop)
        facts = session_facts(session)
        assert said["asked"].split("|") == (session.asked or [""])
        assert (said["n_asked"], said["reason"]) == (len(session.asked), session.reason)
        assert said["spent"] == pytest.approx(session.spent)
        if session.prediction.proba is None:
            assert said["prediction"] == pytest.approx(session.prediction.value, rel=1e-4)
        else:
            assert said["prediction"] == session.prediction.value
            proba = {name.removeprefix("proba_"): p for name, p in said.items() if name.startswith("proba_")}
            assert proba == pytest.approx(session.prediction.proba, abs=1e-5)
        told = [] if pd.isna(said["remarks"]) else said["remarks"].split("; ")
        told = [remark for remark in told if ", was given " not in remark]
        assert sorted(told) == sorted(facts["remarks"].values())
    return table


@pytest.mark.parametrize("stop", [None, Budget(20), Confidence(0.4), Penalty(0.01) | Budget(45), AverageCost(15)])
def test_each_row_is_asked_and_answered_as_in_a_session(clinic, new_cases, stop):
    frame = new_cases[0].head(ROWS).astype({"smoker": object, "site": float})
    frame.loc[frame.index[:3], ["scan", "age"]] = [[900.0, 50], [1.0, 150], [900.0, 150]]
    frame.iloc[5] = np.nan
    table = check_against_sessions(clinic, frame, stop)
    assert table["remarks"].notna().any()


@pytest.mark.parametrize("stop", [None, Budget(3)])
def test_each_row_is_as_in_a_session_where_limits_refuse_values(limited, new_cases, stop):
    frame = with_codes(new_cases[0]).head(ROWS).astype({"age": float, "rate": float, "sex": float, "pressure": float})
    frame.loc[frame.index[:4], ["age", "sex", "pressure"]] = [[600, 1, 120], [50, 60, 900], [-1, 3, 900], [119, 2, 120]]
    frame.iloc[5, frame.columns.get_loc("rate")] = 9000
    refused = {"age": (600, -1), "sex": (60, 3), "rate": (9000,)}
    remarks = check_against_sessions(limited, frame, stop, refused)["remarks"].fillna("")
    assert remarks.str.count(", was given ").tolist()[:7] == [1, 1, 2, 0, 0, 1, 0]


def test_a_number_is_predicted_as_in_a_session(progression, diabetes):
    table = check_against_sessions(progression, diabetes[0].head(ROWS), Budget(12))
    assert [*table.columns] == ["prediction", "asked", "n_asked", "spent", "reason", "remarks"]


def test_asking_nothing_predicts_as_the_estimator_does_and_looks_at_every_value(clinic, new_cases):
    frame = new_cases[0].head(ROWS).assign(scan=900.0)
    table = predict_table(clinic.model_, frame, ask=False)
    assert [*table.columns] == ["prediction", "proba_sick", "proba_well", "remarks"]
    assert np.array_equal(table[["proba_sick", "proba_well"]], clinic.predict_proba(frame))
    assert table["prediction"].tolist() == clinic.predict(frame).tolist()
    assert table["remarks"].str.startswith("'scan' is 900, outside").sum() == ROWS


def test_a_number_that_nobody_asked_for_has_no_remark(clinic, new_cases):
    frame = new_cases[0].head(ROWS).assign(scan=900.0)
    assert predict_table(clinic.model_, frame, Budget(39))["remarks"].isna().all()


def test_a_category_never_seen_is_not_available_and_has_a_remark(clinic, new_cases):
    frame = new_cases[0].head(2).assign(sex=["male", "MALE?"])
    table = predict_table(clinic.model_, frame)
    assert ["sex" in asked.split("|") for asked in table["asked"]] == [True, False]
    assert table["remarks"].iloc[0] is pd.NA
    said = "'sex' is 'MALE?', never seen in training, so it counts as not available"
    assert table["remarks"].iloc[1] == said


def test_columns_are_found_by_name_and_one_that_is_not_there_cant_be_had(clinic, new_cases):
    frame = new_cases[0].head(ROWS)
    moved = frame[frame.columns[::-1]].assign(extra="x").drop(columns="scan")
    missing = frame.assign(scan=np.nan)
    pd.testing.assert_frame_equal(predict_table(clinic.model_, moved), predict_table(clinic.model_, missing))


def test_a_table_without_any_column_of_the_model_is_an_error(clinic):
    with pytest.raises(AskwiseError, match="has no column that the model knows; it has 'a', and the model knows 'age'"):
        predict_table(clinic.model_, pd.DataFrame({"a": [1]}))


def test_a_column_given_twice_is_an_error(clinic, new_cases):
    frame = new_cases[0].head(2)
    with pytest.raises(AskwiseError, match="'scan' twice"):
        predict_table(clinic.model_, pd.concat([frame, frame[["scan"]]], axis=1))


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("pressure", "high", "row 'b': 'pressure' takes a number, was given 'high'"),
        ("pressure", np.inf, "row 'b': 'pressure' takes a finite number"),
        ("smoker", "maybe", "row 'b': 'smoker' takes yes or no, was given 'maybe'"),
    ],
)
def test_an_impossible_value_is_an_error_that_names_row_and_column(clinic, new_cases, column, value, says):
    frame = new_cases[0].head(3).set_axis(["a", "b", "c"]).astype({column: object})
    frame.loc["b", column] = value
    with pytest.raises(AskwiseError, match=says):
        predict_table(clinic.model_, frame)


@pytest.mark.parametrize("ask", [True, False])
def test_no_rows_give_an_empty_table_of_the_same_columns_and_types(clinic, progression, new_cases, diabetes, ask):
    for model, frame in ((clinic, new_cases[0]), (progression, diabetes[0])):
        some, none = (predict_table(model.model_, part, ask=ask) for part in (frame.head(3), frame.head(0)))
        assert len(none) == 0
        assert none.dtypes.to_dict() == some.dtypes.to_dict()
        assert prediction_columns(model.model_, ask) == tuple(some.columns)


def test_the_index_is_that_of_the_rows_and_whatever_comes_with_them_changes_nothing(clinic, new_cases):
    frame = new_cases[0].set_axis([f"p{i}" for i in range(len(new_cases[0]))])
    together = predict_table(clinic.model_, frame, Budget(20))
    alone = pd.concat([predict_table(clinic.model_, frame.iloc[[i]], Budget(20)) for i in range(10)])
    assert together.index.equals(frame.index)
    exact = ["prediction", "asked", "n_asked", "spent", "reason"]
    pd.testing.assert_frame_equal(together.head(10)[exact], alone[exact])


def test_labels_that_are_no_text_keep_their_type(flowers, iris):
    frame = pd.DataFrame(iris[0], columns=["x0", "x1", "x2", "x3"])
    table = predict_table(flowers.model_, frame)
    assert table["prediction"].dtype == np.int64
    assert np.array_equal(table["prediction"], flowers.predict(iris[0]))
    assert [*table.columns[:4]] == ["prediction", "proba_0", "proba_1", "proba_2"]


def test_names_with_bars_are_put_into_quotes(fast):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a|b", 'say "c"'])
    model = DimeClassifier(**fast | {"epochs": 1, "pretrain_epochs": 1}).fit(X, X["a|b"] > 0)
    asked = set(predict_table(model.model_, X)["asked"])
    assert asked <= {'"a|b"|"say ""c"""', '"say ""c"""|"a|b"'}


def test_many_groups_and_labels_are_predicted_in_smaller_parts(clinic, monkeypatch):
    assert rows_at_once(clinic.model_) == 65_536
    monkeypatch.setattr(table_predictions, "BYTES_AT_ONCE", 2**20)
    assert 1024 <= rows_at_once(clinic.model_) < 4096

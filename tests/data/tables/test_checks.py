"""Checks of a table: every planted fault is found, and nothing in tables without one."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from askwise.core.errors import AskwiseError
from askwise.data.tables.checks.choices import find_other_choices
from askwise.data.tables.checks.far_values import far_rows
from askwise.data.tables.checks.finding import Severity
from askwise.data.tables.checks.refused import limited_columns
from askwise.data.tables.checks.registry import check_table
from askwise.data.tables.checks.unpriced import find_unpriced


def sound_table(n_rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Numbers, whole numbers, texts and yes/no without a fault, and an answer that they tell something about."""
    rng = np.random.default_rng(seed)
    sick = rng.random(n_rows) < 0.4
    return pd.DataFrame(
        {
            "age": rng.integers(20, 90, n_rows).astype(float),
            "glucose": rng.normal(100 + 20 * sick, 15),
            "income": rng.lognormal(10, 1, n_rows).round(),
            "change": rng.normal(0, 2, n_rows).round(),
            "smoker": rng.random(n_rows) < 0.3,
            "city": rng.choice(["York", "Bath", "Ely", "Hove"], n_rows),
            "outcome": np.where(sick, "sick", "well"),
        }
    )


def found(frame: pd.DataFrame, **options) -> set[tuple[str, str]]:
    """Kind and column of each finding; the column of findings about rows is empty."""
    findings = check_table(frame, "outcome", **{"has_classes": True} | options)
    return {(finding.kind, column) for finding in findings for column in finding.columns or ("",)}


def with_column(name, values_of):
    """A planted fault: a column made from a generator and the table."""

    def plant(frame):
        return frame.assign(**{name: values_of(np.random.default_rng(1), frame)})

    return plant


def with_value(name, value, rows=slice(0, 5)):
    """A planted fault: a value in some rows of a column."""

    def plant(frame):
        frame.loc[frame.index[rows], name] = value
        return frame

    return plant


def recorded_in_most_of_the_sick(rng, frame):
    """Random numbers, recorded in 85 % of the sick and 15 % of the well."""
    share = np.where(frame["outcome"] == "sick", 0.85, 0.15)
    values = rng.normal(2, 1, len(frame))
    return np.where(rng.random(len(frame)) < share, values, np.nan)


FAULTS = {
    "empty": ("gone", with_column("gone", lambda *_: np.nan)),
    "constant": ("site", with_column("site", lambda *_: 7)),
    "text identifier": ("code", with_column("code", lambda rng, t: [f"c{i}" for i in rng.permutation(len(t))])),
    "number identifier": ("record", with_column("record", lambda rng, t: 10_000 + rng.permutation(len(t)))),
    "repeated-person": ("patient", with_column("patient", lambda rng, t: rng.integers(0, len(t) // 3, len(t)))),
    "leak": ("score", with_column("score", lambda rng, t: (t["outcome"] == "sick") + rng.normal(0, 0.01, len(t)))),
    "target-name": ("outcome_code", with_column("outcome_code", lambda rng, t: rng.integers(0, 3, len(t)))),
    "informative-gaps": ("lab", with_column("lab", lambda rng, t: recorded_in_most_of_the_sick(rng, t))),
    "sentinel 999": ("age", with_value("age", 999)),
    "sentinel -1": ("income", with_value("income", -1)),
    "date": ("day", with_column("day", lambda rng, t: pd.to_datetime(rng.integers(0, 90, len(t)), unit="D"))),
    "date as text": ("seen", with_column("seen", lambda rng, t: [f"{d}/3/2024" for d in rng.integers(1, 29, len(t))])),
    "missing-answers": ("outcome", with_value("outcome", np.nan, slice(7, 12))),
    "duplicates": ("", lambda t: pd.concat([t, t.iloc[20:24]], ignore_index=True)),
}
KINDS = {"text identifier": "identifier", "number identifier": "identifier", "date as text": "date"}
KINDS |= {"sentinel 999": "sentinel", "sentinel -1": "sentinel"}
PLANTED = {(KINDS.get(fault, fault), column) for fault, (column, _) in FAULTS.items()}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_the_only_one_found(fault):
    column, plant = FAULTS[fault]
    assert found(plant(sound_table())) == {(KINDS.get(fault, fault), column)}


@pytest.mark.parametrize("n_rows", [80, 300, 3000])
@pytest.mark.parametrize("seed", [0, 1])
def test_all_faults_are_found_in_one_table(n_rows, seed):
    frame = sound_table(n_rows, seed)
    for _, plant in FAULTS.values():
        frame = plant(frame)
    assert found(frame) == PLANTED | ({("few-rows", "")} if n_rows < 100 else set())


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris, load_diabetes])
def test_nothing_is_found_in_clean_tables(load):
    frame = load(as_frame=True).frame
    assert check_table(frame, "target", has_classes=load is not load_diabetes) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_rows", [100, 1000])
def test_nothing_is_found_in_a_sound_table(n_rows, seed):
    assert found(sound_table(n_rows, seed)) == set()


def test_the_worst_comes_first():
    frame = sound_table(80)
    for _, plant in FAULTS.values():
        frame = plant(frame)
    severities = [finding.severity for finding in check_table(frame, "outcome", has_classes=True)]
    assert severities == sorted(severities)
    assert set(severities) == set(Severity)


LEAKS = {
    "a number in three ranges": lambda rng, y: y * 10 + rng.random(len(y)),
    "a text": lambda _, y: np.array(["x", "y", "z"])[y],
    "neither rising nor falling": lambda rng, y: np.array([5.0, -3.0, 1.0])[y] + rng.random(len(y)),
    "known in half the rows": lambda rng, y: np.where(rng.random(len(y)) < 0.5, y + 0.1 * rng.random(len(y)), np.nan),
}


@pytest.mark.parametrize("kind", LEAKS)
def test_a_leak_of_three_classes_is_found(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    frame = pd.DataFrame({"noise": rng.normal(size=400), "given": LEAKS[kind](rng, y), "outcome": y})
    assert found(frame) == {("leak", "given")}


@pytest.mark.parametrize("leak", [lambda y: 2.2 * y + 1, np.exp, lambda y: -(y**3)])
def test_a_leak_of_a_number_is_found(leak):
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    frame = pd.DataFrame({"half": y + rng.normal(size=300), "given": leak(y), "outcome": y})
    assert found(frame, has_classes=False) == {("leak", "given")}


def test_a_leak_of_a_rare_class_is_found_in_a_large_table():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(50_000) < 100)
    frame = pd.DataFrame({"noise": rng.normal(size=50_000), "given": y + 0.1 * rng.random(50_000), "outcome": y})
    assert found(frame) == {("leak", "given")}


def test_rows_of_one_person_are_no_fault_if_they_are_kept_together():
    frame = FAULTS["repeated-person"][1](sound_table())
    assert found(frame, split_by="patient") == set()


@pytest.mark.parametrize("name", ["patient", "PatientID", "customer_no", "user id", "subjects", "mrn"])
def test_a_person_is_known_by_the_name_of_the_column(name):
    frame = with_column(name, lambda rng, t: rng.integers(0, 100, len(t)))(sound_table())
    assert found(frame) == {("repeated-person", name)}


@pytest.mark.parametrize("name", ["children", "user_type", "house_number", "idle", "paid"])
def test_other_names_are_none_of_persons(name):
    frame = with_column(name, lambda rng, t: rng.integers(0, 100, len(t)))(sound_table())
    assert found(frame) == set()


def test_codes_that_repeat_behind_the_same_letters_are_persons():
    frame = with_column("who", lambda rng, t: [f"p{i}" for i in rng.integers(0, 100, len(t))])(sound_table())
    assert found(frame) == {("repeated-person", "who")}


def test_rows_that_are_alike_by_chance_are_no_copies():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, (500, 5)), columns=list("abcde")).assign(outcome=rng.integers(0, 2, 500))
    assert frame.duplicated().sum() > 50
    assert found(frame) == set()


def test_copies_are_found_beside_identifiers_that_differ():
    frame = FAULTS["duplicates"][1](sound_table())
    frame["record"] = np.arange(len(frame))
    assert found(frame) == {("duplicates", ""), ("identifier", "record")}


@pytest.mark.parametrize("values", [[-1, 0, 1], [-2, -1, 0, 1, 2, 3, 4], range(-1, 30), range(80, 100)])
def test_a_number_among_its_like_is_no_sentinel(values):
    frame = with_column("change", lambda rng, t: rng.choice(list(values), len(t)))(sound_table())
    assert found(frame) == set()


def test_999_once_is_enough():
    (finding,) = check_table(with_value("age", 999, slice(0, 1))(sound_table()), "outcome", has_classes=True)
    assert finding.found == "999 in 1 row, far from the others (20 to 89)."


def test_a_few_texts_among_numbers_are_found():
    frame = sound_table()
    frame["age"] = frame["age"].astype(int).astype(str)
    frame.loc[:6, "age"] = "unknown"
    (finding,) = check_table(frame, "outcome", has_classes=True)
    assert (finding.kind, finding.columns) == ("text-number", ("age",))
    assert finding.found == "Numbers, with texts among them: 'unknown' in rows 0, 1, 2 and 4 more."


@pytest.mark.parametrize(("name", "value"), [("age", -600), ("age", 600), ("glucose", 9000), ("change", 70)])
def test_a_value_far_outside_is_the_only_fault_found(name, value):
    assert found(with_value(name, value, slice(0, 3))(sound_table())) == {("far-value", name)}


def test_values_far_outside_are_told_with_their_rows():
    (finding,) = check_table(with_value("age", 600, [4, 8, 90])(sound_table()), "outcome", has_classes=True)
    assert finding.found == "600 in rows 4, 8 and 90, far from the others (20 to 89)."


@pytest.mark.parametrize("n_rows", [60, 300, 5000])
@pytest.mark.parametrize("seed", range(5))
def test_a_long_tail_is_no_value_far_outside(n_rows, seed):
    rng = np.random.default_rng(seed)
    tails = {
        "cubed": rng.exponential(size=n_rows) ** 3,
        "lognormal": rng.lognormal(0, 2, n_rows),
        "mostly zero": np.where(rng.random(n_rows) < 0.7, 0, rng.exponential(1000, n_rows)),
        "counts": rng.poisson(0.7, n_rows).astype(float),
        "rare marker": rng.normal(0, 1, n_rows) + 500 * (rng.random(n_rows) < 0.1),
    }
    assert [name for name, values in tails.items() if far_rows(pd.Series(values)).any()] == []


@pytest.mark.parametrize("name", ["subject", "family"])
def test_a_few_kinds_under_the_name_of_a_person_are_no_persons(name):
    frame = with_column(name, lambda rng, t: rng.choice(["math", "art", "music", "law", "latin", "logic"], len(t)))
    assert found(frame(sound_table())) == set()


def test_an_answer_that_is_a_sentinel_is_found():
    frame = sound_table().assign(outcome=np.random.default_rng(0).normal(50, 10, 300))
    frame.loc[:6, "outcome"] = 999
    assert found(frame, has_classes=False) == {("sentinel", "outcome")}


@pytest.mark.parametrize("text", ["2024-03-{}", "{}.3.2024", "3/{}/24", "2024-3-{} 10:30:00", "Mar {}, 2024", "{}:30"])
def test_texts_that_look_like_dates_are_found(text):
    frame = with_column("x", lambda rng, t: [text.format(i) for i in rng.integers(1, 13, len(t))])(sound_table())
    assert found(frame) == {("date", "x")}


@pytest.mark.parametrize("text", ["v1.{}", "{} days", "12-{}", "A{}", "1.{}"])
def test_other_texts_are_no_dates(text):
    frame = with_column("x", lambda rng, t: [text.format(i) for i in rng.integers(1, 13, len(t))])(sound_table())
    assert found(frame) == set()


def test_whole_numbers_that_are_dates_are_found():
    frame = with_column("x", lambda rng, t: 20240300 + rng.integers(1, 32, len(t)))(sound_table())
    assert found(frame) == {("date", "x")}


@pytest.mark.parametrize("kind", ["boolean", "Int64", "Float64", "object"])
def test_nullable_answers_are_understood_and_missing_ones_told(kind):
    frame = sound_table().assign(outcome=pd.array([True, False, None] * 100, dtype="boolean").astype(kind))
    (finding,) = check_table(frame, "outcome", has_classes=True)
    assert finding.found.startswith("100 of 300 rows have no answer.")


def test_a_column_with_one_value_and_holes_is_told_how_to_say_no():
    frame = sound_table().assign(ill=np.where(np.arange(300) < 90, "yes", None))
    (finding,) = check_table(frame, "outcome", has_classes=True)
    assert (finding.kind, finding.found) == ("one-value", "Only 'yes' in 90 rows, and missing in the other 210.")
    assert "write no into it" in finding.advice


def test_a_mark_only_where_the_answer_is_yes_gives_it_away():
    frame = sound_table()
    frame["mark"] = frame["outcome"].where(frame["outcome"] == "sick").str.replace("sick", "x")
    assert found(frame) == {("leak", "mark"), ("one-value", "mark")}


def test_few_rows_are_told_with_the_width_of_the_interval():
    (finding,) = check_table(sound_table(60), "outcome", has_classes=True)
    assert "Of 12 rows held out" in finding.why
    assert "± 23 points" in finding.why


def test_many_findings_of_one_kind_become_one_with_all_columns():
    frame = sound_table().assign(**{f"empty {i}": np.nan for i in range(30)})
    (finding,) = check_table(frame, "outcome", has_classes=True)
    assert len(finding.columns) == 30
    assert finding.found.startswith("30 columns. The first, 'empty 0': no value")


def test_one_answer_and_infinity_are_serious():
    frame = sound_table().assign(outcome="well", glucose=np.inf)
    frame.loc[0, "glucose"] = 1.0
    findings = check_table(frame, "outcome", has_classes=True)
    assert [(finding.kind, finding.severity) for finding in findings] == [
        ("one-answer", Severity.SERIOUS),
        ("infinity", Severity.SERIOUS),
    ]


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_very_few_rows_are_no_error(n_rows):
    assert ("few-rows", "") in found(sound_table(n_rows))


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (sound_table().rename(columns={"outcome": "result"}), "unknown target 'outcome'"),
        (sound_table().assign(outcome=np.nan), "'outcome' has no value in any row"),
        (sound_table().rename(columns={"age": "city"}), "different names"),
        (sound_table().assign(parts=[[1, 2]] * 300), "column 'parts' holds values of the type list"),
    ],
)
def test_a_table_that_cannot_be_checked_is_told(frame, words):
    with pytest.raises(AskwiseError, match=words):
        check_table(frame, "outcome", has_classes=True)


def test_a_large_table_is_checked_in_two_seconds():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100_000, 50))).add_prefix("c").assign(outcome=rng.integers(0, 2, 100_000))
    started = time.process_time()
    assert found(frame) == set()
    assert time.process_time() - started < 2


# Columns as questions describe them


def test_codes_are_neither_measurements_nor_numbers_among_texts():
    planted = with_value("change", 999.0)(sound_table())
    planted["ward"] = [*map(str, range(1, 10)), "x"] * 30
    assert {("sentinel", "change"), ("text-number", "ward")} <= found(planted)
    assert found(planted, codes={"change", "ward"}) == set()


def test_values_that_limits_refuse_are_serious():
    planted = with_value("age", 600.0, [3, 9])(sound_table())
    questions = {"age": {"min": 0, "max": 120}, "income": {"min": 0}, "city": {"choices": ["Bath"]}}
    (finding,) = (
        f
        for f in check_table(
            planted, "outcome", has_classes=True, limited=limited_columns(planted, {"questions": questions})
        )
        if f.kind == "refused"
    )
    assert (finding.columns, finding.severity) == (("age",), Severity.SERIOUS)
    assert finding.found == "600 in row 3, 600 in row 9; its question takes a number from 0 to 120."


def test_choices_that_the_table_does_not_have_are_told():
    questions = {"city": {"choices": ["york", "Bath", "Ely", "Hove"]}, "change": {"choices": {0: "none"}}}
    findings = find_other_choices(sound_table().drop(columns="outcome"), {"questions": questions})
    assert {finding.columns for finding in findings} == {("city",)}
    assert [finding.found.split(":")[0] for finding in findings] == [
        "Choices of 'city' never seen in training are left out",
        "Choices of 'city' that questions does not name come last",
    ]
    assert (
        find_other_choices(sound_table(), {"questions": {"city": {"choices": ["Hove", "York", "Ely", "Bath"]}}}) == []
    )


@pytest.mark.parametrize(
    ("costs", "unpriced"),
    [
        ({"age": 3, "glucose": 2, "income": 1, "change": 1}, ["habits"]),
        ({"age": 3, "glucose": 2, "income": 1, "change": 1, "city": 4}, []),
        ({"draw": {"price": 2, "for": ["glucose", "age"]}, "income": 1, "change": 1, "habits": 1}, ["age", "glucose"]),
        ({"age": 1, "glucose": 1}, []),
        (None, []),
    ],
)
def test_questions_without_a_price_are_told_where_others_have_one(costs, unpriced):
    X = sound_table().drop(columns="outcome")
    findings = find_unpriced(X, {"costs": costs, "groups": {"habits": ["smoker", "city"]}})
    assert [name for finding in findings for name in finding.columns] == unpriced


def test_limits_of_codes_and_of_columns_with_infinity_are_not_looked_at():
    planted = with_value("age", np.inf, [3])(sound_table())
    questions = {"age": {"max": 9}, "change": {"choices": {0: "none"}}}
    assert limited_columns(planted, {"questions": questions, "categories": ["change"]}) == ()


def test_gaps_are_those_of_groups_and_not_of_free_columns():
    frame = sound_table()
    lab = recorded_in_most_of_the_sick(np.random.default_rng(1), frame)
    frame = frame.assign(lab=lab, other=np.where(np.isnan(lab), 1.5 + frame["change"], np.nan))
    assert found(frame) == {("informative-gaps", "lab"), ("informative-gaps", "other")}
    assert found(frame, groups={"panel": ["lab", "other"]}) == set()
    assert found(frame, free=["lab"]) == {("informative-gaps", "other")}


def test_a_mark_for_yes_is_told_as_one_value_only():
    frame = sound_table()
    frame["mark"] = np.where(frame["outcome"] == "sick", "x", None)
    frame.loc[:40, "mark"] = "x"
    assert found(frame) == {("one-value", "mark")}

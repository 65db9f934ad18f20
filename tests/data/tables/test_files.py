"""Tables, prices, groups and questions from files."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from askwise import AskwiseError, AskwiseWarning
from askwise.data.tables.files import read_costs, read_mapping, read_questions, read_table

TABLE = pd.DataFrame({"age": [30.0, np.nan, 50.0], "kind": ["a", "b", "a"], "sick": [True, False, True]})


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.pq"])
def test_a_table_comes_back_from_every_format(tmp_path, name):
    path = tmp_path / name
    TABLE.to_parquet(path) if "p" in path.suffix else TABLE.to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_table(path), TABLE, check_dtype=False)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_read_off_the_first_line(tmp_path, separator):
    TABLE.to_csv(tmp_path / "t.csv", sep=separator, index=False)
    assert list(read_table(tmp_path / "t.csv").columns) == ["age", "kind", "sick"]


def test_spaces_and_a_byte_order_mark_around_names_are_dropped(tmp_path):
    (tmp_path / "t.csv").write_bytes("\ufeffage, kind \n3, a\n".encode())
    frame = read_table(tmp_path / "t.csv")
    assert list(frame.columns) == ["age", "kind"]
    assert frame["kind"].tolist() == ["a"]


def test_a_table_of_one_column_is_a_table(tmp_path):
    (tmp_path / "t.csv").write_text("age\n3\n4\n")
    assert read_table(tmp_path / "t.csv")["age"].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n\n", "is empty"),
        ("t.csv", b"a,b\n", "column names but no rows"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "can't be read as CSV"),
        ("t.csv", b"a,b\n\xff\xfe\x00,2\n", "can't be read as CSV"),
        ("t.csv.gz", b"a,b\n1,2\n", "can't be read"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 5000, mtime=0)[:-40], "can't be read"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:12] + b"\xff" * 30, "can't be read"),
        ("t.parquet", b"no parquet at all", "can't be read as Parquet"),
    ],
)
def test_a_file_that_is_no_table_is_an_error_that_names_it(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AskwiseError, match=message) as caught:
        read_table(tmp_path / name)
    assert name in str(caught.value)


def test_a_file_that_is_not_there_or_a_folder_is_an_error(tmp_path):
    with pytest.raises(AskwiseError, match=r"there is no file .*none\.csv"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(AskwiseError, match="is a folder"):
        read_table(tmp_path)


def test_costs_come_from_a_csv_or_a_json_mapping(tmp_path):
    (tmp_path / "c.csv").write_text("name,cost\nage, 1\n max HR ,102.9\n")
    (tmp_path / "c.json").write_text('{"age": 1, "max HR": 102.9, "_unit": "dollars"}')
    assert read_costs(tmp_path / "c.csv") == {"age": 1.0, "max HR": 102.9}
    assert read_costs(tmp_path / "c.json") == {"age": 1, "max HR": 102.9}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.csv", "question,price\na,1\n", "needs the columns name and cost; it has question, price"),
        ("c.csv", "name,cost\na,1\na,2\n", "gives 'a' two prices"),
        ("c.csv", "name,cost\na,1\na ,2\n", "gives 'a' two prices"),
        ("c.json", "[1, 2]", "must hold a JSON object of prices, it holds a list"),
        ("c.json", "{", "not valid JSON"),
        ("c.json", "", "is empty"),
    ],
)
def test_a_file_that_holds_no_costs_is_an_error(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(AskwiseError, match=message):
        read_costs(tmp_path / name)


def test_groups_come_from_a_json_mapping(tmp_path):
    groups = {"exercise test": ["max HR", "exerc ind ang"]}
    (tmp_path / "groups.json").write_text(json.dumps(groups))
    assert read_mapping(tmp_path / "groups.json", "groups") == groups


def test_the_answer_none_is_not_a_missing_value(tmp_path):
    (tmp_path / "a.csv").write_text("pain,y\nNone,1\nsome,0\n,1\nNA,0\n")
    assert read_table(tmp_path / "a.csv")["pain"].tolist()[:2] == ["None", "some"]
    assert read_table(tmp_path / "a.csv")["pain"].isna().tolist() == [False, False, True, True]


def test_decimal_commas_are_read_where_another_mark_separates(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1,5;x\n-2,25;y\n")
    assert read_table(tmp_path / "a.csv")["a"].tolist() == [1.5, -2.25]


def test_an_index_column_is_left_out_with_a_warning(tmp_path):
    pd.DataFrame({"a": [3, 1, 2]}).to_csv(tmp_path / "a.csv")
    with pytest.warns(AskwiseWarning, match="row numbers"):
        assert list(read_table(tmp_path / "a.csv").columns) == ["a"]


QUESTIONS = {
    "age": {"text": "How old, today?", "unit": "years"},
    "zip": {"text": "NA", "help": "007"},
    "pain": {"choices": ["none", "1", "at night"]},
    "sex": {},
}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["q.csv", "q.csv.gz", "q.txt"])
def test_questions_come_from_a_csv_in_which_every_cell_is_a_text(tmp_path, separator, name):
    lines = ["name,text,unit,help,choices", 'age,"How old, today?",years', " zip ,NA,,007,", "", "sex,,,,"]
    text = "\r\n".join([*lines, "pain,,,, none | 1|at night|"])
    if separator != ",":
        text = text.replace(", today", "@").replace(",", separator).replace("@", ", today")
    data = ("\ufeff" + text).encode()
    (tmp_path / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    assert read_questions(tmp_path / name) == QUESTIONS


def test_questions_come_from_a_json_mapping(tmp_path):
    (tmp_path / "q.json").write_text(json.dumps({**QUESTIONS, "smoker": "Do you smoke?"}))
    assert read_questions(tmp_path / "q.json") == {**QUESTIONS, "smoker": "Do you smoke?"}


def test_columns_of_a_csv_of_questions_may_be_left_out_or_moved(tmp_path):
    (tmp_path / "q.csv").write_text("unit,name,,\nyears,age,,\n")
    assert read_questions(tmp_path / "q.csv") == {"age": {"unit": "years"}}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "q.csv",
            b"name,texts\na,b\n",
            "unknown column of .*'texts'; did you mean 'text'. allowed: 'name'",
        ),
        ("q.csv", b"text\nb\n", "needs the column name; it has text"),
        ("q.csv", b"name,text,text\na,b,c\n", "has the column 'text' twice"),
        ("q.csv", b"name,text\na,How old, today\n", "line 2: 3 values for 2 columns; put a text"),
        ("q.csv", b"name,text\n,How old\n", "line 2: there is no name"),
        ("q.csv", b"name,text\na,b\na ,c\n", "has 'a' twice"),
        ("q.csv", b"name,text\n", "column names but no rows"),
        ("q.csv", b'name,text\na,"b\n', "can't be read as CSV"),
        ("q.csv", b"name,text\na,\xff\xfe\n", "can't be read as CSV"),
        ("q.csv.gz", b"name,text\na,b\n", "can't be read"),
        ("q.xlsx", b"PK", "is a .xlsx file; give questions as CSV"),
        ("q.json", b'{"a": "b", "a": "c"}', "has 'a' twice; keep one"),
        ("q.json", b'{"a": {"text": "b", "text": "c"}}', "has 'text' twice; keep one"),
        ("q.json", b"[" * 100_000, "not valid JSON"),
        ("q.json", b'"a"', "must hold a JSON object of questions"),
    ],
)
def test_a_file_that_holds_no_questions_is_an_error_that_names_it(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AskwiseError, match=message) as caught:
        read_questions(tmp_path / name)
    assert name in str(caught.value)

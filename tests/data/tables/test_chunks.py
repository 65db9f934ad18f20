"""Tables read a chunk of rows at a time: a value means the same in every chunk, and what is kept is as it was."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from askwise import AskwiseError
from askwise.data.tables import chunks
from askwise.data.tables.chunks import open_table
from askwise.data.tables.schema import Schema

TEXT = """id,age,code,smoker,note
007,50,1,yes,a
,NA,2,no,"b, c"
NA, 51.5,x,,?
010,60,,YES,
"""


@pytest.fixture
def schema():
    """What a model of these columns reads."""
    return Schema.of(pd.DataFrame({"age": [20, 80, 50], "code": ["1", "2", "x"], "smoker": [True, False, True]}))


def read(path, schema, n_rows, kept=()):
    return list(open_table(path).chunks(n_rows, schema.columns, list(kept)))


def encoded(found, schema):
    rows = [schema.encode(chunk.frame[list(schema.column_names)]) for chunk in found]
    return [np.concatenate([getattr(r, part).numpy() for r in rows]) for part in ("x", "present")]


@pytest.mark.parametrize("kept", [(), ("age", "code", "smoker")])
def test_a_csv_means_the_same_whatever_chunks_it_is_read_in(tmp_path, schema, kept):
    (tmp_path / "t.csv").write_text(TEXT)
    whole = encoded(read(tmp_path / "t.csv", schema, 100), schema)
    for n_rows in (1, 3):
        parts = encoded(read(tmp_path / "t.csv", schema, n_rows, kept), schema)
        assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))
    assert whole[1].tolist() == [[True, True, True], [False, True, True], [True, True, False], [True, False, True]]


def test_a_chunk_knows_the_numbers_of_its_rows_and_how_much_of_the_file_is_read(tmp_path, schema):
    (tmp_path / "t.csv").write_text(TEXT)
    found = read(tmp_path / "t.csv", schema, 3)
    assert [chunk.frame.index.tolist() for chunk in found] == [[0, 1, 2], [3]]
    assert found[-1].fraction == 1


def test_a_wide_table_is_read_in_chunks_of_fewer_rows(tmp_path, schema, monkeypatch):
    monkeypatch.setattr(chunks, "MOST_VALUES", 10)
    (tmp_path / "t.csv").write_text(TEXT)
    assert [len(chunk.frame) for chunk in read(tmp_path / "t.csv", schema, 100)] == [2, 2]


def test_what_is_kept_from_a_csv_is_text_as_it_stands_there(tmp_path, schema):
    (tmp_path / "t.csv").write_text(TEXT)
    for n_rows in (1, 100):
        kept = pd.concat([chunk.kept for chunk in read(tmp_path / "t.csv", schema, n_rows, ["note", "id", "age"])])
        assert kept.to_dict("list") == {
            "note": ["a", "b, c", "?", ""],
            "id": ["007", "", "NA", "010"],
            "age": ["50", "NA", "51.5", "60"],
        }


def test_a_category_that_another_program_wrote_as_a_fraction_is_the_same(tmp_path, schema):
    (tmp_path / "t.csv").write_text("code\n2.0\n1.50\n")
    chunk = read(tmp_path / "t.csv", schema, 10)[0]
    assert chunk.frame["code"].tolist() == ["2", "1.50"]


@pytest.mark.parametrize("kept", [(), ("age",)])
def test_decimal_commas_are_read_where_the_comma_does_not_separate(tmp_path, schema, kept):
    (tmp_path / "t.csv").write_text("age;code\n1,5;x\n-2,25;1\n")
    chunk = read(tmp_path / "t.csv", schema, 1, kept)
    assert [c.frame["age"].iloc[0] for c in chunk] == [1.5, -2.25]


def test_a_compressed_csv_is_read_too(tmp_path, schema):
    pd.DataFrame({"age": range(50)}).to_csv(tmp_path / "t.csv.gz", index=False)
    found = read(tmp_path / "t.csv.gz", schema, 20)
    assert pd.concat([c.frame for c in found])["age"].tolist() == list(range(50))


def test_parquet_is_read_across_row_groups_and_what_is_kept_has_its_type(tmp_path, schema):
    pa = pytest.importorskip("pyarrow")
    days = pd.date_range("2026-01-01", periods=10)
    frame = pd.DataFrame({"day": days, "age": np.arange(10.0), "code": list("12x12x12x1")})
    frame.astype({"code": "category"}).set_index("day").to_parquet(tmp_path / "t.parquet", row_group_size=4)
    found = read(tmp_path / "t.parquet", schema, 3, ["day", "age"])
    assert pd.concat([c.frame for c in found])["age"].tolist() == list(range(10))
    kept = pd.concat([c.kept for c in found])
    assert pa.types.is_timestamp(kept["day"].dtype.pyarrow_dtype)
    assert kept.index.tolist() == list(range(10))
    assert found[-1].fraction == 1


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "\n\n", "is empty; it needs a line of column names"),
        ("t.csv", "age,code\n", "has column names but no rows"),
        ("t.csv", "age,age \n1,2\n", "has the column 'age' twice"),
        ("t.csv", "age,code\n1,2\n1,2,3\n", "Expected 2 fields in line 3, saw 3"),
        ("t.csv.gz", "age\n1\n", "can't be read"),
        ("t.parquet", "age\n1\n", "can't be read as Parquet"),
        ("t.xlsx", "age\n1\n", "is a .xlsx file; give a table as CSV"),
    ],
)
def test_a_file_that_is_no_table_is_an_error_that_names_it(tmp_path, schema, name, content, says):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_text(content)
    with pytest.raises(AskwiseError, match=says) as error:
        read(tmp_path / name, schema, 10)
    assert str(tmp_path / name) in str(error.value)

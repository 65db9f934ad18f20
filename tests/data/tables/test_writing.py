"""Tables written in chunks: one table under its name, whole or not at all."""

from __future__ import annotations

import os

import pandas as pd
import pytest

from askwise import AskwiseError
from askwise.data.tables.files import read_table
from askwise.data.tables.writing import table_writer

FRAME = pd.DataFrame({"row": range(5), "name": ["a", "b, c", 'd"', "e", "f"], "p": [0.1, 1 / 3, 1.0, 0.0, 1e-9]})


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "new/folder/t.csv"])
def test_chunks_become_one_table(tmp_path, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    with table_writer(tmp_path / name) as write:
        write(FRAME.head(2))
        write(FRAME.tail(3))
    pd.testing.assert_frame_equal(read_table(tmp_path / name), FRAME, check_dtype=False)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("how", [KeyboardInterrupt, AskwiseError, SystemExit])
def test_what_is_stopped_midway_leaves_nothing_new_and_the_old_file_as_it_was(tmp_path, name, how):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_text("the old table")

    def stop_midway():
        with table_writer(tmp_path / name) as write:
            write(FRAME)
            raise how

    with pytest.raises(how):
        stop_midway()
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "the old table"


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.parquet.gz"])
def test_an_ending_that_is_not_written_is_an_error(tmp_path, name):
    with (
        pytest.raises(AskwiseError, match="give a name that ends in "),
        table_writer(tmp_path / name),
    ):
        pass
    assert not os.listdir(tmp_path)

"""Gaps that tell the answer are flagged; gaps by chance are not."""

from __future__ import annotations

import time

import numpy as np
import pytest

from askwise.data.tables.gaps import find_gaps, flagged_gaps, gaps_table
from askwise.data.tables.gaps_wording import recorded_text, warning_text


def gaps_of(available, answers, has_classes=True):
    return find_gaps([f"g{i}" for i in range(available.shape[1])], available, answers, has_classes=has_classes)


@pytest.fixture
def lab():
    """Four columns of which the second is recorded in 80 % of the sick and 20 % of the well."""
    rng = np.random.default_rng(0)
    sick = rng.random(4000) < 0.5
    available = rng.random((4000, 4)) < 0.7
    available[:, 1] = rng.random(4000) < np.where(sick, 0.8, 0.2)
    available[:, 3] = True
    return available, np.where(sick, "sick", "well")


def test_the_share_the_information_and_the_answers_are_told(lab):
    first, *others = gaps_of(*lab)
    assert (first.group, first.flagged, first.answer_high, first.answer_low) == ("g1", True, "sick", "well")
    assert first.information == pytest.approx(0.193, abs=0.02)
    assert (first.present_high, first.present_low) == pytest.approx((0.8, 0.2), abs=0.03)
    assert first.present == pytest.approx(lab[0][:, 1].mean())
    assert not flagged_gaps(others)


def test_groups_that_all_rows_have_or_none_are_left_out(lab):
    available, answers = lab
    available[:, 0] = False
    assert [gaps.group for gaps in gaps_of(available, answers)] == ["g1", "g2"]


@pytest.mark.parametrize(
    ("n_rows", "n_labels", "share"), [(100, 2, 0.5), (100, 5, 0.9), (500, 10, 0.05), (5000, 3, 0.5)]
)
def test_of_200_groups_with_gaps_by_chance_at_most_5_percent_are_flagged(n_rows, n_labels, share):
    rng = np.random.default_rng(1)
    available = rng.random((n_rows, 200)) < share
    assert len(flagged_gaps(gaps_of(available, rng.integers(0, n_labels, n_rows)))) <= 10
    assert len(flagged_gaps(gaps_of(available, rng.normal(size=n_rows), has_classes=False))) <= 10


def test_a_number_as_answer_is_told_by_its_range():
    rng = np.random.default_rng(0)
    price = rng.lognormal(3, 1, 1000)
    available = rng.random((1000, 20)) < 0.5
    available[:, 7] = rng.random(1000) < np.where(price > np.quantile(price, 0.8), 0.8, 0.3)
    (found,) = flagged_gaps(gaps_of(available, price, has_classes=False))
    assert (found.group, found.answer_high) == ("g7", f"{np.quantile(price, 0.8):.4g} or more")


def test_a_number_that_is_mostly_zero_is_no_trouble():
    rng = np.random.default_rng(0)
    visits = np.where(rng.random(500) < 0.9, 0, rng.integers(1, 9, 500))
    available = rng.random((500, 2)) < np.where(visits > 0, 0.9, 0.2)[:, None]
    found = flagged_gaps(gaps_of(available, visits, has_classes=False))
    assert [(gaps.answer_high, gaps.answer_low) for gaps in found] == [("1 or more", "below 1")] * 2


def test_what_is_certain_but_tells_hardly_anything_is_not_flagged():
    rng = np.random.default_rng(0)
    sick = rng.random(50_000) < 0.5
    (found,) = gaps_of((rng.random(50_000) < np.where(sick, 0.53, 0.47))[:, None], sick)
    assert found.p_value < 1e-9
    assert (found.information < 0.005, found.flagged) == (True, False)


def test_one_row_and_one_label_are_no_trouble():
    assert gaps_of(np.ones((1, 2), dtype=bool), ["a"]) == ()
    assert not flagged_gaps(gaps_of(np.eye(4, dtype=bool), ["a"] * 4))
    assert not flagged_gaps(gaps_of(np.eye(4, dtype=bool), [2.5] * 4, has_classes=False))
    assert gaps_table(()).columns[0] == "group"


def test_50000_rows_of_100_groups_take_less_than_a_second():
    rng = np.random.default_rng(0)
    available, answers = rng.random((50_000, 100), dtype=np.float32) < 0.5, rng.integers(0, 10, 50_000)
    started = time.process_time()
    gaps_of(available, answers)
    assert time.process_time() - started < 1


def test_the_words_name_the_shares_and_the_target(lab):
    words = recorded_text(gaps_of(*lab)[0], "'diagnosis'")
    assert words == "recorded in 80% of the rows where 'diagnosis' is sick, and in 20% of those where it is well"


def test_a_warning_has_three_lines_at_most_and_says_how_many_more_there_are(lab):
    available, answers = lab
    assert warning_text(gaps_of(available[:, [0, 3]], answers)) == ""
    assert len(warning_text(gaps_of(available, answers)).splitlines()) == 1
    rng = np.random.default_rng(0)
    selective = rng.random((4000, 6)) < np.where(answers == "sick", 0.7, 0.3)[:, None]
    lines = warning_text(gaps_of(selective, answers)).splitlines()
    assert len(lines) == 3
    assert "When your table has gaps" in lines[0]
    assert lines[2].endswith("and 3 more groups")

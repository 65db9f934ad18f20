"""CMICOT: the score of a bit among helpers and opponents, and the order it asks in."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import AskwiseError, Budget, CmicotClassifier
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.methods.cmicot import bits_of, cmicot_order
from askwise.methods.cmicot_search import Bits, ExactScores, GreedyScores
from askwise.methods.mrmr import least_redundant
from known_sets import best_set, in_proportion, levels_and_space, strengths_and_copies

FAST = {"hidden": 16, "epochs": 3, "random_state": 0}


def order_of(frame, y, helpers=1, opponents=2, pool="all", n_levels=3, **settings):
    levels, space = levels_and_space(frame, y, n_levels, **settings)
    order = cmicot_order(bits_of(levels, space), space, min(space.n_groups, 32), helpers, opponents, pool)
    return [space.names[g] for g in order]


def six_bits(seed, n_labels=3):
    """A random table of counts of a label and six bits, and the same as bits of rows."""
    table = np.random.default_rng(seed).integers(1, 20, (n_labels,) + (2,) * 6)
    label, *values = np.indices(table.shape).reshape(7, -1).repeat(table.ravel(), axis=1)
    values = torch.tensor(np.stack(values, 1)).float()
    return table, Bits(values, values >= 0, torch.arange(6), torch.tensor(label))


def told(table, f, given):
    """I(y; f | given) by its definition, less what chance adds, from a table of counts."""
    found, n = 0.0, table.sum()
    for state in itertools.product((0, 1), repeat=len(given)):
        index = [slice(None)] * table.ndim
        for bit, value in zip(given, state, strict=True):
            index[bit + 1] = slice(value, value + 1)
        counts = np.moveaxis(table[tuple(index)], f + 1, 1)
        counts = counts.reshape(len(table), 2, -1).sum(2).astype(float)
        there = counts > 0
        expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
        found += (counts[there] * np.log(counts[there] / expected[there])).sum()
        found -= ((counts.sum(1) > 0).sum() - 1) * ((counts.sum(0) > 0).sum() - 1) / 2
    return found / n


def brute_force(table, f, asked, helpers, opponents, pool):
    """max over H of min over G of I(y; f | H, G), every set tried."""
    company = [b for b in (range(6) if pool == "all" else asked) if b != f]
    return max(
        min(
            told(table, f, sorted({*team, *against}))
            for size in range(opponents + 1)
            for against in itertools.combinations(asked, size)
        )
        for n in range(helpers + 1)
        for team in itertools.combinations(company, n)
    )


def after(scorer, asked):
    for group in asked:
        scorer.ask(group)
    return scorer.scores().numpy()


@pytest.mark.parametrize("pool", ["all", "asked"])
@pytest.mark.parametrize(("helpers", "opponents"), [(0, 1), (1, 1), (1, 2), (2, 2)])
def test_the_score_equals_brute_force_on_six_features(helpers, opponents, pool):
    for seed, asked in enumerate([[], [4], [0, 3], [5, 1, 2]]):
        table, bits = six_bits(seed)
        found = after(ExactScores(bits, helpers, opponents, pool), asked)
        for f in set(range(6)) - set(asked):
            assert found[f] == pytest.approx(brute_force(table, f, asked, helpers, opponents, pool), abs=1e-12)


@pytest.mark.parametrize("pool", ["all", "asked"])
def test_greedy_teams_equal_brute_force_where_one_member_decides(pool):
    for seed in range(3):
        table, bits = six_bits(seed)
        nobody_asked = after(GreedyScores(bits, 1, 2, pool), [])
        one_opponent = after(GreedyScores(bits, 0, 1, pool), [0, 1, 2])
        for f in (3, 4, 5):
            assert nobody_asked[f] == pytest.approx(brute_force(table, f, [], 1, 2, pool), abs=1e-12)
            assert one_opponent[f] == pytest.approx(brute_force(table, f, [0, 1, 2], 0, 1, pool), abs=1e-12)


def test_greedy_helpers_never_score_above_the_best_ones():
    for seed in range(5):
        _, bits = six_bits(seed)
        greedy, exact = (after(kind(bits, 2, 1, "all"), [0, 1, 2])[3:] for kind in (GreedyScores, ExactScores))
        assert (greedy <= exact + 1e-12).all()


def test_what_is_kept_from_group_to_group_changes_no_score():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    frame = pd.DataFrame(rng.normal(size=(400, 7)) + 0.5 * y[:, None], columns=list("abcdefg"))
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    bits = bits_of(*levels_and_space(frame, y, 4))
    kept = GreedyScores(bits, 1, 3, "all")
    for n, group in enumerate([3, 0, 5, 1], start=1):
        kept.ask(group)
        scores = kept.scores()
        anew = after(GreedyScores(bits, 1, 3, "all"), [3, 0, 5, 1][:n])
        still_open = ~torch.isin(bits.group, torch.tensor([3, 0, 5, 1][:n])).numpy()
        assert np.allclose(scores.numpy()[still_open], anew[still_open], atol=1e-12)


@pytest.fixture(scope="module")
def exclusive_or():
    """A label that is a xor b, two columns that tell it weakly, and noise."""
    rng = np.random.default_rng(0)
    a, b, *noise = rng.integers(0, 2, (8, 1500))
    y = a ^ b
    weak, weaker = (np.where(rng.random(1500) < right, y, 1 - y) for right in (0.62, 0.58))
    frame = {"weak": weak, "a": a, "weaker": weaker, "b": b, **{f"noise {i}": n for i, n in enumerate(noise)}}
    return pd.DataFrame(frame).astype(float), y


def test_it_finds_an_exclusive_or_that_mrmr_cannot(exclusive_or):
    frame, y = exclusive_or
    assert set(order_of(frame, y)[:2]) == {"a", "b"}
    assert set(order_of(frame[["weak", "a", "noise 0", "b"]], y)[:2]) == {"a", "b"}
    levels, space = levels_and_space(frame, y)
    assert [space.names[g] for g in least_redundant(levels, space, 10)[:2]] == ["weak", "weaker"]


def test_with_helpers_among_the_asked_the_second_half_of_an_exclusive_or_follows_the_first(exclusive_or):
    order = order_of(*exclusive_or, pool="asked")
    assert order[0] == "weak"
    assert abs(order.index("a") - order.index("b")) == 1


def test_an_estimator_asks_for_the_exclusive_or_first(exclusive_or):
    frame, y = exclusive_or
    model = CmicotClassifier(**FAST).fit(frame, y)
    assert set(model.acquire(frame.head(1), stop=Budget(2)).order[0]) == {"a", "b"}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_it_picks_the_best_set_that_enumeration_finds(size):
    for distribution in (strengths_and_copies(), DISTRIBUTIONS["tests"]()):
        frame, y = in_proportion(distribution)
        assert set(order_of(frame, y)[:size]) == {frame.columns[c] for c in best_set(distribution, size)}


def test_a_column_that_tells_by_its_middle_is_found():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 8))
    y = (np.abs(x[:, 5]) < 0.43).astype(int)
    x[:, 2] += 0.5 * y
    assert order_of(pd.DataFrame(x, columns=list("abcdefgh")), y)[0] == "f"


def test_a_group_brings_the_bits_of_all_its_columns(exclusive_or):
    frame, y = exclusive_or
    assert order_of(frame, y, groups={"panel": ["a", "b"]})[0] == "panel"


def test_free_columns_oppose_from_the_start(exclusive_or):
    frame, y = exclusive_or
    frame = frame.assign(copy=frame["weak"])
    order = order_of(frame.drop(columns=["a", "b"]), y, free=["weak"])
    assert order[0] == "weaker"
    assert order_of(frame, y, free=["a"])[0] == "b"


def test_categories_are_bits_and_what_never_varies_is_none():
    frame = pd.DataFrame({"three": list("abcabc"), "two": list("xyxyxy"), "one": ["k"] * 6, "number": range(6)})
    bits = bits_of(*levels_and_space(frame, [0, 1, 0, 1, 0, 1]))
    assert bits.group.tolist() == [0, 0, 0, 1, 3, 3]
    assert bits.values.sum(0).tolist() == [2, 2, 2, 3, 4, 2]


@pytest.mark.parametrize("n_noise", [1, 8])
def test_a_column_is_worth_less_the_less_often_it_can_be_had(n_noise):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    better, worse = (np.where(rng.random(2000) < right, y, 1.0 - y) for right in (0.9, 0.8))
    noise = {f"noise {i}": rng.integers(0, 2, 2000) for i in range(n_noise)}
    frame = pd.DataFrame({**noise, "worse": worse, "better": better})
    assert order_of(frame, y)[:2] == ["better", "worse"]
    holes = frame.assign(better=frame["better"].mask(rng.random(2000) < 0.8))
    assert order_of(holes, y)[:2] == ["worse", "better"]


def test_dear_groups_come_later_and_equal_costs_change_nothing():
    frame, y = strengths_and_copies().sample(2000, 0)
    assert order_of(frame, y, costs=[3] * 7) == order_of(frame, y)
    assert order_of(frame, y, costs={"strong": 100, "copy of strong": 100})[0] in ("middle", "copy of middle")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"helpers": -1}, "helpers must be a whole number of at least 0, was given -1"),
        ({"opponents": 1.5}, "opponents must be a whole number of at least 0, was given 1.5"),
        ({"levels": 1}, "levels must be a whole number of at least 2, was given 1"),
        ({"pool": "some"}, "pool must be 'all' or 'asked', was given 'some'"),
        ({"helpers": 4, "opponents": 4}, "must be at most 7 together, was given 4 and 4"),
    ],
)
def test_settings_that_cannot_be_give_a_clear_error(iris, settings, message):
    with pytest.raises(AskwiseError, match=message):
        CmicotClassifier(**settings).fit(*iris)

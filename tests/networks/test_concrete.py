"""Selectors that draw from Concrete distributions."""

import pytest
import torch

from askwise.networks.concrete import PACE, ConcreteSelector, gumbel


def selector_of(logits, allowed=None) -> ConcreteSelector:
    logits = torch.tensor(logits)
    selector = ConcreteSelector(
        len(logits), torch.ones(logits.shape[1], dtype=torch.bool) if allowed is None else allowed
    )
    selector.slow_logits.data = logits / PACE
    return selector


def test_the_largest_of_noisy_logits_is_a_draw_from_their_softmax():
    torch.manual_seed(0)
    logits = torch.tensor([1.0, 0.0, -1.0]).expand(100_000, -1)
    shares = torch.bincount((logits + gumbel(logits)).argmax(1), minlength=3) / 100_000
    assert shares.tolist() == pytest.approx(logits[0].softmax(0).tolist(), abs=0.008)


def test_hot_draws_are_even_and_cold_ones_select_one_group_for_each_selector():
    torch.manual_seed(0)
    selector = selector_of([[9.0, 0, 0, 0], [0, 0, 9.0, 0]])
    hot, cold = selector.draw(500, 1000.0), selector.draw(500, 0.01)
    assert hot.flatten().tolist() == pytest.approx([1 - 0.75**2] * 2000, abs=0.01)
    assert ((cold < 0.01) | (cold > 0.99)).float().mean() > 0.98
    assert cold.mean(0).tolist() == pytest.approx([1, 0, 1, 0], abs=0.02)


def test_two_selectors_of_one_group_select_no_more_than_one():
    torch.manual_seed(0)
    drawn = selector_of([[30.0, 0, 0], [30.0, 0, 0]]).draw(50, 0.01)
    assert drawn.sum(1).tolist() == pytest.approx([1.0] * 50, abs=1e-4)


def test_prefixes_are_the_first_few_selectors_and_short_ones_are_more_likely():
    torch.manual_seed(0)
    drawn = selector_of((40 * torch.eye(7)).tolist()).draw(20_000, 0.01, prefixes=True).round()
    length = drawn.sum(1)
    assert torch.equal(drawn, (torch.arange(7) < length[:, None]).float())
    shares = torch.bincount(length.long(), minlength=8)[1:] / len(length)
    by_logarithm = torch.log2(1 + 1 / torch.arange(1.0, 8)) / 3
    assert shares.tolist() == pytest.approx((0.5 / 7 + 0.5 * by_logarithm).tolist(), abs=0.015)


def test_gradients_reach_the_logits_of_the_allowed_groups_only():
    torch.manual_seed(0)
    selector = selector_of([[0.0, 0, 0], [0, 0, 0]], torch.tensor([True, False, True]))
    drawn = selector.draw(20, 1.0)
    assert (drawn[:, 1] == 0).all()
    drawn[:, 0].sum().backward()
    assert (selector.slow_logits.grad[:, [0, 2]] != 0).all()
    assert (selector.slow_logits.grad[:, 1] == 0).all()


def test_nothing_is_chosen_twice_and_who_comes_too_late_chooses_last():
    wants = [[5.0, 1, 0, 0], [6.0, 0, 3, 2], [7.0, 0, 3, 2], [0, 9.0, 0, 0]]
    assert selector_of(wants).choice().tolist() == [0, 1, 2, 3]
    assert selector_of(wants[:3]).choice().tolist() == [0, 2, 3]


def test_the_order_goes_on_with_what_is_wanted_most_and_ends_with_what_is_not_allowed():
    allowed = torch.tensor([True, False, True, True, True])
    order = selector_of([[0.0, 9, 1, 2, 8], [0.0, 9, 1, 2, 8]], allowed).order()
    assert order.tolist() == [4, 3, 2, 0, 1]


def test_logits_start_nearly_equal_but_not_quite():
    logits = ConcreteSelector(4, torch.ones(50, dtype=torch.bool)).logits
    assert 0 < logits.std() < 0.2

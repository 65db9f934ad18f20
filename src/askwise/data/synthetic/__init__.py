"""Distributions whose answers are known: the truth to measure estimates against."""

from __future__ import annotations

from collections.abc import Callable

from askwise.data.synthetic.base import Distribution, Exact
from askwise.data.synthetic.cube import cube, cube_nm
from askwise.data.synthetic.discrete import network, noisy_tests, prior, unequal_costs
from askwise.data.synthetic.gaussian import gaussian

__all__ = ["DISTRIBUTIONS", "Distribution", "Exact"]

DISTRIBUTIONS: dict[str, Callable[[], Distribution]] = {
    "tests": noisy_tests,
    "network": network,
    "prior": prior,
    "costs": unequal_costs,
    "cube": cube,
    "cube-nm": cube_nm,
    "gaussian": gaussian,
}

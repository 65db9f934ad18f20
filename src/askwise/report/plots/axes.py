"""Axes: of cost, spread at the low costs, where most is decided, with room for cost 0; and of shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from askwise.core.arrays import Array
from askwise.report.plots.style import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.ticker import Formatter

# From this many times the price of one question on, the low costs would be squeezed on an even axis.
WIDE_RANGE = 8


def spread_scale(ax: Axes, which: Literal["x", "y"], unit: float) -> None:
    """Scale an axis by log(1 + cost / unit): nearly even up to the unit, in equal ratios far above it.

    Cost 0 has a place on it, so no point is lost as on a plain log axis.
    """

    def forward(cost: Array) -> Array:
        # Limits may lie a little below 0, so that a marker at 0 is drawn whole.
        return np.log1p(np.maximum(np.asarray(cost) / unit, -0.5))

    def inverse(place: Array) -> Array:
        return unit * np.expm1(place)

    getattr(ax, f"set_{which}scale")("function", functions=(forward, inverse))
    ax.minorticks_off()


def spread_limits(unit: float, least: float, most: float) -> tuple[float, float]:
    """Limits of a spread axis that leave an even margin around its points."""
    low, high = np.log1p(least / unit), np.log1p(most / unit)
    margin = 0.05 * (high - low)
    return float(unit * np.expm1(low - margin)), float(unit * np.expm1(high + margin))


def set_ticks(ax: Axes, which: Literal["x", "y"], ticks: list[float]) -> None:
    """Ticks at these costs, written as numbers that differ."""
    getattr(ax, f"set_{which}ticks")(ticks, [number_text(tick) for tick in ticks])


def spread_ticks(unit: float, most: float) -> list[float]:
    """0, round numbers, and the end, none nearer to the next than a fifteenth of a spread axis."""
    powers = 10.0 ** np.arange(np.floor(np.log10(unit)), np.log10(most) + 1)
    round_numbers = np.sort(np.outer(powers, [1, 2, 5]).ravel())
    far = np.log1p(most / unit) / 15
    ticks = [0.0]
    for tick in round_numbers[(round_numbers >= 0.9 * unit) & (round_numbers < most)]:
        apart = np.log1p(tick / unit) - np.log1p(ticks[-1] / unit)
        if apart > far and np.log1p(most / unit) - np.log1p(tick / unit) > far:
            ticks.append(float(tick))
    return [*ticks, most]


def percent_axis(axis: Axis) -> None:
    """Write the ticks of an axis in percent, with as many digits as tell them apart."""
    axis.set_major_formatter(percent_form())


def percent_form() -> Formatter:
    """How ticks are written in percent."""
    from matplotlib.ticker import Formatter

    class Percent(Formatter):
        def __call__(self, value: float, position: int | None = None) -> str:
            del position
            return percents([value])[0]

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return percents(values)

    return Percent()


def percents(shares: Sequence[float]) -> list[str]:
    """Shares in percent, with the fewest digits that write each of them as it is, three at most."""
    digits = next((d for d in range(3) if all(abs(round(100 * v, d) - 100 * v) < 1e-6 for v in shares)), 3)
    return [f"{v:.{digits}%}" for v in shares]

"""How each method is drawn in the pictures of a comparison."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

from askwise.report.plots.style import AMBER, BLUE, CATEGORIES, GREEN, INK, ORANGE, PURPLE, SKY, SOFT
from askwise.studies.compare.plan import CEILING


class Style(NamedTuple):
    """How a method is drawn: colour, marker and dashes each tell it from others, for those who can't tell by one."""

    colour: str
    marker: str
    dashes: Any = "-"
    width: float = 1.4

    @property
    def line(self) -> dict[str, Any]:
        """The arguments of matplotlib's `plot`."""
        marks = {"marker": self.marker or None, "markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.4}
        return {"color": self.colour, "linestyle": self.dashes, "linewidth": self.width, **marks}


SHORT_DASH, LONG_DASH, DOTS = (0, (4, 1.6)), (0, (9, 2.2)), (0, (1, 1.4))
DASH_DOT = (0, (9, 2.2, 1.6, 2.2))
# Methods that ask every case the same are dashed; baselines of scikit-learn are black with long dashes.
STYLES = {
    "dime": Style(BLUE, "o", width=2.2),
    "argmax-direct": Style(ORANGE, "s"),
    "eddi": Style(GREEN, "^"),
    "cwcf": Style(PURPLE, "D"),
    "opportunistic": Style(AMBER, "v"),
    "concrete-autoencoder": Style(SKY, "P", SHORT_DASH),
    "mrmr": Style(GREEN, "X", SHORT_DASH),
    "cmicot": Style(ORANGE, "<", SHORT_DASH),
    "random-order": Style(SOFT, "d", SHORT_DASH),
    "boosting-best-k": Style(INK, ">", LONG_DASH, 1.2),
    "linear-lasso": Style(INK, "p", DASH_DOT, 1.2),
    "exact": Style(INK, "*", DOTS),
}
OTHERS = tuple(Style(colour, marker, DOTS) for marker, colour in itertools.product("hH8", (*CATEGORIES, INK)))
CEILING_STYLE = Style(SOFT, "", (0, (6, 3)), 1.1)


def styles_of(methods: Iterable[str]) -> dict[str, Style]:
    """The style of each method; those that are not known here get the spare ones."""
    spare = itertools.cycle(OTHERS)
    return {m: CEILING_STYLE if m == CEILING else STYLES.get(m) or next(spare) for m in methods}

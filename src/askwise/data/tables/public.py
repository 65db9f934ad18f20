"""Named public datasets that come with scikit-learn: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from askwise.core.errors import unknown_name

MEASUREMENTS = (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points", "symmetry",
    "fractal dimension",
)  # fmt: skip

# What scikit-learn's description of the diabetes data says its short names stand for.
DIABETES_NAMES = {
    "bmi": "body mass index",
    "bp": "blood pressure",
    "s1": "total cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol per HDL",
    "s5": "log triglycerides",
    "s6": "blood sugar",
}


@dataclass(frozen=True)
class PublicData:
    """A table of past cases: what is asked (X), what is to be known (y), and how the columns are grouped and priced."""

    name: str
    title: str
    X: pd.DataFrame
    y: pd.Series[Any]
    task: str = "classification"
    groups: Mapping[str, list[str]] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    free: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        return str(self.y.name)


def _breast_cancer() -> PublicData:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    groups = {m: [f"mean {m}", f"{m} error", f"worst {m}"] for m in MEASUREMENTS}
    title = (
        "Breast cancer (Wisconsin): is a tumour malignant? Ten measurements of its cells, each asked as one question"
    )
    return PublicData("breast-cancer", title, data.data, _named(data, "diagnosis"), groups=groups)


def _digits() -> PublicData:
    from sklearn.datasets import load_digits

    data = load_digits(as_frame=True)
    title = "Handwritten digits: which digit is it? An image of 8 x 8, asked pixel by pixel"
    return PublicData("digits", title, data.data, data.target.rename("digit"))


def _wine() -> PublicData:
    from sklearn.datasets import load_wine

    data = load_wine(as_frame=True)
    X = data.data.rename(columns=lambda name: name.replace("_", " "))
    title = "Wine: which of three growers made it? Thirteen measurements"
    return PublicData("wine", title, X, _named(data, "grower"))


def _diabetes() -> PublicData:
    from sklearn.datasets import load_diabetes

    data = load_diabetes(as_frame=True, scaled=False)
    X = data.data.rename(columns=DIABETES_NAMES)
    title = "Diabetes: how far will it have gone in a year? A number, from eight measurements; age and sex are free"
    y = data.target.rename("progression")
    return PublicData("diabetes", title, X, y, task="regression", free=("age", "sex"))


def _named(data: Any, target: str) -> pd.Series[Any]:
    """The target with the names of its classes in place of their numbers."""
    names = dict(enumerate(str(n).replace("_", " ") for n in data.target_names))
    return data.target.map(names).rename(target)


PUBLIC: dict[str, Callable[[], PublicData]] = {
    "breast-cancer": _breast_cancer,
    "digits": _digits,
    "wine": _wine,
    "diabetes": _diabetes,
}


def load_public(name: str) -> PublicData:
    """One of the named datasets."""
    if name not in PUBLIC:
        raise unknown_name("dataset", name, PUBLIC)
    return PUBLIC[name]()

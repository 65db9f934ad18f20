"""A target of one of pandas' nullable types as one of numpy's."""

from __future__ import annotations

from typing import Any

import pandas as pd


def plain_target(y: Any) -> Any:
    """Return labels of the type boolean as booleans, Int64 as whole numbers; with missing ones, as objects.

    scikit-learn would make floats of them, and True the label 1.0. Other targets are returned as they are.
    """
    if not isinstance(y, pd.Series) or not isinstance(y.dtype, pd.api.extensions.ExtensionDtype):
        return y
    if not pd.api.types.is_numeric_dtype(y.dtype):
        return y
    if y.isna().any():
        return y.astype(object)
    kind = (
        "bool"
        if pd.api.types.is_bool_dtype(y.dtype)
        else "int64"
        if pd.api.types.is_integer_dtype(y.dtype)
        else "float64"
    )
    return y.astype(kind)

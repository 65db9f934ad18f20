"""Pictures are drawn small, except where a test is about their layout."""

import pytest

from askwise.report.plots import style

REAL_DPI = style.DPI


@pytest.fixture(autouse=True, scope="session")
def small_pictures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "DPI", 36)
        yield


@pytest.fixture
def real_size(monkeypatch):
    """Pictures as users get them."""
    monkeypatch.setattr(style, "DPI", REAL_DPI)

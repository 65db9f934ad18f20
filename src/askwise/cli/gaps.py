"""What commands that use a model say about gaps of the rows it learnt from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from askwise.cli.common import Out

if TYPE_CHECKING:
    from askwise.model.session_model import SessionModel


def note_gaps(out: Out, model: SessionModel) -> None:
    """Warn of a model that has learnt from gaps, and say of one that takes them for evidence that it does."""
    from askwise.data.tables.gaps import missing_of_card
    from askwise.data.tables.gaps_wording import learnt_text

    text = learnt_text(model.gaps, missing_of_card(model.card))
    if text:
        out.note(text)


def reweighted(estimator: Any, X: Any, y: Any, costs: Any, weights: Any = None) -> Any:
    """Return the curve of cases weighed against gaps, if they have gaps that told the answer in training."""
    from askwise.evaluation.reweighted import reweighted_curve

    rows = estimator.encode(X).with_weight(weights)
    return reweighted_curve(estimator.model_, rows, estimator.check_target(y), costs)

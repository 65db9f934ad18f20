"""Fit an estimator with a progress bar, for `askwise train` and `askwise demo`."""

from __future__ import annotations

from typing import Any, NamedTuple

from askwise.cli.cases import Cases
from askwise.cli.common import Out, check_device
from askwise.cli.options import TrainingOptions
from askwise.cli.progress import training_progress
from askwise.core.errors import AskwiseError


class Fitted(NamedTuple):
    """An estimator that is fitted to cases and keeps their card; whether a stage ended before its last epoch."""

    estimator: Any
    stopped_early: bool


def fit(out: Out, cases: Cases, training: TrainingOptions) -> Fitted:
    """Fit an estimator to the cases."""
    with training_progress(out) as progress:
        estimator = _build(cases, training)
        note = width_note(estimator)
        if note is not None:
            out.note(note)
        estimator.fit(cases.X, cases.y, progress=progress, split_by=cases.split_by, sample_weight=cases.weights)
    if training.checkpoint is not None and not progress.stages:
        out.note(f"Every epoch was in {training.checkpoint} already, so nothing was left to train")
    for sentence in progress.stopped_early:
        out.note(sentence)
    estimator.model_.card |= cases.card
    return Fitted(estimator, bool(progress.stopped_early))


def _build(cases: Cases, training: TrainingOptions) -> Any:
    from askwise.methods.registry import method_for

    check_device(training.device)
    if cases.task == "regression" and training.method.class_weights is not None:
        raise AskwiseError("--class-weights is for classes, and a number is predicted here; leave it out")
    method = method_for(training.method.name, cases.task, cases.inputs)
    return method(**training.arguments(method().get_params(), cases.questions))


def width_note(estimator: Any) -> str | None:
    """Return a note if a network of images is narrower on a CPU than it would be on a GPU."""
    from askwise.methods.images.method import ImageMethod
    from askwise.networks.own_backbones import CNN_WIDTHS as WIDTHS

    if not isinstance(estimator, ImageMethod) or estimator.hidden or estimator.backbone_width != WIDTHS["cpu"]:
        return None
    return (
        f"On a CPU the network is {WIDTHS['cpu']} channels wide instead of {WIDTHS['cuda']}, to be done sooner; "
        "--hidden N sets another width. A GPU is faster by far"
    )

"""Loading a saved model back into its estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from askwise.core.errors import AskwiseError, unknown_name
from askwise.methods.base import Method
from askwise.methods.registry import IMAGE_METHODS, METHODS
from askwise.model import file as bundle
from askwise.model.file import saved_rule, telling_of_damage
from askwise.model.model import Model
from askwise.networks.own_backbones import CNN_WIDTHS
from askwise.networks.pair_policy import PairPolicy
from askwise.networks.timm_backbone import TimmBackbone
from askwise.training.devices import pick_device
from askwise.training.draws import seeded_rng


def load(path: str | Path, device: str = "auto", **modules: nn.Module) -> Any:
    """The estimator saved at `path`. A model trained with modules of your own needs them again, by their names.

    device: where a model of images runs; one of tables runs on the CPU, where it is fastest.
    """
    place = pick_device(device)
    return estimator_of(path, bundle.read(path), place, modules)


def estimator_of(
    path: str | Path, contents: bundle.Contents, device: torch.device, modules: dict[str, nn.Module] | None = None
) -> Method:
    """The estimator in a file that was read already."""
    with telling_of_damage(path):
        return _estimator(path, contents, modules or {}, device)


def _estimator(
    path: str | Path, contents: bundle.Contents, modules: dict[str, nn.Module], device: torch.device
) -> Method:
    name = contents.header["estimator"]["name"]
    known = METHODS | IMAGE_METHODS
    if name not in known:
        raise unknown_name(f"method in {path}:", name, known)
    settings = _settings(path, contents.header["estimator"]["settings"], modules)
    estimator = known[name](**settings)
    parts = contents.model_parts()
    settled = _settled(contents.header["estimator"], settings)
    with seeded_rng("cpu", seed=0):
        policy = known[name](**settings | settled).build(parts["schema"].space, parts["task"])
    _put_weights(policy, contents, modules)
    if isinstance(policy, PairPolicy):
        # Files written before it was kept scaled scores after the temperature.
        policy.tempered_scores = contents.header.get("tempered_scores", True)
    schema = parts["schema"]
    estimator.n_features_in_ = schema.n_features
    if schema.named:
        estimator.feature_names_in_ = np.array(schema.column_names, dtype=object)
    place = estimator.inference_device(device)
    estimator.set_model(Model(policy=policy.eval(), fingerprint=contents.fingerprint, device=place, **parts))
    estimator.settled_ = settled
    return estimator


def _settled(saved: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that were left to the data, as they were settled for this model."""
    if "settled" not in saved and "lookahead" not in settings and saved["name"].startswith("dime-"):
        # Models saved before there was looking ahead ask by one question.
        return {"lookahead": 0.0} if saved["name"] in METHODS else {}
    found: dict[str, Any] = saved.get("settled", {})
    return found


def _settings(path: str | Path, saved: dict[str, Any], modules: dict[str, nn.Module]) -> dict[str, Any]:
    """The constructor's arguments from what a file holds of them."""
    settings = dict(saved)
    for key, value in settings.items():
        if isinstance(value, dict) and set(value) == {"module"}:
            if key not in modules:
                raise AskwiseError(f"{path} was trained with a {key} of your own; give it again: load(path, {key}=...)")
            settings[key] = modules[key]
        elif isinstance(value, dict) and "timm" in value:
            # Models saved before it was kept have none.
            as_pretrained = value.get("as_pretrained", False)
            settings[key] = TimmBackbone(value["timm"], options=value["options"], as_pretrained=as_pretrained)
        elif isinstance(value, dict) and set(value) == {"pairs"}:
            settings[key] = dict(value["pairs"])
        elif key == "stop":
            settings[key] = saved_rule(value)
        elif key == "hidden" and value is None and settings.get("backbone") == "small-cnn":
            # Models saved before it was kept are as wide as on a GPU.
            settings[key] = CNN_WIDTHS["cuda"]
    unused = [m for m in modules if settings.get(m) is not modules[m]]
    if unused:
        raise AskwiseError(f"{path} was not trained with a {unused[0]} of your own; load it without {unused[0]}=")
    return settings


def _put_weights(policy: nn.Module, contents: bundle.Contents, modules: dict[str, nn.Module]) -> None:
    try:
        policy.load_state_dict({name: torch.as_tensor(array) for name, array in contents.weights.items()})
    except RuntimeError as error:
        if not modules:
            raise
        # The first line only says that there are some.
        reasons = [line.strip() for line in str(error).splitlines()[1:]] or [str(error)]
        raise AskwiseError(
            f"the {' and '.join(modules)} given for it can't take the weights in the file, which were trained with "
            f"{'another' if len(modules) == 1 else 'others'}: {reasons[0]}"
        ) from error

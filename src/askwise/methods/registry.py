"""Every method by name, and loading a saved model back into its estimator."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from askwise.core.errors import AskwiseError, AskwiseWarning, BundleError, unknown_name
from askwise.core.stopping import parse_rule
from askwise.methods.argmax_direct import ArgmaxDirectClassifier, ArgmaxDirectRegressor
from askwise.methods.base import Method, pick_device
from askwise.methods.cmicot import CmicotClassifier
from askwise.methods.concrete_autoencoder import ConcreteAutoencoderClassifier, ConcreteAutoencoderRegressor
from askwise.methods.cwcf import CwcfClassifier
from askwise.methods.dime.images import DimeImageClassifier, DimeImageRegressor
from askwise.methods.dime.tables import DimeClassifier, DimeRegressor
from askwise.methods.eddi import EddiClassifier, EddiRegressor
from askwise.methods.images.baselines import (
    AllFeaturesImageClassifier,
    ArgmaxDirectImageClassifier,
    ConcreteAutoencoderImageClassifier,
    RandomOrderImageClassifier,
)
from askwise.methods.images.hard_attention import HardAttentionImageClassifier
from askwise.methods.mrmr import MrmrClassifier, MrmrRegressor
from askwise.methods.opportunistic import OpportunisticClassifier
from askwise.methods.random_order import (
    AllFeaturesClassifier,
    AllFeaturesRegressor,
    RandomOrderClassifier,
    RandomOrderRegressor,
)
from askwise.model import file as bundle
from askwise.model.model import Model
from askwise.networks.own_backbones import CNN_WIDTHS
from askwise.networks.timm_backbone import TimmBackbone
from askwise.training.draws import own_draws

METHODS: dict[str, type[Method]] = {
    "dime-classifier": DimeClassifier,
    "dime-regressor": DimeRegressor,
    "eddi-classifier": EddiClassifier,
    "eddi-regressor": EddiRegressor,
    "mrmr-classifier": MrmrClassifier,
    "mrmr-regressor": MrmrRegressor,
    "cmicot-classifier": CmicotClassifier,
    "cwcf-classifier": CwcfClassifier,
    "opportunistic-classifier": OpportunisticClassifier,
    "argmax-direct-classifier": ArgmaxDirectClassifier,
    "argmax-direct-regressor": ArgmaxDirectRegressor,
    "concrete-autoencoder-classifier": ConcreteAutoencoderClassifier,
    "concrete-autoencoder-regressor": ConcreteAutoencoderRegressor,
    "random-order-classifier": RandomOrderClassifier,
    "random-order-regressor": RandomOrderRegressor,
    "all-features-classifier": AllFeaturesClassifier,
    "all-features-regressor": AllFeaturesRegressor,
}

IMAGE_METHODS: dict[str, type[Method]] = {
    "dime-image-classifier": DimeImageClassifier,
    "dime-image-regressor": DimeImageRegressor,
    "argmax-direct-image-classifier": ArgmaxDirectImageClassifier,
    "concrete-autoencoder-image-classifier": ConcreteAutoencoderImageClassifier,
    "hard-attention-image-classifier": HardAttentionImageClassifier,
    "random-order-image-classifier": RandomOrderImageClassifier,
    "all-features-image-classifier": AllFeaturesImageClassifier,
}

TABLE, IMAGE = "table", "image"
# What each learns from has methods of its own.
METHODS_OF: dict[str, dict[str, type[Method]]] = {TABLE: METHODS, IMAGE: IMAGE_METHODS}
ENDINGS = {"classification": "-classifier", "regression": "-regressor"}


def method_for(name: str, kind: str, inputs: str = TABLE) -> type[Method]:
    """The method of a short name, such as "dime", for a kind of task ("classification" or "regression").

    inputs: what it learns from, "table" or "image".
    """
    found = METHODS_OF[inputs].get(name + _ending(kind, inputs))
    if found is not None:
        return found
    names = names_for(kind, inputs)
    if name in short_names():
        why = why_not(name, kind, inputs)
        raise AskwiseError(f"the method {name!r} {why} here; methods for that: {', '.join(names)}")
    raise unknown_name("method", name, names)


def why_not(name: str, kind: str, inputs: str = TABLE) -> str:
    """Why a method can't be used for this kind of task, or can't learn from this."""
    if name in short_names(inputs):
        return (
            f"predicts {'classes, and a number is' if kind == 'regression' else 'a number, and classes are'} predicted"
        )
    return "learns from tables, and images are given" if inputs == IMAGE else "learns from images, and a table is given"


def names_for(kind: str, inputs: str = TABLE) -> list[str]:
    """The short names of the methods for a kind of task."""
    ending = _ending(kind, inputs)
    return [name.removesuffix(ending) for name in METHODS_OF[inputs] if name.endswith(ending)]


def short_name(name: str) -> str:
    """A method's name without what tells its task, and what it learns from."""
    for ending in ENDINGS.values():
        name = name.removesuffix(f"-{IMAGE}{ending}").removesuffix(ending)
    return name


def short_names(*inputs: str) -> list[str]:
    """The short names of all methods, or of those that learn from some inputs."""
    return list(dict.fromkeys(short_name(name) for of in inputs or METHODS_OF for name in METHODS_OF[of]))


def _ending(kind: str, inputs: str) -> str:
    return f"-{IMAGE}{ENDINGS[kind]}" if inputs == IMAGE else ENDINGS[kind]


def load(path: str | Path, device: str = "auto", **modules: nn.Module) -> Any:
    """The estimator saved at `path`. A model trained with modules of your own needs them again, by their names.

    device: where a model of images runs; one of tables runs on the CPU, where it is fastest.
    """
    place = pick_device(device)
    contents = bundle.read(path)
    try:
        return _estimator(path, contents, modules, place)
    except AskwiseError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, RuntimeError) as error:
        raise BundleError(f"{path} is not a whole askwise model: {error}") from error


def _estimator(
    path: str | Path, contents: bundle.Contents, modules: dict[str, nn.Module], device: torch.device
) -> Method:
    name = contents.header["estimator"]["name"]
    known = METHODS | IMAGE_METHODS
    if name not in known:
        raise unknown_name(f"method in {path}:", name, known)
    settings = dict(contents.header["estimator"]["settings"])
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
        elif key == "stop" and value is not None:
            settings[key] = _rule(value["rule"])
        elif key == "hidden" and value is None and settings.get("backbone") == "small-cnn":
            # Models saved before it was kept are as wide as on a GPU.
            settings[key] = CNN_WIDTHS["cuda"]
    unused = [m for m in modules if settings.get(m) is not modules[m]]
    if unused:
        raise AskwiseError(f"{path} was not trained with a {unused[0]} of your own; load it without {unused[0]}=")
    estimator = known[name](**settings)
    parts = contents.model_parts()
    with own_draws("cpu", seed=0):
        policy = estimator.build(parts["schema"].space, parts["task"])
    _put_weights(policy, contents, modules)
    schema = parts["schema"]
    estimator.n_features_in_ = schema.n_features
    if schema.named:
        estimator.feature_names_in_ = np.array(schema.column_names, dtype=object)
    place = estimator.place_of_use(device)
    estimator.adopt(Model(policy=policy.eval(), fingerprint=contents.fingerprint, device=place, **parts))
    return estimator


def _put_weights(policy: nn.Module, contents: bundle.Contents, modules: dict[str, nn.Module]) -> None:
    try:
        policy.load_state_dict(contents.weights)
    except RuntimeError as error:
        if not modules:
            raise
        # The first line only says that there are some.
        reasons = [line.strip() for line in str(error).splitlines()[1:]] or [str(error)]
        raise AskwiseError(
            f"the {' and '.join(modules)} given for it can't take the weights in the file, which were trained with "
            f"{'another' if len(modules) == 1 else 'others'}: {reasons[0]}"
        ) from error


def _rule(text: str) -> Any:
    try:
        return parse_rule(text)
    except AskwiseError:
        warnings.warn(
            f"the model was saved with a stopping rule of your own ({text}); give it again with stop=",
            AskwiseWarning,
            stacklevel=4,
        )
        return None

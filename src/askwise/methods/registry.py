"""Every method by its name."""

from __future__ import annotations

from askwise.core.errors import AskwiseError, unknown_name
from askwise.core.moved import keep_old_names
from askwise.methods import random_order
from askwise.methods.argmax_direct import ArgmaxDirectClassifier, ArgmaxDirectRegressor
from askwise.methods.base import Method
from askwise.methods.cmicot import CmicotClassifier
from askwise.methods.concrete_autoencoder import ConcreteAutoencoderClassifier, ConcreteAutoencoderRegressor
from askwise.methods.cwcf import CwcfClassifier
from askwise.methods.dime.images import DimeImageClassifier, DimeImageRegressor
from askwise.methods.dime.tables import DimeClassifier, DimeRegressor
from askwise.methods.eddi import EddiClassifier, EddiRegressor
from askwise.methods.images import baselines
from askwise.methods.images.hard_attention import HardAttentionImageClassifier
from askwise.methods.mrmr import MrmrClassifier, MrmrRegressor
from askwise.methods.opportunistic import OpportunisticClassifier

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
    "random-order-classifier": random_order.RandomOrderClassifier,
    "random-order-regressor": random_order.RandomOrderRegressor,
    "all-features-classifier": random_order.AllFeaturesClassifier,
    "all-features-regressor": random_order.AllFeaturesRegressor,
}

IMAGE_METHODS: dict[str, type[Method]] = {
    "dime-image-classifier": DimeImageClassifier,
    "dime-image-regressor": DimeImageRegressor,
    "argmax-direct-image-classifier": baselines.ArgmaxDirectImageClassifier,
    "concrete-autoencoder-image-classifier": baselines.ConcreteAutoencoderImageClassifier,
    "hard-attention-image-classifier": HardAttentionImageClassifier,
    "random-order-image-classifier": baselines.RandomOrderImageClassifier,
    "all-features-image-classifier": baselines.AllFeaturesImageClassifier,
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


keep_old_names(__name__)

"""askwise: which question to ask next, for this case, and when to stop asking."""

from typing import TYPE_CHECKING, Any

from askwise._version import __version__
from askwise.core.errors import AskwiseError, AskwiseWarning, BundleError, OutOfRangeWarning
from askwise.core.moved import find_moved_modules

if TYPE_CHECKING:
    from askwise.core.blend import Blend
    from askwise.core.stopping import AverageCost, Budget, Confidence, Penalty, Rule
    from askwise.data.images.files import Images, read_images
    from askwise.data.images.sketches import sketch
    from askwise.methods.argmax_direct import ArgmaxDirectClassifier, ArgmaxDirectRegressor
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
    from askwise.methods.loading import load
    from askwise.methods.mrmr import MrmrClassifier, MrmrRegressor
    from askwise.methods.opportunistic import OpportunisticClassifier
    from askwise.methods.random_order import (
        AllFeaturesClassifier,
        AllFeaturesRegressor,
        RandomOrderClassifier,
        RandomOrderRegressor,
    )
    from askwise.methods.registry import IMAGE_METHODS, METHODS
    from askwise.model.numpy_model import NumpyModel
    from askwise.networks.timm_backbone import TimmBackbone
    from askwise.session.session import Session

find_moved_modules()

# torch takes seconds to load: names that need it are loaded when first used, so that `askwise --help` comes at once.
_LAZY = {
    "METHODS": "methods.registry",
    "IMAGE_METHODS": "methods.registry",
    "load": "methods.loading",
    "DimeClassifier": "methods.dime.tables",
    "DimeRegressor": "methods.dime.tables",
    "ArgmaxDirectClassifier": "methods.argmax_direct",
    "ArgmaxDirectRegressor": "methods.argmax_direct",
    "EddiClassifier": "methods.eddi",
    "EddiRegressor": "methods.eddi",
    "CmicotClassifier": "methods.cmicot",
    "MrmrClassifier": "methods.mrmr",
    "MrmrRegressor": "methods.mrmr",
    "CwcfClassifier": "methods.cwcf",
    "OpportunisticClassifier": "methods.opportunistic",
    "ConcreteAutoencoderClassifier": "methods.concrete_autoencoder",
    "ConcreteAutoencoderRegressor": "methods.concrete_autoencoder",
    "RandomOrderClassifier": "methods.random_order",
    "RandomOrderRegressor": "methods.random_order",
    "AllFeaturesClassifier": "methods.random_order",
    "AllFeaturesRegressor": "methods.random_order",
    "DimeImageClassifier": "methods.dime.images",
    "DimeImageRegressor": "methods.dime.images",
    "ArgmaxDirectImageClassifier": "methods.images.baselines",
    "ConcreteAutoencoderImageClassifier": "methods.images.baselines",
    "HardAttentionImageClassifier": "methods.images.hard_attention",
    "RandomOrderImageClassifier": "methods.images.baselines",
    "AllFeaturesImageClassifier": "methods.images.baselines",
    "NumpyModel": "model.numpy_model",
    "TimmBackbone": "networks.timm_backbone",
    "Images": "data.images.files",
    "read_images": "data.images.files",
    "sketch": "data.images.sketches",
    "Session": "session.session",
    "AverageCost": "core.stopping",
    "Blend": "core.blend",
    "Budget": "core.stopping",
    "Confidence": "core.stopping",
    "Penalty": "core.stopping",
    "Rule": "core.stopping",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'askwise' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"askwise.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "IMAGE_METHODS",
    "METHODS",
    "AllFeaturesClassifier",
    "AllFeaturesImageClassifier",
    "AllFeaturesRegressor",
    "ArgmaxDirectClassifier",
    "ArgmaxDirectImageClassifier",
    "ArgmaxDirectRegressor",
    "AskwiseError",
    "AskwiseWarning",
    "AverageCost",
    "Blend",
    "Budget",
    "BundleError",
    "CmicotClassifier",
    "ConcreteAutoencoderClassifier",
    "ConcreteAutoencoderImageClassifier",
    "ConcreteAutoencoderRegressor",
    "Confidence",
    "CwcfClassifier",
    "DimeClassifier",
    "DimeImageClassifier",
    "DimeImageRegressor",
    "DimeRegressor",
    "EddiClassifier",
    "EddiRegressor",
    "HardAttentionImageClassifier",
    "Images",
    "MrmrClassifier",
    "MrmrRegressor",
    "NumpyModel",
    "OpportunisticClassifier",
    "OutOfRangeWarning",
    "Penalty",
    "RandomOrderClassifier",
    "RandomOrderImageClassifier",
    "RandomOrderRegressor",
    "Rule",
    "Session",
    "TimmBackbone",
    "__version__",
    "load",
    "read_images",
    "sketch",
]

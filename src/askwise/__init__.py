"""askwise: which question to ask next, for this case, and when to stop asking."""

from askwise._version import __version__
from askwise.errors import AskwiseError, AskwiseWarning, BundleError
from askwise.methods.dime import DimeClassifier, DimeRegressor
from askwise.methods.registry import METHODS, load
from askwise.session import Session
from askwise.stopping import AverageCost, Budget, Confidence, Penalty, Rule

__all__ = [
    "METHODS",
    "AskwiseError",
    "AskwiseWarning",
    "AverageCost",
    "Budget",
    "BundleError",
    "Confidence",
    "DimeClassifier",
    "DimeRegressor",
    "Penalty",
    "Rule",
    "Session",
    "__version__",
    "load",
]

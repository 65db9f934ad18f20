"""A trained model: what it is, its file, and its forms for other programs."""

from askwise.model.model import Acquisition, Model

__all__ = ["Acquisition", "Model"]

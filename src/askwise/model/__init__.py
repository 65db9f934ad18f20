"""A trained model: what it is, its file, and its forms for other programs."""

from typing import TYPE_CHECKING, Any

from askwise.core.moved import moved_name

if TYPE_CHECKING:
    from askwise.model.model import Acquisition, Model

__all__ = ["Acquisition", "Model"]


def __getattr__(name: str) -> Any:
    # Looked up when it is asked for: the other modules of this package do without torch.
    if name not in __all__:
        return moved_name(__name__, name, stacklevel=3)
    from askwise.model import model

    return getattr(model, name)

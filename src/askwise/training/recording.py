"""An update recorded as one CUDA graph and replayed: thousands of small kernels without the host in between."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from askwise.core.errors import AskwiseWarning
from askwise.core.rows import Rows
from askwise.training.update import Update

Learn = Callable[[Rows, Tensor], None]


def capture_if_possible(update: Update, rows: Rows, weight: Tensor) -> Learn:
    """The update as it runs fastest on batches like this one: replayed on a GPU where it can be, else as it is."""
    if update.device.type != "cuda":
        return update
    before, stream = _State(update), torch.cuda.current_stream()
    try:
        return Recording(update, rows, weight)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.set_stream(stream)
        raise
    except RuntimeError as error:
        # A recording that breaks off leaves its own stream in place of this one.
        torch.cuda.set_stream(stream)
        _end_drawing_for_graphs(update.device)
        warnings.warn(
            "this training can't be recorded as a CUDA graph, so it runs step by step, which is slower. A network that "
            f"looks at its data on the host, or makes tensors of changing shapes, does that: {_first_line(error)}",
            AskwiseWarning,
            stacklevel=2,
        )
        return update
    finally:
        before.put_back()


class Recording:
    """A recorded update. Batches are copied to where it looks for them."""

    def __init__(self, update: Update, rows: Rows, weight: Tensor) -> None:
        self.update = update
        self.rows = rows.clone()
        self.weight = weight.clone()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # The first time, things are set up that may make the host wait.
            update(self.rows, self.weight)
            with _host_must_not_wait():
                update(self.rows, self.weight)
        torch.cuda.current_stream().wait_stream(stream)
        update.optimiser.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            update(self.rows, self.weight)

    def __call__(self, rows: Rows, weight: Tensor) -> None:
        self.rows.copy_(rows)
        self.weight.copy_(weight, non_blocking=True)
        self.graph.replay()


@contextmanager
def _host_must_not_wait() -> Iterator[None]:
    """Raise where an operation waits for the device: better found here than in the midst of a recording."""
    before = torch.cuda.get_sync_debug_mode()
    try:
        with warnings.catch_warnings():
            # Torch says that it does not find all of them; the recording itself finds the rest.
            warnings.simplefilter("ignore")
            torch.cuda.set_sync_debug_mode("error")
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


def _end_drawing_for_graphs(device: torch.device) -> None:
    """Give a device fresh random numbers: where a recording breaks off, the old ones go on waiting for its graph."""
    torch.cuda.synchronize(device)
    draws = torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]
    draws.graphsafe_set_state(torch.Generator(device).graphsafe_get_state())


class _State:
    """Everything that trying an update changes, to be put back in place."""

    def __init__(self, update: Update) -> None:
        self.update = update
        self.copies = [t.detach().clone() for t in self._tensors()]
        self.optimiser = [t.clone() for t in self._moments()]
        self.draws = torch.cuda.get_rng_state(update.device)

    def _tensors(self) -> list[Tensor]:
        update = self.update
        objective = update.objective
        remembered = objective.state_dict().values() if isinstance(objective, nn.Module) else ()
        of_update = [*update.average, update.rate, update.done, update.total]
        return [*update.policy.state_dict().values(), *remembered, *of_update]

    def _moments(self) -> list[Tensor]:
        return [t for state in self.update.optimiser.state.values() for t in state.values()]

    def put_back(self) -> None:
        with torch.no_grad():
            for tensor, copy in zip(self._tensors(), self.copies, strict=True):
                tensor.copy_(copy)
            moments = self._moments()
            # An optimiser that had seen nothing holds zeros.
            for moment, copy in zip(moments, self.optimiser or map(torch.zeros_like, moments), strict=True):
                moment.copy_(copy)
        torch.cuda.set_rng_state(self.draws, self.update.device)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__

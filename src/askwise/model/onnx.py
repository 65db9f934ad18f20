"""A model as one ONNX graph, which other programs run without torch and askwise."""

from __future__ import annotations

import copy
import io
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from askwise._version import __version__
from askwise.core.errors import AskwiseError
from askwise.core.policy import Policy
from askwise.core.ranking import value_per_cost
from askwise.core.tasks import Classification, Regression, Task
from askwise.data.images.patches import PatchSpace
from askwise.data.tables.column import WIDEST
from askwise.data.whole_file import whole_file
from askwise.model.file import plain
from askwise.model.model import Model

INPUTS, OUTPUTS = ("x", "mask", "costs"), ("prediction", "values")
# Batches the written graph is tried on; the one it is traced with has yet another size.
TRACED, TRIED = 3, (1, 64)
LEAST_VALUE = 1e-3


class Graph(nn.Module):
    """What the file computes: (x, mask, costs) -> prediction, values.

    x (batch, entries), mask (batch, columns; True where known), costs (groups,). prediction: probabilities (batch,
    classes), or numbers (batch,) in the units of y. values (batch, groups): score per cost, also of known groups.
    """

    center: Tensor

    def __init__(self, policy: Policy, task: Task) -> None:
        super().__init__()
        self.policy = policy
        self.task = task
        # A tensor, since the exporter makes every plain number a float32.
        center = task.center if isinstance(task, Regression) else 0.0
        self.register_buffer("center", torch.tensor(center, dtype=torch.float64))

    def forward(self, x: Tensor, mask: Tensor, costs: Tensor) -> tuple[Tensor, Tensor]:
        belief = self.policy(x, mask)
        assert belief.scores is not None
        return self._decoded(belief.outputs), value_per_cost(belief.scores, costs, self.policy.is_information)

    def _decoded(self, outputs: Tensor) -> Tensor:
        """`task.decode`, in operations that a graph can hold."""
        if isinstance(self.task, Regression):
            # In float64: where the mean of y is large beside its deviation, float32 would round the difference away.
            return outputs[..., 0].double() + self.center
        return torch.softmax(outputs, -1)


def write(path: str | Path, model: Model) -> None:
    """Write a model as ONNX, tried against torch first; whole, or the file that was there stays as it was."""
    if not model.policy.capabilities.exportable:
        raise AskwiseError(
            "this method can't be written as ONNX: what it computes depends on the data (EDDI samples the answers to "
            "open questions); train another method, such as dime, to export"
        )
    _check_packages()
    graph = Graph(copy.deepcopy(model.policy).cpu().float().eval(), model.task).eval()
    with _quiet(), torch.no_grad():
        data = _translated(graph, _captured(graph, model), _facts(model))
        _try(data, graph, model)
    with whole_file(path) as part:
        part.write_bytes(data)


def _facts(model: Model) -> dict[str, str]:
    """What a program needs to encode a row, name the questions and read the prediction."""
    facts = {
        "askwise_version": __version__,
        "kind": model.task.kind,
        "schema": _json(model.schema.to_dict()),
    }
    space = model.schema.space
    if isinstance(space, PatchSpace):
        facts["encoding"] = _json(space.layout.encoding())
    else:
        facts["widest"] = str(WIDEST)
    if isinstance(model.task, Classification):
        facts["labels"] = _json(model.task.labels)
    return facts


def _json(value: Any) -> str:
    return json.dumps(plain(value), allow_nan=False)


def _check_packages() -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise AskwiseError(
            f"ONNX files need onnx, onnxscript and onnxruntime ({error}): pip install 'askwise[onnx]'"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's remarks, which are for those who develop it."""
    log = logging.getLogger("torch")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _states(model: Model, n_rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random inputs of the graph, the same each time."""
    space, draws = model.schema.space, torch.Generator().manual_seed(0)
    x = torch.randn(n_rows, space.n_entries, generator=draws)
    if isinstance(space, PatchSpace):
        x = torch.randint(0, 256, x.shape, generator=draws).float()
    mask = torch.rand(n_rows, space.n_columns, generator=draws) < 0.5
    return x, mask, torch.tensor(space.costs)


def _captured(graph: Graph, model: Model) -> torch.export.ExportedProgram:
    """The graph's operations for a batch of any size."""
    running: list[str] = []
    hooks = []
    for name, module in graph.policy.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda *_, name=name: running.append(name)))
        hooks.append(module.register_forward_hook(lambda *_: _leave(running)))
    batch = {0: torch.export.Dim("batch")}
    try:
        return torch.export.export(graph, _states(model, TRACED), dynamic_shapes=(batch, batch, None), strict=False)
    except Exception as error:
        reason = _first_line(error)
        if "specialized" in str(error):
            reason = "it works for one size of batch only; say x.shape[0] instead of len(x) or a number"
        raise _impossible(graph.policy, reason, running[-1] if running else None) from error
    finally:
        for hook in hooks:
            hook.remove()


def _leave(running: list[str]) -> None:
    running.pop()


def _translated(graph: Graph, program: torch.export.ExportedProgram, facts: dict[str, str]) -> bytes:
    """The ONNX file of a captured graph."""
    import onnx_ir

    batch = {0: "batch"}
    try:
        made = torch.onnx.export(
            program,
            dynamo=True,
            input_names=INPUTS,
            output_names=OUTPUTS,
            dynamic_shapes=(batch, batch, None),
            verbose=False,
        )
        assert made is not None
        # The exporter notes, for every operation, the files and lines of this machine it came from.
        onnx_ir.passes.common.ClearMetadataAndDocStringPass()(made.model)
        made.model.metadata_props.update(facts)
        data: bytes = made.model_proto.SerializeToString()
        return data
    except Exception as error:
        raise _impossible(graph.policy, _first_line(_root(error))) from error


def _try(data: bytes, graph: Graph, model: Model) -> None:
    """Run the file and torch on the same states: they must agree."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        for n_rows in TRIED:
            inputs = _states(model, n_rows)
            found = session.run(OUTPUTS, {name: part.numpy() for name, part in zip(INPUTS, inputs, strict=True)})
            prediction, values = (part.numpy() for part in graph(*inputs))
            _check_near(graph.policy, "predictions", prediction, found[0], model.task.unit**0.5)
            # Values that are nothing beside what could be known need not agree in their own digits.
            least = LEAST_VALUE * model.task.unit / max(model.schema.space.costs)
            _check_near(graph.policy, "values", values, found[1], max(np.abs(values).max(), least))
    except AskwiseError:
        raise
    except Exception as error:
        raise _impossible(graph.policy, f"onnxruntime can't run the graph: {_first_line(error)}") from error


def _check_near(policy: Policy, what: str, ours: Any, theirs: Any, size: float) -> None:
    if not np.allclose(ours, theirs, rtol=0, atol=1e-4 * size, equal_nan=True):
        gap = np.abs(ours - theirs).max()
        raise _impossible(policy, f"onnxruntime gives other {what} than torch, by up to {gap:.3g}")


def _impossible(policy: Policy, reason: str, name: str | None = None) -> AskwiseError:
    """The error for a policy that can't be exported: which module it is, or which it may be, and why."""
    modules = dict(policy.named_modules())
    suspects = _own(modules) if name is None else [name]
    where = " or ".join(f"{n or 'policy'!r} (a {type(modules[n]).__name__})" for n in suspects)
    return AskwiseError(f"the model can't be written as ONNX, because of {where}: {reason}")


def _own(modules: dict[str, nn.Module]) -> list[str]:
    """Names of the modules that come neither from torch nor from askwise; the policy itself where there are none."""
    ours = ("torch", "askwise")
    return [n for n, m in modules.items() if type(m).__module__.split(".")[0] not in ours] or [""]


def _root(error: BaseException) -> BaseException:
    return error if error.__cause__ is None else _root(error.__cause__)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__

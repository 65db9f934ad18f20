"""A model as one safetensors file with a JSON header: nothing in it is ever executed."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from askwise.core.costs import costs_from_dict, costs_to_dict, shared_costs
from askwise.core.errors import AskwiseError, AskwiseWarning, BundleError
from askwise.core.step import StoppingRule
from askwise.core.stopping import parse_rule
from askwise.core.tasks import task_from_dict
from askwise.data.images.schema import schema_from_dict
from askwise.data.tables.schema import Schema
from askwise.data.whole_file import whole_file

if TYPE_CHECKING:
    from askwise.model.model import Model

# 2: scores do not depend on the temperature; `tempered_scores` says so, and `numpy` how to run without torch.
# 3: groups share prices. 4: gaps are evidence. Files without either are written as 2, which earlier versions read.
FORMAT_VERSION, WITH_SHARED_PRICES, WITHOUT_SHARED_PRICES = 4, 3, 2
# How long training took is beside the header, so that the same training gives the same fingerprint.
HEADER, DIGEST, SECONDS = "askwise", "sha256", "askwise-seconds"


@dataclass(frozen=True)
class Contents:
    """What a file holds: the header, the weights by name (numpy arrays), and the digest of both, in hex.

    seconds: how long training took; earlier files have it in the header's card.
    """

    header: dict[str, Any]
    weights: dict[str, Any]
    fingerprint: str
    seconds: float | None = None

    @property
    def schema(self) -> Schema:
        return schema_from_dict(self.header["schema"])

    @property
    def stop(self) -> StoppingRule | None:
        """The rule that the model was trained with."""
        return saved_rule(self.header["estimator"]["settings"].get("stop"))

    def model_parts(self) -> dict[str, Any]:
        """Everything of a Model but its policy."""
        return {
            "schema": self.schema,
            "task": task_from_dict(self.header["task"]),
            "frontiers": _tables(self.header["frontiers"]),
            "spending": _tables(self.header.get("spending", [])),
            "curves": _tables(self.header.get("curves", [])),
            "card": self.header["card"] | ({} if self.seconds is None else {"seconds": self.seconds}),
        }


def _tables(given: list[dict[str, Any]]) -> dict[tuple[float, ...], pd.DataFrame]:
    return {costs_from_dict(part): _table(part["table"]) for part in given}


def _table(columns: dict[str, list[Any]]) -> pd.DataFrame:
    """Numbers, NaN where the file has null; only the names of rules are texts."""
    table = pd.DataFrame(columns)
    return table.astype({name: float for name in table.columns if name != "rule"})


def _plain_tables(tables: dict[tuple[float, ...], pd.DataFrame]) -> list[dict[str, Any]]:
    return [costs_to_dict(costs) | {"table": table.to_dict("list")} for costs, table in tables.items()]


def write(path: str | Path, model: Model, estimator: dict[str, Any]) -> None:
    """Write a model whole, or leave the file that was there as it was."""
    from safetensors import torch as of_torch

    header = {
        "format": _format_of(model),
        "estimator": estimator,
        "schema": model.schema.to_dict(),
        "task": model.task.to_dict(),
        "frontiers": _plain_tables(model.frontiers),
        "spending": _plain_tables(model.spending),
        "curves": _plain_tables(model.curves),
        "card": {name: fact for name, fact in model.card.items() if name != "seconds"},
        "tempered_scores": getattr(model.policy, "tempered_scores", False),
        "numpy": model.policy.numpy_facts(),
    }
    weights = {k: v.detach().cpu().contiguous().clone() for k, v in model.policy.state_dict().items()}
    text = json.dumps(plain(header), allow_nan=False)
    with whole_file(path) as part:
        metadata = {HEADER: text, DIGEST: _digest(text, of_torch.save(weights))}
        if "seconds" in model.card:
            metadata[SECONDS] = json.dumps(model.card["seconds"])
        part.write_bytes(of_torch.save(weights, metadata=metadata))


def _format_of(model: Model) -> int:
    """The earliest format that can hold a model."""
    if getattr(model.schema, "presence_of", ()):
        return FORMAT_VERSION
    priced = (model.schema.space.costs, *model.frontiers, *model.spending, *model.curves)
    return WITH_SHARED_PRICES if any(map(shared_costs, priced)) else WITHOUT_SHARED_PRICES


def _digest(text: str, weights: bytes) -> str:
    """What tells that header and weights are as they were written."""
    return hashlib.sha256(text.encode() + weights).hexdigest()


def _weights(file: Path) -> tuple[dict[str, Any], bytes]:
    """The weights as numpy arrays, and as bytes; as tensors if numpy does not know their type (bfloat16)."""
    try:
        with safe_open(file, framework="np") as opened:
            arrays = {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118
        return arrays, safetensors.numpy.save(arrays)
    except (TypeError, KeyError, AttributeError):
        from safetensors import torch as of_torch

        tensors = of_torch.load_file(file)
        return tensors, of_torch.save(tensors)


def read(path: str | Path) -> Contents:
    """Read a bundle; a damaged, foreign or newer file gives a clear error."""
    file = Path(path)
    if not file.exists():
        raise BundleError(f"there is no model file {file}")
    if file.is_dir():
        raise BundleError(f"{file} is a folder; give a model file, as written by save() or `askwise train`")
    try:
        with safe_open(file, framework="np") as opened:
            metadata = opened.metadata() or {}
            if HEADER not in metadata:
                raise BundleError(f"{file} is a safetensors file from another program, not an askwise model")
            header = json.loads(metadata[HEADER])
            version = header.get("format") if isinstance(header, dict) else None
            if not isinstance(version, int):
                raise BundleError(f"{file} is not a whole askwise model: its header makes no sense")
            if version > FORMAT_VERSION:
                raise BundleError(
                    f"{file} has format {version}, and this askwise reads up to {FORMAT_VERSION}; "
                    "upgrade askwise: pip install --upgrade askwise"
                )
        weights, saved = _weights(file)
    except (SafetensorError, json.JSONDecodeError) as error:
        raise BundleError(f"{file} is not a whole askwise model: {_why(file, error)}") from None
    except UnicodeDecodeError:
        raise BundleError(f"{file} is not a whole askwise model: its header is damaged") from None
    except OSError as error:
        raise BundleError(f"{file} can't be read: {error.strerror or error}") from None
    fingerprint = _digest(metadata[HEADER], saved)
    if metadata.get(DIGEST) != fingerprint:
        raise BundleError(f"{file} is not a whole askwise model: it was changed or damaged after it was written")
    return Contents(header, weights, fingerprint, _seconds(metadata))


def _seconds(metadata: dict[str, str]) -> float | None:
    """How long training took; nothing depends on it, so what makes no sense is left out."""
    try:
        return float(metadata[SECONDS])
    except (KeyError, ValueError):
        return None


def _why(file: Path, error: Exception) -> str:
    start = file.read_bytes()[:16]
    if start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05":
        return "it is a pickle, which askwise never loads since loading one can run any code"
    if start[:2] == b"PK":
        return "it is a zip archive (a torch or numpy file, perhaps)"
    if not start:
        return "it is empty"
    return f"it is damaged, cut short, or from another program ({error})"


@contextmanager
def telling_of_damage(path: str | Path) -> Iterator[None]:
    """Inside the block, errors of contents that make no sense say that the file is not whole."""
    try:
        yield
    except AskwiseError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, RuntimeError) as error:
        raise BundleError(f"{path} is not a whole askwise model: {error}") from error


def saved_rule(setting: dict[str, str] | None) -> StoppingRule | None:
    """The stopping rule that a file holds among its settings; a warning tells of one that must be given again."""
    if setting is None:
        return None
    try:
        return parse_rule(setting["rule"])
    except AskwiseError:
        warnings.warn(
            f"the model was saved with a stopping rule of your own ({setting['rule']}); give it again with stop=",
            AskwiseWarning,
            stacklevel=5,
        )
        return None


def plain(value: Any) -> Any:
    """Values that strict JSON can hold; a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

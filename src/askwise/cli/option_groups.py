"""Option groups: a command takes dataclasses, and typer sees each of their fields as an option."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, get_origin, get_type_hints


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with a flat signature: a parameter that is a dataclass becomes one option for each field.

    A field that is a dataclass itself is flattened in the same way. A field without a typer annotation is no option
    and keeps its default, so a subclass can offer more options than its base class does.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters

    @functools.wraps(command)
    def call(**values: Any) -> None:
        given = {n: _build(hints[n], values) if _is_group(hints[n]) else values[n] for n in parameters}
        command(**given)

    flat = list(_flatten(hints, {name: parameter.default for name, parameter in parameters.items()}))
    call.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return call


def _is_group(hint: Any) -> bool:
    return inspect.isclass(hint) and dataclasses.is_dataclass(hint)


def _flatten(hints: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    """Yield the parameters that typer reads, in the order of the names in `defaults`."""
    for name, default in defaults.items():
        hint = hints[name]
        if _is_group(hint):
            yield from _flatten(get_type_hints(hint, include_extras=True), _defaults(hint))
        elif get_origin(hint) is Annotated:
            yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _defaults(group: Any) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(group)}


def _build(group: Any, values: Mapping[str, Any]) -> Any:
    """Build an instance of the dataclass from the values of all options."""
    hints = get_type_hints(group)
    names = [field.name for field in dataclasses.fields(group)]
    groups = {name: _build(hints[name], values) for name in names if _is_group(hints[name])}
    return group(**groups, **{name: values[name] for name in names if name in values and name not in groups})

"""Capabilities: what a policy and its networks support beyond forward(), declared by each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, ClassVar


@dataclass(frozen=True)
class Capabilities:
    """What a module supports beyond forward(). The defaults are true of any module."""

    # It hides unknown entries itself: it takes x as it is.
    masks_inputs: bool = False
    # It trains under noise, such as dropout, that is absent in use.
    noisy_training: bool = True
    # Training walks run under that noise too: it is exploration.
    noise_in_walks: bool = True
    # It is faster when it is told how many groups are known at most (`forward_counted`).
    known_count_hint: bool = False
    # Its first layers can be updated group by group (`first_layers`, `first`, `onward`).
    incremental: bool = False
    # It is made of plain perceptrons, which numpy can run (`perceptrons`).
    numpy_form: bool = False
    # Its shapes do not depend on the data: it can be written as an ONNX graph.
    exportable: bool = True
    # Scores take little time: many walks over many rows cost little beside training.
    cheap_scores: bool = True
    # Rounding error in float32, relative to a small perceptron.
    float32_error: float = 1.0

    def limited_by(self, reader: Capabilities, *others: Capabilities) -> Capabilities:
        """The capabilities of a module made of parts: `reader` reads the inputs, all of them take every shortcut."""
        parts = (self, reader, *others)
        return replace(
            reader,
            known_count_hint=all(part.known_count_hint for part in parts),
            incremental=all(part.incremental for part in parts),
            numpy_form=all(part.numpy_form for part in parts),
            exportable=all(part.exportable for part in parts),
            cheap_scores=all(part.cheap_scores for part in parts),
        )

    def without_shortcuts(self) -> Capabilities:
        """The same without anything that stands in for forward()."""
        return replace(self, known_count_hint=False, incremental=False, numpy_form=False)


def capabilities_of(module: Any) -> Capabilities:
    """What a module declares; a module of a user's own declares nothing."""
    declared = getattr(module, "capabilities", None)
    return declared if isinstance(declared, Capabilities) else Capabilities()


def overrides_since(cls: type, declaration: str, methods: Iterable[str]) -> bool:
    """Whether a class, itself or by another base, overrides one of the methods after a declaration was made of them."""
    # Classes that come before the one that declares, in the order in which methods are looked up.
    later = list(takewhile(lambda base: declaration not in vars(base), cls.__mro__))
    return any(name in vars(base) for base in later for name in methods)


class Declaring:
    """Base of modules that declare capabilities.

    `declared` holds for the class. A subclass that overrides a method named in `computed_by`, itself or by another
    base, computes something else: unless it declares anew, it loses the shortcuts that stand in for forward().
    """

    declared: ClassVar[Capabilities] = Capabilities()
    computed_by: ClassVar[tuple[str, ...]] = ("forward",)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if overrides_since(cls, "declared", cls.computed_by):
            cls.declared = cls.declared.without_shortcuts()

    @property
    def capabilities(self) -> Capabilities:
        """What this module supports; one made of parts looks at them too."""
        return self.declared

"""Option groups: the options that typer sees, and the dataclasses that a command gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from askwise.cli.option_groups import with_option_groups


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, typer.Option("--inner-size", help="How large.")] = 3


@dataclass(frozen=True)
class Outer:
    inner: Inner = field(default_factory=Inner)
    names: Annotated[list[str] | None, typer.Option()] = None
    extra: bool = False


@dataclass(frozen=True)
class More(Outer):
    extra: Annotated[bool, typer.Option("--extra")] = False


def call(command, *words):
    app = typer.Typer(rich_markup_mode=None)
    app.command()(with_option_groups(command))
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def given():
    """What the commands below were called with."""
    return []


def test_fields_are_options_and_the_command_gets_dataclasses(given):
    def command(
        word: Annotated[str, typer.Argument()], *, outer: Outer, last: Annotated[int, typer.Option()] = 5
    ) -> None:
        given.append((word, outer, last))

    assert call(command, "a").exit_code == 0
    assert call(command, "b", "--inner-size", "7", "--names", "x", "--names", "y", "--last", "6").exit_code == 0
    assert [word for word, *_ in given] == ["a", "b"]
    assert given[0][1].inner == Inner(3)
    assert given[1][1:] == (Outer(Inner(7), ["x", "y"]), 6)


def test_help_lists_the_options_in_the_order_of_groups_and_fields():
    def command(*, first: Annotated[int, typer.Option()] = 1, outer: Outer) -> None:
        """Does something."""

    shown = call(command, "--help").stdout
    assert "Does something." in shown
    assert "How large." in shown
    positions = [shown.index(option) for option in ("--first", "--inner-size", "--names")]
    assert positions == sorted(positions)


def test_a_field_without_an_option_keeps_its_default_and_a_subclass_may_offer_it(given):
    def without(*, outer: Outer) -> None:
        given.append(outer.extra)

    def offered(*, outer: More) -> None:
        given.append(outer.extra)

    assert "--extra" not in call(without, "--help").stdout
    assert call(without, "--extra").exit_code == 2
    assert call(without).exit_code == call(offered, "--extra").exit_code == 0
    assert given == [False, True]


def test_two_options_of_the_same_name_are_an_error():
    def command(*, outer: Outer, names: Annotated[int, typer.Option()] = 1) -> None:
        """Never called."""

    with pytest.raises(ValueError, match="duplicate parameter name: 'names'"):
        with_option_groups(command)

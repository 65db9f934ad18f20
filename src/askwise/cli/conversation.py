"""A conversation in the terminal: shows why a question is asked, hears the answer, says why it stops."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.rule import Rule as Ruler
from rich.text import Text

from askwise.cli import show
from askwise.cli.common import Out, console
from askwise.core.errors import AskwiseError, unknown_name

if TYPE_CHECKING:
    from askwise.core.step import StoppingRule
    from askwise.data.tables.column import Column
    from askwise.data.tables.questions import Wording
    from askwise.session.session import Session

HELP = """\
  a value    answers the question
  skip       it can't be had; of several values, this one ("skip all": none of them)
  other      choose another question
  undo       take the last answer back
  stop       end here, with the prediction so far
  ?          this help
A word that is also an answer is taken as the answer; put a / before it to give the command: /other"""

# As the person is told who did it; other reasons are in `replies.WHY`.
OWN_REASONS = {"stopped-by-user": "you stopped"}
STOP_WORDS = ("stop", "quit", "exit")
COMMANDS = ("skip", "skip all", "other", "undo", "help", "?", *STOP_WORDS)


class Said(Exception):
    """A command given in place of an answer."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class Ended(Exception):
    """The conversation is over, for a reason that no rule gave."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Conversation:
    """One case, question by question: the session knows everything, this only talks."""

    def __init__(self, session: Session, rule: StoppingRule | None, target: str, out: Out) -> None:
        from askwise.core.step import parts_of
        from askwise.core.stopping import Budget, least_value

        self._session = session
        self._target = target
        self._schema = session.model.schema
        self._free = self._schema.free
        self._penalty = least_value(rule)
        self._budget = min((p.k for p in parts_of(rule) if isinstance(p, Budget)), default=None)
        self._quiet = out.quiet
        self._at_terminal = sys.stdin is not None and sys.stdin.isatty()
        # Where standard output is for JSON, people are talked to on standard error.
        self._screen: Console = console(stderr=out.as_json or out.quiet)
        self._bar_width = max(10, min(30, self._screen.width - 45))

    def hold(self, opening: str) -> str:
        """Talk until a rule, the person or the end of the input stops it; returns the reason."""
        self._show(Text(opening, style="bold"), Text("Enter or ? for help, stop to end", style="dim"))
        try:
            self._ask_free(0)
            while (question := self._session.ask()) is not None:
                self._show_question(question.name)
                self._turn(question.name)
            reason = str(self._session.reason)
        except Ended as ended:
            reason = ended.reason
        self._show_end(reason)
        return reason

    def _turn(self, name: str) -> None:
        try:
            self._hear_group(name)
        except Said as said:
            if said.word == "other":
                self._choose_other()
            elif (undone := self._undo()) in self._free:
                self._ask_free(self._free.index(undone))

    def _ask_free(self, start: int) -> None:
        """The free columns that are not known yet, from one of them on; Enter leaves one unknown."""
        at = start
        while at < len(self._free):
            name = self._free[at]
            if name not in self._session.answers:
                try:
                    self._hear_free(name)
                except Said as said:
                    undone = self._undo() if said.word == "undo" else None
                    at = self._free.index(undone) if undone in self._free else at
                    continue
            at += 1

    def _hear_free(self, name: str) -> None:
        self._show_words(self._schema.wording_of(name))
        try:
            value = self._hear(self._schema.column(name), f"{name} (free; Enter if not known)", empty="skip")
        except Said as said:
            if said.word == "other":
                self._show(Text("Other questions can be chosen once the free columns are through", style="yellow"))
            if not said.word.startswith("skip"):
                raise
            return
        self._session.tell(name, value)

    def _undo(self) -> str | None:
        """Take the last answer back; returns what it was about, None where there is nothing."""
        try:
            name = self._session.undo()
        except AskwiseError as error:
            self._complain(error)
            return None
        self._show(Text(f"{name}: taken back", style="yellow"))
        return name

    def _choose_other(self) -> None:
        """Let the person choose among the open questions, by number or name."""
        ranking = self._session.ranking
        names = [c.name for c in ranking]
        for i, c in enumerate(ranking, 1):
            text = self._schema.question_wording(c.name).text
            self._show(Text(f"{i:4}  {c.name}{f': {text}' if text else ''}  (cost {show.short(c.cost)})"))
        while True:
            text = self._read("Which one, by number or name (Enter: none)? ")
            word = text.lower().removeprefix("/")
            if word in STOP_WORDS and text not in names:
                raise Ended("stopped-by-user")
            if not text or (word in COMMANDS and text not in names):
                return
            number = int(text) if text.isdecimal() else 0
            name = names[number - 1] if text not in names and 1 <= number <= len(names) else text
            if name in names:
                self._turn(name)
                return
            self._complain(unknown_name("question", name, names))

    def _hear_group(self, name: str) -> None:
        """The answer to a question: the value of each of its columns in turn."""
        values: dict[str, Any] = {}
        columns, wording = self._schema.columns_of(name), self._schema.question_wording(name)
        if len(columns) > 1:
            size = f"{name}: {show.count(len(columns), 'value')}"
            wording = replace(wording, text=f"{wording.text} ({size})" if wording.text else size)
        self._show_words(wording)
        try:
            self._hear_values(columns, values)
        except Ended:
            # What was said of a panel before the end counts.
            if values:
                self._session.tell(name, values)
            raise
        if values:
            self._session.tell(name, values)
        else:
            self._session.decline(name)
            self._show(Text(f"{name}: can't be had, costs nothing", style="yellow"))

    def _hear_values(self, columns: Sequence[Column], values: dict[str, Any]) -> None:
        """Fill `values` column by column; one that can't be had is left out."""
        at = 0
        while at < len(columns):
            if len(columns) > 1:
                self._show_words(self._schema.wording_of(columns[at].name), "")
            try:
                values[columns[at].name] = self._hear(columns[at], columns[at].name)
            except Said as said:
                if said.word == "undo" and at > 0:
                    at -= 1
                    values.pop(columns[at].name, None)
                    continue
                if said.word == "skip all":
                    values.clear()
                    return
                if said.word != "skip":
                    raise
            at += 1

    def _hear(self, column: Column, label: str, empty: str = "?") -> Any:
        """A possible value of a column; impossible ones are explained and asked again. `empty`: what Enter means."""
        takes = show.answers_of(column, self._schema.wording_of(column.name).unit)
        while True:
            text = self._read(f"{label} [{takes}]: ")
            word = _command(text, column) if text else empty
            if word in ("help", "?"):
                self._show(*self._own_help(column), Text(HELP))
                continue
            if word in STOP_WORDS:
                raise Ended("stopped-by-user")
            if word is not None:
                raise Said(word)
            try:
                value = column.parse(text)
            except AskwiseError as error:
                self._complain(error)
                continue
            self._remark(column, value)
            return value

    def _read(self, prompt: str) -> str:
        """One line of input, without the space around it."""
        try:
            return self._line(prompt).strip()
        except KeyboardInterrupt:
            self._show(Text(""))
            raise

    def _line(self, prompt: str) -> str:
        """One line as it was typed; at a terminal with the keys that edit a line."""
        if self._quiet and not self._at_terminal:
            prompt = ""
        if self._at_terminal and self._screen.file is sys.stdout and sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401
            try:
                return input(prompt)
            except EOFError:
                self._screen.print()
                raise Ended("end-of-input") from None
        self._screen.print(Text(prompt), end="", soft_wrap=True)
        self._screen.file.flush()
        line = "" if sys.stdin is None else sys.stdin.readline()
        if not line.endswith("\n") or not self._at_terminal:
            # Nobody's Enter has moved to the next line.
            self._show(Text(line.strip()))
        if not line:
            raise Ended("end-of-input")
        return line

    def _remark(self, column: Column, value: Any) -> None:
        if column.is_outside(value):
            seen = f"{show.short(column.low)} to {show.short(column.high)}"
            self._show(Text(f"{show.short(value)} is outside what was seen in training ({seen})", style="yellow"))

    def _complain(self, error: AskwiseError) -> None:
        self._screen.print(Text(str(error), style="red"), soft_wrap=True)

    def _show(self, *parts: RenderableType) -> None:
        if not self._quiet:
            for part in parts:
                self._screen.print(part, soft_wrap=isinstance(part, Text))

    def _show_question(self, name: str) -> None:
        self._show(
            Text(""),
            Ruler(Text(f"question {len(self._session.asked) + 1} · {self._spent()}"), align="left", style="dim"),
            *self._prediction(),
            Text(""),
            show.value_bars(
                self._session.ranking,
                name,
                self._penalty,
                self._left(),
                self._bar_width,
                self._session.model.policy.is_information,
            ),
            Text(""),
        )

    def _show_words(self, wording: Wording, style: str = "bold") -> None:
        if words := show.words(wording, style):
            self._show(words)

    def _own_help(self, column: Column) -> list[Text]:
        """What was given to help with a column, and with the question it belongs to."""
        group = self._schema.group_of(column.name)
        about = [self._schema.wording_of(column.name)]
        about += [] if group is None else [self._schema.question_wording(group)]
        return [Text(text) for text in dict.fromkeys(wording.help for wording in about) if text]

    def _prediction(self) -> Sequence[RenderableType]:
        task = self._session.model.task
        scale = getattr(task, "scale", 1.0)
        center = getattr(task, "center", 0.0)
        spread = (center - 2.5 * scale, center + 2.5 * scale)
        return [show.prediction_bars(self._session.prediction, self._target, spread, self._bar_width)]

    def _left(self) -> float:
        return math.inf if self._budget is None else self._budget - self._session.spent

    def _spent(self) -> str:
        of = "" if self._budget is None else f" of {show.short(self._budget)}"
        return f"spent {show.short(self._session.spent)}{of}"

    def _show_end(self, reason: str) -> None:
        prediction = self._session.prediction
        sure = "" if prediction.proba is None else f" ({prediction.proba[prediction.value]:.1%})"
        value = show.short(prediction.value) if prediction.proba is None else prediction.value
        from askwise.session.replies import in_words

        why = OWN_REASONS.get(reason) or in_words(reason)
        if reason == "penalty" and self._penalty is not None and math.isfinite(self._penalty):
            why += f" (each is below {show.short(self._penalty)} per unit of cost)"
        self._show(
            Text(""),
            Ruler(style="dim"),
            Text(f"Stopped: {why}"),
            *self._prediction(),
            Text(f"{self._target}: {value}{sure}", style="bold green"),
            Text(f"{show.count(len(self._session.asked), 'question')} answered, {self._spent()}"),
        )


def _command(text: str, column: Column) -> str | None:
    """The command that a text is, or None where it is an answer."""
    word = " ".join(text.lower().split())
    if word.startswith("/") and word[1:] in COMMANDS:
        return word[1:]
    if word not in COMMANDS:
        return None
    return None if word in (c.casefold() for c in column.categories) else word

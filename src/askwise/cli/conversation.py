"""A conversation in the terminal: show why a question is asked, read the answer, say why it stops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.rule import Rule as Ruler
from rich.text import Text

from askwise.cli import show
from askwise.cli.common import Out, console
from askwise.cli.line_reader import EndOfInput, LineReader
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

# Reasons in words for the person who gave them; others are in `replies.WHY`.
PERSON_REASONS = {"stopped-by-user": "you stopped"}
STOP_WORDS = ("stop", "quit", "exit")
# Whether a number that was not seen in training is meant.
YES_OR_NO = {"y": True, "yes": True, "n": False, "no": False}
COMMANDS = ("skip", "skip all", "other", "undo", "help", "?", *STOP_WORDS)


class Command(Exception):
    """A command given in place of an answer."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class ConversationEnd(Exception):
    """The conversation is over, for a reason that no rule gave."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Conversation:
    """Asks about one case, question by question; the session holds its whole state."""

    def __init__(self, session: Session, rule: StoppingRule | None, target: str, out: Out) -> None:
        from askwise.core.step import parts_of
        from askwise.core.stopping import Budget

        self._session = session
        self._target = target
        self._schema = session.model.schema
        self._free = self._schema.free
        self._budget = min((p.k for p in parts_of(rule) if isinstance(p, Budget)), default=None)
        self._out = out
        self._quiet = out.quiet
        # With --json, standard output is for JSON and the conversation is on standard error.
        self._screen: Console = console(stderr=out.as_json or out.quiet)
        self._lines = LineReader(self._screen, self._quiet)
        self._bar_width = max(10, min(30, self._screen.width - 45))

    def run(self, title: str) -> str:
        """Ask until a rule, the person or the end of the input stops it; returns the reason."""
        self._show(Text(title, style="bold"), Text("Enter or ? for help, stop to end", style="dim"))
        try:
            self._ask_free_columns(0)
            while (question := self._session.ask()) is not None:
                self._show_question(question.name)
                self._turn(question.name)
            reason = str(self._session.reason)
        except ConversationEnd as end:
            reason = end.reason
        self._show_end(reason)
        return reason

    def _turn(self, name: str) -> None:
        try:
            self._ask_group(name)
        except Command as command:
            if command.word == "other":
                self._choose_other()
            elif (undone := self._undo()) in self._free:
                self._ask_free_columns(self._free.index(undone))

    def _ask_free_columns(self, start: int) -> None:
        """Ask the free columns that are not known yet, from a position on; Enter leaves one unknown."""
        at = start
        while at < len(self._free):
            name = self._free[at]
            if name not in self._session.answers:
                try:
                    self._ask_free_column(name)
                except Command as command:
                    undone = self._undo() if command.word == "undo" else None
                    at = self._free.index(undone) if undone in self._free else at
                    continue
            at += 1

    def _ask_free_column(self, name: str) -> None:
        self._show_wording(self._schema.wording_of(name))
        try:
            value = self._read_value(self._schema.column(name), f"{name} (free; Enter if not known)", empty="skip")
        except Command as command:
            if command.word == "other":
                self._show(Text("Other questions can be chosen once the free columns are through", style="yellow"))
            if not command.word.startswith("skip"):
                raise
            return
        self._session.tell(name, value)

    def _undo(self) -> str | None:
        """Take the last answer back; returns its question, None if there is no answer."""
        try:
            name = self._session.undo()
        except AskwiseError as error:
            self._show_error(error)
            return None
        self._show(Text(f"{name}: taken back", style="yellow"))
        return name

    def _choose_other(self) -> None:
        """Let the person choose among the open questions, by number or name."""
        from askwise.core.ranking import RANKED_BY

        ranking = self._session.ranking
        self._show(Text(f"Open questions, best first by {RANKED_BY[self._session.ranked_by]}", style="dim"))
        names = [c.name for c in ranking]
        for i, c in enumerate(ranking, 1):
            text = self._schema.question_wording(c.name).text
            self._show(Text(f"{i:4}  {c.name}{f': {text}' if text else ''}  (cost {show.format_number(c.cost)})"))
        while True:
            text = self._read_line("Which one, by number or name (Enter: none)? ")
            word = text.lower().removeprefix("/")
            if word in STOP_WORDS and text not in names:
                raise ConversationEnd("stopped-by-user")
            if not text or (word in COMMANDS and text not in names):
                return
            number = int(text) if text.isdecimal() else 0
            name = names[number - 1] if text not in names and 1 <= number <= len(names) else text
            if name in names:
                self._turn(name)
                return
            self._show_error(unknown_name("question", name, names))

    def _ask_group(self, name: str) -> None:
        """Ask for the value of each column of a question."""
        values: dict[str, Any] = {}
        columns, wording = self._schema.columns_of(name), self._schema.question_wording(name)
        if len(columns) > 1:
            size = f"{name}: {show.count(len(columns), 'value')}"
            wording = replace(wording, text=f"{wording.text} ({size})" if wording.text else size)
        self._show_wording(wording)
        try:
            self._ask_values(columns, values)
        except ConversationEnd:
            # Values of a panel that were given before the end count.
            if values:
                self._session.tell(name, values)
            raise
        if values:
            self._session.tell(name, values)
        else:
            self._session.decline(name)
            self._show(Text(f"{name}: can't be had, costs nothing", style="yellow"))

    def _ask_values(self, columns: Sequence[Column], values: dict[str, Any]) -> None:
        """Fill `values` column by column; one that can't be had is left out."""
        at = 0
        while at < len(columns):
            if len(columns) > 1:
                self._show_wording(self._schema.wording_of(columns[at].name), "")
            try:
                values[columns[at].name] = self._read_value(columns[at], columns[at].name)
            except Command as command:
                if command.word == "undo" and at > 0:
                    at -= 1
                    values.pop(columns[at].name, None)
                    continue
                if command.word == "skip all":
                    values.clear()
                    return
                if command.word != "skip":
                    raise
            at += 1

    def _read_value(self, column: Column, label: str, empty: str = "?") -> Any:
        """Read a value of a column; impossible ones are explained and asked again. `empty`: what Enter means."""
        allowed = show.allowed_answers(column, self._schema.wording_of(column.name).unit)
        unsure = None
        while True:
            text = self._read_line(f"{label} [{allowed}]: ")
            if unsure is not None and (is_yes := _yes_or_no(text, column)) is not None:
                if is_yes:
                    return unsure
                unsure = None
                continue
            word = _parse_command(text, column) if text else empty
            if word in ("help", "?"):
                self._show(*self._question_help(column), Text(HELP))
                continue
            if word in STOP_WORDS:
                raise ConversationEnd("stopped-by-user")
            if word is not None:
                raise Command(word)
            try:
                value = column.parse(text)
            except AskwiseError as error:
                self._show_error(error)
                unsure = None
                continue
            if self._is_meant(column, value, unsure):
                return value
            unsure = value

    def _read_line(self, prompt: str) -> str:
        try:
            return self._lines.read(prompt)
        except EndOfInput:
            raise ConversationEnd("end-of-input") from None

    def _is_meant(self, column: Column, value: Any, before: Any) -> bool:
        """Whether a value is to be taken. One that was not seen in training is, if it is given twice; else ask.

        A pipe can't be asked: its next line answers the next question.
        """
        if not column.is_outside(value) or value == before or column.limits.values:
            return True
        if not self._lines.is_terminal:
            self._show(Text(f"{value:.10g} is outside what was seen in training ({column.seen})", style="yellow"))
            return True
        asked = f"Did you mean {value:.10g}? Seen in training: {column.seen}. y, or the same again, takes it"
        self._screen.print(Text(asked, style="yellow"), soft_wrap=True)
        return False

    def _show_error(self, error: AskwiseError) -> None:
        self._screen.print(Text(str(error), style="red"), soft_wrap=True)

    def _show(self, *parts: RenderableType) -> None:
        if not self._quiet:
            for part in parts:
                self._screen.print(part, soft_wrap=isinstance(part, Text))

    def _show_question(self, name: str) -> None:
        self._show(
            Text(""),
            Ruler(Text(f"question {len(self._session.asked) + 1} · {self._spent_text()}"), align="left", style="dim"),
            *self._prediction_bars(),
            Text(""),
            show.value_bars(
                self._session.ranking,
                name,
                self._least_value(),
                self._budget_left(),
                self._bar_width,
                self._session.ranked_by,
            ),
            Text(""),
        )

    def _show_wording(self, wording: Wording, style: str = "bold") -> None:
        if text := show.wording_text(wording, style):
            self._show(text)

    def _question_help(self, column: Column) -> list[Text]:
        """Return the help texts of a column and of its question."""
        group = self._schema.group_of(column.name)
        wordings = [self._schema.wording_of(column.name)]
        wordings += [] if group is None else [self._schema.question_wording(group)]
        return [Text(text) for text in dict.fromkeys(wording.help for wording in wordings) if text]

    def _prediction_bars(self) -> Sequence[RenderableType]:
        task = self._session.model.task
        scale = getattr(task, "scale", 1.0)
        center = getattr(task, "center", 0.0)
        spread = (center - 2.5 * scale, center + 2.5 * scale)
        return [show.prediction_bars(self._session.prediction, self._target, spread, self._bar_width)]

    def _least_value(self) -> float | None:
        from askwise.session.replies import least_value_now

        return least_value_now(self._session)

    def _budget_left(self) -> float:
        return math.inf if self._budget is None else self._budget - self._session.spent

    def _spent_text(self) -> str:
        of = "" if self._budget is None else f" of {show.format_number(self._budget)}"
        return f"spent {show.format_number(self._session.spent)}{of}"

    def _show_end(self, reason: str) -> None:
        prediction = self._session.prediction
        probability = "" if prediction.proba is None else f" ({prediction.proba[prediction.value]:.1%})"
        value = show.format_number(prediction.value) if prediction.proba is None else prediction.value
        from askwise.session.replies import in_words

        why = PERSON_REASONS.get(reason) or in_words(reason)
        least = self._least_value()
        if reason == "penalty" and least is not None and math.isfinite(least):
            why += f" (each is below {show.format_number(least)} per unit of cost)"
        predicted = f"{self._target}: {value}{probability}"
        self._out.answer(predicted)
        self._show(
            Text(""),
            Ruler(style="dim"),
            Text(f"Stopped: {why}"),
            *self._prediction_bars(),
            Text(predicted, style="bold green"),
            Text(f"{show.count(len(self._session.asked), 'question')} answered, {self._spent_text()}"),
        )


def _yes_or_no(text: str, column: Column) -> bool | None:
    """Return whether a text says yes or no to a number; None if it says neither, or is a word of the column's own."""
    is_own = column.limits.position_of_word(text) is not None
    return None if is_own else YES_OR_NO.get(text.lower())


def _parse_command(text: str, column: Column) -> str | None:
    """Return the command that a text is, or None if it is an answer."""
    word = " ".join(text.lower().split())
    if word.startswith("/") and word[1:] in COMMANDS:
        return word[1:]
    if word not in COMMANDS:
        return None
    return None if word in (c.casefold() for c in (*column.categories, *column.limits.words)) else word

// The fields for numbers: typed, or chosen where few are offered. What was not seen in training is asked about again.

import { h } from "./dom.js";
import { buttons, textField } from "./fields.js";
import { answerText, isOutside, isRefused, labelOf, limitsText, trainingRange, typedNumber } from "./format.js";

/** Stands for the choice to type a number. */
const OTHER = Symbol("other");

/**
 * @param {any} facts
 * @param {import("./inputs.js").How} how
 * @returns {import("./inputs.js").Field}
 */
export function number(facts, how) {
  return facts.offered ? chosenNumber(facts, how) : writtenNumber(facts, how);
}

function writtenNumber(facts, how) {
  const seen = trainingRange(facts);
  // Telephones show no minus on their pads of digits.
  const pad = facts.low !== null && facts.low < 0 ? "text" : facts.whole ? "numeric" : "decimal";
  const range = seen && `Seen in training: ${seen}${facts.unit ? ` ${facts.unit}` : ""}`;
  const hint = [limitsText(facts), range].filter(Boolean).join(". ");
  const doubt = createDoubt(facts, how.value ?? null);
  const field = textField(facts, how, { inputmode: pad }, [hint && h("p", { class: "hint" }, hint)]);
  const text = () => field.input.value.trim();
  field.element.append(doubt.element);
  doubt.changeIt = () => {
    field.input.focus();
    field.input.select();
  };
  field.input.addEventListener("input", doubt.forget);
  // Else a key that is held down would ask and answer.
  field.input.addEventListener("keydown", (event) => event.key === "Enter" && event.repeat && event.preventDefault());
  const read = () => (text() === "" ? null : typedNumber(text()));
  return { ...field, read, asksAgain: () => doubt.asks(read()) };
}

/**
 * The question whether a value is meant that was not seen in training. The same value, entered again, is meant.
 * @param {any} facts
 * @param {any} meant what was taken before
 */
function createDoubt(facts, meant) {
  const question = h("p", { class: "remark", role: "alert" });
  const yes = h("button", { type: "button", class: "small" });
  const no = h("button", { type: "button", class: "small quiet" }, "Change it");
  const answers = h("div", { class: "row", hidden: true }, yes, no);
  const doubt = {
    element: h("div", { class: "doubt" }, question, answers),
    changeIt: () => {},
    hide() {
      question.textContent = "";
      answers.hidden = true;
    },
    forget() {
      meant = null;
      doubt.hide();
    },
    /** Ask, unless there is no doubt. @returns {boolean} whether it was asked */
    asks(value) {
      if (value === meant || !isOutside(facts, value) || isRefused(facts, value)) return false;
      meant = value;
      const asked = `Did you mean ${answerText(value, facts.unit)}? Seen in training: ${trainingRange(facts)}.`;
      question.textContent = `${asked} Enter again takes it.`;
      yes.textContent = `Yes, ${answerText(value)}`;
      answers.hidden = false;
      return true;
    },
  };
  yes.addEventListener("click", () => {
    const { form } = yes;
    doubt.hide();
    const next = form.querySelector(".doubt .row:not([hidden]) button");
    if (next) next.focus();
    else form.requestSubmit();
  });
  no.addEventListener("click", () => {
    doubt.forget();
    doubt.changeIt();
  });
  return doubt;
}

/** Buttons with the numbers that are offered and, where others may be answered, one to type another. */
function chosenNumber(facts, how) {
  const withUnit = ({ value, text }) => [value, text === String(value) ? answerText(value, facts.unit) : text];
  const choices = facts.offered.map(withUnit);
  if (!facts.others) return buttons(facts, how, choices);
  const given = how.value ?? null;
  const isOther = given !== null && facts.offered.every(({ value }) => value !== given);
  const other = { ...facts, offered: null, help: "", text: `${labelOf(facts)}: another number` };
  const written = writtenNumber(other, { alone: true, value: isOther ? given : undefined });
  const chosen = buttons(facts, { ...how, value: isOther ? OTHER : given }, [...choices, [OTHER, "Another number"]]);
  const isWritten = () => chosen.read() === OTHER;
  const update = () => (written.element.hidden = !isWritten());
  chosen.element.addEventListener("change", (event) => {
    update();
    if (isWritten() && event.target.type === "radio") written.focus();
  });
  chosen.element.append(written.element);
  update();
  return {
    ...chosen,
    read: () => (isWritten() ? written.read() : chosen.read()),
    focus: () => (isWritten() ? written : chosen).focus(),
    asksAgain: () => isWritten() && written.asksAgain(),
    showError(message) {
      chosen.showError(isWritten() ? "" : message);
      written.showError(isWritten() ? message : "");
    },
  };
}

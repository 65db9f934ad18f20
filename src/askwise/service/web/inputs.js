// The fields for values, one function for each kind. A new kind is one more function in `KINDS`.

import { h, newId } from "./dom.js";
import { buttons, errorSetter, helpOf, list, textField } from "./fields.js";
import { labelOf, wordOf } from "./format.js";
import { number } from "./number_input.js";
import { UnreadableImage, readPicture } from "./photo.js";

const MAX_BUTTONS = 6;

/**
 * The field for a value: `read` gives null if nothing was entered; `showError` shows a message at it, "" removes it.
 * @typedef {{name: string, element: HTMLElement, read: () => any, focus: () => void,
 *   showError: (message: string) => void, asksAgain?: () => boolean}} Field asksAgain: ask whether the value is meant;
 *   false if there is nothing to ask
 * @typedef {{alone: boolean, value?: any, nothing?: string}} How alone: the heading names it already; nothing: what an
 *   empty answer is called, where one is allowed
 */

const KINDS = { number, boolean, category, pixels };

/**
 * Draw the field for an input of the schema.
 * @param {any} facts
 * @param {How} how
 * @returns {Field}
 */
export function createField(facts, how) {
  return (KINDS[facts.kind] ?? text)(facts, how);
}

function text(facts, how) {
  const field = textField(facts, how, {}, []);
  return { ...field, read: () => (field.input.value.trim() === "" ? null : field.input.value.trim()) };
}

function boolean(facts, how) {
  return buttons(facts, how, [
    [true, "Yes"],
    [false, "No"],
  ]);
}

function category(facts, how) {
  const choices = (facts.choices ?? []).map((choice) => [choice, wordOf(facts, choice) ?? choice]);
  return (choices.length <= MAX_BUTTONS ? buttons : list)(facts, how, choices);
}

/** A picture from a file, brought to the size that is asked for. */
function pixels(facts, how) {
  const id = newId();
  const error = h("p", { class: "error", id: `${id}-error` });
  const [height, width] = facts.shape;
  const preview = h("img", { class: "patch", alt: "As it is sent", src: how.value ?? "", hidden: !how.value });
  let given = how.value ?? null;
  const input = h("input", { id, type: "file", accept: "image/*", "aria-describedby": `${id}-about ${id}-error` });
  const showError = errorSetter(error, [input]);
  input.addEventListener("change", async () => {
    const file = input.files[0];
    showError("");
    given = null;
    try {
      if (file) given = (await readPicture(file, facts.shape)).toDataURL("image/png");
    } catch (problem) {
      if (!(problem instanceof UnreadableImage)) throw problem;
      showError(problem.message);
    }
    preview.hidden = given === null;
    if (given !== null) preview.src = given;
  });
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: id, class: how.alone && "hidden" }, labelOf(facts)),
    h("div", { class: "with-unit" }, input, preview),
    h(
      "div",
      { id: `${id}-about` },
      helpOf(facts, how),
      h("p", { class: "hint" }, `A picture; it is scaled and cut to ${width} x ${height} pixels.`),
    ),
    error,
  );
  return { name: facts.name, element, read: () => given, focus: () => input.focus(), showError };
}

/** Show a message at the field that it names; else return it. */
export function showErrorAt(fields, message) {
  for (const field of fields) field.showError("");
  const about = fields.length === 1 ? fields[0] : fields.find((field) => message.includes(`'${field.name}'`));
  if (message && about) {
    about.showError(message);
    about.focus();
    return "";
  }
  return message;
}

/** Ask about values that were not seen in training; whether somebody must answer first. @param {Field[]} fields */
export function askAgain(fields) {
  const unsure = fields.filter((field) => field.asksAgain?.());
  if (unsure.length === 0) return false;
  for (const field of fields) field.showError("");
  unsure[0].focus();
  return true;
}

// The fields for values, one function for each kind. A new kind is one more function in `KINDS`.

import { h, newId } from "./dom.js";
import { isOutside, labelOf, trainingRange, typedNumber } from "./format.js";
import { UnreadableImage, readPicture } from "./photo.js";

const MAX_BUTTONS = 6;

/**
 * The field for a value: `read` gives null if nothing was entered; `showError` shows a message at it, "" removes it.
 * @typedef {{name: string, element: HTMLElement, read: () => any, focus: () => void,
 *   showError: (message: string) => void}} Field
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

function number(facts, how) {
  const seen = trainingRange(facts);
  // Telephones show no minus on their pads of digits.
  const pad = facts.low !== null && facts.low < 0 ? "text" : facts.whole ? "numeric" : "decimal";
  const remark = h("p", { class: "remark", role: "status" });
  const field = textField(facts, how, { inputmode: pad }, [
    seen && h("p", { class: "hint" }, `Seen in training: ${seen}${facts.unit ? ` ${facts.unit}` : ""}`),
    remark,
  ]);
  const updateRemark = () => {
    const beyond = isOutside(facts, typedNumber(field.input.value.trim()));
    const words = beyond ? `Outside what was seen in training, ${seen}; it is taken all the same.` : "";
    if (remark.textContent !== words) remark.textContent = words;
  };
  field.input.addEventListener("input", updateRemark);
  updateRemark();
  return { ...field, read: () => (field.input.value.trim() === "" ? null : typedNumber(field.input.value.trim())) };
}

function text(facts, how) {
  const field = textField(facts, how, {}, []);
  return { ...field, read: () => (field.input.value.trim() === "" ? null : field.input.value.trim()) };
}

function textField(facts, how, properties, below) {
  const id = newId();
  const error = h("p", { class: "error", id: `${id}-error` });
  const input = h("input", {
    id,
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    value: how.value ?? "",
    "aria-describedby": `${id}-about ${id}-error`,
    ...properties,
  });
  const unit = facts.unit && h("span", { class: "unit" }, facts.unit);
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: id, class: how.alone && "hidden" }, labelOf(facts)),
    h("div", { class: "with-unit" }, input, unit),
    h("div", { id: `${id}-about` }, helpOf(facts, how), ...below),
    error,
  );
  return { name: facts.name, element, input, focus: () => input.focus(), showError: errorSetter(error, [input]) };
}

function boolean(facts, how) {
  return buttons(facts, how, [
    [true, "Yes"],
    [false, "No"],
  ]);
}

function category(facts, how) {
  const choices = facts.choices ?? [];
  return (choices.length <= MAX_BUTTONS ? buttons : list)(
    facts,
    how,
    choices.map((choice) => [choice, choice]),
  );
}

function buttons(facts, how, choices) {
  const id = newId();
  const error = h("p", { class: "error", id: `${id}-error` });
  const given = how.value ?? null;
  const offered = how.nothing ? [...choices, [null, how.nothing]] : choices;
  const isGiven = (value) => (how.nothing || given !== null) && value === given;
  const radios = offered.map(([value], i) =>
    h("input", { type: "radio", name: id, id: `${id}-${i}`, checked: isGiven(value) }),
  );
  const labels = offered.map(([value, label], i) => {
    const look = value === null ? "choice none" : "choice";
    return h("label", { class: look, for: `${id}-${i}` }, radios[i], h("span", {}, label));
  });
  const element = h(
    "fieldset",
    { class: "field", "aria-describedby": `${id}-about ${id}-error` },
    h("legend", { class: how.alone && "hidden" }, labelOf(facts)),
    h("div", { id: `${id}-about` }, helpOf(facts, how)),
    h("div", { class: "choices" }, ...labels),
    error,
  );
  const read = () => offered.find((_, i) => radios[i].checked)?.[0] ?? null;
  const focus = () => (radios.find((radio) => radio.checked) ?? radios[0])?.focus();
  return { name: facts.name, element, read, focus, showError: errorSetter(error, radios) };
}

function list(facts, how, choices) {
  const id = newId();
  const error = h("p", { class: "error", id: `${id}-error` });
  const select = h(
    "select",
    { id, "aria-describedby": `${id}-about ${id}-error` },
    h("option", { value: "" }, how.nothing ?? "Choose"),
    ...choices.map(([value, label], i) => h("option", { value: String(i), selected: value === how.value }, label)),
  );
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: id, class: how.alone && "hidden" }, labelOf(facts)),
    h("div", { class: "with-unit" }, select),
    h("div", { id: `${id}-about` }, helpOf(facts, how)),
    error,
  );
  const read = () => (select.value === "" ? null : choices[Number(select.value)][0]);
  return { name: facts.name, element, read, focus: () => select.focus(), showError: errorSetter(error, [select]) };
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

const helpOf = (facts, how) => !how.alone && facts.help && h("p", { class: "hint" }, facts.help);

function errorSetter(error, controls) {
  return (message) => {
    error.textContent = message;
    for (const control of controls) {
      if (message) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
  };
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

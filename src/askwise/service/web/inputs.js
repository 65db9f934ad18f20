// One function for each kind of value that is asked for; another kind is one more function in `KINDS`.

import { h, newId } from "./dom.js";
import { isOutside, seenOf, textOf, typedNumber } from "./format.js";
import { Unreadable, readPicture } from "./photo.js";

const MOST_BUTTONS = 6;

/**
 * What is drawn for a value: `read` gives null where nothing was entered; `complain` shows a message at it, "" none.
 * @typedef {{name: string, element: HTMLElement, read: () => any, focus: () => void,
 *   complain: (message: string) => void}} Drawn
 * @typedef {{alone: boolean, value?: any, nothing?: string}} How alone: the heading names it already; nothing: what an
 *   empty answer is called, where one is allowed
 */

const KINDS = { number, boolean, category, pixels };

/**
 * Draw the field for an input of the schema.
 * @param {any} facts
 * @param {How} how
 * @returns {Drawn}
 */
export function draw(facts, how) {
  return (KINDS[facts.kind] ?? text)(facts, how);
}

function number(facts, how) {
  const seen = seenOf(facts);
  // Telephones show no minus on their pads of digits.
  const pad = facts.low !== null && facts.low < 0 ? "text" : facts.whole ? "numeric" : "decimal";
  const remark = h("p", { class: "remark", role: "status" });
  const field = textField(facts, how, { inputmode: pad }, [
    seen && h("p", { class: "hint" }, `Seen in training: ${seen}${facts.unit ? ` ${facts.unit}` : ""}`),
    remark,
  ]);
  const look = () => {
    const beyond = isOutside(facts, typedNumber(field.input.value.trim()));
    const words = beyond ? `Outside what was seen in training, ${seen}; it is taken all the same.` : "";
    if (remark.textContent !== words) remark.textContent = words;
  };
  field.input.addEventListener("input", look);
  look();
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
    h("label", { for: id, class: how.alone && "hidden" }, textOf(facts)),
    h("div", { class: "with-unit" }, input, unit),
    h("div", { id: `${id}-about` }, helpOf(facts, how), ...below),
    error,
  );
  return { name: facts.name, element, input, focus: () => input.focus(), complain: complainer(error, [input]) };
}

function boolean(facts, how) {
  return buttons(facts, how, [
    [true, "Yes"],
    [false, "No"],
  ]);
}

function category(facts, how) {
  const choices = facts.choices ?? [];
  return (choices.length <= MOST_BUTTONS ? buttons : list)(
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
    h("legend", { class: how.alone && "hidden" }, textOf(facts)),
    h("div", { id: `${id}-about` }, helpOf(facts, how)),
    h("div", { class: "choices" }, ...labels),
    error,
  );
  const read = () => offered.find((_, i) => radios[i].checked)?.[0] ?? null;
  const focus = () => (radios.find((radio) => radio.checked) ?? radios[0])?.focus();
  return { name: facts.name, element, read, focus, complain: complainer(error, radios) };
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
    h("label", { for: id, class: how.alone && "hidden" }, textOf(facts)),
    h("div", { class: "with-unit" }, select),
    h("div", { id: `${id}-about` }, helpOf(facts, how)),
    error,
  );
  const read = () => (select.value === "" ? null : choices[Number(select.value)][0]);
  return { name: facts.name, element, read, focus: () => select.focus(), complain: complainer(error, [select]) };
}

/** A picture from a file, brought to the size that is asked for. */
function pixels(facts, how) {
  const id = newId();
  const error = h("p", { class: "error", id: `${id}-error` });
  const [height, width] = facts.shape;
  const preview = h("img", { class: "patch", alt: "As it is sent", src: how.value ?? "", hidden: !how.value });
  let given = how.value ?? null;
  const input = h("input", { id, type: "file", accept: "image/*", "aria-describedby": `${id}-about ${id}-error` });
  const complain = complainer(error, [input]);
  input.addEventListener("change", async () => {
    const file = input.files[0];
    complain("");
    given = null;
    try {
      if (file) given = (await readPicture(file, facts.shape)).toDataURL("image/png");
    } catch (problem) {
      if (!(problem instanceof Unreadable)) throw problem;
      complain(problem.message);
    }
    preview.hidden = given === null;
    if (given !== null) preview.src = given;
  });
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: id, class: how.alone && "hidden" }, textOf(facts)),
    h("div", { class: "with-unit" }, input, preview),
    h(
      "div",
      { id: `${id}-about` },
      helpOf(facts, how),
      h("p", { class: "hint" }, `A picture; it is scaled and cut to ${width} x ${height} pixels.`),
    ),
    error,
  );
  return { name: facts.name, element, read: () => given, focus: () => input.focus(), complain };
}

const helpOf = (facts, how) => !how.alone && facts.help && h("p", { class: "hint" }, facts.help);

function complainer(error, controls) {
  return (message) => {
    error.textContent = message;
    for (const control of controls) {
      if (message) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
  };
}

/** Show a message at the input that it names, or else give it back. */
export function complainAt(drawn, message) {
  for (const field of drawn) field.complain("");
  const about = drawn.length === 1 ? drawn[0] : drawn.find((field) => message.includes(`'${field.name}'`));
  if (message && about) {
    about.complain(message);
    about.focus();
    return "";
  }
  return message;
}

// The parts of fields: a line to type in, buttons to choose with, a list to choose from, and where an error is shown.

import { h, newId } from "./dom.js";
import { labelOf } from "./format.js";

export function textField(facts, how, properties, below) {
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

export function buttons(facts, how, choices) {
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

export function list(facts, how, choices) {
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

export const helpOf = (facts, how) => !how.alone && facts.help && h("p", { class: "hint" }, facts.help);

export function errorSetter(error, controls) {
  return (message) => {
    error.textContent = message;
    for (const control of controls) {
      if (message) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
  };
}

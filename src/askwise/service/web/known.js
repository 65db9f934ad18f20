// Free columns: known from the start, never asked, never paid; set or cleared at any time.

import { byId, h } from "./dom.js";
import { answerText } from "./format.js";
import { complainAt, draw } from "./inputs.js";

export class KnownView {
  constructor(actions) {
    this.actions = actions;
    this.box = byId("known");
    this.key = null;
    this.error = h("p", { class: "error", role: "alert" });
  }

  update(conversation) {
    const { facts, state } = conversation;
    this.box.hidden = facts.free.length === 0;
    const key = JSON.stringify([state.model, state.known]);
    if (this.box.hidden || key === this.key) return;
    const first = this.key === null || JSON.parse(this.key)[0] !== state.model;
    this.key = key;
    const given = facts.free.filter((input) => input.name in state.known);
    const words = given.map((input) => `${input.name}: ${answerText(state.known[input.name], input.unit)}`).join(", ");
    if (first) this.form(facts.free, state.known);
    this.summary.textContent = words || "nothing given yet";
    // After another change than through this form the fields must show what holds.
    if (!first && !this.holds(state.known)) this.form(facts.free, state.known, this.details.open, words);
  }

  holds(values) {
    return this.drawn.every((field) => field.read() === (values[field.name] ?? null));
  }

  form(free, values, open = false, words = "") {
    this.drawn = free.map((input) => draw(input, { alone: false, value: values[input.name], nothing: "Not known" }));
    this.summary = h("span", { class: "muted" }, words);
    const submit = (event) => {
      event.preventDefault();
      const read = this.drawn.map((field) => [field.name, field.read()]);
      this.actions.setKnown(Object.fromEntries(read.filter(([, value]) => value !== null)));
    };
    this.details = h(
      "details",
      { open },
      h("summary", {}, h("span", { class: "summary-title" }, "Known from the start"), " ", this.summary),
      h(
        "form",
        { novalidate: true, autocomplete: "off", onsubmit: submit },
        h("p", { class: "hint" }, "Never asked and never paid. Leave empty what is not known."),
        ...this.drawn.map((field) => field.element),
        this.error,
        h("div", { class: "row" }, h("button", { type: "submit" }, "Use these")),
      ),
    );
    this.box.replaceChildren(this.details);
  }

  complain(message) {
    this.error.textContent = complainAt(this.drawn ?? [], message);
  }
}

// Free columns: known from the start, never asked, never paid; set or cleared at any time.

import { byId, h } from "./dom.js";
import { answerText } from "./format.js";
import { complainAt, draw } from "./inputs.js";
import { own } from "./names.js";

export class KnownView {
  constructor(actions) {
    this.actions = actions;
    this.box = byId("known");
    this.conversation = null;
    this.error = h("p", { class: "error", role: "alert" });
  }

  update(conversation) {
    const { facts, state } = conversation;
    this.box.hidden = facts.free.length === 0;
    if (this.box.hidden) return;
    // Within a conversation only this form changes what is known: what is being typed into it stays.
    const isNew = conversation !== this.conversation;
    if (isNew) this.form(facts.free, state.known, this.conversation?.facts === facts && this.details.open);
    this.conversation = conversation;
    const given = facts.free.filter((input) => Object.hasOwn(state.known, input.name));
    const words = given.map((input) => `${input.name}: ${answerText(state.known[input.name], input.unit)}`).join(", ");
    this.summary.textContent = words || "nothing given yet";
  }

  form(free, values, open) {
    const how = (name) => ({ alone: false, value: own(values, name), nothing: "Not known" });
    this.drawn = free.map((input) => draw(input, how(input.name)));
    this.error.textContent = "";
    this.summary = h("span", { class: "muted" });
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

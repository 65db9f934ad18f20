// Free columns: known from the start, never asked, never paid; set or cleared at any time.

import { byId, h } from "./dom.js";
import { answerText } from "./format.js";
import { complainAt, draw } from "./inputs.js";
import { own } from "./names.js";

/** With more fields than this the question would be out of sight: then they open by hand. */
const MOST_OPEN = 8;

export class KnownView {
  constructor(actions) {
    this.actions = actions;
    this.box = byId("known");
    this.conversation = null;
    /** Whether nothing was given and nothing answered, when it was last drawn. */
    this.isFresh = false;
    /** What was given then. @type {Object<string, any>|null} */
    this.given = null;
    this.error = h("p", { class: "error", role: "alert" });
  }

  update(conversation) {
    const { facts, state } = conversation;
    // The sketch of a photo is given where the photo is.
    this.box.hidden = facts.free.length === 0 || facts.image !== null;
    if (this.box.hidden) return;
    // Within a conversation only this form changes what is known: what is being typed into it stays.
    const isNew = conversation !== this.conversation;
    if (isNew) this.form(facts.free, state.known);
    this.conversation = conversation;
    const isFresh = state.said.length === 0 && Object.keys(state.known).length === 0;
    if (isNew || isFresh !== this.isFresh || state.known !== this.given) {
      this.fold(!isFresh || facts.free.length > MOST_OPEN, state.known);
    }
    this.isFresh = isFresh;
    this.given = state.known;
    const given = facts.free.filter((input) => Object.hasOwn(state.known, input.name));
    const words = given.map((input) => `${input.name}: ${answerText(state.known[input.name], input.unit)}`).join(", ");
    this.summary.textContent = words || "nothing given yet";
  }

  /** Open or close; what was entered and not yet used stays in sight. */
  fold(isClosed, values) {
    const isUsed = (field) => field.read() === (own(values, field.name) ?? null);
    this.details.open = !(isClosed && this.drawn.every(isUsed));
  }

  form(free, values) {
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
      {},
      h("summary", {}, h("span", { class: "summary-title" }, "Known from the start"), " ", this.summary),
      h(
        "form",
        { novalidate: true, autocomplete: "off", onsubmit: submit },
        h("p", { class: "hint" }, "Never asked and never paid. Leave empty what is not known."),
        h("div", { class: "fields" }, ...this.drawn.map((field) => field.element)),
        this.error,
        h("div", { class: "row" }, h("button", { type: "submit" }, "Use these")),
      ),
    );
    this.box.replaceChildren(this.details);
  }

  /** Whether a new case begins here. */
  get comesFirst() {
    return this.isFresh && !this.box.hidden && this.details.open;
  }

  focus() {
    this.drawn[0].focus();
  }

  /** Whether the focus was within the form when it was closed. */
  get hasLostFocus() {
    return !this.details.open && this.details.querySelector("form").contains(document.activeElement);
  }

  complain(message) {
    this.error.textContent = complainAt(this.drawn ?? [], message);
  }
}

// Free columns: known from the start, never asked, never paid; set or cleared at any time.

import { h } from "./dom.js";
import { saidText } from "./format.js";
import { askAgain, createField, showErrorAt } from "./inputs.js";
import { View } from "./view.js";

/** With more fields than this the question would be out of sight: then the form starts closed. */
const MAX_OPEN = 8;

/** The value under a name. A name may be that of something every object inherits. */
const ownValue = (values, name) => (Object.hasOwn(values, name) ? values[name] : undefined);

export class FreeColumnsView extends View {
  constructor(actions) {
    super("known", actions);
    /** Whether nothing was known or answered at the last update. */
    this.isFresh = false;
    /** The values known at the last update. @type {Object<string, any>|null} */
    this.given = null;
    this.error = h("p", { class: "error", role: "alert" });
  }

  update(conversation) {
    const { facts, state } = conversation;
    // The sketch of a photo is given beside the photo.
    this.box.hidden = facts.free.length === 0 || facts.image !== null;
    if (this.box.hidden) return;
    // Within a conversation only this form changes the values, so what is being typed stays.
    const isNew = conversation !== this.conversation;
    if (isNew) this.form(facts.free, state.known);
    this.conversation = conversation;
    const isFresh = state.said.length === 0 && Object.keys(state.known).length === 0;
    if (isNew || isFresh !== this.isFresh || state.known !== this.given) {
      this.fold(!isFresh || facts.free.length > MAX_OPEN, state.known);
    }
    this.isFresh = isFresh;
    this.given = state.known;
    const given = facts.free.filter((input) => Object.hasOwn(state.known, input.name));
    const words = given.map((input) => `${input.name}: ${saidText(input, state.known[input.name])}`).join(", ");
    this.summary.textContent = words || "nothing given yet";
  }

  /** Open or close the form. It stays open while an entered value is not yet used. */
  fold(isClosed, values) {
    const isUsed = (field) => field.read() === (ownValue(values, field.name) ?? null);
    this.details.open = !(isClosed && this.fields.every(isUsed));
  }

  form(free, values) {
    const how = (name) => ({ alone: false, value: ownValue(values, name), nothing: "Not known" });
    this.fields = free.map((input) => createField(input, how(input.name)));
    this.error.textContent = "";
    this.summary = h("span", { class: "muted" });
    const submit = (event) => {
      event.preventDefault();
      if (askAgain(this.fields)) return;
      const read = this.fields.map((field) => [field.name, field.read()]);
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
        h("div", { class: "fields" }, ...this.fields.map((field) => field.element)),
        this.error,
        h("div", { class: "row" }, h("button", { type: "submit" }, "Use these")),
      ),
    );
    this.box.replaceChildren(this.details);
  }

  /** Whether a new case begins with this form. */
  get comesFirst() {
    return this.isFresh && !this.box.hidden && this.details.open;
  }

  focus() {
    this.fields[0].focus();
  }

  /** Whether the focus was within the form when it was closed. */
  get hasLostFocus() {
    return !this.details.open && this.details.querySelector("form").contains(document.activeElement);
  }

  showError(message) {
    this.error.textContent = showErrorAt(this.fields ?? [], message);
  }
}

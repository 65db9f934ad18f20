// The question of an image model: which patch to look at next, in a photo that stays in the browser.

import { h, replaceContent } from "./dom.js";
import { ExamplesView } from "./examples.js";
import { labelOf, money, plural, sentence } from "./format.js";
import { createField } from "./inputs.js";
import { PatchGridView } from "./patch_grid.js";
import { predictionText } from "./prediction.js";
import { QuestionView } from "./question.js";

export class PatchQuestionView extends QuestionView {
  constructor(actions) {
    super(actions);
    this.file = h("input", { type: "file", accept: "image/*", hidden: true, "aria-label": "Photo" });
    this.file.addEventListener("change", () => {
      this.take(this.file.files[0]);
      // So that the same file can be chosen again.
      this.file.value = "";
    });
    // On the whole page: a browser would leave it for a photo that is dropped beside the card.
    document.addEventListener("dragover", (event) => this.dragged(event));
    document.addEventListener("dragleave", (event) => event.relatedTarget ?? this.box.classList.remove("dragged"));
    document.addEventListener("drop", (event) => this.dropped(event));
  }

  get isShown() {
    return this.picture !== undefined && this.box.contains(this.picture.element);
  }

  update(conversation) {
    const { shown } = conversation;
    const isNew = conversation !== this.conversation || (shown?.name ?? null) !== this.name;
    if (conversation !== this.conversation || !this.isShown) this.build(conversation);
    this.conversation = conversation;
    this.name = shown?.name ?? null;
    const hadFocus = this.box.contains(document.activeElement);
    replaceContent(this.head, ...(shown === null ? this.ending(conversation) : this.next(conversation, shown)));
    this.picture.update(conversation);
    replaceContent(this.tools, ...this.toolsOf(conversation));
    this.examples.update(conversation);
    if (isNew) this.drawSinglePatch(shown);
    this.alone.hidden = shown === null || Boolean(conversation.photo);
    // The button that was pressed may be gone now.
    if (hadFocus && !this.box.contains(document.activeElement)) this.focus();
    return isNew;
  }

  build({ facts }) {
    this.picture = new PatchGridView(facts, (name) => this.pick(name));
    this.head = h("div", {});
    this.tools = h("div", { class: "look-tools" });
    this.examples = new ExamplesView(facts, (example) => this.actions.useExample(example));
    this.alone = h("details", { class: "alone" });
    this.error.textContent = "";
    const parts = [this.head, this.picture.element, this.tools, this.error, this.examples.element, this.alone];
    this.box.replaceChildren(...parts, this.file);
  }

  next(conversation, shown) {
    return [
      h("p", { class: "kicker" }, ...this.kicker(shown, conversation.now, conversation)),
      h("h2", { id: "question-title", tabindex: "-1" }, sentence(labelOf(shown)).replace(/\.$/, "")),
      h("p", { class: "facts" }, ...this.price(conversation, shown)),
    ];
  }

  kicker(shown, now, conversation) {
    const words = super.kicker(shown, now, conversation);
    return words[0] === "Ask next" ? ["Look next"] : words;
  }

  ending({ now, state, facts, truth }) {
    const looked = state.said.filter((said) => said.values !== null).length;
    const spent = `Spent ${money(now.spent)} on ${plural(looked, "patch", "patches")} of ${facts.questions.length}.`;
    return [
      h("p", { class: "kicker" }, "Time to stop"),
      h("h2", { id: "question-title", class: "result", tabindex: "-1" }, predictionText(now.prediction, facts.target)),
      truth !== null && h("p", { class: "truth" }, "It was: ", h("strong", {}, truth)),
      h("p", { class: "help" }, `${sentence(now.why ?? "nothing more is asked")} ${spent}`),
    ];
  }

  toolsOf(conversation) {
    const { photo, shown, facts, state } = conversation;
    const sketch = state.known.sketch;
    return [
      sketch && this.sketchRow(sketch),
      !photo && this.invitation(facts.image),
      photo && facts.image.sketch && !sketch && this.sketchOffer(conversation),
      h("div", { class: "row" }, ...(shown ? this.buttons(conversation, shown) : this.endButtons(conversation))),
    ].filter(Boolean);
  }

  button(look, label, run) {
    return h("button", { type: "button", class: look, "data-key": label, onclick: run }, label);
  }

  invitation({ height, width }) {
    return h(
      "p",
      { class: "help" },
      `Choose a photo, or drop one here. It stays in this browser: it is scaled and cut to ${width} x ${height} ` +
        "pixels, and only the patches that are looked at are sent.",
    );
  }

  buttons(conversation, shown) {
    const { photo, revealing, now } = conversation;
    if (!photo) return [this.button("primary big", "Choose a photo", () => this.file.click())];
    const look = () => this.pick(shown.name);
    // One button under two names, so that the focus stays on it.
    const run = this.button("big", revealing ? "Pause" : "Reveal until it stops", this.actions.reveal);
    run.dataset.key = "run";
    return [
      this.button("primary big", "Look at this patch", look),
      (revealing || now.question !== null) && run,
      this.button("big", "Can't be had", () => this.actions.decline(shown.name)),
      this.button("quiet", "Another photo", () => this.file.click()),
    ].filter(Boolean);
  }

  endButtons(conversation) {
    const { photo, now } = conversation;
    return [
      this.button("primary big", photo ? "Another photo" : "Choose a photo", () => this.file.click()),
      photo && this.button("", "Start again", this.actions.again),
      now.ranking.length > 0 && this.button("quiet", "Go on looking", this.actions.goOn),
    ].filter(Boolean);
  }

  sketchRow(sketch) {
    return h(
      "div",
      { class: "row sketch" },
      h("img", { src: sketch, alt: "The sketch: the outlines in the photo" }),
      h("span", {}, "The sketch is known from the start, for nothing."),
      this.button("small", "Without the sketch", this.actions.dropSketch),
    );
  }

  sketchOffer({ facts, withoutSketch }) {
    const use = (look, label) => this.button(look, label, this.actions.sketch);
    if (withoutSketch) return h("p", {}, use("link", "Use a sketch after all: the whole photo is sent for it"));
    const { width, height } = facts.image;
    return h(
      "div",
      { class: "offer" },
      h(
        "p",
        {},
        "This model also takes a sketch of the whole photo, for nothing. The server draws it: for that the whole " +
          `photo, at ${width} x ${height} pixels, is sent there once. It is not kept.`,
      ),
      h(
        "div",
        { class: "row" },
        use("", "Send the photo for its sketch"),
        this.button("quiet", "Go on without", this.actions.skipSketch),
      ),
    );
  }

  /** A form for a patch that somebody has without the rest of the photo. */
  drawSinglePatch(shown) {
    const isOpen = this.alone.open;
    this.fields = shown === null ? [] : shown.inputs.map((input) => createField(input, { alone: true }));
    if (shown === null) return;
    const submit = (event) => {
      event.preventDefault();
      this.submit(shown);
    };
    this.alone.replaceChildren(
      h("summary", { "data-key": "alone" }, "Without a photo: give this patch alone"),
      h(
        "form",
        { novalidate: true, onsubmit: submit, oninput: () => this.actions.touch(shown.name) },
        ...this.fields.map((field) => field.element),
        h(
          "div",
          { class: "row" },
          h("button", { type: "submit" }, "Answer"),
          h("button", { type: "button", onclick: () => this.actions.decline(shown.name) }, "Can't be had"),
        ),
      ),
    );
    this.alone.open = isOpen;
  }

  /** Look at an open patch, or without a photo choose it. */
  pick(name) {
    if (this.conversation.photo) this.actions.look(name);
    else this.actions.choose(name);
  }

  take(file) {
    if (file) this.actions.usePhoto(file);
  }

  dragged(event) {
    if (!this.isShown || ![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    this.box.classList.add("dragged");
  }

  dropped(event) {
    if (!this.isShown) return;
    event.preventDefault();
    this.box.classList.remove("dragged");
    this.take(event.dataTransfer.files[0]);
  }

  showError(message) {
    if (this.alone.open && !this.alone.hidden) super.showError(message);
    else this.error.textContent = message;
  }

  /** A pressed button keeps the focus, unless it chose an example; otherwise the first button gets it. */
  focus() {
    const active = document.activeElement;
    if (this.box.contains(active) && !this.examples.element.contains(active)) return;
    const first = this.conversation?.shown ? this.tools.querySelector("button.primary") : null;
    (first ?? this.head.querySelector("h2")).focus();
  }
}

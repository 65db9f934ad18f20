// The answers so far, in order: remove one, start again, save the record, copy the link.

import { h, replaceContent } from "./dom.js";
import { isOutside, money, saidText, trainingRange } from "./format.js";
import { fitsInLink } from "./link.js";
import { announce } from "./messages.js";
import { steps } from "./record.js";
import { View } from "./view.js";

const PRIVACY =
  "This page keeps nothing on the server: each answer is sent to compute the next question and forgotten. The link " +
  "holds every answer in itself; browsers never send that part of an address.";

const PHOTO_PRIVACY =
  "The photo stays in this browser: only patches that are looked at are sent (for a sketch, all of it, once), to " +
  "compute what to look at next, and forgotten. The link holds them in itself; browsers never send that part of it.";
const TOO_LONG = "With so many patches the link would be too long to send. The record holds all of them.";

export class AnswersView extends View {
  constructor(actions) {
    super("said", actions);
    const name = "Link to this state";
    this.link = h("input", { type: "text", readonly: true, class: "link-field", "aria-label": name, hidden: true });
  }

  update(conversation) {
    this.conversation = conversation;
    this.link.hidden = true;
    const all = steps(conversation);
    const isImage = conversation.facts.image !== null;
    const hasRecord = all.length > 0 || Object.keys(conversation.state.known).length > 0;
    replaceContent(
      this.box,
      h(
        "div",
        { class: "heading" },
        h("h2", { id: "said-title" }, isImage ? "Looked at so far" : "Said so far"),
        h(
          "div",
          { class: "row" },
          all.length > 0 && this.tool("Undo", this.actions.undo),
          this.tool("New case", this.actions.restart),
        ),
      ),
      all.length === 0 &&
        h("p", { class: "muted" }, `Nothing yet. The first ${isImage ? "patch" : "answer"} will appear here.`),
      all.length > 0 &&
        h("ol", { class: isImage ? "said patches" : "said" }, ...all.map((step, k) => this.item(step, k))),
      h(
        "div",
        { class: "row tools" },
        fitsInLink(conversation.state) && this.tool("Copy link", () => this.copy()),
        hasRecord && this.tool("Record as JSON", () => this.actions.saveRecord("json")),
        hasRecord && this.tool("Record as CSV", () => this.actions.saveRecord("csv")),
      ),
      this.link,
      !fitsInLink(conversation.state) && h("p", { class: "remark" }, TOO_LONG),
      h("p", { class: "hint" }, isImage ? PHOTO_PRIVACY : PRIVACY),
    );
  }

  tool(label, run) {
    return h("button", { type: "button", class: "small", "data-key": label, onclick: run }, label);
  }

  item(step, k) {
    const facts = this.conversation.question(step.name);
    const inputs = facts?.inputs ?? [];
    const input = (name) => inputs.find((one) => one.name === name) ?? {};
    const given = Object.entries(step.answers ?? {}).map(([name, value]) => [
      name,
      answerElement(value, input(name)),
      isOutside(input(name), value) && h("span", { class: "said-outside" }, `outside ${trainingRange(input(name))}`),
    ]);
    const isPanel = given.length > 1;
    const answer = given.length === 1 ? given[0][1] : h("em", {}, "can't be had");
    const remove = () => this.actions.remove(k);
    return h(
      "li",
      {},
      h(
        "div",
        { class: "said-what" },
        h("span", { class: "said-name" }, step.name),
        !isPanel && h("span", { class: "said-answer" }, answer),
        !isPanel && given[0]?.[2],
      ),
      h("span", { class: "said-price" }, step.answers === null ? "not paid" : `paid ${money(step.cost)}`),
      h(
        "button",
        { type: "button", class: "icon", "data-key": `remove ${k}`, title: "Take this back", onclick: remove },
        h("span", { "aria-hidden": "true" }, "×"),
        h("span", { class: "hidden" }, `Take back ${step.name}`),
      ),
      facts?.text && !this.conversation.facts.image && h("p", { class: "said-text", title: facts.text }, facts.text),
      isPanel &&
        h("ul", { class: "said-answer" }, ...given.map(([name, text, mark]) => h("li", {}, `${name}: ${text}`, mark))),
    );
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(location.href);
      announce("The link was copied.");
      const button = [...this.box.querySelectorAll("button")].find((one) => one.dataset.key === "Copy link");
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy link"), 1500);
    } catch {
      // The browser does not allow it: show the link, to be copied by hand.
      this.link.value = location.href;
      this.link.hidden = false;
      this.link.focus();
      this.link.select();
    }
  }
}

/** An answer as an image, or as text. */
function answerElement(value, input) {
  if (input.kind !== "pixels" || value === null) return saidText(input, value);
  return h("img", { class: "patch", src: value, alt: input.text || input.name });
}

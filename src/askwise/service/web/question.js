// The suggested or chosen question as a form, or the reason to stop.

import { byId, h } from "./dom.js";
import { labelOf, money, num, plural, sentence, sharedPart } from "./format.js";
import { askAgain, createField, showErrorAt } from "./inputs.js";
import { predictionText } from "./prediction.js";
import { View } from "./view.js";

export class QuestionView extends View {
  /** @param {any} actions what the page can do */
  constructor(actions) {
    super("question", actions);
    /** The fields of the form. @type {import("./inputs.js").Field[]} */
    this.fields = [];
    /** The name of the question that is drawn. @type {string|null} */
    this.name = null;
    this.error = h("p", { class: "error", role: "alert" });
  }

  /**
   * Draw the question. The form of a question that is shown already stays, with what was typed into it.
   * @returns {boolean} whether something else is shown now
   */
  update(conversation) {
    const { shown, now } = conversation;
    const isNew = conversation !== this.conversation || (shown?.name ?? null) !== this.name;
    this.conversation = conversation;
    this.name = shown?.name ?? null;
    if (shown === null) this.stopped(conversation);
    else if (isNew) this.form(conversation, shown);
    else this.facts.replaceChildren(...this.price(conversation, shown));
    if (shown !== null) this.top.replaceChildren(...this.kicker(shown, now, conversation));
    return isNew;
  }

  kicker(shown, now, conversation) {
    if (now.stopped) return [`The rule says stop: ${now.why}`];
    if (now.question.name === shown.name) return ["Ask next"];
    const back = () => this.actions.choose(null);
    const suggested = labelOf(conversation.question(now.question.name));
    return ["Your choice ", h("button", { type: "button", class: "link", onclick: back }, `Back to: ${suggested}`)];
  }

  price(conversation, shown) {
    const { ranking, ranked_by: rankedBy } = conversation.now;
    const worth = ranking.find((candidate) => candidate.name === shown.name);
    const alone = rankedBy === "score" ? "Score " : "Information per price ";
    return [
      shown.text && h("span", { class: "tag" }, shown.name),
      h("span", {}, "Price ", h("strong", {}, money(worth.cost))),
      sharedPart(worth) > 0 && h("span", {}, `${money(sharedPart(worth))} of it is shared`),
      h("span", {}, alone, h("strong", {}, num(worth.value_per_cost))),
      rankedBy === "lookahead" &&
        h("span", {}, "It and what follows, per price ", h("strong", {}, num(worth.lookahead_per_cost))),
    ].filter(Boolean);
  }

  form(conversation, shown) {
    const alone = shown.inputs.length === 1;
    const how = { alone, nothing: alone ? undefined : "Can't be had" };
    this.fields = shown.inputs.map((input) => createField(input, how));
    this.error.textContent = "";
    this.top = h("p", { class: "kicker" });
    this.facts = h("p", { class: "facts" }, ...this.price(conversation, shown));
    const help = shown.help || (alone && shown.inputs[0].help);
    const decline = () => this.actions.decline(shown.name);
    const submit = (event) => {
      event.preventDefault();
      this.submit(shown);
    };
    this.box.replaceChildren(
      this.top,
      h("h2", { id: "question-title", tabindex: "-1" }, labelOf(shown)),
      this.facts,
      ...(help ? [h("p", { class: "help" }, help)] : []),
      h(
        "form",
        { novalidate: true, onsubmit: submit, oninput: () => this.actions.touch(shown.name), autocomplete: "off" },
        ...this.fields.map((field) => field.element),
        !alone && h("p", { class: "hint" }, "A single value may be left empty."),
        this.error,
        h(
          "div",
          { class: "row" },
          h("button", { type: "submit", class: "primary big" }, "Answer"),
          h("button", { type: "button", class: "big", onclick: decline }, "Can't be had"),
        ),
      ),
    );
  }

  stopped(conversation) {
    const { now, state, facts } = conversation;
    const told = state.said.filter((said) => said.values !== null).length;
    const button = (look, label, run) => h("button", { type: "button", class: look, onclick: run }, label);
    this.fields = [];
    this.box.replaceChildren(
      h("p", { class: "kicker" }, "Time to stop"),
      h("h2", { id: "question-title", class: "result", tabindex: "-1" }, predictionText(now.prediction, facts.target)),
      h(
        "p",
        { class: "help" },
        `${sentence(now.why ?? "nothing more is asked")} Spent ${money(now.spent)} on ${plural(told, "question")}.`,
      ),
      h(
        "div",
        { class: "row" },
        button("primary big", "New case", this.actions.restart),
        now.ranking.length > 0 && button("quiet", "Go on asking", this.actions.goOn),
      ),
    );
  }

  submit(shown) {
    const values = Object.fromEntries(this.fields.map((field) => [field.name, field.read()]));
    if (Object.values(values).every((value) => value === null)) {
      const what = this.fields.length === 1 ? "Give an answer" : "Fill in at least one value";
      this.showError(`${what}, or say that it can't be had.`);
      if (this.fields.length > 1) this.fields[0].focus();
    } else if (!askAgain(this.fields)) {
      this.actions.answer(shown.name, values);
    }
  }

  /** Show a message at the input it is about; "" removes it. */
  showError(message) {
    this.error.textContent = showErrorAt(this.fields, message);
  }

  /** Move the focus to the first field, or to the title. */
  focus() {
    if (this.fields.length) this.fields[0].focus();
    else byId("question-title").focus();
  }
}

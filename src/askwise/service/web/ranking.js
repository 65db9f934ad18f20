// The open questions as bars of what they are ranked by, with prices that can be changed. Of patches only the best are
// shown.

import { h, newId, replaceContent } from "./dom.js";
import { explanation } from "./explanation.js";
import { money, num, plural, sharedPart, typedNumber, withHint } from "./format.js";
import { View } from "./view.js";

/** How many are shown at first. */
const FIRST = 12;
const FIRST_PATCHES = 5;

/** By what the questions are ranked, in words. */
const RANKED_BY = {
  information: "most information per price first",
  lookahead: "by what each and the questions after it bring, per price",
  score: "in the order of the method's score",
};

/** What the number of a bar is, for those who only hear it. */
const RANK = { information: "information per price", lookahead: "it and what follows, per price", score: "score" };

/** The number that a question is ranked by. */
const rankOf = (candidate) => candidate.lookahead_per_cost ?? candidate.value_per_cost;

/** Whether a question has a price that it shares with others, paid or not. */
const sharesPrice = (facts, name) => facts.shared_prices.some((shared) => shared.for.includes(name));

export class RankingView extends View {
  constructor(actions) {
    super("ranking", actions);
    this.all = false;
    /** The question whose price is being changed. @type {string|null} */
    this.editing = null;
  }

  update(conversation) {
    if (conversation.facts !== this.conversation?.facts) {
      this.editing = null;
      this.explanation = explanation(conversation.facts, conversation.now.ranked_by);
    }
    this.conversation = conversation;
    // The price field is moved into the new list as it is, and an element that is moved loses the focus.
    const active = this.editing !== null && this.form.contains(document.activeElement) ? document.activeElement : null;
    const { now, pricesChanged } = conversation;
    const ranking = now.ranking;
    const penalty = typeof now.penalty === "number" ? now.penalty : null;
    const most = Math.max(...ranking.map(rankOf), penalty ?? 0);
    const isImage = conversation.facts.image !== null;
    const shown = this.all && !isImage ? ranking : ranking.slice(0, isImage ? FIRST_PATCHES : FIRST);
    const more = () => {
      this.all = !this.all;
      this.update(conversation);
    };
    replaceContent(
      this.box,
      h(
        "div",
        { class: "heading" },
        h("h2", { id: "ranking-title", tabindex: "-1" }, isImage ? "Best open patches" : "Open questions"),
        h("span", { class: "muted" }, ranking.length ? RANKED_BY[now.ranked_by] : "none is left"),
      ),
      penalty !== null &&
        ranking.length > 0 &&
        h("p", { class: "hint key" }, h("span", { class: "key-line" }), `Worth asking from ${num(penalty)} on`),
      this.explanation,
      h("ol", { class: "ranking" }, ...shown.map((candidate) => this.item(candidate, most, penalty))),
      ranking.length > FIRST &&
        !isImage &&
        h(
          "button",
          { type: "button", "data-key": "more", onclick: more, "aria-expanded": String(this.all) },
          this.all ? `Show the first ${FIRST}` : `Show all ${ranking.length}`,
        ),
      pricesChanged &&
        h(
          "div",
          { class: "row prices" },
          h("span", { class: "muted" }, plural(Object.keys(conversation.state.costs).length, "price"), " changed"),
          h("button", { type: "button", "data-key": "reset", onclick: this.actions.resetPrices }, "Prices as trained"),
        ),
    );
    active?.focus();
  }

  item(candidate, most, penalty) {
    const { name, value, value_per_cost: alone } = candidate;
    const worth = rankOf(candidate);
    const rankedBy = this.conversation.now.ranked_by;
    const facts = this.conversation.question(name);
    const dim = penalty !== null && Math.max(worth, alone) < penalty;
    const along = (x) => `${most > 0 ? Math.max(0, Math.min(100, (100 * x) / most)) : 0}%`;
    const isShown = this.conversation.shown?.name === name;
    const isImage = this.conversation.facts.image !== null;
    return h(
      "li",
      { class: dim ? "dim" : null },
      h(
        "div",
        { class: "rank-top" },
        h(
          "button",
          {
            type: "button",
            class: "rank-name",
            "data-key": `pick ${name}`,
            "aria-current": isShown ? "true" : null,
            onclick: () => this.actions.choose(name),
          },
          name,
          h("span", { class: "hidden" }, isShown ? "shown now" : isImage ? "choose this one" : "answer this one"),
        ),
        h("span", { class: "rank-worth" }, h("span", { class: "hidden" }, `${RANK[rankedBy]} `), num(worth)),
      ),
      facts.text && h("p", { class: "rank-text", title: facts.text }, facts.text),
      h(
        "div",
        { class: "track", "aria-hidden": "true" },
        h("div", { class: "bar", style: { width: along(worth) } }),
        penalty !== null && h("div", { class: "line", style: { left: along(penalty) } }),
      ),
      h(
        "div",
        { class: "rank-facts" },
        h("span", {}, `value ${num(value)}`),
        rankedBy === "lookahead" && h("span", {}, `information per price ${num(alone)}`),
        this.editing === name ? this.form : this.priceButton(candidate),
        sharedPart(candidate) > 0 &&
          h("span", { class: "shared" }, `${money(sharedPart(candidate))} of it is shared`),
      ),
    );
  }

  priceButton({ name, cost, own_cost: own }) {
    const edit = () => {
      this.editing = name;
      this.form = this.priceForm(name, own);
      this.update(this.conversation);
      this.field.focus();
      this.field.select();
    };
    const changed = Object.hasOwn(this.conversation.state.costs, name);
    return h(
      "button",
      { type: "button", class: changed ? "price changed" : "price", "data-key": `price ${name}`, onclick: edit },
      `price ${money(cost)}`,
      h("span", { class: "hidden" }, `${changed ? "changed; " : ""}change the price of ${name}`),
    );
  }

  /** Created once and drawn again as it is, so that what was typed stays. */
  priceForm(name, own) {
    const id = newId();
    this.field = h("input", {
      id,
      type: "text",
      inputmode: "decimal",
      value: String(own),
      "aria-describedby": `${id}-error`,
      onkeydown: (event) => event.key === "Escape" && this.stopEditing(name),
    });
    this.error = h("p", { class: "error", id: `${id}-error`, role: "alert" });
    const submit = (event) => {
      event.preventDefault();
      this.actions.setPrice(name, typedNumber(this.field.value.trim()));
    };
    return h(
      "form",
      { class: "price-form", novalidate: true, autocomplete: "off", onsubmit: submit },
      h("label", { for: id }, sharesPrice(this.conversation.facts, name) ? "own price" : "price", h("span", { class: "hidden" }, ` of ${name}`)),
      this.field,
      h("button", { type: "submit", class: "small" }, "Set"),
      h("button", { type: "button", class: "small quiet", onclick: () => this.stopEditing(name) }, "Cancel"),
      this.error,
    );
  }

  /** Close the price field of a question. The focus goes back to the button that opened it. */
  stopEditing(name) {
    if (this.editing !== name) return;
    const wasHere = this.form.contains(document.activeElement);
    this.editing = null;
    this.update(this.conversation);
    if (!wasHere) return;
    const buttons = [...this.box.querySelectorAll("button.price")];
    buttons.find((button) => button.dataset.key === `price ${name}`)?.focus();
  }

  /** Show a message at the price field, "" none. */
  showError(message) {
    this.error.textContent = withHint(message, this.field.value);
    this.field.setAttribute("aria-invalid", String(Boolean(message)));
    if (message) this.field.focus();
  }
}

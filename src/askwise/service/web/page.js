// The conversation that is shown, its drawing, and what a screen reader is told about it.

import { byId, h } from "./dom.js";
import { labelOf, money, num, rowNoun, sentence } from "./format.js";
import { predictionText } from "./prediction.js";
import { updateStats } from "./stats.js";

export const page = {
  /** @type {import("./conversation.js").Conversation|null} */
  conversation: null,
  /** Set by app.js, which creates them. @type {any} */
  views: {},
  /** The view that asks: a form, or a photo. @type {any} */
  question: null,
};

let slow;
/** Say that a request is under way; the bar appears only if it takes a while. */
export function setBusy(isBusy) {
  byId("page").setAttribute("aria-busy", String(isBusy));
  clearTimeout(slow);
  if (isBusy) slow = setTimeout(() => (byId("progress").hidden = false), 200);
  else byId("progress").hidden = true;
}

/** @returns {boolean} whether another question is shown now */
export function draw() {
  const { conversation, views } = page;
  byId("page").hidden = false;
  page.question = conversation.facts.image ? views.patchQuestion : views.form;
  const moved = page.question.update(conversation);
  for (const view of [views.freeColumns, views.prediction, views.answers, views.ranking, views.rule]) {
    view.update(conversation);
  }
  updateStats(conversation);
  return moved;
}

export function drawTitle(facts) {
  const what = facts.target || facts.name;
  document.title = `${what} · askwise`;
  byId("title").textContent = what;
  byId("model").value = facts.name;
  const rows = facts.card?.rows_trained;
  const learned = rows ? ` · learned from ${num(rows)} ${rowNoun(facts)}` : "";
  const print = facts.fingerprint.slice(0, 12);
  const line = `Model ${facts.name} · method ${facts.method}${learned} · fingerprint ${print}`;
  byId("about").replaceChildren(h("p", {}, line));
}

export const predictionWords = () =>
  `Prediction: ${predictionText(page.conversation.now.prediction, page.conversation.facts.target)}.`;

/** The remarks of the API on values that it did not remark on before. */
export function newRemarks(before) {
  const old = Object.values(before.remarks);
  const added = Object.values(page.conversation.now.remarks).filter((text) => !old.includes(text));
  return added.map((note) => ` ${sentence(note)}`).join("");
}

/** What to do next: the question, or that it is time to stop. */
export function nextWords() {
  const { shown, now, truth, facts } = page.conversation;
  if (shown === null) return `Time to stop. ${sentence(now.why ?? "")}${truth === null ? "" : ` It was: ${truth}.`}`;
  const cost = now.ranking.find((candidate) => candidate.name === shown.name).cost;
  const next = facts.image ? "Look next" : "Next question";
  return `${next}: ${sentence(labelOf(shown))} Price ${money(cost)}.`;
}

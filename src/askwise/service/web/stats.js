// The three figures at the top: what was spent, how many questions, the prediction.

import { byId, h } from "./dom.js";
import { money } from "./format.js";
import { parseRule } from "./stopping_rules.js";
import { predictionText } from "./prediction.js";

export function updateStats(conversation) {
  const { now, state, facts } = conversation;
  const rule = parseRule(state.stop);
  const budget = rule?.kind === "budget" ? rule.value : null;
  const told = state.said.filter((said) => said.values !== null).length;
  const gauge =
    budget !== null && budget > 0
      ? h("meter", { min: 0, max: budget, value: Math.min(now.spent, budget), "aria-label": "Spent of the budget" })
      : null;
  const stat = (name, value, below = "", extra = "") =>
    h(
      "div",
      {},
      h("dt", {}, name),
      h("dd", {}, h("span", { class: "figure" }, value), below && h("span", { class: "below" }, below), extra),
    );
  byId("stats").replaceChildren(
    stat("Spent", money(now.spent), budget === null ? "" : `of ${money(budget)}`, gauge ?? ""),
    stat(
      facts.image ? "Looked at" : "Answered",
      String(told),
      `of ${facts.questions.length} ${facts.image ? "patches" : "questions"}`,
    ),
    stat("Prediction", predictionText(now.prediction, "")),
  );
}

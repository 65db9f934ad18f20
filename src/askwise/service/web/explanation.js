// An explanation of the numbers of the ranking.

import { h } from "./dom.js";

/** An element that explains them, closed at first. */
export function explanation(facts) {
  const lines = wordsFor(facts).map(([word, meaning]) => h("div", {}, h("dt", {}, word), h("dd", {}, meaning)));
  return h(
    "details",
    { class: "explanation" },
    h("summary", { "data-key": "explanation" }, "What do these numbers mean?"),
    h("dl", {}, ...lines),
  );
}

function wordsFor({ task, frontier }) {
  const isClass = task.kind === "classification";
  // Some methods only put questions in order.
  const isOrder = frontier.length > 0 && !frontier.some((record) => typeof record.penalty === "number");
  const price = ["Price", "What an answer costs, in whatever unit the model was trained with. It can be changed here."];
  const score = ["Value", "A score of this method: it puts the questions in order, and has no unit."];
  if (isOrder) return [score, price, ...uncertainty(isClass)];
  const tells = isClass
    ? "How much the answer is expected to tell about what is predicted, in nats: 0 is nothing, 0.69 settles a toss-up."
    : "By how much the answer is expected to lower the squared error of the predicted number.";
  return [
    ["Value", tells],
    price,
    ["Value per cost", "The value divided by the price: the bars. The longest is asked next."],
    ["The line", "The least value per cost for which the stopping rule asks now. Paler bars are below."],
    ...uncertainty(isClass),
  ];
}

const UNCERTAINTY = ["Uncertainty", "How open the prediction still is, in nats: 0 is certain. Most answers lower it."];

const uncertainty = (isClass) => (isClass ? [UNCERTAINTY] : []);

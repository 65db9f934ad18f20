// An explanation of the numbers of the ranking.

import { h } from "./dom.js";
import { money } from "./format.js";

/** An element that explains them, closed at first. rankedBy: as in a reply. */
export function explanation(facts, rankedBy) {
  const words = wordsFor(facts, rankedBy);
  const lines = words.map(([word, meaning]) => h("div", {}, h("dt", {}, word), h("dd", {}, meaning)));
  return h(
    "details",
    { class: "explanation" },
    h("summary", { "data-key": "explanation" }, "What do these numbers mean?"),
    h("dl", {}, ...lines),
  );
}

function wordsFor({ task, shared_prices: shared }, rankedBy) {
  const isClass = task.kind === "classification";
  const price = ["Price", "What an answer costs, in whatever unit the model was trained with. It can be changed here."];
  const score = ["Value", "A score of this method: it puts the questions in order, and has no unit."];
  if (rankedBy === "score") return [score, price, ...shared.map(sharedWords), ...uncertainty(isClass)];
  const tells = isClass
    ? "How much the answer is expected to tell about what is predicted, in nats: 0 is nothing, 0.69 settles a toss-up."
    : "By how much the answer is expected to lower the squared error of the predicted number.";
  return [
    ["Value", tells],
    price,
    ...shared.map(sharedWords),
    ...(rankedBy === "lookahead" ? LOOKING_AHEAD : ONE_QUESTION),
    ...uncertainty(isClass),
  ];
}

const sharedWords = ({ name, price, for: names }) => [
  `Shared price: ${name}`,
  `${money(price)}, paid once, with the first of these that is answered: ${names.join(", ")}. The others then cost less.`,
];

const ONE_QUESTION = [
  ["Information per price", "The value divided by the price: the bars. The longest is asked next."],
  ["The line", "The least information per price for which the stopping rule asks now. Paler bars are below."],
];

const LOOKING_AHEAD = [
  ["Information per price", "The value divided by the price: what this question brings by itself."],
  [
    "The bars",
    "What this question and the questions after it are expected to bring, per price; later ones count less. " +
      "The longest is asked next.",
  ],
  [
    "The line",
    "The stopping rule no longer asks if neither a bar nor its information per price reaches it.",
  ],
];

const UNCERTAINTY = ["Uncertainty", "How open the prediction still is, in nats: 0 is certain. Most answers lower it."];

const uncertainty = (isClass) => (isClass ? [UNCERTAINTY] : []);

// Numbers and names as text.

/** A number with few digits; tiny and huge ones keep their size. */
export function num(x, digits = 3) {
  if (x === null || x === undefined) return "unknown";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-4 || size >= 1e7) return x.toExponential(digits - 1).replace("e+", "e");
  const enough = Math.max(digits, Math.ceil(Math.log10(size)));
  return x.toLocaleString("en", { maximumSignificantDigits: enough, useGrouping: size >= 1e4 });
}

/** A price or a sum of prices. */
export function money(x) {
  const size = Math.abs(x);
  return size < 0.01 ? num(x) : x.toLocaleString("en", { maximumFractionDigits: 2, useGrouping: size >= 1e4 });
}

/** A probability, on one line. */
export function percent(p) {
  if (p > 0.999 && p < 1) return ">\u00a099.9\u00a0%";
  if (p < 0.001 && p > 0) return "<\u00a00.1\u00a0%";
  return `${(100 * p).toFixed(1)}\u00a0%`;
}

/** An answer, as it was given. */
export function answerText(value, unit = "") {
  if (value === null || value === undefined) return "can't be had";
  if (value === true) return "yes";
  if (value === false) return "no";
  const shown = typeof value === "number" ? everyDigit(value) : String(value);
  return unit ? `${shown} ${unit}` : shown;
}

/** A number with all its digits, and commas where others have them. */
function everyDigit(x) {
  const [whole, ...rest] = String(x).split(".");
  return Math.abs(x) < 1e4 || /e/.test(whole) ? String(x) : [BigInt(whole).toLocaleString("en"), ...rest].join(".");
}

/** The range of an input in training, "" if there is none. */
export const trainingRange = ({ low, high }) =>
  typeof low === "number" && typeof high === "number" ? `${num(low, 4)} to ${num(high, 4)}` : "";

/** Whether a value is outside the range of training. */
export const isOutside = (facts, value) =>
  trainingRange(facts) !== "" && typeof value === "number" && (value < facts.low || value > facts.high);

/** Whether a number is beyond the limits that were given; the API refuses it. */
export const isRefused = ({ min, max }, value) =>
  (typeof min === "number" && value < min) || (typeof max === "number" && value > max);

/** The limits of an input, "" if there are none. */
export function limitsText({ min, max }) {
  if (typeof min !== "number" && typeof max !== "number") return "";
  if (typeof max !== "number") return `At least ${answerText(min)}`;
  return typeof min === "number" ? `From ${answerText(min)} to ${answerText(max)}` : `At most ${answerText(max)}`;
}

/** The word of an answer that is offered, undefined if it is not. */
export const wordOf = (facts, value) => facts.offered?.find((one) => one.value === value)?.text;

/** An answer to an input, as a person says it. */
export const saidText = (facts, value) => answerText(wordOf(facts, value) ?? value, facts.unit);

/** The text of a question or an input, else its name. */
export const labelOf = (facts) => facts.text || facts.name;

export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** What the rows of a model are called. */
export const rowNoun = (facts) => (facts.image ? "images" : "rows");

export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

/** An error about a typed number, with a hint if a comma is the reason. */
export const withHint = (message, typed) =>
  message && /\d,\d/.test(typed) ? `${message}; write it with a point and no commas, as 1234.5` : message;

/** A typed text as a number if it is one; otherwise the text, which the API then judges. */
export function typedNumber(text) {
  const plain = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  return Number.isFinite(plain) ? plain : text;
}

/** What of a candidate's price is shared with other questions and not paid yet. */
export const sharedPart = ({ cost, own_cost: own }) => (cost > own ? cost - own : 0);

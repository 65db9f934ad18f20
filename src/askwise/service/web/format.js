// Numbers and names as people read them.

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

/** A probability. */
export function percent(p) {
  if (p > 0.999 && p < 1) return "> 99.9 %";
  if (p < 0.001 && p > 0) return "< 0.1 %";
  return `${(100 * p).toFixed(1)} %`;
}

/** An answer, as it was given. */
export function answerText(value, unit = "") {
  if (value === null || value === undefined) return "can't be had";
  if (value === true) return "yes";
  if (value === false) return "no";
  return unit ? `${value} ${unit}` : String(value);
}

/** The text of a question or an input, or else its name. */
export const textOf = (facts) => facts.text || facts.name;

export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

/** What was typed, as JSON has it: a number where it is one, otherwise the text, which the API then judges. */
export function typedNumber(text) {
  const plain = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  return Number.isFinite(plain) ? plain : text;
}

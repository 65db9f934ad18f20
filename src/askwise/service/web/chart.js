// A step chart of the prediction, question by question. Lines differ in colour, dashes and markers.

import { h, s } from "./dom.js";
import { num, shortened } from "./format.js";

const HEIGHT = 170;
const NARROWEST_STEP = 26;
const TOP = 14;
const TILT = 38;
const MARKS = [
  "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
  "M-4,-4h8v8h-8z",
  "M0,-5L5,4H-5z",
  "M0,-5L5,0L0,5L-5,0z",
  "M-5,-4H5L0,5z",
];

/**
 * @param {{name: string, values: number[]}[]} lines at most five
 * @param {string[]} steps what was asked before each value, the start first
 * @param {{low: number, high: number, format: (x: number) => string}} axis
 * @param {number} width of the place for it, in pixels
 */
export function stepChart(lines, steps, axis, width) {
  const names = lines.map((line) => shortened(line.name, 16));
  const below = steps.map((name) => shortened(name, 16));
  const ticks = [axis.low, (axis.low + axis.high) / 2, axis.high].map(axis.format);
  const tilted = textWidths(below, "tick");
  const right = 16 + Math.max(...textWidths(names, "name"));
  const bottom = 24 + Math.sin((TILT * Math.PI) / 180) * Math.max(...tilted);
  const beside = Math.max(48, 14 + Math.max(...textWidths(ticks, "tick")));
  const step = Math.max(NARROWEST_STEP, (width - beside - right) / steps.length);
  // The labels below lean to the left: long ones at the start need room there.
  const leans = tilted.map((wide, i) => Math.cos((TILT * Math.PI) / 180) * wide + 4 - step * (i + 0.5));
  const left = Math.max(beside, ...leans);
  const inner = step * steps.length;
  const x = (i) => left + step * i;
  const middle = (i) => x(i + 0.5);
  const y = (value) => TOP + HEIGHT * (1 - (value - axis.low) / (axis.high - axis.low || 1));
  const sheet = (className, wide, high) =>
    s("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, "aria-hidden": "true", class: className });
  const drawing = sheet("chart", left + inner + right, TOP + HEIGHT + bottom);
  // The axis is a drawing of its own, so that it stays in sight while the rest scrolls.
  const side = sheet("chart side", beside, TOP + HEIGHT + 8);
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const value = axis.low + part * (axis.high - axis.low);
    drawing.append(s("line", { class: "grid", x1: beside, x2: left + inner, y1: y(value), y2: y(value) }));
    const place = { class: "tick", x: beside - 7, y: y(value) + 4, "text-anchor": "end" };
    if (part % 0.5 === 0) side.append(s("text", place, axis.format(value)));
  }
  for (const [i, name] of steps.entries()) {
    const place = `translate(${middle(i) + 3},${TOP + HEIGHT + 14}) rotate(-${TILT})`;
    const label = s("text", { class: "tick", transform: place, "text-anchor": "end" }, below[i]);
    label.append(s("title", {}, name));
    drawing.append(label);
  }
  for (const [i, line] of lines.entries()) {
    const path = line.values.map((value, k) => `${k === 0 ? `M${x(0)},` : "V"}${y(value)}H${x(k + 1)}`).join("");
    const group = s("g", { class: `series series-${i}` }, s("path", { class: "stroke", d: path }));
    for (const [k, value] of line.values.entries()) {
      group.append(s("path", { class: "mark", d: MARKS[i], transform: `translate(${middle(k)},${y(value)})` }));
    }
    drawing.append(group);
  }
  const places = separate(lines.map((line) => y(line.values[line.values.length - 1])), 16, TOP, TOP + HEIGHT);
  const end = x(steps.length) + 8;
  for (const [i, name] of names.entries()) {
    drawing.append(s("text", { class: `name series-${i}`, x: end, y: places[i] + 4 }, name));
  }
  return h("div", { class: "chart-sheets" }, drawing, side);
}

/** The widths of texts of a CSS class, in pixels. */
function textWidths(texts, className) {
  const drawn = texts.map((text) => s("text", { class: className }, text));
  const drawing = s("svg", { class: "chart", width: 0, height: 0 }, ...drawn);
  document.body.append(drawing);
  const found = drawn.map((text) => text.getComputedTextLength());
  drawing.remove();
  return found;
}

/** Heights of labels, near the wanted ones and at least `gap` from each other. */
function separate(wanted, gap, low, high) {
  const order = [...wanted.keys()].sort((a, b) => wanted[a] - wanted[b]);
  const places = [...wanted];
  for (const [k, i] of order.entries()) if (k) places[i] = Math.max(places[i], places[order[k - 1]] + gap);
  const over = Math.max(0, places[order[order.length - 1]] - high);
  for (const i of order) places[i] = Math.max(low, places[i] - over);
  for (const [k, i] of order.entries()) if (k) places[i] = Math.max(places[i], places[order[k - 1]] + gap);
  return places;
}

/** The range of an axis for numbers that may be anything. */
export function rangeOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low) * 0.15 || Math.abs(high) * 0.1 || 1;
  return { low: low - room, high: high + room, format: (x) => num(x) };
}

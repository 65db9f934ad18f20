// The photo as a grid of patches, and beside it a map of the value of each open patch.

import { h, newId } from "./dom.js";
import { num, plural } from "./format.js";
import { placeOf } from "./photo.js";

/** A smaller share that is cut off is not mentioned. */
const MIN_CUT = 0.005;

/** Keys that move through the patches: how many rows down, how many columns on. */
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** The ends of one colour scale for all steps so far, so that a colour means the same value at each of them. */
function scaleOf(replies) {
  const ends = replies.map(({ ranking }) => {
    const values = ranking.map((candidate) => candidate.value_per_cost);
    return [Math.min(...values), Math.max(...values)];
  });
  const low = Math.min(0, ...ends.map(([least]) => least));
  const high = Math.max(0, ...ends.map(([, most]) => most));
  // If the values of the highest map are much alike, it would be dark all over.
  const isEven = ends.some(([least, most]) => most === high && high <= 2 * least);
  return [low, isEven ? 2 * high : high];
}

export class PatchGridView {
  /**
   * @param {any} facts all about the model
   * @param {(name: string) => void} pick what a patch that is clicked does
   */
  constructor(facts, pick) {
    this.facts = facts;
    this.pick = pick;
    /** The position of the keyboard. */
    this.at = 0;
    /** Counts the drawings, so that a picture which loads late is not drawn over a later one. */
    this.drawings = 0;
    this.element = h("div", { class: "pictures" }, this.photoFigure(), this.mapFigure());
  }

  photoFigure() {
    const { height, width, rows, columns } = this.facts.image;
    const id = newId();
    this.canvas = h("canvas", { width, height, class: Math.max(width, height) < 128 ? "coarse" : null });
    this.cells = this.facts.questions.map(({ name }, i) => {
      const cell = h("div", { role: "gridcell", id: `${id}-${i}`, class: "cell" });
      cell.dataset.name = name;
      return cell;
    });
    const lines = Array.from({ length: rows }, (_, row) =>
      h("div", { role: "row" }, ...this.cells.slice(row * columns, (row + 1) * columns)),
    );
    this.grid = h(
      "div",
      {
        class: "cells",
        role: "grid",
        tabindex: "0",
        "aria-label": "Patches of the photo",
        "aria-describedby": `${id}-how ${id}-outside`,
        onkeydown: (event) => this.move(event),
        onclick: (event) => this.click(event),
      },
      ...lines,
    );
    this.caption = h("figcaption", {});
    this.outside = h("p", { class: "hint", id: `${id}-outside` });
    const shape = { "aspect-ratio": `${width} / ${height}`, "--columns": columns, "--rows": rows };
    return h(
      "figure",
      {},
      this.caption,
      h("div", { class: "frame photo", style: shape }, this.canvas, this.grid),
      this.outside,
      h("p", { class: "hidden", id: `${id}-how` }, "Arrow keys move through the patches; Enter takes one."),
    );
  }

  /** Hidden from screen readers: the patches of the photo have the same numbers in their labels. */
  mapFigure() {
    const { height, width, rows, columns } = this.facts.image;
    this.spots = this.facts.questions.map(({ name }) => {
      const spot = h("div", { class: "spot" });
      spot.dataset.name = name;
      return spot;
    });
    this.ticks = [h("span", {}), h("span", {}), h("span", {})];
    this.ramp = h("div", { class: "ramp" });
    this.below = h("p", { class: "hint" });
    const shape = { "aspect-ratio": `${width} / ${height}`, "--columns": columns, "--rows": rows };
    return h(
      "figure",
      {},
      h("figcaption", {}, "Value per cost of each open patch"),
      h(
        "div",
        { class: "frame map", style: shape, "aria-hidden": "true", onclick: (event) => this.click(event) },
        ...this.spots,
      ),
      h("div", { class: "scale", "aria-hidden": "true" }, this.ramp, ...this.ticks),
      this.below,
    );
  }

  update(conversation) {
    const { now, state, photo, shown, replies } = conversation;
    const worth = new Map(now.ranking.map((candidate) => [candidate.name, candidate.value_per_cost]));
    const order = new Map(state.said.filter(({ values }) => values !== null).map(({ name }, k) => [name, k + 1]));
    const values = [...worth.values()];
    const penalty = typeof now.penalty === "number" ? now.penalty : null;
    const [low, high] = scaleOf(replies);
    // The square root: values fall fast after the first answers, and on a linear scale all later maps would be pale.
    const along = (x) => (high > low ? Math.sqrt(Math.max(0, Math.min(1, (x - low) / (high - low)))) : 0);
    for (const [i, { name }] of this.facts.questions.entries()) {
      const [row, column] = placeOf(name);
      const value = worth.get(name);
      const number = order.get(name);
      const look = value !== undefined ? "open" : number === undefined ? "gone" : "seen";
      const next = shown?.name === name ? " next" : "";
      const words = { open: `open, value ${num(value ?? 0)}`, gone: "can't be had", seen: `looked at, ${number}` };
      const cell = this.cells[i];
      cell.className = `cell ${look}${next}`;
      cell.replaceChildren(...(number === undefined ? [] : [h("span", { class: "order" }, String(number))]));
      cell.setAttribute("aria-label", `row ${row + 1}, column ${column + 1}, ${words[look]}${next && ", the next"}`);
      const spot = this.spots[i];
      spot.className = `spot ${look}${next}`;
      spot.style.setProperty("--heat", value === undefined ? 0 : along(value).toFixed(3));
      spot.title = value === undefined ? "" : `${name}: ${num(value)}`;
    }
    this.caption.textContent = photo ? photo.name : order.size ? "What was looked at" : "No photo yet";
    this.element.classList.toggle("without", !photo);
    this.outside.textContent = photo?.outside >= MIN_CUT ? this.cutWords(photo.outside) : "";
    for (const [k, tick] of this.ticks.entries()) tick.textContent = num(low + (high - low) * (k / 2) ** 2);
    const isOnRamp = penalty !== null && penalty < high;
    this.ramp.replaceChildren(isOnRamp ? h("div", { class: "line", style: { left: `${100 * along(penalty)}%` } }) : "");
    this.below.textContent = penalty === null ? "" : this.worthIt(values, penalty, isOnRamp);
    if (!this.isAt) this.at = Math.max(0, this.facts.questions.findIndex(({ name }) => name === shown?.name));
    this.mark();
    this.paint(conversation);
  }

  cutWords(outside) {
    const { height, width } = this.facts.image;
    return `${Math.round(100 * outside)}\u00a0% of the photo lies outside: it is cut to ${width} x ${height} pixels`;
  }

  worthIt(values, penalty, isOnRamp) {
    const n = values.filter((value) => value >= penalty).length;
    const where = isOnRamp ? " (the line)" : "";
    return `${plural(n, "open patch is", "open patches are")} worth a look: ${num(penalty)} or more${where}`;
  }

  /** Draw the photo; without one, the patches that are known. */
  async paint({ photo, state }) {
    const mine = ++this.drawings;
    const { patch } = this.facts.image;
    const pen = this.canvas.getContext("2d");
    if (photo) {
      pen.drawImage(photo.canvas, 0, 0);
      return;
    }
    const known = state.said.filter(({ values }) => values !== null);
    const pictures = known.map(({ name, values }) => Object.assign(new Image(), { src: values[name] }));
    await Promise.allSettled(pictures.map((picture) => picture.decode()));
    if (mine !== this.drawings) return;
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (const [k, { name }] of known.entries()) {
      const [row, column] = placeOf(name);
      if (pictures[k].naturalWidth) pen.drawImage(pictures[k], column * patch, row * patch, patch, patch);
    }
  }

  get isAt() {
    return document.activeElement === this.grid;
  }

  mark() {
    for (const [i, cell] of this.cells.entries()) cell.classList.toggle("here", i === this.at);
    this.grid.setAttribute("aria-activedescendant", this.cells[this.at].id);
  }

  move(event) {
    const { rows, columns } = this.facts.image;
    const [row, column] = [Math.floor(this.at / columns), this.at % columns];
    if (event.key === "Enter" || event.key === " ") this.take(this.cells[this.at]);
    else if (event.key === "Home") this.at = row * columns;
    else if (event.key === "End") this.at = row * columns + columns - 1;
    else if (Object.hasOwn(MOVES, event.key)) {
      const [down, on] = MOVES[event.key];
      const held = (x, most) => Math.max(0, Math.min(most - 1, x));
      this.at = held(row + down, rows) * columns + held(column + on, columns);
    } else return;
    event.preventDefault();
    this.mark();
  }

  click(event) {
    const cell = event.target.closest("[data-name]");
    if (!cell) return;
    this.at = this.facts.questions.findIndex(({ name }) => name === cell.dataset.name);
    this.mark();
    this.take(cell);
  }

  take(cell) {
    if (cell.classList.contains("open")) this.pick(cell.dataset.name);
  }
}

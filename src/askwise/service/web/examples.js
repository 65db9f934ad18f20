// Example photos that the server offers for an image model, as a strip of small pictures.

import { listExamples } from "./api.js";
import { h, newId } from "./dom.js";
import { dataUrlFile } from "./photo.js";

/**
 * A photo that is offered: the name of its file, its data URL, and what it is, where that is known.
 * @typedef {{name: string, image: string, label: string|null}} Example
 */

/** Photos with fewer pixels than this are drawn without smoothing. */
const SMALL = 48;

/** Examples by model. They are long, and stay the same while the server runs. */
const cache = new Map();

/** @returns {Promise<Example[]>} none where the model is of tables */
export async function loadExamples({ name, fingerprint, image }) {
  if (image === null) return [];
  const key = `${fingerprint} ${name}`;
  if (!cache.has(key)) cache.set(key, await listExamples(name));
  return cache.get(key);
}

/** An example as a file. It is named by its number, since its own name may tell its label. */
export const exampleFile = ({ image }, k) => dataUrlFile(image, `Example ${k + 1}`);

export class ExamplesView {
  /**
   * @param {any} facts all about the model
   * @param {(example: Example) => void} take
   */
  constructor({ examples, image }, take) {
    const id = newId();
    const look = Math.max(image.width, image.height) < SMALL ? "coarse" : null;
    const shape = { "aspect-ratio": `${image.width} / ${image.height}` };
    this.examples = examples;
    this.buttons = examples.map((example, k) =>
      h(
        "button",
        { type: "button", class: "example", style: shape, onclick: () => take(example) },
        h("img", { src: example.image, class: look, alt: `Example ${k + 1}` }),
      ),
    );
    this.element = h(
      "div",
      { class: "examples", role: "group", "aria-labelledby": id, hidden: examples.length === 0 },
      h("p", { class: "hint", id }, "Or take an example"),
      h("div", { class: "strip" }, ...this.buttons),
    );
  }

  /** Mark the one whose photo is shown. */
  update({ photo, example }) {
    for (const [k, button] of this.buttons.entries()) {
      button.setAttribute("aria-pressed", String(Boolean(photo) && this.examples[k] === example));
    }
  }
}

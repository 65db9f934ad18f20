// Creating elements from tags, properties and children. Data only ever becomes text.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Create an element. `on...` properties are listeners, `style` is an object, true and false set or omit an attribute.
 * @param {string} tag
 * @param {Object<string, any>} [properties]
 * @param {...(Node|string|number|null|undefined|false)} children
 */
export function h(tag, properties = {}, ...children) {
  return fillElement(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function s(tag, properties = {}, ...children) {
  return fillElement(document.createElementNS(SVG, tag), properties, children);
}

function fillElement(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, given] of Object.entries(value)) element.style.setProperty(key, given);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** @returns {any} the element of the page with this id */
export const byId = (id) => document.getElementById(id);

/** Replace the children of a container. The focus stays if an element with the same `data-key` is there again. */
export function replaceContent(container, ...children) {
  const active = document.activeElement;
  const key = container.contains(active) ? active.dataset.key : undefined;
  container.replaceChildren(...children.filter(Boolean));
  if (key === undefined) return;
  for (const element of container.querySelectorAll("[data-key]")) if (element.dataset.key === key) element.focus();
}

let ids = 0;
/** An id that no other element has. */
export const newId = () => `id-${++ids}`;

let pressed = false;
addEventListener("pointerdown", () => (pressed = true), true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (pressed = false), true);

/** Wait while a button is being pressed: if it were replaced before it is released, the click would be lost. */
export async function pressEnds() {
  while (pressed) await new Promise((resolve) => setTimeout(resolve, 10));
}

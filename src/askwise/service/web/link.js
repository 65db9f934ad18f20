// The state of a conversation as a link: base64url of JSON behind the #, which browsers never send.

/**
 * An answer to a question: values by column, null for one that can't be had; no values if it was declined.
 * @typedef {{name: string, values: Object<string, any>|null, at: string}} Said
 * @typedef {{model: string, fingerprint: string, said: Said[], known: Object<string, any>, stop: string|null,
 *   costs: Object<string, number>, stopBefore?: string|null, example?: string}} Case stopBefore: the rule that held
 *   until prices were changed, where it can't hold under others; example: the name of the photo, where it is one that
 *   the server offers
 */

const VERSION = 1;
/** Longer addresses are cut off by some programs. */
const MAX_LINK = 30000;

/** @param {Case} state */
export function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify({ v: VERSION, ...state }));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

const isPicture = (value) => typeof value === "string" && value.startsWith("data:image/");
const hasPicture = (values) => values !== null && Object.values(values).some(isPicture);

/** Whether a state fits into a link: many patches would be too long. */
export function fitsInLink(state) {
  const hasPictures = hasPicture(state.known) || state.said.some(({ values }) => hasPicture(values));
  return !hasPictures || encode(state).length <= MAX_LINK;
}

/** The state for the address: if it does not fit, a new case under the same rule and prices. */
const stateForLink = (state) => (fitsInLink(state) ? state : { ...state, said: [], known: {} });

/**
 * The state in a hash, null where there is none.
 * @returns {Case|null}
 */
export function decode(hash) {
  const text = hash.replace(/^#/, "");
  // An anchor of the page is no state.
  if (text === "" || (document.getElementById(text) && text.length < 20)) return null;
  let state;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("it was cut off or changed on its way");
  }
  if (!isObject(state) || state.v !== VERSION) throw new Error("it was made by another version of this page");
  const { v: _, ...rest } = state;
  if (!isCase(rest)) throw new Error("parts of it are missing");
  return rest;
}

const isObject = (x) => typeof x === "object" && x !== null && !Array.isArray(x);
const isString = (x) => typeof x === "string";

const isAnswer = (x) => isObject(x) && isString(x.name) && isString(x.at) && (x.values === null || isObject(x.values));

function isCase(state) {
  return (
    isString(state.model) &&
    isString(state.fingerprint) &&
    Array.isArray(state.said) &&
    state.said.every(isAnswer) &&
    isObject(state.known) &&
    (state.stop === null || isString(state.stop)) &&
    (state.stopBefore === undefined || state.stopBefore === null || isString(state.stopBefore)) &&
    (state.example === undefined || isString(state.example)) &&
    isObject(state.costs) &&
    Object.values(state.costs).every((price) => typeof price === "number")
  );
}

/** Put a state into the address. With `push`, the browser's history keeps the one before. */
export function writeLink(state, push = false) {
  try {
    history[push ? "pushState" : "replaceState"](null, "", `#${encode(stateForLink(state))}`);
  } catch {
    // Some browsers allow only so many changes in a while. The next change catches up.
  }
}

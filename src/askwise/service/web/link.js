// The whole state of a conversation in the part of the address that browsers never send: base64url of JSON.

/**
 * Something that was said about a question: values by column, null where one can't be had; none where it was declined.
 * @typedef {{name: string, values: Object<string, any>|null, at: string}} Said
 * @typedef {{model: string, fingerprint: string, said: Said[], known: Object<string, any>, stop: string|null,
 *   costs: Object<string, number>, stopBefore?: string|null, example?: string}} Case stopBefore: the rule that held
 *   until prices were changed, where it can't hold under others; example: the name of the photo, where it is one that
 *   the server offers
 */

const VERSION = 1;
/** Longer addresses are cut off by what they are sent with. */
const LONGEST = 30000;

/** @param {Case} state */
export function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify({ v: VERSION, ...state }));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

const isPicture = (value) => typeof value === "string" && value.startsWith("data:image/");
const hasPicture = (values) => values !== null && Object.values(values).some(isPicture);

/** Whether the link to a state holds all of it: that of many patches would be too long. */
export function isWhole(state) {
  const hasPictures = hasPicture(state.known) || state.said.some(({ values }) => hasPicture(values));
  return !hasPictures || encode(state).length <= LONGEST;
}

/** A state as the address has it: where it would be too long, a new case under the same rule and prices. */
const forAddress = (state) => (isWhole(state) ? state : { ...state, said: [], known: {} });

/**
 * The state in a hash, null where there is none.
 * @returns {Case|null}
 */
export function decode(hash) {
  const text = hash.replace(/^#/, "");
  // An anchor of the page itself is no state.
  if (text === "" || (document.getElementById(text) && text.length < 20)) return null;
  let state;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("it was cut off or changed on its way");
  }
  if (!isMapping(state) || state.v !== VERSION) throw new Error("it was made by another version of this page");
  const { v: _, ...rest } = state;
  if (!isCase(rest)) throw new Error("parts of it are missing");
  return rest;
}

const isMapping = (x) => typeof x === "object" && x !== null && !Array.isArray(x);
const isText = (x) => typeof x === "string";

const isSaid = (x) => isMapping(x) && isText(x.name) && isText(x.at) && (x.values === null || isMapping(x.values));

function isCase(state) {
  return (
    isText(state.model) &&
    isText(state.fingerprint) &&
    Array.isArray(state.said) &&
    state.said.every(isSaid) &&
    isMapping(state.known) &&
    (state.stop === null || isText(state.stop)) &&
    (state.stopBefore === undefined || state.stopBefore === null || isText(state.stopBefore)) &&
    (state.example === undefined || isText(state.example)) &&
    isMapping(state.costs) &&
    Object.values(state.costs).every((price) => typeof price === "number")
  );
}

/** Put a state into the address; `push` leaves the one before it a step back in the browser's history. */
export function write(state, push = false) {
  try {
    history[push ? "pushState" : "replaceState"](null, "", `#${encode(forAddress(state))}`);
  } catch {
    // Some browsers allow only so many changes in a while; the next one catches up.
  }
}

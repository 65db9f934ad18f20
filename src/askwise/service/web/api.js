// Requests to the API, and what may go wrong with them.

const KEY = "askwise-token";
const PATIENCE = 30000;
/** What goes in one request: rows, and characters of them, well below what a server takes. */
const MOST_ROWS = 50;
const MOST_TEXT = 500000;
let token = remembered();

/** Refused by the API: `message` says what was given, what is allowed and what to do. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The server did not answer. */
export class Unreachable extends Error {}

function remembered() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Use this token from now on, until the tab is closed. */
export function useToken(given) {
  token = given;
  try {
    sessionStorage.setItem(KEY, given);
  } catch {
    // Without storage it holds until the page is loaded again.
  }
}

export const hasToken = () => token !== null;

async function send(path, body, signal) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const patience = AbortSignal.timeout(PATIENCE);
  const options = {
    method: body ? "POST" : "GET",
    headers,
    body: body && JSON.stringify(body),
    signal: signal && AbortSignal.any ? AbortSignal.any([signal, patience]) : (signal ?? patience),
    cache: "no-store",
    credentials: "same-origin",
  };
  let response, facts;
  try {
    response = await fetch(path, options);
    facts = await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable(
      response && !response.ok
        ? `the server answered ${response.status}, without saying why`
        : "the server can't be reached; nothing that you entered is lost",
    );
  }
  if (response.ok) return facts;
  const { message = `the server refused (${response.status})`, where = null } = facts?.error ?? {};
  // The place in the request says nothing to people.
  const prefix = where ? `${where} ` : "";
  throw new Refused(response.status, message.startsWith(prefix) ? message.slice(prefix.length) : message);
}

const at = (model) => `v1/models/${encodeURIComponent(model)}`;

export const listModels = async () => (await send("v1/models")).models;

export const readModel = (model) => send(at(model));

/** Photos to try a model of images with. */
export const listExamples = async (model) => (await send(`${at(model)}/examples`)).examples;

/** The sketch of a whole image, both as data URLs. */
export const sketchOf = async (model, image) => (await send(`${at(model)}/sketch`, { image })).sketch;

/** Rows in parts, each as long as one request may be. */
function inParts(rows) {
  const parts = [];
  let size = Infinity;
  for (const row of rows) {
    const more = JSON.stringify(row).length;
    const isFull = size + more > MOST_TEXT || parts[parts.length - 1].length === MOST_ROWS;
    if (isFull) parts.push([]);
    size = isFull ? more : size + more;
    parts[parts.length - 1].push(row);
  }
  return parts;
}

/** One reply for each of the rows, all under the same terms. */
export async function ask(model, rows, terms, signal) {
  const one = (row) => send(`${at(model)}/next`, { ...row, ...terms }, signal);
  const replies = [];
  for (const some of inParts(rows)) {
    if (some.length === 1) {
      replies.push(await one(some[0]));
      continue;
    }
    try {
      replies.push(...(await send(`${at(model)}/batch`, { rows: some, ...terms }, signal)).rows);
    } catch (error) {
      if (!(error instanceof Refused) || ![413, 422].includes(error.status)) throw error;
      // One by one: a server may take fewer rows, and a refusal is then about one row.
      for (const row of some) replies.push(await one(row));
    }
  }
  return replies;
}

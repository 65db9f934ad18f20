// Requests to the API, and their errors.

const KEY = "askwise-token";
const TIMEOUT = 30000;
/** The most rows, and characters of rows, in one request: well below the limits of a server. */
const MAX_ROWS = 50;
const MAX_TEXT = 500000;
let token = storedToken();

/** The API refused a request: `message` says what was given, what is allowed and what to do. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The server did not answer. */
export class NetworkError extends Error {}

function storedToken() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Use this token from now on, until the tab is closed. */
export function setToken(given) {
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
  const timeout = AbortSignal.timeout(TIMEOUT);
  const options = {
    method: body ? "POST" : "GET",
    headers,
    body: body && JSON.stringify(body),
    signal: signal && AbortSignal.any ? AbortSignal.any([signal, timeout]) : (signal ?? timeout),
    cache: "no-store",
    credentials: "same-origin",
  };
  let response, facts;
  try {
    response = await fetch(path, options);
    facts = await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new NetworkError(
      response && !response.ok
        ? `the server answered ${response.status}, without saying why`
        : "the server can't be reached; nothing that you entered is lost",
    );
  }
  if (response.ok) return facts;
  const { message = `the server refused (${response.status})`, where = null } = facts?.error ?? {};
  // The place in the request means nothing to people.
  const prefix = where ? `${where} ` : "";
  throw new ApiError(response.status, message.startsWith(prefix) ? message.slice(prefix.length) : message);
}

const modelPath = (model) => `v1/models/${encodeURIComponent(model)}`;

export const listModels = async () => (await send("v1/models")).models;

export const readModel = (model) => send(modelPath(model));

/** Photos to try a model of images with. */
export const listExamples = async (model) => (await send(`${modelPath(model)}/examples`)).examples;

/** The sketch of a whole image, both as data URLs. */
export const requestSketch = async (model, image) => (await send(`${modelPath(model)}/sketch`, { image })).sketch;

/** Split rows into parts, each of which fits into one request. */
function splitRows(rows) {
  const parts = [];
  let size = Infinity;
  for (const row of rows) {
    const more = JSON.stringify(row).length;
    const isFull = size + more > MAX_TEXT || parts[parts.length - 1].length === MAX_ROWS;
    if (isFull) parts.push([]);
    size = isFull ? more : size + more;
    parts[parts.length - 1].push(row);
  }
  return parts;
}

/** One reply for each of the rows, all under the same terms. */
export async function askNext(model, rows, terms, signal) {
  const one = (row) => send(`${modelPath(model)}/next`, { ...row, ...terms }, signal);
  const replies = [];
  for (const some of splitRows(rows)) {
    if (some.length === 1) {
      replies.push(await one(some[0]));
      continue;
    }
    try {
      replies.push(...(await send(`${modelPath(model)}/batch`, { rows: some, ...terms }, signal)).rows);
    } catch (error) {
      if (!(error instanceof ApiError) || ![413, 422].includes(error.status)) throw error;
      // One by one: a server may take fewer rows, and a refusal is then about one row.
      for (const row of some) replies.push(await one(row));
    }
  }
  return replies;
}

// The record of a conversation: the replies of the API at each step, named as in the server's own records.

/** The answer of each step, the estimates before it and the prediction after it. */
export function steps(conversation) {
  const { state, replies } = conversation;
  return state.said.map(({ name, values, at }, k) => {
    const before = replies[k];
    const after = replies[k + 1];
    const estimate = before.ranking.find((candidate) => candidate.name === name) ?? null;
    return {
      seq: k + 1,
      at,
      kind: values === null ? "declined" : "told",
      name,
      suggested: before.question?.name ?? null,
      answers: values,
      value: estimate?.value ?? null,
      cost: estimate?.cost ?? null,
      value_per_cost: estimate?.value_per_cost ?? null,
      lookahead_per_cost: estimate?.lookahead_per_cost ?? null,
      ranking: before.ranking,
      prediction: after.prediction,
      entropy: after.entropy,
      spent: after.spent,
      stopped: after.stopped,
      reason: after.reason,
    };
  });
}

/** The free columns, then each step. Free columns count from the start, whenever they were given. */
function events(conversation) {
  const { state, replies } = conversation;
  const { prediction, entropy, spent, stopped, reason } = replies[0];
  const known = Object.entries(state.known).map(([name, value]) => ({
    at: null,
    kind: "known",
    name,
    answers: Object.fromEntries([[name, value]]),
    prediction,
    entropy,
    spent,
    stopped,
    reason,
  }));
  return [...known, ...steps(conversation)].map((event, k) => ({ ...event, seq: k + 1 }));
}

function recordJson(conversation) {
  const { state, facts, replies, now } = conversation;
  const { prediction, entropy, spent, stopped, reason, why } = now;
  const record = {
    note: "computed from all that is known now: the free columns, rule and prices of the end count from the start",
    model: facts.name,
    fingerprint: facts.fingerprint,
    target: facts.target,
    example: state.example,
    stop: state.stop,
    costs: state.costs,
    start: { prediction: replies[0].prediction, entropy: replies[0].entropy },
    steps: events(conversation),
    end: { prediction, entropy, spent, stopped, reason, why },
    written: new Date().toISOString(),
  };
  return JSON.stringify(record, null, 2);
}

/** The columns of the server's records, in the same order, then those of the page. */
const SERVER_COLUMNS = "seq at kind name answers value cost value_per_cost spent reason prediction proba fingerprint";
const COLUMNS = [...SERVER_COLUMNS.split(" "), "entropy", "model", "stop", "costs"];

/** One line per step. Objects are JSON within their cell; rankings are left out. */
function recordCsv(conversation) {
  const { facts, state } = conversation;
  const { stop, costs, example } = state;
  const about = { model: facts.name, fingerprint: facts.fingerprint, stop, costs, example };
  const columns = example === undefined ? COLUMNS : [...COLUMNS, "example"];
  const lines = events(conversation).map((step) => {
    const cells = { ...step, ...about, prediction: step.prediction.value, proba: step.prediction.proba };
    return columns.map((name) => cells[name]);
  });
  return [columns, ...lines].map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function csvCell(cell) {
  if (cell === null || cell === undefined) return "";
  let text = typeof cell === "object" ? JSON.stringify(cell) : String(cell);
  // A spreadsheet would read such a text as a formula.
  if (typeof cell === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const FORMATS = { json: ["application/json", recordJson], csv: ["text/csv;charset=utf-8", recordCsv] };

/** Save the record as a file, json or csv. */
export function saveRecord(conversation, format) {
  const [type, write] = FORMATS[format];
  const model = conversation.facts.name.replace(/[^\w.-]+/g, "_");
  download(`askwise-${model}-${new Date().toISOString().slice(0, 10)}.${format}`, type, write(conversation));
}

/** Have the browser save a text as a file. */
function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

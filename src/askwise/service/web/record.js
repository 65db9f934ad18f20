// The record of a conversation, made from what the API replied at each step, in the words of the server's own records.

/** What was said at each step, with the estimates before it and the prediction after it. */
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
      ranking: before.ranking,
      prediction: after.prediction,
      entropy: after.entropy,
      spent: after.spent,
      stopped: after.stopped,
      reason: after.reason,
    };
  });
}

/** What was known from the start, then each step: what was known counts from the start, whenever it was given. */
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

const COLUMNS = [
  "seq",
  "at",
  "kind",
  "name",
  "answers",
  "value",
  "cost",
  "value_per_cost",
  "spent",
  "reason",
  "prediction",
  "proba",
  "fingerprint",
  "entropy",
  "model",
  "stop",
  "costs",
];

/** A line a step; what has several parts is JSON within its cell, and the rankings are left out. */
function recordCsv(conversation) {
  const { facts, state } = conversation;
  const { stop, costs, example } = state;
  const about = { model: facts.name, fingerprint: facts.fingerprint, stop, costs, example };
  const columns = example === undefined ? COLUMNS : [...COLUMNS, "example"];
  const lines = events(conversation).map((step) => {
    const cells = { ...step, ...about, prediction: step.prediction.value, proba: step.prediction.proba };
    return columns.map((name) => cells[name]);
  });
  return [columns, ...lines].map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function quoted(cell) {
  if (cell === null || cell === undefined) return "";
  let text = typeof cell === "object" ? JSON.stringify(cell) : String(cell);
  // A spreadsheet would take such a text for a formula.
  if (typeof cell === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const FORMS = { json: ["application/json", recordJson], csv: ["text/csv;charset=utf-8", recordCsv] };

/** Save the record as a file, json or csv. */
export function keep(conversation, ending) {
  const [type, made] = FORMS[ending];
  const model = conversation.facts.name.replace(/[^\w.-]+/g, "_");
  save(`askwise-${model}-${new Date().toISOString().slice(0, 10)}.${ending}`, type, made(conversation));
}

/** Have the browser save a text as a file. */
function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

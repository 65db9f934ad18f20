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

export function recordJson(conversation) {
  const { state, facts, replies, now } = conversation;
  const { prediction, entropy, spent, stopped, reason, why } = now;
  const record = {
    model: facts.name,
    fingerprint: facts.fingerprint,
    target: facts.target,
    stop: state.stop,
    costs: state.costs,
    known: state.known,
    start: { prediction: replies[0].prediction, entropy: replies[0].entropy },
    steps: steps(conversation),
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
];

/** A line a step; what has several parts is JSON within its cell, and the rankings are left out. */
export function recordCsv(conversation) {
  const { fingerprint } = conversation.facts;
  const lines = steps(conversation).map((step) => {
    const cells = { ...step, prediction: step.prediction.value, proba: step.prediction.proba, fingerprint };
    return COLUMNS.map((name) => cells[name]);
  });
  return [COLUMNS, ...lines].map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function quoted(cell) {
  if (cell === null || cell === undefined) return "";
  let text = typeof cell === "object" ? JSON.stringify(cell) : String(cell);
  // A spreadsheet would take such a text for a formula.
  if (typeof cell === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Have the browser save a text as a file. */
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

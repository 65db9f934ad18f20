// The record of a conversation, made from what the API replied at each step: as JSON and as CSV.

/** What was said at each step, with the estimates before it and the prediction after it. */
export function steps(conversation) {
  const { state, replies } = conversation;
  return state.said.map(({ name, values, at }, k) => {
    const before = replies[k];
    const after = replies[k + 1];
    const estimate = before.ranking.find((candidate) => candidate.name === name) ?? null;
    return {
      step: k + 1,
      at,
      kind: values === null ? "declined" : "told",
      question: name,
      suggested: before.question?.name ?? null,
      answer: values,
      price: values === null ? 0 : (estimate?.cost ?? null),
      value: estimate?.value ?? null,
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
    costs: Object.fromEntries(facts.questions.map(({ name, cost }) => [name, state.costs[name] ?? cost])),
    known: state.known,
    start: { prediction: replies[0].prediction, entropy: replies[0].entropy },
    steps: steps(conversation),
    end: { prediction, entropy, spent, stopped, reason, why },
    written: new Date().toISOString(),
  };
  return JSON.stringify(record, null, 2);
}

const COLUMNS = ["step", "at", "kind", "question", "answer", "price", "value", "value_per_cost", "entropy", "spent"];

export function recordCsv(conversation) {
  const labels = Object.keys(conversation.now.prediction.proba ?? {});
  const lines = [[...COLUMNS, "prediction", ...labels.map((label) => `p(${label})`)]];
  for (const step of steps(conversation)) {
    const { value, proba } = step.prediction;
    const cells = COLUMNS.map((name) => (name === "answer" ? answerCell(step.answer) : step[name]));
    lines.push([...cells, value, ...labels.map((label) => proba[label])]);
  }
  return lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function answerCell(values) {
  if (values === null) return null;
  const given = Object.values(values);
  return given.length === 1 ? given[0] : JSON.stringify(values);
}

function quoted(cell) {
  if (cell === null || cell === undefined) return "";
  let text = String(cell);
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

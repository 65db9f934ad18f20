// Stopping rules, and the measured points of the model along which each can be moved.

/**
 * A measured point: the rule's number, and what it brings on rows held out.
 * @typedef {{value: number, cost: number, groups: number, metric: number|null, loss: number|null, range: number[]}}
 *   Point
 *   range: between which numbers the mean cost of fresh cases is expected; empty where nobody has said so
 * @typedef {{kind: string, label: string, about: string, points: Point[], rising: boolean, off: boolean}} RuleKind
 *   rising: a larger number asks more; off: not under these prices
 */

const WORDS = {
  "": ["None", "Ask everything that is open."],
  "average-cost": ["Average cost", "Spend this much on average: more on hard cases, less on easy ones."],
  penalty: ["Penalty", "Stop when no open question brings this much value per cost."],
  budget: ["Budget", "Spend at most this much on the case."],
  confidence: ["Confidence", "Stop when the prediction is this sure (entropy in nats; 0 is certain)."],
};

/** The metric that is shown. A point is suggested by the loss, since a right guess may be an unsure one. */
export const metricOf = (facts) => (facts.task.kind === "classification" ? "accuracy" : "rmse");
const lossOf = (facts) => (facts.task.kind === "classification" ? "log_loss" : "rmse");

/** The average cost that a record of the frontier is for; models of earlier versions have only what was spent. */
const averageCost = (record) => record.average_cost ?? record.mean_cost;

function pointsOf(facts, kind) {
  const [metric, loss] = [metricOf(facts), lossOf(facts)];
  const at = (record, value) => ({
    value,
    cost: record.mean_cost,
    range: [record.cost_low, record.cost_high].filter((end) => typeof end === "number"),
    groups: record.mean_groups,
    metric: record[metric] ?? null,
    loss: record[loss] ?? null,
  });
  let points = facts.curve.filter((record) => record.rule === kind).map((record) => at(record, record.parameter));
  if (kind === "average-cost") points = facts.frontier.map((record) => at(record, averageCost(record)));
  // Models of earlier versions keep no other rules than penalties.
  if (kind === "penalty" && points.length === 0) points = facts.frontier.map((record) => at(record, record.penalty));
  if (kind === "budget" && points.length === 0) points = facts.frontier.map((record) => at(record, record.budget));
  const measured = points.filter((point) => typeof point.value === "number" && typeof point.cost === "number");
  const seen = new Set();
  const order = kind === "average-cost" ? "value" : "cost";
  measured.sort((a, b) => a[order] - b[order]);
  return measured.filter((point) => !seen.has(point.value) && seen.add(point.value));
}

/**
 * The rules that this model allows; one of them not under other prices.
 * @returns {RuleKind[]}
 */
export function ruleKinds(facts, pricesChanged) {
  const worth = facts.frontier.some((record) => typeof record.penalty === "number");
  const kinds = [""];
  if (worth) kinds.push("average-cost", "penalty");
  kinds.push("budget");
  if (facts.task.kind === "classification") kinds.push("confidence");
  return kinds.map((kind) => {
    const [label, about] = WORDS[kind];
    const rising = kind === "budget" || kind === "average-cost";
    const off = kind === "average-cost" && pricesChanged;
    return { kind, label, about, rising, off, points: kind ? pointsOf(facts, kind) : [] };
  });
}

/** The costliest point that a number reaches; the first where it reaches none. */
export function pointAt(rule, value) {
  const reaches = (point) => (rule.rising ? point.value <= value : point.value >= value);
  return Math.max(0, rule.points.findLastIndex(reaches));
}

/** As `evaluation/bend.py` has them: a suggestion spends at most this share; a flatter curve has no bend. */
const MOST_SPENT = 0.8;
const FLATTEST = 0.05;

/**
 * The suggested point: where the loss bends, furthest below the straight line from asking nothing to asking everything,
 * of those that spend at most 80 % of everything; the last of these where there is no bend.
 */
export function startPoint(rule) {
  const measured = rule.points.filter((point) => point.loss !== null).sort((a, b) => a.cost - b.cost);
  if (measured.length === 0) return 0;
  const [first, last] = [measured[0], measured[measured.length - 1]];
  const asks = measured.filter((point) => point.cost > 0);
  if (asks.length === 0) return 0;
  const limit = Math.max(MOST_SPENT * last.cost, asks[0].cost) * (1 + 1e-9);
  const within = asks.filter((point) => point.cost <= limit);
  const below = (point) => first.loss - point.loss - ((first.loss - last.loss) * point.cost) / last.cost;
  const bend = within.reduce((best, point) => (below(point) > below(best) ? point : best));
  const most = Math.max(...measured.map((point) => first.loss - point.loss));
  const point = below(bend) < FLATTEST * most ? within[within.length - 1] : bend;
  return rule.points.indexOf(point);
}

export const ruleText = (kind, value) => (kind ? `${kind}=${value}` : null);

/** @returns {{kind: string, value: number|null}|null} null where a text joins several rules */
export function parseRule(text) {
  if (text === null) return { kind: "", value: null };
  const [kind, value] = text.split("=");
  const isOne = Object.hasOwn(WORDS, kind) && !text.includes("|") && Number.isFinite(Number(value));
  return isOne ? { kind, value: Number(value) } : null;
}

const isAverageCost = (part) => part.split("=")[0].trim() === "average-cost";

/** Whether a rule, or one of several that are joined, holds only under the prices of training. */
export const needsTrainedPrices = (text) => text !== null && text.split("|").some(isAverageCost);

/** The penalty that spends as much as an average cost; a budget of 0 where nothing is asked. */
function penaltyInstead(part, facts) {
  const most = Number(part.split("=")[1]);
  const record = facts.frontier.findLast((one) => averageCost(one) <= most);
  const asks = record !== undefined && record.mean_cost > 0 && typeof record.penalty === "number";
  return asks ? ruleText("penalty", record.penalty) : ruleText("budget", 0);
}

/** The same rule for other prices: an average cost is replaced by the penalty that spends as much. */
export function underOtherPrices(text, facts) {
  return text.split("|").map((part) => (isAverageCost(part) ? penaltyInstead(part, facts) : part)).join("|");
}

/** The rule that a new case starts with. */
export function startRule(facts) {
  const rule = ruleKinds(facts, false).find((one) => one.kind === "average-cost");
  return rule?.points.length ? ruleText(rule.kind, rule.points[startPoint(rule)].value) : null;
}

// The prediction: the probability of each label, or the number, and how it moved.

import { rangeOf, stepChart } from "./chart.js";
import { h, replaceContent } from "./dom.js";
import { money, num, percent, sentence } from "./format.js";
import { View } from "./view.js";

const MAX_LINES = 5;
const MAX_BARS = 6;

/** The predicted label and its probability. In `proba`, true and 1.0 are written otherwise. */
function likeliest({ value, proba }) {
  if (Object.hasOwn(proba, String(value))) return [String(value), proba[String(value)]];
  return Object.entries(proba).reduce((best, one) => (one[1] > best[1] ? one : best));
}

/** A prediction as a short text. */
export function predictionText(prediction, target) {
  if (prediction.proba === null) return `${target ? `${target} ` : ""}${num(prediction.value, 4)}`;
  const [label, p] = likeliest(prediction);
  return `${label}, ${percent(p)}`;
}

export class PredictionView extends View {
  constructor() {
    super("prediction");
    this.all = false;
    this.place = h("div", { class: "chart-place" });
    new ResizeObserver(() => this.drawChart()).observe(this.place);
  }

  update(conversation) {
    this.conversation = conversation;
    const { now } = conversation;
    const { value, proba } = now.prediction;
    const isClass = proba !== null;
    const [label, p] = isClass ? likeliest(now.prediction) : [];
    const sure = now.entropy === null ? "" : `Uncertainty ${num(now.entropy)} nats`;
    // After the stop, the prediction is the headline of the question's card.
    const isHeadline = conversation.shown !== null;
    this.box.hidden = !isHeadline && !isClass && conversation.replies.length === 1 && !Object.keys(now.remarks).length;
    replaceContent(
      this.box,
      h(
        "div",
        { class: "heading" },
        h("h2", { id: "prediction-title" }, isHeadline ? "Prediction so far" : "The prediction"),
        sure && h("span", { class: "muted", title: "entropy of the prediction; 0 is certain" }, sure),
      ),
      isHeadline &&
        h(
          "p",
          { class: "headline" },
          isClass ? label : num(value, 4),
          isClass && h("span", { class: "headline-side" }, percent(p)),
        ),
      ...Object.values(now.remarks).map((note) => h("p", { class: "remark note" }, sentence(note))),
      isClass && this.bars(proba),
      conversation.replies.length > 1 && h("h3", {}, "How it moved"),
      conversation.replies.length > 1 && this.place,
      conversation.replies.length > 1 && this.table(),
    );
    this.drawChart();
  }

  bars(proba) {
    let labels = Object.entries(proba);
    const many = labels.length > MAX_BARS;
    if (many) labels.sort((a, b) => b[1] - a[1]);
    const n = labels.length;
    if (many && !this.all) labels = labels.slice(0, MAX_BARS);
    const bar = (p) => h("div", { class: "bar", style: { width: `${100 * p}%` } });
    const more = () => {
      this.all = !this.all;
      this.update(this.conversation);
    };
    return h(
      "div",
      {},
      h(
        "ul",
        { class: "labels" },
        ...labels.map(([label, p]) =>
          h(
            "li",
            {},
            h("span", { class: "label-name" }, label),
            h("div", { class: "track", "aria-hidden": "true" }, bar(p)),
            h("span", { class: "label-p" }, percent(p)),
          ),
        ),
      ),
      many &&
        h(
          "button",
          { type: "button", class: "small", "data-key": "labels", onclick: more },
          this.all ? "Show fewer" : `Show all ${n}`,
        ),
    );
  }

  /** The lines of the chart: the labels that are likeliest now, in the order of the model. */
  lines() {
    const { replies, now } = this.conversation;
    if (now.prediction.proba === null) {
      return [{ name: num(now.prediction.value, 4), values: replies.map((reply) => reply.prediction.value) }];
    }
    const labels = Object.entries(now.prediction.proba);
    const likely = [...labels].sort((a, b) => b[1] - a[1]).slice(0, MAX_LINES);
    const order = Object.keys(now.prediction.proba);
    const chosen = likely.map(([label]) => label).sort((a, b) => order.indexOf(a) - order.indexOf(b));
    return chosen.map((name) => ({ name, values: replies.map((reply) => reply.prediction.proba[name]) }));
  }

  steps() {
    const declined = (said) => (said.values === null ? `${said.name} (not had)` : said.name);
    return ["start", ...this.conversation.state.said.map(declined)];
  }

  drawChart() {
    const width = this.place.clientWidth;
    if (!this.conversation || this.conversation.replies.length < 2 || !width) return;
    const lines = this.lines();
    const isClass = this.conversation.now.prediction.proba !== null;
    const axis = isClass ? { low: 0, high: 1, format: (x) => `${Math.round(100 * x)} %` } : rangeOf(lines[0].values);
    this.place.replaceChildren(stepChart(lines, this.steps(), axis, width));
    const scrolls = this.place.scrollWidth > this.place.clientWidth;
    this.place.toggleAttribute("tabindex", false);
    if (scrolls) {
      this.place.tabIndex = 0;
      this.place.setAttribute("role", "group");
      this.place.setAttribute("aria-label", "Chart of how the prediction moved; the same as a table below");
      this.place.scrollLeft = this.place.scrollWidth;
    } else {
      this.place.removeAttribute("role");
      this.place.removeAttribute("aria-label");
    }
  }

  table() {
    const { replies } = this.conversation;
    const lines = this.lines();
    const isClass = this.conversation.now.prediction.proba !== null;
    const head = isClass ? lines.map((line) => line.name) : ["Prediction"];
    const cell = (x) => h("td", {}, isClass ? percent(x) : num(x, 4));
    const spent = (k) => h("td", {}, money(replies[k].spent));
    const rows = this.steps().map((step, k) =>
      h("tr", {}, h("th", { scope: "row" }, step), ...lines.map((line) => cell(line.values[k])), spent(k)),
    );
    const header = ["After", ...head, "Spent"].map((text) => h("th", { scope: "col" }, text));
    return h(
      "details",
      { open: this.box.querySelector("details")?.open },
      h("summary", { "data-key": "table" }, "As a table"),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": "How the prediction moved, as a table" },
        h("table", {}, h("thead", {}, h("tr", {}, ...header)), h("tbody", {}, ...rows)),
      ),
    );
  }
}

// The stopping rule: a choice of rules, a slider along the measured points, and what to expect at each point.

import { h, newId } from "./dom.js";
import { money, num, percent, rowNoun, typedNumber, withHint } from "./format.js";
import { metricOf, parseRule, pointAt, ruleKinds, ruleText, startPoint } from "./stopping_rules.js";
import { View } from "./view.js";

/** How long the slider rests before its value is sent, in milliseconds. */
const SLIDER_DELAY = 150;
const ONLY_TRAINED = "An average cost is known only under the prices of training";

export class RuleView extends View {
  constructor(actions) {
    super("rule", actions);
    /** The model and prices that the controls were built for. @type {string|null} */
    this.key = null;
    /** Says that another rule replaces the chosen one. */
    this.instead = h("p", { class: "remark", role: "status" });
  }

  update(conversation) {
    const { facts, state, pricesChanged, now } = conversation;
    this.facts = facts;
    this.pricesChanged = pricesChanged;
    const key = JSON.stringify([state.model, pricesChanged]);
    if (key !== this.key) this.build(facts, pricesChanged);
    this.key = key;
    this.notes.replaceChildren(...now.notes.map((note) => h("p", { class: "remark" }, note)));
    const instead = this.insteadOf(state, pricesChanged);
    if (this.instead.textContent !== instead) this.instead.textContent = instead;
    // While the slider moves, it is ahead of the replies.
    if (this.pending !== undefined && this.pending !== state.stop) return;
    this.release();
    this.show(state.stop);
  }

  /** The note about the average cost while prices are changed. */
  insteadOf(state, pricesChanged) {
    if (!pricesChanged || !this.rules.some((rule) => rule.off)) return "";
    if (state.stopBefore === undefined) return `${ONLY_TRAINED}.`;
    const isPenalty = state.stop?.includes("penalty=");
    const what = isPenalty ? "the penalty that matches it" : "a budget of 0, which asks nothing either,";
    return `${ONLY_TRAINED}; ${what} is used instead.`;
  }

  build(facts, pricesChanged) {
    this.rules = ruleKinds(facts, pricesChanged);
    const name = newId();
    this.radios = this.rules.map((rule, i) =>
      h("input", { type: "radio", name, id: `${name}-${i}`, disabled: rule.off, onchange: () => this.pick(rule) }),
    );
    this.about = h("p", { class: "hint" });
    this.controls = h("div", { class: "rule-controls" });
    this.expected = h("div", { class: "expected" });
    this.error = h("p", { class: "error", role: "alert" });
    this.notes = h("div", { role: "status" });
    this.box.replaceChildren(
      h("h2", { id: "rule-title" }, "When to stop"),
      h(
        "fieldset",
        { class: "rules" },
        h("legend", { class: "hidden" }, "Stopping rule"),
        ...this.rules.map((rule, i) =>
          h("label", { class: "pill", for: `${name}-${i}` }, this.radios[i], h("span", {}, this.labelOf(rule))),
        ),
      ),
      this.instead,
      this.about,
      this.controls,
      this.error,
      this.notes,
      this.expected,
    );
  }

  /** If the page sets no rule, the rule that the model was trained with is used. */
  labelOf(rule) {
    return rule.kind === "" && this.facts.settings?.stop ? "As trained" : rule.label;
  }

  /** Show the current rule. */
  show(stop) {
    const parsed = parseRule(stop);
    const rule = parsed && this.rules.find((one) => one.kind === parsed.kind);
    for (const [i, radio] of this.radios.entries()) radio.checked = this.rules[i] === rule;
    if (!rule) {
      this.draw({ kind: "", points: [], about: `The rule of the link: ${stop}` }, null);
      return;
    }
    this.draw(rule, parsed.value);
  }

  /** Draw the controls of a rule; those that are there already are only moved. */
  draw(rule, value) {
    this.about.textContent =
      rule.kind === "" && this.facts.settings?.stop ? "Stop by the rule that the model was trained with." : rule.about;
    if (this.drawn !== rule) this.drawControls(rule);
    this.drawn = rule;
    if (rule.kind === "") return this.expect(null, null);
    const place = rule.points.length ? pointAt(rule, value) : null;
    this.move(rule, value, place);
  }

  drawControls(rule) {
    this.controls.replaceChildren();
    if (rule.kind === "") return;
    const id = newId();
    const last = rule.points.length - 1;
    this.slider = h("input", {
      type: "range",
      min: "0",
      max: String(Math.max(last, 0)),
      step: "1",
      "aria-label": `${rule.label}, along what was measured`,
      oninput: () => {
        const place = Number(this.slider.value);
        this.move(rule, rule.points[place].value, place);
        this.later(rule, rule.points[place].value);
      },
    });
    this.field = h("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", class: "exact" });
    const submit = (event) => {
      event?.preventDefault();
      const typed = this.field.value.trim();
      if (typed === "" || typed === this.written) return;
      this.written = typed;
      this.actions.setStop(ruleText(rule.kind, typedNumber(typed)));
    };
    this.field.addEventListener("change", () => submit());
    this.controls.append(
      last > 0 ? h("div", { class: "slider" }, this.slider, h("span", {}, "ask less"), h("span", {}, "ask more")) : "",
      h(
        "form",
        { class: "exact-form", novalidate: true, onsubmit: submit },
        h("label", { for: id }, rule.label),
        this.field,
      ),
    );
  }

  move(rule, value, place) {
    if (place !== null) {
      this.slider.value = String(place);
      const point = rule.points[place];
      const said = this.measures(point).map(([name, figure]) => `${name} ${figure}`).join(", ");
      this.slider.setAttribute("aria-valuetext", `${num(point.value)}; ${said}`);
    }
    const isTyping = document.activeElement === this.field && this.field.value.trim() !== this.written;
    this.written = value === null ? "" : num(value, 5).replaceAll(",", "");
    if (!isTyping) this.field.value = this.written;
    this.expect(rule, place === null ? null : rule.points[place], value);
  }

  /** The figures measured at a point, with their names. */
  measures(point) {
    const found = [
      ["Average cost", money(point.cost)],
      ["Questions", num(point.groups)],
    ];
    const metric = metricOf(this.facts);
    if (point.metric !== null && metric === "accuracy") found.push(["Accuracy", percent(point.metric)]);
    if (point.metric !== null && metric === "rmse") found.push(["RMSE", num(point.metric, 4)]);
    return found;
  }

  expect(rule, point, value) {
    this.expected.hidden = point === null || this.pricesChanged;
    if (this.expected.hidden) return;
    const rows = this.facts.card?.rows_validated;
    const exact = value === point.value;
    const isSuggested = exact && point === rule.points[startPoint(rule)] && point.loss !== null;
    this.expected.replaceChildren(
      h(
        "dl",
        { class: "tiles" },
        ...this.measures(point).map(([name, figure]) => h("div", {}, h("dt", {}, name), h("dd", {}, figure))),
      ),
      h(
        "p",
        { class: "hint" },
        `Expected, as measured on ${rows ? `${num(rows)} ` : ""}${rowNoun(this.facts)} held out` +
          (exact ? "" : ` at the nearest measured point, ${rule.label.toLowerCase()} ${num(point.value)}`) +
          this.freshCost(point),
      ),
      isSuggested ? h("p", { class: "hint suggested" }, this.suggestion()) : "",
    );
  }

  /** Between which numbers the mean cost of fresh cases is expected, if that is known. */
  freshCost({ range }) {
    return range.length ? `; fresh cases are expected to cost ${range.map((end) => money(end)).join(" to ")}` : "";
  }

  suggestion() {
    const what = this.facts.task.kind === "classification" ? "log loss" : "RMSE";
    return `Suggested: where the ${what} bends, so that what is asked after it brings less for its cost.`;
  }

  pick(rule) {
    const value = rule.points.length ? rule.points[startPoint(rule)].value : null;
    this.draw(rule, value);
    if (rule.kind === "" || value !== null) this.actions.setStop(ruleText(rule.kind, value));
    else this.field.focus();
  }

  /** Send a value once the slider rests. */
  later(rule, value) {
    clearTimeout(this.timer);
    this.pending = ruleText(rule.kind, value);
    this.timer = setTimeout(() => this.actions.setStop(this.pending), SLIDER_DELAY);
  }

  /** The slider follows the state again. */
  release() {
    this.pending = undefined;
  }

  showError(message) {
    if (this.error) this.error.textContent = withHint(message, this.field?.value ?? "");
    if (this.field) this.field.setAttribute("aria-invalid", String(Boolean(message)));
  }
}

// The conversation: the answers, the reply of the API after each of them, and changes, one at a time.

import { askNext } from "./api.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The row of a request: all that is known after the first `n` answers. */
function requestRow(state, facts, n) {
  // Entries, since a name such as __proto__ can't be assigned to.
  const answers = Object.entries(state.known);
  const declined = [];
  for (const { name, values } of state.said.slice(0, n)) {
    const inputs = facts.questions.find((question) => question.name === name)?.inputs ?? [];
    if (values === null) declined.push(name);
    else if (inputs.length === 1 && Object.hasOwn(values, inputs[0].name)) answers.push([name, values[inputs[0].name]]);
    else answers.push([name, values]);
  }
  return { answers: Object.fromEntries(answers), declined };
}

const terms = (state) => ({ stop: state.stop, costs: Object.keys(state.costs).length ? state.costs : null });

export class Conversation {
  /**
   * @param {any} facts all about the model
   * @param {import("./link.js").Case} state
   * @param {(busy: boolean) => void} onBusy
   */
  constructor(facts, state, onBusy) {
    this.facts = facts;
    this.state = state;
    this.onBusy = onBusy;
    /**
     * Replies after the first 0, 1, 2, ... answers. Those before the last may be from before the rule was changed:
     * predictions, rankings and prices do not depend on it, and to ask again would send every answer again.
     * @type {any[]}
     */
    this.replies = [];
    /** The rule of each reply. @type {WeakMap<any, string|null>} */
    this.rules = new WeakMap();
    /** A question that somebody picked, or began to answer: it is shown, whatever is suggested. @type {string|null} */
    this.chosen = null;
    /** Whether to go on although the rule says stop. */
    this.goesOn = false;
    /** The photo that patches are taken from. It never leaves the browser. @type {any} */
    this.photo = null;
    /** The current run of patches that are revealed one after the other; null if there is none. */
    this.revealing = null;
    /** Whether somebody chose to go on without a sketch. */
    this.withoutSketch = false;
    this.closed = new AbortController();
    this.waiting = Promise.resolve();
    this.latest = new Map();
  }

  /** The reply to all answers. */
  get now() {
    return this.replies[this.replies.length - 1];
  }

  question(name) {
    return this.facts.questions.find((question) => question.name === name);
  }

  isOpen(name) {
    return this.now.ranking.some((candidate) => candidate.name === name);
  }

  /** The question to show: the picked one, the suggested one or, when going on, the first of the ranking. */
  get shown() {
    if (this.isOpen(this.chosen)) return this.question(this.chosen);
    const name = this.now.question?.name ?? (this.goesOn ? this.now.ranking[0]?.name : undefined);
    return name === undefined ? null : this.question(name);
  }

  /** The example photo that is used, null if none. @returns {import("./examples.js").Example|null} */
  get example() {
    return this.facts.examples.find(({ name }) => name === this.state.example) ?? null;
  }

  /** The label of the photo, shown only after the stop; null if it is not known. */
  get truth() {
    return this.photo && this.shown === null ? (this.example?.label ?? null) : null;
  }

  get pricesChanged() {
    return Object.keys(this.state.costs).length > 0;
  }

  /**
   * The replies to a state. Those that are known already are not requested again.
   * @param {boolean} wholly whether those before the last must be under the rule of the state, too
   */
  async read(state, wholly) {
    const last = state.said.length;
    const settled = (s) => [s.costs, s.known];
    let nSame = 0;
    if (this.replies.length && same(settled(state), settled(this.state))) {
      while (nSame < last && same(state.said[nSame], this.state.said[nSame])) nSame += 1;
      nSame += 1;
    }
    const replies = this.replies.slice(0, nSame);
    const isKnown = (n) => n < nSame && ((n < last && !wholly) || this.rules.get(replies[n]) === state.stop);
    const missing = Array.from({ length: last + 1 }, (_, n) => n).filter((n) => !isKnown(n));
    const rows = missing.map((n) => requestRow(state, this.facts, n));
    const found = rows.length ? await askNext(state.model, rows, terms(state), this.closed.signal) : [];
    for (const [i, n] of missing.entries()) {
      replies[n] = found[i];
      this.rules.set(found[i], state.stop);
    }
    return replies;
  }

  /**
   * Make a change once those before it are done. `make` gets the state of that moment and returns the new one, or null
   * where there is nothing to do any more. Of changes with the same `kind` that wait, only the last is made.
   * `wholly`: as in `read`.
   * @returns {Promise<boolean>} whether the state has changed; a refusal is thrown, and nothing has changed
   */
  change(kind, make, wholly = false) {
    const token = {};
    this.latest.set(kind, token);
    const done = this.waiting.then(async () => {
      if (this.closed.signal.aborted || this.latest.get(kind) !== token) return false;
      const state = make(this.state);
      if (state === null) return false;
      this.onBusy(true);
      try {
        const replies = await this.read(state, wholly);
        if (this.closed.signal.aborted) return false;
        this.state = state;
        this.replies = replies;
        if (!this.isOpen(this.chosen)) this.chosen = null;
        return true;
      } finally {
        this.onBusy(false);
      }
    });
    this.waiting = done.catch(() => {});
    return done;
  }

  /** Abort the requests that are under way. */
  close() {
    this.closed.abort();
  }
}

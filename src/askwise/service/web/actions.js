// What people do with questions, answers, prices and rules.

import { change, pageErrors } from "./changes.js";
import { byId } from "./dom.js";
import { money } from "./format.js";
import { announce } from "./messages.js";
import { draw, newRemarks, nextWords, page, predictionWords } from "./page.js";
import { saveRecord } from "./record.js";
import { begin } from "./start.js";
import { needsTrainedPrices, underOtherPrices } from "./stopping_rules.js";

/** Add an answer, or a refusal, as of now. A second click finds that the step has passed. */
export function addAnswer(answer) {
  const step = page.conversation.state.said.length;
  const at = new Date().toISOString();
  const before = page.conversation.now;
  const make = (state) => (state.said.length === step ? { ...state, said: [...state.said, { ...answer, at }] } : null);
  return change(page.question, `say ${step}`, make, (moved) => {
    if (page.conversation.revealing) return;
    // Somebody may have picked the next question meanwhile, and be typing.
    if (moved) page.question.focus();
    announce(`${nextWords()} ${predictionWords()}${newRemarks(before)}`);
  });
}

/** The state with other prices. A rule that holds only under those of training comes back with them. */
function withPrices(state, costs) {
  const { facts } = page.conversation;
  if (Object.keys(costs).length === 0) {
    const { stopBefore = state.stop, ...rest } = state;
    return { ...rest, costs, stop: stopBefore };
  }
  const current = state.stop ?? facts.settings?.stop?.rule ?? null;
  if (!needsTrainedPrices(current)) return { ...state, costs };
  return { ...state, costs, stop: underOtherPrices(current, facts), stopBefore: state.stop };
}

/** Draw, move to the question and say it. */
function showQuestion() {
  draw();
  page.question.focus();
  announce(nextWords());
}

export const actions = {
  answer: (name, values) => addAnswer({ name, values }),
  decline: (name) => addAnswer({ name, values: null }),

  choose(name) {
    page.conversation.chosen = name;
    showQuestion();
  },

  /** A question that somebody begins to answer stays until it is answered, or another is picked. */
  touch(name) {
    page.conversation.chosen = name;
  },

  goOn() {
    page.conversation.goesOn = true;
    showQuestion();
  },

  setStop: (stop) =>
    change(page.views.rule, "terms", ({ stopBefore: _, ...state }) => ({ ...state, stop }), () => {
      if (page.conversation.goesOn) {
        page.conversation.goesOn = false;
        draw();
      }
      announce(nextWords());
    }),

  setPrice(name, price) {
    const { ranking } = page.views;
    const trained = page.conversation.question(name).own_cost;
    const make = (state) => {
      const { [name]: _, ...others } = state.costs;
      return withPrices(state, price === trained ? others : { ...others, [name]: price });
    };
    // The field may have been closed, or moved to another question, before the error comes.
    const elsewhere = { showError: (message) => pageErrors.showError(message && `Price of ${name}: ${message}`) };
    const place = { showError: (message) => (ranking.editing === name ? ranking : elsewhere).showError(message) };
    change(place, `price ${name}`, make, () => {
      ranking.stopEditing(name);
      const first = page.conversation.now.ranking[0];
      const cost = page.conversation.now.ranking.find((candidate) => candidate.name === name)?.cost ?? price;
      announce(`${name} now costs ${money(cost)}. First in the ranking: ${first ? first.name : "nothing"}.`);
    });
  },

  resetPrices: () =>
    change(pageErrors, "prices", (state) => withPrices(state, {}), () => {
      byId("ranking-title").focus();
      announce(`The prices are those of training again. ${nextWords()}`);
    }),

  setKnown(known) {
    const { freeColumns } = page.views;
    const before = page.conversation.now;
    change(freeColumns, "known", (state) => ({ ...state, known }), () => {
      if (freeColumns.hasLostFocus) page.question.focus();
      announce(`Taken. ${predictionWords()}${newRemarks(before)}`);
    });
  },

  undo() {
    actions.remove(page.conversation.state.said.length - 1);
  },

  remove(k) {
    const gone = page.conversation.state.said[k];
    const make = (state) => (state.said[k] === gone ? { ...state, said: state.said.filter((_, i) => i !== k) } : null);
    change(pageErrors, `remove ${k}`, make, () => {
      page.question.focus();
      announce(`${gone.name} was taken back. ${nextWords()}`);
    });
  },

  /** In a record, every step is under the rule of now. */
  saveRecord: (format) =>
    change(pageErrors, "record", (state) => state, () => saveRecord(page.conversation, format), true),

  restart() {
    const { facts, state } = page.conversation;
    begin(facts, { ...state, said: [], known: {}, example: undefined }, { push: true, focus: true });
  },
};

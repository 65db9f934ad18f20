// The page: starts, draws all parts from one conversation, and carries out what people do.

import { Refused, Unreachable, hasToken, listModels, readModel, sketchOf, useToken } from "./api.js";
import { Conversation } from "./conversation.js";
import { byId, h } from "./dom.js";
import { asFile, examplesOf } from "./examples.js";
import { casesOf, money, num, sentence, textOf } from "./format.js";
import { KnownView } from "./known.js";
import { decode, write } from "./link.js";
import { LookView } from "./look.js";
import { announce, hush, tell } from "./messages.js";
import { Unreadable, readPhoto } from "./photo.js";
import { needsTrainedPrices, startRule, underOtherPrices } from "./points.js";
import { PredictionView, predictionText } from "./prediction.js";
import { QuestionView } from "./question.js";
import { RankingView } from "./ranking.js";
import { keep } from "./record.js";
import { RuleView } from "./rule.js";
import { SaidView } from "./said.js";
import { updateStats } from "./stats.js";
import { startTheme } from "./theme.js";

/** How long a patch is seen at least, when one is revealed after the other. */
const GLANCE = 140;

/** @type {Conversation|null} */
let conversation = null;
/** Counts the beginnings, so that one which was overtaken comes to nothing. */
let beginnings = 0;

const nowhere = { complain: (message) => (message ? tell("refused", message) : hush("refused")) };

const actions = {
  answer: (name, values) => say({ name, values }),
  decline: (name) => say({ name, values: null }),

  choose(name) {
    conversation.chosen = name;
    draw();
    question.focus();
    announce(nextNow());
  },

  /** A question that somebody begins to answer stays until it is answered, or another is picked. */
  touch(name) {
    conversation.chosen = name;
  },

  goOn() {
    conversation.goesOn = true;
    draw();
    question.focus();
    announce(nextNow());
  },

  setStop: (stop) =>
    attempt(rule, "terms", ({ stopBefore: _, ...state }) => ({ ...state, stop }), () => {
      if (conversation.goesOn) {
        conversation.goesOn = false;
        draw();
      }
      announce(nextNow());
    }),

  setPrice(name, price) {
    const trained = conversation.question(name).cost;
    const make = (state) => {
      const { [name]: _, ...others } = state.costs;
      return repriced(state, price === trained ? others : { ...others, [name]: price });
    };
    const elsewhere = { complain: (message) => nowhere.complain(message && `Price of ${name}: ${message}`) };
    const place = { complain: (message) => (ranking.editing === name ? ranking : elsewhere).complain(message) };
    attempt(place, `price ${name}`, make, () => {
      ranking.stopEditing(name);
      const first = conversation.now.ranking[0];
      announce(`${name} now costs ${money(price)}. First in the ranking: ${first ? first.name : "nothing"}.`);
    });
  },

  resetPrices: () =>
    attempt(nowhere, "prices", (state) => repriced(state, {}), () => {
      byId("ranking-title").focus();
      announce(`The prices are those of training again. ${nextNow()}`);
    }),

  setKnown(known) {
    const before = conversation.now;
    attempt(knownView, "known", (state) => ({ ...state, known }), () => {
      if (knownView.hasLostFocus) question.focus();
      announce(`Taken. ${predictionNow()}${remarksSince(before)}`);
    });
  },

  undo() {
    const n = conversation.state.said.length;
    actions.remove(n - 1);
  },

  remove(k) {
    const gone = conversation.state.said[k];
    const make = (state) => (state.said[k] === gone ? { ...state, said: state.said.filter((_, i) => i !== k) } : null);
    attempt(nowhere, `remove ${k}`, make, () => {
      question.focus();
      announce(`${gone.name} was taken back. ${nextNow()}`);
    });
  },

  /** A record tells of every step under the rule of now. */
  keep: (ending) => attempt(nowhere, "record", (state) => state, () => keep(conversation, ending), true),

  restart() {
    const { facts, state } = conversation;
    begin(facts, { ...state, said: [], known: {}, example: undefined }, { push: true, focus: true });
  },

  /** The same photo from the beginning. */
  again() {
    const { facts, state, photo } = conversation;
    begin(facts, { ...state, said: [], known: {} }, { push: true, focus: true, photo });
  },

  /** Take patches from a photo: a new case, unless it is the very photo that the patches so far are from. */
  async usePhoto(file, example) {
    const current = conversation;
    const { facts, state } = current;
    question.complain("");
    let photo;
    try {
      photo = await readPhoto(file, facts.image);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      question.complain(error.message);
      if (current === conversation) announce(`No photo was taken from ${file.name}. ${nextNow()}`);
      return;
    }
    if (current !== conversation) return;
    const isNew = state.said.every(({ values }) => values === null);
    if (photo.hasPatches(state.said) && !(isNew && Object.keys(state.known).length > 0)) {
      await attempt(question, "photo", (latest) => ({ ...latest, example }), () => {
        current.photo = photo;
        draw();
        question.focus();
        announce(`The photo is there. ${nextNow()}`);
      });
    } else {
      await begin(facts, { ...state, said: [], known: {}, example }, { push: true, focus: true, photo });
    }
  },

  /** The same with a photo that the server offers. */
  useExample(example) {
    const k = conversation.facts.examples.indexOf(example);
    return actions.usePhoto(asFile(example, k), example.name);
  },

  look(name) {
    conversation.revealing = null;
    lookAt(name);
  },

  /** Look at what is asked, patch after patch, until the rule stops; where that is under way, pause it. */
  async reveal() {
    const current = conversation;
    const run = current.revealing ? null : {};
    current.revealing = run;
    draw();
    if (run === null) return;
    while (current === conversation && current.revealing === run && current.now.question !== null) {
      const glance = new Promise((resolve) => setTimeout(resolve, GLANCE));
      if (!(await lookAt(current.now.question.name))) break;
      await glance;
    }
    if (current.revealing === run) current.revealing = null;
    if (current === conversation) settled();
  },

  async sketch() {
    const { facts, photo } = conversation;
    const current = conversation;
    question.complain("");
    busy(true);
    try {
      const sketch = await sketchOf(facts.name, photo.whole());
      if (current === conversation) takeSketch({ sketch }, "The sketch is there.");
    } catch (error) {
      if (current === conversation) failed(error, question, actions.sketch);
    } finally {
      if (current === conversation) busy(false);
    }
  },

  dropSketch() {
    conversation.withoutSketch = true;
    takeSketch({}, "The sketch was taken away.");
  },

  skipSketch() {
    conversation.withoutSketch = true;
    draw();
    question.focus();
  },
};

const form = new QuestionView(actions);
const look = new LookView(actions);
/** Whatever asks: a form, or a photo. */
let question = form;
const knownView = new KnownView(actions);
const ranking = new RankingView(actions);
const rule = new RuleView(actions);
const prediction = new PredictionView();
const said = new SaidView(actions);

const lookAt = (name) => say({ name, values: Object.fromEntries([[name, conversation.photo.patch(name)]]) });

function takeSketch(known, words) {
  attempt(question, "known", (state) => ({ ...state, known }), () => announce(`${words} ${predictionNow()}`));
}

/** After many patches in a row: the address and a screen reader are told only now. */
function settled() {
  write(conversation.state);
  draw();
  announce(`${nextNow()} ${predictionNow()}`);
}

/** Add an answer, or a refusal, to what was said when it was given: a second click finds that this has passed. */
function say(what) {
  const step = conversation.state.said.length;
  const at = new Date().toISOString();
  const before = conversation.now;
  const make = (state) => (state.said.length === step ? { ...state, said: [...state.said, { ...what, at }] } : null);
  return attempt(question, `say ${step}`, make, (moved) => {
    if (conversation.revealing) return;
    // Somebody may have picked the next question meanwhile, and be typing.
    if (moved) question.focus();
    announce(`${nextNow()} ${predictionNow()}${remarksSince(before)}`);
  });
}

/** The state with other prices. A rule that holds only under those of training comes back with them. */
function repriced(state, costs) {
  const { facts, now } = conversation;
  if (Object.keys(costs).length === 0) {
    const { stopBefore = state.stop, ...rest } = state;
    return { ...rest, costs, stop: stopBefore };
  }
  const holds = state.stop ?? facts.settings?.stop?.rule ?? null;
  if (!needsTrainedPrices(holds)) return { ...state, costs };
  return { ...state, costs, stop: underOtherPrices(holds, now.penalty), stopBefore: state.stop };
}

const predictionNow = () => `Prediction: ${predictionText(conversation.now.prediction, conversation.facts.target)}.`;

/** What the API remarks on values that it did not remark on before. */
function remarksSince(before) {
  const added = Object.values(conversation.now.remarks).filter((text) => !Object.values(before.remarks).includes(text));
  return added.map((note) => ` ${sentence(note)}`).join("");
}

function nextNow() {
  const { shown, now, truth } = conversation;
  if (shown === null) return `Time to stop. ${sentence(now.why ?? "")}${truth === null ? "" : ` It was: ${truth}.`}`;
  const cost = now.ranking.find((candidate) => candidate.name === shown.name).cost;
  const next = conversation.facts.image ? "Look next" : "Next question";
  return `${next}: ${sentence(textOf(shown))} Price ${money(cost)}.`;
}

/**
 * Make a change and draw what comes of it; a refusal is shown in its place, and nothing has changed.
 * @returns {Promise<boolean>} whether something has changed
 */
async function attempt(place, kind, make, then, wholly = false) {
  const current = conversation;
  const again = () => attempt(place, kind, make, then, wholly);
  try {
    place.complain("");
    if (!(await current.change(kind, make, wholly))) return false;
  } catch (error) {
    current.revealing = null;
    if (current === conversation) failed(error, place, again);
    return false;
  }
  hush("network");
  // Browsers allow only so many changes of the address in a while.
  if (!current.revealing) write(current.state);
  then(draw());
  return true;
}

function failed(error, place, again) {
  place.release?.();
  if (error instanceof Refused && error.status === 401) askForToken(again);
  else if (error instanceof Refused) place.complain(error.message);
  else if (error instanceof Unreachable) tell("network", error.message, { label: "Try again", run: again });
  else throw error;
}

function askForToken(again) {
  const form = byId("token-form");
  form.hidden = false;
  byId("page").hidden = conversation === null;
  byId("token-error").textContent = hasToken() ? "The server does not take this token." : "";
  byId("token").focus();
  form.onsubmit = (event) => {
    event.preventDefault();
    const given = byId("token").value.trim();
    // A header takes nothing else.
    if (!/^[\x21-\x7e]+$/.test(given)) {
      byId("token-error").textContent = "A token has letters, digits and signs, without spaces.";
      return;
    }
    useToken(given);
    byId("token").value = "";
    form.hidden = true;
    again();
  };
}

let slow;
function busy(is) {
  byId("page").setAttribute("aria-busy", String(is));
  clearTimeout(slow);
  if (is) slow = setTimeout(() => (byId("progress").hidden = false), 200);
  else byId("progress").hidden = true;
}

/** @returns {boolean} whether another question is shown now */
function draw() {
  byId("page").hidden = false;
  question = conversation.facts.image ? look : form;
  const moved = question.update(conversation);
  knownView.update(conversation);
  prediction.update(conversation);
  said.update(conversation);
  ranking.update(conversation);
  rule.update(conversation);
  updateStats(conversation);
  return moved;
}

function drawTitle(facts) {
  const what = facts.target || facts.name;
  document.title = `${what} · askwise`;
  byId("title").textContent = what;
  byId("model").value = facts.name;
  const rows = facts.card?.rows_trained;
  const learned = rows ? ` · learned from ${num(rows)} ${casesOf(facts)}` : "";
  const print = facts.fingerprint.slice(0, 12);
  const line = `Model ${facts.name} · method ${facts.method}${learned} · fingerprint ${print}`;
  byId("about").replaceChildren(h("p", {}, line));
}

/** Begin a conversation about a state. Where the API refuses a link's answers, begin afresh. */
async function begin(facts, state, { push = false, focus = false, fromLink = false, photo = null } = {}) {
  const mine = ++beginnings;
  const next = new Conversation(facts, state, (is) => mine === beginnings && busy(is));
  next.photo = photo;
  const again = () => begin(facts, state, { push, focus, fromLink, photo });
  try {
    await next.change("begin", (same) => same);
  } catch (error) {
    if (mine !== beginnings) return;
    if (fromLink && error instanceof Refused && error.status !== 401) {
      tell("link", `The link can't be used with this model, so this is a fresh start: ${error.message}`);
      await begin(facts, fresh(facts), { push, focus });
    } else {
      failed(error, nowhere, again);
    }
    return;
  }
  if (mine !== beginnings) return;
  conversation?.close();
  conversation = next;
  hush("network");
  hush("refused");
  write(state, push);
  drawTitle(facts);
  draw();
  if (focus) (knownView.comesFirst ? knownView : question).focus();
  announce(nextNow());
}

const fresh = (facts) => ({
  model: facts.name,
  fingerprint: facts.fingerprint,
  said: [],
  known: {},
  stop: startRule(facts),
  costs: {},
});

/** Show a model: as a link has it, or afresh. */
async function show(name, state, how) {
  const mine = ++beginnings;
  let facts, photo;
  try {
    facts = await readModel(name);
    facts.examples = await examplesOf(facts);
    photo = await photoOf(facts, state);
  } catch (error) {
    if (mine === beginnings) failed(error, nowhere, () => show(name, state, how));
    return;
  }
  if (mine !== beginnings) return;
  if (state && state.fingerprint !== facts.fingerprint) {
    tell("link", "This link was made with another version of the model; questions and predictions may differ now");
  }
  const begun = state ? { ...state, fingerprint: facts.fingerprint } : fresh(facts);
  await begin(facts, begun, { ...how, fromLink: Boolean(state), photo });
}

/** The example that a link names, where its patches are from that very photo. */
async function photoOf(facts, state) {
  const k = facts.examples.findIndex(({ name }) => name === state?.example);
  if (k < 0) return null;
  try {
    const photo = await readPhoto(asFile(facts.examples[k], k), facts.image);
    return photo.hasPatches(state.said) ? photo : null;
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return null;
  }
}

/** Start from the address, or from the first model. */
async function start() {
  let models;
  try {
    models = await listModels();
  } catch (error) {
    failed(error, nowhere, start);
    return;
  }
  byId("model").replaceChildren(...models.map(({ name }) => h("option", { value: name }, name)));
  byId("model-picker").hidden = models.length < 2;
  hush("link");
  let state = null;
  try {
    state = decode(location.hash);
    if (state && !models.some(({ name }) => name === state.model)) {
      throw new Error(`its model ${state.model.slice(0, 80)} is not served here`);
    }
  } catch (error) {
    state = null;
    tell("link", `The link can't be read: ${error.message}. This is a fresh start`);
  }
  await show(state?.model ?? models[0].name, state, {});
}

startTheme(byId("theme"));
byId("model").addEventListener("change", () => show(byId("model").value, null, { push: true }));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  if (conversation) question.focus();
});
addEventListener("hashchange", start);
start();

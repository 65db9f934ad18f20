// Starting a conversation: from the address, with another model, with another case.

import { ApiError, listModels, readModel } from "./api.js";
import { pageErrors, showFailure } from "./changes.js";
import { Conversation } from "./conversation.js";
import { byId, h } from "./dom.js";
import { exampleFile, loadExamples } from "./examples.js";
import { decode, writeLink } from "./link.js";
import { announce, hideMessage, showMessage } from "./messages.js";
import { draw, drawTitle, nextWords, page, setBusy } from "./page.js";
import { UnreadableImage, readPhoto } from "./photo.js";
import { startRule } from "./stopping_rules.js";

/** Counts the starts, so that one which was overtaken comes to nothing. */
let starts = 0;

/** Start a conversation in a state. If the API refuses a link's answers, start with none. */
export async function begin(facts, state, { push = false, focus = false, fromLink = false, photo = null } = {}) {
  const mine = ++starts;
  const next = new Conversation(facts, state, (isBusy) => mine === starts && setBusy(isBusy));
  next.photo = photo;
  const again = () => begin(facts, state, { push, focus, fromLink, photo });
  try {
    await next.change("begin", (same) => same);
  } catch (error) {
    if (mine !== starts) return;
    if (fromLink && error instanceof ApiError && error.status !== 401) {
      showMessage("link", `The link can't be used with this model, so this is a fresh start: ${error.message}`);
      await begin(facts, emptyState(facts), { push, focus });
    } else {
      showFailure(error, pageErrors, again);
    }
    return;
  }
  if (mine !== starts) return;
  page.conversation?.close();
  page.conversation = next;
  hideMessage("network");
  hideMessage("refused");
  writeLink(state, push);
  drawTitle(facts);
  draw();
  const { freeColumns } = page.views;
  if (focus) (freeColumns.comesFirst ? freeColumns : page.question).focus();
  announce(nextWords());
}

const emptyState = (facts) => ({
  model: facts.name,
  fingerprint: facts.fingerprint,
  said: [],
  known: {},
  stop: startRule(facts),
  costs: {},
});

/** Show a model: in the state of a link, or with nothing said. */
export async function showModel(name, state, options) {
  const mine = ++starts;
  let facts, photo;
  try {
    facts = await readModel(name);
    facts.examples = await loadExamples(facts);
    photo = await linkedPhoto(facts, state);
  } catch (error) {
    if (mine === starts) showFailure(error, pageErrors, () => showModel(name, state, options));
    return;
  }
  if (mine !== starts) return;
  if (state && state.fingerprint !== facts.fingerprint) {
    showMessage(
      "link",
      "This link was made with another version of the model; questions and predictions may differ now",
    );
  }
  const begun = state ? { ...state, fingerprint: facts.fingerprint } : emptyState(facts);
  await begin(facts, begun, { ...options, fromLink: Boolean(state), photo });
}

/** The example that a link names, if the link's patches are from that very photo. */
async function linkedPhoto(facts, state) {
  const k = facts.examples.findIndex(({ name }) => name === state?.example);
  if (k < 0) return null;
  try {
    const photo = await readPhoto(exampleFile(facts.examples[k], k), facts.image);
    return photo.hasPatches(state.said) ? photo : null;
  } catch (error) {
    if (!(error instanceof UnreadableImage)) throw error;
    return null;
  }
}

/** Start from the address, or with the first model. */
export async function start() {
  let models;
  try {
    models = await listModels();
  } catch (error) {
    showFailure(error, pageErrors, start);
    return;
  }
  byId("model").replaceChildren(...models.map(({ name }) => h("option", { value: name }, name)));
  byId("model-picker").hidden = models.length < 2;
  hideMessage("link");
  let state = null;
  try {
    state = decode(location.hash);
    if (state && !models.some(({ name }) => name === state.model)) {
      throw new Error(`its model ${state.model.slice(0, 80)} is not served here`);
    }
  } catch (error) {
    state = null;
    showMessage("link", `The link can't be read: ${error.message}. This is a fresh start`);
  }
  await showModel(state?.model ?? models[0].name, state, {});
}

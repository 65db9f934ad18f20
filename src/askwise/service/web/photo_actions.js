// What people do with a photo: choose one, look at patches of it, have it sketched.

import { addAnswer } from "./actions.js";
import { requestSketch } from "./api.js";
import { change, showFailure } from "./changes.js";
import { exampleFile } from "./examples.js";
import { writeLink } from "./link.js";
import { announce } from "./messages.js";
import { draw, nextWords, page, predictionWords, setBusy } from "./page.js";
import { UnreadableImage, readPhoto } from "./photo.js";
import { begin } from "./start.js";

/** How long a patch is seen at least, in milliseconds, when one is revealed after the other. */
const REVEAL_PAUSE = 140;

const lookAt = (name) => addAnswer({ name, values: Object.fromEntries([[name, page.conversation.photo.patch(name)]]) });

function setSketch(known, words) {
  const then = () => announce(`${words} ${predictionWords()}`);
  change(page.question, "known", (state) => ({ ...state, known }), then);
}

/** After many patches in a row: the address and a screen reader are told only now. */
function finishRevealing() {
  writeLink(page.conversation.state);
  draw();
  announce(`${nextWords()} ${predictionWords()}`);
}

export const photoActions = {
  /** The same photo from the beginning. */
  again() {
    const { facts, state, photo } = page.conversation;
    begin(facts, { ...state, said: [], known: {} }, { push: true, focus: true, photo });
  },

  /** Take patches from a photo: a new case, unless it is the very photo that the patches so far are from. */
  async usePhoto(file, example) {
    const current = page.conversation;
    const { facts, state } = current;
    page.question.showError("");
    let photo;
    try {
      photo = await readPhoto(file, facts.image);
    } catch (error) {
      if (!(error instanceof UnreadableImage)) throw error;
      page.question.showError(error.message);
      if (current === page.conversation) announce(`No photo was taken from ${file.name}. ${nextWords()}`);
      return;
    }
    if (current !== page.conversation) return;
    const isNew = state.said.every(({ values }) => values === null);
    if (photo.hasPatches(state.said) && !(isNew && Object.keys(state.known).length > 0)) {
      await change(page.question, "photo", (latest) => ({ ...latest, example }), () => {
        current.photo = photo;
        draw();
        page.question.focus();
        announce(`The photo is there. ${nextWords()}`);
      });
    } else {
      await begin(facts, { ...state, said: [], known: {}, example }, { push: true, focus: true, photo });
    }
  },

  /** The same with a photo that the server offers. */
  useExample(example) {
    const k = page.conversation.facts.examples.indexOf(example);
    return photoActions.usePhoto(exampleFile(example, k), example.name);
  },

  look(name) {
    page.conversation.revealing = null;
    lookAt(name);
  },

  /** Look at what is asked, patch after patch, until the rule stops. If that is under way, pause it. */
  async reveal() {
    const current = page.conversation;
    const run = current.revealing ? null : {};
    current.revealing = run;
    draw();
    if (run === null) return;
    while (current === page.conversation && current.revealing === run && current.now.question !== null) {
      const pause = new Promise((resolve) => setTimeout(resolve, REVEAL_PAUSE));
      if (!(await lookAt(current.now.question.name))) break;
      await pause;
    }
    if (current.revealing === run) current.revealing = null;
    if (current === page.conversation) finishRevealing();
  },

  async sketch() {
    const current = page.conversation;
    page.question.showError("");
    setBusy(true);
    try {
      const sketch = await requestSketch(current.facts.name, current.photo.whole());
      if (current === page.conversation) setSketch({ sketch }, "The sketch is there.");
    } catch (error) {
      if (current === page.conversation) showFailure(error, page.question, photoActions.sketch);
    } finally {
      if (current === page.conversation) setBusy(false);
    }
  },

  dropSketch() {
    page.conversation.withoutSketch = true;
    setSketch({}, "The sketch was taken away.");
  },

  skipSketch() {
    page.conversation.withoutSketch = true;
    draw();
    page.question.focus();
  },
};

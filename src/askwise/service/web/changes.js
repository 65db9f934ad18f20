// Changes of the conversation, and what the page does if one fails.

import { ApiError, NetworkError, hasToken, setToken } from "./api.js";
import { byId, pressEnds } from "./dom.js";
import { writeLink } from "./link.js";
import { hideMessage, showMessage } from "./messages.js";
import { draw, page } from "./page.js";

/** Shows an error above the page, where no view has a place for it. */
export const pageErrors = {
  showError: (message) => (message ? showMessage("refused", message) : hideMessage("refused")),
};

/**
 * Make a change and draw the result. An error is shown by `place`, and nothing has changed.
 * @returns {Promise<boolean>} whether something has changed
 */
export async function change(place, kind, make, then, wholly = false) {
  const current = page.conversation;
  const again = () => change(place, kind, make, then, wholly);
  try {
    place.showError("");
    if (!(await current.change(kind, make, wholly))) return false;
  } catch (error) {
    current.revealing = null;
    if (current === page.conversation) showFailure(error, place, again);
    return false;
  }
  await pressEnds();
  if (current !== page.conversation) return false;
  hideMessage("network");
  // Browsers allow only so many changes of the address in a while.
  if (!current.revealing) writeLink(current.state);
  then(draw());
  return true;
}

/** Show why a request failed, and offer to repeat it where that may help. */
export function showFailure(error, place, again) {
  place.release?.();
  if (error instanceof ApiError && error.status === 401) askForToken(again);
  else if (error instanceof ApiError) place.showError(error.message);
  else if (error instanceof NetworkError) showMessage("network", error.message, { label: "Try again", run: again });
  else throw error;
}

function askForToken(again) {
  const form = byId("token-form");
  form.hidden = false;
  byId("page").hidden = page.conversation === null;
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
    setToken(given);
    byId("token").value = "";
    form.hidden = true;
    again();
  };
}

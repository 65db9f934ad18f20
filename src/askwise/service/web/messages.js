// Messages above the page, and announcements for screen readers.

import { byId, h } from "./dom.js";
import { sentence } from "./format.js";

/**
 * Show a message until it is closed or another of its kind comes.
 * @param {string} kind
 * @param {string} text
 * @param {{label: string, run: () => void}|null} action
 */
export function showMessage(kind, text, action = null) {
  hideMessage(kind);
  const message = h("div", { class: "message", role: "alert", "data-kind": kind }, h("p", {}, sentence(text)));
  const close = () => message.remove();
  const act = () => {
    close();
    action.run();
  };
  if (action) message.append(h("button", { type: "button", class: "primary", onclick: act }, action.label));
  message.append(h("button", { type: "button", class: "quiet", onclick: close }, "Close"));
  byId("messages").append(message);
}

/** Remove the message of a kind. */
export function hideMessage(kind) {
  for (const message of [...byId("messages").children]) if (message.dataset.kind === kind) message.remove();
}

/** Have a screen reader say this when it is done with what it says now. */
export function announce(text) {
  byId("announcer").textContent = text;
}

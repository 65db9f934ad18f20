// The base of the parts of the page: each draws one conversation into one element.

import { byId } from "./dom.js";

export class View {
  /**
   * @param {string} id of the element that the view fills
   * @param {any} [actions] what people can do here
   */
  constructor(id, actions) {
    this.box = byId(id);
    this.actions = actions;
    /** What is drawn. @type {import("./conversation.js").Conversation|null} */
    this.conversation = null;
  }
}

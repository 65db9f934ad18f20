// The remarks of the API, by what they are about.

const ABOUT_VALUES = /, outside what was seen in training, /;

/** Remarks on values that were given. */
export const notesOnValues = (reply) => reply.notes.filter((note) => ABOUT_VALUES.test(note));

/** All other remarks: on the rule and the prices. */
export const notesOnRule = (reply) => reply.notes.filter((note) => !ABOUT_VALUES.test(note));

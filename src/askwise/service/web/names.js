// Looking things up by a name from data, which may be the name of something that every object has.

/** What a mapping itself holds under a name, undefined where it holds nothing. */
export const own = (mapping, name) => (Object.hasOwn(mapping, name) ? mapping[name] : undefined);

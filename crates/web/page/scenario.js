// What the schema of scenarios says of keys: documentation, defaults, accepted values; and what can be written at a place of the text.

class Schema {
  constructor(json) {
    this.json = json;
  }

  /** Names of the algorithms. */
  get algorithms() {
    return this.words(this.json.properties.algorithm.properties.name);
  }

  /** What the schema says at a path of keys, in a scenario that has come out as `resolved`; undefined where there is no such key. */
  at(path, resolved) {
    let node = this.json;
    let value = resolved;
    for (const key of path) {
      if (/^\d+$/.test(key)) {
        value = Array.isArray(value) ? value[Number(key)] : value;
        continue;
      }
      node = this.table(node, value).properties?.[key];
      value = value?.[key];
      if (!node) return undefined;
    }
    return node;
  }

  /** The table that a node describes: of several alternatives the one that `value` is, else what all of them have together. */
  table(node, value) {
    if (node.items) return this.table(node.items, value);
    const alternatives = node.oneOf || node.anyOf;
    if (!alternatives) return node;
    const isIt = (one) => Object.entries(one.properties || {}).every(([key, said]) => said.const === undefined || said.const === value?.[key]);
    const tables = alternatives.flatMap((one) => (one.items ? [] : one.oneOf || one.anyOf || [one]));
    const fitting = value && tables.find((one) => one.properties && isIt(one));
    return fitting || { properties: Object.assign({}, ...tables.map((one) => one.properties || {})) };
  }

  /** What a key takes, if that is one of some words. */
  words(node) {
    if (!node) return [];
    if (node.enum) return node.enum;
    if (node.const !== undefined) return [node.const];
    if (node.type === "boolean") return [true, false];
    return (node.anyOf || []).flatMap((one) => this.words(one));
  }
}

/** In which table a place of the text is, and what is written there so far: {path, before, value}; value: it is behind the "=". */
function placeIn(text, offset) {
  const lines = text.slice(0, offset).split("\n");
  const line = lines.pop();
  const header = lines.reverse().map((one) => /^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(#.*)?$/.exec(one)).find(Boolean);
  const table = header ? header[1].split(".").map((key) => key.trim()) : [];
  const heading = /^\s*\[\[?\s*([\w.-]*)$/.exec(line);
  if (heading) return { path: dotted(heading[1]).slice(0, -1), before: dotted(heading[1]).at(-1), heading: true };
  const pair = /^\s*([\w.-]+)\s*=\s*"?([^"#]*)$/.exec(line);
  if (pair) return { path: [...table, ...dotted(pair[1])], before: pair[2], value: true };
  const key = /^\s*([\w.-]*)$/.exec(line);
  if (!key) return null;
  return { path: [...table, ...dotted(key[1]).slice(0, -1)], before: dotted(key[1]).at(-1) };
}

function dotted(text) {
  return text.split(".");
}

/** What can be written at a place: [{text, about, insert}], the likeliest first; `insert` takes the place of the last `before` characters. */
function completions(schema, text, offset, resolved) {
  const place = placeIn(text, offset);
  if (!place) return { before: "", list: [] };
  const { path, before } = place;
  const begins = (word) => String(word).startsWith(before) && String(word) !== before;
  if (place.value) {
    const node = schema.at(path, resolved);
    const quoted = text[offset - before.length - 1] === '"';
    const written = (word) => (typeof word === "string" && !quoted ? `"${word}"` : typeof word === "string" ? `${word}"` : String(word));
    const words = [...new Set(schema.words(node))];
    if (node?.default !== undefined && !words.includes(node.default)) words.unshift(node.default);
    const about = (word) => (path[0] === "algorithm" && path[1] === "name" ? schema.at(["algorithm", word], resolved)?.description || "" : "");
    return { before, list: words.filter(begins).map((word) => ({ text: String(word), about: about(word), insert: written(word) })) };
  }
  const node = path.length ? schema.at(path, resolved) : schema.json;
  const inside = path.reduce((value, key) => value?.[key], resolved);
  const table = node ? schema.table(node, Array.isArray(inside) ? inside[0] : inside) : {};
  const keys = Object.entries(table.properties || {});
  const isTable = (said) => Boolean(said.properties || said.items || said.oneOf);
  const list = keys.filter(([key, said]) => begins(key) && (!place.heading || isTable(said)));
  const ending = (said) => (place.heading || isTable(said) ? "" : " = ");
  return { before, list: list.map(([key, said]) => ({ text: key, about: said.description || "", insert: key + ending(said) })) };
}

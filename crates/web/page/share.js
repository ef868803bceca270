// A scenario as a link: its text and the algorithms, compressed, behind the "#" that no server gets.

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** What stands behind the "#" of a link to this state. */
async function packed(state) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  return `s=${btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Most algorithms, and most variants, of a link: those of the presets, twice. */
const MAX_COMPARED = 8;

/** The state of a link; null where it has none. */
async function unpacked(fragment) {
  const match = /(?:^|&)s=([\w-]+)/.exec(fragment);
  if (!match) return null;
  try {
    const bytes = Uint8Array.from(atob(match[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
    const several = (list) => Array.isArray(list) && list.length > 0 && list.length <= MAX_COMPARED;
    const names = several(state.algorithms) && state.algorithms.every((name) => typeof name === "string");
    const fits = (one) => typeof one?.name === "string" && Object.values(one.set || {}).every((value) => typeof value === "string");
    const variants = state.variants === undefined || (several(state.variants) && state.variants.every(fits));
    return typeof state.text === "string" && names && variants ? state : null;
  } catch {
    return null;
  }
}

/** The same as commands. */
function inTheShell(algorithms, variants) {
  if (variants) {
    const settings = (set) => Object.entries({ "algorithm.name": algorithms[0], ...set }).map(([key, value]) => `--set ${quoted(`${key}=${bare(value)}`)}`);
    return variants.map(({ set }, at) => `farloop run scenario.toml ${settings(set).join(" ")} --out out/${at + 1}`).join("\n");
  }
  if (algorithms.length > 1) return `farloop compare scenario.toml --algorithms ${quoted(algorithms.join(","))} --out out/compared`;
  return `farloop run scenario.toml --set ${quoted(`algorithm.name=${algorithms[0]}`)} --out out/run`;
}

/** A value of a setting without the quotation marks of TOML. */
function bare(value) {
  return String(value).replaceAll('"', "");
}

/** A word for a POSIX shell: in single quotes, unless it has nothing that a shell reads otherwise. */
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The same in Python. */
function inPython(algorithms, variants) {
  if (variants) {
    const settings = (set) => Object.entries(set).map(([key, value]) => `${literal(key)}: ${literal(bare(value))}`).join(", ");
    const runs = variants.map(({ set }) => `print(farloop.run("scenario.toml", algorithm=${literal(algorithms[0])}, set={${settings(set)}}))`);
    return `import farloop\n\n${runs.join("\n")}`;
  }
  if (algorithms.length > 1) {
    return `import farloop\n\ncomparison = farloop.compare("scenario.toml", [${algorithms.map(literal).join(", ")}])\nprint(comparison)`;
  }
  return `import farloop\n\nrun = farloop.run("scenario.toml", algorithm=${literal(algorithms[0])})\nprint(run)`;
}

/** A text as Python has it. */
function literal(text) {
  return JSON.stringify(text);
}

/** Has the browser keep a text as a file. */
function download(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "application/toml" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

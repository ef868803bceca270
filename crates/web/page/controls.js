// The controls: each is a key of the scenario, with its unit and what the schema says of it.

const STEPS = [1, 2, 5];

/** Values 1, 2, 5, 10, ... from `low` to `high`, as scenarios write them. */
function ladder(low, high, kind) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const step of STEPS) {
      const value = step * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(writeQuantity(value, kind));
    }
  }
  return found;
}

const RATES = ["1Gbps", "2.5Gbps", "5Gbps", "10Gbps", "25Gbps", "40Gbps", "50Gbps", "100Gbps", "200Gbps", "400Gbps"];
const LOSSES = ["0.0", "0.00001", "0.0001", "0.001", "0.003", "0.01", "0.03", "0.1"];
const LOADS = ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"];
const COUNTS = ["1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48", "64"];

/** The controls, in their order: label, the key (or keys that are one number), what it takes. */
const CONTROLS = [
  { label: "Simulated time", keys: ["run.duration"], kind: "time", values: ladder(1e-4, 10, "time") },
  { label: "Flows", keys: ["flow.N.count"], values: COUNTS },
  { label: "Load", keys: ["workload.0.load"], values: LOADS },
  { label: "Senders of a burst", keys: ["workload.0.senders"], values: COUNTS },
  { label: "Data of each host", keys: ["workload.0.size"], kind: "bytes", values: ladder(1e4, 1e8, "bytes") },
  { label: "Rate of the hosts", keys: ["network.rate"], kind: "rate", values: RATES },
  { label: "Rate of the bottleneck", keys: ["network.bottleneck_rate"], kind: "rate", values: RATES },
  { label: "Delay of the long haul", keys: ["network.wan_delay"], kind: "time", values: ladder(1e-5, 0.1, "time") },
  { label: "Delay of other links", keys: ["network.link_delay"], kind: "time", values: ladder(1e-7, 1e-2, "time") },
  { label: "Loss on the long haul", keys: ["network.wan_loss"], values: LOSSES },
  { label: "Loss at the bottleneck", keys: ["network.bottleneck_loss"], values: LOSSES },
  { label: "Buffer of a switch", keys: ["switch.buffer"], kind: "bytes", values: ladder(1e5, 1e9, "bytes") },
  { label: "ECN threshold", keys: ["switch.kmin", "switch.kmax"], kind: "bytes", values: ladder(1e4, 1e7, "bytes"), equal: true },
  { label: "ECN: first marks", keys: ["switch.kmin"], kind: "bytes", values: ladder(1e4, 1e7, "bytes"), equal: false },
  { label: "ECN: all marked", keys: ["switch.kmax"], kind: "bytes", values: ladder(1e4, 1e7, "bytes"), equal: false },
  { label: "ECN", keys: ["switch.ecn"], kind: "switch" },
  { label: "PFC", keys: ["switch.pfc"], kind: "switch" },
];

/** The value of a key in a resolved scenario; numbers address elements of lists. */
function valueAt(resolved, key) {
  return key.split(".").reduce((value, one) => value?.[one], resolved);
}

/** The controls of a scenario: those whose keys it has. Of `only`, a list of keys, those that it names. */
function controlsOf(resolved, only) {
  const flows = Array.isArray(resolved.flow) ? resolved.flow : [];
  const equal = parseQuantity(valueAt(resolved, "switch.kmin")) === parseQuantity(valueAt(resolved, "switch.kmax"));
  const found = CONTROLS.flatMap((control) => {
    if (control.keys[0] !== "flow.N.count") return [control];
    return flows.slice(0, 4).map((flow, at) => ({ ...control, label: `Flows ${flow.name || `f${at + 1}`}`, keys: [`flow.${at}.count`] }));
  });
  return found.filter((control) => {
    const value = valueAt(resolved, control.keys[0]);
    if (value === undefined || value === null || typeof value === "object") return false;
    // "none" of a rate stands for another key's value.
    if (control.kind === "bytes" && Number.isNaN(parseQuantity(value))) return false;
    if (control.equal !== undefined && control.equal !== equal) return false;
    return !only || only.includes(control.keys[0]);
  });
}

/** Shows controls in `place`; `changed(keys, value)` is called when one is moved. */
function showControls(place, controls, resolved, schema, changed) {
  // A slider that is being dragged has to stay the same element.
  const shown = [...place.children];
  const sign = ({ label, keys }) => [label, ...keys.map((key) => written(key, resolved))].join();
  const same = shown.length === controls.length && controls.every((control, at) => shown[at].dataset.sign === sign(control));
  if (same && controls.every((control, at) => shown[at].show(valueAt(resolved, control.keys[0])))) return;
  const had = document.activeElement?.dataset?.key;
  const last = place.querySelector(".last")?.dataset.sign;
  place.replaceChildren(...controls.map((control) => {
    const key = control.keys[0];
    const about = schema.at(key.split("."), resolved)?.description || "";
    const row = document.createElement("div");
    row.className = "control";
    row.dataset.sign = sign(control);
    const id = `control-${key.replaceAll(".", "-")}`;
    const label = document.createElement("label");
    label.htmlFor = id;
    label.textContent = control.label;
    const name = document.createElement("code");
    name.textContent = control.keys.map((one) => written(one, resolved)).join(", ");
    const hint = document.createElement("span");
    hint.className = "hint";
    hint.id = `${id}-hint`;
    hint.append(name, ` ${about}`);
    row.title = `${name.textContent}: ${about}`;
    const made = control.kind === "switch" ? tick(control, changed) : slider(valueAt(resolved, key), control, changed);
    made.show(valueAt(resolved, key));
    row.show = made.show;
    const field = made.box.querySelector("input");
    field.id = id;
    field.dataset.key = key;
    field.setAttribute("aria-describedby", hint.id);
    field.addEventListener("input", () => markLast(place, row));
    row.append(label, made.box, hint);
    return row;
  }));
  // Whoever moves a slider with the keyboard goes on with it.
  if (had) place.querySelector(`[data-key="${had}"]`)?.focus();
  const rows = [...place.children];
  const usual = rows.find((row) => row.querySelector(`[data-key="${USUAL_KEY}"]`));
  markLast(place, rows.find((row) => row.dataset.sign === last) ?? usual ?? rows[0]);
}

/** The control that a phone shows before one has been moved. */
const USUAL_KEY = "network.wan_delay";

/** Marks the control that was moved last: where there is little room it is the one that stays in sight. */
function markLast(place, row) {
  for (const one of place.children) one.classList.toggle("last", one === row);
}

/** A key as scenarios write it: elements of lists by their names. */
function written(key, resolved) {
  return key.replace(/^(flow|workload)\.(\d+)\./, (_, list, at) => {
    const name = resolved[list][at]?.name;
    return `${list}.${name && name !== "none" ? name : list === "flow" ? `f${Number(at) + 1}` : Number(at) + 1}.`;
  });
}

/** A box to tick: {box, show}; `show(value)` sets it. */
function tick(control, changed) {
  const box = document.createElement("span");
  const input = document.createElement("input");
  input.type = "checkbox";
  input.addEventListener("change", () => changed(control.keys, String(input.checked)));
  box.append(input);
  const show = (value) => {
    input.checked = value === true;
    return true;
  };
  return { box, show };
}

/** A slider over the values of a control, the present one among them: {box, show}; `show(value)` is false where it lacks a value. */
function slider(value, control, changed) {
  const size = (text) => (control.kind ? parseQuantity(text) : Number(text));
  const asText = (one) => (control.kind ? writePresent(one, control) : String(one));
  const present = asText(value);
  const values = [...control.values];
  const place = (text) => values.findIndex((one) => one === text || size(one) === size(text));
  if (place(present) < 0) values.push(present);
  values.sort((a, b) => (Number.isNaN(size(a)) ? -1 : Number.isNaN(size(b)) ? 1 : size(a) - size(b)));
  const box = document.createElement("span");
  box.className = "slider";
  const input = document.createElement("input");
  const output = document.createElement("output");
  input.type = "range";
  input.min = 0;
  input.max = values.length - 1;
  const tell = () => {
    output.textContent = values[input.value];
    input.setAttribute("aria-valuetext", values[input.value]);
  };
  const show = (one) => {
    const at = place(asText(one));
    if (at < 0) return false;
    input.value = at;
    tell();
    return true;
  };
  input.addEventListener("input", () => {
    tell();
    changed(control.keys, control.kind ? `"${values[input.value]}"` : values[input.value]);
  });
  box.append(input, output);
  return { box, show };
}

function writePresent(value, control) {
  const size = parseQuantity(value);
  return Number.isNaN(size) ? String(value) : writeQuantity(size, control.kind);
}

// Runs scenarios in the WebAssembly module. The page sends {module} once, then {id, request, limit}; it gets {id, progress} now and then and
// one {id, answer}. There is no shared memory, so a run in progress is cancelled by ending the worker.
"use strict";

const ARRAYS = { i64: BigInt64Array, "i64?": BigInt64Array, u32: Uint32Array, dict: Uint32Array, f64: Float64Array, u8: Uint8Array };
/** Wall time between two progress messages, and before the time that is left is estimated, in ms. */
const TELL_EVERY = 50;
const JUDGE_AFTER = 700;

let module = null;
let job = null;

self.onmessage = async ({ data }) => {
  if (data.module) {
    const instance = await WebAssembly.instantiate(data.module, { farloop: { now, progress, failed } });
    module = instance.exports;
    self.postMessage({ ready: true });
    return;
  }
  job = { id: data.id, limit: data.limit || Infinity, begin: now(), told: 0, left: 0, failure: "" };
  let answer;
  try {
    answer = ask(data.request);
  } catch (error) {
    // A module that has ended itself cannot be asked again: the page starts another worker.
    answer = { crashed: true, error: { message: job.failure || `out of memory, or ${error.message}` } };
  }
  if (job.left && answer.error) answer = { error: { message: "takes too long", left: job.left } };
  answer.wall = now() - job.begin;
  answer.heap = module.memory.buffer.byteLength;
  self.postMessage({ id: job.id, answer }, transferable(answer));
};

function now() {
  return performance.now();
}

/** Tells the page how far the run is; stops it where it would take longer than its limit. */
function progress(simulated, end, hops) {
  const wall = now() - job.begin;
  if (wall - job.told >= TELL_EVERY) {
    job.told = wall;
    self.postMessage({ id: job.id, progress: { simulated, end, hops, wall } });
  }
  const left = simulated > 0 ? (wall / simulated) * (end - simulated) : 0;
  if (wall < JUDGE_AFTER || left < job.limit) return 1;
  job.left = left;
  return 0;
}

function failed(place, bytes) {
  job.failure = text(place, bytes);
}

function text(place, bytes) {
  return new TextDecoder().decode(new Uint8Array(module.memory.buffer, place, bytes));
}

function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const room = module.room(bytes.length);
  new Uint8Array(module.memory.buffer, room, bytes.length).set(bytes);
  const size = module.ask();
  const answer = JSON.parse(text(module.reply(), size));
  for (const table of [...Object.values(answer.tables || {}), (answer.trace || {}).columns || {}]) {
    for (const column of Object.values(table)) column.values = values(column);
  }
  return answer;
}

/** The values of a column, copied out of the module's memory. */
function values({ kind, buffer }) {
  const place = module.buffer(buffer);
  return new ARRAYS[kind](module.memory.buffer.slice(place, place + module.size(buffer)));
}

function transferable(answer) {
  const tables = [...Object.values(answer.tables || {}), (answer.trace || {}).columns || {}];
  return tables.flatMap((table) => Object.values(table).map((column) => column.values.buffer));
}

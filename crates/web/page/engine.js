// The simulator: workers that run scenarios in the WebAssembly module, as many side by side as there are processors.

/** Runs longer than this are stopped when that becomes clear, and left to the command line, in ms. */
const MAX_RUN = 60000;
/** A module's memory never shrinks: one that has taken more than this is not used again, in bytes. */
const LARGEST_KEPT = 512e6;

class Cancelled extends Error {}

class Engine {
  /** An engine with the module that the page brings. */
  static async start() {
    const packed = Uint8Array.from(atob(document.getElementById("module").textContent.trim()), (c) => c.charCodeAt(0));
    const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const module = await WebAssembly.compile(await new Response(plain).arrayBuffer());
    return new Engine(module, document.getElementById("worker").textContent);
  }

  constructor(module, source) {
    this.module = module;
    this.source = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.waiting = [];
    this.lanes = Array.from({ length: Math.max(1, Math.min(4, navigator.hardwareConcurrency || 2)) }, () => ({}));
    this.asked = 0;
    // The first one is wanted in any case; others start when there is something for them.
    this.worker(this.lanes[0]);
  }

  /**
   * Has a request answered. `tell` gets the progress of a run; `signal` cancels it, which fails with Cancelled. A run that would take longer
   * than `limit` ms is not finished: its error has `left`, the time that it would have taken.
   */
  ask(request, { tell = () => {}, signal = null, limit = Infinity } = {}) {
    return new Promise((resolve, reject) => {
      const job = { id: ++this.asked, request, tell, resolve, reject, limit };
      if (signal) {
        if (signal.aborted) return reject(new Cancelled());
        signal.addEventListener("abort", () => this.cancel(job), { once: true });
      }
      this.waiting.push(job);
      this.next();
      return undefined;
    });
  }

  cancel(job) {
    const lane = this.lanes.find((one) => one.job === job);
    this.waiting = this.waiting.filter((one) => one !== job);
    if (lane) this.restart(lane);
    job.reject(new Cancelled());
    this.next();
  }

  next() {
    while (this.waiting.length) {
      const free = this.lanes.filter((lane) => !lane.job);
      const lane = free.find((one) => one.worker) || free[0];
      if (!lane) return;
      lane.job = this.waiting.shift();
      this.worker(lane).postMessage({ id: lane.job.id, request: lane.job.request, limit: lane.job.limit });
    }
  }

  worker(lane) {
    if (!lane.worker) {
      lane.worker = new Worker(this.source);
      lane.worker.postMessage({ module: this.module });
      lane.worker.onmessage = ({ data }) => this.heard(lane, data);
      lane.worker.onerror = (event) => this.heard(lane, { id: lane.job && lane.job.id, answer: { crashed: true, error: { message: event.message } } });
    }
    return lane.worker;
  }

  heard(lane, { id, progress, answer }) {
    const job = lane.job;
    if (!job || id !== job.id) return;
    if (progress) job.tell(progress);
    if (!answer) return;
    lane.job = null;
    if (answer.crashed || answer.heap > LARGEST_KEPT) this.restart(lane);
    job.resolve(answer);
    this.next();
  }

  restart(lane) {
    lane.worker.terminate();
    lane.worker = null;
    lane.job = null;
  }
}

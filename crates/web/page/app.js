// The page: a scenario's text and up to four algorithms on one side, what comes of them on the other.

/** What a run may need of memory here, in bytes; beyond, the command line is the place. */
const MAX_MEMORY = 1.5e9;
/** Runs of which the estimate says that they take longer are refused before they begin, in s; it is good for a factor of two or three. */
const MAX_ESTIMATE = 120;
/** Packet-hops that a recording holds. */
const RECORDED_HOPS = 25000;
const MAX_ALGORITHMS = 4;

const $ = (id) => document.getElementById(id);

class App {
  static async start() {
    const presets = JSON.parse($("presets").textContent);
    const lessons = JSON.parse($("lessons").textContent);
    const measures = JSON.parse($("measures").textContent);
    const engine = await Engine.start();
    const about = await engine.ask({ ask: "about" });
    const app = new App(engine, about, { presets, lessons, measures });
    if (parent !== window) {
      // The page around says whether it is dark, now and later, and hears how much room all of this one takes.
      addEventListener("message", ({ source, data }) => source === parent && theme.tell(data?.theme));
      parent.postMessage({ ask: "theme" }, "*");
      new ResizeObserver(() => parent.postMessage({ height: document.body.offsetHeight }, "*")).observe(document.body);
    }
    addEventListener("hashchange", () => app.open(location.hash.slice(1)));
    await app.open(location.hash.slice(1));
    return app;
  }

  constructor(engine, { schema, version }, { presets, lessons, measures }) {
    [this.engine, this.schema, this.presets, this.lessons, this.measures] = [engine, new Schema(schema), presets, lessons, measures];
    this.algorithms = [];
    this.resolved = {};
    this.moved = Promise.resolve();
    this.lesson = new LessonCard(lessons, measures, () => this.run());
    /** Packet-hops per second, as runs here have shown. */
    this.speed = USUAL_SPEED;
    $("version").textContent = `farloop ${version}`;
    this.charts = new Charts($("charts"), $("more-charts"));
    this.player = new PlayerControls($("map"), { play: $("play"), time: $("time"), speed: $("speed"), moment: $("moment") });
    this.editor = new Editor({
      complete: (text, offset) => completions(this.schema, text, offset, this.resolved),
      changed: () => this.later(400),
    });
    this.fill();
    this.listen();
  }

  /** The lists that do not change: presets, lessons and algorithms. */
  fill() {
    const groups = [...new Set(this.presets.map((preset) => preset.group))].filter((group) => group !== "guides");
    $("preset").replaceChildren(...groups.map((group) => {
      const list = document.createElement("optgroup");
      list.label = group;
      list.append(...this.presets.filter((one) => one.group === group).map((one) => new Option(one.title, one.id)));
      return list;
    }), new Option("your own", "", false, false));
    const questions = document.createElement("optgroup");
    questions.label = "Guess first, then run";
    questions.append(...this.lessons.map((one) => new Option(one.title, `lesson=${one.id}`)));
    $("preset").prepend(questions);
    for (let at = 0; at < MAX_ALGORITHMS; at++) {
      const select = document.createElement("select");
      select.id = `algorithm-${at}`;
      select.setAttribute("aria-label", `Algorithm ${at + 1}`);
      if (at) select.append(new Option("none", ""));
      select.append(...this.schema.algorithms.map((name) => new Option(name, name)));
      select.addEventListener("change", () => {
        this.algorithms = this.chosen();
        this.later(0);
      });
      $("algorithms").append(select);
    }
  }

  listen() {
    $("preset").addEventListener("change", () => {
      const { value } = $("preset");
      if (value) location.hash = value.startsWith("lesson=") ? value : `preset=${value}`;
    });
    $("cancel").addEventListener("click", () => {
      this.stop("Cancelled.");
      $("anyway").hidden = false;
    });
    $("anyway").addEventListener("click", () => this.run(Infinity));
    $("jump").addEventListener("click", () => this.editor.jump());
    $("sheet").addEventListener("click", () => this.toggleSheet());
    $("download").addEventListener("click", () => download("scenario.toml", this.editor.text));
    $("share").addEventListener("click", () => this.share());
    $("replayed").addEventListener("change", () => this.record());
    $("from").addEventListener("change", () => this.record());
  }

  chosen() {
    const names = Array.from({ length: MAX_ALGORITHMS }, (_, at) => $(`algorithm-${at}`).value);
    return [...new Set(names.filter(Boolean))];
  }

  /** Opens what stands behind the "#": a shared state, a preset, else the first preset. */
  async open(fragment) {
    const named = new URLSearchParams(fragment);
    if (named.has("theme")) theme.tell(named.get("theme"));
    document.body.classList.toggle("embed", named.has("embed"));
    document.body.classList.toggle("with-replay", named.has("replay"));
    const shared = await unpacked(fragment);
    const lesson = shared ? undefined : this.lessons.find((one) => one.id === named.get("lesson"));
    const preset = this.presets.find((one) => one.id === (lesson?.preset ?? named.get("preset"))) || this.presets[0];
    this.preset = shared ? { ...shared, id: "", about: "From a link." } : preset;
    if (lesson) this.preset = { ...preset, about: "", ...lesson.run, set: { ...preset.set, ...lesson.run.set } };
    this.clear();
    $("controls").replaceChildren();
    this.lesson.open(lesson ?? null);
    // Before the engine is asked: the page says at once where it stands.
    $("preset").value = lesson ? `lesson=${lesson.id}` : preset.group === "guides" || shared ? "" : preset.id;
    $("about").textContent = this.preset.about || "";
    $("open").href = shared ? `playground.html#${fragment.replace(/&?embed[^&]*/, "")}` : `playground.html#${lesson ? `lesson=${lesson.id}` : `preset=${preset.id}`}`;
    const { text, set } = this.preset;
    const edited = set ? await this.engine.ask({ ask: "edit", text, set }) : { text };
    this.algorithms = this.preset.algorithms.filter((name) => this.schema.algorithms.includes(name)).slice(0, MAX_ALGORITHMS);
    if (!this.algorithms.length) this.algorithms = [this.schema.algorithms[0]];
    for (let at = 0; at < MAX_ALGORITHMS; at++) {
      $(`algorithm-${at}`).value = this.algorithms[at] || "";
      // Beside variants of a scenario stands one algorithm.
      $(`algorithm-${at}`).hidden = at > 0 && Boolean(this.preset.variants);
    }
    this.editor.text = edited.text;
    this.editor.draw();
    await this.run();
  }

  /** The runs side by side: {name, subject, set} of each algorithm, or of each variant of the scenario that a preset has. */
  get columns() {
    const name = (algorithm) => ({ "algorithm.name": JSON.stringify(algorithm) });
    if (!this.preset.variants) return this.algorithms.map((one) => ({ name: one, subject: one, set: name(one) }));
    const [algorithm] = this.algorithms;
    return this.preset.variants.map((variant) => ({ name: variant.name, subject: `${algorithm} (${variant.name})`, set: { ...name(algorithm), ...variant.set } }));
  }

  /** The state is no preset's any more; a lesson goes on. */
  own() {
    if (this.lesson.lesson) return;
    $("preset").value = "";
    $("about").textContent = "";
  }

  /** Runs again when nothing has changed for a while. What runs is stopped at once. */
  later(wait) {
    this.own();
    this.abort();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), wait);
  }

  abort() {
    if (this.controller) this.controller.abort();
    this.controller = null;
  }

  /** Ends what runs without an answer: nothing of an earlier scenario stays beside the message. */
  stop(message) {
    this.abort();
    this.clear();
    $("running").hidden = true;
    $("status").textContent = message;
  }

  /** Takes away the answer, charts, map and table. */
  clear() {
    this.runs = [];
    this.player.enable(false);
    this.charts.show([]);
    $("numbers").replaceChildren();
    $("verdict").textContent = "";
    $("results").hidden = true;
    this.lesson.clear();
  }

  /** Opens or closes the sheet of controls, which a phone has at its lower edge. */
  toggleSheet() {
    const open = $("question").classList.toggle("open");
    $("sheet").setAttribute("aria-expanded", String(open));
    $("sheet").textContent = open ? "Fewer controls" : "All controls";
    if (open) this.bringIntoSight();
  }

  /** Looks at the scenario and runs it with each algorithm; what ran before is cancelled. */
  async run(limit = MAX_RUN) {
    clearTimeout(this.timer);
    this.abort();
    const { signal } = (this.controller = new AbortController());
    this.commands();
    $("refusal").hidden = $("anyway").hidden = $("jump").hidden = true;
    $("answer").classList.add("stale");
    try {
      const looked = await this.look(signal);
      if (looked && !this.lesson.asks && this.fits(looked, limit)) await this.simulate(signal, limit);
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error;
    }
  }

  async look(signal) {
    const looked = await this.engine.ask({ ask: "look", text: this.editor.text, file: "scenario.toml", set: this.columns[0].set }, { signal });
    if (looked.crashed) {
      this.stop("");
      this.refuse(`This needs more memory than a page has: the network alone did not fit. ${this.elsewhere}`);
      return null;
    }
    if (looked.error) {
      this.editor.problem(looked.error.line === null ? { ...looked.error, line: null } : looked.error);
      this.stop("");
      this.refuse(`The scenario has an error, so nothing ran. ${looked.error.message}`);
      $("jump").hidden = looked.error.line === null;
      return null;
    }
    this.editor.problem(null);
    this.resolved = looked.resolved;
    showControls($("controls"), controlsOf(this.resolved, this.preset.controls), this.resolved, this.schema, (keys, value) => this.move(keys, value));
    return looked;
  }

  /** A control was moved: its keys get the value in the text, in the order of the moves. */
  move(keys, value) {
    this.abort();
    clearTimeout(this.timer);
    this.moved = this.moved.then(() => this.setKeys(keys, value));
    return this.moved;
  }

  async setKeys(keys, value) {
    const text = this.editor.text;
    const edited = await this.engine.ask({ ask: "edit", text, set: Object.fromEntries(keys.map((key) => [key, value])) });
    if (edited.error || this.editor.text !== text) return;
    this.editor.text = edited.text;
    this.touched = true;
    this.later(60);
  }

  /** Whether a scenario that was looked at may run here: it needs no more memory and time than a page has. */
  fits(looked, limit) {
    const bytes = looked.memory.reduce((sum, share) => sum + share.bytes, 0);
    const [{ what, keys }] = looked.memory;
    if (bytes > MAX_MEMORY) {
      this.stop("");
      this.refuse(`This would need ${quantity(bytes, "B")} of memory, most of it for ${what} (${keys}). A page has less. ${this.elsewhere}`);
      return false;
    }
    if (limit === Infinity) return true;
    const hops = packetHops(looked);
    const seconds = (hops / this.speed) * Math.ceil(this.columns.length / this.engine.lanes.length);
    document.body.dataset.estimated = hops;
    if (seconds <= MAX_ESTIMATE) return true;
    this.stop("");
    this.refuse(`This would take about ${span(seconds)} here: ${whole(Number((hops / 1e6).toPrecision(2)))} million packet-hops for each run. ${this.elsewhere}`);
    $("anyway").hidden = false;
    return false;
  }

  /** Where it can run. */
  get elsewhere() {
    return `In the shell: ${inTheShell(this.algorithms, this.preset.variants)}`;
  }

  refuse(message) {
    $("refusal").hidden = false;
    $("refusal").textContent = message;
    // Whoever writes has the message below the text as well.
    if (document.activeElement !== this.editor.area && parent === window) $("refusal").scrollIntoView({ block: "nearest" });
  }

  async simulate(signal, limit) {
    const begin = performance.now();
    const { columns } = this;
    const part = new Map(columns.map(({ name }) => [name, 0]));
    const runs = [];
    $("progress").value = 0;
    $("progress-text").textContent = "";
    $("running").hidden = false;
    $("status").textContent = "";
    const failed = [];
    await Promise.all(columns.map(async ({ name, subject, set }, at) => {
      const tell = ({ simulated, end }) => {
        part.set(name, end ? simulated / end : 0);
        $("progress").value = [...part.values()].reduce((a, b) => a + b, 0) / part.size;
        if (end) $("progress-text").textContent = `${name}: ${quantity(simulated, "s")} of ${quantity(end, "s")} simulated`;
      };
      const answer = await this.engine.ask({ ask: "run", text: this.editor.text, file: "scenario.toml", set }, { signal, tell, limit });
      if (answer.error) {
        failed.push([name, answer.error]);
        return;
      }
      part.set(name, 1);
      runs.push({ algorithm: name, subject, set, at, digest: digest(answer) });
      runs.sort((a, b) => a.at - b.at);
      this.show(runs);
    }));
    $("running").hidden = true;
    if (!runs.length) this.stop("");
    for (const [name, error] of failed) this.fail(name, error);
    if (!runs.length) return;
    this.showAnswer(runs);
    const hops = runs.reduce((sum, { digest }) => sum + digest.totals.packet_hops, 0);
    const wall = runs.reduce((sum, { digest }) => sum + digest.wall, 0) / 1000;
    // Short ones tell more of how they begin.
    if (hops > 2e5) this.speed = hops / wall;
    $("status").textContent = `${(hops / 1e6).toFixed(2)} million packet-hops in ${((performance.now() - begin) / 1000).toFixed(2)} s.${notes(runs)}`;
    this.runs = runs;
    const had = $("replayed").value;
    $("replayed").replaceChildren(...runs.map(({ algorithm }) => new Option(algorithm, algorithm)));
    if (runs.some(({ algorithm }) => algorithm === had)) $("replayed").value = had;
    document.body.dataset.answered = Number(document.body.dataset.answered || 0) + 1;
    if (getComputedStyle($("replay")).display !== "none") await this.record();
  }

  fail(name, error) {
    if (error.left) {
      this.refuse(`${name} would take ${span(error.left / 1000)} here. ${this.elsewhere}`);
      $("anyway").hidden = false;
    } else {
      this.refuse(`${name}: ${error.message}`);
    }
  }

  /** The answer in sentences; of a lesson also which of its answers was right. */
  showAnswer(runs) {
    const sentences = makeAnswer(runs, this.resolved);
    const [, ...others] = sentences;
    const parts = others.flatMap((one) => [" ", ...one.split(/(--seeds [\d-]+)/).map((part, at) => (at % 2 ? text("code", part) : part))]);
    $("verdict").replaceChildren(text("strong", sentences[0]), ...parts);
    this.lesson.reveal(runs);
    $("answer").classList.remove("stale");
    if (this.touched) this.bringIntoSight();
    this.touched = false;
  }

  /** Scrolls to the answer where no chart is in sight: whoever moves a control is to see what it changes. */
  bringIntoSight() {
    const question = $("question");
    const edge = getComputedStyle(question).position === "fixed" ? question.getBoundingClientRect().top : innerHeight;
    const isSeen = (chart) => chart.getBoundingClientRect().top >= 0 && chart.getBoundingClientRect().bottom <= edge;
    if (![...document.querySelectorAll(".chart")].some(isSeen)) $("verdict").scrollIntoView();
  }

  /** Charts and table of the runs that are over. */
  show(runs) {
    $("results").hidden = false;
    this.charts.show(runs, this.preset.panels);
    const columns = runs.map(({ digest }) => new Map(numbers(digest, this.measures).map(([label, text]) => [label, text])));
    const hints = new Map(runs.flatMap(({ digest }) => numbers(digest, this.measures).map(([label, , definition]) => [label, definition])));
    const labels = [...new Set(columns.flatMap((column) => [...column.keys()]))];
    const head = document.createElement("thead");
    head.append(row("th", ["", ...runs.map(({ algorithm }) => algorithm)]));
    const body = document.createElement("tbody");
    for (const label of labels) {
      const line = row("td", [label, ...columns.map((column) => column.get(label) ?? "–")]);
      line.firstElementChild.title = hints.get(label);
      body.append(line);
    }
    $("numbers").replaceChildren(head, body);
  }

  commands() {
    $("shell").textContent = inTheShell(this.algorithms, this.preset.variants);
    $("python").textContent = inPython(this.algorithms, this.preset.variants);
  }

  async share() {
    const fragment = await packed({ text: this.editor.text, algorithms: this.algorithms, variants: this.preset.variants });
    history.replaceState(null, "", `#${fragment}`);
    try {
      await navigator.clipboard.writeText(location.href);
      $("shared").textContent = "The link is in the clipboard.";
    } catch {
      $("shared").textContent = "The link is in the address bar.";
    }
  }

  /** Runs one algorithm again with a trace of a window, and shows its packets. */
  async record() {
    const run = (this.runs || []).find(({ algorithm }) => algorithm === $("replayed").value);
    if (!run || !this.controller) return;
    this.player.enable(false);
    $("replay").classList.add("stale");
    const { end_s: end, packet_hops: hops } = run.digest.totals;
    // Nothing happens before the first flow.
    const first = run.digest.flows.reduce((least, flow) => Math.min(least, (flow.start_ps ?? Infinity) * PS), end);
    const begin = first + (Number($("from").value) / 100) * (end - first);
    const length = Math.min(end, ((end - first) * RECORDED_HOPS) / Math.max(hops, 1));
    const picoseconds = (time) => `${Math.round(time * 1e12)}ps`;
    const trace = [`window=${picoseconds(begin)}..${picoseconds(begin + length)}`, "limit=400000"];
    const request = { ask: "run", text: this.editor.text, file: "scenario.toml", set: run.set, trace };
    try {
      const answer = await this.engine.ask(request, { signal: this.controller.signal, limit: MAX_RUN });
      if (answer.error) {
        $("moment").textContent = answer.error.message;
        $("map").hidden = true;
        return;
      }
      const columns = Object.fromEntries(Object.entries(answer.trace.columns).map(([name, { values }]) => [name, values]));
      const recording = new Recording({ ...answer.trace, columns }, rows(answer.tables.ports), rows(answer.tables.flows));
      $("map").hidden = false;
      this.player.load(recording);
      $("replay").classList.remove("stale");
      document.body.dataset.recorded = recording.count;
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error;
    }
  }
}

/** A row of the table of numbers: `kind` of the cells behind the first one, which names the row. */
function row(kind, cells) {
  const one = document.createElement("tr");
  one.append(...cells.map((content, at) => {
    // The corner names nothing.
    const cell = text(!content ? "td" : at ? kind : "th", content);
    if (cell.tagName === "TH") cell.scope = at ? "col" : "row";
    return cell;
  }));
  return one;
}

function notes(runs) {
  const all = [...new Set(runs.flatMap(({ digest }) => digest.notes))];
  return all.length ? ` Note: ${all.join("; ")}` : "";
}

App.start().catch((error) => {
  $("refusal").hidden = false;
  $("refusal").textContent = `This browser cannot run the simulator: ${error.message}. It needs WebAssembly and DecompressionStream (browsers of 2023 or later).`;
});
